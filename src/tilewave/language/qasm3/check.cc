// What is wrong with statements that were never run: bodies of definitions that nothing calls, and
// branches that are not taken. Names must be declared, calls must have as many arguments and qubits
// as what they call, and qubits do not stand for values. Statements that ran have been checked by
// that; of those that did not, sizes and types are not known. Each statement is walked once. A
// measurement in a branch that is not taken makes the bits of the program its outcomes all the same.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {

class Interpreter::Check {
 public:
  enum class Place : std::uint8_t { kProgram, kGate, kSubroutine };
  Check(Interpreter& program, Place place) : program_(program), place_(place) { open(); }

  void definition(const Definition& d) {
    for (const Parameter& p : d.params) {
      type(p.type);
      if (scopes_.back().count(p.name.text)) {
        program_.fail(p.name, "the name '", p.name.text, "' is used twice");
      }
      declare(p.name, kind_of(p.type));
    }
    for (const Token& q : d.qubits) declare(q, Kind::kQubits);
    type(d.result);
    statements(d.body);
  }

  void statement(const Stmt& s) {
    if (place_ == Place::kGate) program_.need_gate_statement(s);
    switch (s.kind) {
      case StmtKind::kDeclare:
        type(s.type);
        if (s.value) value(*s.value);
        declare(s.name, kind_of(s.type));
        break;
      case StmtKind::kAlias:
        any(*s.value);
        declare(s.name, kind_of(*s.value));
        break;
      case StmtKind::kCall:
        call(s);
        break;
      case StmtKind::kMeasure:
        if (place_ == Place::kProgram) program_.memory_.note_record();
        [[fallthrough]];
      case StmtKind::kReset:
      case StmtKind::kBarrier:
      case StmtKind::kDelay:
        for (const ExprPtr& e : s.operands) qubits(*e);
        for (const ExprPtr& e : s.args) value(*e);
        if (s.value) value(*s.value);
        break;
      case StmtKind::kAssign:
        value(*s.args[0]);
        value(*s.value);
        break;
      case StmtKind::kIf:
      case StmtKind::kSwitch:
        if (s.value) value(*s.value);
        for (const Case& c : s.cases) {
          for (const ExprPtr& e : c.values) value(*e);
          block(c.body);
        }
        block(s.otherwise);
        break;
      case StmtKind::kFor:
        type(s.type);
        value(*s.value);
        open();
        declare(s.name, Kind::kValue);
        loop(s.body);
        close();
        break;
      case StmtKind::kWhile:
        value(*s.value);
        loop(s.body);
        break;
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        if (loops_ == 0) program_.fail(s.at, "'", s.at.text, "' stands in a loop");
        break;
      case StmtKind::kReturn:
        if (place_ != Place::kSubroutine) program_.fail(s.at, "'return' stands in a subroutine");
        if (s.value) value(*s.value);
        break;
      case StmtKind::kGate:
      case StmtKind::kDef:
        program_.fail(s.at, "'", s.at.text, "' stands outside of blocks");
      case StmtKind::kBlock:
        if (s.value) value(*s.value);
        block(s.body);
        break;
      case StmtKind::kInclude:
      case StmtKind::kEnd:
      case StmtKind::kEmpty:
        break;
    }
  }

 private:
  using Kind = Variable::Kind;

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  void declare(const Token& name, Kind kind) {
    if (!scopes_.back().try_emplace(name.text, kind).second)
      program_.fail(name, "'", name.text, "' is declared twice");
  }
  static Kind kind_of(const TypeName& t) {
    return t.is_array               ? Kind::kArray
           : t.base == Base::kQubit ? Kind::kQubits
           : t.base == Base::kBit   ? Kind::kBits
                                    : Kind::kValue;
  }

  void statements(const Block& body) {
    for (const auto& s : body) statement(*s);
  }
  void block(const Block& body) {
    open();
    statements(body);
    close();
  }
  void loop(const Block& body) {
    ++loops_;
    block(body);
    --loops_;
  }

  void type(const TypeName& t) {
    for (const ExprPtr* e : {&t.width, &t.num_dims}) {
      if (*e) value(**e);
    }
    for (const ExprPtr& e : t.dims) value(*e);
  }

  // Null: no such name.
  const Kind* find(std::string_view name) const {
    static constexpr Kind kQubits = Kind::kQubits, kValue = Kind::kValue;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = scope->find(name);
      if (it != scope->end()) return &it->second;
    }
    if (name.starts_with('$')) return &kQubits;
    const Variable* v = program_.memory_.find(name);
    if (v && (v->is_const || place_ == Place::kProgram)) return &v->kind;
    return constant(name) ? &kValue : nullptr;
  }
  Kind kind_of(const Expr& e) const {
    const Expr* root = &e;
    while (root->kind != ExprKind::kName && !root->args.empty() && root->args[0]) {
      root = root->args[0].get();
    }
    const Kind* kind = root->kind == ExprKind::kName ? find(root->op) : nullptr;
    return kind ? *kind : Kind::kValue;
  }
  bool is_qubits(const Expr& e) const {
    const bool names = e.kind == ExprKind::kName || e.kind == ExprKind::kIndex ||
                       (e.kind == ExprKind::kBinary && e.op == "++");
    return names && kind_of(e) == Kind::kQubits;
  }

  [[noreturn]] void fail_unknown(const Token& name, const char* what) const {
    std::vector<std::string_view> own;
    for (const auto& scope : scopes_) {
      for (const auto& [known, kind] : scope) own.push_back(known);
    }
    program_.fail_unknown(name, what, own);
  }

  [[noreturn]] void fail_quantum(const Expr& e) const {
    program_.fail(e.at,
                  e.kind == ExprKind::kName
                      ? concat("'", e.op, "' is a quantum register, a classical value is needed")
                      : "this is a qubit, a classical value is needed");
  }

  void qubits(const Expr& e) {
    any(e);
    switch (kind_of(e)) {
      case Kind::kQubits:
        return;
      case Kind::kBits:
        program_.fail(e.at, "this is a classical register, a qubit is needed");
      case Kind::kValue:
      case Kind::kArray:
        program_.fail(e.at, "this is a classical value, a qubit is needed");
    }
  }
  // A value, or qubits.
  void any(const Expr& e) { expression(e, true); }
  void value(const Expr& e) { expression(e, false); }

  void expression(const Expr& e, bool takes_qubits) {
    switch (e.kind) {
      case ExprKind::kName: {
        const Kind* kind = find(e.op);
        if (!kind) fail_unknown(e.at, "name");
        if (e.op[0] == '$' && place_ == Place::kGate)
          program_.fail(e.at, "a gate works on its own qubits");
        if (*kind == Kind::kQubits && !takes_qubits) fail_quantum(e);
        break;
      }
      case ExprKind::kIndex:
        expression(*e.args[0], takes_qubits);
        if (place_ == Place::kGate && kind_of(*e.args[0]) == Kind::kQubits)
          program_.fail(e.at, "a single bit has no index");
        value(*e.args[1]);
        break;
      case ExprKind::kCall:
        function(e);
        break;
      case ExprKind::kCast:
        type(e.type);
        value(*e.args[0]);
        break;
      case ExprKind::kMeasure:
        if (place_ == Place::kGate) program_.fail(e.at, "a gate cannot measure");
        if (place_ == Place::kProgram) program_.memory_.note_record();
        qubits(*e.args[0]);
        break;
      default: {
        const bool joins =
            e.kind == ExprKind::kSet || (e.kind == ExprKind::kBinary && e.op == "++");
        for (const ExprPtr& part : e.args) {
          if (part) expression(*part, takes_qubits && joins);
        }
      }
    }
  }

  void function(const Expr& e) {
    const auto own = program_.subroutines_.find(e.op);
    if (own != program_.subroutines_.end()) return subroutine(e.at, *own->second, e.args);
    if (e.op == "sizeof") {
      if (e.args.empty() || e.args.size() > 2) {
        program_.fail(e.at, "'sizeof' takes 1 or 2 arguments");
      }
      for (const ExprPtr& a : e.args) any(*a);
      return;
    }
    for (const ExprPtr& a : e.args) any(*a);
    const bool qubits =
        std::any_of(e.args.begin(), e.args.end(), [&](const ExprPtr& a) { return is_qubits(*a); });
    if (!is_function(e.op)) {
      if (const Gate* gate = program_.lookup(e.op)) program_.fail_gate_form(e.at, *gate);
      fail_unknown(e.at, "function");
    }
    if (qubits) fail_quantum(*e.args[0]);
    try {
      need_arguments(e.op, e.args.size());
    } catch (const ValueError& error) {
      program_.fail(e.at, error.problem);
    }
  }

  void subroutine(const Token& at, const Definition& d, const std::vector<ExprPtr>& args) {
    if (place_ == Place::kGate) program_.fail(at, "a gate cannot call a subroutine");
    program_.need_arguments_of(at, d, args.size());
    for (const ExprPtr& a : args) any(*a);
  }

  void call(const Stmt& s) {
    const auto own = program_.subroutines_.find(s.name.text);
    if (own != program_.subroutines_.end()) {
      if (!s.operands.empty() || !s.modifiers.empty()) program_.fail_no_gate(s.name);
      return subroutine(s.name, *own->second, s.args);
    }
    const Gate* gate = program_.lookup(s.name.text);
    if (!gate) program_.fail_no_gate(s.name);
    for (const ExprPtr& a : s.args) {
      if (is_qubits(*a)) program_.fail_gate_form(s.name, *gate);
      value(*a);
    }
    std::size_t num_qubits = gate->num_qubits;
    bool counts = true;  // the controls are known
    for (const Modifier& m : s.modifiers) {
      if (m.argument) value(*m.argument);
      if (m.kind == ModifierKind::kInv || m.kind == ModifierKind::kPow) continue;
      const bool is_number = !m.argument || m.argument->kind == ExprKind::kInteger;
      counts &= is_number;
      if (is_number) num_qubits += program_.num_controls(m);
    }
    program_.need_operands(s, s.args.size(), gate->num_params, "parameter");
    if (counts) program_.need_operands(s, s.operands.size(), num_qubits, "qubit");
    std::unordered_set<std::string_view> names;
    for (const ExprPtr& e : s.operands) {
      qubits(*e);
      if (e->kind == ExprKind::kName && !names.insert(e->op).second) program_.fail_twice(e->at, s);
    }
  }

  Interpreter& program_;
  Place place_;
  std::vector<std::unordered_map<std::string_view, Kind>> scopes_;
  int loops_ = 0;
};

void Interpreter::check_statement(const Stmt& s) {
  Check(*this, Check::Place::kProgram).statement(s);
}

void Interpreter::check_definitions() {
  for (const auto& [definition, is_gate] : definitions_) {
    Check(*this, is_gate ? Check::Place::kGate : Check::Place::kSubroutine).definition(*definition);
  }
}

}  // namespace tilewave::language::qasm3
