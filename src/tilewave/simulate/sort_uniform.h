// Sorting many numbers that are uniform in [0, 1), in steps that can be interrupted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "tilewave/base/interrupt.h"

namespace tilewave::simulate {

/// Sorts items by value(item), a number in [low, high), and equal ones by themselves. Numbers that
/// are spread evenly are parted in the middle until few are left: the same work as quicksort does.
template <class T, class Value>
void sort_uniform(std::span<T> items, Value value, double low = 0, double high = 1) {
  constexpr std::size_t kFew = std::size_t{1} << 18;
  constexpr double kNarrow = 1e-12;  // a range without numbers to tell apart
  if (items.size() <= kFew || high - low < kNarrow) {
    check_interrupt();
    std::sort(items.begin(), items.end(), [&](const T& a, const T& b) {
      const double x = value(a), y = value(b);
      return x != y ? x < y : a < b;
    });
    return;
  }
  const double middle = low + (high - low) / 2;
  InterruptCounter now_and_then(1U << 20);
  std::size_t first = 0, end = items.size();
  while (true) {
    while (first < end && value(items[first]) < middle) ++first, now_and_then.step();
    while (first < end && !(value(items[end - 1]) < middle)) --end, now_and_then.step();
    if (first == end) break;
    std::swap(items[first++], items[--end]);
  }
  sort_uniform(items.first(first), value, low, middle);
  sort_uniform(items.subspan(first), value, middle, high);
}

}  // namespace tilewave::simulate
