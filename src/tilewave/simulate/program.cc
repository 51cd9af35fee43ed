// Two walks over the operations: forward resolves what is known from the start (untouched qubits
// are |0>, unwritten bits are 0), backward finds the measurements whose qubit is not used again and
// whose bit is not read again.
#include "tilewave/simulate/program.h"

#include <algorithm>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

bool any_in(const std::vector<bool>& set, const circuit::Condition& c) {
  bool found = false;
  for_each_read(c, [&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) found |= set[first + k];
  });
  return found;
}

// Operations outside [head, tail) run exactly once, before or after everything in between.
struct Straight {
  std::size_t head, tail;
};

Straight find_straight(const Circuit& circuit) {
  const auto ops = circuit.ops();
  Straight range{ops.size(), 0};
  for (std::size_t k = 0; k < ops.size(); ++k) {
    if (ops[k].kind != OpKind::kJump && ops[k].kind != OpKind::kAssign) continue;
    const std::size_t to = ops[k].kind == OpKind::kJump ? ops[k].first_param : k;
    range.head = std::min({range.head, k, to});
    range.tail = std::max({range.tail, k + 1, to});
  }
  return range;
}

// False where the value has bits that the classical bits do not: then the condition never holds.
bool may_hold(const circuit::Condition& c) {
  for (std::size_t word = 0; word < c.value.size(); ++word) {
    const std::uint64_t first = 64 * word;
    const std::uint64_t inside =
        first >= c.size ? 0
                        : low_mask(static_cast<int>(std::min<std::uint64_t>(64, c.size - first)));
    if (c.value[word] & ~inside) return false;
  }
  return true;
}

struct NumberedOp {
  Op op;
  std::size_t index;  // in the circuit
};

std::vector<NumberedOp> resolve_forward(const Circuit& circuit, std::size_t head, bool from_zeros) {
  std::vector<bool> touched(circuit.num_qubits(), !from_zeros), written(circuit.num_clbits());
  const std::vector<std::uint64_t> zeros((circuit.num_clbits() + 63) / 64);
  std::vector<NumberedOp> ops;
  ops.reserve(circuit.ops().size());
  for (std::size_t index = 0; index < circuit.ops().size(); ++index) {
    Op op = circuit.ops()[index];
    if (op.kind == OpKind::kBarrier) continue;
    const circuit::Condition* const given =
        op.condition >= 0 ? &circuit.conditions()[static_cast<std::size_t>(op.condition)] : nullptr;
    if (given && !may_hold(*given)) continue;  // engines ask for as many bits as there are
    if (index < head) {
      if (given) {
        const auto& condition = *given;
        if (!any_in(written, condition)) {
          if (!holds(condition, zeros)) continue;  // can never hold
          op.condition = -1;                       // always holds
        }
      }
      if (op.kind == OpKind::kReset && !touched[circuit.targets(op)[0]]) continue;
      if (op.kind == OpKind::kMeasure) written[op.clbit] = true;
      for (const auto q : circuit.qubits(op)) touched[q] = true;
    }
    ops.push_back({op, index});
  }
  return ops;
}

// Jumps name operations of the circuit; what is left of those is numbered anew.
void renumber_jumps(const std::vector<NumberedOp>& kept, std::vector<Op>& ops) {
  for (Op& op : ops) {
    if (op.kind != OpKind::kJump) continue;
    const auto to =
        std::lower_bound(kept.begin(), kept.end(), op.first_param,
                         [](const NumberedOp& a, std::size_t index) { return a.index < index; });
    op.first_param = static_cast<std::uint32_t>(to - kept.begin());
  }
}

// Identities wait for nothing and change nothing; but jumps name operations by their number.
bool is_idle(const Op& op, const Program& program) {
  return op.kind == OpKind::kGate && !program.has_control_flow &&
         (op.gate == circuit::GateId::kId || op.gate == circuit::GateId::kU0);
}

}  // namespace

bool holds(const circuit::Condition& c, std::span<const std::uint64_t> bits) {
  if (!c.expr.empty()) return circuit::evaluate(c.expr, bits) != 0;
  for (std::uint32_t k = 0; k < c.size; ++k) {
    const bool want = k / 64 < c.value.size() && (c.value[k / 64] >> (k % 64) & 1);
    const std::uint32_t at = c.first + k;
    if ((bits[at / 64] >> (at % 64) & 1) != want) return false;
  }
  return may_hold(c);
}

Program prepare(const Circuit& circuit, bool from_zeros) {
  // what a run keeps of every qubit and bit in lists, whatever computes its answers
  constexpr std::uint64_t kListBytes = 64;
  const std::uint64_t bits = std::uint64_t{circuit.num_qubits()} + circuit.num_clbits();
  runtime::need_host_bytes(
      kListBytes * bits,
      concat("a circuit of ", counted(circuit.num_qubits(), "qubit"), " and ",
             counted(circuit.num_clbits(), "classical bit"), " does not fit memory"),
      "use fewer of them");
  Program program;
  program.circuit = &circuit;
  program.qubits = QubitMap(circuit.num_qubits());
  program.has_control_flow = circuit.has_control_flow();
  program.records = std::ranges::any_of(circuit.ops(), [](const Op& op) {
    return op.kind == OpKind::kAssign || op.kind == OpKind::kMeasure;
  });
  const Straight straight =
      program.has_control_flow ? find_straight(circuit) : Straight{circuit.ops().size(), 0};
  const std::vector<NumberedOp> ops = resolve_forward(circuit, straight.head, from_zeros);
  std::vector<bool> used(circuit.num_qubits());  // by a later operation that stays
  std::vector<bool> read(circuit.num_clbits());
  enum : std::uint8_t { kNotWritten, kMaybeWritten, kWritten };
  std::vector<std::uint8_t> write(circuit.num_clbits(), kNotWritten);
  std::vector<NumberedOp> kept;
  kept.reserve(ops.size());
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    const Op& op = it->op;
    program.has_channels |= op.kind == OpKind::kChannel;
    program.has_runtime_gates |= op.kind == OpKind::kRuntimeGate;
    if (it->index < straight.tail) {
      program.dynamic |= op.kind == OpKind::kMeasure || op.kind == OpKind::kReset;
      kept.push_back(*it);
      continue;
    }
    if (op.kind == OpKind::kMeasure) {
      const auto qubit = circuit.targets(op)[0];
      if (op.condition < 0 && !used[qubit] && !read[op.clbit] && write[op.clbit] != kMaybeWritten) {
        if (write[op.clbit] == kNotWritten) {
          program.deferred.push_back({op.clbit, qubit, qubit});
          write[op.clbit] = kWritten;
        }
        continue;  // deferred, or overwritten without having been read
      }
      if (op.condition < 0) {
        write[op.clbit] = kWritten;
        read[op.clbit] = false;  // earlier values end here
      } else if (write[op.clbit] == kNotWritten) {
        write[op.clbit] = kMaybeWritten;
      }
    }
    circuit.for_each_read(op, [&](std::uint32_t first, std::uint32_t count) {
      std::fill_n(read.begin() + first, count, true);
    });
    program.dynamic |= op.kind == OpKind::kMeasure || op.kind == OpKind::kReset;
    for (const auto q : circuit.qubits(op)) used[q] = true;
    kept.push_back(*it);
  }
  std::reverse(kept.begin(), kept.end());
  program.ops.reserve(kept.size());
  for (const NumberedOp& k : kept) program.ops.push_back(k.op);
  if (program.has_control_flow) renumber_jumps(kept, program.ops);
  return program;
}

std::vector<bool> bits_read(const Program& program) {
  const Circuit& circuit = *program.circuit;
  std::vector<bool> read(circuit.num_clbits());
  const auto mark = [&](std::uint32_t first, std::uint32_t count) {
    std::fill_n(read.begin() + first, count, true);
  };
  for (const Op& op : program.ops) {
    circuit.for_each_read(op, mark);
    if (op.kind == OpKind::kAssign) circuit::for_each_read(circuit.assignment(op).value, mark);
  }
  return read;
}

Program with_typical_angles(const Program& program, Circuit& storage) {
  storage = *program.circuit;
  storage.take_ops();
  Program out = program;
  out.circuit = &storage;
  for (Op& op : out.ops) {
    if (op.kind != OpKind::kRuntimeGate) continue;
    const std::vector<double> ones(program.circuit->angles(op).size(), 1.0);
    const std::int32_t condition = op.condition;
    program.circuit->append_with_angles(op, ones, storage);
    op = storage.ops().back();
    op.condition = condition;
  }
  out.has_runtime_gates = false;
  return out;
}

std::vector<Qubit> touched_qubits(const Program& program, std::uint32_t least) {
  const std::uint32_t n = program.circuit->num_qubits();
  std::vector<bool> touched(n);
  std::uint32_t count = 0;
  const auto touch = [&](Qubit q) {
    count += !touched[q];
    touched[q] = true;
  };
  for (const Op& op : program.ops) {
    if (count == n) break;
    if (is_idle(op, program)) continue;
    for (const Qubit q : program.circuit->qubits(op)) touch(q);
  }
  for (Qubit q = 0; q < n && count < least; ++q) touch(q);
  std::vector<Qubit> kept;
  kept.reserve(count);
  for (Qubit q = 0; q < n; ++q) {
    if (touched[q]) kept.push_back(q);
  }
  return kept;
}

void keep_only(Program& program, std::vector<Qubit> kept, circuit::Circuit& storage) {
  const std::uint32_t n = program.circuit->num_qubits();
  if (kept.size() == n) return;
  program.qubits = QubitMap(n, std::move(kept));
  std::erase_if(program.ops, [&](const Op& op) {
    return is_idle(op, program) &&
           std::ranges::any_of(program.circuit->qubits(op), [&](const Qubit q) {  // controls too
             return program.qubits.in_state(q) == QubitMap::kNowhere;
           });
  });
  storage = *program.circuit;
  storage.take_ops();
  storage.keep_only(program.qubits.kept());
  program.circuit = &storage;
  for (DeferredMeasure& d : program.deferred) d.qubit = program.qubits.in_state(d.name);
}

std::vector<circuit::ReadoutError> readout_in_state(
    const Program& program, std::span<const circuit::ReadoutError> readout) {
  std::vector<circuit::ReadoutError> found;
  for (Qubit q = 0; q < program.circuit->num_qubits() && !readout.empty(); ++q)
    found.push_back(readout[program.qubits.in_register(q)]);
  return found;
}

}  // namespace tilewave::simulate
