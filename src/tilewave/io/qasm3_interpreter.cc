// Statements of OpenQASM 3 become operations at once; see qasm3.h.
#include "tilewave/io/qasm3_interpreter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/io/qasm2_registers.h"

namespace tilewave::io {
namespace qasm3 {
namespace {

constexpr int kMaxIncludeDepth = 16;
constexpr std::uint64_t kMaxSteps = 1ull << 27;  // statements and operations of a whole program
constexpr std::string_view kReserved[] = {"pi", "tau", "euler", "U", "gphase", "true", "false"};

}  // namespace

circuit::Circuit Interpreter::run(TextSource source) {
  check_is_text(source);
  sources_.push_back(std::move(source));
  const TextSource& kept = sources_.back();
  program(kept);
  for (const auto& [name, value] : inputs_) {
    if (!used_inputs_.count(name)) {
      throw Error(ExitCode::kInput, concat({kept.name, ": the program has no input '", name, "'"}));
    }
  }
  for (const std::size_t jump : ends_) circuit_.set_jump_target(jump, circuit_.ops().size());
  if (circuit_.num_qubits() == 0) {
    fail_at(kept, kept.text.size(), "no qubits are declared: add a line such as 'qubit[2] q;'");
  }
  return std::move(circuit_);
}

Interpreter::Flow Interpreter::program(const TextSource& source) {
  Lexer lexer(source);
  Parser parser(lexer);
  parser.version();
  // Definitions keep their statements; every other one is forgotten.
  while (!parser.at_end()) {
    if (plain_statement(lexer)) continue;
    if (execute(parser.statement()) == Flow::kEnd) return Flow::kEnd;
  }
  return Flow::kNext;
}

void Interpreter::charge(const Token& at, std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > kMaxSteps) {
    fail(at, concat({"the program runs more than ", std::to_string(kMaxSteps), " steps"}));
  }
}

Interpreter::Flow Interpreter::execute(const Stmt& s) {
  charge(s.at, 1);
  if (in_gate_ && s.kind != StmtKind::kCall && s.kind != StmtKind::kBarrier &&
      s.kind != StmtKind::kDelay && s.kind != StmtKind::kEmpty && s.kind != StmtKind::kFor &&
      s.kind != StmtKind::kIf && s.kind != StmtKind::kBlock) {
    fail(s.at, concat({"'", s.at.text, "' cannot stand in a gate definition"}));
  }
  switch (s.kind) {
    case StmtKind::kInclude:
      include(s);
      return Flow::kNext;
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
      for_each_case({&from, &target}, s.at.line, [&] {
        Wires to = wires(target);
        if (s.args.empty()) {
          try {
            to.ids = memory_.hidden_bits(qubits(from).ids.size());
          } catch (const ValueError& error) {
            fail(s.at, error.problem);
          }
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
      if (s.kind == StmtKind::kDelay && s.value) check_time(s.value);
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
      return end();
    case StmtKind::kGate:
    case StmtKind::kDef:
      define(s);
      return Flow::kNext;
    case StmtKind::kBlock:
      if (s.value) check_time(s.value);
      return block(s.body);
    case StmtKind::kEmpty:
      return Flow::kNext;
  }
  return Flow::kNext;
}

// Nothing waits, but what is asked for must be a time.
void Interpreter::check_time(const ExprPtr& e) {
  const Value v = known(e, "a time");
  if (v.base != Base::kDuration) fail(e->at, "this needs a time such as 100ns");
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
  static thread_local InterruptCounter now_and_then(1024);
  for (const auto& s : body) {
    now_and_then.step();
    if (changes() != seen) {
      // a break, continue or return above left under a condition: the rest happens where it did not
      if (std::exchange(pushed, false)) memory_.pop();
      seen = changes();
      bool never = false;
      std::optional<Term> rest = still_here(never);
      if (never) break;
      if (rest) memory_.push(std::move(*rest)), pushed = true;
    }
    const std::size_t assumed_before = assumed_.size();
    flow = execute(*s);
    assumed_.resize(assumed_before, {nullptr, 0, 0});
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
  try {
    if (s.value) {
      const Value value = evaluate(*s.value);
      if (Variable* v = memory_.find(kReturnValue)) memory_.assign(*v, value, s.at.line);
    }
    memory_.write({static_cast<std::uint32_t>(call_.returned)}, Value::boolean(true), s.at.line);
  } catch (const ValueError& error) {
    fail(s.value ? s.value->at : s.at, error.problem);
  }
  ++call_.changes;
  return Flow::kNext;
}

void Interpreter::include(const Stmt& s) {
  if (!memory_.is_global()) fail(s.at, "'include' stands outside of blocks");
  if (s.name.text == "stdgates.inc" || s.name.text == "qelib1.inc") return;  // the gate table
  if (++include_depth_ > kMaxIncludeDepth) {
    fail(s.at, "files include each other more than 16 deep");
  }
  std::string current;
  for (const TextSource& source : sources_) {
    if (s.name.text.data() >= source.text.data() &&
        s.name.text.data() <= source.text.data() + source.text.size()) {
      current = source.name;
    }
  }
  const std::string path = path_beside(current, s.name.text);
  try {
    texts_.push_back(read_text_file(path));
  } catch (const Error& error) {
    fail(s.name, error.what());
  }
  const TextSource& source = sources_.emplace_back(TextSource{path, texts_.back()});
  if (!source.text.empty()) {
    check_is_text(source);
    program(source);
  }
  --include_depth_;
}

void Interpreter::check_name(const Token& name) {
  if (std::find(std::begin(kReserved), std::end(kReserved), name.text) != std::end(kReserved) ||
      base_of(name.text) != Base::kVoid) {
    fail(name, concat({"'", name.text, "' cannot be declared: it is a word of the language"}));
  }
  if (memory_.declared_here(name.text) ||
      (memory_.is_global() && (gates_.count(name.text) || subroutines_.count(name.text)))) {
    fail(name, concat({"'", name.text, "' is declared twice"}));
  }
}

void Interpreter::declare(const Stmt& s) {
  check_name(s.name);
  if (s.type.is_array) return declare_array(s);
  const std::string_view name = s.name.text;
  Variable v;
  v.base = s.type.base;
  v.is_const = s.op == "const";
  const int given = width_of(s.type, 0);
  if (s.op == "input") return declare_input(s, std::move(v));
  if (v.base == Base::kQubit) {
    if (!memory_.is_global()) fail(s.at, "qubits are declared outside of blocks");
    if (v.is_const || s.op == "output" || s.value) fail(s.at, "a qubit has no classical value");
    if (has_physical_) fail(s.name, "declared qubits cannot stand beside physical ones");
    v.kind = Variable::Kind::kQubits;
    v.is_array = given > 0;
    const auto n = static_cast<std::uint32_t>(std::max(given, 1));
    if (circuit_.num_qubits() + std::uint64_t{n} > qasm2::kMaxRegisterBits) {
      fail(s.name, "too many qubits: a program may declare 1048576");
    }
    const std::uint32_t first = circuit_.add_qreg(std::string(name), n);
    for (std::uint32_t k = 0; k < n; ++k) v.wires.push_back(first + k);
    memory_.declare(name, std::move(v));
    return;
  }
  if (v.base == Base::kBit && !v.is_const) {
    v.kind = Variable::Kind::kBits;
    v.is_array = given > 0;
    const auto n = static_cast<std::uint32_t>(std::max(given, 1));
    std::optional<Value> start;
    if (s.value && s.value->kind != ExprKind::kMeasure) start = evaluate(*s.value);
    if (memory_.is_global()) {
      if (circuit_.num_clbits() + std::uint64_t{n} > qasm2::kMaxRegisterBits) {
        fail(s.name, "too many classical bits: a program may declare 1048576");
      }
      const std::uint32_t first = circuit_.add_creg(std::string(name), n);
      memory_.grow();
      for (std::uint32_t k = 0; k < n; ++k) v.wires.push_back(first + k);
    } else {
      try {
        v.wires = memory_.hidden_bits(n);
      } catch (const ValueError& error) {
        fail(s.name, error.problem);
      }
    }
    const Wires to{v.wires, false, v.is_array};
    Variable& kept = memory_.declare(name, std::move(v));
    if (start) {
      Expr target;
      target.kind = ExprKind::kName, target.at = s.name, target.op = name;
      store(target, *start, s.at.line);
    } else if (s.value) {
      measure(s.value->at, *s.value->args[0], {kept.wires, false, kept.is_array});
    }
    return;
  }
  v.width = given ? given : v.base == Base::kBit || v.base == Base::kBool ? 1 : 64;
  if (v.is_const && !s.value) fail(s.name, "a constant needs a value");
  try {
    const Value value = s.value ? evaluate(*s.value) : cast(Value::integer(0), v.base, v.width);
    if ((v.base == Base::kDuration) != (value.base == Base::kDuration)) {
      fail(s.value->at,
           v.base == Base::kDuration ? "this needs a time such as 100ns" : "a time is no number");
    }
    if (v.is_const && !value.is_known()) {
      fail(s.value->at, "a constant cannot depend on a measurement");
    }
    v.value = cast(value, v.base, v.width);
  } catch (const ValueError& error) {
    fail(s.value->at, error.problem);
  }
  memory_.declare(name, std::move(v));
}

void Interpreter::declare_input(const Stmt& s, Variable v) {
  if (!memory_.is_global()) fail(s.at, "inputs are declared outside of blocks");
  if (v.base == Base::kQubit) fail(s.at, "an input is classical");
  if (v.base == Base::kDuration) fail(s.at, "an input is a number, not a time");
  if (s.value) fail(s.value->at, "an input gets its value from outside");
  const std::string name(s.name.text);
  const auto given = inputs_.find(name);
  if (given == inputs_.end()) {
    fail(s.name,
         concat({"input '", name, "' has no value: give one with --input ", name, "=<number>"}));
  }
  used_inputs_.insert(name);
  v.is_const = true;
  v.width = width_of(s.type, v.base == Base::kBit || v.base == Base::kBool ? 1 : 64);
  const bool whole = v.base != Base::kFloat && v.base != Base::kAngle;
  if (whole && given->second != std::floor(given->second)) {
    fail(s.name, concat({"input '", name, "' must be an integer"}));
  }
  if (!std::isfinite(given->second) || (whole && std::abs(given->second) > 0x1p53)) {
    fail(s.name, concat({"input '", name, "' has a value out of range"}));
  }
  v.value = cast(
      whole ? Value::integer(static_cast<std::int64_t>(given->second)) : Value::real(given->second),
      v.base, v.width);
  memory_.declare(s.name.text, std::move(v));
}

void Interpreter::alias(const Stmt& s) {
  check_name(s.name);
  bool depends = false;
  ExprPtr part = with_kept_indices(s.value, depends);
  const Wires w = depends ? all_wires(*part) : wires(*part);
  Variable v;
  if (depends) v.alias = std::move(part);
  v.kind = w.quantum ? Variable::Kind::kQubits : Variable::Kind::kBits;
  v.base = w.quantum ? Base::kQubit : Base::kBit;
  v.is_array = w.is_array;
  v.wires = w.ids;
  memory_.declare(s.name.text, std::move(v));
}

void Interpreter::measure(const Token& at, const Expr& from, const Wires& to) {
  for_each_case({&from}, at.line, [&] {
    const Wires q = qubits(from);
    if (q.ids.size() != to.ids.size()) {
      if (in_a_case()) return add_trap(at.line);
      fail(at, concat({"measure needs as many classical bits as qubits: there are ",
                       std::to_string(q.ids.size()), " and ", std::to_string(to.ids.size())}));
    }
    charge(at, q.ids.size());
    try {
      for (std::size_t k = 0; k < q.ids.size(); ++k) memory_.measure(q.ids[k], to.ids[k], at.line);
    } catch (const ValueError& error) {
      fail(at, error.problem);
    }
  });
}

void Interpreter::assign(const Stmt& s) {
  const Expr& target = *s.args[0];
  if (s.value->kind == ExprKind::kMeasure && s.op == "=" && is_bits(target)) {
    return for_each_case({&target}, s.at.line, [&] {
      const Wires to = wires(target);
      if (to.quantum) fail(target.at, "a qubit cannot be assigned to");
      measure(s.value->at, *s.value->args[0], to);
    });
  }
  if (const ArrayPart part = array_part(target); part.array && part.indices.empty()) {
    if (s.op != "=") fail(target.at, "an array is assigned as a whole by '=' only");
    if (part.array->is_const) fail(target.at, concat({"'", target.op, "' is constant"}));
    return fill_array(*part.array, *s.value, s.at.line);
  }
  Value value = evaluate(*s.value);
  if (s.op != "=") {
    const Value old = evaluate(target);
    try {
      value = binary(s.op.substr(0, s.op.size() - 1), old, value);
    } catch (const ValueError& error) {
      fail(s.value->at, error.problem);
    }
  }
  store(target, value, s.at.line);
}

void Interpreter::store(const Expr& target, const Value& given_value, std::uint32_t line) {
  Value value = given_value;
  const Memory::Keep keep(memory_, value);
  try {
    if (const ArrayPart part = array_part(target); part.array) {
      return store_element(part, target, value, line);
    }
    if (is_bits(target)) {
      return for_each_case({&target}, line, [&] {
        const Wires to = wires(target);
        if (to.quantum) fail(target.at, "a qubit cannot be assigned to");
        const auto n = static_cast<int>(to.ids.size());
        if (n > 64) fail(target.at, "at most 64 bits can be assigned at once");
        if (value.base == Base::kBit && value.width != n) {
          fail(target.at, concat({"the sizes differ: ", std::to_string(n), " and ",
                                  std::to_string(value.width), " bits"}));
        }
        memory_.write(to.ids, cast(value, Base::kBit, n), line);
      });
    }
    const Expr* root = &target;
    while (root->kind == ExprKind::kIndex) root = root->args[0].get();
    Variable* v = memory_.find(root->op);
    if (!v) fail_unknown(root->at, "name");
    if (v->is_const) fail(root->at, concat({"'", root->op, "' is constant"}));
    if (root == &target) return memory_.assign(*v, value, line);
    // some bits of an integer or of a bit parameter
    if (v->value.is_real() || target.args[0].get() != root) {
      fail(target.at, "this cannot be assigned to");
    }
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
    Value bits = cast(v->value, Base::kUint, 64);
    const Value given = cast(value, Base::kUint, 64);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const Value& at = places[k];
      const Value one =
          binary("&", binary(">>", given, Value::integer(static_cast<int>(k))), Value::integer(1));
      const Value hole = unary("~", binary("<<", Value::integer(1), at));
      bits = binary("|", binary("&", bits, hole), binary("<<", one, at));
    }
    memory_.assign(*v, bits, line);
  } catch (const ValueError& error) {
    fail(target.at, error.problem);
  }
}

Interpreter::Flow Interpreter::conditional(const Stmt& s) {
  bool value = false;
  std::optional<Term> term = condition(*s.value, value);
  if (!term) return block(value ? s.body : s.otherwise);
  if (in_gate_) fail(s.value->at, "a gate cannot depend on a measurement");
  try {
    memory_.push(std::move(*term));
    Flow flow = block(s.body);
    Term other = memory_.pop();
    if (flow == Flow::kNext && !s.otherwise.empty()) {
      Memory::negate(other);
      memory_.push(std::move(other));
      flow = block(s.otherwise);
      memory_.pop();
    }
    return flow;
  } catch (const ValueError& error) {
    fail(s.value->at, error.problem);
  }
}

Interpreter::Flow Interpreter::switch_statement(const Stmt& s) {
  Value subject = evaluate(*s.value);
  if (subject.is_real()) fail(s.value->at, "switch needs an integer");
  Value taken = Value::boolean(false);  // by a case so far
  const Memory::Keep keep_subject(memory_, subject), keep_taken(memory_, taken);
  for (const Case& c : s.cases) {
    try {
      Value match = Value::boolean(c.values.empty());
      for (const ExprPtr& e : c.values) {
        const Value v = known(e, "a case");
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
    fail(s.at, concat({"'", s.at.text, "' stands outside of blocks"}));
  }
  const Definition& d = *s.definition;
  check_name(d.name);
  if (s.kind == StmtKind::kDef) {
    subroutines_.emplace(d.name.text, s.definition);
    return;
  }
  for (const auto& inner : d.body) {
    if (inner->kind != StmtKind::kCall) continue;
    if (inner->name.text == d.name.text) {
      fail(inner->name,
           concat({"gate '", d.name.text, "' calls itself: definitions may not be recursive"}));
    }
    find_gate(inner->name);
  }
  gates_.emplace(d.name.text, Gate{nullptr, s.definition, d.params.size(), d.qubits.size()});
}

}  // namespace qasm3

circuit::Circuit parse_qasm3(std::string_view text, const std::string& file_name,
                             const ProgramInputs& inputs) {
  return qasm3::Interpreter(inputs).run({file_name, text});
}

bool is_qasm3(std::string_view text) {
  text = without_byte_order_mark(text);
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size()));
    const bool line = text.starts_with("//"), block = text.starts_with("/*");
    if (!line && !block) break;
    const std::size_t end = text.find(line ? "\n" : "*/");
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + (line ? 1 : 2));
  }
  if (!text.starts_with("OPENQASM")) return false;
  text.remove_prefix(8);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.starts_with("3");
}

}  // namespace tilewave::io
