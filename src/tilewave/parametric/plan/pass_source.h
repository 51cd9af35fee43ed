// The source of a kernel for one pass (cuda/compiled_pass.cuh): what is the same for all values of the
// parameters, as code. Compiled at run time where a function runs often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/parametric/plan/stages.h"

namespace tilewave::parametric {

struct PassSourceOptions {
  bool single = false;
  bool back = false;
  int ahead = 0;   ///< amplitudes of a thread, of both states, that are copied ahead
  int blocks = 1;  ///< of a multiprocessor
};

struct PassSource {
  std::string text;
  bool back = false;
  std::vector<std::uint32_t> factors, lifts;  ///< the angle of each
  /// Of each weight: how many lifts come before it, and what it is besides.
  std::vector<std::pair<std::uint32_t, double>> weights;
  std::vector<std::uint16_t> reads;  ///< the derivative of each slot
};

/// CompiledNumbers of a pass, whose `read` never changes. `factors`: cosine and sine of each angle (of
/// its half where it rotates).
template <class T>
std::vector<std::byte> fill_numbers(const PassSource& source,
                                    const std::vector<std::pair<T, T>>& factors);

/// None for passes with matrices, and for those whose factors no argument has room for. `program` is
/// made for compiled kernels (StageOptions).
std::optional<PassSource> pass_source(const StageProgram& program, std::size_t pass,
                                      const PassSourceOptions& options);

/// The source of a kernel for one sweep over Pauli strings (cuda/compiled_strings.cuh): strings of one
/// sum that flip the same bits of the row; see string_sums.cuh.
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
