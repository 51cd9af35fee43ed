// The door of the public API: what leaves it is a tilewave::Error.
#pragma once

#include <new>
#include <stdexcept>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"

namespace tilewave {

[[noreturn]] inline void fail_for_memory() {
  fail(ExitCode::kResources, "out of memory (the call needs more than the ",
       in_bytes(runtime::available_host_bytes()),
       " available): ask for less at a time, or use a machine with more memory");
}

/// f(). Where memory is refused, or an array would be longer than any can be, throws
/// Error(kResources). What is known to be large is checked before, with what it needs.
template <class F>
decltype(auto) guarded(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  } catch (const std::length_error&) {
    fail_for_memory();
  }
}

}  // namespace tilewave
