// What a program may expand to: definitions, loops, powers and includes can make a short text long
// beyond any memory, so that steps and operations are counted before they are done.
#pragma once

#include <cstdint>
#include <string>

#include "tilewave/base/error.h"

namespace tilewave::language {

class Expansion {
 public:
  /// At most so many steps of a whole program.
  explicit Expansion(std::uint64_t most_steps) : most_(most_steps) {}

  /// Whether so many further steps are allowed; problem() says why they are not.
  bool allows(std::uint64_t steps) {
    if (steps <= most_ - steps_) return true;
    return refuse_steps();
  }
  /// Counts steps that are about to be done. False where they are not allowed.
  bool charge(std::uint64_t steps) {
    if (!allows(steps)) return false;
    steps_ += steps;
    return true;
  }
  /// The same for operations, which must fit the memory too.
  bool charge_operations(std::uint64_t count) {
    if (!charge(count)) return false;
    operations_ += count;
    return operations_ < next_look_ || has_memory_for(count);
  }

  ExitCode code() const { return code_; }
  const std::string& problem() const { return problem_; }

 private:
  static constexpr std::uint64_t kLook = 1 << 21;  // operations between looks at the free memory

  bool refuse_steps();
  bool has_memory_for(std::uint64_t count);

  std::uint64_t most_, steps_ = 0, operations_ = 0, next_look_ = kLook;
  ExitCode code_ = ExitCode::kOk;
  std::string problem_;
};

}  // namespace tilewave::language
