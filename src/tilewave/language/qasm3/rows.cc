// Rows of more than 64 bits. A value has at most 64, so a longer row is computed in runs of 64 bits,
// the lowest first: registers and literals of bits, ~ & | ^ of them, shifts and rotations by
// constants, == and !=, popcount. Run k of an expression needs nothing but runs of its operands.
#include <algorithm>

#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm2/registers.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::size_t kRun = 64;

bool is_bitwise(std::string_view op) { return op == "&" || op == "|" || op == "^"; }
bool is_shift(std::string_view op) { return op == "<<" || op == ">>"; }
bool is_rotation(const Expr& e) {
  return e.kind == ExprKind::kCall && (e.op == "rotl" || e.op == "rotr") && e.args.size() == 2;
}

std::string without_marks(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  return digits;
}

Value number_of(std::uint64_t u, std::size_t count) {
  return cast(Value::natural(u), Base::kBit, static_cast<int>(count));
}

// `low` of `size` bits with `high` above it.
Value joined(const Value& low, std::size_t size, const Value& high, std::size_t count) {
  const auto width = static_cast<int>(count);
  const Value up =
      binary("<<", cast(high, Base::kUint, width), Value::integer(static_cast<std::int64_t>(size)));
  return cast(binary("|", cast(low, Base::kUint, width), up), Base::kBit, width);
}

}  // namespace

bool Interpreter::names_long_row(const Expr& e) const {
  if (e.kind == ExprKind::kBits) return e.op.size() > kRun;
  if (e.kind == ExprKind::kName) {
    const Variable* v = memory_.find(e.op);
    return v && v->kind == Variable::Kind::kBits && v->wires.size() > kRun;
  }
  return std::any_of(e.args.begin(), e.args.end(),
                     [&](const ExprPtr& part) { return part && names_long_row(*part); });
}

// The bits of a row where they are more than 64; 0 for other expressions.
std::size_t Interpreter::long_size(const Expr& e) {
  if (!names_long_row(e) || has_effects(e)) return 0;
  std::size_t size = 0;
  if (e.kind == ExprKind::kBits) {
    size = without_marks(e.op).size();
  } else if (is_bits(e)) {
    if (depends_on_measurements(e)) return 0;
    const Wires w = wires(e);
    size = w.quantum ? 0 : w.ids.size();
  } else if ((e.kind == ExprKind::kUnary && e.op == "~") || is_rotation(e) ||
             (e.kind == ExprKind::kBinary && is_shift(e.op)) ||
             (e.kind == ExprKind::kCast && e.type.base == Base::kBit)) {
    size = long_size(*e.args[0]);
  } else if (e.kind == ExprKind::kBinary && is_bitwise(e.op)) {
    for (const ExprPtr& part : e.args) size = std::max(size, long_size(*part));
  }
  return size > kRun ? size : 0;
}

std::size_t Interpreter::known_places(const ExprPtr& by, std::size_t most) {
  const std::int64_t places = known_size(by, "the number of places of a row of more than 64 bits");
  if (places < 0) fail(by->at, "a shift by a negative number of bits");
  return std::min(static_cast<std::size_t>(places), most);
}

// Bits [first, first + count) of a row of `size`, at most 64; `links` operators of a chain count.
Value Interpreter::row_part(const Expr& e, std::size_t links, std::size_t size, std::size_t first,
                            std::size_t count) {
  if (is_bits(e)) {
    const Wires w = wires(e);
    if (w.quantum) fail(e.at, "this is a qubit, a classical value is needed");
    if (w.ids.size() != size) fail_row_size(e.at, size, w.ids.size());
    const auto begin = w.ids.begin() + static_cast<std::ptrdiff_t>(first);
    return memory_.read({begin, begin + static_cast<std::ptrdiff_t>(count)});
  }
  switch (e.kind) {
    case ExprKind::kBits: {
      const std::string digits = without_marks(e.op);
      if (digits.size() != size) fail_row_size(e.at, size, digits.size());
      std::uint64_t u = 0;
      for (std::size_t k = 0; k < count; ++k) {
        u |= std::uint64_t{digits[size - 1 - first - k] == '1'} << k;
      }
      return number_of(u, count);
    }
    case ExprKind::kUnary:
      if (e.op == "~") return unary("~", row_part(*e.args[0], size, first, count));
      break;
    case ExprKind::kCast:
      if (e.type.base != Base::kBit) break;
      if (const auto to = static_cast<std::size_t>(width_of(e.type)); to != size)
        fail_row_size(e.at, size, to);
      return row_part(*e.args[0], size, first, count);
    case ExprKind::kBinary: {
      if (links == 0) return row_part(*e.args[0], size, first, count);
      const Token& op = e.links[links - 1];
      if (is_bitwise(op.text)) {
        const Value a = row_part(e, links - 1, size, first, count);
        return binary(op.text, a, row_part(*e.args[links], size, first, count));
      }
      if (!is_shift(op.text)) break;
      const std::size_t by = known_places(e.args[links], size);
      if (op.text == ">>") {
        const std::size_t there = first + by < size ? std::min(count, size - first - by) : 0;
        if (there == 0) return number_of(0, count);
        const Value low = row_part(e, links - 1, size, first + by, there);
        return there == count ? low : joined(low, there, number_of(0, count - there), count);
      }
      if (by >= first + count) return number_of(0, count);
      const std::size_t zeros = by > first ? by - first : 0;
      const Value high = row_part(e, links - 1, size, first + zeros - by, count - zeros);
      return zeros == 0 ? high : joined(number_of(0, zeros), zeros, high, count);
    }
    case ExprKind::kCall: {
      if (!is_rotation(e)) break;
      const std::int64_t n = static_cast<std::int64_t>(size);
      std::int64_t by = known_size(e.args[1], "the number of places of a row of more than 64 bits");
      by = (by % n + n) % n;
      if (e.op == "rotr") by = (n - by) % n;
      const std::size_t start = (first + size - static_cast<std::size_t>(by)) % size;
      if (start + count <= size) return row_part(*e.args[0], size, start, count);
      const std::size_t low = size - start;
      return joined(row_part(*e.args[0], size, start, low), low,
                    row_part(*e.args[0], size, 0, count - low), count);
    }
    default:
      break;
  }
  fail(e.at, "this is no row of ", size,
       " bits: of more than 64 there are registers and rows in quotes, ~ & | ^ of them, and shifts "
       "and rotations by constants");
}

Value Interpreter::row_part(const Expr& e, std::size_t size, std::size_t first, std::size_t count) {
  return row_part(e, e.links.size(), size, first, count);
}

void Interpreter::fail_row_size(const Token& at, std::size_t size, std::size_t other) const {
  fail(at, "the sizes differ: ", counted(size, "bit"), " and ", other);
}

// The runs of a row of `size` bits, more than 64; a natural number is one with zeros above it.
std::deque<Value> Interpreter::row_values(const Expr& e, std::size_t size) {
  std::deque<Value> out;
  const auto count_at = [&](std::size_t first) { return std::min(kRun, size - first); };
  if (names_long_row(e)) {
    for (std::size_t first = 0; first < size; first += kRun) {
      out.push_back(guarded(e.at, [&] { return row_part(e, size, first, count_at(first)); }));
    }
    return out;
  }
  const bool is_decimal = e.at.kind == TokenKind::kInteger && e.kind == ExprKind::kReal;
  if (is_decimal) {  // of more than 64 bits
    const std::vector<std::uint64_t> words =
        qasm2::big_integer(without_marks(e.at.text), size / 64 + 1);
    if (!qasm2::fits(words, static_cast<std::uint32_t>(size)))
      fail(e.at, e.at.text, " does not fit into ", counted(size, "bit"));
    for (std::size_t first = 0; first < size; first += kRun) {
      const std::uint64_t word = first / 64 < words.size() ? words[first / 64] : 0;
      out.push_back(number_of(word, count_at(first)));
    }
    return out;
  }
  const Value v = evaluate(e);
  if (v.base == Base::kBit) fail_row_size(e.at, size, static_cast<std::size_t>(v.width));
  const bool is_natural = v.base == Base::kUint || v.base == Base::kBool ||
                          (v.base == Base::kInt && v.is_known() && v.cells[0].i >= 0);
  if (!is_natural) fail(e.at, "a register of ", size, " bits takes as many bits, or a uint");
  out.push_back(cast(raw_bits(v), Base::kBit, 64));
  for (std::size_t first = kRun; first < size; first += kRun) {
    out.push_back(number_of(0, count_at(first)));
  }
  return out;
}

void Interpreter::write_row(const std::vector<std::uint32_t>& wires, std::deque<Value> values,
                            const Token& at) {
  std::deque<Memory::Keep> keeps;
  for (Value& v : values) keeps.emplace_back(memory_, v);
  guarded(at, [&] {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto begin = wires.begin() + static_cast<std::ptrdiff_t>(k * kRun);
      memory_.write({begin, begin + values[k].width}, values[k], at.line);
    }
  });
}

// An assignment to more than 64 bits.
void Interpreter::assign_row(const Stmt& s, const Wires& to) {
  if (s.op == "=") return write_row(to.ids, row_values(*s.value, to.ids.size()), s.at);
  Token op = s.value->at;
  op.text = s.op.substr(0, s.op.size() - 1);
  auto both = make_expr(ExprKind::kBinary, op, op.text, {s.args[0], s.value});
  both->links.push_back(op);
  write_row(to.ids, row_values(*both, to.ids.size()), s.at);
}

// a == b or a != b where one of them is such a row; none for others.
std::optional<Value> Interpreter::compare_rows(const Expr& e) {
  if (e.links.size() != 1 || (e.op != "==" && e.op != "!=")) return std::nullopt;
  const std::size_t size = std::max(long_size(*e.args[0]), long_size(*e.args[1]));
  if (size == 0) return std::nullopt;
  const std::deque<Value> a = row_values(*e.args[0], size), b = row_values(*e.args[1], size);
  Value all = Value::boolean(true);
  for (std::size_t k = 0; k < a.size(); ++k) {
    all = binary("&&", std::move(all), binary("==", a[k], b[k]));
  }
  return e.op == "!=" ? unary("!", all) : all;
}

std::optional<Value> Interpreter::popcount_of_row(const Expr& e) {
  if (e.op != "popcount" || e.args.size() != 1) return std::nullopt;
  const std::size_t size = long_size(*e.args[0]);
  if (size == 0) return std::nullopt;
  Value sum = Value::zero(Base::kUint, 64);
  for (const Value& run : row_values(*e.args[0], size)) {
    Value ones;
    call_function(e.op, {run}, ones);
    sum = binary("+", std::move(sum), ones);
  }
  return sum;
}

}  // namespace tilewave::language::qasm3
