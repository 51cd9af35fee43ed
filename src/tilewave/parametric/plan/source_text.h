// Words of sources that are compiled at run time.
#pragma once

#include <cstdint>
#include <string>

#include "tilewave/base/bits.h"

namespace tilewave::parametric {

/// The name of the kernel in such a source.
inline constexpr char kCompiledName[] = "parametric_kernel";

inline std::string hex(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (; value; value >>= 4) digits.insert(digits.begin(), kDigits[value & 15]);
  return digits.empty() ? "0" : "0x" + digits + (digits.size() > 8 ? "ull" : "u");
}

/// "<1, 2, 3>"
template <class... Numbers>
std::string arguments(Numbers... numbers) {
  std::string out;
  ((out += (out.empty() ? "" : ", ") + std::to_string(numbers)), ...);
  return "<" + out + ">";
}

inline std::string constant(const char* name, std::size_t value) {
  return "  static constexpr int " + std::string(name) + " = " + std::to_string(value) + ";\n";
}

/// CompiledWires of the wires in a mask.
inline std::string wires_text(std::uint64_t active) {
  std::string wires;
  for_each_bit(active, [&](int w) { wires += std::to_string(w) + ", "; });
  return "  static constexpr CompiledWires kWires = {{" + wires + "}};\n";
}

/// A source: a struct Program with `members` and a kernel of `threads` threads that runs `machine` (a
/// template on the program) with `argument` and the machine's `numbers`.
inline std::string kernel_text(const std::string& header, bool single, const std::string& members,
                               int threads, int blocks, const std::string& machine,
                               const std::string& argument, const std::string& numbers) {
  const std::string type = single ? "float" : "double";
  return "#include \"tilewave/parametric/cuda/" + header +
         "\"\nnamespace tilewave::parametric::device {\nstruct Program {\n  using Number = " +
         type + ";\n" + members + "};\nusing Machine = " + machine + "<Program>;\n}\n" +
         "namespace own = tilewave::parametric::device;\n"
         "extern \"C\" __global__ __launch_bounds__(" +
         std::to_string(threads) + ", " + std::to_string(blocks) + ") void " + kCompiledName +
         "(const __grid_constant__ own::" + argument + "<" + type +
         "> a,\n    const __grid_constant__ own::Machine::" + numbers +
         " n) {\n  own::Machine(a, n).run();\n}\n";
}

}  // namespace tilewave::parametric
