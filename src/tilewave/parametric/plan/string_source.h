// The source of a kernel for one sweep over Pauli strings (cuda/compiled_strings.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewave::parametric {

/// Strings of one sum that flip the same bits of the row; see string_sums.cuh.
struct SourceSegment {
  struct String {
    std::uint64_t outer;
    std::uint32_t row;   ///< Z or Y on the thread's bits
    std::uint32_t held;  ///< and on the register's
    bool imaginary;
  };
  std::uint32_t flip = 0, sum = 0;
  std::vector<String> strings;  ///< as their weights stand
};

struct StringSourceOptions {
  bool single = false;
  bool lam = false;  ///< they make lam, too
  int row_bits = 12, register_bits = 3;
  std::uint64_t active = 0;    ///< wires of the row
  std::uint32_t num_sums = 0;  ///< of all sweeps
};

/// None for more strings, or sums, than a kernel is worth.
std::optional<std::string> string_source(const std::vector<SourceSegment>& segments,
                                         const StringSourceOptions& options);

}  // namespace tilewave::parametric
