#include "tilewave/circuit/rotations.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/circuit/clifford.h"

namespace tilewave::circuit {

namespace {
using K = StabKind;
}  // namespace

PauliProduct product_of(std::span<const StabTarget> targets) {
  PauliProduct out;
  int phase = 0;
  QubitPlaces places(targets.size());
  for (const StabTarget& t : targets) {
    if (t.kind == StabTarget::Kind::kCombiner) continue;
    out.negative ^= t.inverted;
    const std::size_t at = places.of(t.value);
    if (at == out.factors.size()) {
      out.factors.emplace_back(t.value, t.pauli);
      continue;
    }
    Pauli& so_far = out.factors[at].second;
    const Pauli2 m = pauli2(so_far, 0) * pauli2(t.pauli, 0);
    so_far = pauli_at(m, 0);
    phase += m.phase - (so_far == Pauli::kY ? 1 : 0);
  }
  std::erase_if(out.factors, [](const auto& f) { return f.second == Pauli::kI; });
  phase &= 3;
  TW_CHECK(phase % 2 == 0, "circuits hold Hermitian products only");
  if (phase == 2) out.negative = !out.negative;
  return out;
}

GateId pauli_gate(Pauli p) {
  return p == Pauli::kX ? GateId::kX : p == Pauli::kY ? GateId::kY : GateId::kZ;
}

GateId root_gate(Pauli p, bool inverse) {
  switch (p) {
    case Pauli::kX:
      return inverse ? GateId::kSxdg : GateId::kSx;
    case Pauli::kY:
      return inverse ? GateId::kSydg : GateId::kSy;
    default:
      return inverse ? GateId::kSdg : GateId::kS;
  }
}

bool is_rotation(StabKind kind) { return kind >= K::kT && kind <= K::kCH; }

int quarter_turns(double half_turns) {
  const double quarters = std::fmod(half_turns * 2, 4);
  if (quarters != std::floor(quarters)) return -1;
  return static_cast<int>(quarters < 0 ? quarters + 4 : quarters);
}

namespace {

class Steps {
 public:
  void add(std::vector<std::pair<std::uint32_t, Pauli>> factors, double half_turns) {
    if (!factors.empty()) out.push_back({{std::move(factors), half_turns}, false});
  }
  void each(std::span<const StabTarget> targets, Pauli p, double half_turns) {
    for (const StabTarget& t : targets) add({{t.value, p}}, half_turns);
  }
  void pairs(std::span<const StabTarget> targets, Pauli p, double half_turns) {
    for (std::size_t i = 0; i < targets.size(); i += 2)
      add({{targets[i].value, p}, {targets[i + 1].value, p}}, half_turns);
  }
  void products(std::span<const StabTarget> targets, double half_turns) {
    for_each_product(targets, [&](const PauliProduct& p) {
      add(p.factors, p.negative ? -half_turns : half_turns);
    });
  }
  // The subsets of three qubits with Z, Z and p.
  void triples(std::span<const StabTarget> targets, Pauli p) {
    for (std::size_t i = 0; i < targets.size(); i += 3) {
      for (unsigned subset = 1; subset < 8; ++subset) {
        std::vector<std::pair<std::uint32_t, Pauli>> factors;
        for (unsigned k = 0; k < 3; ++k) {
          if ((subset >> k) & 1) factors.emplace_back(targets[i + k].value, k == 2 ? p : Pauli::kZ);
        }
        const bool even = factors.size() == 2;
        add(std::move(factors), even ? -0.25 : 0.25);
      }
    }
  }

  std::vector<RotationStep> out;
};

}  // namespace

std::vector<RotationStep> rotations_of(StabKind kind, std::span<const StabTarget> targets,
                                       std::span<const double> args) {
  Steps s;
  switch (kind) {
    case K::kT:
    case K::kTDag:
      s.each(targets, Pauli::kZ, kind == K::kT ? 0.25 : -0.25);
      break;
    case K::kTPP:
    case K::kTPPDag:
      s.products(targets, kind == K::kTPP ? 0.25 : -0.25);
      break;
    case K::kRotX:
    case K::kRotY:
    case K::kRotZ:
      s.each(targets, basis_of(kind), args[0]);
      break;
    case K::kRotXX:
    case K::kRotYY:
    case K::kRotZZ:
      s.pairs(targets, basis_of(kind), args[0]);
      break;
    case K::kRotPauli:
      s.products(targets, args[0]);
      break;
    case K::kU3:
      for (const StabTarget& t : targets) {
        s.add({{t.value, Pauli::kZ}}, args[2]);
        s.add({{t.value, Pauli::kY}}, args[0]);
        s.add({{t.value, Pauli::kZ}}, args[1]);
      }
      break;
    case K::kCCX:
      s.triples(targets, Pauli::kX);
      break;
    case K::kCCZ:
      s.triples(targets, Pauli::kZ);
      break;
    case K::kCH:
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        const std::uint32_t control = targets[i].value, target = targets[i + 1].value;
        s.add({{target, Pauli::kY}}, 0.25);
        s.out.push_back({{{{control, Pauli::kZ}, {target, Pauli::kX}}, 0}, true});
        s.add({{target, Pauli::kY}}, -0.25);
      }
      break;
    default:
      TW_CHECK(false, "not a rotation");
  }
  return std::move(s.out);
}

}  // namespace tilewave::circuit
