// See absorb.h.
#include "tilewave/parametric/plan/absorb.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "tilewave/base/bits.h"
#include "tilewave/parametric/plan/waiting.h"

namespace tilewave::parametric {
namespace {

// How many quarter turns, modulo 4, an angle of no parameter is. Of large angles, whose last bit is
// much of a turn, none counts.
std::optional<int> quarter_turns(const circuit::AffineAngle& angle) {
  constexpr double kMostTurns = 1024;
  const double turns = angle.constant / (std::numbers::pi / 2), whole = std::nearbyint(turns);
  if (!angle.terms.empty() || !(std::abs(whole) <= kMostTurns) ||
      std::abs(turns - whole) > 1e-15 * std::max(1.0, std::abs(whole)))
    return std::nullopt;
  return static_cast<int>(std::fmod(whole, 4) + 4) % 4;
}

bool is_clifford(const Actions& actions, const Action& a) {
  const auto turns = [&] { return quarter_turns(actions.angles[a.angle]); };
  switch (a.kind) {
    case ActionKind::kFlip:
      return std::popcount(a.mask) <= 1;
    case ActionKind::kRotate:
      return a.mask == 0 && turns();
    case ActionKind::kPhase:
      return turns() &&
             (std::popcount(a.mask) == 1 || (std::popcount(a.mask) == 2 && *turns() % 2 == 0));
    case ActionKind::kMatrix:
      break;
  }
  return false;
}

// A Hermitian Pauli string: Y where both masks have a 1.
struct Pauli {
  std::uint64_t x, z;
  bool is_minus = false;

  bool has_x(std::uint64_t wire) const { return x & wire; }
  bool has_z(std::uint64_t wire) const { return z & wire; }
  void negate_if(bool condition) { is_minus ^= condition; }

  // Each P -> U^dagger P U.
  void flip(std::uint64_t target) { negate_if(has_z(target)); }
  void cx(std::uint64_t control, std::uint64_t target) {
    negate_if(has_x(control) && has_z(target) && has_x(target) == has_z(control));
    if (has_x(control)) x ^= target;
    if (has_z(target)) z ^= control;
  }
  void cz(std::uint64_t a, std::uint64_t b) {
    negate_if(has_x(a) && has_x(b) && has_z(a) != has_z(b));
    const bool of_a = has_x(b), of_b = has_x(a);
    if (of_a) z ^= a;
    if (of_b) z ^= b;
  }
  void quarter_phase(std::uint64_t wire) {  // X -> -Y, Y -> X
    negate_if(has_x(wire) && !has_z(wire));
    if (has_x(wire)) z ^= wire;
  }
  void quarter_rotation(std::uint64_t wire) {  // X -> Z, Z -> -X
    if (has_x(wire) == has_z(wire)) return;
    negate_if(has_z(wire));
    x ^= wire;
    z ^= wire;
  }
};

void conjugate(Pauli& p, const Actions& actions, const Action& a) {
  if (a.kind == ActionKind::kFlip) {
    if (a.mask) p.cx(a.mask, a.moved);
    if (a.value == 0) p.flip(a.moved);  // also of a CX that acts where its control is 0
    return;
  }
  const int turns = *quarter_turns(actions.angles[a.angle]);
  if (a.kind == ActionKind::kPhase && std::popcount(a.mask) == 2) {
    const std::uint64_t lowest = a.mask & (~a.mask + 1);
    if (turns) p.cz(lowest, a.mask ^ lowest);
    return;
  }
  for (int k = 0; k < turns; ++k) {
    if (a.kind == ActionKind::kPhase) {
      p.quarter_phase(a.mask);
    } else {
      p.quarter_rotation(a.moved);
    }
  }
}

}  // namespace

Observed absorb_last_cliffords(const Actions& actions, const Strings& strings, std::size_t most) {
  Observed out{actions, strings};
  out.actions.actions.clear();
  std::vector<Pauli> paulis;
  for (const circuit::PauliTerm& s : strings.strings) paulis.push_back({s.x, s.z});
  Waiting waiting;
  for (std::size_t k = actions.actions.size(); k-- > 0;) {
    const Action& a = actions.actions[k];
    const Touch touch{a.moved, a.moved | a.mask};
    if (most > 0 && is_clifford(actions, a) && waiting.lets(touch)) {
      --most;
      for (Pauli& p : paulis) conjugate(p, actions, a);
    } else {
      waiting.add(touch);
      out.actions.actions.push_back(a);
    }
  }
  std::reverse(out.actions.actions.begin(), out.actions.actions.end());
  for (std::size_t j = 0; j < paulis.size(); ++j) {
    out.strings.strings[j].x = paulis[j].x;
    out.strings.strings[j].z = paulis[j].z;
  }
  for (Strings::Share& share : out.strings.shares) {
    if (paulis[share.string].is_minus) share.coefficient = -share.coefficient;
  }
  return out;
}

std::vector<Observed> ways_to_absorb(const Actions& actions, const Strings& strings,
                                     std::size_t sweeps,
                                     const std::function<std::size_t(const Strings&)>& num_sweeps) {
  std::vector<Observed> ways{absorb_last_cliffords(actions, strings)};
  const std::size_t all = actions.actions.size() - ways[0].actions.actions.size();
  if (all == 0) return {};
  if (num_sweeps(ways[0].strings) <= sweeps) return ways;
  std::size_t enough = 0, too_many = all;
  while (too_many - enough > 1) {
    const std::size_t middle = (enough + too_many) / 2;
    const Observed some = absorb_last_cliffords(actions, strings, middle);
    (num_sweeps(some.strings) <= sweeps ? enough : too_many) = middle;
  }
  if (enough > 0) ways.push_back(absorb_last_cliffords(actions, strings, enough));
  return ways;
}

double states_moved(const Program& program) {
  const Passes& passes = program.passes;
  const auto written = [](std::uint64_t zeros) { return std::ldexp(1.0, -std::popcount(zeros)); };
  double moved = 0;
  for (std::size_t k = 0; k < passes.passes.size(); ++k) {
    const bool is_last = k + 1 == passes.passes.size();
    const double before = written(passes.passes[k].zeros);
    const double after = written(is_last ? passes.zeros : passes.passes[k + 1].zeros);
    moved += 3 * (before + after);  // psi forward, psi and lam back
  }
  // psi is read, lam written, and read from the second sweep on
  const auto sweeps = static_cast<double>(program.sweeps.size());
  return sweeps > 0 ? moved + 3 * sweeps - 1 : moved;
}

}  // namespace tilewave::parametric
