#include "tilewave/quest/core/random.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>

namespace tilewave::quest {
namespace {

// A seed sequence that gives std::mt19937 the 624 words of init_by_array.
struct InitByArray {
  using result_type = std::uint32_t;
  std::span<const unsigned long> keys;

  template <class Iterator>
  void generate(Iterator first, Iterator last) {
    constexpr std::size_t kNumWords = 624;
    std::uint32_t s[kNumWords];
    s[0] = 19650218u;
    for (std::size_t k = 1; k < kNumWords; ++k) {
      s[k] = 1812433253u * (s[k - 1] ^ s[k - 1] >> 30) + static_cast<std::uint32_t>(k);
    }
    std::size_t i = 1, j = 0;
    const auto advance = [&] {
      if (++i == kNumWords) {
        s[0] = s[kNumWords - 1];
        i = 1;
      }
    };
    for (std::size_t k = std::max(kNumWords, keys.size()); k > 0; --k) {
      s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525u) + static_cast<std::uint32_t>(keys[j]) +
             static_cast<std::uint32_t>(j);
      advance();
      if (++j == keys.size()) j = 0;
    }
    for (std::size_t k = kNumWords - 1; k > 0; --k) {
      s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941u) - static_cast<std::uint32_t>(i);
      advance();
    }
    s[0] = 0x80000000u;
    std::copy_n(s, std::min<std::size_t>(kNumWords, static_cast<std::size_t>(last - first)), first);
  }
};

std::mutex mutex;
std::mt19937& generator() {
  static std::mt19937 instance;
  return instance;
}

}  // namespace

void seed_random(std::span<const unsigned long> keys) {
  InitByArray sequence{keys};
  const std::lock_guard lock(mutex);
  generator().seed(sequence);
}

double next_random() {
  const std::lock_guard lock(mutex);
  return static_cast<double>(generator()()) / 4294967295.0;
}

}  // namespace tilewave::quest
