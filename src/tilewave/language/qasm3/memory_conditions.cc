// The conditions that statements stand under, one a branch or an operand of && and ||: as few terms as
// tables can join, and the condition of the circuit that they make together.
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "tilewave/language/qasm3/memory.h"

namespace tilewave::language::qasm3 {

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

bool Memory::join(const Term& term) {
  Term& last = terms_.back();
  if (!last.has_value || !term.has_value || !fit_a_table(last.value, term.value)) return false;
  last = term_of(binary("&&", last.value, term.value));
  stale_ = true;
  return true;
}

Term Memory::term_of(Value holds) {
  Term term;
  term.test = to_test(holds);
  term.has_value = !holds.is_expr();
  term.value = std::move(holds);
  return term;
}

std::optional<Term> Memory::term_of(Value holds, bool& value) {
  if (!holds.is_same()) return term_of(std::move(holds));
  value = holds.cells[0].i != 0;
  return std::nullopt;
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
  if (terms_.size() == base_) return -1;
  if (!stale_) return index_;
  std::vector<Test> parts;
  Value together = Value::boolean(true);
  for (std::size_t k = base_; k < terms_.size(); ++k) {
    const Term& t = terms_[k];
    if (t.has_value && fit_a_table(together, t.value)) {
      together = binary("&&", together, t.value);
    } else {
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

Reach Memory::reach() const {
  Reach out;
  out.is_conditional = running_ > 0;
  for (const Term& t : terms_) {
    out.is_conditional = true;
    if (t.has_value && fit_a_table(out.holds, t.value)) {
      out.holds = binary("&&", std::move(out.holds), t.value);
    }
  }
  return out;
}

// Puts the condition into a hidden bit.
void Memory::materialise(Term& term, std::uint32_t line) {
  const std::uint32_t hidden = hidden_bits(1)[0];
  assign_bit(hidden, true, line, index_of(term.test));
  known_[hidden] = -1;
  term = term_of(cast(read({hidden}), Base::kBool, 1));
  stale_ = true;
}

}  // namespace tilewave::language::qasm3
