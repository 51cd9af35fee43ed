// Assignments to bits, values, arrays, their elements, and bits of integers and angles, and what must
// fit for one.
#include <algorithm>

#include "tilewave/base/bits.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {

void Interpreter::assign(const Stmt& s) {
  const Expr& target = *s.args[0];
  if (s.value->kind == ExprKind::kMeasure && s.op == "=" && is_bits(target)) {
    return for_each_case({&target}, s.at.line, [&] {
      const Wires to = wires(target);
      if (to.quantum) fail(target.at, "a qubit cannot be assigned to");
      measure(s.value->at, *s.value->args[0], to);
    });
  }
  if (const ArrayPart part = array_part(target); part.array) {
    check_is_variable(*part.array, target);
    if (part.is_array) {
      if (s.op != "=") fail(target.at, "an array is assigned as a whole by '=' only");
      return fill_array(*array_view(target), *s.value, s.at.line, &target);
    }
  }
  if (is_bits(target) && names_long_row(target) && !depends_on_measurements(target)) {
    const Wires to = wires(target);
    if (to.quantum) fail(target.at, "this is a qubit, a classical bit is needed");
    if (to.ids.size() > 64) return assign_row(s, to);
  }
  lost_.reset();
  Value value = evaluate(*s.value);
  if (s.op != "=") {
    Token op = s.value->at;
    op.text = s.op.substr(0, s.op.size() - 1);
    value = operate(op, evaluate(target), value);
  }
  const Variable* v = target.kind == ExprKind::kName ? memory_.find(target.op) : nullptr;
  if (v && v->kind == Variable::Kind::kValue && v->value.is_real()) note_lost_fraction();
  store(target, value, s.at.line, s.op == "=" ? s.value.get() : nullptr);
}

void Interpreter::check_is_variable(const Variable& v, const Expr& target) const {
  const Expr& root = without_indices(target);
  if (v.is_const) fail(root.at, "'", root.op, "' is constant");
}

void Interpreter::check_fits(const Expr& e, const Value& v, Base base, int width) {
  const bool is_number = base == Base::kInt || base == Base::kUint;
  const bool is_integer = v.is_known() && (v.base == Base::kInt || v.base == Base::kUint);
  if ((!is_number && base != Base::kBit) || !is_integer || width < 1 || width > 64 ||
      !is_written_out(e))
    return;
  const std::int64_t i = v.cells[0].i;
  const bool is_negative = v.base == Base::kInt && i < 0;
  const std::uint64_t most = low_mask(base == Base::kInt ? width - 1 : width);
  if (is_negative ? i >= -1 - static_cast<std::int64_t>(low_mask(width - 1))
                  : static_cast<std::uint64_t>(i) <= most)
    return;
  const std::string size = std::to_string(width);
  const std::string number =
      v.base == Base::kInt ? std::to_string(i) : std::to_string(static_cast<std::uint64_t>(i));
  if (base == Base::kBit) {
    fail(e.at, number, " does not fit into ", counted(static_cast<std::uint64_t>(width), "bit"),
         ", which hold 0 to ", most);
  }
  const std::int64_t cell = cast(v, base, width).cells[0].i;
  const std::string becomes =
      base == Base::kInt ? std::to_string(cell) : std::to_string(static_cast<std::uint64_t>(cell));
  note(e.at, "range",
       concat(number, " does not fit ", base == Base::kInt ? "int[" : "uint[", size,
              "] and becomes ", becomes));
}

// Numbers and operators alone: what the value is stands in the program.
bool Interpreter::is_written_out(const Expr& e) {
  if (e.kind == ExprKind::kInteger) return true;
  if (e.kind == ExprKind::kName) {
    const Variable* v = memory_.find(e.op);
    return v && v->is_const && v->kind == Variable::Kind::kValue;
  }
  if (e.kind != ExprKind::kUnary && e.kind != ExprKind::kBinary) return false;
  return std::all_of(e.args.begin(), e.args.end(),
                     [this](const ExprPtr& part) { return is_written_out(*part); });
}

void Interpreter::store(const Expr& target, const Value& given_value, std::uint32_t line,
                        const Expr* from) {
  Value value = given_value;
  const Memory::Keep keep(memory_, value);
  guarded(target.at, [&] {
    const ArrayPart part = array_part(target);
    if (part.array) check_is_variable(*part.array, target);
    if (part.array && part.indices.size() == part.array->dims.size()) {
      return store_element(part, value, line);
    }
    if (is_bits(target)) {
      return for_each_case({&target}, line, [&] {
        const Wires to = wires(target);
        if (to.quantum) fail(target.at, "a qubit cannot be assigned to");
        const auto n = static_cast<int>(to.ids.size());
        if (n > 64) fail(target.at, kLongRow);
        if (value.base == Base::kBit && value.width != n) {
          fail(target.at, "the sizes differ: ", counted(to.ids.size(), "bit"), " and ",
               value.width);
        }
        if (from) check_fits(*from, value, Base::kBit, n);
        memory_.write(to.ids, cast(value, Base::kBit, n), line);
      });
    }
    const Expr* const root = &without_indices(target);
    Variable* v = memory_.find(root->op);
    if (!v) fail_unknown(root->at, "name");
    check_is_variable(*v, target);
    if (root == &target && from) check_fits(*from, value, v->base, v->width);
    if (root == &target) return memory_.assign(*v, value, line);
    // some bits of an integer, of an angle[n] or of a bit parameter
    std::size_t outer = 1;
    if (part.array) {
      outer = part.array->dims.size() + 1;
      v = known_element(part);
      if (!v)
        fail(target.at,
             "bits of an element are assigned at an index known before the circuit runs");
    }
    std::size_t depth = 0;
    for (const Expr* e = &target; e != root; e = e->args[0].get()) ++depth;
    if (v->value.is_real() || depth != outer) fail(target.at, "this cannot be assigned to");
    const auto size = static_cast<std::size_t>(v->width);
    std::vector<Value> places;
    if (const auto index = dependent_index(*target.args[1])) {
      places.push_back(place(*index, size, target.at));
    } else {
      bool is_array = false;
      for (const std::size_t k : indices(*target.args[1], size, is_array)) {
        places.push_back(Value::integer(static_cast<std::int64_t>(k)));
      }
    }
    if (value.base == Base::kBit && static_cast<std::size_t>(value.width) != places.size()) {
      fail(target.at, "the sizes differ: ", counted(places.size(), "bit"), " and ", value.width);
    }
    Value bits = raw_bits(v->value);
    const Value given = raw_bits(value);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const Value& at = places[k];
      const Value one = cast(
          binary("&", binary(">>", given, Value::integer(static_cast<int>(k))), Value::integer(1)),
          Base::kUint, 64);
      const Value hole = unary("~", binary("<<", cast(Value::integer(1), Base::kUint, 64), at));
      bits = binary("|", binary("&", cast(bits, Base::kUint, 64), hole), binary("<<", one, at));
    }
    memory_.assign(*v, relabel(cast(bits, Base::kUint, v->width), Base::kBit), line);
  });
}

}  // namespace tilewave::language::qasm3
