#include "tilewave/runtime/shares.h"

#include "tilewave/base/error.h"

namespace tilewave::runtime {

namespace {

constexpr std::uint64_t kMostNumbers = 0xffffffff;

constexpr std::uint64_t first_of(std::uint64_t left) { return left >> 32; }
constexpr std::uint64_t end_of(std::uint64_t left) { return left & kMostNumbers; }
constexpr std::uint64_t size_of(std::uint64_t left) { return end_of(left) - first_of(left); }
constexpr std::uint64_t packed(std::uint64_t first, std::uint64_t end) { return first << 32 | end; }

}  // namespace

// A part is all in one word, so an exchange that finds it as it was needs no more; and the word is
// all that threads hand over.
Shares::Shares(std::uint64_t count, int num_threads)
    : num_threads_(num_threads),
      parts_(std::make_unique<Part[]>(static_cast<std::size_t>(num_threads))) {
  TW_CHECK(count <= kMostNumbers, "more numbers than threads can share");
  const auto threads = static_cast<std::uint64_t>(num_threads);
  for (std::uint64_t k = 0; k < threads; ++k)
    parts_[k].left = packed(count * k / threads, count * (k + 1) / threads);
}

std::optional<std::uint64_t> Shares::take(int thread) {
  Part& own = parts_[static_cast<std::size_t>(thread)];
  std::uint64_t left = own.left.load(std::memory_order_relaxed);
  while (size_of(left)) {
    const std::uint64_t first = first_of(left);
    if (own.left.compare_exchange_weak(left, packed(first + 1, end_of(left)),
                                       std::memory_order_relaxed))
      return first;
  }
  return take_over(own);
}

// Half of the largest part, from its end: the first number of it, the others become the own part.
std::optional<std::uint64_t> Shares::take_over(Part& own) {
  for (;;) {
    Part* from = nullptr;
    std::uint64_t left = 0;
    for (int k = 0; k < num_threads_; ++k) {
      Part& other = parts_[static_cast<std::size_t>(k)];
      const std::uint64_t others = other.left.load(std::memory_order_relaxed);
      if (size_of(others) <= size_of(left)) continue;
      from = &other;
      left = others;
    }
    if (!from) return std::nullopt;
    const std::uint64_t middle = first_of(left) + size_of(left) / 2;
    if (from->left.compare_exchange_strong(left, packed(first_of(left), middle),
                                           std::memory_order_relaxed)) {
      own.left.store(packed(middle + 1, end_of(left)), std::memory_order_relaxed);
      return middle;
    }
  }
}

}  // namespace tilewave::runtime
