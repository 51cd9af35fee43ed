// See string_source.h.
#include "tilewave/parametric/plan/string_source.h"

#include <algorithm>

#include "tilewave/parametric/plan/source_text.h"

namespace tilewave::parametric {

namespace {
constexpr std::size_t kMostSweepCost = 600, kMostSweepSums = 8;
}

std::optional<std::string> string_source(const std::vector<SourceSegment>& segments,
                                         const StringSourceOptions& options) {
  std::vector<std::uint32_t> sums;
  std::string body;
  std::size_t index = 0;
  const std::string held = std::to_string(1 << options.register_bits);
  std::size_t cost = 0;  // the code of a segment is that of several strings
  for (const SourceSegment& segment : segments) cost += 8 + segment.strings.size();
  if (segments.empty() || cost > kMostSweepCost) return std::nullopt;
  for (const SourceSegment& segment : segments) {
    const auto at = std::find(sums.begin(), sums.end(), segment.sum);
    const auto sum = static_cast<std::size_t>(at - sums.begin());
    if (at == sums.end()) sums.push_back(segment.sum);
    for (std::size_t k = 0; k < segment.strings.size();) {
      const bool imaginary = segment.strings[k].imaginary;
      std::uint32_t present = 0;
      body += "    {\n    typename M::T d[" + held + "];\n";
      for (; k < segment.strings.size() && segment.strings[k].imaginary == imaginary; ++k) {
        const SourceSegment::String& s = segment.strings[k];
        body += "    d[" + std::to_string(s.held) + "] " + (present >> s.held & 1 ? "+=" : "=") +
                " m.template signed_weight<" + std::to_string(index++) + ", " + hex(s.row) + ", " +
                hex(s.outer) + ">();\n";
        present |= 1u << s.held;
      }
      const bool uniform = present == 1;
      if (!uniform) body += "    m.template transform<" + hex(present) + ">(d);\n";
      body +=
          "    m.template add" + arguments(segment.flip, imaginary, uniform, sum) + "(d);\n    }\n";
    }
  }
  if (sums.size() > kMostSweepSums) return std::nullopt;
  std::string of_sums;
  for (std::size_t k = 0; k < sums.size(); ++k)
    of_sums += "k == " + std::to_string(k) + " ? " + std::to_string(sums[k]) + " : ";
  const std::string members =
      constant("kRow", static_cast<std::size_t>(options.row_bits)) +
      constant("kReg", static_cast<std::size_t>(options.register_bits)) +
      constant("kLam", options.lam) + constant("kNumStrings", index) +
      constant("kNumSums", sums.size()) + constant("kNumAll", options.num_sums) +
      wires_text(options.active) + "  static __device__ constexpr int sum(int k) { return " +
      of_sums + "-1; }\n" +
      "  template <class M>\n  static __device__ __forceinline__ void run(M& m) {\n" + body +
      "  }\n";
  return kernel_text("compiled_strings.cuh", options.single, members,
                     1 << (options.row_bits - options.register_bits), options.single ? 2 : 1,
                     "CompiledStrings", "CompiledStringArguments", "Weights");
}

}  // namespace tilewave::parametric
