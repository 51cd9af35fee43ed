// See density_program.h.
#include "tilewave/simulate/density_program.h"

#include <map>

#include "tilewave/circuit/density.h"

namespace tilewave::simulate {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

void to_density(const Program& program, DensityProgram& out) {
  const std::uint32_t n = program.circuit->num_qubits();
  out.circuit = *program.circuit;
  Circuit& c = out.circuit;
  c.take_ops();
  c.add_qubits(n);
  static const circuit::Matrix kReset = circuit::superoperator({{1, 0, 0, 0}, {0, 1, 0, 0}});
  std::map<const circuit::Channel*, circuit::Matrix> superoperators;
  std::vector<std::size_t> first(program.ops.size() + 1);
  std::vector<std::pair<std::size_t, std::size_t>> jumps;
  for (std::size_t k = 0; k < program.ops.size(); ++k) {
    const Op op = program.ops[k];
    const std::size_t at = first[k] = c.ops().size();
    const auto copy = [](std::span<const Qubit> s) {
      return std::vector<Qubit>(s.begin(), s.end());
    };
    switch (op.kind) {
      case OpKind::kGate: {
        c.put_op(op);
        const auto qubits = copy(c.qubits(op));
        const auto params = std::vector<double>(c.params(op).begin(), c.params(op).end());
        const auto extra =
            static_cast<std::size_t>(op.num_controls - circuit::gate_info(op.gate).num_controls);
        circuit::add_column_gate(c, n, op.gate, std::span(qubits).first(extra), op.control_values,
                                 std::span(qubits).subspan(extra), params);
        break;
      }
      case OpKind::kMatrix:
        c.put_op(op);
        circuit::add_column_matrix(c, n, copy(c.controls(op)), op.control_values,
                                   copy(c.targets(op)), c.matrix(op));
        break;
      case OpKind::kReset:
        circuit::add_superoperator(c, n, copy(c.targets(op)), kReset);
        break;
      case OpKind::kChannel: {
        circuit::Matrix& s = superoperators[&c.channel(op)];
        if (s.empty()) s = circuit::superoperator(c.channel(op).kraus);
        circuit::add_superoperator(c, n, copy(c.targets(op)), s);
        break;
      }
      case OpKind::kJump:
        jumps.emplace_back(at, op.first_param);
        c.put_op(op);
        break;
      case OpKind::kMeasure:
      case OpKind::kAssign:
        c.put_op(op);
        break;
      case OpKind::kBarrier:
        break;
    }
    c.finish_from(at, op.line, op.condition);
  }
  first[program.ops.size()] = c.ops().size();
  for (const auto& [jump, to] : jumps) c.set_jump_target(jump, first[to]);

  out.program = program;
  out.program.circuit = &c;
  out.program.ops.assign(c.ops().begin(), c.ops().end());
  out.program.dynamic = false;
  for (const Op& op : c.ops()) out.program.dynamic |= op.kind == OpKind::kMeasure;
  out.program.has_channels = false;
}

}  // namespace tilewave::simulate
