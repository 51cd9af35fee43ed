// Two walks over the operations: forward resolves what is known from the start (untouched qubits
// are |0>, unwritten bits are 0), backward finds the measurements whose qubit is not used again and
// whose bit is not read again.
#include "tilewave/simulate/program.h"

#include <algorithm>

namespace tilewave::simulate {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;

bool any_in(const std::vector<bool>& set, const circuit::Condition& c) {
  for (std::uint32_t k = 0; k < c.size; ++k) {
    if (set[c.first + k]) return true;
  }
  return false;
}

bool is_zero(const circuit::Condition& c) {
  return std::all_of(c.value.begin(), c.value.end(), [](std::uint64_t w) { return w == 0; });
}

std::vector<Op> resolve_forward(const Circuit& circuit) {
  std::vector<bool> touched(circuit.num_qubits()), written(circuit.num_clbits());
  std::vector<Op> ops;
  ops.reserve(circuit.ops().size());
  for (Op op : circuit.ops()) {
    if (op.kind == OpKind::kBarrier) continue;
    if (op.condition >= 0) {
      const auto& condition = circuit.conditions()[static_cast<std::size_t>(op.condition)];
      if (!any_in(written, condition)) {
        if (!is_zero(condition)) continue;  // can never hold
        op.condition = -1;                  // always holds
      }
    }
    if (op.kind == OpKind::kReset && !touched[circuit.targets(op)[0]]) continue;
    if (op.kind == OpKind::kMeasure) written[op.clbit] = true;
    for (const auto q : circuit.qubits(op)) touched[q] = true;
    ops.push_back(op);
  }
  return ops;
}

}  // namespace

Program prepare(const Circuit& circuit) {
  Program program;
  program.circuit = &circuit;
  std::vector<Op> ops = resolve_forward(circuit);
  std::vector<bool> used(circuit.num_qubits());  // by a later operation that stays
  std::vector<bool> read(circuit.num_clbits());
  enum : std::uint8_t { kNotWritten, kMaybeWritten, kWritten };
  std::vector<std::uint8_t> write(circuit.num_clbits(), kNotWritten);
  std::vector<Op> kept;
  kept.reserve(ops.size());
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    const Op& op = *it;
    if (op.kind == OpKind::kMeasure) {
      program.records = true;
      const auto qubit = circuit.targets(op)[0];
      if (op.condition < 0 && !used[qubit] && !read[op.clbit] && write[op.clbit] != kMaybeWritten) {
        if (write[op.clbit] == kNotWritten) {
          program.deferred.push_back({op.clbit, qubit});
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
    if (op.condition >= 0) {
      const auto& c = circuit.conditions()[static_cast<std::size_t>(op.condition)];
      std::fill_n(read.begin() + c.first, c.size, true);
    }
    program.dynamic |= op.kind == OpKind::kMeasure || op.kind == OpKind::kReset;
    for (const auto q : circuit.qubits(op)) used[q] = true;
    kept.push_back(op);
  }
  program.ops.assign(kept.rbegin(), kept.rend());
  return program;
}

}  // namespace tilewave::simulate
