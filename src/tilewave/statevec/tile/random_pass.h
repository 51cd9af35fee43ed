// Random passes of every action kind: shared by the host test of tile programs
// and the GPU conformance test.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

struct RandomPassOptions {
  int num_qubits = 14;
  int tile_qubits = 12;
  int row_bits = 3;
  int num_actions = 30;
  int max_targets = 4;     ///< of matrices
  int max_degree = 3;      ///< of phase terms
  int num_first_maps = 0;  ///< X under one control before everything else
  bool known_zeros = false;
  bool matrices = true;        ///< otherwise none, and rotations by less than a quarter turn
  bool quarter_turns = false;  ///< lifts and phases, most of them quarter and half turns
  Precision precision = Precision::kDouble;
};

/// For tiles of this shape.
inline RandomPassOptions pass_options(const Shape& shape, int num_qubits) {
  RandomPassOptions options;
  options.num_qubits = num_qubits;
  options.tile_qubits = shape.tile_qubits;
  options.row_bits = shape.row_bits;
  options.precision = shape.precision;
  return options;
}

/// Where the positions that are known zeros and not mixed are after the store.
inline std::uint64_t still_zero(const Pass& pass, std::uint64_t mixed) {
  std::uint64_t zero = pass.known_zero_before & ~mixed, after = zero;
  for (std::uint8_t p : pass.active) after &= ~bit(p);
  for (std::size_t i = 0; i < pass.active.size(); ++i)
    after |= zero >> pass.active[i] & 1 ? bit(pass.dest[i]) : 0;
  return after;
}

/// A plan of one random pass. Matrices are unitary only in the mean: entries are scaled to keep
/// norms near 1.
inline Plan random_pass(const RandomPassOptions& o, std::mt19937_64& rng) {
  const auto below = [&](int n) { return static_cast<int>(rng() % static_cast<std::uint64_t>(n)); };
  const auto real = [&] { return std::uniform_real_distribution<double>(-1, 1)(rng); };
  Plan plan;
  plan.num_qubits = o.num_qubits;
  plan.precision = o.precision;
  plan.tile_qubits = o.tile_qubits;
  plan.row_bits = o.row_bits;
  Pass pass;
  const int k = std::min(o.num_qubits, o.tile_qubits - below(3));
  const int rows = std::min(o.row_bits, k);
  std::vector<int> position;
  for (int p = rows; p < o.num_qubits; ++p) position.push_back(p);
  std::shuffle(position.begin(), position.end(), rng);
  position.resize(static_cast<std::size_t>(k - rows));
  for (int p = 0; p < rows; ++p) position.push_back(p);
  std::sort(position.begin(), position.end());
  for (int p : position) pass.active.push_back(static_cast<std::uint8_t>(p));
  pass.dest = pass.active;
  if (below(4)) std::shuffle(pass.dest.begin(), pass.dest.end(), rng);
  if (o.known_zeros) {
    for (int p = 0; p < o.num_qubits; ++p) pass.known_zero_before |= below(4) ? 0 : bit(p);
  }
  std::uint64_t mixed = 0;
  for (int i = 0; i < o.num_first_maps; ++i) {
    Action a;
    a.kind = ActionKind::kFlip;
    a.num_targets = 1;
    a.targets[0] = static_cast<std::uint8_t>(position[rng() % position.size()]);
    const int control = below(o.num_qubits);
    if (control == a.targets[0]) continue;
    a.control_mask = bit(control);
    a.control_value = below(3) ? bit(control) : 0;
    mixed |= a.target_mask();
    pass.actions.push_back(a);
  }
  const int num_actions = below(o.num_actions + 1);
  for (int i = 0; i < num_actions; ++i) {
    Action a;
    std::vector<int> free = position;
    std::shuffle(free.begin(), free.end(), rng);
    const auto take_target = [&] {
      const int p = free.back();
      free.pop_back();
      a.targets[a.num_targets++] = static_cast<std::uint8_t>(p);
      mixed |= bit(p);
    };
    const auto controls = [&](int at_least) {
      const int count = at_least + below(3);
      for (int c = 0; c < count; ++c) {
        const int p = below(o.num_qubits);
        if (a.target_mask() >> p & 1) continue;
        a.control_mask |= bit(p);
        if (below(4)) a.control_value |= bit(p);
      }
      a.control_value &= a.control_mask;
    };
    a.kind = static_cast<ActionKind>(below(5));
    if (o.quarter_turns && below(10)) a.kind = below(3) ? ActionKind::kLift : ActionKind::kPhase;
    if (!o.matrices && a.kind == ActionKind::kMatrix) a.kind = ActionKind::kRotate;
    switch (a.kind) {
      case ActionKind::kLift:
        take_target();
        a.m[0] = real();
        a.pre_turns = below(2) ? rng() : 0;
        if (below(2)) a.pre_turns &= std::uint64_t{7} << 61;
        break;
      case ActionKind::kFlip:
        take_target();
        controls(1);
        break;
      case ActionKind::kRotate: {
        take_target();
        controls(0);
        const double t = (o.matrices ? 3 : 1.4) * real();
        a.m = {std::cos(t), -std::sin(t), std::sin(t), std::cos(t)};
        break;
      }
      case ActionKind::kMatrix: {
        const int targets = 1 + below(below(3) ? std::min(2, k) : std::min(o.max_targets, k));
        for (int t = 0; t < targets; ++t) take_target();
        if (below(2)) controls(0);
        a.first = static_cast<std::uint32_t>(plan.matrices.size());
        const int dim = 1 << targets;
        for (int e = 0; e < dim * dim; ++e) {
          plan.matrices.push_back(cplx(real(), real()) * (1.2 / std::sqrt(dim)));
        }
        break;
      }
      case ActionKind::kPhase: {
        a.first = static_cast<std::uint32_t>(plan.terms.size());
        a.count = static_cast<std::uint32_t>(1 + below(below(2) ? 40 : 6));
        const int style =
            o.quarter_turns && below(10)
                ? 3
                : below(4);  // any angles, small ones, parities, quarter and half turns
        for (std::uint32_t t = 0; t < a.count; ++t) {
          PhaseTerm term;
          const int degree = below(o.quarter_turns && below(40) ? 3 : o.max_degree + 1);
          for (int d = 0; d < degree; ++d) term.mask |= bit(below(o.num_qubits));
          term.turns = rng();
          if (style == 1)
            term.turns = static_cast<std::uint64_t>(static_cast<std::int64_t>(rng()) >> 6);
          if (style == 2) term.turns >>= 7;
          if (style == 3) term.turns &= std::uint64_t{std::popcount(term.mask) > 1 ? 2u : 3u} << 62;
          plan.terms.push_back(term);
          if (style == 2) {  // a parity: symmetric under the flip of all bits
            const std::uint64_t one = bit(below(o.num_qubits)), other = bit(below(o.num_qubits));
            if (one == other) continue;
            plan.terms.back() = {one | other, ~(2 * term.turns) + 1};
            plan.terms.push_back({one, term.turns});
            plan.terms.push_back({other, term.turns});
          }
        }
        a.count = static_cast<std::uint32_t>(plan.terms.size()) - a.first;
        break;
      }
    }
    pass.actions.push_back(a);
  }
  pass.scale = below(3) == 0 ? cplx(1) : below(2) ? cplx(0.7) : cplx(0.6, -0.8);
  pass.known_zero_after = still_zero(pass, mixed);
  for (int p : position) {
    if (below(6) == 0 && !(pass.known_zero_after >> p & 1)) pass.store_flips |= bit(p);
  }
  for (const Action& a : pass.actions) {  // many lifts: the scale that plans give them
    if (o.quarter_turns && a.kind == ActionKind::kLift)
      pass.scale /= std::sqrt(1 + a.m[0] * a.m[0]);
  }
  plan.passes.push_back(std::move(pass));
  return plan;
}

/// Layers of parities of neighbouring positions and of lifts, as the steps of an Ising chain have
/// them: most by the same angle, some lifts by a small one.
inline Plan random_chain(const RandomPassOptions& o, std::mt19937_64& rng) {
  const auto below = [&](int n) { return static_cast<int>(rng() % static_cast<std::uint64_t>(n)); };
  RandomPassOptions none = o;
  none.num_actions = 0;
  Plan plan = random_pass(none, rng);
  Pass& pass = plan.passes[0];
  const std::uint64_t turns = rng() >> 5;
  for (int layer = 0; layer * 10 < o.num_actions; ++layer) {
    Action phases;
    phases.kind = ActionKind::kPhase;
    phases.first = static_cast<std::uint32_t>(plan.terms.size());
    for (int p = 0; p + 1 < o.num_qubits; ++p) {
      const std::uint64_t one = bit(p), other = bit(p + 1);
      if (below(8) == 0) continue;
      for (std::uint64_t mask : {one, other}) plan.terms.push_back({mask, turns});
      plan.terms.push_back({one | other, ~(2 * turns) + 1});
    }
    phases.count = static_cast<std::uint32_t>(plan.terms.size()) - phases.first;
    pass.actions.push_back(phases);
    for (const std::uint8_t p : pass.active) {
      if (below(6) == 0) continue;
      Action lift;
      lift.kind = ActionKind::kLift;
      lift.num_targets = 1;
      lift.targets[0] = p;
      lift.m[0] = below(12) ? (below(4) ? 0.15 : -0.4) : 0.03;
      lift.pre_turns = layer == 0 || below(12) == 0 ? std::uint64_t(below(4)) << 62 : 0;
      pass.actions.push_back(lift);
      pass.scale /= std::sqrt(1 + lift.m[0] * lift.m[0]);
    }
  }
  std::uint64_t mixed = 0;
  for (const Action& a : pass.actions) {
    if (a.kind == ActionKind::kLift) mixed |= a.target_mask();
  }
  pass.known_zero_after = still_zero(pass, mixed);
  pass.store_flips &= ~pass.known_zero_after;
  return plan;
}

/// A kChoiceLift by its flags.
inline std::uint32_t kind_of_choice(OpWord word) {
  const auto flags = static_cast<std::uint32_t>(word.factor());
  const bool is_imaginary =
      !(flags & ChoiceLift::kSigned) && word.index() == ChoiceLift::kImaginary;
  return kNumOpCodes + 2 * flags + is_imaginary;
}

/// Adds the kinds of operation (OpCode without its register bits) a program uses.
inline void add_kinds(const TilePass& pass, std::set<std::uint32_t>& kinds) {
  constexpr std::uint32_t kKinds[] = {
      kExchange,   kMatrixShared,   kPhaseAll,       kPhaseSet,  kLayer, kFlip,      kRotate,
      kMatrix1,    kMatrix2,        kFactored2,      kTauOne,    kTauI,  kTauReal,   kPhase,
      kPhaseUpper, kPhasePairs,     kGeneral,        kLift,      kTable, kTable + 1, kCross,
      kPhaseLift,  kPhaseUpperLift, kPhasePairsLift, kChoiceLift};
  for (std::size_t at = 0; at < pass.code.size();) {
    const auto& chunk = *reinterpret_cast<const ChunkHead*>(pass.code.data() + at);
    std::size_t pc = at + sizeof(ChunkHead);
    for (;;) {
      const OpWord head{reinterpret_cast<const OpHead*>(pass.code.data() + pc)->word};
      if (head.code() == kEnd) break;
      if (head.code() >= kChoiceLift) kinds.insert(kind_of_choice(head));
      kinds.insert(*(std::upper_bound(std::begin(kKinds), std::end(kKinds), head.code()) - 1));
      pc += head.extent();
    }
    at += std::size_t{chunk.size16} * 16;
  }
}
constexpr std::size_t kNumKinds = 21;  ///< but for those of compiled kernels alone
inline bool has_compiled_kinds(const std::set<std::uint32_t>& kinds) {
  for (const std::uint32_t flags : {0u, ChoiceLift::kSigned, ChoiceLift::kReversed,
                                    ChoiceLift::kSigned | ChoiceLift::kReversed}) {
    if (!kinds.contains(kNumOpCodes + 2 * flags)) return false;
    if (!(flags & ChoiceLift::kSigned) && !kinds.contains(kNumOpCodes + 2 * flags + 1))
      return false;
  }
  return kinds.contains(kPhaseLift) && kinds.contains(kPhaseUpperLift) &&
         kinds.contains(kPhasePairsLift);
}

}  // namespace tilewave::statevec::tile
