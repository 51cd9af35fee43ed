// Pauli strings and weighted sums of them. Bit k of x (z) is set when the string has X or Y (Z or
// Y) on qubit k.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewave::circuit {

struct PauliTerm {
  double coefficient = 1;
  std::uint64_t x = 0, z = 0;
};

using PauliSum = std::vector<PauliTerm>;

/// Which character of a dense string such as "ZZI" acts on qubit 0.
enum class PauliOrder : std::uint8_t { kLastIsQubit0, kFirstIsQubit0 };

}  // namespace tilewave::circuit
