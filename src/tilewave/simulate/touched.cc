// See touched.h.
#include "tilewave/simulate/touched.h"

#include <utility>

namespace tilewave::simulate {
namespace {

using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

// Identities wait for nothing and change nothing; but jumps name operations by their number.
bool is_idle(const Op& op, const Program& program) {
  return op.kind == OpKind::kGate && !program.has_control_flow &&
         (op.gate == circuit::GateId::kId || op.gate == circuit::GateId::kU0);
}

}  // namespace

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
           program.qubits.in_state(program.circuit->targets(op)[0]) == QubitMap::kNowhere;
  });
  storage = *program.circuit;
  storage.take_ops();
  storage.keep_only(program.qubits.kept());
  program.circuit = &storage;
  for (DeferredMeasure& d : program.deferred) d.qubit = program.qubits.in_state(d.name);
}

}  // namespace tilewave::simulate
