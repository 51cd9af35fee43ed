// Classical values of OpenQASM 3, known now or depending on measured bits.
//
// A value that depends on k classical bits of the circuit is a table of 2^k cells: cell i is the
// value when bit j of i is what the classical bit deps[j] holds. Operations act cell by cell on the
// union of the bits, so every classical expression works on measured bits as it does on constants.
// Beyond kMaxValueBits bits, and for what a loop of the running circuit changes, a value is an
// expression that the circuit computes (runtime.cc).
//
// Integers live in 64 bits; float, angle and duration (in picoseconds) in a double. An angle[n] is
// an unsigned integer u of n bits that stands for 2 pi u / 2^n (angle.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm3/syntax.h"

namespace tilewave::language::qasm3 {

constexpr std::size_t kMaxValueBits = 12;
/// Where a row of more than 64 bits stands for a value.
constexpr std::string_view kLongRow =
    "a row of more than 64 bits is no number: it can be assigned to a register of its size, "
    "compared by == and !=, indexed and counted by popcount; of such rows there are ~ & | ^, and "
    "shifts and rotations by constants";

struct Cell {
  std::int64_t i = 0;
  double d = 0;
};

constexpr bool is_real_type(Base base, int width) {
  return base == Base::kFloat || base == Base::kDuration || (base == Base::kAngle && width == 0);
}
/// Of a type that is named without one.
constexpr int default_width(Base base) {
  return base == Base::kBit || base == Base::kBool ? 1 : base == Base::kAngle ? 0 : 64;
}

struct Value {
  Base base = Base::kInt;
  int width = 64;                    ///< bits; 0 of an angle that is a real number
  std::vector<circuit::Clbit> deps;  ///< ascending
  std::vector<Cell> cells{Cell{}};   ///< one unused cell beside an expression
  std::shared_ptr<const circuit::ClassicalExpr> expr = {};  ///< of the bits `deps`, or null

  /// A constant that cannot be computed, such as 1 / 0 in a branch that may not be taken, is an
  /// expression without bits and not known.
  bool is_known() const { return deps.empty() && !expr; }
  bool is_expr() const { return expr != nullptr; }
  bool is_real() const { return is_real_type(base, width); }
  /// An angle[n]: a number of 2^-n turns.
  bool is_turns() const { return base == Base::kAngle && width > 0; }
  /// Every case gives the same: `cells[0]` is the value.
  bool is_same() const;
  static Value integer(std::int64_t i) { return {Base::kInt, 64, {}, {{i, 0}}}; }
  static Value natural(std::uint64_t u) {
    return {Base::kUint, 64, {}, {{static_cast<std::int64_t>(u), 0}}};
  }
  static Value real(double d) { return {Base::kFloat, 64, {}, {{0, d}}}; }
  static Value boolean(bool b) { return {Base::kBool, 1, {}, {{b, 0}}}; }
  static Value zero(Base base, int width) { return {base, width, {}, {Cell{}}}; }
  /// The bits of a classical register, lowest first; entry -1: read at run time, else its value.
  static Value bits(const std::vector<circuit::Clbit>& wires, const std::vector<int>& known);
};

/// Problems are messages for the place of the operator.
struct ValueError {
  std::string problem;
};

/// The cases that can occur at a place of the program: where a table holds, as far as it goes, and
/// whether the place stands under conditions at all. Under `if (b != 0)` a division by b is
/// defined.
struct Reach {
  Value holds = Value::boolean(true);
  bool is_conditional = false;
};
/// Asked where some case of a table, or a constant, has no value. One that cannot occur holds 0;
/// where conditions may exclude it, the running circuit computes the value; otherwise it is an error.
using ReachOf = std::function<Reach()>;

/// Cell by cell over the union of the bits. Throws ValueError where there are too many, or where
/// one is an expression.
Value combine(const Value& a, const Value& b, const std::function<Cell(Cell, Cell)>& f);
/// The same where f throws ValueError in some cells; none where the running circuit must compute
/// it.
std::optional<Value> combine(const Value& a, const Value& b,
                             const std::function<Cell(Cell, Cell)>& f, const ReachOf& reach);
/// True when `combine` takes both.
bool fit_a_table(const Value& a, const Value& b);

Value unary(std::string_view op, const Value& a);
Value binary(std::string_view op, Value a, const Value& b, const ReachOf& reach = {});
/// Whether `op` of two known integers goes beyond 64 bits, where it wraps around.
bool exceeds_64_bits(std::string_view op, const Value& a, const Value& b);
/// sin, cos, ..., popcount, mod, rotl, ...; false when there is no such function.
bool call_function(std::string_view name, const std::vector<Value>& args, Value& out,
                   const ReachOf& reach = {});
Value cast(const Value& a, Base base, int width, const ReachOf& reach = {});
Value truth(const Value& a);
/// `then` where `condition` holds, otherwise `otherwise`; of tables of one type.
Value select(const Value& condition, const Value& then, const Value& otherwise);
/// The same bits with another type of as many: of integers, bits and angle[n].
Value relabel(Value a, Base base);
/// The bits of an integer, a register or an angle[n] as a number; throws ValueError for others.
Value raw_bits(const Value& a);
/// The type and width that `op` gives integers, bits and truth values.
struct IntegerType {
  Base base;
  int width;
};
IntegerType integer_result(std::string_view op, const Value& a, const Value& b);
/// The type of a result that is a real number.
Base real_result(std::string_view op, const Value& a, const Value& b);
Base common_base(const Value& a, const Value& b);
/// One is an int, the other a uint or bits of 64, whose values an int does not hold.
bool exceeds_int(const Value& a, const Value& b);
bool is_comparison(std::string_view op);

/// The value of an input (inputs.cc): `is_register` of a type bit[width].
Value read_input(const std::string& text, Base base, int width, bool is_register);
/// The bits of an input of more than 64, the lowest first.
std::vector<bool> read_row(std::string_view text, std::size_t width);

// ---- angle[n] (angle.cc) ----
/// `op` where a or b is an angle[n].
Value angle_binary(std::string_view op, const Value& a, const Value& b, const ReachOf& reach);
/// To an angle[width], or from one.
Value angle_cast(const Value& a, Base base, int width);

// ---- values the running circuit computes (runtime.cc) ----
Value unary_expr(std::string_view op, const Value& a);
Value binary_expr(std::string_view op, Value a, const Value& b);
Value cast_expr(const Value& a, Base base, int width);
/// A function of one number, of `result` type, or of two.
Value function_expr(circuit::ClassicalFunction f, const Value& a, const Value* b = nullptr);
/// x is a real number: the number of turns in 2^-width, as an unsigned integer.
Value turns_expr(const Value& x, int width);
/// The value in classical bits [first, first + width), 64 of them for real numbers.
Value stored(Base base, int width, circuit::Clbit first);
/// The value in classical bits anywhere, at most 64, lowest first; entries of `known` as for bits.
Value stored_bits(const std::vector<circuit::Clbit>& wires, const std::vector<int>& known);
/// What the index of an element that does not exist gives: an error where it is computed.
Value impossible_value(Base base, int width);
/// Any value as an expression.
circuit::ClassicalExpr to_expr(const Value& a);

/// The same table with the bit `from` called `to`.
void rename_bit(Value& a, circuit::Clbit from, circuit::Clbit to);
/// True when the classical bits [first, first + size) equal `value`, or do not where `negated`;
/// with `bits` a truth table instead: bit i of `table` for the i whose bit j is what bits[j] holds;
/// with `expr` that it is not zero, or is where `negated`. All of `also` must hold too.
struct Test {
  circuit::Clbit first = 0;
  std::uint32_t size = 0;
  std::vector<std::uint64_t> value = {};
  bool negated = false;
  std::vector<circuit::Clbit> bits = {};
  std::vector<std::uint64_t> table = {};
  std::vector<Test> also = {};
  std::shared_ptr<const circuit::ClassicalExpr> expr = {};

  bool operator==(const Test&) const = default;
};

/// Where a value that depends on measured bits is true, in the plainest form.
Test to_test(const Value& holds);
/// The bits side by side as a number, the first one lowest.
std::int32_t add_index(const std::vector<circuit::Clbit>& bits, circuit::ClassicalExpr& e);
/// The result of a truth table over `test.bits` as a node.
std::int32_t add_table(const Test& test, circuit::ClassicalExpr& e);
/// The classical bits a test reads, possibly with repetitions.
std::vector<circuit::Clbit> bits_read(const Test& test);
/// As a condition of the circuit: a comparison where it is one, otherwise an expression.
circuit::Condition to_condition(const Test& test);

/// pi, tau, euler and their letters; none for other names.
std::optional<double> constant(std::string_view name);
/// Throws ValueError where the function, whose name is one, takes another number of arguments.
void need_arguments(std::string_view function, std::size_t has);
/// Every name of a function, for suggestions.
std::vector<std::string_view> function_names();
bool is_function(std::string_view name);

}  // namespace tilewave::language::qasm3
