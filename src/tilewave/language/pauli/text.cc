#include "tilewave/language/pauli/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tilewave/base/concat.h"
#include "tilewave/base/read_double.h"

#include "tilewave/base/units.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

using circuit::PauliOrder;
using circuit::WidePauliTerm;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_pauli(char c) { return c == 'I' || c == 'X' || c == 'Y' || c == 'Z'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void put(WidePauliTerm& term, char pauli, std::uint64_t qubit) {
  const std::uint64_t bit = std::uint64_t{1} << (qubit % 64);
  const std::size_t words = std::max<std::size_t>(term.x.size(), qubit / 64 + 1);
  term.x.resize(words);
  term.z.resize(words);
  if (pauli == 'X' || pauli == 'Y') term.x[qubit / 64] |= bit;
  if (pauli == 'Z' || pauli == 'Y') term.z[qubit / 64] |= bit;
}

class PauliParser {
 public:
  PauliParser(TextSource source, PauliOrder order, std::uint32_t num_qubits)
      : source_(std::move(source)), text_(source_.text), order_(order), num_qubits_(num_qubits) {}

  circuit::WidePauliSum parse() {
    circuit::WidePauliSum sum;
    bool line_has_term = false;
    double total = 0;  // of their sizes
    while (true) {
      skip_blanks();
      if (at_end()) break;
      if (peek() == '\n') {
        ++next_;
        line_has_term = false;
        continue;
      }
      double sign = 1;
      if (peek() == '+' || peek() == '-') {
        sign = text_[next_++] == '-' ? -1 : 1;
        // a sum may be broken after its sign, or go on as programs print: 0.5 ZZ + -0.2 XX
        skip_blanks_and_lines();
        if (line_has_term && peek() == '-') {
          sign = -sign;
          ++next_;
          skip_blanks();
        }
      } else if (line_has_term) {
        fail("expected '+' or '-' between terms");
      }
      const std::size_t start = next_;
      sum.push_back(term(sign));
      total += std::abs(sum.back().coefficient);
      if (!std::isfinite(total)) {
        fail_at(source_, start, "the coefficients add up to more than a double holds");
      }
      line_has_term = true;
    }
    if (sum.empty()) fail("no Pauli string: write a sum such as '0.5 ZZI + 0.2 X0 Y3'");
    return sum;
  }

 private:
  bool at_end() const { return next_ >= text_.size(); }
  char peek() const { return next_ < text_.size() ? text_[next_] : '\n'; }
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... problem) const {
    fail_at(source_, next_, concat(problem...));
  }

  void skip_blanks() {
    while (!at_end()) {
      const char c = text_[next_];
      if (c == '#') {
        next_ = std::min(text_.find('\n', next_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++next_;
      } else {
        return;
      }
    }
  }
  void skip_blanks_and_lines() {
    for (skip_blanks(); !at_end() && peek() == '\n'; skip_blanks()) ++next_;
  }

  // [number] [*] string
  WidePauliTerm term(double sign) {
    WidePauliTerm t;
    t.coefficient = sign;
    if (is_digit(peek()) || peek() == '.') {
      t.coefficient = sign * number();
      skip_blanks();
      if (peek() == '*') ++next_;
      skip_blanks();
    }
    if (!is_pauli(peek())) {
      fail("expected a Pauli string such as 'ZZI' or 'X0 Y3' ('I' for a constant)");
    }
    const std::size_t start = next_;
    std::size_t end = next_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const bool is_dense = std::all_of(text_.begin() + start, text_.begin() + end, is_pauli);
    if (is_dense) {
      dense(t, text_.substr(start, end - start));
      next_ = end;
    } else {
      sparse(t);
    }
    return t;
  }

  double number() {
    const ReadNumber number = read_double(text_.substr(next_));
    if (number.size == 0 || !std::isfinite(number.value))
      fail("a coefficient must be a finite number");
    next_ += number.size;
    return number.value;
  }

  void dense(WidePauliTerm& t, std::string_view string) const {
    if (string.size() > num_qubits_) {
      fail("this string is for ", counted(string.size(), "qubit"), ", the circuit has ",
           num_qubits_);
    }
    for (std::size_t k = 0; k < string.size(); ++k) {
      put(t, string[k], order_ == PauliOrder::kFirstIsQubit0 ? k : string.size() - 1 - k);
    }
  }

  // (letter qubit)+, separated by blanks or *
  void sparse(WidePauliTerm& t) {
    std::vector<std::uint64_t> used;  // qubits, in ascending order
    while (is_pauli(peek())) {
      const std::size_t start = next_++;
      const char pauli = text_[start];
      if (peek() == '_') ++next_;
      std::uint64_t qubit = 0;
      const auto r = std::from_chars(text_.data() + next_, text_.data() + text_.size(), qubit);
      if (!is_digit(peek())) {
        fail_at(source_, start,
                concat("expected a qubit after '", text_.substr(start, 1),
                       "': write a string dense (ZZI) or sparse (Z0 Z1), not both"));
      }
      if (r.ec != std::errc() || qubit >= num_qubits_) {
        fail_at(
            source_, start,
            concat("this qubit is out of range: the circuit has ", counted(num_qubits_, "qubit")));
      }
      const auto place = std::lower_bound(used.begin(), used.end(), qubit);
      if (place != used.end() && *place == qubit) {
        fail_at(source_, start, concat("qubit ", qubit, " is named twice"));
      }
      used.insert(place, qubit);
      put(t, pauli, qubit);
      next_ = static_cast<std::size_t>(r.ptr - text_.data());
      skip_blanks();
      if (peek() == '*') {
        ++next_;
        skip_blanks();
        if (!is_pauli(peek())) fail("expected a letter I, X, Y or Z after '*'");
      }
    }
  }

  TextSource source_;
  std::string_view text_;
  PauliOrder order_;
  std::uint32_t num_qubits_;
  std::size_t next_ = 0;
};

}  // namespace

circuit::WidePauliSum parse_pauli_sum(std::string_view text, const std::string& name,
                                      PauliOrder order, std::uint32_t num_qubits) {
  return PauliParser({name, without_byte_order_mark(text)}, order, num_qubits).parse();
}

namespace {

// Whether the first line with more than a comment is made of characters that sums are made of.
bool starts_like_sum(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line = line.substr(0, line.find('#'));
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    return line.find_first_not_of("IXYZixyz0123456789.+-*eE \t\r") == std::string_view::npos;
  }
  return true;
}

}  // namespace

circuit::WidePauliSum read_pauli_file(const std::string& path, PauliOrder order,
                                      std::uint32_t num_qubits) {
  const std::string text = read_text_file(path);
  TextSource source{path, without_byte_order_mark(text)};
  if (path != "-" && !starts_like_sum(source.text)) source.unlike = "a sum of Pauli strings";
  check_is_text(source);
  return PauliParser(source, order, num_qubits).parse();
}

std::string to_text(const WidePauliTerm& term, PauliOrder order, std::uint32_t num_qubits) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, term.coefficient).ptr;
  std::string text(digits, end);
  text += ' ';
  const std::size_t start = text.size();
  for (std::uint32_t q = 0; q < num_qubits; ++q) {
    text += "IXZY"[(term.has_x(q) ? 1 : 0) + (term.has_z(q) ? 2 : 0)];
  }
  if (order == PauliOrder::kLastIsQubit0) std::reverse(text.begin() + start, text.end());
  return text;
}

}  // namespace tilewave::language
