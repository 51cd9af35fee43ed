// What a running OpenQASM 3 program knows: its names, the classical bits of the circuit, and the
// conditions under which statements stand. Writes go through here, so that values that refer to a
// bit survive its being overwritten.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm3/value.h"

namespace tilewave::language::qasm3 {

struct Variable {
  enum class Kind : std::uint8_t { kValue, kBits, kQubits, kArray } kind = Kind::kValue;
  Base base = Base::kInt;
  int width = 64;
  bool is_const = false;
  bool is_array = false;             ///< of kBits and kQubits: has an index
  bool is_copy = false;              ///< of kArray: values of elements that measured indices name
  Value value;                       ///< kValue
  std::vector<std::uint32_t> wires;  ///< bits or qubits of the circuit
  std::size_t depth = 0;             ///< conditions under which it was declared
  std::int64_t storage = -1;         ///< first of the classical bits that hold it in running loops
  /// Of a name given by `let` whose indices depend on measurements: what it stands for, with the
  /// indices in variables of their own; `wires` are then all that it may be.
  std::shared_ptr<const Expr> alias = {};
  /// kArray: the elements, the last index fastest; a row, a slice or a parameter shares those of
  /// its array.
  std::shared_ptr<const std::vector<std::shared_ptr<Variable>>> elements = {};
  std::vector<std::size_t> dims = {};
};

/// A condition that a statement stands under. Without a value it compares a long register.
struct Term {
  Test test;
  bool has_value = true;
  Value value;
};

class Memory {
 public:
  explicit Memory(circuit::Circuit& circuit) : circuit_(circuit) { scopes_.emplace_back(); }

  // ---- names ----
  void push_scope() { scopes_.emplace_back(); }
  void pop_scope() { scopes_.pop_back(); }
  /// The body of a gate or subroutine: sees its own names and global constants. Returns what
  /// pop_frame takes.
  std::size_t push_frame();
  void pop_frame(std::size_t frame);
  bool is_global() const { return scopes_.size() == 1; }
  bool declared_here(std::string_view name) const { return scopes_.back().count(name) > 0; }
  Variable& declare(std::string_view name, Variable v);
  /// A variable of the value's type.
  Variable& declare(std::string_view name, Value value, bool is_const = false);
  Variable* find(std::string_view name) {
    return const_cast<Variable*>(std::as_const(*this).find(name));
  }
  const Variable* find(std::string_view name) const;
  /// Of bits or qubits.
  bool is_register(std::string_view name) const {
    const Variable* v = find(name);
    return v && (v->kind == Variable::Kind::kBits || v->kind == Variable::Kind::kQubits);
  }
  std::vector<std::string_view> names() const;

  // ---- classical bits ----
  /// Adds bits that belong to no register, 0 whenever this point of the program is reached.
  std::vector<std::uint32_t> hidden_bits(std::size_t count);
  /// Bits that hold these values for good, which is known while reading.
  std::vector<std::uint32_t> fixed_bits(const std::vector<bool>& values);
  /// Whether it is one of these, which the running circuit holds as 0.
  bool is_fixed(std::uint32_t wire) const;
  /// To be called after a register was added to the circuit.
  void grow() { known_.resize(circuit_.num_clbits(), 0); }
  Value read(const std::vector<std::uint32_t>& wires) const;
  /// What a bit holds when that is known while reading, else -1.
  int known(std::uint32_t wire) const { return known_[wire]; }
  void measure(std::uint32_t qubit, std::uint32_t wire, std::uint32_t line);
  /// Writes bit k of the value to wires[k], under the conditions.
  void write(const std::vector<std::uint32_t>& wires, const Value& value, std::uint32_t line);
  /// The whole value into the bits of a register that nothing else writes, under the conditions.
  void write_value(const std::vector<std::uint32_t>& wires, const Value& value, std::uint32_t line);
  /// Whether the program writes a bit of a register by no operation: it is assigned what it is known to
  /// hold, or note_record() was called.
  bool has_records() const { return has_records_; }
  /// A measurement stands in the program, also one that the conditions around it never let happen.
  void note_record() { has_records_ = true; }
  /// Evaluates it when the circuit comes here, under the conditions: it is there to fail.
  void check(circuit::ClassicalExpr expr, std::uint32_t line);
  /// A bit becomes 0, whatever the conditions.
  void clear(std::uint32_t wire, std::uint32_t line);
  /// A value that the circuit may fail to compute, such as a quotient, is computed where the circuit
  /// comes here, under the conditions, and read from bits afterwards.
  void compute_here(Value& v, std::uint32_t line);
  /// Assigns under the conditions entered since the variable was declared.
  void assign(Variable& v, const Value& value, std::uint32_t line);

  // ---- loops of the running circuit ----
  /// Makes everything known at the head of a loop true in every turn of it: the variables called
  /// `written` move into classical bits, and bits called so are no longer known.
  void enter_loop(const std::vector<std::string_view>& written, std::uint32_t line);
  /// The conditions so far do not stand before the operations of the loop's body.
  std::size_t enter_body();
  void leave_body(std::size_t before);
  /// Brings the variables of enter_loop back into their bits.
  void close_turn(const std::vector<std::string_view>& written, std::uint32_t line);
  bool in_running_loop() const { return running_ > 0; }

  // ---- conditions ----
  const std::vector<Term>& terms() const { return terms_; }
  void push(Term term);
  Term pop();
  /// Joins a condition to the last one, where a table holds both.
  bool join(const Term& term);
  static Term term_of(Value holds);
  /// The same; none where every case gives the same, and then `value` is set to that.
  static std::optional<Term> term_of(Value holds, bool& value);
  static void negate(Term& term);
  /// The index for operations that stand here, -1 without conditions.
  std::int32_t condition_index();
  /// The cases that the conditions leave.
  Reach reach() const;

  /// Keeps values of a statement under way right while bits are written.
  class Keep {
   public:
    Keep(Memory& m, Value& v) : memory_(m) { m.kept_.push_back(&v); }
    ~Keep() { memory_.kept_.pop_back(); }
    Keep(const Keep&) = delete;
    Keep& operator=(const Keep&) = delete;

   private:
    Memory& memory_;
  };

 private:
  using Scope = std::unordered_map<std::string_view, Variable>;
  using ReadRun = std::pair<circuit::Clbit, int>;  // the first of the bits, how many

  void before_write(std::uint32_t wire, std::uint32_t line);
  void move_reads(Value& v, std::uint32_t wire, std::uint32_t line,
                  std::map<ReadRun, circuit::Clbit>& copies);
  void assign_bit(std::uint32_t wire, bool value, std::uint32_t line, std::int32_t condition);
  void assign_bits(std::uint32_t first, int size, circuit::ClassicalExpr value, std::uint32_t line,
                   std::int32_t condition);
  void store(Variable& v, const Value& value, std::uint32_t line, std::int32_t condition);
  void keep(Value& v, std::uint32_t line, std::int32_t condition = -1);
  std::int32_t where_declared(const Variable& v);
  void assign_running(Variable& v, Value result, std::uint32_t line);
  void materialise(Term& term, std::uint32_t line);
  bool in_a_register(std::uint32_t wire) const;
  template <class F>
  void for_each_written(const std::vector<std::string_view>& names, F f);
  std::int32_t index_of(Test test);

  circuit::Circuit& circuit_;
  std::deque<Scope> scopes_;
  std::size_t base_ = 0;   // conditions before the body of the running loop under way
  int running_ = 0;        // running loops under way
  std::size_t frame_ = 0;  // first scope of the body under way
  std::vector<int> known_;
  std::vector<ReadRun> fixed_;
  bool has_records_ = false;
  std::vector<Term> terms_;
  std::vector<Value*> kept_;
  bool any_dependent_ = false;  // some variable depends on measured bits
  std::int32_t index_ = -1;     // of the conditions, where it is not stale
  bool stale_ = false;
  Test last_test_;  // of the condition added last
  std::int32_t last_index_ = -1;
};

}  // namespace tilewave::language::qasm3
