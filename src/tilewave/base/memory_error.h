// The errors where memory is short, among those of missing resources: front ends that limit the
// memory of their process name that limit with them alone.
#pragma once

#include <string>

#include "tilewave/base/error.h"

namespace tilewave {

/// kResources where the system refused memory of the host, or threads, whose stacks it is, or would:
/// a limit that the user set may be the reason. What is too large for any memory is none of these.
class MemoryError : public Error {
 public:
  explicit MemoryError(const std::string& message) : Error(ExitCode::kResources, message) {}
};

/// Throws a MemoryError whose message is the parts behind each other, as fail().
template <class... Parts>
[[noreturn]] void fail_memory(const Parts&... parts) {
  throw MemoryError(concat(parts...));
}

/// Throws an error of the kind of another one with another message.
template <class... Parts>
[[noreturn]] void fail_as(const Error& error, const Parts&... parts) {
  if (dynamic_cast<const MemoryError*>(&error)) fail_memory(parts...);
  fail(error.code(), parts...);
}

}  // namespace tilewave
