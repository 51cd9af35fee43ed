#include "tilewave/field/side_by_side.h"

#include <exception>
#include <thread>
#include <vector>

namespace tilewave::field {

void run_side_by_side(std::size_t pieces, const std::function<void(std::size_t)>& run) {
  std::vector<std::exception_ptr> failures(pieces);
  const auto guarded = [&](std::size_t k) {
    try {
      run(k);
    } catch (...) {
      failures[k] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k + 1 < pieces; ++k) threads.emplace_back(guarded, k);
  if (pieces > 0) guarded(pieces - 1);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace tilewave::field
