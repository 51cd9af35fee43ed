// Arrays of classical values. An element is a variable of its own; a row or a slice is an array
// that shares the elements of another. Where an index depends on measurements, what is read is the
// sum of the elements, each times whether the index names it, and what is written goes into each
// element under the condition that the index names it.
#include <algorithm>
#include <deque>
#include <numeric>

#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::size_t kMaxElements = 1 << 16;

// "2 x 3"
std::string shape_text(const std::vector<std::size_t>& dims) {
  std::string text;
  for (const std::size_t n : dims) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text.empty() ? "a single value" : text;
}

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
  const std::size_t outer = std::min(part.indices.size(), v->dims.size());
  const auto first = part.indices.begin();
  part.is_array = part.indices.size() < v->dims.size() ||
                  std::any_of(first, first + static_cast<std::ptrdiff_t>(outer), [](const Expr* i) {
                    return i->kind == ExprKind::kRange || i->kind == ExprKind::kSet;
                  });
  return part;
}

std::optional<Variable> Interpreter::array_view(const Expr& e) {
  if (e.kind == ExprKind::kBinary && e.op == "++") return joined_arrays(e);
  const ArrayPart part = array_part(e);
  if (!part.array || !part.is_array) return std::nullopt;
  Variable view = *part.array;
  if (part.indices.empty()) return view;
  if (part.indices.size() > view.dims.size()) {
    fail(e.at, "an array of ", counted(view.dims.size(), "dimension"), " has no ",
         part.indices.size(), " indices");
  }
  std::vector<std::size_t> places{0}, dims;
  std::optional<Value> moved;  // by how much the measured indices move the places
  for (std::size_t d = 0; d < view.dims.size(); ++d) {
    const std::size_t n = view.dims[d];
    std::vector<std::size_t> chosen(n);
    bool is_array = true;
    const bool is_index = d < part.indices.size() && part.indices[d]->kind != ExprKind::kRange &&
                          part.indices[d]->kind != ExprKind::kSet;
    if (const auto by = is_index ? dependent_index(*part.indices[d]) : std::nullopt) {
      if (!input_in(*by).empty()) fail_not_known(part.indices[d]->at, *by, "an index");
      std::size_t stride = 1;
      for (std::size_t k = d + 1; k < view.dims.size(); ++k) stride *= view.dims[k];
      const Value shift = binary("*", place(*by, n, part.indices[d]->at),
                                 Value::integer(static_cast<std::int64_t>(stride)));
      moved = moved ? binary("+", *moved, shift) : shift;
      chosen = {0};
      is_array = false;
    } else if (d < part.indices.size()) {
      const Expr& index = *part.indices[d];
      if (index.kind == ExprKind::kSet)
        fail(index.at, "an array has no index of numbers in braces");
      chosen = indices(index, n, is_array);
    } else {
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    }
    if (is_array) dims.push_back(chosen.size());
    std::vector<std::size_t> next;
    for (const std::size_t p : places) {
      for (const std::size_t k : chosen) next.push_back(p * n + k);
    }
    places = std::move(next);
  }
  std::vector<std::shared_ptr<Variable>> elements;
  for (const std::size_t p : places) {
    if (!moved) {
      elements.push_back((*part.array->elements)[p]);
      continue;
    }
    auto copy = std::make_shared<Variable>();
    copy->base = view.base, copy->width = view.width;
    copy->depth = memory_.terms().size();
    copy->value =
        element_at(*part.array, binary("+", *moved, Value::integer(static_cast<std::int64_t>(p))));
    elements.push_back(std::move(copy));
  }
  view.is_copy = moved.has_value();
  view.elements = std::make_shared<const std::vector<std::shared_ptr<Variable>>>(elements);
  view.dims = std::move(dims);
  return view;
}

// a ++ b, along the first dimension
std::optional<Variable> Interpreter::joined_arrays(const Expr& e) {
  std::optional<Variable> all = array_view(*e.args[0]);
  if (!all) return std::nullopt;
  std::vector<std::shared_ptr<Variable>> elements = *all->elements;
  for (std::size_t k = 1; k < e.args.size(); ++k) {
    const std::optional<Variable> more = array_view(*e.args[k]);
    if (!more) fail(e.args[k]->at, "only an array can be joined to an array");
    const bool same_type = more->base == all->base && more->width == all->width;
    if (!same_type || !std::equal(more->dims.begin() + 1, more->dims.end(), all->dims.begin() + 1,
                                  all->dims.end())) {
      fail(e.args[k]->at, "arrays that are joined need one type and the same sizes of their rows");
    }
    all->dims[0] += more->dims[0];
    elements.insert(elements.end(), more->elements->begin(), more->elements->end());
  }
  all->elements = std::make_shared<const std::vector<std::shared_ptr<Variable>>>(elements);
  all->is_const = true;  // a copy, and no name
  return all;
}

void Interpreter::declare_array(const Stmt& s) {
  if (s.op == "input" || s.op == "output") fail(s.at, "an array is neither input nor output");
  if (s.type.num_dims) fail(s.type.num_dims->at, "an array that is declared needs its sizes");
  Variable v;
  v.kind = Variable::Kind::kArray;
  v.base = s.type.base;
  v.width = width_of(s.type);
  if (v.width > 64) fail(s.type.width->at, "an element has at most 64 bits");
  std::size_t count = 1;
  for (const ExprPtr& e : s.type.dims) {
    const std::int64_t n = known_size(e, "a size");
    if (n < 1 || n > static_cast<std::int64_t>(kMaxElements) ||
        (count *= static_cast<std::size_t>(n)) > kMaxElements) {
      fail(e->at, "an array has 1 to 65536 elements");
    }
    v.dims.push_back(static_cast<std::size_t>(n));
  }
  Variable element;
  element.base = v.base, element.width = v.width;
  element.value = Value::zero(v.base, v.width);
  element.depth = memory_.terms().size();
  std::vector<std::shared_ptr<Variable>> elements;
  for (std::size_t k = 0; k < count; ++k) elements.push_back(std::make_shared<Variable>(element));
  v.elements = std::make_shared<const std::vector<std::shared_ptr<Variable>>>(elements);
  const bool is_const = s.op == "const";
  if (is_const && !s.value) fail(s.name, "a constant needs a value");
  Variable& kept = memory_.declare(s.name.text, std::move(v));
  if (!s.value) return;
  fill_array(kept, *s.value, s.at.line);
  kept.is_const = is_const;
  for (const auto& one : *kept.elements) {
    if (is_const && !one->value.is_known()) fail_not_known(s.value->at, one->value, "a constant");
  }
}

// Every value is computed before the first element changes.
void Interpreter::fill_array(const Variable& array, const Expr& from, std::uint32_t line,
                             const Expr* target) {
  const auto elements = array.elements;
  std::deque<Value> values;
  array_values(array, 0, from, values);
  std::deque<Memory::Keep> keeps;
  for (Value& v : values) keeps.emplace_back(memory_, v);
  const auto fill = [&](const Variable& to) {
    guarded(from.at, [&] {
      for (std::size_t k = 0; k < values.size(); ++k) {
        memory_.assign(*(*to.elements)[k], values[k], line);
      }
    });
  };
  if (!array.is_copy) return fill(array);
  for (Value& v : values) guarded(from.at, [&] { memory_.compute_here(v, line); });
  const ArrayPart part = array_part(*target);
  Dependents found;  // a row of its own for every value of the indices
  for (std::size_t d = 0; d < part.indices.size(); ++d) {
    const ExprKind kind = part.indices[d]->kind;
    if (kind != ExprKind::kRange && kind != ExprKind::kSet)
      find_dependent(*part.indices[d], part.array->dims[d], found);
  }
  for (const Dependent& d : found.list) {
    if (has_effects(*d.index))
      fail(d.index->at,
           "the index of a row that is assigned to is measured before: into a variable");
  }
  run_cases(found, line, [&] { fill(*array_view(*target)); });
}

// The values for the dimensions from `dim` on.
void Interpreter::array_values(const Variable& array, std::size_t dim, const Expr& from,
                               std::deque<Value>& values) {
  if (from.kind == ExprKind::kSet && dim < array.dims.size()) {
    if (from.args.size() != array.dims[dim]) {
      fail(from.at, counted(from.args.size(), "element"), " where ", array.dims[dim],
           " are needed");
    }
    for (const ExprPtr& e : from.args) array_values(array, dim + 1, *e, values);
    return;
  }
  if (dim == array.dims.size()) {
    values.push_back(evaluate(from));
    return;
  }
  const std::vector<std::size_t> dims(array.dims.begin() + static_cast<std::ptrdiff_t>(dim),
                                      array.dims.end());
  const std::optional<Variable> other = array_view(from);
  if (!other || other->dims != dims) {
    fail(from.at, "this is ", other ? "an array of " : "",
         shape_text(other ? other->dims : std::vector<std::size_t>()), " where an array of ",
         shape_text(dims), " is needed");
  }
  if (other->base != array.base || other->width != array.width) {
    fail(from.at, "arrays of different types: an array is never converted");
  }
  for (const auto& v : *other->elements) values.push_back(v->value);
}

// The number of an element.
Value Interpreter::element_place(const ArrayPart& part) {
  const std::vector<std::size_t> dims = part.array->dims;
  Value at = Value::integer(0);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Expr& e = *part.indices[d];
    Value i = evaluate(e);
    if (i.is_real() || i.is_turns()) fail(e.at, "an index must be an integer");
    const auto n = static_cast<std::int64_t>(dims[d]);
    if (i.is_same()) {
      const std::int64_t k = as_signed(e.at, i, "an index");
      if (k < -n || k >= n) fail_index(e, k, dims[d]);
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
  if (part.is_array) {
    throw ValueError{concat("this is a part of an array: an element has ", array.dims.size(),
                            array.dims.size() == 1 ? " index" : " indices")};
  }
  return element_at(array, element_place(part));
}

Value Interpreter::element_at(const Variable& array, const Value& at) {
  const auto& elements = *array.elements;
  if (at.is_same()) return elements[static_cast<std::size_t>(at.cells[0].i)]->value;
  const bool real = elements[0]->value.is_real();
  const Base base = real ? Base::kFloat : Base::kUint;
  Value sum = Value::zero(base, 64);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const Value hit = binary("==", at, Value::integer(static_cast<std::int64_t>(k)));
    if (hit.is_same() && hit.cells[0].i == 0) continue;
    Value one = elements[k]->value;
    if (real) {
      one.base = Base::kFloat, one.width = 64;
    } else {
      one = raw_bits(one);
    }
    sum = binary("+", std::move(sum), binary("*", cast(hit, base, 64), one));
  }
  if (real) {
    sum.base = array.base, sum.width = array.width;
    return sum;
  }
  if (array.base == Base::kAngle) return relabel(cast(sum, Base::kUint, array.width), array.base);
  return cast(sum, array.base, array.width);
}

Variable* Interpreter::known_element(const ArrayPart& part) {
  const Value at = element_place(part);
  if (!at.is_same()) return nullptr;
  return (*part.array->elements)[static_cast<std::size_t>(at.cells[0].i)].get();
}

void Interpreter::store_element(const ArrayPart& part, const Value& given, std::uint32_t line) {
  const auto elements = part.array->elements;
  Value at = element_place(part), value = given;
  const Memory::Keep keep(memory_, at), keep_value(memory_, value);
  memory_.compute_here(value, line);
  if (at.is_same()) {
    return memory_.assign(*(*elements)[static_cast<std::size_t>(at.cells[0].i)], value, line);
  }
  for (std::size_t k = 0; k < elements->size(); ++k) {
    const Value hit = binary("==", at, Value::integer(static_cast<std::int64_t>(k)));
    if (hit.is_same() && hit.cells[0].i == 0) continue;
    memory_.push(Memory::term_of(hit));
    memory_.assign(*(*elements)[k], value, line);
    memory_.pop();
  }
}

// What a parameter is: the argument's own elements.
Variable Interpreter::array_argument(const Parameter& p, const Expr& given) {
  if (given.kind == ExprKind::kBinary && array_view(given)) {
    fail(given.at, "joined arrays are no argument: declare an array of them first");
  }
  std::optional<Variable> argument = array_view(given);
  if (!argument) fail(given.at, "'", p.name.text, "' takes an array");
  Variable v = std::move(*argument);
  if (v.base != p.type.base || v.width != width_of(p.type)) {
    fail(given.at, "'", p.name.text, "' takes an array of another type");
  }
  if (p.type.num_dims) {
    const std::int64_t n = known_size(p.type.num_dims, "a number of dimensions");
    if (n != static_cast<std::int64_t>(v.dims.size())) {
      fail(given.at, "'", p.name.text, "' takes an array of ",
           counted(static_cast<std::uint64_t>(n), "dimension"));
    }
  } else {
    std::vector<std::size_t> dims;
    for (const ExprPtr& e : p.type.dims) {
      dims.push_back(static_cast<std::size_t>(known_size(e, "a size")));
    }
    if (dims != v.dims) {
      fail(given.at, "'", p.name.text, "' takes an array of ", shape_text(dims), ", not of ",
           shape_text(v.dims));
    }
  }
  if (v.is_copy && !p.type.is_readonly) {
    fail(given.at, "'", p.name.text,
         "' may change its array, and a part at an index that depends on a measurement is a copy: "
         "give it to a 'readonly array', or give the whole array and the index");
  }
  if (v.is_const && !p.type.is_readonly) {
    fail(given.at, "'", p.name.text, "' may change its array, and this one is constant");
  }
  v.is_const = p.type.is_readonly;
  return v;
}

Value Interpreter::size_of(const Expr& e) {
  if (e.args.empty() || e.args.size() > 2) throw ValueError{"'sizeof' takes 1 or 2 arguments"};
  const std::optional<Variable> array = array_view(*e.args[0]);
  if (!array) {
    if (e.args.size() == 2) fail(e.args[1]->at, "only an array has several sizes");
    return Value::integer(static_cast<std::int64_t>(wires(*e.args[0]).ids.size()));
  }
  const std::int64_t dim = e.args.size() == 2 ? known_integer(e.args[1], "a dimension") : 0;
  if (dim < 0 || dim >= static_cast<std::int64_t>(array->dims.size())) {
    fail(e.args.back()->at, "the array here has ", counted(array->dims.size(), "dimension"),
         ": they are numbered from 0");
  }
  return Value::integer(static_cast<std::int64_t>(array->dims[static_cast<std::size_t>(dim)]));
}

}  // namespace tilewave::language::qasm3
