#include "tilewave/field/run/side_by_side.h"

#include "tilewave/runtime/threads.h"

namespace tilewave::field {

void run_side_by_side(std::size_t pieces, const std::function<void(std::size_t)>& run) {
  const auto count = static_cast<int>(pieces);
  // The last piece on the calling thread.
  runtime::run_on_threads(count, [&](int k) { run(static_cast<std::size_t>(count - 1 - k)); });
}

}  // namespace tilewave::field
