// Real scales that matrices by factors leave to the matrices behind them in a pass.
//
// The factors of a matrix on two bits (plan/pair_factors.h) end with a complex weight for three of
// four amplitudes. The parts of these weights that are real numbers for one bit - a scale where it
// is 1 - cost two multiply-adds each, but none where the next step on the bit is a matrix too: they
// go into that one's coefficients, and the amplitudes are held without them until then. Steps that
// have the bit as control commute with a scale. Stages do not where they lift the bit: nothing is
// left over any of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tilewave/statevec/cpu/outline.h"
#include "tilewave/statevec/plan/pair_factors.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Asked about the actions of a pass in the order of its outline; scales are by position.
class HeldScales {
 public:
  HeldScales(const Plan& plan, const Pass& pass, const std::vector<OutlinePhase>& outline);

  /// Of an action of the pass, without scales; null where it is not a matrix that has factors.
  const PairFactors* factors_of(const Action& action) const;
  /// The same with the scales that it takes and leaves: one call for each action.
  PairFactors take_factors(const Action& action);
  /// The matrix of an action with the scales that it takes; it leaves none.
  std::vector<cplx> take_matrix(const Action& action);

 private:
  struct Use {
    std::optional<PairFactors> factors;
    std::uint64_t leaves = 0;  // positions whose next step is a matrix that takes scales
  };
  std::size_t index_of(const Action& a) const {
    return static_cast<std::size_t>(&a - pass_.actions.data());
  }
  double take(int position);

  const Plan& plan_;
  const Pass& pass_;
  std::vector<Use> uses_;
  std::array<double, 64> held_{};
  double bits_left_ = 0;  // that scales may add to the range of amplitudes
};

}  // namespace tilewave::statevec::cpu
