// See pass_source.h.
#include "tilewave/parametric/plan/pass_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tilewave/parametric/plan/source_text.h"

namespace tilewave::parametric {
namespace {

constexpr std::size_t kMostSweepCost = 600, kMostSweepSums = 8;
constexpr std::size_t kMostFactors = 900, kMostReads = 450;  // of an argument, of shared memory

class Writer {
 public:
  Writer(const StageProgram& program, std::size_t pass, const PassSourceOptions& options)
      : p_(program), pass_(program.passes[pass]), options_(options) {}

  std::optional<PassSource> write() {
    for (std::uint32_t n = 0; n < pass_.num_ops; ++n) {
      const std::uint32_t at = options_.back ? pass_.num_ops - 1 - n : n;
      if (!operation(p_.ops[pass_.first_op + at])) return std::nullopt;
    }
    if (out_.factors.size() + out_.lifts.size() > kMostFactors || out_.reads.size() > kMostReads)
      return std::nullopt;
    if (!out_.lifts.empty()) line("m.rescale();");
    out_.back = options_.back;
    const auto count = [](const auto& list) { return static_cast<std::size_t>(list.size()); };
    const std::string members =
        constant("kRow", static_cast<std::size_t>(p_.row_bits)) +
        constant("kReg", static_cast<std::size_t>(p_.register_bits)) +
        constant("kBack", options_.back) +
        constant("kAhead", static_cast<std::size_t>(options_.ahead)) +
        constant("kNumFactors", count(out_.factors)) + constant("kNumLifts", count(out_.lifts)) +
        constant("kNumWeights", count(out_.weights)) + constant("kNumReads", count(out_.reads)) +
        constant("kNumAll", pass_.num_reads) + constant("kNumKept", pass_.num_kept) +
        constant("kNumAccumulators", pass_.num_accumulators) +
        constant("kNumAccumulated", pass_.num_accumulated) + wires_text(pass_.active) +
        "  static constexpr CompiledExchange kExchanges[] = {" +
        (exchanges_.empty() ? "{}" : exchanges_) + "};\n  template <class M>\n" +
        "  static __device__ __forceinline__ void run(M& m) {\n" + body_ + "  }\n";
    out_.text = kernel_text("compiled_pass.cuh", options_.single, members,
                            1 << (p_.row_bits - p_.register_bits), options_.blocks, "CompiledPass",
                            "CompiledArguments", "Numbers");
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { body_ += "    " + text + "\n"; }
  std::string factor(std::uint32_t angle) {
    out_.factors.push_back(angle);
    return "m.template factor" + arguments(out_.factors.size() - 1) + "()";
  }
  std::string slot_of(std::int32_t read) {
    out_.reads.push_back(static_cast<std::uint16_t>(read));
    return "m.template read" + arguments(out_.reads.size() - 1);
  }
  // A weight for what is read now.
  std::size_t weigh(double besides) {
    out_.weights.emplace_back(static_cast<std::uint32_t>(out_.lifts.size()), besides);
    return out_.weights.size() - 1;
  }
  static std::string condition(std::uint32_t thread, std::uint32_t thread_value,
                               std::uint64_t outer, std::uint64_t outer_value) {
    if (!thread && !outer) return "true";
    return "m.template is_on<" + hex(thread) + ", " + hex(thread_value) + ", " + hex(outer) + ", " +
           hex(outer_value) + ">()";
  }
  static std::string condition(const StageOp& op) {
    return condition(op.thread, op.thread_value, op.outer, op.outer_value);
  }
  static std::string condition(const StageTerm& term) {
    return condition(term.thread, term.thread, term.outer, term.outer);
  }

  bool operation(const StageOp& op) {
    switch (op.kind) {
      case StageOpKind::kExchange:
        exchange(op);
        return true;
      case StageOpKind::kRotate: {
        const auto angle = static_cast<std::uint32_t>(op.angle);
        const std::size_t weight = options_.back && op.read >= 0 ? weigh(1) : 0;
        std::string call;
        if (op.registers || op.thread || op.outer) {
          call = "m.template rotate" + arguments(op.bit, op.registers, op.register_value) + "(" +
                 factor(angle) + ", " + condition(op) + ")";
        } else {
          out_.lifts.push_back(angle);
          call = "m.template lift" + arguments(op.bit, out_.lifts.size() - 1) + "()";
        }
        if (options_.back && op.read >= 0)
          call = slot_of(op.read) + "(m.template weigh" + arguments(weight) + "(" + call + "))";
        line(call + ";");
        return true;
      }
      case StageOpKind::kFlip:
        line("m.template flip" + arguments(op.bit, op.registers, op.register_value) + "(" +
             condition(op) + ");");
        return true;
      case StageOpKind::kPhases:
        phases(p_.phases[op.index]);
        return true;
      case StageOpKind::kMatrix:
        return false;
    }
    return false;
  }

  // Exchanges of a pass stand one after the other in the program, so that their kept addresses do.
  void exchange(const StageOp& op) {
    const Exchange& e = p_.exchanges[op.index];
    const int bytes = options_.single ? 8 : 16;
    const auto columns = [&](const std::uint16_t* all) {
      std::string list;
      for (int s = 0; s < p_.row_bits; ++s) list += std::to_string(all[s] * bytes) + ", ";
      return "{" + list + "}";
    };
    const std::string text = "\n    {" + columns(e.from) + ", " + columns(e.to) + ", " +
                             std::to_string(e.plus * bytes) + "},";
    // backward the last one comes first
    exchanges_ = options_.back ? text + exchanges_ : exchanges_ + text;
    std::string plus = "0";
    for (std::uint32_t k = 0; k < e.num_conditions; ++k) {
      const ExchangeCondition& c = p_.conditions[e.first_condition + k];
      plus += " ^ (" + condition(0, 0, c.outer, c.outer_value) + " ? " +
              std::to_string(c.plus * bytes) + " : 0)";
    }
    line("m.template exchange" + arguments(op.index - pass_.first_exchange) + "(" + plus + ");");
  }

  void phases(const StagePhases& all) {
    const std::uint32_t classes = 1u << p_.register_bits;
    const std::string held = std::to_string(classes);
    line("{");
    if (options_.back && all.reads) {
      line("typename M::T w[" + held + "];");
      line("m.template overlaps" + arguments(weigh(2)) + "(w);");
      for (std::uint32_t m = 0; m < classes; ++m) {
        const std::string own = "w[" + std::to_string(m) + "]";
        std::uint32_t waits = all.first[m];
        if (all.accumulator[m] >= 0) {
          line("m.template accumulate" + arguments(all.accumulator[m]) + "(" + own + ");");
          waits = all.tabled[m];
        }
        for (std::uint32_t k = waits; k < all.first[m + 1]; ++k) {
          const StageTerm& t = p_.terms[k];
          if (t.read < 0) continue;
          const std::string on = condition(t);
          line(slot_of(t.read) + "(" + (on == "true" ? own : on + " ? " + own + " : 0") + ");");
        }
      }
    }
    line("typename M::A f[" + held + "];");
    std::uint32_t present = 0;
    for (std::uint32_t m = 0; m < classes; ++m) {
      if (all.first[m] == all.first[m + 1]) continue;
      const std::string own = "f[" + std::to_string(m) + "]";
      const auto add = [&](const std::string& what) {
        line(own + " = " + (present >> m & 1 ? "times(" + own + ", " + what + ")" : what) + ";");
        present |= 1u << m;
      };
      std::uint32_t next = all.first[m];
      if (all.table[m] >= 0 && of_threads(all, m)) {
        add("m.template table" + arguments(all.table[m]) + "()");
        next = all.tabled[m];
      }
      for (; next < all.first[m + 1]; ++next) {
        const StageTerm& t = p_.terms[next];
        const std::string on = condition(t), own_factor = factor(t.angle);
        add(on == "true" ? own_factor : "m.when(" + on + ", " + own_factor + ")");
      }
    }
    line("m.template multiply<" + hex(present) + ">(f);");
    line("}");
  }
  // Whether threads have different products of a class: the product of all is no factor then.
  bool of_threads(const StagePhases& all, std::uint32_t m) const {
    for (std::uint32_t k = all.first[m]; k < all.tabled[m]; ++k) {
      if (p_.terms[k].thread) return true;
    }
    return false;
  }

  const StageProgram& p_;
  const StagePass& pass_;
  const PassSourceOptions options_;
  PassSource out_;
  std::string body_, exchanges_;
};

}  // namespace

std::optional<PassSource> pass_source(const StageProgram& program, std::size_t pass,
                                      const PassSourceOptions& options) {
  return Writer(program, pass, options).write();
}

template <class T>
std::vector<std::byte> fill_numbers(const PassSource& source,
                                    const std::vector<std::pair<T, T>>& factors) {
  std::vector<T> numbers;
  for (const std::uint32_t angle : source.factors) {
    numbers.push_back(factors[angle].first);
    numbers.push_back(factors[angle].second);
  }
  numbers.resize(numbers.size() + 2);
  std::vector<double> scales{1};  // after so many lifts
  std::vector<std::uint32_t> forms(source.lifts.size() / 32 + 1);
  for (std::size_t l = 0; l < source.lifts.size(); ++l) {
    const auto [c, s] = factors[source.lifts[l]];
    const bool stays = std::abs(c) < std::abs(s);
    numbers.push_back(stays ? c / s : s / c);
    forms[l / 32] |= std::uint32_t{stays} << l % 32;
    scales.push_back(scales.back() * static_cast<double>(!stays ? c : source.back ? -s : s));
  }
  numbers.push_back(0);
  for (const auto& [lifts, besides] : source.weights)
    numbers.push_back(static_cast<T>(besides * scales[lifts] * scales[lifts]));
  numbers.push_back(0);
  numbers.push_back(static_cast<T>(scales.back()));
  const auto bytes = [](std::size_t count, std::size_t each) { return count * each; };
  const std::size_t of_numbers = bytes(numbers.size(), sizeof(T)),
                    of_forms = bytes(forms.size(), sizeof(std::uint32_t)),
                    of_reads = bytes(source.reads.size() + 1, sizeof(std::uint16_t));
  constexpr std::size_t kAlignment = 2 * sizeof(T);
  std::vector<std::byte> out((of_numbers + of_forms + of_reads + kAlignment - 1) / kAlignment *
                             kAlignment);
  std::memcpy(out.data(), numbers.data(), of_numbers);
  std::memcpy(out.data() + of_numbers, forms.data(), of_forms);
  std::copy_n(reinterpret_cast<const std::byte*>(source.reads.data()),
              of_reads - sizeof(std::uint16_t), out.data() + of_numbers + of_forms);
  return out;
}
template std::vector<std::byte> fill_numbers(const PassSource&,
                                             const std::vector<std::pair<float, float>>&);
template std::vector<std::byte> fill_numbers(const PassSource&,
                                             const std::vector<std::pair<double, double>>&);

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
