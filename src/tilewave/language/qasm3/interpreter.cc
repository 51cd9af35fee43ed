// Statements of OpenQASM 3 become operations at once; see qasm3.h.
#include "tilewave/language/qasm3/interpreter.h"

#include <algorithm>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/units.h"

namespace tilewave::language {
namespace qasm3 {
namespace {

// Whether statements stand in it that it may leave out.
bool has_body(StmtKind kind) {
  return kind == StmtKind::kIf || kind == StmtKind::kFor || kind == StmtKind::kWhile ||
         kind == StmtKind::kSwitch || kind == StmtKind::kBlock;
}

}  // namespace

circuit::Circuit Interpreter::run(TextSource source) {
  const TextSource& kept = files_.start(std::move(source));
  program(kept);
  check_definitions();
  for (const auto& [name, value] : inputs_) {
    if (!used_inputs_.count(name)) {
      throw Error(ExitCode::kInput,
                  printable(concat(kept.name, ": the program has no input '", name, "'")));
    }
  }
  write_outputs(0);
  keep_records();
  const std::size_t end = circuit_.ops().size();
  write_phase();
  for (const std::size_t jump : ends_) circuit_.set_jump_target(jump, end);
  if (circuit_.num_qubits() == 0) {
    fail_at(kept, kept.text.size(), "no qubits are declared: add a line such as 'qubit[2] q;'");
  }
  std::vector<std::string_view> defined;
  for (const auto& [name, gate] : gates_) defined.push_back(name);
  std::sort(defined.begin(), defined.end());
  for (const std::string_view name : defined) circuit_.add_replaced(std::string(name));
  if (!outputs_.empty()) circuit_ = with_outputs_only();
  if (!parameters_.empty()) return with_parameters(std::move(circuit_), parameters_, kept.name);
  return std::move(circuit_);
}

Interpreter::Flow Interpreter::program(const TextSource& source) {
  Lexer lexer(source);
  Parser parser(lexer);
  parser.version();
  // Definitions keep their statements; every other one is forgotten.
  while (!parser.at_end()) {
    if (plain_statement(lexer)) continue;
    const Stmt s = parser.statement();
    for (const Token& at : parser.take_skipped()) note_skipped(source, at);
    const Flow flow = execute(s);
    if (has_body(s.kind)) check_statement(s);
    if (flow == Flow::kEnd) return Flow::kEnd;
  }
  return Flow::kNext;
}

// A line that begins with # or the word pragma.
void Interpreter::note_skipped(const TextSource& source, const Token& at) {
  constexpr std::size_t kMost = 20, kMostText = 80;
  if (++num_skipped_ > kMost) return;
  const std::size_t end = std::min(source.text.find('\n', at.offset), source.text.size());
  std::string_view text = source.text.substr(at.offset, end - at.offset);
  text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
  circuit_.add_note(
      printable(concat("line ", at.line, ": '", text.substr(0, kMostText),
                       text.size() > kMostText ? "..." : "", "' has no effect here")));
}

void Interpreter::fail_expansion(const Token& at) const {
  fail_at(files_.of(at.text), at.offset, expansion_.problem(), expansion_.code());
}

void Interpreter::note(const Token& at, const char* kind, const std::string& text) {
  if (!notes_.insert(kind).second) return;
  circuit_.add_note(printable(concat("line ", at.line, ": ", text)));
}

void Interpreter::note_lost_fraction() {
  if (lost_) note(lost_->at, "fraction", lost_->text);
}

void Interpreter::need_gate_statement(const Stmt& s) const {
  if (s.kind == StmtKind::kCall || s.kind == StmtKind::kBarrier || s.kind == StmtKind::kDelay ||
      s.kind == StmtKind::kEmpty || s.kind == StmtKind::kFor || s.kind == StmtKind::kIf ||
      s.kind == StmtKind::kBlock)
    return;
  fail(s.at, "'", s.at.text, "' cannot stand in a gate definition");
}

Interpreter::Flow Interpreter::execute(const Stmt& s) {
  charge(s.at, 1);
  if (in_gate_) need_gate_statement(s);
  switch (s.kind) {
    case StmtKind::kInclude:
      return include(s);
    case StmtKind::kDeclare:
      declare(s);
      return Flow::kNext;
    case StmtKind::kAlias:
      alias(s);
      return Flow::kNext;
    case StmtKind::kCall:
      call(s);
      return Flow::kNext;
    case StmtKind::kAssign:
      assign(s);
      return Flow::kNext;
    case StmtKind::kMeasure: {
      const Expr& from = *s.operands[0];
      const Expr& target = s.args.empty() ? from : *s.args[0];
      if (!s.args.empty() && !is_bits(target)) {  // a bit of an integer or an angle
        store(target, evaluate(*make_expr(ExprKind::kMeasure, s.at, {}, {s.operands[0]})),
              s.at.line);
        return Flow::kNext;
      }
      for_each_case({&from, &target}, s.at.line, [&] {
        Wires to = wires(target);
        if (s.args.empty()) {
          to.ids = guarded(s.at, [&] { return memory_.hidden_bits(qubits(from).ids.size()); });
          to.quantum = false;
        }
        if (to.quantum) fail(target.at, "this is a qubit, a classical bit is needed");
        measure(s.at, from, to);
      });
      return Flow::kNext;
    }
    case StmtKind::kReset: {
      for (const ExprPtr& e : s.operands) {
        for_each_case({e.get()}, s.at.line, [&] {
          const std::size_t first = circuit_.ops().size();
          for (const auto q : qubits(*e).ids) circuit_.add_reset(q);
          finish_from(first, s.at.line);
        });
      }
      return Flow::kNext;
    }
    case StmtKind::kBarrier:
    case StmtKind::kDelay:
      if (s.kind == StmtKind::kDelay && s.value) check_time(*s.value);
      for (const ExprPtr& e : s.operands) {
        for_each_case({e.get()}, s.at.line, [&] { qubits(*e); });
      }
      if (s.kind == StmtKind::kBarrier) out_->add_barrier();
      return Flow::kNext;
    case StmtKind::kIf:
      return conditional(s);
    case StmtKind::kFor:
      return for_loop(s);
    case StmtKind::kWhile:
      return while_loop(s);
    case StmtKind::kSwitch:
      return switch_statement(s);
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      return leave(s);
    case StmtKind::kReturn:
      return return_statement(s);
    case StmtKind::kEnd:
      return end(s.at.line);
    case StmtKind::kGate:
    case StmtKind::kDef:
      define(s);
      return Flow::kNext;
    case StmtKind::kBlock:
      if (s.value) check_time(*s.value);
      return block(s.body);
    case StmtKind::kEmpty:
      return Flow::kNext;
  }
  return Flow::kNext;
}

// In a branch that may not be taken, an index that does not exist is an error of the running circuit
// instead of the statement.
Interpreter::Flow Interpreter::execute_or_trap(const Stmt& s) {
  const bool is_plain = s.kind == StmtKind::kCall || s.kind == StmtKind::kAssign ||
                        s.kind == StmtKind::kMeasure || s.kind == StmtKind::kReset ||
                        s.kind == StmtKind::kBarrier || s.kind == StmtKind::kDelay;
  const bool outer = std::exchange(may_trap_, is_plain);
  const std::size_t terms = memory_.terms().size();
  Flow flow = Flow::kNext;
  try {
    flow = execute(s);
  } catch (const ImpossibleCase&) {
    if (!is_plain) throw;
    add_trap(s.at.line);
    while (memory_.terms().size() > terms) memory_.pop();
  }
  may_trap_ = outer;
  return flow;
}

// Nothing waits, but what is asked for must be a time.
void Interpreter::check_time(const Expr& e) {
  const Value v = known(e, "a time");
  if (v.base != Base::kDuration) fail(e.at, "this needs a time such as 100ns");
  if (v.cells[0].d < 0) fail(e.at, "a time to wait cannot be negative");
}

Interpreter::Flow Interpreter::block(const Block& body) {
  memory_.push_scope();
  const Flow flow = statements(body);
  memory_.pop_scope();
  return flow;
}

Interpreter::Flow Interpreter::statements(const Block& body) {
  Flow flow = Flow::kNext;
  int seen = changes();
  bool pushed = false;
  for (const auto& s : body) {
    check_interrupt_once_in<1024>();
    if (changes() != seen) {
      // a break, continue or return above left under a condition: the rest happens where it did not
      if (std::exchange(pushed, false)) memory_.pop();
      seen = changes();
      bool never = false;
      std::optional<Term> rest = still_here(never);
      if (never) break;
      if (rest) memory_.push(std::move(*rest)), pushed = true;
    }
    const Trimmed assumed_indices(assumed_);
    flow = execute_or_trap(*s);
    if (flow != Flow::kNext) break;
  }
  if (pushed) memory_.pop();
  return flow;
}

Interpreter::Flow Interpreter::return_statement(const Stmt& s) {
  if (!in_subroutine_) fail(s.at, "'return' stands in a subroutine");
  const bool under_loop = running_loops_ > call_.running_loops;
  if (memory_.terms().size() == call_.terms && !under_loop) {
    if (s.value) call_.result = evaluate(*s.value);
    return Flow::kReturn;
  }
  Variable* result = memory_.find(kReturned);
  TW_CHECK(result, "a return under a condition has its bit");
  guarded(s.value ? s.value->at : s.at, [&] {
    if (s.value) {
      const Value value = evaluate(*s.value);
      if (Variable* v = memory_.find(kReturnValue)) memory_.assign(*v, value, s.at.line);
    }
    memory_.write({static_cast<std::uint32_t>(call_.returned)}, Value::boolean(true), s.at.line);
  });
  ++call_.changes;
  return Flow::kNext;
}

Interpreter::Flow Interpreter::include(const Stmt& s) {
  if (!memory_.is_global()) fail(s.at, "'include' stands outside of blocks");
  const std::string_view name = s.name.text;
  has_library_ |= files_.is_library(name);
  const TextSource* source = files_.include(files_.of(name), s.name.offset, name);
  if (!source) return Flow::kNext;
  const Flow flow = program(*source);
  files_.leave();
  return flow;
}

void Interpreter::measure(const Token& at, const Expr& from, const Wires& to) {
  for_each_case({&from}, at.line, [&] {
    const Wires q = qubits(from);
    if (q.ids.size() != to.ids.size()) {
      if (in_a_case()) return add_trap(at.line);
      fail(at, "measure needs as many bits as qubits: ", counted(q.ids.size(), "qubit"), " into ",
           counted(to.ids.size(), "bit"),
           " (declare them with one size, or index the longer side)");
    }
    charge_operations(at, q.ids.size());
    guarded(at, [&] {
      for (std::size_t k = 0; k < q.ids.size(); ++k) memory_.measure(q.ids[k], to.ids[k], at.line);
    });
  });
}

// The arms of if ... else if ... else: each under its own condition and those before it turned
// around, which are joined to one where a table holds them.
Interpreter::Flow Interpreter::conditional(const Stmt& s) {
  std::size_t pushed = 0;
  const auto leave = [&](Flow flow) {
    for (; pushed > 0; --pushed) memory_.pop();
    return flow;
  };
  for (const Case& arm : s.cases) {
    const Expr& when = *arm.values[0];
    bool value = false;
    std::optional<Term> term = condition(when, value);
    if (!term && value) return leave(block(arm.body));
    if (!term) continue;
    if (in_gate_) fail(when.at, "a gate cannot depend on a measurement");
    try {
      memory_.push(std::move(*term));
      const Flow flow = block(arm.body);
      Term other = memory_.pop();
      if (flow != Flow::kNext) return leave(flow);
      Memory::negate(other);
      const bool joins = pushed > 0 && memory_.join(other);
      if (!joins) memory_.push(std::move(other)), ++pushed;
    } catch (const ValueError& error) {
      fail(when.at, error.problem);
    }
  }
  return leave(block(s.otherwise));
}

Interpreter::Flow Interpreter::switch_statement(const Stmt& s) {
  Value subject = evaluate(*s.value);
  if (subject.is_real() || subject.is_turns()) fail(s.value->at, "switch needs an integer");
  if (s.cases.empty() || s.cases[0].values.empty()) fail(s.at, "a switch needs a case");
  std::unordered_set<std::int64_t> labels;
  Value taken = Value::boolean(false);  // by a case so far
  const Memory::Keep keep_subject(memory_, subject), keep_taken(memory_, taken);
  for (const Case& c : s.cases) {
    try {
      Value match = Value::boolean(c.values.empty());
      for (const ExprPtr& e : c.values) {
        const Value v = known(*e, "a case");
        if (v.is_real() || v.is_turns()) fail(e->at, "a case must be an integer");
        if (!labels.insert(v.cells[0].i).second) {
          fail(e->at, "the case ", v.cells[0].i, " stands twice");
        }
        match = binary("||", match, binary("==", subject, v));
      }
      match = binary("&&", match, unary("!", taken));
      taken = binary("||", taken, match);
      const bool always = match.is_same() && match.cells[0].i != 0;
      if (match.is_same() && !always) continue;
      if (!always) memory_.push(Memory::term_of(match));
      const Flow flow = block(c.body);
      if (!always) memory_.pop();
      if (flow != Flow::kNext) return flow;
    } catch (const ValueError& error) {
      fail(s.value->at, error.problem);
    }
  }
  return Flow::kNext;
}

void Interpreter::define(const Stmt& s) {
  if (!memory_.is_global()) {
    fail(s.at, "'", s.at.text, "' stands outside of blocks");
  }
  const Definition& d = *s.definition;
  check_name(d.name, s.kind == StmtKind::kGate);
  definitions_.push_back({s.definition, s.kind == StmtKind::kGate});
  if (s.kind == StmtKind::kDef) {
    d.least_steps = least_steps(d.body);
    subroutines_.emplace(d.name.text, s.definition);
    return;
  }
  for (const auto& inner : d.body) {
    if (inner->kind != StmtKind::kCall) continue;
    if (inner->name.text == d.name.text) {
      fail(inner->name, "gate '", d.name.text, "' calls itself: definitions may not be recursive");
    }
    find_gate(inner->name);
  }
  d.least_steps = least_steps(d.body);
  gates_.emplace(d.name.text, Gate{nullptr, s.definition, d.params.size(), d.qubits.size()});
}

}  // namespace qasm3

circuit::Circuit parse_qasm3(std::string_view text, const std::string& file_name,
                             const ProgramInputs& inputs, std::vector<std::string>* included,
                             const Reading& reading) {
  qasm3::Interpreter interpreter(inputs, reading);
  circuit::Circuit circuit = interpreter.run({file_name, text});
  const auto& files = interpreter.included();
  if (included) included->insert(included->end(), files.begin(), files.end());
  return circuit;
}

}  // namespace tilewave::language
