// A range of numbers shared among threads: each starts with a part of its own, which it takes in
// ascending order, and whoever is done takes half of what another has left. Threads stay where they
// began for as long as they can, and end together where cores are not equally fast.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace tilewave::runtime {

class Shares {
 public:
  /// The numbers below `count` (at most 2^32 - 1) for threads 0 to num_threads - 1. Any of them may
  /// stay away: the others take its part.
  Shares(std::uint64_t count, int num_threads);

  /// The next number for `thread`; none once the others have taken the rest. One caller at a time
  /// for each thread.
  std::optional<std::uint64_t> take(int thread);

 private:
  static constexpr std::size_t kLine = 64;  // of the cache: nobody waits for a neighbour's part
  struct alignas(kLine) Part {
    std::atomic<std::uint64_t> left;  // first << 32 | end
  };
  std::optional<std::uint64_t> take_over(Part& own);

  int num_threads_;
  std::unique_ptr<Part[]> parts_;
};

}  // namespace tilewave::runtime
