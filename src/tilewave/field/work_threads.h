// How many threads a piece of work is worth: small images and arrays are done by one before a
// second has woken up, and stacks of them would wake it for each.
#pragma once

#include <algorithm>

#include "tilewave/runtime/threads.h"

namespace tilewave::field {

/// One core's work that is worth a thread: OpenMP takes 2 to 8 us to start and join an idle one
/// (EPYC of the Zen 4 family and Xeon of the Sapphire Rapids family, 2026-11), and a busy one far
/// longer. 64 x 64 pixels of bytes in windows of 5 x 5 take 50 us.
inline constexpr double kThreadWorkNs = 30e3;

/// At most `requested` threads (0: all), one for each kThreadWorkNs of `work_ns`.
inline int threads_for_work(int requested, double work_ns) {
  const double worth = std::clamp(work_ns / kThreadWorkNs, 1.0, 65536.0);
  return runtime::resolve_num_threads(
      std::min(runtime::wanted_num_threads(requested), static_cast<int>(worth)));
}

}  // namespace tilewave::field
