// Second stage of planning: which wires are active in each pass, and which actions run there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/pair_factors.h"
#include "tilewave/statevec/plan/schedule_options.h"

namespace tilewave::statevec::detail {

/// What each action needs. Its weight is what a search prefers to run early: about how much work
/// the action is, a phase next to nothing.
std::vector<Need> needs_of(const Lowered& lowered);

struct WirePass {
  std::uint64_t active = 0;            ///< wires
  std::uint64_t row = 0;               ///< wires on the low positions during the pass
  std::vector<std::uint32_t> actions;  ///< indices, ascending
};

/// Splits needs into passes. Every action runs once, after all earlier actions it does not commute
/// with.
std::vector<WirePass> schedule(const std::vector<Need>& needs, const ScheduleOptions& options);

/// The passes with these wires, and others where there is room, in order; together they must run
/// all needs. sets[0] holds options.first_row, and each set has room for the row.
std::vector<WirePass> schedule_with(const std::vector<Need>& needs, const ScheduleOptions& options,
                                    const std::vector<std::uint64_t>& sets);

/// Takes a wire out of passes with more than `tile` of them where what the pass does on it can wait
/// for the next pass.
void narrow(std::vector<WirePass>& passes, const std::vector<Need>& needs, int tile);

/// A lift multiplies amplitudes by up to sqrt(1 + t^2), and the factors of a matrix by what their
/// scale lacks, which the pass divides out when it stores. In between they must stay in the range of
/// the numbers (2^127, 2^1023), with room for the 2^32 inside a matrix (kLeastPairWeight in
/// pair_factors.cc).
double growth_bits(const Action& action, const std::optional<PairFactors>& factors);
double most_growth_bits(Precision precision);  ///< of a pass

/// Splits passes in which lifts and factors of matrices grow amplitudes so much before the scale of
/// the pass that they would leave the range of the numbers; the parts have the same wires. lowered:
/// what the passes name; early: after a few lifts, for tests.
std::vector<WirePass> limit_growth(std::vector<WirePass> passes, const Lowered& lowered,
                                   Precision precision, bool early = false);

}  // namespace tilewave::statevec::detail
