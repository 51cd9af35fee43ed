// Arrays of classical values. An element is a variable of its own. Where an index depends on
// measurements, what is read is the sum of the elements, each times whether the index names it, and
// what is written goes into each element under the condition that the index names it.
#include <algorithm>
#include <deque>

#include "tilewave/io/qasm3_interpreter.h"

namespace tilewave::io::qasm3 {
namespace {

constexpr std::size_t kMaxElements = 1 << 16;

}  // namespace

Interpreter::ArrayPart Interpreter::array_part(const Expr& e) {
  ArrayPart part;
  const Expr* root = &e;
  for (; root->kind == ExprKind::kIndex; root = root->args[0].get()) {
    part.indices.push_back(root->args[1].get());
  }
  if (root->kind != ExprKind::kName) return {};
  Variable* v = memory_.find(root->op);
  if (!v || v->kind != Variable::Kind::kArray) return {};
  part.array = v;
  std::reverse(part.indices.begin(), part.indices.end());
  return part;
}

void Interpreter::declare_array(const Stmt& s) {
  if (s.op == "input" || s.op == "output") fail(s.at, "an array is neither input nor output");
  if (s.type.num_dims) fail(s.type.num_dims->at, "an array that is declared needs its sizes");
  Variable v;
  v.kind = Variable::Kind::kArray;
  v.base = s.type.base;
  const bool one_bit = v.base == Base::kBit || v.base == Base::kBool;
  v.width = width_of(s.type, one_bit ? 1 : 64);
  if (v.width > 64) fail(s.type.width->at, "an element has at most 64 bits");
  std::size_t count = 1;
  for (const ExprPtr& e : s.type.dims) {
    const std::int64_t n = known_integer(e, "a size");
    if (n < 1 || n > static_cast<std::int64_t>(kMaxElements) ||
        (count *= static_cast<std::size_t>(n)) > kMaxElements) {
      fail(e->at, "an array has 1 to 65536 elements");
    }
    v.dims.push_back(static_cast<std::size_t>(n));
  }
  Variable element;
  element.base = v.base, element.width = v.width;
  element.value = cast(Value::integer(0), v.base, v.width);
  element.depth = memory_.terms().size();
  v.elements = std::make_shared<std::vector<Variable>>(count, element);
  const bool is_const = s.op == "const";
  if (is_const && !s.value) fail(s.name, "a constant needs a value");
  Variable& kept = memory_.declare(s.name.text, std::move(v));
  if (!s.value) return;
  fill_array(kept, *s.value, s.at.line);
  kept.is_const = is_const;
  for (const Variable& one : *kept.elements) {
    if (is_const && !one.value.is_known()) {
      fail(s.value->at, "a constant cannot depend on a measurement");
    }
  }
}

// Every value is computed before the first element changes.
void Interpreter::fill_array(const Variable& array, const Expr& from, std::uint32_t line) {
  const auto elements = array.elements;
  std::deque<Value> values;
  array_values(array, 0, from, values);
  std::deque<Memory::Keep> keeps;
  for (Value& v : values) keeps.emplace_back(memory_, v);
  try {
    for (std::size_t k = 0; k < values.size(); ++k) {
      memory_.assign((*elements)[k], values[k], line);
    }
  } catch (const ValueError& error) {
    fail(from.at, error.problem);
  }
}

// The values for the dimensions from `dim` on.
void Interpreter::array_values(const Variable& array, std::size_t dim, const Expr& from,
                               std::deque<Value>& values) {
  if (from.kind == ExprKind::kSet && dim < array.dims.size()) {
    if (from.args.size() != array.dims[dim]) {
      fail(from.at, concat({std::to_string(from.args.size()), " elements where ",
                            std::to_string(array.dims[dim]), " are needed"}));
    }
    for (const ExprPtr& e : from.args) array_values(array, dim + 1, *e, values);
    return;
  }
  if (dim == array.dims.size()) {
    const Value value = evaluate(from);
    if ((array.base == Base::kDuration) != (value.base == Base::kDuration)) {
      fail(from.at, array.base == Base::kDuration ? "this needs a time such as 100ns"
                                                  : "a time is no number");
    }
    values.push_back(value);
    return;
  }
  const ArrayPart other = array_part(from);
  if (dim > 0 || !other.array || !other.indices.empty() || other.array->dims != array.dims) {
    fail(from.at, "an array is given by its elements in braces, or by an array of the same sizes");
  }
  for (const Variable& v : *other.array->elements) values.push_back(v.value);
}

// The number of an element.
Value Interpreter::element_place(const ArrayPart& part) {
  const std::vector<std::size_t> dims = part.array->dims;
  Value at = Value::integer(0);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Expr& e = *part.indices[d];
    if (e.kind == ExprKind::kRange || e.kind == ExprKind::kSet) {
      fail(e.at, "an array is indexed by single numbers");
    }
    Value i = evaluate(e);
    if (i.is_real()) fail(e.at, "an index must be an integer");
    const auto n = static_cast<std::int64_t>(dims[d]);
    if (i.is_same()) {
      const std::int64_t k = i.cells[0].i;
      if (k < -n || k >= n) {
        fail(e.at, concat({"index ", std::to_string(k), " is out of range: there ",
                           (n == 1 ? "is 1 element"
                                   : concat({"are ", std::to_string(n), " elements, 0 to ",
                                             std::to_string(n - 1)}))}));
      }
      i = Value::integer(k < 0 ? k + n : k);
    } else {
      i = place(i, dims[d], e.at);
    }
    at = binary("+", binary("*", at, Value::integer(n)), i);
  }
  return at;
}

Value Interpreter::element(const ArrayPart& part) {
  const Variable array = *part.array;  // its elements stay, whatever the indices call
  if (part.indices.size() < array.dims.size()) {
    throw ValueError{concat({"this is a row of an array: an element has ",
                             std::to_string(array.dims.size()), " indices"})};
  }
  const Value at = element_place(part);
  const auto& elements = *array.elements;
  if (at.is_same()) return elements[static_cast<std::size_t>(at.cells[0].i)].value;
  const Base base = elements[0].value.is_real() ? Base::kFloat : Base::kInt;
  Value sum = cast(Value::integer(0), base, 64);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const Value hit = binary("==", at, Value::integer(static_cast<std::int64_t>(k)));
    if (hit.is_same() && hit.cells[0].i == 0) continue;
    sum = binary("+", sum, binary("*", cast(hit, base, 64), cast(elements[k].value, base, 64)));
  }
  return cast(sum, array.base, array.width);
}

void Interpreter::store_element(const ArrayPart& part, const Expr& target, const Value& value,
                                std::uint32_t line) {
  const Variable array = *part.array;
  if (array.is_const) {
    const Expr* root = &target;
    while (root->kind == ExprKind::kIndex) root = root->args[0].get();
    fail(root->at, concat({"'", root->op, "' is constant"}));
  }
  if (part.indices.size() != array.dims.size()) {
    fail(target.at,
         concat({"an element of this array has ", std::to_string(array.dims.size()), " indices"}));
  }
  Value at = element_place(part);
  const Memory::Keep keep(memory_, at);
  auto& elements = *array.elements;
  if (at.is_same()) {
    return memory_.assign(elements[static_cast<std::size_t>(at.cells[0].i)], value, line);
  }
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const Value hit = binary("==", at, Value::integer(static_cast<std::int64_t>(k)));
    if (hit.is_same() && hit.cells[0].i == 0) continue;
    memory_.push(Memory::term_of(hit));
    memory_.assign(elements[k], value, line);
    memory_.pop();
  }
}

// What a parameter is: the argument's own elements.
Variable Interpreter::array_argument(const Parameter& p, const Expr& given) {
  const ArrayPart part = array_part(given);
  if (!part.array || !part.indices.empty()) {
    fail(given.at, concat({"'", p.name.text, "' takes an array"}));
  }
  Variable v = *part.array;
  const bool one_bit = p.type.base == Base::kBit || p.type.base == Base::kBool;
  if (v.base != p.type.base || v.width != width_of(p.type, one_bit ? 1 : 64)) {
    fail(given.at, concat({"'", p.name.text, "' takes an array of another type"}));
  }
  if (p.type.num_dims) {
    const std::int64_t n = known_integer(p.type.num_dims, "a number of dimensions");
    if (n != static_cast<std::int64_t>(v.dims.size())) {
      fail(given.at, concat({"'", p.name.text, "' takes an array of ", std::to_string(n),
                             (n == 1 ? " dimension" : " dimensions")}));
    }
  } else {
    std::vector<std::size_t> dims;
    for (const ExprPtr& e : p.type.dims) {
      dims.push_back(static_cast<std::size_t>(known_integer(e, "a size")));
    }
    if (dims != v.dims) {
      fail(given.at, concat({"'", p.name.text, "' takes an array of other sizes"}));
    }
  }
  if (v.is_const && !p.type.is_readonly) {
    fail(given.at, concat({"'", given.op, "' is constant: '", p.name.text, "' may change it"}));
  }
  v.is_const = p.type.is_readonly;
  return v;
}

std::shared_ptr<std::vector<Variable>> Interpreter::row_of(const Expr& e) {
  const ArrayPart part = array_part(e);
  if (!part.array || !part.indices.empty()) return nullptr;
  if (part.array->dims.size() != 1) fail(e.at, "a loop runs over an array of one dimension");
  return part.array->elements;
}

Value Interpreter::size_of(const Expr& e) {
  if (e.args.empty() || e.args.size() > 2) throw ValueError{"'sizeof' takes 1 or 2 arguments"};
  const ArrayPart part = array_part(*e.args[0]);
  if (!part.array) {
    if (e.args.size() == 2) fail(e.args[1]->at, "only an array has several sizes");
    return Value::integer(static_cast<std::int64_t>(wires(*e.args[0]).ids.size()));
  }
  const std::int64_t more = e.args.size() == 2 ? known_integer(e.args[1], "a dimension") : 0;
  const auto left = static_cast<std::int64_t>(part.array->dims.size() - part.indices.size());
  if (more < 0 || more >= left) {
    fail(e.args.back()->at, concat({"there are ", std::to_string(left), " dimensions here"}));
  }
  const std::size_t dim = part.indices.size() + static_cast<std::size_t>(more);
  return Value::integer(static_cast<std::int64_t>(part.array->dims[dim]));
}

}  // namespace tilewave::io::qasm3
