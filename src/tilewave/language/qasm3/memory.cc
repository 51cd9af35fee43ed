#include "tilewave/language/qasm3/memory.h"

#include <algorithm>

namespace tilewave::language::qasm3 {
namespace {

constexpr std::uint64_t kMaxClassicalBits = 1 << 20;
constexpr std::size_t kMaxNodes = 256;  // of a value that is not yet in bits of its own

// Classical bits that hold a value.
int bits_of(const Value& v) { return v.is_real() ? 64 : v.base == Base::kBool ? 1 : v.width; }

// True when the value is what lies in the bits from `first` on.
bool is_storage(const Value& v, std::uint32_t first) {
  return v.is_expr() && v.expr->nodes.size() == 1 &&
         v.expr->nodes[0].op == circuit::ClassicalOp::kBits && v.expr->nodes[0].value == first;
}

// Whether there may be bits with which it cannot be computed; sums and products of floats, which
// have no value beyond 1e308, count.
bool may_lack_a_value(const circuit::ClassicalExpr& e) {
  const auto is_float_arithmetic = [](const circuit::ClassicalNode& n) {
    return n.type == circuit::ClassicalType::kFloat && n.op >= circuit::ClassicalOp::kAdd &&
           n.op <= circuit::ClassicalOp::kDiv;
  };
  return circuit::may_fail(e) || std::any_of(e.nodes.begin(), e.nodes.end(), is_float_arithmetic);
}

bool reads(const std::vector<circuit::Clbit>& bits, std::uint32_t wire) {
  return std::find(bits.begin(), bits.end(), wire) != bits.end();
}

}  // namespace

std::size_t Memory::push_frame() {
  const std::size_t before = frame_;
  frame_ = scopes_.size();
  scopes_.emplace_back();
  return before;
}

void Memory::pop_frame(std::size_t frame) {
  scopes_.pop_back();
  frame_ = frame;
}

Variable& Memory::declare(std::string_view name, Variable v) {
  v.depth = terms_.size();
  any_dependent_ |= !v.value.is_known();
  return scopes_.back().insert_or_assign(name, std::move(v)).first->second;
}

Variable& Memory::declare(std::string_view name, Value value, bool is_const) {
  Variable v;
  v.base = value.base, v.width = value.width, v.is_const = is_const;
  v.value = std::move(value);
  return declare(name, std::move(v));
}

const Variable* Memory::find(std::string_view name) const {
  for (std::size_t k = scopes_.size(); k-- > frame_;) {
    const auto it = scopes_[k].find(name);
    if (it != scopes_[k].end()) return &it->second;
  }
  if (frame_ == 0) return nullptr;
  const auto it = scopes_[0].find(name);
  return it != scopes_[0].end() && it->second.is_const ? &it->second : nullptr;
}

std::vector<std::string_view> Memory::names() const {
  std::vector<std::string_view> out;
  for (std::size_t k = frame_; k < scopes_.size(); ++k) {
    for (const auto& [name, variable] : scopes_[k]) out.push_back(name);
  }
  return out;
}

std::vector<std::uint32_t> Memory::hidden_bits(std::size_t count) {
  if (circuit_.num_clbits() + count > kMaxClassicalBits) {
    throw ValueError{"the program needs more than 1048576 classical bits"};
  }
  std::vector<std::uint32_t> wires;
  for (std::size_t k = 0; k < count; ++k) {
    wires.push_back(circuit_.num_clbits() + static_cast<std::uint32_t>(k));
  }
  circuit_.add_clbits(static_cast<std::uint32_t>(count));
  grow();
  if (running_ > 0) {  // a turn before this one may have left something
    for (std::size_t k = 0; k < count; k += 64) {
      const int size = static_cast<int>(std::min<std::size_t>(64, count - k));
      circuit::ClassicalExpr zero;
      zero.constant(circuit::ClassicalType::kUint, size, 0);
      assign_bits(wires[k], size, std::move(zero), 0, -1);
    }
  }
  return wires;
}

std::vector<std::uint32_t> Memory::fixed_bits(const std::vector<bool>& values) {
  const std::vector<std::uint32_t> wires = hidden_bits(values.size());
  for (std::size_t k = 0; k < wires.size(); ++k) known_[wires[k]] = values[k];
  fixed_.emplace_back(wires[0], static_cast<int>(wires.size()));
  return wires;
}

bool Memory::is_fixed(std::uint32_t wire) const {
  return std::any_of(fixed_.begin(), fixed_.end(), [&](const ReadRun& run) {
    return wire >= run.first && wire - run.first < static_cast<std::uint32_t>(run.second);
  });
}

Value Memory::read(const std::vector<std::uint32_t>& wires) const {
  std::vector<int> known;
  for (const auto w : wires) known.push_back(known_[w]);
  return Value::bits(wires, known);
}

void Memory::assign_bits(std::uint32_t first, int size, circuit::ClassicalExpr value,
                         std::uint32_t line, std::int32_t condition) {
  circuit::Op& op =
      circuit_.add_assign({first, static_cast<std::uint32_t>(size), std::move(value)});
  op.condition = condition;
  op.line = line;
}

void Memory::assign_bit(std::uint32_t wire, bool value, std::uint32_t line,
                        std::int32_t condition) {
  circuit::ClassicalExpr one;
  one.constant(circuit::ClassicalType::kUint, 1, value);
  assign_bits(wire, 1, std::move(one), line, condition);
}

// Moves a value into hidden bits.
void Memory::keep(Value& v, std::uint32_t line, std::int32_t condition) {
  const int size = bits_of(v);
  const std::uint32_t first = hidden_bits(static_cast<std::size_t>(size))[0];
  assign_bits(first, size, to_expr(v), line, condition);
  for (int k = 0; k < size; ++k) known_[first + static_cast<std::uint32_t>(k)] = -1;
  v = stored(v.base, v.width, first);
}

void Memory::compute_here(Value& v, std::uint32_t line) {
  if (v.is_expr() && circuit::may_fail(*v.expr)) keep(v, line, condition_index());
}

// Makes an expression read copies of the runs of bits that hold `wire`. Its own value is not
// computed here: it may have none where the statement that uses it stands under conditions that do
// not hold.
void Memory::move_reads(Value& v, std::uint32_t wire, std::uint32_t line,
                        std::map<ReadRun, circuit::Clbit>& copies) {
  circuit::ClassicalExpr expr = *v.expr;
  for (circuit::ClassicalNode& node : expr.nodes) {
    if (node.op != circuit::ClassicalOp::kBits || wire < node.value ||
        wire >= node.value + node.width) {
      continue;
    }
    const auto from = static_cast<circuit::Clbit>(node.value);
    const auto [it, is_new] = copies.insert({{from, node.width}, 0});
    if (is_new) {
      it->second = hidden_bits(node.width)[0];
      circuit::ClassicalExpr run;
      run.bits(from, node.width);
      assign_bits(it->second, node.width, std::move(run), line, -1);
      for (std::uint32_t k = 0; k < node.width; ++k) known_[it->second + k] = -1;
    }
    node.value = it->second;
  }
  v.deps.clear();
  circuit::for_each_read(expr, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) v.deps.push_back(first + k);
  });
  std::sort(v.deps.begin(), v.deps.end());
  v.deps.erase(std::unique(v.deps.begin(), v.deps.end()), v.deps.end());
  v.expr = std::make_shared<circuit::ClassicalExpr>(std::move(expr));
}

// Whatever still refers to the bit gets a copy.
void Memory::before_write(std::uint32_t wire, std::uint32_t line) {
  if (is_fixed(wire)) throw ValueError{"an input cannot be assigned to"};
  std::map<ReadRun, circuit::Clbit> copies;  // of what expressions that may fail read
  for (Term& t : terms_) {
    if (!reads(bits_read(t.test), wire)) continue;
    if (t.test.expr && may_lack_a_value(*t.test.expr)) {
      move_reads(t.value, wire, line, copies);
      t.test.expr = t.value.expr;
      stale_ = true;
      continue;
    }
    materialise(t, line);
  }
  if (known_[wire] >= 0) return;  // no value refers to a bit that is a constant
  std::vector<Value*> dependent;
  const auto look = [&](Value& v) {
    const bool is_new = std::find(dependent.begin(), dependent.end(), &v) == dependent.end();
    if (is_new && reads(v.deps, wire)) dependent.push_back(&v);
  };
  for (Value* v : kept_) look(*v);
  if (any_dependent_) {
    for (Scope& scope : scopes_) {
      for (auto& [name, variable] : scope) {
        look(variable.value);
        if (!variable.elements) continue;
        for (const auto& element : *variable.elements) look(element->value);
      }
    }
  }
  std::vector<std::shared_ptr<const circuit::ClassicalExpr>> held;
  std::map<const circuit::ClassicalExpr*, Value> moved;  // values that share an expression
  std::int64_t copy = -1;
  for (Value* v : dependent) {
    if (v->is_expr() && may_lack_a_value(*v->expr)) {
      move_reads(*v, wire, line, copies);
      continue;
    }
    if (v->is_expr()) {
      const auto expr = v->expr;
      const auto it = moved.find(expr.get());
      if (it != moved.end() && it->second.base == v->base && it->second.width == v->width) {
        *v = it->second;
        continue;
      }
      held.push_back(expr);  // a key stays alive
      keep(*v, line);
      moved.insert_or_assign(expr.get(), *v);
      continue;
    }
    if (copy < 0) {
      copy = hidden_bits(1)[0];
      const auto hidden = static_cast<std::uint32_t>(copy);
      assign_bit(hidden, true, line, index_of({wire, 1, {1}, false, {}, {}, {}, {}}));
      known_[hidden] = -1;
    }
    rename_bit(*v, wire, static_cast<std::uint32_t>(copy));
  }
}

void Memory::measure(std::uint32_t qubit, std::uint32_t wire, std::uint32_t line) {
  before_write(wire, line);
  circuit::Op& op = circuit_.add_measure(qubit, wire);
  op.line = line;
  op.condition = condition_index();
  known_[wire] = -1;
}

void Memory::write(const std::vector<std::uint32_t>& wires, const Value& value,
                   std::uint32_t line) {
  Value kept = value;
  const Keep keep_it(*this, kept);
  bool neighbours = true;
  for (std::size_t k = 0; k < wires.size(); ++k) neighbours &= wires[k] == wires[0] + k;
  if (kept.is_expr() && neighbours) {
    for (const std::uint32_t wire : wires) before_write(wire, line);
    assign_bits(wires[0], static_cast<int>(wires.size()), to_expr(kept), line, condition_index());
    for (const std::uint32_t wire : wires) known_[wire] = -1;
    return;
  }
  for (std::size_t k = 0; k < wires.size(); ++k) {
    const std::uint32_t wire = wires[k];
    before_write(wire, line);
    const Value one = cast(
        binary("&", binary(">>", kept, Value::integer(static_cast<int>(k))), Value::integer(1)),
        Base::kBool, 1);
    if (one.is_expr()) {
      assign_bits(wire, 1, to_expr(one), line, condition_index());
      known_[wire] = -1;
      continue;
    }
    if (one.is_same()) {
      const int bit = one.cells[0].i != 0;
      if (known_[wire] == bit) {
        has_records_ |= in_a_register(wire);
        continue;
      }
      assign_bit(wire, bit, line, condition_index());
      known_[wire] = terms_.size() == base_ ? bit : -1;
      continue;
    }
    for (const bool side : {true, false}) {
      push(term_of(side ? one : unary("!", one)));
      assign_bit(wire, side, line, condition_index());
      pop();
    }
    known_[wire] = -1;
  }
}

bool Memory::in_a_register(std::uint32_t wire) const {
  const auto registers = circuit_.cregs();  // by their first bits
  const auto next =
      std::upper_bound(registers.begin(), registers.end(), wire,
                       [](std::uint32_t bit, const circuit::Register& r) { return bit < r.first; });
  return next != registers.begin() && wire - (next - 1)->first < (next - 1)->size;
}

void Memory::write_value(const std::vector<std::uint32_t>& wires, const Value& value,
                         std::uint32_t line) {
  const auto size = static_cast<int>(wires.size());
  const Value row = value.is_turns() ? relabel(value, Base::kBit) : cast(value, Base::kBit, size);
  bool is_there = row.is_same();
  for (int k = 0; k < size && is_there; ++k) {
    is_there = known_[wires[static_cast<std::size_t>(k)]] == (row.cells[0].i >> k & 1);
  }
  if (is_there) return;
  assign_bits(wires[0], size, to_expr(row), line, condition_index());
  for (const std::uint32_t wire : wires) known_[wire] = -1;
}

void Memory::check(circuit::ClassicalExpr expr, std::uint32_t line) {
  assign_bits(0, 0, std::move(expr), line, condition_index());
}

void Memory::clear(std::uint32_t wire, std::uint32_t line) {
  if (known_[wire] == 0) return;
  before_write(wire, line);
  assign_bit(wire, false, line, -1);
  known_[wire] = 0;
}

// Into the bits of the variable, which it then is.
void Memory::store(Variable& v, const Value& value, std::uint32_t line, std::int32_t condition) {
  const int size = bits_of(value);
  circuit::ClassicalExpr expr = to_expr(value);
  const auto first = static_cast<std::uint32_t>(v.storage);
  v.value = Value::integer(0);  // what it was is needed no more
  for (int k = 0; k < size; ++k) before_write(first + static_cast<std::uint32_t>(k), line);
  assign_bits(first, size, std::move(expr), line, condition);
  for (int k = 0; k < size; ++k) known_[first + static_cast<std::uint32_t>(k)] = -1;
  v.value = stored(v.base, v.width, first);
  any_dependent_ = true;
}

void Memory::assign(Variable& v, const Value& value, std::uint32_t line) {
  Value result = cast(value, v.base, v.width, [this] { return reach(); });
  if (result.is_expr() && result.expr->nodes.size() > kMaxNodes)
    keep(result, line, condition_index());
  const std::size_t outer = std::max(v.depth, base_);
  if (terms_.size() > outer) {
    Value condition = Value::boolean(true);
    bool table = true;
    for (std::size_t k = outer; k < terms_.size() && table; ++k) {
      if (!terms_[k].has_value && !terms_[k].test.expr) materialise(terms_[k], line);
      table = terms_[k].has_value && fit_a_table(condition, terms_[k].value);
      if (table) condition = binary("&&", condition, terms_[k].value);
    }
    table = table && fit_a_table(result, v.value) && fit_a_table(condition, result) &&
            fit_a_table(condition, v.value);
    if (table) {
      const Value both = binary("||", truth(result), truth(v.value));  // of all their bits
      table = fit_a_table(condition, both);
    }
    if (!table) return assign_running(v, std::move(result), line);
    result = select(condition, result, v.value);
  }
  compute_here(result, line);
  v.value = std::move(result);
  any_dependent_ |= !v.value.is_known();
}

// The conditions under which a variable exists, for a value that may not be computed elsewhere;
// others need none.
std::int32_t Memory::where_declared(const Variable& v) {
  if (!v.value.is_expr() || !may_lack_a_value(*v.value.expr)) return -1;
  std::vector<Term> inner;
  while (terms_.size() > std::max(v.depth, base_)) inner.push_back(pop());
  const std::int32_t index = condition_index();
  for (; !inner.empty(); inner.pop_back()) push(std::move(inner.back()));
  return index;
}

// Under conditions, in the running circuit: what the variable was, then what it becomes.
void Memory::assign_running(Variable& v, Value result, std::uint32_t line) {
  if (v.storage < 0) {
    v.storage = hidden_bits(static_cast<std::size_t>(bits_of(result)))[0];
  }
  if (!is_storage(v.value, static_cast<std::uint32_t>(v.storage))) {
    const Keep keep_it(*this, result);
    store(v, v.value, line, where_declared(v));
  }
  store(v, result, line, condition_index());
}

// Calls f(variable) for every variable of these names that a loop may change, and for the elements
// of arrays instead of them.
template <class F>
void Memory::for_each_written(const std::vector<std::string_view>& names, F f) {
  for (const std::string_view name : names) {
    Variable* v = find(name);
    if (!v || v->is_const) continue;
    if (v->kind != Variable::Kind::kArray) {
      f(*v);
      continue;
    }
    for (const auto& element : *v->elements) f(*element);
  }
}

void Memory::enter_loop(const std::vector<std::string_view>& written, std::uint32_t line) {
  for_each_written(written, [&](Variable& v) {
    if (v.kind == Variable::Kind::kBits) {
      for (const std::uint32_t wire : v.wires) {
        before_write(wire, line);
        known_[wire] = -1;
      }
    }
    if (v.kind == Variable::Kind::kValue) {
      if (v.storage < 0) {
        v.storage = hidden_bits(static_cast<std::size_t>(bits_of(v.value)))[0];
      }
      store(v, v.value, line, where_declared(v));
    }
  });
}

std::size_t Memory::enter_body() {
  const std::size_t before = base_;
  base_ = terms_.size();
  ++running_;
  stale_ = true;
  return before;
}

void Memory::leave_body(std::size_t before) {
  base_ = before;
  --running_;
  stale_ = true;
}

void Memory::close_turn(const std::vector<std::string_view>& written, std::uint32_t line) {
  for_each_written(written, [&](Variable& v) {
    if (v.kind == Variable::Kind::kBits) {
      for (const std::uint32_t wire : v.wires) known_[wire] = -1;
    }
    if (v.kind == Variable::Kind::kValue &&
        !is_storage(v.value, static_cast<std::uint32_t>(v.storage))) {
      store(v, v.value, line, where_declared(v));
    }
  });
}

}  // namespace tilewave::language::qasm3
