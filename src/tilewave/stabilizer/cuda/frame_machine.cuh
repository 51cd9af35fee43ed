// The frame engine's machine on a GPU (frame_step.h): a block of threads has `lanes` units of 32
// shots. Rows (x and z of a slot, then the ring of records) lie in shared memory, word [row][lane],
// or in global memory when the circuit is too large; a thread works on four lanes of a row, 16
// bytes, so a warp decodes an instruction for 4096 bits. Every operation's targets are disjoint, so
// the threads share them and meet at a barrier where a later operation touches what an earlier one
// changed.
//
// Noise is drawn ahead: the streams of all noise operations of a window (a stretch without loops,
// as much as fits) are independent, so all threads draw them together, two draws a step, a thread
// that comes to the end of its stream taking the next. Events wait in a list for their operation,
// which XORs them in. A list that overflows is not used: its operation draws for itself. The bits
// are those of cpu/frame_run.cc. A host program that says what threads are runs it as well
// (tests/stabilizer/device_emulation.h).
#pragma once

#include <type_traits>

#include "tilewave/stabilizer/cuda/frame_device.h"
#include "tilewave/stabilizer/cuda/frame_words.cuh"
#include "tilewave/stabilizer/cuda/leakage_machine.cuh"
#include "tilewave/stabilizer/frame_step.h"
#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {

template <bool Spills, bool Records, bool Leaks>
struct Machine {
  using Index = std::conditional_t<Spills, std::uint64_t, std::uint32_t>;

  const FrameView& v;
  std::uint32_t* state;   // rows of `lanes` words
  std::uint32_t* leaked;  // the same, of leaked shots
  std::uint32_t* chain;   // shots hit in the current chain, a word a lane
  std::uint32_t* counts;  // events of each list
  std::uint32_t* events;
  std::uint32_t* out;  // [bit][unit] of the whole launch, from this block's units on
  std::uint64_t unit;  // the block's first, of the seed's sequence
  std::uint32_t key0, key1;
  std::uint64_t tick = 0;
  std::uint32_t record = 0, detector = 0;  // records of a ring are counted modulo 2^32
  std::uint32_t list = kNoList, list_at = 0, list_room = 0;  // of the operation at work
  std::uint32_t lookbacks = 0;

  // Threads by lanes (one unit each) and by quads of lanes.
  __device__ std::uint32_t lane() const { return threadIdx.x & ((1u << v.log_lanes) - 1); }
  __device__ std::uint32_t worker() const { return threadIdx.x >> v.log_lanes; }
  __device__ std::uint32_t workers() const { return blockDim.x >> v.log_lanes; }
  __device__ std::uint32_t quad() const { return threadIdx.x & ((1u << (v.log_lanes - 2)) - 1); }
  __device__ std::uint32_t quad_worker() const { return threadIdx.x >> (v.log_lanes - 2); }
  __device__ std::uint32_t quad_workers() const { return blockDim.x >> (v.log_lanes - 2); }

  __device__ std::uint32_t* row(Index r, std::uint32_t in_lane) const {
    return state + ((r << v.log_lanes) + in_lane);
  }
  __device__ Words& words(Index r) const {
    return reinterpret_cast<Words*>(state)[(r << (v.log_lanes - 2)) + quad()];
  }
  __device__ Words& x(std::uint32_t slot) const { return words(Index{2} * slot); }
  __device__ Words& z(std::uint32_t slot) const { return words(Index{2} * slot + 1); }
  __device__ Index kept_row(std::uint32_t index) const {
    return Index{2} * v.num_slots + ring_row(index, static_cast<std::uint32_t>(v.ring));
  }
  __device__ std::uint32_t* record_at(std::uint32_t index, std::uint32_t in_lane) const {
    if constexpr (Records) return out + (index * v.num_units + in_lane);
    return row(kept_row(index), in_lane);
  }
  __device__ Words& record_words(std::uint32_t index) const {
    if constexpr (Records) return result(index);
    return words(kept_row(index));
  }
  __device__ const Words& back(std::uint32_t lookback) const {
    return record_words(record - lookback);
  }
  __device__ Words& result(std::uint32_t bit) const {
    return reinterpret_cast<Words*>(out + bit * v.num_units)[quad()];
  }
  __device__ const std::uint32_t* targets(const FrameOp& op) const { return v.operands + op.first; }
  __device__ static std::uint32_t read(const std::uint32_t* p) { return __ldg(p); }
  __device__ static uint2 read_pair(const std::uint32_t* p, std::uint32_t i) {
    return __ldg(reinterpret_cast<const uint2*>(p) + i);
  }

  __device__ LeakageMachine<Machine> leaks() { return {*this}; }

  template <Pauli A, Pauli B>
  __device__ void controlled(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const uint2 pair = read_pair(targets(op), i);
      Words ax = x(pair.x), az = z(pair.x), bx = x(pair.y), bz = z(pair.y);
      apply_controlled<A, B>(ax, az, bx, bz);
      if (A != Pauli::kZ) x(pair.x) = ax;
      if (A != Pauli::kX) z(pair.x) = az;
      if (B != Pauli::kZ) x(pair.y) = bx;
      if (B != Pauli::kX) z(pair.y) = bz;
    }
  }

  template <Pauli P>
  __device__ void measure(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const std::uint32_t slot = read(targets(op) + i);
      record_words(record + i) = anticommuting<P>(x(slot), z(slot));
    }
    record += op.count;
  }

  template <Pauli P>
  __device__ void coin(const FrameOp& op) {
    for (std::uint32_t group = quad_worker(); group < (op.count + 3) / 4; group += quad_workers()) {
      Words random[4];  // of four targets
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const UnitStream s{key0, key1, unit + 4 * quad() + u, tick};
        const Philox4x32 r = s.block(group);
#pragma unroll
        for (int k = 0; k < 4; ++k) random[k].v[u] = r.v[k];
      }
#pragma unroll
      for (std::uint32_t k = 0; k < 4; ++k) {
        if (4 * group + k >= op.count) break;
        const std::uint32_t slot = read(targets(op) + 4 * group + k);
        multiply<P>(x(slot), z(slot), random[k]);
      }
    }
  }

  __device__ void clear(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const std::uint32_t slot = read(targets(op) + i);
      x(slot) = Words{}, z(slot) = Words{};
      if constexpr (Leaks) leaks().seal(slot);
    }
  }
  __device__ void pad(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers())
      record_words(record + i) = Words{};
    record += op.count;
  }

  // Two events may meet in a word.
  __device__ void flip(std::uint32_t slot, std::uint32_t stored, std::uint32_t bit,
                       std::uint32_t in_lane) {
    if (stored & 1) atomicXor(row(Index{2} * slot, in_lane), bit);
    if (stored & 2) atomicXor(row(Index{2} * slot + 1, in_lane), bit);
  }
  __device__ void hit(std::uint32_t target, std::uint32_t xz, std::uint32_t bit,
                      std::uint32_t in_lane) {
    flip(slot_of(target), stored_xz(target, xz), bit, in_lane);
  }
  __device__ void event(const FrameOp& op, std::uint32_t first_record, std::uint32_t target,
                        std::uint32_t branch, std::uint32_t bit, std::uint32_t in_lane) {
    if constexpr (Leaks) {
      if (is_of_leakage(op.code)) return leaks().event(op, target, branch, bit, in_lane);
    }
    const std::uint32_t* t = targets(op);
    switch (op.code) {
      case FrameCode::kPauli1:
        return hit(read(t + target), xz_of(branch + 1), bit, in_lane);
      case FrameCode::kPauli2: {
        const uint2 pair = read_pair(t, target);
        hit(pair.x, xz_of((branch + 1) >> 2), bit, in_lane);
        return hit(pair.y, xz_of((branch + 1) & 3), bit, in_lane);
      }
      case FrameCode::kHerald:
        hit(read(t + target), xz_of(branch), bit, in_lane);
        [[fallthrough]];
      default:
        atomicXor(record_at(first_record + target, in_lane), bit);
    }
  }

  __device__ void noise(const FrameOp& op) {
    const std::uint32_t first_record = op.code == FrameCode::kHerald ? record : record - op.count;
    if (op.code == FrameCode::kHerald) {
      pad(op);
      __syncthreads();
    }
    if (list != kNoList) {
      const std::uint32_t count = counts[list];
      if (count <= list_room) {
        for (std::uint32_t k = threadIdx.x; k < count; k += blockDim.x) {
          const std::uint32_t e = events[list_at + k];
          event(op, first_record, e & (kMostListTargets - 1), (e >> 23) & 15,
                1u << ((e >> 18) & 31), e >> 27);
        }
        return;
      }
    }
    const FrameChannel& c = v.channels[op.channel];
    for (std::uint32_t stream = worker(); stream < op.ticks; stream += workers()) {
      const std::uint32_t first = stream * op.segment;
      RareEvents draws{{key0, key1, unit + lane(), tick + stream},
                       c.inv_log,
                       std::uint64_t{min(op.segment, op.count - first)} * 32};
      std::uint64_t trial;
      std::uint32_t bits;
      while (draws.next(&trial, &bits)) {
        event(op, first_record, first + static_cast<std::uint32_t>(trial >> 5),
              event_branch(Leaks && op.code == FrameCode::kLeak, c, bits), 1u << (trial & 31),
              lane());
      }
    }
  }

  // `place`: of the site in its operation.
  __device__ void site_event(const FrameSite& site, std::uint32_t place, std::uint32_t branch,
                             std::uint32_t bit, std::uint32_t in_lane) {
    const std::uint32_t* t = v.operands + site.first;
    switch (site.kind) {
      case SiteKind::kPauli1:
        return hit(read(t), xz_of(branch + 1), bit, in_lane);
      case SiteKind::kPauli2:
        hit(read(t), xz_of((branch + 1) >> 2), bit, in_lane);
        return hit(read(t + 1), xz_of((branch + 1) & 3), bit, in_lane);
      case SiteKind::kHerald:
        hit(read(t + 1), xz_of(branch), bit, in_lane);
        [[fallthrough]];
      case SiteKind::kRecord:
        atomicXor(record_at(record - read(t), in_lane), bit);
        return;
      case SiteKind::kLeak:
        if constexpr (Leaks) leaks().leak_one(read(t), branch, bit, in_lane);
        return;
      case SiteKind::kLeakPair:
        if constexpr (Leaks) leaks().leak_pair(t, place, branch, bit, in_lane);
        return;
      case SiteKind::kProduct:
        t = factors_of(t, branch);
        for (std::uint32_t f = 1; f <= t[0]; ++f)
          flip(slot_of(t[f]), xz_of((t[f] >> 28) & 3), bit, in_lane);
        return;
    }
  }

  __device__ void sites(const FrameOp& op) {
    if (list != kNoList) {
      const std::uint32_t count = counts[list];
      if (count <= list_room) {
        for (std::uint32_t k = threadIdx.x; k < count; k += blockDim.x) {
          const std::uint32_t e = events[list_at + k];
          const std::uint32_t place = e & (kMostListTargets - 1);
          site_event(v.sites[op.first + place], place, (e >> 23) & 15, 1u << ((e >> 18) & 31),
                     e >> 27);
        }
        return;
      }
    }
    for (std::uint32_t k = worker(); k < op.ticks; k += workers()) {
      const SiteStream s = v.site_streams[op.channel + k];
      RareSites draws{{key0, key1, unit + lane(), tick + k},
                      v.site_ends + s.first,
                      v.site_rates + s.first,
                      s.count,
                      s.total};
      std::uint32_t index, shot, bits;
      while (draws.next(&index, &shot, &bits)) {
        const FrameSite site = v.sites[s.first + index];
        const std::uint32_t branch = event_branch(Leaks && site.kind == SiteKind::kLeak,
                                                  v.site_channels[site.channel], bits);
        site_event(site, s.first - op.first + index, branch, 1u << shot, lane());
      }
    }
  }

  // The events of a window into their lists.
  __device__ void draw(const DrawWindow& w) {
    for (std::uint32_t k = threadIdx.x; k < w.num_lists; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    const std::uint32_t items = w.num_streams << v.log_lanes, lanes = 1u << v.log_lanes;
    std::uint32_t item = threadIdx.x, trial = 0, block = 0, drawn = 0;
    double at = 0;  // on the line of sites
    bool active = false;
    DrawStream s;
    while (true) {
      if (!active) {
        if (item >= items) break;
        s = v.streams[w.first_stream + (item >> v.log_lanes)];
        drawn = item & (lanes - 1);
        trial = 0, at = 0, block = 0, active = true;
        item += blockDim.x;
      }
      const UnitStream stream{key0, key1, unit + drawn, tick + s.tick};
      const Philox4x32 r = stream.block(block++);
      double gap[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) gap[k] = event_gap(r.v[2 * k], r.v[2 * k + 1], s.inv_log);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        std::uint32_t target = 0, shot = 0;
        if (s.sites) {
          active = active && next_site(v.site_ends + s.channel, v.site_rates + s.channel, s.trials,
                                       s.total, gap[k], at, target, shot);
          if (!active) continue;
        } else {
          active = active && gap[k] < static_cast<double>(s.trials - trial);
          if (!active) continue;
          trial += static_cast<std::uint32_t>(gap[k]);
          target = trial >> 5, shot = trial & 31;
        }
        const std::uint32_t place = atomicAdd(counts + s.list, 1u);
        if (place < s.room) {
          const FrameChannel& c = s.sites ? v.site_channels[v.sites[s.channel + target].channel]
                                          : v.channels[s.channel];
          const bool leak =
              Leaks && (s.sites ? v.sites[s.channel + target].kind == SiteKind::kLeak : s.leaks);
          const std::uint32_t branch = event_branch(leak, c, r.v[2 * k] & 0xFFFFFFu);
          events[s.events + place] = (s.target + target) | shot << 18 | branch << 23 | drawn << 27;
        }
        if (!s.sites) active = ++trial < s.trials;
      }
    }
    __syncthreads();
  }

  __device__ void correlated(const FrameOp& op) {
    if (worker() != 0) return;
    const FrameChannel& c = v.channels[op.channel];
    const std::uint32_t* t = targets(op);
    std::uint32_t happens = 0;
    RareEvents draws{{key0, key1, unit + lane(), tick}, c.inv_log, 32};
    std::uint64_t trial;
    std::uint32_t bits;
    while (draws.next(&trial, &bits)) happens |= 1u << trial;
    if (!op.sub) chain[lane()] = 0;
    happens &= ~chain[lane()];
    chain[lane()] |= happens;
    for (std::uint32_t i = 0; i < op.count; ++i) {
      const std::uint32_t slot = slot_of(t[i]), xz = xz_of((t[i] >> 28) & 3);
      if (xz & 1) *row(Index{2} * slot, lane()) ^= happens;
      if (xz & 2) *row(Index{2} * slot + 1, lane()) ^= happens;
    }
  }

  template <Pauli P>
  __device__ void feedback(const FrameOp& op) {
    // A layer has each slot once.
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const uint2 t = read_pair(targets(op), i);
      multiply<P>(x(t.x), z(t.x), back(t.y));
    }
  }
  template <Pauli P>
  __device__ void sweep(const FrameOp&) {}  // sweep bits are zeros here

  __device__ void detectors(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const std::uint32_t* at = targets(op) + i * (lookbacks + 1);
      if (!lookbacks) at = v.operands + read(v.detector_at + op.channel + i);
      const std::uint32_t size = lookbacks ? lookbacks : read(at);
      Words value{};
      for (std::uint32_t n = 1; n <= size; ++n) value ^= back(read(at + n));
      result(detector + i) = value;
    }
    detector += op.count;
  }
  __device__ void observable(const FrameOp& op) {
    if (quad_worker() != 0 || op.count == 0) return;
    const std::uint32_t* t = targets(op);
    Words value{};
    for (std::uint32_t i = 1; i <= op.count; ++i) value ^= back(read(t + i));
    result(static_cast<std::uint32_t>(v.num_detectors) + read(t)) ^= value;
  }
  template <Pauli P>
  __device__ void observe(const FrameOp& op) {
    if (quad_worker() != 0) return;
    const std::uint32_t* t = targets(op);
    result(static_cast<std::uint32_t>(v.num_detectors) + read(t)) ^=
        anticommuting<P>(x(read(t + 1)), z(read(t + 1)));
  }

  __device__ void leakage(const FrameOp& op) {
    if constexpr (Leaks) leaks()(op);
  }
  __device__ void permute(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const std::uint32_t slot = read(targets(op) + i);
      apply_clifford1(static_cast<Pauli>(op.sub & 3), static_cast<Pauli>(op.sub >> 2), false, false,
                      x(slot), z(slot));
    }
  }
  __device__ void swap(const FrameOp& op) {
    for (std::uint32_t i = quad_worker(); i < op.count; i += quad_workers()) {
      const uint2 t = read_pair(targets(op), i);
      exchange(x(t.x), x(t.y));
      exchange(z(t.x), z(t.y));
      if constexpr (Leaks) leaks().swap(t.x, t.y);
    }
  }
};

/// A block's shots, units first_unit + first on of the seed's sequence, from the first operation to the last.
/// `shared`: words_beside(..), and the rows where they do not spill; `spill`: these if they do, then
/// those of leaked shots; `out`: of its units.
template <bool Spills, bool Records, bool Leaks>
__device__ __forceinline__ void run_block(const FrameView& v, std::uint64_t seed,
                                          std::uint64_t first_unit, std::uint32_t* out,
                                          std::uint32_t* spill, std::uint64_t state_words,
                                          std::uint32_t* shared) {
  const std::uint32_t lanes = 1u << v.log_lanes;
  const bool staged = v.num_ops <= kStagedOps;
  std::uint32_t* const chain = shared + (staged ? v.num_ops * (sizeof(DeviceOp) / 4) : 0);
  std::uint32_t* const state =
      Spills ? spill : shared + words_beside(lanes, v.list_room, v.num_ops);
  std::uint32_t* const leaked = spill + (Spills ? state_words : 0);
  for (std::uint64_t k = threadIdx.x; k < state_words; k += blockDim.x) state[k] = 0;
  for (std::uint64_t k = threadIdx.x; Leaks && k < v.leaked << v.log_lanes; k += blockDim.x)
    leaked[k] = 0;
  for (std::uint32_t k = threadIdx.x; staged && k < v.num_ops * (sizeof(DeviceOp) / 4);
       k += blockDim.x)
    shared[k] = reinterpret_cast<const std::uint32_t*>(v.ops)[k];
  const DeviceOp* const ops = staged ? reinterpret_cast<const DeviceOp*>(shared) : v.ops;
  if (threadIdx.x < lanes) chain[threadIdx.x] = 0;
  Machine<Spills, Records, Leaks> m{v,
                                    state,
                                    leaked,
                                    chain,
                                    chain + lanes,
                                    chain + lanes + kMostLists,
                                    out,
                                    first_unit,
                                    static_cast<std::uint32_t>(seed),
                                    static_cast<std::uint32_t>(seed >> 32)};
  if constexpr (!Records) {
    for (std::uint64_t k = v.num_detectors + m.quad_worker(); k < v.num_rows; k += m.quad_workers())
      m.result(static_cast<std::uint32_t>(k)) = Words{};
  }
  __syncthreads();
  std::uint64_t left[kMaxLoops];
  int depth = 0;
  for (std::uint32_t pc = 0; pc < v.num_ops; ++pc) {
    const DeviceOp d = ops[pc];
    if (d.op.code == FrameCode::kLoop) {
      left[depth++] = v.loops[d.op.first];
    } else if (d.op.code == FrameCode::kLoopEnd) {
      if (--left[depth - 1]) {
        pc = d.op.first - 1;
      } else {
        --depth;
      }
    } else {
      if (d.window) m.draw(v.windows[d.window - 1]);
      m.list = d.list, m.list_at = d.events, m.list_room = d.room, m.lookbacks = d.lookbacks;
      frame_step(m, d.op);
      m.tick += d.op.ticks;
      if (d.barrier) __syncthreads();
    }
  }
}

}  // namespace tilewave::stabilizer
