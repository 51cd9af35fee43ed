#include "tilewave/language/qasm/expansion.h"

#include <algorithm>

#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::language {
namespace {

// Of an operation, its qubits and angles while their lists grow, as measured over gates with one
// angle (2026-11-25).
constexpr std::uint64_t kBytesPerOperation = 200;

}  // namespace

bool Expansion::refuse_steps() {
  code_ = ExitCode::kInput;
  problem_ = concat("the program expands to more than ", most_,
                    " steps: look for loops, powers or definitions that multiply each other");
  return false;
}

bool Expansion::has_memory_for(std::uint64_t count) {
  next_look_ = operations_ + kLook;
  const std::uint64_t needed = kBytesPerOperation * std::max(count, kLook);
  const std::uint64_t available = runtime::available_host_bytes();
  if (needed <= available) return true;
  code_ = ExitCode::kResources;
  problem_ = concat("the program expands to ", operations_,
                    " operations and more: they do not fit this machine's memory, of which ",
                    in_bytes(available), " are free");
  return false;
}

}  // namespace tilewave::language
