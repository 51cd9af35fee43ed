#include "tilewave/circuit/without_noise.h"

#include <utility>
#include <vector>

namespace tilewave::circuit {

StabilizerCircuit without_noise(const StabilizerCircuit& circuit) {
  StabilizerCircuit out;
  for (const StabInstruction& op : circuit.instructions()) {
    if (op.kind == StabKind::kRepeat) {
      StabilizerCircuit body = without_noise(circuit.block(op));
      if (!body.empty()) out.append_repeat(op.repeat, std::move(body), circuit.tag(op), op.line);
      continue;
    }
    const auto targets = circuit.targets(op);
    if (op.kind == StabKind::kHeraldedErase || op.kind == StabKind::kHeraldedPauliChannel1 ||
        op.kind == StabKind::kHeraldLeakageEvent) {
      out.append(StabKind::kMpad, GateId::kId, std::vector<StabTarget>(targets.size()), {},
                 circuit.tag(op), op.line);
      continue;
    }
    const bool is_channel = op.kind >= StabKind::kXError && op.kind <= StabKind::kIIError;
    if (is_channel || is_leakage(op.kind)) continue;
    const bool is_noisy = op.kind == StabKind::kGate || is_measurement(op.kind);
    out.append(op.kind, op.gate, targets, is_noisy ? std::span<const double>() : circuit.args(op),
               circuit.tag(op), op.line);
  }
  return out;
}

}  // namespace tilewave::circuit
