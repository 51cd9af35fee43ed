// What a number of an engine's cost model is, for files of rates, for the manual and for messages.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::statevec::rates {

struct NumberInfo {
  const char* name;
  const char* unit;
  const char* meaning;
  const char* measured;  ///< how
};

/// The numbers of a struct that has nothing but such, in their order: as files keep them, and back.
template <class Numbers>
std::vector<double> flat_of(const Numbers& numbers) {
  const auto all = std::bit_cast<std::array<double, sizeof(Numbers) / sizeof(double)>>(numbers);
  return {all.begin(), all.end()};
}
template <class Numbers>
Numbers from_flat(std::span<const double> flat) {
  std::array<double, sizeof(Numbers) / sizeof(double)> all{};
  TW_CHECK(flat.size() == all.size(), "the numbers are those of another list");
  std::copy(flat.begin(), flat.end(), all.begin());
  return std::bit_cast<Numbers>(all);
}

}  // namespace tilewave::statevec::rates
