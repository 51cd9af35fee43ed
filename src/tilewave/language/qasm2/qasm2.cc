#include "tilewave/language/qasm2/qasm2.h"

#include <algorithm>
#include <unordered_set>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm/expansion.h"
#include "tilewave/language/qasm/source_files.h"
#include "tilewave/language/qasm2/gates.h"
#include "tilewave/language/qasm2/lexer.h"
#include "tilewave/language/qasm2/registers.h"

namespace tilewave::language {
namespace qasm2 {
namespace {

constexpr std::uint32_t kMaxDefinitionDepth = 1000;
constexpr std::string_view kLibraries[] = {"qelib1.inc", "hqslib1.inc"};

// clang-format off
constexpr std::string_view kVersion3Words[] = {
    "qubit", "bit", "let", "input", "output", "def", "for", "while", "ctrl", "negctrl", "inv", "pow",
    "const", "int", "uint", "float", "angle", "defcal", "cal", "extern"};
// clang-format on

// What Qiskit's qelib1.inc defines, which the language lets no register be called beside it.
// clang-format off
constexpr std::string_view kQelib1[] = {
    "u3", "u2", "u1", "cx", "id", "u0", "u", "p", "x", "y", "z", "h", "s", "sdg", "t", "tdg", "rx", "ry",
    "rz", "sx", "sxdg", "cz", "cy", "swap", "ch", "ccx", "cswap", "crx", "cry", "crz", "cu1", "cp",
    "cu3", "csx", "cu", "rxx", "rzz", "rccx", "rc3x", "c3x", "c3sqrtx", "c4x"};
// clang-format on

class Parser {
 public:
  explicit Parser(const Reading& reading)
      : expander_(circuit_), files_(reading.includes, kLibraries), expansion_(reading.most_steps) {}

  circuit::Circuit parse(TextSource source) {
    const TextSource& kept = files_.start(std::move(source));
    program(kept);
    if (circuit_.num_qubits() == 0) {
      fail_at(kept, kept.text.size(), "no qubits are declared: add a line such as 'qreg q[2];'");
    }
    std::sort(defined_.begin(), defined_.end());
    for (const std::string_view name : defined_) circuit_.add_replaced(std::string(name));
    return std::move(circuit_);
  }
  const std::vector<std::string>& included() const { return files_.included(); }

 private:
  // ---- statements ----
  void program(const TextSource& source) {
    Lexer lexer(source);
    Lexer* const outer = lexer_;
    lexer_ = &lexer;
    if (lexer.token().text == "OPENQASM") version();
    while (lexer.token().kind != TokenKind::kEnd) statement();
    lexer_ = outer;
  }

  void version() {
    lexer_->advance();
    const Token number = lexer_->token();
    if (number.kind != TokenKind::kReal && number.kind != TokenKind::kInteger) {
      lexer_->fail_expected("a version such as 2.0");
    }
    if (number.text.starts_with("3")) {
      lexer_->fail(number,
                   "this is OpenQASM 3 where OpenQASM 2 is expected: write 2.0, or read it as a "
                   "file of its own");
    }
    if (number.text != "2.0" && number.text != "2") {
      lexer_->fail(number, "version ", number.text,
                   " of OpenQASM is not read: "
                   "write the program in OpenQASM 2.0 or 3.0");
    }
    lexer_->advance();
    semicolon();
  }

  void statement() {
    const Token word = lexer_->expect(TokenKind::kIdentifier, "a statement");
    expander_.line = word.line;
    if (const Callable* gate = scope_.find(word.text)) return call(word, *gate);
    if (word.text == "measure") return measure();
    if (word.text == "barrier") return barrier();
    if (word.text == "if") return conditional();
    if (word.text == "reset") return reset();
    if (word.text == "gate") return definition();
    if (word.text == "qreg") return declare(true);
    if (word.text == "creg") return declare(false);
    if (word.text == "include") return include();
    if (word.text == "opaque") return opaque();
    if (word.text == "OPENQASM") {
      lexer_->fail(word, "the version must be the first statement of a file");
    }
    fail_unknown_gate(word);
  }

  void semicolon() { lexer_->expect(TokenKind::kSemicolon, "';'"); }

  void include() {
    const Token file = lexer_->expect(TokenKind::kString, "the name of a file in quotes");
    semicolon();
    const TextSource* source = files_.include(lexer_->source(), file.offset, file.text);
    const bool is_library = files_.is_library(file.text);
    has_library_ |= is_library;
    if (!source) return;
    // names of a library are as its makers chose them
    const bool is_silent = is_library && notes_.insert("name").second;
    program(*source);
    if (is_silent) notes_.erase("name");
    files_.leave();
  }

  void declare(bool quantum) {
    const Token name = new_name("a register");
    if (registers_.contains(name.text)) {
      lexer_->fail(name, "the register '", name.text, "' is declared twice");
    }
    if (scope_.is_own(name.text)) {
      lexer_->fail(name, "'", name.text, "' is a gate: choose another name for the register");
    }
    hides_gates_ |= scope_.find(name.text) != nullptr;
    if (has_library_ && contains(kQelib1, name.text)) {
      note(name, "gate name",
           concat("'", name.text,
                  "' is a gate of qelib1.inc as well: here it is the register, other "
                  "programs may refuse it"));
    }
    lexer_->expect(TokenKind::kLeftBracket, "'['");
    const Token size = lexer_->expect(TokenKind::kInteger, "a register's size");
    lexer_->expect(TokenKind::kRightBracket, "']'");
    semicolon();
    const std::uint64_t used = quantum ? circuit_.num_qubits() : circuit_.num_clbits();
    const std::uint64_t count = small_integer(size.text, kMaxRegisterBits);
    if (count == 0 && quantum) lexer_->fail(size, "a register needs at least one qubit");
    if (used + count > kMaxRegisterBits) {
      lexer_->fail(size, "too many ", quantum ? "qubits" : "classical bits",
                   ": a program may declare ", kMaxRegisterBits);
    }
    const auto n = static_cast<std::uint32_t>(count);
    if (n == 0) return registers_.add({quantum, 0, 0, name.text});  // as exporters write them
    const std::uint32_t first = quantum ? circuit_.add_qreg(std::string(name.text), n)
                                        : circuit_.add_creg(std::string(name.text), n);
    registers_.add({quantum, first, n, name.text});
  }

  void measure() {
    const Operand from = registers_.operand(*lexer_, true);
    lexer_->expect(TokenKind::kArrow, "'->'");
    const Operand to = registers_.operand(*lexer_, false);
    semicolon();
    const std::uint32_t count = from.size();
    if (from.whole != to.whole) {
      const Operand &reg = from.whole ? from : to, &bit = from.whole ? to : from;
      lexer_->fail(to.at, "measure takes two registers or two single bits: '", reg.text(),
                   "' is a register, '", bit.text(), "' is not");
    }
    if (from.whole && from.reg->size != to.reg->size) {
      lexer_->fail(to.at, "measure needs as many classical bits as qubits: '", from.text(),
                   "' has ", counted(count, "qubit"), ", '", to.text(), "' has ",
                   counted(to.reg->size, "bit"),
                   " (declare them with one size, or measure single bits)");
    }
    charge(from.at, count);
    for (std::uint32_t k = 0; k < count; ++k) finish(circuit_.add_measure(from.bit(k), to.bit(k)));
  }

  void reset() {
    const Operand what = registers_.operand(*lexer_, true);
    semicolon();
    const std::uint32_t count = what.size();
    charge(what.at, count);
    for (std::uint32_t k = 0; k < count && !never_; ++k) finish(circuit_.add_reset(what.bit(k)));
  }

  void barrier() {
    read_operands();
    semicolon();
    circuit_.add_barrier();
  }

  void conditional() {
    lexer_->expect(TokenKind::kLeftParen, "'('");
    const Token name = lexer_->expect(TokenKind::kIdentifier, "a classical register");
    const RegisterInfo& reg = registers_.find(*lexer_, name, false);
    lexer_->expect(TokenKind::kEqual, "'=='");
    const Token value = lexer_->expect(TokenKind::kInteger, "a natural number");
    lexer_->expect(TokenKind::kRightParen, "')'");

    circuit::Condition condition{reg.first, reg.size, big_integer(value.text, reg.size / 64 + 1)};
    never_ = !fits(condition.value, reg.size);
    const circuit::Condition never = never_ ? condition : circuit::Condition{};
    condition.value.resize((reg.size + 63) / 64);
    if (!never_ && reg.size > 0) expander_.condition = condition_index(std::move(condition));

    const Token word = lexer_->expect(TokenKind::kIdentifier, "a gate, measure or reset");
    if (const Callable* gate = scope_.find(word.text)) {
      call(word, *gate);
    } else if (word.text == "measure") {
      // also one that never happens makes the circuit one whose bits are its outcomes
      if (never_) expander_.condition = circuit_.add_condition(never);
      measure();
    } else if (word.text == "reset") {
      reset();
    } else if (is_keyword(word.text)) {
      lexer_->fail(word, "'", word.text,
                   "' cannot be conditional: if takes a gate, measure or reset");
    } else {
      fail_unknown_gate(word);
    }
    expander_.condition = -1;
    never_ = false;
  }

  std::int32_t condition_index(circuit::Condition condition) {
    const auto known = circuit_.conditions();
    if (!known.empty() && known.back().first == condition.first &&
        known.back().size == condition.size && known.back().value == condition.value) {
      return static_cast<std::int32_t>(known.size()) - 1;
    }
    return circuit_.add_condition(std::move(condition));
  }

  // ---- calls ----
  void call(const Token& name, const Callable& gate) {
    params_.clear();
    if (opens_list()) {
      do {
        if (names_qubits(lexer_->token())) {
          lexer_->fail(name, gate_form(name.text, gate.num_params, gate.num_qubits));
        }
        params_.push_back(parse_constant(*lexer_));
      } while (lexer_->accept(TokenKind::kComma));
      lexer_->expect(TokenKind::kRightParen, "',' or ')'");
    }
    if (gate.num_qubits > 0 || lexer_->token().kind != TokenKind::kSemicolon)
      read_operands();
    else
      operands_.clear();
    semicolon();
    check_counts(name, gate, params_.size(), operands_.size());
    if (hides_gates_ && registers_.contains(name.text)) {
      lexer_->fail(name, "'", name.text, "' is a register here, not a gate");
    }
    if (gate.is_opaque() && name.text == "delay") return;  // nothing waits
    if (gate.is_opaque()) {
      lexer_->fail(name, "gate '", name.text,
                   "' is opaque: give it a body with 'gate' before using it");
    }
    const std::uint32_t count = broadcast_size(*lexer_, name, operands_);
    charge(name, saturating_multiply(count, cost_of(gate)));
    if (!has_library_) note_library(name, gate);
    if (never_) return;
    for (std::uint32_t k = 0; k < count; ++k) {
      qubits_.clear();
      for (const Operand& o : operands_) qubits_.push_back(o.bit(k));
      if (const std::string_view* inside = expander_.apply(gate, qubits_, params_)) {
        lexer_->fail(name, "an angle in the definition of '", *inside,
                     "' is not a finite number (division by zero or overflow)");
      }
    }
  }

  // ( and not ()
  bool opens_list() {
    return lexer_->accept(TokenKind::kLeftParen) && !lexer_->accept(TokenKind::kRightParen);
  }

  bool names_qubits(const Token& word) const {
    return word.kind == TokenKind::kIdentifier && word.text != "pi" &&
           registers_.contains(word.text);
  }

  void check_counts(const Token& name, const Callable& gate, std::size_t num_params,
                    std::size_t num_qubits) const {
    const auto check = [&](std::size_t has, std::size_t takes, const char* what) {
      if (has == takes) return;
      lexer_->fail(name, "gate '", name.text, "' takes ", counted(takes, what), ", not ", has);
    };
    check(num_params, gate.num_params, "parameter");
    check(num_qubits, gate.num_qubits, "qubit");
  }

  void read_operands() {
    operands_.clear();
    do operands_.push_back(registers_.operand(*lexer_, true));
    while (lexer_->accept(TokenKind::kComma));
  }

  [[noreturn]] void fail_unknown_gate(const Token& word) {
    const std::string name(word.text);
    if (contains(kVersion3Words, word.text)) {
      lexer_->fail(word, "'", name, "' belongs to OpenQASM 3: start the file with 'OPENQASM 3.0;'");
    }
    std::vector<std::string_view> known = scope_.names();
    known.insert(known.end(), keywords().begin(), keywords().end());
    lexer_->fail(word, "unknown gate '", name, "'", did_you_mean_gate(word.text, known));
  }

  // Counts the operations a statement expands to before any of them exists.
  void charge(const Token& at, std::uint64_t operations) {
    if (expansion_.charge_operations(operations)) return;
    fail_at(lexer_->source(), at.offset, expansion_.problem(), expansion_.code());
  }

  // Gates of the table need no include to be known, but those who wrote the language want one.
  void note_library(const Token& name, const Callable& gate) {
    if (!gate.table || name.text == "U" || name.text == "CX") return;
    has_library_ = true;
    note(name, "library",
         concat("gate '", name.text,
                "' is known here without an include: elsewhere the program "
                "needs include \"qelib1.inc\";"));
  }

  // A warning of its kind, once a program.
  void note(const Token& at, const char* kind, const std::string& text) {
    if (!notes_.insert(kind).second) return;
    circuit_.add_note(printable(concat("line ", at.line, ": ", text)));
  }

  void finish(circuit::Op& op) const {
    op.line = expander_.line;
    op.condition = expander_.condition;
  }

  // ---- definitions ----
  Token new_name(const char* what) {
    const Token name = lexer_->expect(TokenKind::kIdentifier, "a name");
    if (!is_free_name(name.text)) {
      lexer_->fail(name, "'", name.text, "' cannot name ", what, ": it is a word of the language");
    }
    if (name.text[0] < 'a' || name.text[0] > 'z') {
      note(name, "name",
           concat("'", name.text,
                  "' is read, but names of OpenQASM 2 start with a small letter: "
                  "other programs may refuse it"));
    }
    return name;
  }

  struct Header {
    Token name;
    std::vector<std::string_view> params, qubits;
  };

  // name [(params)] qubits
  Header header() {
    Header h;
    h.name = new_name("a gate");
    if (scope_.is_own(h.name.text)) {
      lexer_->fail(h.name, "gate '", h.name.text, "' is defined twice");
    }
    if (registers_.contains(h.name.text)) {
      lexer_->fail(h.name, "'", h.name.text, "' is a register: choose another name");
    }
    std::unordered_set<std::string_view> used;
    const auto list = [&](std::vector<std::string_view>& names, const char* what) {
      do {
        const Token t = new_name(what);
        if (!used.insert(t.text).second) {
          lexer_->fail(t, "the name '", t.text, "' is used twice");
        }
        names.push_back(t.text);
      } while (lexer_->accept(TokenKind::kComma));
    };
    if (opens_list()) {
      list(h.params, "a parameter");
      lexer_->expect(TokenKind::kRightParen, "',' or ')'");
    }
    list(h.qubits, "a qubit");
    return h;
  }

  void opaque() {
    const Header h = header();
    semicolon();
    scope_.declare_opaque(h.name.text, static_cast<std::uint32_t>(h.params.size()),
                          static_cast<std::uint32_t>(h.qubits.size()));
  }

  void definition() {
    const Header h = header();
    Definition d;
    d.name = h.name.text;
    lexer_->expect(TokenKind::kLeftBrace, "'{'");
    while (!lexer_->accept(TokenKind::kRightBrace)) {
      const Token word = lexer_->expect(TokenKind::kIdentifier, "a gate or '}'");
      BodyCall body = body_call(word, h);
      const std::uint64_t cost = body.gate ? cost_of(*body.gate) : 1;
      d.cost = saturating_add(d.cost, cost);
      if (body.gate && body.gate->definition) {
        d.depth = std::max(d.depth, body.gate->definition->depth + 1);
      }
      if (d.depth > kMaxDefinitionDepth) {
        lexer_->fail(word, "gate definitions are nested more than 1000 deep");
      }
      if (!body.gate || !body.gate->is_opaque()) d.body.push_back(std::move(body));
    }
    defined_.push_back(h.name.text);
    scope_.define(h.name.text, static_cast<std::uint32_t>(h.params.size()),
                  static_cast<std::uint32_t>(h.qubits.size()), std::move(d));
  }

  BodyCall body_call(const Token& word, const Header& h) {
    BodyCall body;
    const bool is_barrier = word.text == "barrier";
    if (!is_barrier) {
      if (word.text == h.name.text) {
        lexer_->fail(word, "gate '", word.text, "' calls itself: definitions may not be recursive");
      }
      body.gate = scope_.find(word.text);
      if (!body.gate && is_keyword(word.text)) {
        lexer_->fail(word, "'", word.text, "' cannot stand in a gate definition");
      }
      if (!body.gate) fail_unknown_gate(word);
      if (body.gate->is_opaque() && word.text != "delay") {
        lexer_->fail(word, "gate '", word.text,
                     "' is opaque: give it a body with 'gate' before using it");
      }
      if (opens_list()) {
        do {
          const auto& qubits = h.qubits;
          if (std::find(qubits.begin(), qubits.end(), lexer_->token().text) != qubits.end()) {
            lexer_->fail(word, gate_form(word.text, body.gate->num_params, body.gate->num_qubits));
          }
          body.params.push_back(parse_expression(*lexer_, h.params));
        } while (lexer_->accept(TokenKind::kComma));
        lexer_->expect(TokenKind::kRightParen, "',' or ')'");
      }
    }
    if (is_barrier || body.gate->num_qubits > 0 || lexer_->token().kind != TokenKind::kSemicolon) {
      do body.slots.push_back(slot(h, word, body.slots));
      while (lexer_->accept(TokenKind::kComma));
    }
    semicolon();
    if (!is_barrier) check_counts(word, *body.gate, body.params.size(), body.slots.size());
    return body;
  }

  std::uint32_t slot(const Header& h, const Token& word,
                     const std::vector<std::uint32_t>& used) const {
    const Token name = lexer_->expect(TokenKind::kIdentifier, "a qubit of the definition");
    const auto it = std::find(h.qubits.begin(), h.qubits.end(), name.text);
    if (it == h.qubits.end()) {
      lexer_->fail(name, "'", name.text, "' is not a qubit of gate '", h.name.text, "'",
                   did_you_mean(name.text, h.qubits));
    }
    const auto index = static_cast<std::uint32_t>(it - h.qubits.begin());
    if (std::find(used.begin(), used.end(), index) != used.end()) {
      lexer_->fail(name, "gate '", word.text, "' names the qubit ", name.text,
                   " twice: use distinct qubits");
    }
    return index;
  }

  circuit::Circuit circuit_;
  Expander expander_;
  GateScope scope_;
  Lexer* lexer_ = nullptr;
  SourceFiles files_;  // views into these live in scope_ and registers_
  RegisterScope registers_;
  bool has_library_ = false;                    // an include of standard gates
  std::vector<std::string_view> defined_;       // gates
  bool hides_gates_ = false;                    // a register has the name of a gate
  std::unordered_set<std::string_view> notes_;  // kinds of those said so far
  bool never_ = false;  // inside an if whose number does not fit its register
  Expansion expansion_;
  std::vector<double> params_;  // of the call under way
  std::vector<Operand> operands_;
  std::vector<circuit::Qubit> qubits_;
};

}  // namespace
}  // namespace qasm2

circuit::Circuit parse_qasm2(std::string_view text, const std::string& file_name,
                             std::vector<std::string>* included, const Reading& reading) {
  qasm2::Parser parser(reading);
  circuit::Circuit circuit = parser.parse({file_name, text});
  const auto& files = parser.included();
  if (included) included->insert(included->end(), files.begin(), files.end());
  return circuit;
}

}  // namespace tilewave::language
