#include "tilewave/io/qasm3_memory.h"

#include <algorithm>

namespace tilewave::io::qasm3 {
namespace {

constexpr std::uint64_t kMaxClassicalBits = 1 << 20;

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

Variable* Memory::find(std::string_view name) {
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
  return wires;
}

Value Memory::read(const std::vector<std::uint32_t>& wires) const {
  std::vector<int> known;
  for (const auto w : wires) known.push_back(known_[w]);
  return Value::bits(wires, known);
}

void Memory::push(Term term) {
  terms_.push_back(std::move(term));
  stale_ = true;
}

Term Memory::pop() {
  Term term = std::move(terms_.back());
  terms_.pop_back();
  stale_ = true;
  return term;
}

Term Memory::term_of(Value holds) {
  Term term;
  term.test = to_test(holds);
  term.value = std::move(holds);
  return term;
}

void Memory::negate(Term& term) {
  if (term.has_value) {
    term = term_of(unary("!", term.value));
  } else {
    term.test.negated = !term.test.negated;
  }
}

std::int32_t Memory::index_of(Test test) {
  if (last_index_ < 0 || !(last_test_ == test)) {
    last_index_ = circuit_.add_condition(to_condition(test));
    last_test_ = std::move(test);
  }
  return last_index_;
}

std::int32_t Memory::condition_index() {
  if (terms_.empty()) return -1;
  if (!stale_) return index_;
  std::vector<Test> parts;
  Value together = Value::boolean(true);
  for (const Term& t : terms_) {
    if (!t.has_value) {
      parts.push_back(t.test);
      continue;
    }
    try {
      together = binary("&&", together, t.value);
    } catch (const ValueError&) {  // too many bits for one table
      parts.push_back(t.test);
    }
  }
  if (!together.is_known()) parts.insert(parts.begin(), to_test(together));
  Test all = std::move(parts.front());
  all.also.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
  index_ = index_of(std::move(all));
  stale_ = false;
  return index_;
}

void Memory::assign_bit(std::uint32_t wire, bool value, std::uint32_t line,
                        std::int32_t condition) {
  circuit::Assignment to{wire, 1, {}};
  to.value.constant(circuit::ClassicalType::kUint, 1, value);
  circuit::Op& op = circuit_.add_assign(std::move(to));
  op.condition = condition;
  op.line = line;
}

// Puts the condition into a hidden bit.
void Memory::materialise(Term& term, std::uint32_t line) {
  const std::uint32_t hidden = hidden_bits(1)[0];
  assign_bit(hidden, true, line, index_of(term.test));
  known_[hidden] = -1;
  term = term_of(cast(read({hidden}), Base::kBool, 1));
  stale_ = true;
}

// Whatever still refers to the bit gets a copy.
void Memory::before_write(std::uint32_t wire, std::uint32_t line) {
  for (Term& t : terms_) {
    if (reads(bits_read(t.test), wire)) materialise(t, line);
  }
  if (known_[wire] >= 0) return;  // no value refers to a bit that is a constant
  std::vector<Value*> dependent;
  for (Value* v : kept_) {
    if (reads(v->deps, wire)) dependent.push_back(v);
  }
  if (any_dependent_) {
    for (Scope& scope : scopes_) {
      for (auto& [name, variable] : scope) {
        if (reads(variable.value.deps, wire)) dependent.push_back(&variable.value);
      }
    }
  }
  if (dependent.empty()) return;
  const std::uint32_t hidden = hidden_bits(1)[0];
  assign_bit(hidden, true, line, index_of({wire, 1, {1}, false, {}, {}, {}}));
  known_[hidden] = -1;
  for (Value* v : dependent) rename_bit(*v, wire, hidden);
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
  const Keep keep(*this, kept);
  for (std::size_t k = 0; k < wires.size(); ++k) {
    const std::uint32_t wire = wires[k];
    before_write(wire, line);
    const Value one = cast(
        binary("&", binary(">>", kept, Value::integer(static_cast<int>(k))), Value::integer(1)),
        Base::kBool, 1);
    const bool same = std::all_of(one.cells.begin(), one.cells.end(),
                                  [&](const Cell& c) { return c.i == one.cells[0].i; });
    if (same) {
      const int bit = one.cells[0].i != 0;
      if (known_[wire] == bit) continue;
      assign_bit(wire, bit, line, condition_index());
      known_[wire] = terms_.empty() ? bit : -1;
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

void Memory::assign(Variable& v, const Value& value) {
  Value result = cast(value, v.base, v.width);
  if (terms_.size() > v.depth) {
    Value condition = Value::boolean(true);
    for (std::size_t k = v.depth; k < terms_.size(); ++k) {
      if (!terms_[k].has_value) materialise(terms_[k], 0);
      condition = binary("&&", condition, terms_[k].value);
    }
    result = select(condition, result, v.value);
  }
  v.value = std::move(result);
  any_dependent_ |= !v.value.is_known();
}

}  // namespace tilewave::io::qasm3
