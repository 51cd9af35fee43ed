// What a program may do while it is read, for those who read programs of others.
#pragma once

#include <cstdint>

namespace tilewave::language {

/// Whether a program may read other files. The libraries of gates are built in and always there.
enum class Includes : std::uint8_t { kAllowed, kRefused };

/// What becomes of inputs of type float and angle that have no value.
enum class UnboundInputs : std::uint8_t {
  kRefused,
  kParameters,  ///< parameters of the circuit: angles may be affine in them, nothing else may
};

struct Reading {
  static constexpr std::uint64_t kMostSteps = 1ull << 27;

  Includes includes = Includes::kAllowed;
  /// Statements, gates of definitions and operations of the circuit, together.
  std::uint64_t most_steps = kMostSteps;

  UnboundInputs unbound = UnboundInputs::kRefused;

  Reading() = default;
  Reading(Includes files, UnboundInputs inputs = UnboundInputs::kRefused)
      : includes(files), unbound(inputs) {}
};

}  // namespace tilewave::language
