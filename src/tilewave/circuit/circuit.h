// A circuit: a list of operations on qubits and classical bits, without any notion of a machine.
// Built once, then read. Layout: operations are fixed-size records; their qubits and parameters
// live in two flat pools.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/circuit/channel.h"
#include "tilewave/circuit/classical.h"
#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/parameters.h"

namespace tilewave::circuit {

using Qubit = std::uint32_t;
using Clbit = std::uint32_t;

enum class OpKind : std::uint8_t {
  kGate,         ///< a gate of the table, possibly with further controls
  kRuntimeGate,  ///< the same, its angles computed from classical bits when it is reached
  kMatrix,       ///< a matrix given by the user on num_targets qubits, possibly under controls
  kMeasure,      ///< qubit into classical bit, in the Z basis
  kReset,        ///< qubit to |0>
  kChannel,      ///< a noise channel on num_targets qubits
  kJump,         ///< go on at another operation, where the condition holds
  kAssign,       ///< classical bits become the value of an expression
  kBarrier,      ///< no gate is moved across (kept for printing; the planner may merge across)
};

struct Op {
  OpKind kind = OpKind::kGate;
  GateId gate = GateId::kId;
  bool conjugate = false;  ///< kRuntimeGate: with the conjugate of the gate's matrix
  std::uint16_t num_controls = 0;
  std::uint16_t num_targets = 0;
  std::uint16_t label = 0;        ///< a name of its own, for noise: Circuit::label; 0 for none
  std::uint32_t first_qubit = 0;  ///< in Circuit::qubit_pool: controls, then targets
  /// In Circuit::param_pool; the index of the matrix for kMatrix, of the channel for kChannel, of
  /// the assignment for kAssign; the operation to go on with for kJump; the first angle's
  /// expression for kRuntimeGate.
  std::uint32_t first_param = 0;
  Clbit clbit = 0;              ///< kMeasure
  std::int32_t condition = -1;  ///< index in Circuit::conditions, or -1
  std::uint32_t line = 0;       ///< where it stands in its source, 0 when unknown
  std::uint64_t control_values = ~std::uint64_t{0};  ///< bit k: control k acts on this value
};

/// What a measurement takes in a circuit while its lists grow, for those who add many at once.
inline constexpr std::uint64_t kMeasureBytes = 2 * (sizeof(Op) + sizeof(Qubit));

/// A named run of classical or quantum bits.
struct Register {
  std::string name;
  std::uint32_t first = 0;
  std::uint32_t size = 0;
};

/// True when the classical bits [first, first+size) equal `value` (bit k of word k/64; missing
/// words are zero); or, where there is an expression, when its value is not zero.
struct Condition {
  Clbit first = 0;
  std::uint32_t size = 0;
  std::vector<std::uint64_t> value;
  ClassicalExpr expr{};
};

/// Classical bits [first, first + size), at most 64, become the value's low bits.
struct Assignment {
  Clbit first = 0;
  std::uint32_t size = 0;
  ClassicalExpr value;
};

class Circuit {
 public:
  explicit Circuit(std::uint32_t num_qubits = 0, std::uint32_t num_clbits = 0)
      : num_qubits_(num_qubits), num_clbits_(num_clbits) {}

  std::uint32_t num_qubits() const { return num_qubits_; }
  std::uint32_t num_clbits() const { return num_clbits_; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Register> qregs() const { return qregs_; }
  std::span<const Register> cregs() const { return cregs_; }
  std::span<const Condition> conditions() const { return conditions_; }

  /// Controls then targets of an operation.
  std::span<const Qubit> qubits(const Op& op) const {
    return {qubit_pool_.data() + op.first_qubit,
            static_cast<std::size_t>(op.num_controls) + op.num_targets};
  }
  std::span<const Qubit> controls(const Op& op) const { return qubits(op).first(op.num_controls); }
  std::span<const Qubit> targets(const Op& op) const { return qubits(op).subspan(op.num_controls); }
  /// Angles of a gate; one that holds parameters is NaN here (see affine()).
  std::span<const double> params(const Op& op) const;
  /// The matrix on the targets: row-major, 4^num_targets entries; bit k of an index is target k.
  std::vector<cplx> matrix(const Op& op) const;

  /// The same on controls and targets: bit k is qubits()[k].
  std::vector<cplx> whole_matrix(const Op& op) const;

  /// Adds a quantum (classical) register after those that exist; returns its first index.
  std::uint32_t add_qreg(std::string name, std::uint32_t size);
  std::uint32_t add_creg(std::string name, std::uint32_t size);
  void add_qubits(std::uint32_t count) { num_qubits_ += count; }
  void add_clbits(std::uint32_t count) { num_clbits_ += count; }
  std::int32_t add_condition(Condition condition);
  /// Operation `op` happens only where the condition holds.
  void set_condition(std::size_t op, Condition condition) {
    ops_[op].condition = add_condition(std::move(condition));
  }

  /// Appends a gate. `qubits` are the table's controls, then targets; throws Error(kInput) for a
  /// wrong number of qubits or parameters, an index out of range, a repeated qubit or a parameter
  /// that is not finite.
  Op& add_gate(GateId gate, std::span<const Qubit> qubits, std::span<const double> params = {});
  Op& add_gate(GateId gate, std::initializer_list<Qubit> qubits,
               std::initializer_list<double> params = {}) {
    return add_gate(gate, std::span(qubits.begin(), qubits.size()),
                    std::span(params.begin(), params.size()));
  }
  /// The same under further controls that act on the given values (bit k: control k); they precede
  /// the gate's own.
  Op& add_controlled_gate(GateId gate, std::span<const Qubit> controls,
                          std::uint64_t control_values, std::span<const Qubit> qubits,
                          std::span<const double> params = {});
  /// The same with angles that are computed from the classical bits whenever it is reached.
  Op& add_runtime_gate(GateId gate, std::span<const Qubit> controls, std::uint64_t control_values,
                       std::span<const Qubit> qubits, std::vector<ClassicalExpr> angles,
                       bool conjugate = false);
  std::span<const ClassicalExpr> angles(const Op& op) const;
  /// Appends to `to` (of the same qubits) the gate that a runtime gate is at these angles.
  void append_with_angles(const Op& op, std::span<const double> angles, Circuit& to) const;
  /// Calls f(first, count) for every run of classical bits that the condition or the angles of an
  /// operation read.
  void for_each_read(const Op& op,
                     const std::function<void(std::uint32_t, std::uint32_t)>& f) const;
  /// Appends a matrix on `targets` (4^targets entries, row-major, need not be unitary) under
  /// `controls`.
  Op& add_matrix(std::span<const Qubit> controls, std::uint64_t control_values,
                 std::span<const Qubit> targets, std::vector<cplx> matrix);
  Op& add_measure(Qubit qubit, Clbit clbit);
  Op& add_reset(Qubit qubit);
  Op& add_channel(std::span<const Qubit> targets, std::shared_ptr<const Channel> channel);
  /// Every channel once, and the one of an operation.
  std::span<const std::shared_ptr<const Channel>> channels() const { return channels_; }
  const Channel& channel(const Op& op) const { return *channels_[op.first_param]; }
  void add_barrier();
  /// Sets line and condition of the operations from index `first` on.
  void finish_from(std::size_t first, std::uint32_t line, std::int32_t condition);
  /// Goes on at another operation where the condition holds (-1: always): what if, while, for and
  /// switch are made of. The operation is named later by set_jump_target; it may be the next one to
  /// be added, or any before it. Returns the jump's own index.
  std::size_t add_jump(std::int32_t condition = -1);
  void set_jump_target(std::size_t jump, std::size_t op);
  Op& add_assign(Assignment assignment);
  const Assignment& assignment(const Op& op) const { return assignments_[op.first_param]; }

  /// What a reader of the circuit wants to tell people: warnings, a line each.
  std::span<const std::string> notes() const { return notes_; }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  /// Names of instructions that a conversion replaced by their parts, and of gates that a program
  /// defines, which noise on them cannot reach: sorted, each once.
  std::span<const std::string> replaced() const { return replaced_; }
  void add_replaced(std::string name);

  /// Calls f(), which adds operations, classical registers and bits, notes and labels; where it
  /// throws, the circuit is again what it was. Names of what was replaced are added last, outside.
  template <class F>
  void all_or_nothing(F f) {
    const Sizes before = sizes();
    try {
      f();
    } catch (...) {
      shrink_to(before);
      throw;
    }
  }

  /// Gives angle k of a gate another value; throws Error(kInput) for one that is not finite.
  void set_param(std::size_t op, std::size_t k, double value);

  /// Names of the parameters, in the order in which they were added; a circuit may hold angles that
  /// are affine expressions of them.
  std::span<const std::string> parameters() const { return parameters_; }
  /// The number of a parameter, which is added where the name is new. Throws Error(kInput) for an
  /// empty name.
  std::uint32_t add_parameter(const std::string& name);
  /// Angle k of a gate becomes an expression; without terms it is its constant. Throws
  /// Error(kInput) for numbers that are not finite.
  void set_affine(std::size_t op, std::size_t k, AffineAngle angle);
  /// The expression in angle k of a gate, or null where that is a number.
  const AffineAngle* affine(const Op& op, std::size_t k) const;
  /// Whether some angle is an expression, so that the circuit cannot run before it is bound.
  bool has_affine() const { return !affine_.empty(); }
  /// The circuit with numbers for its parameters, of which it then has none. Throws Error(kInput)
  /// for another number of values and for one that is not finite.
  Circuit bind(std::span<const double> values) const;

  /// For rewriting: takes all operations out, and puts such operations back in one by one. What
  /// they refer to stays.
  std::vector<Op> take_ops();
  void put_op(const Op& op);
  /// Qubit kept[j] becomes qubit j, and there are no others; no operation that stays may name one.
  void keep_only(std::span<const Qubit> kept);

  /// A label for set_label, the same for the same text (at most 65535 of them differ), and the one
  /// an operation carries (empty: none).
  std::uint16_t add_label(const std::string& label);
  void set_label(std::size_t op, std::uint16_t label) { ops_[op].label = label; }
  const std::string& label(const Op& op) const;

  /// True when nothing but gates and matrices occurs, and none is conditional.
  bool is_unitary() const;
  /// A number that stands for all that the circuit does (base/fingerprint.h).
  std::uint64_t fingerprint() const;
  /// True when it jumps or assigns.
  bool has_control_flow() const { return has_control_flow_; }

 private:
  Op& append(Op op, std::span<const Qubit> controls, std::span<const Qubit> targets);
  Op& append_gate(Op op, std::span<const Qubit> controls, std::uint64_t control_values,
                  std::span<const Qubit> qubits, std::size_t num_params);
  void check_qubits(std::span<const Qubit> a, std::span<const Qubit> b, const char* what) const;

  // Calls f for every list that operations, classical registers and bits add to at its end.
  template <class Self, class F>
  static void for_each_list(Self& self, F f) {
    f(self.ops_), f(self.qubit_pool_), f(self.param_pool_), f(self.affine_), f(self.parameters_);
    f(self.angles_), f(self.matrices_);
    f(self.channels_), f(self.cregs_), f(self.conditions_), f(self.assignments_), f(self.notes_);
    f(self.labels_);
  }
  struct Sizes {
    std::uint32_t num_clbits;
    bool has_control_flow;
    std::vector<std::size_t> lists;
  };
  Sizes sizes() const {
    Sizes now{num_clbits_, has_control_flow_, {}};
    for_each_list(*this, [&](const auto& list) { now.lists.push_back(list.size()); });
    return now;
  }
  void shrink_to(const Sizes& before);

  std::uint32_t num_qubits_, num_clbits_;
  std::vector<Op> ops_;
  std::vector<Qubit> qubit_pool_;
  std::vector<double> param_pool_;
  // An expression and its place in the pool of parameters; ascending.
  struct PlacedAngle {
    std::uint32_t place;
    AffineAngle angle;
  };
  std::vector<PlacedAngle> affine_;
  std::vector<std::string> parameters_;
  std::unordered_map<std::string, std::uint32_t> parameter_numbers_;
  std::vector<ClassicalExpr> angles_;
  std::vector<std::vector<cplx>> matrices_;
  std::vector<std::shared_ptr<const Channel>> channels_;
  std::vector<Register> qregs_, cregs_;
  std::vector<Condition> conditions_;
  std::vector<Assignment> assignments_;
  std::vector<std::string> notes_;
  std::vector<std::string> replaced_;
  std::vector<std::string> labels_;  // Op::label counts from 1
  std::unordered_map<std::string, std::uint16_t> label_numbers_;
  bool has_control_flow_ = false;

  void check_reads(const ClassicalExpr& expr) const;
};

}  // namespace tilewave::circuit
