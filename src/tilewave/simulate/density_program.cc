// Channels take in what stands beside them: gates and channels on the same qubits, or on one of
// them, that nothing separates, become one superoperator (at most 16 x 16), since a matrix costs
// the same whatever is in it. One on two qubits that is in blocks (circuit/channel.h) is cheaper
// than a full one and takes in only what leaves it so.
#include "tilewave/simulate/density_program.h"

#include <algorithm>
#include <map>

#include "tilewave/circuit/density.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Matrix;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

constexpr std::size_t kMostMergedQubits = 2;

class Widener {
 public:
  explicit Widener(const Program& program)
      : program_(program),
        circuit_(*program.circuit),
        n_(circuit_.num_qubits()),
        last_(n_),
        is_entry_(program.ops.size() + 1) {
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::kJump) is_entry_[op.first_param] = true;
    }
  }

  void run(Circuit& out) {
    for (std::size_t k = 0; k < program_.ops.size(); ++k) {
      if (is_entry_[k]) fence();
      add(k);
    }
    out = circuit_;
    out.take_ops();
    out.add_qubits(n_);
    std::vector<std::size_t> first(program_.ops.size() + 1);  // of each operation in `out`
    std::vector<std::pair<std::size_t, std::size_t>> jumps;
    std::size_t next = 0;
    for (const Item& item : items_) {
      for (; next <= item.source; ++next) first[next] = out.ops().size();
      if (!item.is_dead) write(item, out, jumps);
    }
    for (; next < first.size(); ++next) first[next] = out.ops().size();
    for (const auto& [jump, to] : jumps) out.set_jump_target(jump, first[to]);
  }

 private:
  // An operation of the program, or a superoperator that came from several.
  struct Item {
    std::size_t source = 0;
    std::vector<Qubit> qubits;
    Matrix superoperator;  // empty: the operation as it is
    bool can_merge = false;
    bool is_dead = false;
  };

  // Nothing behind is merged with anything before.
  void fence() {
    for (auto& stack : last_) stack.clear();
  }

  Matrix superoperator_of(const Item& item) {
    if (!item.superoperator.empty()) return item.superoperator;
    return circuit::superoperator({circuit_.whole_matrix(program_.ops[item.source])});
  }

  // On the qubits `of` a larger superoperator, in its order.
  static Matrix widened(const Matrix& s, std::span<const Qubit> from, std::span<const Qubit> of) {
    std::vector<int> positions;
    for (const Qubit q : from) {
      positions.push_back(static_cast<int>(std::find(of.begin(), of.end(), q) - of.begin()));
    }
    for (std::size_t j = 0; j < from.size(); ++j) {
      positions.push_back(positions[j] + static_cast<int>(of.size()));
    }
    return circuit::embed(s, positions, static_cast<int>(2 * of.size()));
  }

  static bool covers(std::span<const Qubit> all, std::span<const Qubit> some) {
    return std::ranges::all_of(
        some, [&](Qubit q) { return std::find(all.begin(), all.end(), q) != all.end(); });
  }

  // The item that is the last on all these qubits, or none.
  std::ptrdiff_t last_on_all(std::span<const Qubit> qubits) const {
    std::ptrdiff_t found = -1;
    for (const Qubit q : qubits) {
      if (last_[q].empty()) return -1;
      const auto at = static_cast<std::ptrdiff_t>(last_[q].back());
      if (found >= 0 && at != found) return -1;
      found = at;
    }
    return found;
  }

  void add(std::size_t k) {
    const Op& op = program_.ops[k];
    if (op.kind == OpKind::kBarrier) return;
    const auto span = circuit_.qubits(op);
    Item item{k, {span.begin(), span.end()}, {}, false, false};
    if (op.kind == OpKind::kChannel) {
      Matrix& s = of_channel_[&circuit_.channel(op)];
      if (s.empty()) s = circuit::superoperator(circuit_.channel(op).kraus);
      item.superoperator = s;
    } else if (op.kind == OpKind::kReset) {
      item.superoperator = circuit::superoperator({{1, 0, 0, 0}, {0, 1, 0, 0}});
    }
    const bool is_map =
        !item.superoperator.empty() || op.kind == OpKind::kGate || op.kind == OpKind::kMatrix;
    item.can_merge = is_map && op.condition < 0 && !item.qubits.empty() &&
                     item.qubits.size() <= kMostMergedQubits;
    if (op.kind == OpKind::kJump || op.kind == OpKind::kAssign) fence();
    if (item.can_merge && (joins_last(item) || take_in_last(item))) return;
    push(std::move(item));
  }

  void push(Item item) {
    for (const Qubit q : item.qubits) last_[q].push_back(items_.size());
    items_.push_back(std::move(item));
  }

  // Whether a superoperator costs no more with another in it.
  static bool is_worth(const Item& item, const Matrix& other) {
    return item.qubits.size() < 2 || !circuit::is_in_blocks(item.superoperator) ||
           circuit::is_in_blocks(other);
  }

  // Into a superoperator just before it that has all its qubits.
  bool joins_last(const Item& item) {
    const std::ptrdiff_t at = last_on_all(item.qubits);
    if (at < 0) return false;
    Item& last = items_[static_cast<std::size_t>(at)];
    if (!last.can_merge || last.superoperator.empty() || !covers(last.qubits, item.qubits)) {
      return false;
    }
    const Matrix own = superoperator_of(item);
    if (!is_worth(last, own)) return false;
    last.superoperator =
        circuit::multiply(widened(own, item.qubits, last.qubits), last.superoperator);
    return true;
  }

  // A superoperator takes in what is just before it and has none but its qubits.
  bool take_in_last(Item& item) {
    if (item.superoperator.empty()) return false;
    for (bool found = true; found;) {
      found = false;
      for (const Qubit q : item.qubits) {
        if (last_[q].empty()) continue;
        Item& last = items_[last_[q].back()];
        if (!last.can_merge || !covers(item.qubits, last.qubits) ||
            last_on_all(last.qubits) != static_cast<std::ptrdiff_t>(last_[q].back())) {
          continue;
        }
        const Matrix own = superoperator_of(last);
        if (!is_worth(item, own)) continue;
        item.superoperator =
            circuit::multiply(item.superoperator, widened(own, last.qubits, item.qubits));
        last.is_dead = found = true;
        for (const Qubit other : std::vector<Qubit>(last.qubits)) last_[other].pop_back();
      }
    }
    push(std::move(item));
    return true;
  }

  void write(const Item& item, Circuit& out,
             std::vector<std::pair<std::size_t, std::size_t>>& jumps) {
    const Op& op = program_.ops[item.source];
    const std::size_t at = out.ops().size();
    if (!item.superoperator.empty()) {
      circuit::add_superoperator(out, n_, item.qubits, item.superoperator);
    } else {
      if (op.kind == OpKind::kJump) jumps.emplace_back(at, op.first_param);
      out.put_op(op);
      const auto qubits = circuit_.qubits(op);
      if (op.kind == OpKind::kGate) {
        const auto extra =
            static_cast<std::size_t>(op.num_controls - circuit::gate_info(op.gate).num_controls);
        circuit::add_column_gate(out, n_, op.gate, qubits.first(extra), op.control_values,
                                 qubits.subspan(extra), circuit_.params(op));
      } else if (op.kind == OpKind::kRuntimeGate) {
        const auto extra =
            static_cast<std::size_t>(op.num_controls - circuit::gate_info(op.gate).num_controls);
        const std::vector<Qubit> columns = circuit::column_qubits(qubits, n_);
        const auto angles = circuit_.angles(op);
        out.add_runtime_gate(op.gate, std::span(columns).first(extra), op.control_values,
                             std::span(columns).subspan(extra), {angles.begin(), angles.end()},
                             true);
      } else if (op.kind == OpKind::kMatrix) {
        circuit::add_column_matrix(out, n_, circuit_.controls(op), op.control_values,
                                   circuit_.targets(op), circuit_.matrix(op));
      }
    }
    out.finish_from(at, op.line, op.condition);
  }

  const Program& program_;
  const Circuit& circuit_;
  const std::uint32_t n_;
  std::vector<Item> items_;
  std::vector<std::vector<std::size_t>> last_;  // items on each qubit since the last fence
  std::vector<bool> is_entry_;                  // operations that jumps go to
  std::map<const circuit::Channel*, Matrix> of_channel_;
};

}  // namespace

void to_density(const Program& program, DensityProgram& out) {
  Widener(program).run(out.circuit);
  out.program = program;
  out.program.circuit = &out.circuit;
  out.program.ops.assign(out.circuit.ops().begin(), out.circuit.ops().end());
  out.program.dynamic = false;
  for (const Op& op : out.program.ops) out.program.dynamic |= op.kind == OpKind::kMeasure;
  out.program.has_channels = false;
}

}  // namespace tilewave::simulate
