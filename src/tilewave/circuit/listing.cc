#include "tilewave/circuit/listing.h"

#include <algorithm>
#include <vector>

#include "tilewave/circuit/noise_model.h"

namespace tilewave::circuit {

std::size_t num_extra_controls(const Op& op) {
  return static_cast<std::size_t>(op.num_controls - gate_info(op.gate).num_controls);
}

GateId whole_gate(const Op& op) {
  const std::size_t extra = num_extra_controls(op);
  if (extra == 0) return op.gate;
  const GateInfo* info = find_controlled(op.gate, static_cast<int>(extra));
  return info ? info->id : GateId::kCount;
}

std::string operation_name(const Circuit& circuit, const Op& op) {
  switch (op.kind) {
    case OpKind::kGate:
    case OpKind::kRuntimeGate: {
      if (is_delay(circuit, op)) return "delay";
      if (const GateId whole = whole_gate(op); whole != GateId::kCount)
        return std::string(gate_info(whole).name);
      return std::string(num_extra_controls(op), 'c') + std::string(gate_info(op.gate).name);
    }
    case OpKind::kMatrix:
      return std::string(op.num_controls, 'c') + "unitary";
    case OpKind::kMeasure:
      return "measure";
    case OpKind::kReset:
      return "reset";
    case OpKind::kChannel:
      return "channel";
    case OpKind::kJump:
      return "jump";
    case OpKind::kAssign:
      return "assign";
    case OpKind::kBarrier:
      return "barrier";
  }
  return "";
}

std::uint64_t depth(const Circuit& circuit) {
  std::vector<std::uint64_t> qubit(circuit.num_qubits()), clbit(circuit.num_clbits());
  for (const Op& op : circuit.ops()) {
    if (op.kind == OpKind::kBarrier) {
      if (!qubit.empty()) {
        std::fill(qubit.begin(), qubit.end(), *std::max_element(qubit.begin(), qubit.end()));
      }
      continue;
    }
    std::vector<std::uint64_t*> levels;
    for (const Qubit q : circuit.qubits(op)) levels.push_back(&qubit[q]);
    circuit.for_each_read(op, [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t k = 0; k < count; ++k) levels.push_back(&clbit[first + k]);
    });
    if (op.kind == OpKind::kMeasure) levels.push_back(&clbit[op.clbit]);
    if (op.kind == OpKind::kAssign) {
      const Assignment& a = circuit.assignment(op);
      circuit::for_each_read(a.value, [&](std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t k = 0; k < count; ++k) levels.push_back(&clbit[first + k]);
      });
      for (std::uint32_t k = 0; k < a.size; ++k) levels.push_back(&clbit[a.first + k]);
    }
    std::uint64_t level = 0;
    for (const std::uint64_t* l : levels) level = std::max(level, *l + 1);
    for (std::uint64_t* l : levels) *l = level;
  }
  std::uint64_t most = 0;
  for (const auto& levels : {qubit, clbit}) {
    for (const std::uint64_t l : levels) most = std::max(most, l);
  }
  return most;
}

}  // namespace tilewave::circuit
