#include "tilewave/statevec/tile/probe_pass.h"

#include <algorithm>
#include <random>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::tile {

Plan probe_pass(int n, const Shape& shape, int start, ProbeKind kind, int num_actions) {
  Plan plan;
  plan.num_qubits = n;
  plan.precision = shape.precision;
  Pass pass;
  const int k = shape.tile_qubits, rows = shape.row_bits;
  for (int i = 0; i < k; ++i) {
    pass.active.push_back(
        static_cast<std::uint8_t>(i < rows ? i : std::max(start, rows) + i - rows));
  }
  pass.dest = pass.active;
  std::rotate(pass.dest.begin(), pass.dest.begin() + rows, pass.dest.end());
  std::mt19937_64 rng(1);
  const auto phases = [&](auto add) {
    Action a;
    a.kind = ActionKind::kPhase;
    a.first = static_cast<std::uint32_t>(plan.terms.size());
    add();
    a.count = static_cast<std::uint32_t>(plan.terms.size()) - a.first;
    pass.actions.push_back(a);
  };
  for (int i = 0; i < num_actions; ++i) {
    const int slot = (i + rows) % k, other = (i + rows + 1) % k;
    Action a;
    a.targets[0] = pass.active[static_cast<std::size_t>(slot)];
    a.num_targets = 1;
    if (kind == ProbeKind::kChain && i % k == 0) {
      phases([&] {
        for (int p = 0; p < n; ++p) plan.terms.push_back({bit(p) | bit((p + 1) % n), rng()});
      });
    }
    if (kind == ProbeKind::kLinear) {
      phases([&] {
        for (int p = 0; p < n; ++p) {
          if (p != a.targets[0]) plan.terms.push_back({bit(p) | bit(a.targets[0]), rng()});
        }
      });
    }
    switch (kind) {
      case ProbeKind::kLift:
      case ProbeKind::kLiftPre:
      case ProbeKind::kLinear:
      case ProbeKind::kChain:
        a.kind = ActionKind::kLift;
        a.m[0] = 0.5;
        a.pre_turns = kind == ProbeKind::kLiftPre ? rng() : 0;
        break;
      case ProbeKind::kFlip:
      case ProbeKind::kFlipFar:
        a.kind = ActionKind::kFlip;
        a.control_mask = a.control_value = kind == ProbeKind::kFlip
                                               ? bit(pass.active[static_cast<std::size_t>(other)])
                                               : bit(n - 1 - i % 4);
        if (a.control_mask & a.target_mask()) continue;
        break;
      case ProbeKind::kRotate:
        a.kind = ActionKind::kRotate;
        a.m = {0.6, -0.8, 0.8, 0.6};
        a.control_mask = a.control_value = bit(pass.active[static_cast<std::size_t>(other)]);
        break;
      default: {
        a.kind = ActionKind::kMatrix;
        a.first = static_cast<std::uint32_t>(plan.matrices.size());
        a.num_targets = kind == ProbeKind::kDense1 ? 1 : 2;
        a.targets[1] = pass.active[static_cast<std::size_t>(other)];
        const int dim = 1 << a.num_targets;
        for (int e = 0; e < dim * dim; ++e) {
          plan.matrices.push_back(cplx(0.3 + 0.1 * (e % 3), e % 2 ? 0.3 : -0.3));
        }
      }
    }
    pass.actions.push_back(a);
  }
  plan.passes.push_back(pass);
  return plan;
}

}  // namespace tilewave::statevec::tile
