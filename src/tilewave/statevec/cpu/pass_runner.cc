#include "tilewave/statevec/cpu/pass_runner.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/shares.h"
#include "tilewave/runtime/team.h"
#include "tilewave/runtime/waiting.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/layer_runner.h"
#include "tilewave/statevec/cpu/row_moves.h"
#include "tilewave/statevec/cpu/tile_program.h"

namespace tilewave::statevec::cpu {

namespace {

// What a thread owns: a tile, and tables of phase blocks.
template <class T>
struct Workspace {
  runtime::HostBuffer tile;
  PhaseScratch<T> scratch;
};

constexpr std::size_t kHugePage = std::size_t{2} << 20;  // one translation for the whole tile

template <class T>
Workspace<T>& workspace(std::size_t tile_elements) {
  static thread_local Workspace<T> w;
  if (w.tile.num_bytes() < tile_elements * sizeof(T))
    w.tile = runtime::HostBuffer(std::max(tile_elements * sizeof(T), kHugePage));
  return w;
}

template <class T>
void run_steps(const BlockKernels<T>& kernels, T* tile, const TileProgram<T>& program,
               std::uint64_t tile_index, PhaseScratch<T>& scratch) {
  for (const BlockPhase<T>& phase : program.phases) {
    for (std::size_t o = 0; o < phase.outer.size(); ++o) {
      const BlockRows rows{phase.rows.data(), phase.num_row_bits, phase.outer[o]};
      const std::uint64_t index = tile_index | phase.outer_index[o];
      for (const BlockStep<T>& s : phase.steps) {
        if ((index & s.outside_mask) != s.outside_value) continue;
        switch (s.step.index()) {
          case 0:
            run_layer(kernels, tile, rows, std::get<0>(s.step), index, scratch);
            break;
          case 5:
            run_sweep(kernels, tile, rows, std::get<5>(s.step), index, scratch);
            break;
          case 1:
            kernels.row_flip(tile, rows, std::get<1>(s.step));
            break;
          case 2:
            kernels.masked_flip(tile, rows, std::get<2>(s.step));
            break;
          case 3:
            kernels.pair(tile, rows, std::get<3>(s.step));
            break;
          case 6:
            kernels.factored(tile, rows, std::get<6>(s.step));
            break;
          default:
            kernels.dense(tile, rows, std::get<4>(s.step));
            break;
        }
      }
    }
  }
}

template <class T>
struct PreparedPass {
  Addressing at;
  TileProgram<T> program;            // what comes then
  std::optional<RowMoves<T>> moves;  // all it does, without the others
};

// Works on the tile at `base`; while it is stored, the rows of the tile at `next` are fetched.
template <class T>
void run_tile(const BlockKernels<T>& kernels, const Pass& pass, const PreparedPass<T>& prepared,
              Complex<T>* amps, std::uint64_t base, std::uint64_t next, T* tile,
              PhaseScratch<T>& scratch) {
  const Addressing& at = prepared.at;
  T* state = reinterpret_cast<T*>(amps);
  const std::size_t size = std::size_t{1} << at.load_bits;
  const Chunks from = load_chunks<T>(at, base), ahead = load_chunks<T>(at, next);
  if (pass.known_zero_before == 0) {
    kernels.load(state, tile, from, ahead);
  } else {
    for (std::size_t c = 0; c < from.count; ++c) {
      T* to = tile + (at.load_place[c] ^ from.shift);
      if (at.load_zero[c]) {
        std::memset(to, 0, size * sizeof(T));
        std::memset(to + kRowLength, 0, size * sizeof(T));
        continue;
      }
      Chunks one = from, one_ahead = ahead;
      one.offset += c, one.place += c, one.count = 1;
      one_ahead.offset += c;
      kernels.load(state, tile, one, one_ahead);
      for (std::size_t x = 0; at.low_zero && x < size; ++x) {
        if (x & at.low_zero) to[x] = to[kRowLength + x] = 0;
      }
    }
  }
  run_steps(kernels, tile, prepared.program, base, scratch);
  const cplx scale = pass.scale * prepared.program.scale;
  kernels.store(tile, state, store_chunks<T>(at, base), ahead, static_cast<T>(scale.real()),
                static_cast<T>(scale.imag()));
}

// States below one row, and only these: every action directly on the amplitudes.
template <class T>
void run_small(const Plan& plan, const Pass& pass, Complex<T>* amps) {
  using Z = std::complex<double>;
  std::vector<Z> a(bit(plan.num_qubits));
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    if (!(p & pass.known_zero_before))
      a[p] = {static_cast<double>(amps[p].re), static_cast<double>(amps[p].im)};
  }
  std::vector<Z> in, m;
  for (const Action& x : pass.actions) {
    const auto turn = [](std::uint64_t turns) {
      const Complex<double> z = turn_table()(turns);
      return Z{z.re, z.im};
    };
    if (x.kind == ActionKind::kPhase) {
      for (std::uint64_t p = 0; p < a.size(); ++p) {
        std::uint64_t sum = 0;
        for (std::uint32_t t = x.first; t < x.first + x.count; ++t) {
          if ((p & plan.terms[t].mask) == plan.terms[t].mask) sum += plan.terms[t].turns;
        }
        a[p] *= turn(sum);
      }
      continue;
    }
    switch (x.kind) {
      case ActionKind::kLift: {
        const Z pre = turn(x.pre_turns);
        m = {1, -x.m[0] * pre, x.m[0], pre};
        break;
      }
      case ActionKind::kFlip:
        m = {0, 1, 1, 0};
        break;
      case ActionKind::kRotate:
        m = {x.m[0], x.m[1], x.m[2], x.m[3]};
        break;
      default:
        m.assign(plan.matrices.begin() + x.first,
                 plan.matrices.begin() + x.first + (std::int64_t{1} << (2 * x.num_targets)));
    }
    const std::size_t dim = std::size_t{1} << x.num_targets;
    const std::uint64_t targets = x.target_mask();
    in.resize(dim);
    for (std::uint64_t p = 0; p < a.size(); ++p) {
      if ((p & targets) || (p & x.control_mask) != x.control_value) continue;
      const auto at = [&](std::size_t k) {
        std::uint64_t y = p;
        for (int j = 0; j < x.num_targets; ++j) y |= (k >> j & 1) << x.targets[j];
        return y;
      };
      for (std::size_t k = 0; k < dim; ++k) in[k] = a[at(k)];
      for (std::size_t i = 0; i < dim; ++i) {
        Z sum = 0;
        for (std::size_t k = 0; k < dim; ++k) sum += m[i * dim + k] * in[k];
        a[at(i)] = sum;
      }
    }
  }
  for (std::uint64_t p = 0; p < a.size(); ++p) {
    std::uint64_t to = 0;
    for (std::size_t s = 0; s < pass.active.size(); ++s)
      to |= (p >> pass.active[s] & 1) << pass.dest[s];
    const Z z = a[p] * pass.scale;
    amps[to ^ pass.store_flips] = {static_cast<T>(z.real()), static_cast<T>(z.imag())};
  }
}

// States up to here: a pass takes about as long as its tables, which are then kept with the plan.
constexpr int kMostQubitsKept = 16;

std::size_t bytes_of(const Addressing& at) {
  return sizeof at + 8 * (at.load_offset.size() + at.store_offset.size()) +
         4 * (at.load_place.size() + at.store_place.size() + at.inside.size()) +
         sizeof at.load_outside[0] * (at.load_outside.size() + at.store_outside.size());
}

// The pass must be one of the plan's.
template <class T>
std::shared_ptr<const PreparedPass<T>> prepare(const Plan& plan, const Pass& pass,
                                               KeptPasses* tables) {
  const auto index = static_cast<std::size_t>(&pass - plan.passes.data());
  KeptPasses* kept = plan.num_qubits <= kMostQubitsKept ? tables : nullptr;
  if (kept) {
    if (auto found = kept->find<PreparedPass<T>>(index)) return found;
  }
  constexpr bool kDouble = sizeof(T) == 8;
  auto made = std::make_shared<PreparedPass<T>>();
  Pass work = pass;  // what is left once the movement has taken its part
  const Movement movement = take_movement(work, plan.terms, kDouble);
  if (const auto map = row_map(plan, work, movement)) {
    made->moves.emplace(*map, static_cast<T>(pass.scale.real()));
  } else {
    TW_CHECK(work.active.size() <= kMaxTileBits, "a pass has too many active positions");
    made->at = make_addressing(work, movement, kDouble);
    made->program = make_tile_program<T>(plan, work, block_row_bits(kDouble));
  }
  if (kept) {
    kept->keep<PreparedPass<T>>(index, made,
                                bytes_of(made->program) + bytes_of(made->at) +
                                    (made->moves ? made->moves->num_bytes() : 0));
  }
  return made;
}

constexpr int kMovePartBits = 15;  // at least, of lists of cycles

// Of as many as there are parts, each of 2^part_bits amplitudes.
int threads_for(std::uint64_t parts, int part_bits, int num_threads) {
  if (parts << part_bits < kSharedAmplitudes) return 1;
  return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(num_threads), parts));
}

template <class T>
void run_tiles(const BlockKernels<T>& kernels, const PreparedPass<T>& prepared, const Pass& pass,
               int num_qubits, Complex<T>* amps, int num_threads) {
  const Addressing& at = prepared.at;
  std::uint64_t active = 0;
  for (int p : pass.active) active |= bit(p);
  const std::uint64_t free = low_mask(num_qubits) & ~active & ~pass.known_zero_before;
  const std::uint64_t num_tiles = bit(std::popcount(free));
  const int threads = threads_for(num_tiles, at.num_slots, num_threads);
  runtime::Shares shares(num_tiles, threads);
  runtime::TeamTimer timer(threads);
  StopFlag stop;
  std::exception_ptr failure;
  runtime::on_team(threads, [&](int thread) {
    Workspace<T>* w = nullptr;
    try {
      w = &workspace<T>(std::size_t{2} << at.num_slots);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
    if (threads > 1) {
#pragma omp barrier
    }
    timer.ready(thread);
    std::uint64_t following = num_tiles, base = 0;  // the tile after the last one, and where it is
    while (!failure && !stop.wanted()) {
      const auto t = shares.take(thread);
      if (!t) break;
      if (*t != following) base = deposit_bits(*t, free);
      following = *t + 1;
      const std::uint64_t next = following < num_tiles ? ((base | ~free) + 1) & free : base;
      run_tile(kernels, pass, prepared, amps, base, next, w->tile.template as<T>(), w->scratch);
      base = next;
    }
    timer.done(thread);
  });
  if (failure) std::rethrow_exception(failure);
  stop.rethrow();
}

template <class T>
void move_all(const BlockKernels<T>& kernels, const RowMoves<T>& moves, Complex<T>* amps,
              int num_threads) {
  const std::uint64_t parts = moves.num_parts();
  if (parts == 0) return;
  const int threads = threads_for(parts, kMovePartBits, num_threads);
  runtime::Shares shares(parts, threads);
  StopFlag stop;
  {
    runtime::TeamTimer timer(threads);
    runtime::on_team(threads, [&](int thread) {
      while (!stop.wanted()) {
        const auto part = shares.take(thread);
        if (!part) break;
        moves.run(kernels, amps, *part);
      }
      timer.done(thread);
    });
  }
  stop.rethrow();
}

}  // namespace

int block_row_bits(bool is_double) {
  static const bool in_first_level = [] {
    const std::size_t bytes = runtime::cache_sizes().first_level_bytes;
    return bytes == 0 || bytes >= kFirstLevelOfBlocks;
  }();
  if (in_first_level) return is_double ? kBlockRowBitsDouble : kBlockRowBitsSingle;
  return is_double ? kTileRowBitsDouble : kTileRowBitsSingle;
}

std::uint64_t scratch_bytes_per_thread() {
  return (std::uint64_t{16} << kMaxTileBits) + (std::uint64_t{1} << 20);
}

template <class T>
void run_pass(const Plan& plan, const Pass& pass, Complex<T>* amps, int num_threads,
              KeptPasses* tables) {
  if (plan.num_qubits < kLowBits) {
    run_small(plan, pass, amps);
    return;
  }
  TW_CHECK(static_cast<int>(pass.active.size()) >= kLowBits,
           "a pass has too few active positions for the CPU");
  const BlockKernels<T>& kernels = block_kernels(T{});
  const auto prepared = prepare<T>(plan, pass, tables);
  if (prepared->moves) {
    move_all(kernels, *prepared->moves, amps, num_threads);
  } else {
    run_tiles(kernels, *prepared, pass, plan.num_qubits, amps, num_threads);
  }
}

template void run_pass<float>(const Plan&, const Pass&, Complex<float>*, int, KeptPasses*);
template void run_pass<double>(const Plan&, const Pass&, Complex<double>*, int, KeptPasses*);

}  // namespace tilewave::statevec::cpu
