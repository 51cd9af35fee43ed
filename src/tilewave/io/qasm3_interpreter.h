// Runs the statements of an OpenQASM 3 program into a circuit; see qasm3.h.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tilewave/io/qasm3.h"
#include "tilewave/io/qasm3_memory.h"
#include "tilewave/io/qasm3_syntax.h"

namespace tilewave::io::qasm3 {

class Interpreter {
 public:
  explicit Interpreter(const ProgramInputs& inputs) : inputs_(inputs), memory_(circuit_) {}

  circuit::Circuit run(TextSource source);

 private:
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue, kReturn, kEnd };

  /// Qubits or classical bits named by an expression.
  struct Wires {
    std::vector<std::uint32_t> ids;
    bool quantum = true;
    bool is_array = false;
  };
  /// Something a statement can apply.
  struct Gate {
    const circuit::GateInfo* table = nullptr;
    std::shared_ptr<const Definition> definition;
    std::size_t num_params = 0, num_qubits = 0;
  };

  /// A loop under way. A break or continue under a condition sets a hidden bit, and what follows it
  /// happens only where the bit is not set.
  struct Loop {
    std::size_t terms = 0;                   ///< conditions at its start
    std::int64_t broken = -1, skipped = -1;  ///< the bits, -1 where there is none yet
    int changes = 0;                         ///< how often one was set
  };

  // ---- statements (qasm3_interpreter.cc) ----
  Flow program(const TextSource& source);
  Flow execute(const Stmt& s);
  Flow block(const Block& body);
  void include(const Stmt& s);
  void declare(const Stmt& s);
  void declare_input(const Stmt& s, Variable v);
  void alias(const Stmt& s);
  void assign(const Stmt& s);
  void store(const Expr& target, const Value& value, std::uint32_t line);
  void measure(const Token& at, const Expr& from, const Wires& to);
  Flow conditional(const Stmt& s);
  Flow switch_statement(const Stmt& s);
  void define(const Stmt& s);
  void check_name(const Token& name);
  void check_time(const ExprPtr& e);
  void charge(const Token& at, std::uint64_t steps);

  // ---- loops (qasm3_loops.cc) ----
  Flow for_loop(const Stmt& s);
  Flow while_loop(const Stmt& s);
  void running_loop(const Stmt& s, std::optional<Term> entry);
  std::optional<Term> next_turn(std::uint32_t line);
  Flow leave(const Stmt& s);  // break, continue
  Flow end();
  std::optional<Term> still_in(const Loop& loop) const;

  // ---- gates (qasm3_calls.cc) ----
  void call(const Stmt& s);
  /// Null where there is none.
  const Gate* lookup(std::string_view name);
  const Gate& find_gate(const Token& name);
  std::vector<double> angles(const std::vector<ExprPtr>& args);
  /// The number of a plain expression of real numbers, if it is one.
  std::optional<double> plain_real(const Expr& e);
  void apply(const Token& at, const Gate& gate, const std::vector<double>& params,
             std::span<const circuit::Qubit> qubits);
  circuit::Circuit modified(const Stmt& s, const Gate& gate, const std::vector<double>& params);
  std::size_t num_controls(const Modifier& m);
  void finish_from(std::size_t first, std::uint32_t line);
  Value call_subroutine(const Token& at, const std::vector<ExprPtr>& args);

  // ---- plain statements (qasm3_plain.cc) ----
  /// Runs the plain statement that stands next, or reads nothing.
  bool plain_statement(Lexer& lexer);
  bool plain_measure(Lexer& lexer);
  bool read_plain_call(Lexer& lexer, const Gate& gate);
  bool plain_wire(Lexer& lexer, Variable::Kind kind, std::uint32_t& wire);

  // ---- expressions (qasm3_evaluate.cc) ----
  Value evaluate(const Expr& e);
  Value evaluate_unguarded(const Expr& e);
  Value evaluate_name(const Expr& e);
  Value evaluate_index(const Expr& e);
  Value known(const ExprPtr& e, const char* what);
  std::int64_t known_integer(const ExprPtr& e, const char* what);
  Wires wires(const Expr& e);
  Wires qubits(const Expr& e);
  std::vector<std::size_t> indices(const Expr& e, std::size_t size, bool& is_array);
  std::vector<std::int64_t> range(const Expr& e);
  /// The condition of an if; none when it is known, and then `value` is set.
  std::optional<Term> condition(const Expr& e, bool& value);
  std::optional<Term> comparison(const Expr& e);
  bool is_bits(const Expr& e);
  int width_of(const TypeName& type, int otherwise);

  [[noreturn]] void fail(const Token& at, const std::string& problem) const;
  [[noreturn]] void fail_unknown(const Token& name, const char* what);

  const ProgramInputs& inputs_;
  circuit::Circuit circuit_;
  circuit::Circuit* out_ = &circuit_;  // or the gate under modifiers that is being recorded
  Memory memory_;
  std::deque<TextSource> sources_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, Gate> gates_;                       // of the program
  std::unordered_map<std::string_view, std::optional<Gate>> table_gates_;  // and what is none
  std::vector<double> plain_params_;  // of the plain call under way
  std::vector<circuit::Qubit> plain_qubits_;
  struct PlainName {
    std::string_view name;
    const Variable* variable = nullptr;
  } plain_names_[2];  // the bits and the qubits named last
  std::unordered_map<std::string_view, std::shared_ptr<const Definition>> subroutines_;
  std::unordered_set<std::string> used_inputs_;
  std::optional<Value> result_;             // of the return statement under way
  std::vector<Loop> loops_;                 // under way, of this subroutine
  std::vector<std::size_t> ends_;           // jumps to the end of the program
  std::size_t call_terms_ = 0;              // conditions at the start of the subroutine under way
  int running_loops_ = 0, call_loops_ = 0;  // under way; at the start of the subroutine
  int call_depth_ = 0, include_depth_ = 0;
  bool in_gate_ = false, in_subroutine_ = false, has_physical_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace tilewave::io::qasm3
