// Runs pieces of work at once, one thread each, and rethrows what failed.
#pragma once

#include <cstddef>
#include <functional>

namespace tilewave::field {

/// run(0), ..., run(pieces - 1); the last one on the calling thread. After all have ended, a
/// failure is thrown again.
void run_side_by_side(std::size_t pieces, const std::function<void(std::size_t)>& run);

}  // namespace tilewave::field
