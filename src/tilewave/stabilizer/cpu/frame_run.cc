#include "tilewave/stabilizer/cpu/frame_run.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/cpu/event_draws.h"
#include "tilewave/stabilizer/cpu/frame_hits.h"
#include "tilewave/stabilizer/cpu/leakage_run.h"
#include "tilewave/stabilizer/frame_step.h"

namespace tilewave::stabilizer {
namespace {

typedef std::uint64_t Vec __attribute__((vector_size(64)));

constexpr std::size_t mask_words(std::size_t units) { return (units + 63) / 64; }

// Everything a batch works on; rows are `vecs` vectors (or `units` u32) long.
struct Batch {
  const FrameProgram& program;
  Vec* frames;
  Vec* leaked;                  // null without leakage
  std::uint64_t* units_leaked;  // LeakageRows
  Vec* records;
  Vec* outputs;
  Vec* chain;  // shots in which an error of the current chain has happened
  const std::uint64_t* sweep;
  std::uint32_t vecs, units;
  std::uint32_t key0, key1;
  std::uint64_t first_unit;
  std::uint64_t tick = 0, record = 0, detector = 0;

  [[gnu::always_inline]] Vec* x(std::uint32_t slot) {
    return frames + 2 * std::size_t{slot} * vecs;
  }
  [[gnu::always_inline]] Vec* z(std::uint32_t slot) { return x(slot) + vecs; }
  [[gnu::always_inline]] Vec* record_row(std::uint64_t index) {
    const bool all = program.output == FrameOutput::kRecords;
    return records + (all ? index : ring_row(index, program.ring_rows)) * vecs;
  }
  LeakageRows leakage() const {
    const bool all = program.output == FrameOutput::kRecords;
    return {program,
            reinterpret_cast<std::uint32_t*>(frames),
            reinterpret_cast<std::uint32_t*>(leaked),
            units_leaked,
            mask_words(units),
            reinterpret_cast<std::uint32_t*>(records),
            all ? ~std::uint64_t{0} : program.ring_rows - 1,
            record,
            units,
            key0,
            key1,
            first_unit,
            tick};
  }
  [[gnu::always_inline]] Vec* back(std::uint32_t lookback) { return record_row(record - lookback); }
};

[[gnu::always_inline]] inline void xor_row(Vec* to, const Vec* from, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) to[i] ^= from[i];
}

template <Pauli A, Pauli B>
[[gnu::always_inline]] inline void controlled(Batch& b, const std::uint32_t* t,
                                              std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i, t += 2) {
    Vec *ax = b.x(t[0]), *az = b.z(t[0]), *bx = b.x(t[1]), *bz = b.z(t[1]);
    for (std::uint32_t v = 0; v < b.vecs; ++v) apply_controlled<A, B>(ax[v], az[v], bx[v], bz[v]);
  }
}

template <Pauli P>
[[gnu::always_inline]] inline void measure(Batch& b, const std::uint32_t* t, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Vec *x = b.x(t[i]), *z = b.z(t[i]), *to = b.record_row(b.record++);
    for (std::uint32_t v = 0; v < b.vecs; ++v) to[v] = anticommuting<P>(x[v], z[v]);
  }
}

// Word u of draw `index` of every unit's stream goes to out[u]; four draws a call.
[[gnu::always_inline]] inline void random_rows(const Batch& b, std::uint32_t index,
                                               std::uint32_t* out) {
  // Plain loops over 16 units at a time: the compiler turns the 32 x 32 products into vector ones.
  for (std::uint32_t u = 0; u < b.units; u += 16) {
    std::uint64_t c0[16], c1[16], c2[16], c3[16];
    for (int k = 0; k < 16; ++k) {
      const std::uint64_t unit = b.first_unit + u + static_cast<std::uint32_t>(k);
      c0[k] = index;
      c1[k] = static_cast<std::uint32_t>(b.tick);
      c2[k] = static_cast<std::uint32_t>(unit);
      c3[k] =
          static_cast<std::uint32_t>(unit >> 32) | (static_cast<std::uint32_t>(b.tick >> 32) << 16);
    }
    std::uint32_t k0 = b.key0, k1 = b.key1;
    for (int round = 0; round < 10; ++round) {
      for (int k = 0; k < 16; ++k) {
        const std::uint64_t p0 = 0xD2511F53ull * static_cast<std::uint32_t>(c0[k]);
        const std::uint64_t p1 = 0xCD9E8D57ull * static_cast<std::uint32_t>(c2[k]);
        c0[k] = (p1 >> 32) ^ c1[k] ^ k0;
        c1[k] = p1;
        c2[k] = (p0 >> 32) ^ c3[k] ^ k1;
        c3[k] = p0;
      }
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int k = 0; k < 16; ++k) {
      out[u + k] = static_cast<std::uint32_t>(c0[k]);
      out[b.units + u + k] = static_cast<std::uint32_t>(c1[k]);
      out[2 * b.units + u + k] = static_cast<std::uint32_t>(c2[k]);
      out[3 * b.units + u + k] = static_cast<std::uint32_t>(c3[k]);
    }
  }
}

template <Pauli P>
[[gnu::always_inline]] inline void coin(Batch& b, const std::uint32_t* t, std::uint32_t count,
                                        Vec* scratch) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % 4 == 0) random_rows(b, i / 4, reinterpret_cast<std::uint32_t*>(scratch));
    Vec *x = b.x(t[i]), *z = b.z(t[i]), *s = scratch + (i % 4) * b.vecs;
    for (std::uint32_t v = 0; v < b.vecs; ++v) multiply<P>(x[v], z[v], s[v]);
  }
}

[[gnu::always_inline]] inline NoiseStreams streams_of(const Batch& b, const FrameOp& op) {
  return {b.key0,  b.key1,     b.first_unit, b.tick,
          b.units, op.segment, op.count,     b.program.channels[op.channel].inv_log};
}

[[gnu::always_inline]] inline void noise(Batch& b, const FrameOp& op) {
  const FrameChannel& c = b.program.channels[op.channel];
  const std::uint32_t* t = b.program.operands.data() + op.first;
  const std::uint64_t first_record = b.record;
  if (op.code == FrameCode::kHerald) {
    for (std::uint32_t i = 0; i < op.count; ++i)
      std::memset(b.record_row(b.record++), 0, b.vecs * sizeof(Vec));
  }
  EventDraws events(streams_of(b, op));
  auto* const frames = reinterpret_cast<std::uint32_t*>(b.frames);
  const std::size_t units = b.units;
  // Copies: the compiler must assume that a store changes members of the channel.
  const std::uint32_t num_branches = c.num_branches;
  const bool equal = c.equal;
  const auto branch = [&](std::size_t k) {
    return equal ? equal_branch(num_branches, events.bits(k)) : listed_branch(c, events.bits(k));
  };
  while (events.next()) {
    const std::size_t n = events.size();
    switch (op.code) {
      case FrameCode::kPauli1:
        for (std::size_t k = 0; k < n; ++k) {
          hit(frames, units, t[events.target(k)], xz_of(branch(k) + 1), events.unit(k),
              events.bit(k));
        }
        break;
      case FrameCode::kPauli2:
        for (std::size_t k = 0; k < n; ++k) {
          const std::uint32_t pair = branch(k) + 1;
          const std::uint32_t* at = t + 2 * std::size_t{events.target(k)};
          hit(frames, units, at[0], xz_of(pair >> 2), events.unit(k), events.bit(k));
          hit(frames, units, at[1], xz_of(pair & 3), events.unit(k), events.bit(k));
        }
        break;
      default: {
        const std::uint64_t first =
            op.code == FrameCode::kHerald ? first_record : b.record - op.count;
        for (std::size_t k = 0; k < n; ++k) {
          if (op.code == FrameCode::kHerald) {
            hit(frames, units, t[events.target(k)], xz_of(branch(k)), events.unit(k),
                events.bit(k));
          }
          auto* row = reinterpret_cast<std::uint32_t*>(b.record_row(first + events.target(k)));
          row[events.unit(k)] ^= events.bit(k);
        }
        break;
      }
    }
  }
}

[[gnu::always_inline]] inline void sites(Batch& b, const FrameOp& op) {
  const FrameProgram& p = b.program;
  SiteDraws events({b.key0, b.key1, b.first_unit, b.tick, b.units,
                    std::span(p.site_streams).subspan(op.channel, op.ticks), p.site_ends.data(),
                    p.site_rates.data()});
  auto* const frames = reinterpret_cast<std::uint32_t*>(b.frames);
  const std::size_t units = b.units;
  const std::uint32_t* const operands = p.operands.data();
  const auto flip_record = [&](std::uint32_t lookback, std::uint32_t unit, std::uint32_t bit) {
    reinterpret_cast<std::uint32_t*>(b.back(lookback))[unit] ^= bit;
  };
  while (events.next()) {
    for (std::size_t k = 0; k < events.size(); ++k) {
      const FrameSite& site = p.sites[events.site(k)];
      const std::uint32_t* t = operands + site.first;
      const std::uint32_t unit = events.unit(k), bit = events.bit(k);
      const std::uint32_t branch = branch_of(p.site_channels[site.channel], events.bits(k));
      switch (site.kind) {
        case SiteKind::kPauli1:
          hit(frames, units, t[0], xz_of(branch + 1), unit, bit);
          break;
        case SiteKind::kPauli2:
          hit(frames, units, t[0], xz_of((branch + 1) >> 2), unit, bit);
          hit(frames, units, t[1], xz_of((branch + 1) & 3), unit, bit);
          break;
        case SiteKind::kRecord:
          flip_record(t[0], unit, bit);
          break;
        case SiteKind::kHerald:
          flip_record(t[0], unit, bit);
          hit(frames, units, t[1], xz_of(branch), unit, bit);
          break;
        case SiteKind::kLeak:
          leak_one(b.leakage(), t[0], unit, bit, events.bits(k));
          break;
        case SiteKind::kLeakPair:
          leak_pair(b.leakage(), t, events.site(k) - op.first, branch, unit, bit);
          break;
        case SiteKind::kProduct: {
          const std::uint32_t* factors = factors_of(t, branch);
          for (std::uint32_t f = 1; f <= factors[0]; ++f) {
            flip(frames, units, slot_of(factors[f]), xz_of((factors[f] >> 28) & 3), unit, bit);
          }
          break;
        }
      }
    }
  }
}

[[gnu::always_inline]] inline void correlated(Batch& b, const FrameOp& op, Vec* happens) {
  const std::uint32_t* t = b.program.operands.data() + op.first;
  if (!op.sub) std::memset(b.chain, 0, b.vecs * sizeof(Vec));
  std::memset(happens, 0, b.vecs * sizeof(Vec));
  NoiseStreams streams = streams_of(b, op);
  streams.segment = streams.count = 1;  // one trial a shot, whatever the product's length
  EventDraws events(streams);
  while (events.next()) {
    for (std::size_t k = 0; k < events.size(); ++k)
      reinterpret_cast<std::uint32_t*>(happens)[events.unit(k)] |= events.bit(k);
  }
  for (std::uint32_t v = 0; v < b.vecs; ++v) {
    happens[v] &= ~b.chain[v];
    b.chain[v] |= happens[v];
  }
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const std::uint32_t xz = xz_of((t[i] >> 28) & 3), slot = slot_of(t[i]);
    if (xz & 1) xor_row(b.x(slot), happens, b.vecs);
    if (xz & 2) xor_row(b.z(slot), happens, b.vecs);
  }
}

template <Pauli P>
[[gnu::always_inline]] inline void conditional(Batch& b, const FrameOp& op,
                                               const std::uint32_t* t) {
  for (std::uint32_t i = 0; i < op.count; ++i, t += 2) {
    const Vec* s;
    if (op.code == FrameCode::kFeedback) {
      s = b.back(t[1]);
    } else {
      if (!b.sweep) continue;
      s = reinterpret_cast<const Vec*>(b.sweep) + std::size_t{t[1]} * b.vecs;
    }
    Vec *x = b.x(t[0]), *z = b.z(t[0]);
    for (std::uint32_t v = 0; v < b.vecs; ++v) multiply<P>(x[v], z[v], s[v]);
  }
}

template <Pauli P>
[[gnu::always_inline]] inline void observe(Batch& b, const std::uint32_t* t) {
  Vec *x = b.x(t[1]), *z = b.z(t[1]), *to = b.outputs + (b.program.num_detectors + t[0]) * b.vecs;
  for (std::uint32_t v = 0; v < b.vecs; ++v) to[v] ^= anticommuting<P>(x[v], z[v]);
}

[[gnu::always_inline]] inline void permute(Batch& b, std::uint32_t slot, std::uint32_t sub) {
  Vec *x = b.x(slot), *z = b.z(slot);
  for (std::uint32_t v = 0; v < b.vecs; ++v)
    apply_clifford1(static_cast<Pauli>(sub & 3), static_cast<Pauli>(sub >> 2), false, false, x[v],
                    z[v]);
}

// What frame_step.h asks of a machine.
struct Machine {
  Batch& b;
  Vec* scratch;

  const std::uint32_t* targets(const FrameOp& op) const {
    return b.program.operands.data() + op.first;
  }
  std::size_t row_bytes() const { return b.vecs * sizeof(Vec); }

  template <Pauli A, Pauli B>
  [[gnu::always_inline]] void controlled(const FrameOp& op) {
    stabilizer::controlled<A, B>(b, targets(op), op.count);
  }
  template <Pauli P>
  [[gnu::always_inline]] void measure(const FrameOp& op) {
    stabilizer::measure<P>(b, targets(op), op.count);
  }
  template <Pauli P>
  [[gnu::always_inline]] void coin(const FrameOp& op) {
    stabilizer::coin<P>(b, targets(op), op.count, scratch);
  }
  template <Pauli P>
  [[gnu::always_inline]] void feedback(const FrameOp& op) {
    conditional<P>(b, op, targets(op));
  }
  template <Pauli P>
  [[gnu::always_inline]] void sweep(const FrameOp& op) {
    conditional<P>(b, op, targets(op));
  }
  template <Pauli P>
  [[gnu::always_inline]] void observe(const FrameOp& op) {
    stabilizer::observe<P>(b, targets(op));
  }
  [[gnu::always_inline]] void noise(const FrameOp& op) { stabilizer::noise(b, op); }
  [[gnu::always_inline]] void sites(const FrameOp& op) { stabilizer::sites(b, op); }
  [[gnu::always_inline]] void correlated(const FrameOp& op) {
    stabilizer::correlated(b, op, scratch);
  }
  [[gnu::always_inline]] void clear(const FrameOp& op) {
    const std::uint32_t* t = targets(op);
    for (std::uint32_t i = 0; i < op.count; ++i) {
      std::memset(b.x(t[i]), 0, 2 * row_bytes());
      if (b.leaked) b.leakage().seal(t[i]);
    }
  }
  [[gnu::always_inline]] void pad(const FrameOp& op) {
    for (std::uint32_t i = 0; i < op.count; ++i)
      std::memset(b.record_row(b.record++), 0, row_bytes());
  }
  [[gnu::always_inline]] void detectors(const FrameOp& op) {
    const std::uint32_t* t = targets(op);
    for (std::uint32_t i = 0; i < op.count; ++i) {
      Vec* to = b.outputs + b.detector++ * b.vecs;
      std::uint32_t count = *t++;
      if (count == 0) std::memset(to, 0, row_bytes());
      if (count > 0) std::memcpy(to, b.back(*t++), row_bytes());
      for (; count > 1; --count) xor_row(to, b.back(*t++), b.vecs);
    }
  }
  [[gnu::always_inline]] void observable(const FrameOp& op) {
    const std::uint32_t* t = targets(op);
    Vec* to = b.outputs + (b.program.num_detectors + t[0]) * b.vecs;
    for (std::uint32_t i = 1; i <= op.count; ++i) xor_row(to, b.back(t[i]), b.vecs);
  }
  [[gnu::always_inline]] void permute(const FrameOp& op) {
    for (std::uint32_t i = 0; i < op.count; ++i) stabilizer::permute(b, targets(op)[i], op.sub);
  }
  [[gnu::always_inline]] void swap(const FrameOp& op) {
    const std::uint32_t* t = targets(op);
    for (std::uint32_t i = 0; i < op.count; ++i, t += 2) swap_slots(t[0], t[1]);
  }
  [[gnu::always_inline]] void swap_slots(std::uint32_t first, std::uint32_t second) {
    std::swap_ranges(b.x(first), b.x(first) + 2 * b.vecs, b.x(second));
    if (!b.leaked) return;
    Vec* row = b.leaked + std::size_t{first} * b.vecs;
    std::swap_ranges(row, row + b.vecs, b.leaked + std::size_t{second} * b.vecs);
    const LeakageRows rows = b.leakage();
    std::swap_ranges(rows.mask(first), rows.mask(first) + rows.mask_words, rows.mask(second));
  }
  [[gnu::always_inline]] void leakage(const FrameOp& op) {
    run_leakage(b.leakage(), op);
    if (op.code == FrameCode::kFlag) b.record += op.count;
  }
};

[[gnu::always_inline]] inline void run_body(Batch& b, Vec* scratch) {
  Machine machine{b, scratch};
  std::vector<std::uint64_t> left;  // iterations to go of the loops we are in
  const std::vector<FrameOp>& ops = b.program.ops;
  InterruptCounter now_and_then(256);
  for (std::size_t pc = 0; pc < ops.size();) {
    now_and_then.step();
    const FrameOp& op = ops[pc];
    if (op.code == FrameCode::kLoop) {
      left.push_back(b.program.loops[op.first]);
      ++pc;
    } else if (op.code == FrameCode::kLoopEnd) {
      if (--left.back()) {
        pc = op.first;
      } else {
        left.pop_back();
        ++pc;
      }
    } else {
      frame_step(machine, op);
      b.tick += op.ticks;
      ++pc;
    }
  }
}

}  // namespace

FrameBatch::FrameBatch(const FrameProgram& program, std::uint32_t num_shots)
    : program_(program), num_shots_(num_shots) {
  TW_CHECK(num_shots > 0 && num_shots % 512 == 0, "a batch is a multiple of 512 shots");
  const std::size_t row = num_shots / 8;
  frames_ = runtime::HostBuffer(std::max<std::size_t>(row, 2 * row * program.num_slots));
  if (program.has_leakage) {
    leaked_ = runtime::HostBuffer(std::max<std::size_t>(row, row * program.num_slots));
    units_leaked_ = runtime::HostBuffer(
        std::max<std::size_t>(64, mask_words(num_shots / 32) * 8 * program.num_slots));
  }
  records_ = runtime::HostBuffer(std::max<std::size_t>(row, row * program.ring_rows));
  if (program.output == FrameOutput::kDetectors) {
    outputs_ = runtime::HostBuffer(std::max<std::size_t>(row, row * program.num_rows_out()));
  }
  scratch_ = runtime::HostBuffer(5 * row);
}

std::uint64_t FrameBatch::bytes_for(const FrameProgram& program, std::uint64_t num_shots) {
  const std::uint64_t rows = saturating_add(
      saturating_add((program.has_leakage ? 3 : 2) * std::uint64_t{program.num_slots},
                     program.ring_rows),
      program.output == FrameOutput::kDetectors ? program.num_rows_out() : 0);
  return saturating_multiply(rows, num_shots / 8);
}

const std::uint64_t* FrameBatch::output() const {
  return program_.output == FrameOutput::kRecords ? records_.as<std::uint64_t>()
                                                  : outputs_.as<std::uint64_t>();
}
std::uint64_t* FrameBatch::output() {
  return program_.output == FrameOutput::kRecords ? records_.as<std::uint64_t>()
                                                  : outputs_.as<std::uint64_t>();
}

void FrameBatch::run(std::uint64_t seed, std::uint64_t first_unit, const std::uint64_t* sweep) {
  const std::size_t row = num_shots_ / 8;
  std::memset(frames_.data(), 0, 2 * row * program_.num_slots);
  if (program_.has_leakage) {
    std::memset(leaked_.data(), 0, row * program_.num_slots);
    std::memset(units_leaked_.data(), 0, mask_words(num_shots_ / 32) * 8 * program_.num_slots);
  }
  if (program_.output == FrameOutput::kDetectors) {
    std::memset(outputs_.as<std::uint8_t>() + row * program_.num_detectors, 0,
                row * program_.num_observables);
  }
  Vec* scratch = scratch_.as<Vec>();
  std::memset(scratch_.data(), 0, row);
  Batch b{program_,
          frames_.as<Vec>(),
          program_.has_leakage ? leaked_.as<Vec>() : nullptr,
          program_.has_leakage ? units_leaked_.as<std::uint64_t>() : nullptr,
          records_.as<Vec>(),
          outputs_.as<Vec>(),
          scratch,
          sweep,
          num_shots_ / 512,
          num_shots_ / 32,
          static_cast<std::uint32_t>(seed),
          static_cast<std::uint32_t>(seed >> 32),
          first_unit};
  const std::uint32_t vecs = num_shots_ / 512;
  ForThisCpu<run_body>::call(b, scratch + vecs);
}

}  // namespace tilewave::stabilizer
