// What a program may do while it is read, for those who read programs of others.
#pragma once

#include <cstdint>

namespace tilewave::language {

/// Whether a program may read other files. The libraries of gates are built in and always there.
enum class Includes : std::uint8_t { kAllowed, kRefused };

struct Reading {
  static constexpr std::uint64_t kMostSteps = 1ull << 27;

  Includes includes = Includes::kAllowed;
  /// Statements, gates of definitions and operations of the circuit, together.
  std::uint64_t most_steps = kMostSteps;

  Reading() = default;
  Reading(Includes files) : includes(files) {}
};

}  // namespace tilewave::language
