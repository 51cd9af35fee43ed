#include "tilewave/language/qsim/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/read_double.h"
#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

using circuit::GateId;
using circuit::GateInfo;
using circuit::Qubit;

constexpr std::uint64_t kMaxQubits = 1 << 20;

// The number of qubits stands alone on its line.
bool starts_with_a_number(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = std::min(text.find('\n', first), text.size());
  return text.substr(first, end - first).find_first_not_of("0123456789 \t\r") ==
         std::string_view::npos;
}

class QsimParser {
 public:
  explicit QsimParser(TextSource source) : source_(std::move(source)) {
    if (!source_.name.starts_with('<') && !starts_with_a_number(source_.text))
      source_.unlike = "a circuit in qsim's format";
  }

  circuit::Circuit parse() {
    check_is_text(source_);
    bool first = true;
    for (std::size_t begin = 0; begin < source_.text.size();) {
      const std::size_t end = std::min(source_.text.find('\n', begin), source_.text.size());
      split(begin, end);
      ++line_;
      begin = end + 1;
      if (words_.empty()) continue;
      if (first) {
        header();
        first = false;
      } else {
        gate_line();
      }
    }
    if (first) fail_at(source_, 0, "the file holds no circuit: its first line is a qubit count");
    return std::move(circuit_);
  }

 private:
  struct Word {
    std::size_t offset;
    std::string_view text;
  };

  void split(std::size_t begin, std::size_t end) {
    words_.clear();
    end_ = end;
    const auto blank = [&](std::size_t k) {
      return source_.text[k] == ' ' || source_.text[k] == '\t' || source_.text[k] == '\r';
    };
    for (std::size_t k = begin; k < end;) {
      while (k < end && blank(k)) ++k;
      const std::size_t from = k;
      while (k < end && !blank(k)) ++k;
      if (k > from) words_.push_back({from, source_.text.substr(from, k - from)});
    }
  }

  void header() {
    const auto count = natural(words_[0]);
    if (words_.size() > 1) fail_at(source_, words_[1].offset, "the first line is one qubit count");
    if (!count || *count == 0 || *count > kMaxQubits) {
      fail_at(source_, words_[0].offset,
              concat("the first line is the number of qubits, 1 to ", kMaxQubits));
    }
    circuit_ = circuit::Circuit(static_cast<std::uint32_t>(*count));
    times_.assign(*count, -1);
  }

  static std::optional<std::uint64_t> natural(const Word& w) {
    std::uint64_t value = 0;
    const char* end = w.text.data() + w.text.size();
    const auto r = std::from_chars(w.text.data(), end, value);
    if (r.ec != std::errc() || r.ptr != end) return std::nullopt;
    return value;
  }

  void gate_line() {
    used_.clear();
    const auto time = natural(words_[0]);
    constexpr auto kMaxTime = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!time || *time > kMaxTime) {
      fail_at(source_, words_[0].offset, "a line starts with the time of its gate");
    }
    std::size_t next = 1;
    if (next >= words_.size()) fail_at(source_, end_, "the name of a gate is missing");
    if (words_[next].text == "m") {
      measure(next + 1);
    } else {
      std::vector<Qubit> controls;
      if (words_[next].text == "c") {
        for (++next; next < words_.size() && natural(words_[next]); ++next) {
          controls.push_back(qubit(words_[next]));
        }
        if (controls.empty()) fail_at(source_, offset(next), "c needs at least one control qubit");
        if (controls.size() > 60) fail_at(source_, offset(next), "more than 60 control qubits");
      }
      gate(next, controls);
    }
    for (const Word& w : used_) {
      std::int64_t& last = times_[*natural(w)];
      if (static_cast<std::int64_t>(*time) <= last) {
        fail_at(
            source_, w.offset,
            concat("qubit ", w.text, " already has a gate at time ", last, ": times must grow"));
      }
      last = static_cast<std::int64_t>(*time);
    }
  }

  std::size_t offset(std::size_t word) const {
    return word < words_.size() ? words_[word].offset : end_;
  }

  Qubit qubit(const Word& w) {
    const auto value = natural(w);
    if (!value) fail_at(source_, w.offset, concat("expected a qubit, found '", w.text, "'"));
    if (*value >= circuit_.num_qubits()) {
      fail_at(source_, w.offset,
              concat("qubit ", w.text, " is out of range: the circuit has ",
                     counted(circuit_.num_qubits(), "qubit")));
    }
    for (const Word& other : used_) {
      if (*natural(other) == *value) {
        fail_at(source_, w.offset, concat("qubit ", w.text, " is named twice"));
      }
    }
    used_.push_back(w);
    return static_cast<Qubit>(*value);
  }

  void measure(std::size_t next) {
    if (next >= words_.size()) fail_at(source_, end_, "m needs at least one qubit");
    for (; next < words_.size(); ++next) {
      const Qubit q = qubit(words_[next]);
      circuit_.add_clbits(1);
      circuit_.add_measure(q, circuit_.num_clbits() - 1).line = line_;
    }
  }

  void gate(std::size_t next, const std::vector<Qubit>& controls) {
    if (next >= words_.size()) fail_at(source_, end_, "the name of a gate is missing");
    const Word name = words_[next];
    if (name.text == "c") {
      fail_at(source_, name.offset, "'c' stands once: all control qubits follow the first");
    }
    if (name.text == "m") fail_at(source_, name.offset, "a measurement has no control qubits");
    const bool identity2 = name.text == "id2" || name.text == "id_2";
    const GateInfo* info = circuit::find_gate(circuit::Language::kQsim, name.text);
    if (!info && !identity2) fail_unknown(name);
    const auto num_qubits =
        identity2 ? 2 : static_cast<std::size_t>(info->num_controls + info->num_targets);
    const auto num_params = identity2 ? 0 : static_cast<std::size_t>(info->num_params);
    if (words_.size() - next - 1 != num_qubits + num_params) {
      fail_at(source_, name.offset,
              concat("gate '", name.text, "' takes ", counted(num_qubits, "qubit"), " and ",
                     counted(num_params, "parameter"), ", found ",
                     counted(words_.size() - next - 1, "value")));
    }
    std::vector<Qubit> qubits;
    std::vector<double> params;
    for (++next; qubits.size() < num_qubits; ++next) qubits.push_back(qubit(words_[next]));
    for (; next < words_.size(); ++next) params.push_back(number(words_[next]));
    if (identity2) return add(circuit::gate_info(GateId::kId), controls, {qubits[0]}, {});
    if (info->id == GateId::kCp) params[0] = -params[0];
    if (info->id == GateId::kR) std::swap(params[0], params[1]);
    add(*info, controls, std::move(qubits), params);
  }

  void add(const GateInfo& info, const std::vector<Qubit>& controls, std::vector<Qubit> qubits,
           const std::vector<double>& params) {
    const GateInfo* named = circuit::find_controlled(info.id, static_cast<int>(controls.size()));
    if (named) {
      qubits.insert(qubits.begin(), controls.begin(), controls.end());
      circuit_.add_gate(named->id, qubits, params).line = line_;
    } else {
      circuit_.add_controlled_gate(info.id, controls, ~std::uint64_t{0}, qubits, params).line =
          line_;
    }
  }

  [[noreturn]] void fail_unknown(const Word& name) const {
    std::vector<std::string_view> known = {"m", "c", "id2"};
    for (const GateInfo& g : circuit::gate_table()) {
      if (!g.qsim.empty()) known.push_back(g.qsim.substr(0, g.qsim.find(' ')));
    }
    fail_at(source_, name.offset,
            concat("unknown gate '", name.text, "'", did_you_mean_gate(name.text, known)));
  }

  double number(const Word& w) const {
    const std::optional<double> value = whole_double(w.text);
    if (!value) fail_at(source_, w.offset, concat("expected a number, found '", w.text, "'"));
    if (!std::isfinite(*value)) {
      fail_at(source_, w.offset, concat("'", w.text, "' is not a finite double"));
    }
    return *value;
  }

  TextSource source_;
  circuit::Circuit circuit_;
  std::vector<Word> words_, used_;
  std::vector<std::int64_t> times_;  // of each qubit's last gate
  std::size_t end_ = 0;              // of the line
  std::uint32_t line_ = 0;
};

}  // namespace

circuit::Circuit parse_qsim_text(std::string_view text, const std::string& file_name) {
  return QsimParser({file_name, text}).parse();
}

}  // namespace tilewave::language
