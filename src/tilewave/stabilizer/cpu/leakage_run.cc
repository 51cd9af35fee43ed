#include "tilewave/stabilizer/cpu/leakage_run.h"

#include <bit>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/event_draws.h"
#include "tilewave/stabilizer/cpu/philox_avx512-inl.h"

namespace tilewave::stabilizer {
namespace {

using C = FrameCode;

// Words of leaked shots, or single ones, that wait for their draws: many at a time hide the
// latency of Philox.
struct Waiting {
  static constexpr std::uint32_t kMost = 256;
  alignas(64) std::uint32_t index[kMost] = {};  // in the operation's stream of the unit
  alignas(64) std::uint32_t unit[kMost] = {};
  alignas(64) std::uint32_t word[kMost];  // the shots
  alignas(64) std::uint32_t draws[4][kMost];
};

void draw_plain(const LeakageRows& rows, Waiting& w, std::uint32_t count) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const UnitStream stream{rows.key0, rows.key1, rows.first_unit + w.unit[k], rows.tick};
    const Philox4x32 r = stream.block(w.index[k]);
    for (int j = 0; j < 4; ++j) w.draws[j][k] = r.v[j];
  }
}

#if defined(__x86_64__)
[[gnu::always_inline]] TW_TARGET_AVX512 inline __m512i widened(const std::uint32_t* from) {
  return _mm512_cvtepu32_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
}

TW_TARGET_AVX512 void draw_avx512(const LeakageRows& rows, Waiting& w, std::uint32_t count) {
  const __m512i tick_low = _mm512_set1_epi64(static_cast<std::uint32_t>(rows.tick));
  const __m512i tick_high = _mm512_set1_epi64(
      static_cast<std::int64_t>(static_cast<std::uint32_t>(rows.tick >> 32) << 16));
  const __m512i first_unit = _mm512_set1_epi64(static_cast<std::int64_t>(rows.first_unit));
  constexpr int kSets = 4;  // of eight items, side by side
  for (std::uint32_t first = 0; first < count; first += 8 * kSets) {
    PhiloxLanes c[kSets];
    for (int k = 0; k < kSets; ++k) {
      const __m512i unit = _mm512_add_epi64(widened(w.unit + first + 8 * k), first_unit);
      c[k] = {widened(w.index + first + 8 * k), tick_low, unit,
              _mm512_or_si512(_mm512_srli_epi64(unit, 32), tick_high)};
    }
    philox_lanes(c, rows.key0, rows.key1);
    for (int k = 0; k < kSets; ++k) {
      const __m512i words[4] = {c[k].v0, c[k].v1, c[k].v2, c[k].v3};
      for (int j = 0; j < 4; ++j) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(w.draws[j] + first + 8 * k),
                           _mm512_cvtepi64_epi32(words[j]));
      }
    }
  }
}
#endif

void draw(const LeakageRows& rows, Waiting& w, std::uint32_t count) {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return draw_avx512(rows, w, count);
#endif
  draw_plain(rows, w, count);
}

enum class Of : std::uint8_t { kWords, kShots };
enum class Leaked : std::uint8_t { kTheOne, kAny, kEither };  // of a target or a pair; not both

// Calls apply(target, unit, shots, draws of four words) where a target is leaked: for all shots of
// a unit together, or for each. Not inlined: registers do not suffice for all operations at once.
template <Of Unit, Leaked Where, class Apply>
[[gnu::noinline]] void where_leaked(const LeakageRows& rows, const FrameOp& op, Apply apply) {
  constexpr std::uint32_t kPer = Where == Leaked::kTheOne ? 1 : 2;
  const std::uint32_t* t = rows.program.operands.data() + op.first;
  Waiting w;
  std::uint32_t count = 0;  // here: a store to the arrays may change what is beside them
  const auto finish = [&]() __attribute__((always_inline)) {
    draw(rows, w, count);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t draws[4] = {w.draws[0][k], w.draws[1][k], w.draws[2][k], w.draws[3][k]};
      const std::uint32_t target = Unit == Of::kWords ? w.index[k] : w.index[k] >> 5;
      apply(t + kPer * std::size_t{target}, target, w.unit[k], w.word[k], draws);
    }
    count = 0;
  };
  const std::size_t mask_words = rows.mask_words;
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const std::uint32_t first = slot_of(t[kPer * i]), second = slot_of(t[kPer * i + kPer - 1]);
    const std::uint32_t *a = rows.leaked_row(first), *b = rows.leaked_row(second);
    const std::uint64_t *mask_a = rows.mask(first), *mask_b = rows.mask(second);
    for (std::size_t k = 0; k < mask_words; ++k) {
      std::uint64_t units = mask_a[k] | mask_b[k];
      if (count + 64 > Waiting::kMost) finish();
      for (; units != 0; units &= units - 1) {
        const auto u = static_cast<std::uint32_t>(64 * k) +
                       static_cast<std::uint32_t>(std::countr_zero(units));
        std::uint32_t shots = Where == Leaked::kTheOne ? a[u]
                              : Where == Leaked::kAny  ? a[u] | b[u]
                                                       : a[u] ^ b[u];
        if (Unit == Of::kWords) {
          w.index[count] = i;
          w.unit[count] = u;
          w.word[count] = shots;
          count += shots != 0;
          continue;
        }
        for (; shots != 0; shots &= shots - 1) {
          if (count == Waiting::kMost) finish();
          w.index[count] = shot_draw(i, static_cast<std::uint32_t>(std::countr_zero(shots)));
          w.unit[count] = u;
          w.word[count++] = shots & (0u - shots);
        }
      }
    }
  }
  finish();
}

// A shot of a pair in which one is leaked.
template <C Code>
void of_leaked_pairs(const LeakageRows& rows, const FrameOp& op, const std::uint64_t* upto) {
  constexpr Leaked kWhere = Code == C::kSpread ? Leaked::kEither : Leaked::kAny;
  where_leaked<Of::kShots, kWhere>(
      rows, op,
      [&](const std::uint32_t* t, std::uint32_t, std::uint32_t unit, std::uint32_t bit,
          const std::uint32_t* r) {
        const bool first = (rows.leaked_row(t[0])[unit] & bit) != 0,
                   second = (rows.leaked_row(t[1])[unit] & bit) != 0;
        PairShot shot{first, second};
        pair_step<Code>(shot, upto, r);
        if constexpr (Code != C::kSpread) {
          flip(rows.frames, rows.units, t[0], shot.flip_first, unit, bit);
          flip(rows.frames, rows.units, t[1], shot.flip_second, unit, bit);
        }
        if (shot.first && !first) rows.set(t[0], unit, bit);
        if (shot.second && !second) rows.set(t[1], unit, bit);
        if (!shot.first && first) rows.clear(t[0], unit, bit);
        if (!shot.second && second) rows.clear(t[1], unit, bit);
      });
}

void of_leaked_shots(const LeakageRows& rows, const FrameOp& op) {
  using Target = const std::uint32_t*;
  using Word = std::uint32_t;
  const std::size_t units = rows.units;
  const std::uint64_t* upto = rows.program.leak_thresholds.data() + op.channel;
  const auto multiply = [&](Word slot, Word unit, Word x, Word z) {
    Word* row = rows.x(slot) + unit;
    row[0] ^= x, row[units] ^= z;
  };
  switch (op.code) {
    case C::kScramble:
      where_leaked<Of::kWords, Leaked::kTheOne>(
          rows, op, [&](Target t, Word, Word unit, Word shots, const Word* r) {
            multiply(t[0], unit, r[0] & shots, r[1] & shots);
          });
      return;
    case C::kScramblePartner:
      where_leaked<Of::kWords, Leaked::kAny>(
          rows, op, [&](Target t, Word, Word unit, Word, const Word* r) {
            const Word a = rows.leaked_row(t[0])[unit], b = rows.leaked_row(t[1])[unit];
            multiply(t[1], unit, r[0] & a, r[1] & a);
            multiply(t[0], unit, r[2] & b, r[3] & b);
          });
      return;
    case C::kSeal:
      if (always(upto[0])) {
        Target t = rows.program.operands.data() + op.first;
        for (std::uint32_t i = 0; i < op.count; ++i) rows.seal(t[i]);
        return;
      }
      where_leaked<Of::kShots, Leaked::kTheOne>(
          rows, op, [&](Target t, Word, Word unit, Word shot, const Word* r) {
            if (leak_branch(upto, 1, r[0], r[1]) == 0) rows.clear(t[0], unit, shot);
          });
      return;
    case C::kSpread:
      return of_leaked_pairs<C::kSpread>(rows, op, upto);
    case C::kScrambleSpread:
      return of_leaked_pairs<C::kScrambleSpread>(rows, op, upto);
    case C::kGateSpread:
      return of_leaked_pairs<C::kGateSpread>(rows, op, upto);
    case C::kLeaked1:
      where_leaked<Of::kShots, Leaked::kTheOne>(
          rows, op, [&](Target t, Word, Word unit, Word shot, const Word* r) {
            hit(rows.frames, units, t[0], leaked_error(upto, r), unit, shot);
          });
      return;
    case C::kLeaked2:
      where_leaked<Of::kShots, Leaked::kAny>(
          rows, op, [&](Target t, Word, Word unit, Word shot, const Word* r) {
            const bool first = rows.leaked_row(slot_of(t[0]))[unit] & shot,
                       second = rows.leaked_row(slot_of(t[1]))[unit] & shot;
            const Word errors = leaked_errors(upto, first, second, r);
            hit(rows.frames, units, t[0], errors & 3, unit, shot);
            hit(rows.frames, units, t[1], errors >> 2, unit, shot);
          });
      return;
    case C::kMissedFlag:
      where_leaked<Of::kShots, Leaked::kTheOne>(
          rows, op, [&](Target, Word target, Word unit, Word shot, const Word* r) {
            if (leak_branch(upto, 1, r[0], r[1]) == 0)
              rows.record_row(rows.record - op.count + target)[unit] ^= shot;
          });
      return;
    default: {  // kFlag
      Target t = rows.program.operands.data() + op.first;
      for (std::uint32_t i = 0; i < op.count; ++i)
        std::memcpy(rows.record_row(rows.record + i), rows.leaked_row(t[i]), units * sizeof(Word));
    }
  }
}

// What happens to any shot with the probability of a channel.
void with_channel(const LeakageRows& rows, const FrameOp& op) {
  const FrameChannel& c = rows.program.channels[op.channel];
  const std::uint32_t* operands = rows.program.operands.data() + op.first;
  const std::size_t units = rows.units;
  EventDraws events({rows.key0, rows.key1, rows.first_unit, rows.tick,
                     static_cast<std::uint32_t>(units), op.segment, op.count, c.inv_log});
  while (events.next()) {
    for (std::size_t k = 0; k < events.size(); ++k) {
      const std::uint32_t target = events.target(k), unit = events.unit(k), bit = events.bit(k);
      const bool pair = op.code == C::kLeakPair || op.code == C::kUnleaked2;
      const std::uint32_t* t = operands + std::size_t{target} * (pair ? 2 : 1);
      const auto sealed = [&](std::uint32_t one) {
        return bit & ~rows.leaked_row(slot_of(one))[unit];
      };
      switch (op.code) {
        case C::kLeak:
          leak_one(rows, t[0], unit, bit, events.bits(k));
          break;
        case C::kLeakPair:
          leak_pair(rows, t, target, branch_of(c, events.bits(k)), unit, bit);
          break;
        case C::kUnleaked1: {
          const std::uint32_t code = branch_of(c, events.bits(k)) + 1;
          hit(rows.frames, units, t[0], xz_of(code), unit, sealed(t[0]));
          break;
        }
        case C::kUnleaked2: {
          const std::uint32_t code = branch_of(c, events.bits(k)) + 1;
          const std::uint32_t both = sealed(t[0]) & sealed(t[1]);
          hit(rows.frames, units, t[0], xz_of(code >> 2), unit, both);
          hit(rows.frames, units, t[1], xz_of(code & 3), unit, both);
          break;
        }
        default:  // kFalseFlag
          rows.record_row(rows.record - op.count + target)[unit] ^= sealed(t[0]);
      }
    }
  }
}

}  // namespace

void run_leakage(const LeakageRows& rows, const FrameOp& op) {
  if (!is_of_leaked_shots(op.code)) return with_channel(rows, op);
  of_leaked_shots(rows, op);
}

}  // namespace tilewave::stabilizer
