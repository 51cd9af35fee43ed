#include "tilewave/stabilizer/tableau_gates.h"

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/frame_step.h"

namespace tilewave::stabilizer {
namespace {

struct LaneMachine {
  PauliLanes *x, *z;
  LanePhase<PauliLanes> phase;

  template <Pauli A, Pauli B>
  [[gnu::always_inline]] void controlled(const TableauGate& g) const {
    apply_controlled<A, B>(x[g.a], z[g.a], x[g.b], z[g.b], phase);
  }
  [[gnu::always_inline]] void swap(const TableauGate& g) const {
    exchange(x[g.a], x[g.b]);
    exchange(z[g.a], z[g.b]);
  }
  [[gnu::always_inline]] void clifford1(const TableauGate& g) const {
    apply_clifford1(g.x_to, g.z_to, g.x_negative, g.z_negative, x[g.a], z[g.a], phase);
  }
};

[[gnu::always_inline]] inline void run_body(std::span<const TableauGate> gates, LaneMachine m) {
  for (const TableauGate& gate : gates) tableau_step(m, gate);
}

}  // namespace

std::vector<TableauGate> inverse(std::span<const TableauGate> gates) {
  std::vector<TableauGate> out(gates.rbegin(), gates.rend());
  for (TableauGate& g : out) {
    if (g.kind != TableauGate::Kind::kClifford1) continue;
    const auto back =
        circuit::inverse(circuit::Clifford1{g.x_to, g.z_to, g.x_negative, g.z_negative});
    g.x_to = back.x, g.z_to = back.z;
    g.x_negative = back.x_negative, g.z_negative = back.z_negative;
  }
  return out;
}

void conjugate(std::span<const TableauGate> gates, PauliLanes* x, PauliLanes* z, PauliLanes& low,
               PauliLanes& high) {
  ForThisCpu<run_body>::call(gates, {x, z, {low, high}});
}

}  // namespace tilewave::stabilizer
