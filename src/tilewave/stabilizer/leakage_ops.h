// What becomes of a shot in which a qubit is leaked: pure functions of its random words, one source for
// every machine (cpu/leakage_run.cc, cuda/leakage_machine.cuh), as frame_ops.h is for gates. A
// machine brings the words: those of a target, or of a shot of it, lie in the stream of its unit and
// operation (noise.h) at an index of their own, so nobody has to draw what is not used.
#pragma once

#include <cstdint>

#include "tilewave/base/host_device.h"
#include "tilewave/stabilizer/frame_ops.h"
#include "tilewave/stabilizer/frame_program.h"

namespace tilewave::stabilizer {

/// Where the draw of one shot of a target lies; that of a whole word of shots lies at its target.
TW_HD std::uint32_t shot_draw(std::uint32_t target, std::uint32_t shot) {
  return target << 5 | shot;
}
/// Of the Paulis of a pair that a channel has leaked, whose choice of a branch leaves no bits for
/// them: behind all draws of events. `place`: of the pair in its operation.
TW_HD std::uint32_t pair_draw(std::uint32_t place, std::uint32_t shot) {
  return std::uint32_t{1} << 31 | shot_draw(place, shot);
}

/// The shots of `bit` whose frame becomes random when they leak, of which `leaked` were before.
[[gnu::always_inline]] TW_HD std::uint32_t scrambled(LeakScramble how, std::uint32_t bit,
                                                     std::uint32_t leaked) {
  if (how == LeakScramble::kNone) return 0;
  return how == LeakScramble::kFresh ? bit & ~leaked : bit;
}
/// An operand of kLeak and kLeakPair: slot | LeakScramble << 28.
TW_HD LeakScramble scramble_of(std::uint32_t target) {
  return static_cast<LeakScramble>(target >> 28);
}

/// The branch that 64 bits choose of `count` cumulated probabilities; `count`: none happens.
[[gnu::always_inline]] TW_HD std::uint32_t leak_branch(const std::uint64_t* upto,
                                                       std::uint32_t count, std::uint32_t low,
                                                       std::uint32_t high) {
  const std::uint64_t value = std::uint64_t{high} << 32 | low;
  std::uint32_t k = 0;
  while (k < count && value >= upto[k]) ++k;
  return k;
}

/// kSeal: whether a threshold stands for certainty, without a draw.
TW_HD bool always(std::uint64_t upto) { return upto == ~std::uint64_t{0}; }

/// Which of a pair are leaked in a shot, and the Paulis x + 2 z that multiply their frames.
struct PairShot {
  bool first, second;
  std::uint32_t flip_first = 0, flip_second = 0;
};

/// From the one that is leaked to the other, which is not: branch 0 leaks both, branch 1 moves.
[[gnu::always_inline]] TW_HD void spread(PairShot& shot, const std::uint64_t* upto,
                                         std::uint32_t low, std::uint32_t high) {
  const std::uint32_t branch = leak_branch(upto + (shot.first ? 0 : 2), 2, low, high);
  if (branch == 2) return;
  const bool stays = branch == 0, first = shot.first;
  shot.first = stays || !first;
  shot.second = stays || first;
}

/// kSpread, kScrambleSpread and kGateSpread where a shot is leaked; `r`: its four random words.
template <FrameCode Code>
[[gnu::always_inline]] TW_HD void pair_step(PairShot& shot, const std::uint64_t* upto,
                                            const std::uint32_t* r) {
  if constexpr (Code == FrameCode::kSpread) {
    spread(shot, upto, r[0], r[1]);
  } else if constexpr (Code == FrameCode::kScrambleSpread) {
    if (shot.first) shot.flip_second = r[2] & 3;
    if (shot.second) shot.flip_first = (r[2] >> 2) & 3;
    if (shot.first != shot.second) spread(shot, upto, r[0], r[1]);
  } else {
    static_assert(Code == FrameCode::kGateSpread);
    if (shot.first) {
      shot.flip_second = r[2] & 3;
      if (!shot.second) spread(shot, upto, r[0], r[1]);
    }
    if (shot.second) {  // a moment ago perhaps; 60 bits are left
      shot.flip_first = (r[2] >> 2) & 3;
      if (!shot.first) spread(shot, upto, r[2] & ~std::uint32_t{15}, r[3]);
    }
  }
}

/// kLeaked1: the logical error x + 2 z of a leaked shot, 0 for none.
[[gnu::always_inline]] TW_HD std::uint32_t leaked_error(const std::uint64_t* upto,
                                                        const std::uint32_t* r) {
  const std::uint32_t branch = leak_branch(upto, 3, r[0], r[1]);
  return branch < 3 ? xz_of(branch + 1) : 0;
}
/// kLeaked2: those of a pair in which the second, the first or both are leaked, x + 2 z of the first and
/// four times that of the second.
[[gnu::always_inline]] TW_HD std::uint32_t leaked_errors(const std::uint64_t* upto, bool first,
                                                         bool second, const std::uint32_t* r) {
  const std::uint32_t set = first ? (second ? 2 : 1) : 0;
  const std::uint32_t branch = leak_branch(upto + 15 * set, 15, r[0], r[1]);
  return branch < 15 ? xz_of((branch + 1) >> 2) | xz_of((branch + 1) & 3) << 2 : 0;
}

}  // namespace tilewave::stabilizer
