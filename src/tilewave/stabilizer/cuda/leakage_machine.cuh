// Leakage on the GPU's frame machine (frame_machine.cuh): a third row of every slot, the shots in which
// it is leaked, in global memory, and beside the other rows a byte of every slot and quad of lanes
// that says which of the four words have some. An operation on leaked shots is shared out as gates
// are, a target and a quad of lanes a thread: it reads the bytes, mostly zeros, and goes through the
// leaked shots one by one, each with a Philox draw of its own (leakage_ops.h). So the words and bytes
// belong to that thread, and such an operation needs no barrier behind the gate with the same
// targets. What leaks are events, as of any noise: they meet in words, and change them by atomic
// operations.
#pragma once

#include "tilewave/stabilizer/cuda/frame_words.cuh"
#include "tilewave/stabilizer/leakage_ops.h"
#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {

template <class Machine>
struct LeakageMachine {
  using Index = typename Machine::Index;
  using C = FrameCode;

  Machine& m;

  __device__ std::uint32_t* leaked(std::uint32_t slot, std::uint32_t lane) const {
    return m.leaked + ((Index{slot} << m.v.log_lanes) + lane);
  }
  __device__ Words& leaked_words(std::uint32_t slot) const {
    return reinterpret_cast<Words*>(m.leaked)[(Index{slot} << (m.v.log_lanes - 2)) + m.quad()];
  }
  __device__ std::uint8_t* marks() const {
    return reinterpret_cast<std::uint8_t*>(m.row(static_cast<Index>(m.v.marks), 0));
  }
  __device__ std::uint8_t& mark(std::uint32_t slot) const {
    return marks()[(Index{slot} << (m.v.log_lanes - 2)) + m.quad()];
  }

  __device__ const std::uint64_t* thresholds(const FrameOp& op) const {
    return m.v.leak_thresholds + op.channel;
  }

  // ---- events

  __device__ void leak_one(std::uint32_t target, std::uint32_t bits, std::uint32_t bit,
                           std::uint32_t lane) const {
    const std::uint32_t slot = slot_of(target);
    const std::uint32_t before = atomicOr(leaked(slot, lane), bit);
    if (before == 0) {
      const Index at = (Index{slot} << (m.v.log_lanes - 2)) + lane / 4;
      atomicOr(reinterpret_cast<std::uint32_t*>(marks()) + at / 4,
               1u << (8 * (static_cast<std::uint32_t>(at) % 4) + lane % 4));
    }
    if (scrambled(scramble_of(target), bit, before)) m.flip(slot, bits & 3, bit, lane);
  }
  /// Branches 0, 1, 2: both, the first, the second.
  __device__ void leak_pair(const std::uint32_t* t, std::uint32_t place, std::uint32_t branch,
                            std::uint32_t bit, std::uint32_t lane) const {
    const UnitStream stream{m.key0, m.key1, m.unit + lane, m.tick};
    const std::uint32_t shot = static_cast<std::uint32_t>(__ffs(static_cast<int>(bit))) - 1;
    const std::uint32_t bits = stream.block(pair_draw(place, shot)).v[0];
    if (branch != 2) leak_one(m.read(t), bits, bit, lane);
    if (branch != 1) leak_one(m.read(t + 1), bits >> 2, bit, lane);
  }
  __device__ bool is_sealed(std::uint32_t target, std::uint32_t bit, std::uint32_t lane) const {
    return !(*leaked(slot_of(target), lane) & bit);
  }
  __device__ void event(const FrameOp& op, std::uint32_t target, std::uint32_t branch,
                        std::uint32_t bit, std::uint32_t lane) const {
    const std::uint32_t* t = m.targets(op);
    switch (op.code) {
      case C::kLeak:
        return leak_one(m.read(t + target), branch, bit, lane);
      case C::kLeakPair:
        return leak_pair(t + 2 * target, target, branch, bit, lane);
      case C::kUnleaked1: {
        const std::uint32_t one = m.read(t + target);
        if (is_sealed(one, bit, lane)) m.hit(one, xz_of(branch + 1), bit, lane);
        return;
      }
      case C::kUnleaked2: {
        const uint2 pair = m.read_pair(t, target);
        if (!is_sealed(pair.x, bit, lane) || !is_sealed(pair.y, bit, lane)) return;
        m.hit(pair.x, xz_of((branch + 1) >> 2), bit, lane);
        return m.hit(pair.y, xz_of((branch + 1) & 3), bit, lane);
      }
      default:  // kFalseFlag
        if (is_sealed(m.read(t + target), bit, lane))
          atomicXor(m.record_at(m.record - op.count + target, lane), bit);
    }
  }

  // ---- what is shared out

  /// No shot of the slot is leaked any more.
  __device__ void seal(std::uint32_t slot) const {
    std::uint8_t& mine = mark(slot);
    if (!mine) return;
    mine = 0;
    leaked_words(slot) = Words{};
  }
  __device__ void swap(std::uint32_t a, std::uint32_t b) const {
    if (!(mark(a) | mark(b))) return;
    exchange(mark(a), mark(b));
    exchange(leaked_words(a), leaked_words(b));
  }

  // Calls apply(target, its slot or slots with axes, lane) where one of them has leaked shots.
  template <std::uint32_t kWidth, class Apply>
  __device__ void where_leaked(const FrameOp& op, Apply apply) const {
    for (std::uint32_t i = m.quad_worker(); i < op.count; i += m.quad_workers()) {
      uint2 t;
      if constexpr (kWidth == 2) {
        t = m.read_pair(m.targets(op), i);
      } else {
        t.x = t.y = m.read(m.targets(op) + i);
      }
      std::uint32_t lanes = mark(slot_of(t.x));
      if constexpr (kWidth == 2) lanes |= mark(slot_of(t.y));
      for (; lanes; lanes &= lanes - 1)
        apply(i, t, 4 * m.quad() + static_cast<std::uint32_t>(__ffs(static_cast<int>(lanes))) - 1);
    }
  }
  // Calls apply(bit, four random words) for each shot of a target.
  template <class Apply>
  __device__ void each(std::uint32_t shots, std::uint32_t target, std::uint32_t lane,
                       Apply apply) const {
    const UnitStream stream{m.key0, m.key1, m.unit + lane, m.tick};
    for (; shots; shots &= shots - 1) {
      const std::uint32_t shot = static_cast<std::uint32_t>(__ffs(static_cast<int>(shots))) - 1;
      const Philox4x32 r = stream.block(shot_draw(target, shot));
      apply(1u << shot, r.v);
    }
  }
  __device__ void multiply(std::uint32_t slot, std::uint32_t lane, std::uint32_t x,
                           std::uint32_t z) const {
    if (x) *m.row(Index{2} * slot, lane) ^= x;
    if (z) *m.row(Index{2} * slot + 1, lane) ^= z;
  }
  // The word of a slot's leaked shots, which was `before`.
  __device__ void store(std::uint32_t slot, std::uint32_t lane, std::uint32_t before,
                        std::uint32_t shots) const {
    if (shots == before) return;
    *leaked(slot, lane) = shots;
    const auto bit = static_cast<std::uint8_t>(1u << (lane % 4));
    std::uint8_t& mine = mark(slot);
    mine = static_cast<std::uint8_t>(shots ? mine | bit : mine & ~bit);
  }

  template <FrameCode Code>
  __device__ void pairs(const FrameOp& op) const {
    const std::uint64_t* const upto = thresholds(op);
    where_leaked<2>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
      const std::uint32_t a = *leaked(t.x, lane), b = *leaked(t.y, lane);
      std::uint32_t a_now = a, b_now = b, ax = 0, az = 0, bx = 0, bz = 0;
      each(Code == C::kSpread ? a ^ b : a | b, i, lane,
           [&](std::uint32_t bit, const std::uint32_t* r) {
             PairShot shot{(a & bit) != 0, (b & bit) != 0};
             pair_step<Code>(shot, upto, r);
             a_now = shot.first ? a_now | bit : a_now & ~bit;
             b_now = shot.second ? b_now | bit : b_now & ~bit;
             ax |= shot.flip_first & 1 ? bit : 0, az |= shot.flip_first & 2 ? bit : 0;
             bx |= shot.flip_second & 1 ? bit : 0, bz |= shot.flip_second & 2 ? bit : 0;
           });
      multiply(t.x, lane, ax, az);
      multiply(t.y, lane, bx, bz);
      store(t.x, lane, a, a_now);
      store(t.y, lane, b, b_now);
    });
  }

  // A logical error of one shot.
  __device__ void hit(std::uint32_t target, std::uint32_t xz, std::uint32_t bit,
                      std::uint32_t lane) const {
    const std::uint32_t stored = stored_xz(target, xz);
    multiply(slot_of(target), lane, stored & 1 ? bit : 0, stored & 2 ? bit : 0);
  }

  __device__ void operator()(const FrameOp& op) const {
    if (!is_of_leaked_shots(op.code)) return m.noise(op);
    const std::uint64_t* const upto = thresholds(op);
    switch (op.code) {
      case C::kSpread:
        return pairs<C::kSpread>(op);
      case C::kScrambleSpread:
        return pairs<C::kScrambleSpread>(op);
      case C::kGateSpread:
        return pairs<C::kGateSpread>(op);
      case C::kSeal:
        if (always(*upto)) {
          for (std::uint32_t i = m.quad_worker(); i < op.count; i += m.quad_workers())
            seal(m.read(m.targets(op) + i));
          return;
        }
        return where_leaked<1>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
          const std::uint32_t before = *leaked(t.x, lane);
          std::uint32_t now = before;
          each(before, i, lane, [&](std::uint32_t bit, const std::uint32_t* r) {
            if (leak_branch(upto, 1, r[0], r[1]) == 0) now &= ~bit;
          });
          store(t.x, lane, before, now);
        });
      case C::kScramble:
      case C::kScramblePartner:
        return scramble(op);
      case C::kLeaked1:
        return where_leaked<1>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
          each(*leaked(slot_of(t.x), lane), i, lane,
               [&](std::uint32_t bit, const std::uint32_t* r) {
                 hit(t.x, leaked_error(upto, r), bit, lane);
               });
        });
      case C::kLeaked2:
        return where_leaked<2>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
          const std::uint32_t a = *leaked(slot_of(t.x), lane), b = *leaked(slot_of(t.y), lane);
          each(a | b, i, lane, [&](std::uint32_t bit, const std::uint32_t* r) {
            const std::uint32_t errors = leaked_errors(upto, (a & bit) != 0, (b & bit) != 0, r);
            hit(t.x, errors & 3, bit, lane);
            hit(t.y, errors >> 2, bit, lane);
          });
        });
      case C::kMissedFlag:
        return where_leaked<1>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
          std::uint32_t missed = 0;
          each(*leaked(t.x, lane), i, lane, [&](std::uint32_t bit, const std::uint32_t* r) {
            if (leak_branch(upto, 1, r[0], r[1]) == 0) missed |= bit;
          });
          if (missed) atomicXor(m.record_at(m.record - op.count + i, lane), missed);
        });
      default:  // kFlag
        for (std::uint32_t i = m.quad_worker(); i < op.count; i += m.quad_workers()) {
          const std::uint32_t slot = m.read(m.targets(op) + i);
          m.record_words(m.record + i) = mark(slot) ? leaked_words(slot) : Words{};
        }
        m.record += op.count;
    }
  }

  // Words of shots with one draw each.
  __device__ void scramble(const FrameOp& op) const {
    const auto draw = [&](std::uint32_t i, std::uint32_t lane) {
      return UnitStream{m.key0, m.key1, m.unit + lane, m.tick}.block(i);
    };
    if (op.code == C::kScramble) {
      return where_leaked<1>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
        const std::uint32_t shots = *leaked(t.x, lane);
        const Philox4x32 r = draw(i, lane);
        multiply(t.x, lane, r.v[0] & shots, r.v[1] & shots);
      });
    }
    where_leaked<2>(op, [&](std::uint32_t i, uint2 t, std::uint32_t lane) {
      const std::uint32_t a = *leaked(t.x, lane), b = *leaked(t.y, lane);
      const Philox4x32 r = draw(i, lane);
      multiply(t.y, lane, r.v[0] & a, r.v[1] & a);
      multiply(t.x, lane, r.v[2] & b, r.v[3] & b);
    });
  }
};

}  // namespace tilewave::stabilizer
