// Runs the statements of an OpenQASM 3 program into a circuit; see qasm3.h.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tilewave/base/concat.h"
#include "tilewave/language/qasm/expansion.h"
#include "tilewave/language/qasm/source_files.h"
#include "tilewave/language/qasm3/memory.h"
#include "tilewave/language/qasm3/parameters.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/language/qasm3/syntax.h"

namespace tilewave::language::qasm3 {

class Interpreter {
 public:
  Interpreter(const ProgramInputs& inputs, const Reading& reading)
      : inputs_(inputs),
        unbound_(reading.unbound),
        memory_(circuit_),
        files_(reading.includes, kLibraries),
        expansion_(reading.most_steps) {}

  circuit::Circuit run(TextSource source);
  const std::vector<std::string>& included() const { return files_.included(); }

 private:
  static constexpr int kMaxCallDepth = 200;
  static constexpr std::string_view kLibraries[] = {"stdgates.inc", "qelib1.inc", "hqslib1.inc"};
  // names of what a subroutine that returns under a condition keeps
  static constexpr std::string_view kReturned = " returned", kReturnValue = " return value";
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
    bool has_phase = false;  ///< beyond the matrix of its row
  };

  /// A loop under way. A break or continue under a condition sets a hidden bit, and what follows it
  /// happens only where the bit is not set.
  struct Loop {
    std::size_t terms = 0;                   ///< conditions at its start
    std::int64_t broken = -1, skipped = -1;  ///< the bits, -1 where there is none yet
    int changes = 0;                         ///< how often one was set
  };

  /// What a subroutine under way has returned where a condition stands before its `return`: the bit
  /// is set, and nothing behind happens.
  struct Call {
    std::size_t terms = 0;       ///< conditions at its start
    int running_loops = 0;       ///< under way at its start
    std::int64_t returned = -1;  ///< the bit, -1 where none is needed
    int changes = 0;             ///< how often it was set
    std::optional<Value> result = {};
  };
  /// Angles of a call; where some depend on measurements, `values` are all of them.
  struct Angles {
    std::vector<double> numbers;
    std::vector<Value> values;
  };
  /// An index that depends on measurements, of a register of `size` elements.
  struct Dependent {
    const Expr* index;
    Value value;
    std::size_t size;
  };
  struct Dependents {
    std::deque<Dependent> list;
    std::deque<Memory::Keep> keeps;
    int cases = 0, impossible = 0;  ///< of them an index does not exist
  };
  /// An index does not exist in the case under way.
  struct ImpossibleCase {
    Token at;
    std::string problem;
  };
  /// An array, or a part of it; the outermost index first.
  struct ArrayPart {
    Variable* array = nullptr;
    std::vector<const Expr*> indices;
    bool is_array = false;  ///< a row or a slice, not an element
  };
  /// What an index is in the case under way.
  struct Assumed {
    const Expr* index;
    int depth;  ///< of calls
    std::int64_t value;
  };

  // ---- statements (interpreter.cc) ----
  Flow program(const TextSource& source);
  Flow execute(const Stmt& s);
  Flow execute_or_trap(const Stmt& s);
  Flow block(const Block& body);
  Flow statements(const Block& body);
  void need_gate_statement(const Stmt& s) const;
  Flow return_statement(const Stmt& s);
  Flow include(const Stmt& s);
  void measure(const Token& at, const Expr& from, const Wires& to);
  Flow conditional(const Stmt& s);
  Flow switch_statement(const Stmt& s);
  void define(const Stmt& s);
  void check_time(const Expr& e);
  /// Counts steps before they are done.
  void charge(const Token& at, std::uint64_t steps) {
    if (!expansion_.charge(steps)) fail_expansion(at);
  }
  void charge_operations(const Token& at, std::uint64_t count) {
    if (!expansion_.charge_operations(count)) fail_expansion(at);
  }
  /// Throws where that many steps from here are too many.
  void check_steps(const Token& at, std::uint64_t steps) {
    if (!expansion_.allows(steps)) fail_expansion(at);
  }
  [[noreturn]] void fail_expansion(const Token& at) const;

  // ---- assignments (assignments.cc) ----
  void assign(const Stmt& s);
  /// `from`: the expression of the value, where the program writes it; null where it is computed.
  void store(const Expr& target, const Value& value, std::uint32_t line,
             const Expr* from = nullptr);
  /// A constant that is written for a type must be one of its values: an error for bits, a note for
  /// numbers, which wrap around.
  void check_fits(const Expr& e, const Value& v, Base base, int width);
  bool is_written_out(const Expr& e);
  void check_is_variable(const Variable& v, const Expr& target) const;

  // ---- declarations (declare.cc) ----
  void declare(const Stmt& s);
  void declare_qubits(const Stmt& s);
  void declare_bits(const Stmt& s);
  void declare_value(const Stmt& s);
  void declare_constant_row(const Stmt& s, std::size_t size);
  void declare_output(const Stmt& s);
  void write_outputs(std::uint32_t line);
  circuit::Circuit with_outputs_only() const;
  void keep_records();
  void declare_input(const Stmt& s);
  void alias(const Stmt& s);
  void check_name(const Token& name, bool is_gate = false);

  // ---- costs (costs.cc) ----
  /// Steps that these take at least.
  std::uint64_t least_steps(const Block& body) const;
  std::uint64_t least_steps(const Stmt& s) const;
  std::uint64_t least_steps(const Expr& e) const;
  /// Throws where so many turns of a loop are too many steps.
  void check_turns(const Stmt& loop, std::uint64_t turns);

  // ---- loops (loops.cc) ----
  Flow for_loop(const Stmt& s);
  /// What a loop runs over; none where the running circuit decides it.
  std::optional<std::deque<Value>> loop_values(const Stmt& s);
  std::deque<Value> real_range(const Expr& e, double first, double step, double last);
  Flow while_loop(const Stmt& s);
  Flow running_for(const Stmt& s, Value first, Value step, Value last);
  /// `holds` gives the condition of a turn, as condition() does; `after` is done at its end.
  void running_loop(const Stmt& s, std::optional<Term> entry,
                    const std::function<std::optional<Term>(bool&)>& holds,
                    const std::function<Flow()>& body, std::vector<std::string_view> written);
  std::optional<Term> next_turn(std::uint32_t line, bool& never);
  Flow leave(const Stmt& s);  // break, continue
  Flow end(std::uint32_t line);
  /// The condition that nothing broke out of what is under way; none where that is known, and then
  /// `never` says whether something did.
  std::optional<Term> still_here(bool& never) const;
  int changes() const { return call_.changes + (loops_.empty() ? 0 : loops_.back().changes); }

  // ---- gates (calls.cc) ----
  void call(const Stmt& s);
  [[noreturn]] void fail_no_gate(const Token& name);
  /// Where qubits stand in parentheses behind a gate.
  [[noreturn]] void fail_gate_form(const Token& name, const Gate& gate) const;
  bool has_qubits(const std::vector<ExprPtr>& args);
  /// Null where there is none.
  const Gate* lookup(std::string_view name);
  const Gate& find_gate(const Token& name);
  Angles angles(const std::vector<ExprPtr>& args);
  /// The number of a plain expression of real numbers, if it is one.
  std::optional<double> plain_real(const Expr& e);
  void apply(const Token& at, const Gate& gate, const std::vector<double>& params,
             std::span<const circuit::Qubit> qubits);
  void call_on_operands(const Stmt& s, const Gate& gate, const Angles& params);
  void broadcast(const Stmt& s, const Gate& gate, const Angles& params,
                 const circuit::Circuit& inner);
  void apply_definition(const Token& at, const Definition& d, std::span<const Value> params,
                        std::span<const circuit::Qubit> qubits);
  circuit::Circuit modified(const Stmt& s, const Gate& gate, const Angles& params);
  std::size_t num_controls(const Modifier& m);
  double known_power(const Modifier& m);
  void charge_modifiers(const Stmt& s, std::uint64_t operations);
  void finish_from(std::size_t first, std::uint32_t line);
  /// A global phase. Those that stand under no condition are gathered and written once.
  void add_phase(double angle, std::uint32_t line);
  void write_phase();
  /// Says once that a gate is used without the include that the language wants.
  void note_library(const Token& name, circuit::GateId id);
  std::string out_of_range(std::int64_t index, std::size_t size) const;
  /// A warning of its kind, once a program.
  void note(const Token& at, const char* kind, const std::string& text);
  void note_lost_fraction();
  void note_skipped(const TextSource& source, const Token& at);

  [[noreturn]] void fail_twice(const Token& at, const Stmt& s) const;
  /// Throws where a gate is called with `has` parameters or qubits and takes another number.
  void need_operands(const Stmt& s, std::size_t has, std::size_t takes, const char* what) const;

  // ---- what was never run (check.cc) ----
  class Check;
  void check_statement(const Stmt& s);
  void check_definitions();

  // ---- subroutines (subroutines.cc) ----
  void need_arguments_of(const Token& at, const Definition& d, std::size_t has) const;
  Value call_once(const Token& at, const std::vector<ExprPtr>& args);

  // ---- what depends on measurements (dependent.cc) ----
  bool has_effects(const Expr& e) const;
  const std::int64_t* assumed(const Expr& index) const;
  void check_index(const Value& v, std::size_t size, std::uint32_t line);
  void add_trap(std::uint32_t line);
  bool in_a_case() const { return case_depth_ == call_depth_; }
  /// Conditions may keep the circuit from what is read now.
  bool may_not_run() const {
    return !memory_.terms().empty() || memory_.in_running_loop() || !guards_.empty();
  }
  bool may_trap(const Expr& index) const;
  [[noreturn]] void fail_index(const Expr& index, std::int64_t i, std::size_t size) const;
  void find_dependent(const Expr& index, std::size_t size, Dependents& out);
  void find_dependent(const Expr& e, Dependents& out);
  /// Whether an index of a part of a register does.
  bool depends_on_measurements(const Expr& part);
  /// Calls f once, or once for every way in which the indices of the operands may fall.
  void for_each_case(std::initializer_list<const Expr*> operands, std::uint32_t line,
                     const std::function<void()>& f);
  void for_each_case(const std::vector<const Expr*>& operands, std::uint32_t line,
                     const std::function<void()>& f);
  void run_cases(Dependents& found, std::uint32_t line, const std::function<void()>& f);
  void run_cases(Dependents& found, std::size_t k, const Value& so_far, std::uint32_t line,
                 const std::function<void()>& f);
  ExprPtr with_kept_indices(const ExprPtr& e, bool& depends);
  ExprPtr with_kept_value(const ExprPtr& e, bool& depends);
  Wires all_wires(const Expr& e);
  void call_in_cases(const Stmt& s, const Gate& gate, const Angles& params);
  Value place(const Value& index, std::size_t size, const Token& at);
  std::optional<Value> dependent_index(const Expr& index);
  Value pick(const Value& all, const Value& index, std::size_t size, const Token& at);
  void apply_at_run(const Token& at, const Gate& gate, std::span<const Value> params,
                    std::span<const circuit::Qubit> qubits);
  Value call_subroutine(const Token& at, const std::vector<ExprPtr>& args);

  // ---- rows of more than 64 bits (rows.cc) ----
  bool names_long_row(const Expr& e) const;
  std::size_t long_size(const Expr& e);
  std::size_t known_places(const ExprPtr& by, std::size_t most);
  Value row_part(const Expr& e, std::size_t links, std::size_t size, std::size_t first,
                 std::size_t count);
  Value row_part(const Expr& e, std::size_t size, std::size_t first, std::size_t count);
  [[noreturn]] void fail_row_size(const Token& at, std::size_t size, std::size_t other) const;
  std::deque<Value> row_values(const Expr& e, std::size_t size);
  void write_row(const std::vector<std::uint32_t>& wires, std::deque<Value> values,
                 const Token& at);
  void assign_row(const Stmt& s, const Wires& to);
  std::optional<Value> compare_rows(const Expr& e);
  std::optional<Value> popcount_of_row(const Expr& e);

  // ---- arrays (arrays.cc) ----
  /// What an expression names of an array; `array` is null where it names none.
  ArrayPart array_part(const Expr& e);
  /// An array, a row or slice of one, or joined ones; none where an expression is no array.
  std::optional<Variable> array_view(const Expr& e);
  std::optional<Variable> joined_arrays(const Expr& e);
  void declare_array(const Stmt& s);
  /// `target`: what the array is a part of, where an assignment names it.
  void fill_array(const Variable& array, const Expr& from, std::uint32_t line,
                  const Expr* target = nullptr);
  void array_values(const Variable& array, std::size_t dim, const Expr& from,
                    std::deque<Value>& values);
  Value element_place(const ArrayPart& part);
  Value element(const ArrayPart& part);
  /// The element of that number.
  Value element_at(const Variable& array, const Value& at);
  void store_element(const ArrayPart& part, const Value& value, std::uint32_t line);
  /// Null where its indices depend on measurements.
  Variable* known_element(const ArrayPart& part);
  Variable array_argument(const Parameter& p, const Expr& given);
  Value size_of(const Expr& e);

  // ---- plain statements (plain.cc) ----
  /// Runs the plain statement that stands next, or reads nothing.
  bool plain_statement(Lexer& lexer);
  bool plain_measure(Lexer& lexer);
  bool read_plain_call(Lexer& lexer, const Gate& gate);
  bool plain_wire(Lexer& lexer, Variable::Kind kind, std::uint32_t& wire);

  // ---- expressions (evaluate.cc) ----
  Value evaluate(const Expr& e);
  Value evaluate_unguarded(const Expr& e);
  /// `a op right`, where the right side of && and || may not count.
  Value link(const Token& op, Value a, const Expr& right);
  Value operate(const Token& op, Value a, const Value& b);
  Value is_member(Value a, const Expr& set);
  /// The cases that conditions and left sides of && and || leave.
  Reach reach() const;
  Value evaluate_name(const Expr& e);
  Value evaluate_index(const Expr& e);
  Value index_value(const Expr& e);
  std::optional<Value> dependent_part(const Expr& e);
  Value known(const Expr& e, const char* what);
  [[noreturn]] void fail_not_known(const Token& at, const Value& v, const std::string& what) const;
  std::string input_in(const Value& v) const;
  std::int64_t known_integer(const ExprPtr& e, const char* what);
  /// Of a known integer. Fails for a uint of 2^63 or more, which is no index, size or end of a range.
  std::int64_t as_signed(const Token& at, const Value& v, std::string_view what) const;
  /// The same, neither bits nor a truth value.
  std::int64_t known_size(const ExprPtr& e, const char* what);
  Wires wires(const Expr& e);
  Wires qubits(const Expr& e);
  std::vector<std::size_t> indices(const Expr& e, std::size_t size, bool& is_array);
  std::vector<std::int64_t> range(const Expr& e, std::int64_t first, std::int64_t step,
                                  std::int64_t last);
  /// The condition of an if; none when it is known, and then `value` is set.
  std::optional<Term> condition(const Expr& e, bool& value);
  std::optional<Term> comparison(const Expr& e);
  bool is_bits(const Expr& e);
  bool is_qubits(const Expr& e);
  int width_of(const TypeName& type) { return width_of(type, default_width(type.base)); }
  int width_of(const TypeName& type, int otherwise);

  template <class... Parts>
  [[noreturn]] void fail(const Token& at, const Parts&... problem) const {
    fail_at(files_.of(at.text), at.offset, concat(problem...));
  }
  /// What f gives; a ValueError of it is an error at this place.
  template <class F>
  auto guarded(const Token& at, const F& f) const {
    try {
      return f();
    } catch (const ValueError& error) {
      fail(at, error.problem);
    }
  }
  Value cast_at(const Token& at, const Value& v, Base base, int width) const {
    return guarded(at, [&] { return cast(v, base, width, [this] { return reach(); }); });
  }
  /// `more`: names that are known beside those of the memory.
  [[noreturn]] void fail_unknown(const Token& name, const char* what,
                                 const std::vector<std::string_view>& more = {});

  const ProgramInputs& inputs_;
  UnboundInputs unbound_;
  std::vector<UnboundInput> parameters_;
  struct Output {
    const Variable* variable;
    std::vector<std::uint32_t> wires;  // the register of a value; none of bits, which are one
  };
  std::vector<Output> outputs_;
  circuit::Circuit circuit_;
  circuit::Circuit* out_ = &circuit_;  // or the gate under modifiers that is being recorded
  Memory memory_;
  SourceFiles files_;
  std::deque<std::string> texts_;                     // names of what has none in the program
  std::unordered_map<std::string_view, Gate> gates_;  // of the program
  std::unordered_map<std::string_view, std::optional<Gate>> table_gates_;  // and what is none
  std::vector<double> plain_params_;  // of the plain call under way
  std::vector<circuit::Qubit> plain_qubits_;
  struct PlainName {
    std::string_view name;
    const Variable* variable = nullptr;
  } plain_names_[2];  // the bits and the qubits named last
  std::unordered_map<std::string_view, std::shared_ptr<const Definition>> subroutines_;
  struct Defined {
    std::shared_ptr<const Definition> definition;
    bool is_gate;
  };
  std::vector<Defined> definitions_;  // of the program
  std::unordered_set<std::string> used_inputs_;
  /// A list that is cut back to its length when the scope is left, by an exception as well.
  template <class T>
  class Trimmed {
   public:
    explicit Trimmed(std::vector<T>& list) : list_(list), size_(list.size()) {}
    ~Trimmed() { list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(size_), list_.end()); }
    Trimmed(const Trimmed&) = delete;
    Trimmed& operator=(const Trimmed&) = delete;

   private:
    std::vector<T>& list_;
    std::size_t size_;
  };

  Call call_;                         // of the subroutine under way
  std::vector<Assumed> assumed_;      // indices in the case under way
  bool may_trap_ = false;             // an index that does not exist may wait for the circuit
  int case_depth_ = -1;               // of calls where the case under way stands, -1 without one
  std::vector<const Value*> guards_;  // what holds on the right sides of && and || under way
  struct LostFraction {
    Token at;
    std::string text;
  };
  std::optional<LostFraction> lost_;  // a division of integers in the expression under way
  bool beyond_ = false;               // the operation done last wrapped around 64 bits
  std::vector<Loop> loops_;           // under way, of this subroutine
  std::vector<std::size_t> ends_;     // jumps to the end of the program
  int running_loops_ = 0;             // under way
  int call_depth_ = 0;
  bool in_gate_ = false, in_subroutine_ = false, has_physical_ = false;
  bool has_library_ = false;                           // an include of standard gates
  std::unordered_set<std::string_view> hidden_gates_;  // global names that are gates' as well
  double phase_ = 0;                                   // of the whole state, not yet written
  std::unordered_set<std::string_view> notes_;         // kinds of those said so far
  std::size_t num_skipped_ = 0;                        // pragmas
  Expansion expansion_;
};

}  // namespace tilewave::language::qasm3
