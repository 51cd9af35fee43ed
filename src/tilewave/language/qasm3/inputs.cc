// Values of inputs, as people write them on a command line, in the type that the program declares.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm2/expression.h"
#include "tilewave/language/qasm3/value.h"

namespace tilewave::language::qasm3 {
namespace {

// A number as OpenQASM 2 writes angles.
double number(const std::string& text) {
  const bool is_word = text.find_first_of("0123456789") == text.npos;  // as inf or nan
  if (const auto x = whole_double(text); is_word && x && !std::isfinite(*x))
    throw ValueError{"must be a finite number"};
  try {
    return qasm2::parse_constant(text, "input");
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const std::size_t line = std::min(what.find('\n'), what.size());
    const std::size_t place = std::min(what.find(": "), line);
    throw ValueError{concat("must be a number", what.substr(place, line - place))};
  }
}

// "0101", the first one highest; `text` without its quotes.
Value row_of_bits(std::string_view text, Base base, int width) {
  const std::vector<bool> row = read_row(text, static_cast<std::size_t>(width));
  std::uint64_t u = 0;
  for (std::size_t k = 0; k < row.size(); ++k) u |= std::uint64_t{row[k]} << k;
  Value out = Value::zero(base, width);
  out.cells[0].i = static_cast<std::int64_t>(u);
  return out;
}

// A decimal, 0x, 0o or 0b number, or an expression that is whole; within `width` bits.
std::int64_t whole(const std::string& text, bool is_signed, int width) {
  std::string_view digits = text;
  const bool minus = digits.starts_with('-');
  if (minus || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  std::uint64_t size = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, size, base);
  const bool is_too_long = result.ec == std::errc::result_out_of_range;
  bool negative = minus && size > 0;
  if (!is_too_long && (result.ec != std::errc() || result.ptr != end)) {
    const double x = number(text);
    if (x != std::floor(x)) throw ValueError{"must be an integer"};
    if (std::abs(x) > 0x1p53)
      throw ValueError{"must be written without a point where it is so large"};
    size = static_cast<std::uint64_t>(std::abs(x)), negative = x < 0;
  }
  const std::uint64_t most = low_mask(is_signed ? width - 1 : width);
  if (is_too_long || size > most + (negative && is_signed ? 1 : 0) || (negative && !is_signed)) {
    throw ValueError{concat("must be from ", is_signed ? "-" : "",
                            is_signed ? std::to_string(most + 1) : "0", " to ", most)};
  }
  return static_cast<std::int64_t>(negative ? 0 - size : size);
}

}  // namespace

std::vector<bool> read_row(std::string_view text, std::size_t width) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  std::vector<bool> row;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    if (*c == '_') continue;
    if (*c != '0' && *c != '1') throw ValueError{"must be a row of 0 and 1"};
    row.push_back(*c == '1');
  }
  if (row.size() != width) throw ValueError{concat("must have ", counted(width, "bit"))};
  return row;
}

Value read_input(const std::string& text, Base base, int width, bool is_register) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  const std::string_view inside =
      quoted ? std::string_view(text).substr(1, text.size() - 2) : std::string_view(text);
  const bool has_bits = is_register || (base == Base::kAngle && width > 0);
  if (quoted && !has_bits)
    throw ValueError{"must be a number: a row of bits is for a register or an angle[n]"};
  if (quoted) return row_of_bits(inside, base, width);
  if (is_register) {
    const bool is_row = inside.size() == static_cast<std::size_t>(width) &&
                        inside.find_first_not_of("01") == inside.npos;
    if (is_row) return row_of_bits(inside, base, width);
    try {
      Value out = Value::zero(base, width);
      out.cells[0].i = whole(text, false, width);
      return out;
    } catch (const ValueError& error) {
      throw ValueError{concat(error.problem, ", or a row of ",
                              counted(static_cast<std::uint64_t>(width), "bit"))};
    }
  }
  if (base == Base::kBit || base == Base::kBool) {
    const bool is_true = text == "true";
    Value out = Value::zero(base, 1);
    out.cells[0].i = is_true ? 1 : text == "false" ? 0 : whole(text, false, 1);
    return out;
  }
  if (base == Base::kInt || base == Base::kUint) {
    Value out = Value::zero(base, width);
    out.cells[0].i = whole(text, base == Base::kInt, width);
    return out;
  }
  if (base == Base::kDuration) {
    const std::string_view digits = inside.substr(inside.starts_with('-') ? 1 : 0);
    const TextSource source{"input", digits};
    const Lexer lexer(source);
    const Token& t = lexer.token();
    if (t.kind != TokenKind::kTiming || t.text.size() != digits.size()) {
      throw ValueError{"must be a time such as 100ns"};
    }
    const double time = picoseconds(digits);
    if (!std::isfinite(time)) throw ValueError{"must be a finite time"};
    Value out = Value::zero(base, width);
    out.cells[0].d = digits.size() < inside.size() ? -time : time;
    return out;
  }
  const double x = number(text);
  if (!std::isfinite(x)) throw ValueError{"must be a finite number"};
  return cast(Value::real(x), base, width);
}

}  // namespace tilewave::language::qasm3
