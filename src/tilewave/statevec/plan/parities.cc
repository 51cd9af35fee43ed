// cx(c1, t) cx(c2, t) ... = h(t) cz(c1, t) cz(c2, t) ... h(t). What happens to the controls in
// between does not matter: each cx is replaced where it stands, and the h of neighbours cancel on
// t.
#include <numbers>

#include "tilewave/statevec/plan/fuse.h"

namespace tilewave::statevec::detail {

namespace {

constexpr std::size_t kWorthwhile = 4;  // cx in a row; two h and a phase block cost about three

}  // namespace

bool is_cx(const Element& e) {
  if (!e.op || e.op->kind != circuit::OpKind::kGate) return false;
  const bool is_x = e.op->gate == circuit::GateId::kX || e.op->gate == circuit::GateId::kCx;
  return is_x && e.op->num_controls == 1 && e.op->num_targets == 1 && (e.op->control_values & 1);
}

void gather_parities(Fused& fused, const circuit::Circuit& circuit) {
  const std::size_t num_elements = fused.elements.size();
  std::vector<std::vector<std::size_t>> run(circuit.num_qubits());  // the present cx on a target
  std::vector<std::uint8_t> role(num_elements);  // 1: becomes cz, 2: begins a run, 4: ends one
  bool any = false;
  const auto close = [&](circuit::Qubit t) {
    auto& members = run[t];
    if (members.size() >= kWorthwhile) {
      for (std::size_t k : members) role[k] |= 1;
      role[members.front()] |= 2;
      role[members.back()] |= 4;
      any = true;
    }
    members.clear();
  };
  for (std::size_t k = 0; k < num_elements; ++k) {
    const Element& e = fused.elements[k];
    if (is_cx(e)) {
      close(circuit.qubits(*e.op)[0]);
      run[circuit.qubits(*e.op)[1]].push_back(k);
    } else if (e.op) {
      for (circuit::Qubit q : circuit.qubits(*e.op)) close(q);
    } else {
      for (int j = 0; j < e.num_qubits; ++j) close(e.qubits[j]);
    }
  }
  for (circuit::Qubit q = 0; q < circuit.num_qubits(); ++q) close(q);
  if (!any) return;
  const double r = std::numbers::sqrt2 / 2;
  const auto h = static_cast<std::int32_t>(fused.matrices.size());
  fused.matrices.push_back({r, r, r, -r});
  fused.matrices.push_back({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1});
  std::vector<Element> out;
  out.reserve(num_elements);
  for (std::size_t k = 0; k < num_elements; ++k) {
    const Element& e = fused.elements[k];
    if (!role[k]) {
      out.push_back(e);
      continue;
    }
    const circuit::Qubit c = circuit.qubits(*e.op)[0], t = circuit.qubits(*e.op)[1];
    if (role[k] & 2) out.push_back({nullptr, {t, t}, 1, h});
    out.push_back({nullptr, {c, t}, 2, h + 1});
    if (role[k] & 4) out.push_back({nullptr, {t, t}, 1, h});
  }
  fused.elements = std::move(out);
}

}  // namespace tilewave::statevec::detail
