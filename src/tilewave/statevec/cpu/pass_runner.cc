#include "tilewave/statevec/cpu/pass_runner.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/caches.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/tile_program.h"

namespace tilewave::statevec::cpu {

namespace {

// e^{2 pi i turns / 2^64}: two table lookups of 2^10 entries and a short series for the rest (below
// 6e-6 rad).
class TurnTable {
 public:
  TurnTable() {
    for (int k = 0; k < kSize; ++k) {
      coarse_[k] = exact(static_cast<long double>(k) / kSize);
      fine_[k] = exact(static_cast<long double>(k) / kSize / kSize);
    }
  }
  Complex<double> operator()(std::uint64_t turns) const {
    const double rest =
        static_cast<double>(turns & low_mask(44)) * (0x1p-64 * 2 * std::numbers::pi);
    const Complex<double> c = coarse_[turns >> 54] * fine_[turns >> 44 & (kSize - 1)];
    return c * Complex<double>{1 - 0.5 * rest * rest, rest * (1 - rest * rest / 6)};
  }

 private:
  static constexpr int kSize = 1024;
  static Complex<double> exact(long double turn) {
    const long double angle = 2 * std::numbers::pi_v<long double> * turn;
    return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
  }
  std::array<Complex<double>, kSize> coarse_, fine_;
};

const TurnTable& turn_table() {
  static const TurnTable table;
  return table;
}

// Scratch tables of a phase block.
template <class T>
struct PhaseScratch {
  alignas(64) T tables[kMaxRowBits + 1][2 * kRowLength];
  alignas(64) T scalars[2 << kMaxRowBits];
};

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

// Gathers phases that are linear in the bits of a number.
class LinearSum {
 public:
  void join(Complex<double> z) { scale_ = scale_ * z; }
  void join(int bit_index, Complex<double> z) {
    z_[bit_index] = used_ >> bit_index & 1 ? z_[bit_index] * z : z;
    used_ |= 1u << bit_index;
  }
  template <class T>
  LinearPhases<T> phases() const {
    LinearPhases<T> p;
    const auto as_t = [](Complex<double> z) {
      return Complex<T>{static_cast<T>(z.re), static_cast<T>(z.im)};
    };
    p.scale = as_t(scale_);
    p.used = used_;
    for (std::uint32_t left = used_; left; left &= left - 1) {
      const int j = std::countr_zero(left);
      p.z[j] = as_t(z_[j]);
    }
    return p;
  }

 private:
  Complex<double> scale_{1, 0}, z_[kMaxRowBits];
  std::uint32_t used_ = 0;
};

// The factor's table under the terms that hold at `index`: its own table where none does, otherwise
// `out`; null when it is 1.
template <class T>
const T* factor_table(const BlockKernels<T>& kernels, const typename PhaseProgram<T>::Factor& f,
                      std::uint64_t index, T* out) {
  LinearSum sum;
  bool any = false, general = false;
  for (const auto& term : f.dynamic) {
    if ((index & term.outside) != term.outside) continue;
    any = true;
    if (term.low == 0) {
      sum.join(term.z);
    } else if (std::has_single_bit(term.low)) {
      sum.join(std::countr_zero(term.low), term.z);
    } else {
      general = true;
    }
  }
  const T* table = f.has_table ? f.table.data() : nullptr;
  if (!any) return table;
  if (general) {  // two low bits and one outside, or more: element by element
    const TurnTable& turn = turn_table();
    for (std::uint32_t a = 0; a < kRowLength; ++a) {
      std::uint64_t turns = 0;
      for (const auto& term : f.dynamic) {
        if ((index & term.outside) == term.outside && (a & term.low) == term.low)
          turns += term.turns;
      }
      const Complex<double> z = turn(turns) * Complex<double>{f.table[a], f.table[kRowLength + a]};
      out[a] = static_cast<T>(z.re);
      out[kRowLength + a] = static_cast<T>(z.im);
    }
    return out;
  }
  kernels.linear_phases(sum.phases<T>(), kLowBits, table, out);
  return out;
}

// Factors of whole rows under the terms that hold at `index`.
template <class T>
const T* row_scalars(const BlockKernels<T>& kernels, const PhaseProgram<T>& program, int num_bits,
                     std::uint64_t index, T* out) {
  LinearSum linear;
  bool any = false, general = false;
  for (const auto& term : program.dynamic_scalars) {
    if ((index & term.outside) != term.outside) continue;
    any = true;
    if (std::has_single_bit(term.rows)) {
      linear.join(std::countr_zero(term.rows), term.z);
    } else {
      general = true;
    }
  }
  const T* scalars = program.scalars.empty() ? nullptr : program.scalars.data();
  if (!any) return scalars;
  kernels.linear_phases(linear.phases<T>(), num_bits, scalars, out);
  if (!general) return out;
  const std::uint32_t count = 1u << num_bits;
  T* re = out;
  T* im = out + count;
  const auto multiply = [&](std::uint32_t r, Complex<T> z) {
    const Complex<T> product = Complex<T>{re[r], im[r]} * z;
    re[r] = product.re;
    im[r] = product.im;
  };
  for (std::uint32_t r = 0; r < count; ++r) {
    std::uint64_t sum = 0;
    for (const auto& term : program.dynamic_scalars) {
      if ((index & term.outside) == term.outside && (r & term.rows) == term.rows &&
          !std::has_single_bit(term.rows)) {
        sum += term.turns;
      }
    }
    const Complex<double> z = turn_table()(sum);
    multiply(r, {static_cast<T>(z.re), static_cast<T>(z.im)});
  }
  return out;
}

template <class T>
void run_layer(const BlockKernels<T>& kernels, T* tile, BlockRows rows, const Layer<T>& layer,
               std::uint64_t index, PhaseScratch<T>& scratch) {
  if (!layer.has_phase) {
    kernels.layer(tile, rows, layer.lifts, nullptr);
    return;
  }
  const PhaseProgram<T>& program = layer.phase;
  PhaseStep<T> step;
  bool any = false;
  const auto table_of = [&](const typename PhaseProgram<T>::Factor& factor, T* out) -> const T* {
    if (factor.is_one()) return nullptr;
    const T* table = factor_table<T>(kernels, factor, index, out);
    any |= table != nullptr;
    return table;
  };
  step.root = table_of(program.root, scratch.tables[kMaxRowBits]);
  for (int b = 0; b < rows.num_bits; ++b)
    step.bit_tables[b] = table_of(program.bits[program.bit_order[b]], scratch.tables[b]);
  step.order = program.order.data();
  if (!program.scalar_class.empty()) step.scalar_class = program.scalar_class.data();
  if (program.has_scalars) {
    step.scalars = row_scalars(kernels, program, rows.num_bits, index, scratch.scalars);
    any |= step.scalars != nullptr;
  }
  // degree three and more inside the block
  for (std::uint32_t r = 0; !program.plain.empty() && r < 1u << rows.num_bits; ++r) {
    T* row = tile + (static_cast<std::size_t>(rows.rows[r] ^ rows.outer) << (kLowBits + 1));
    for (std::uint32_t a = 0; a < kRowLength; ++a) {
      std::uint64_t sum = 0;
      for (const auto& term : program.plain) {
        if ((index & term.outside) == term.outside && (r & term.rows) == term.rows &&
            (a & term.low) == term.low) {
          sum += term.turns;
        }
      }
      if (!sum) continue;
      const Complex<double> z = turn_table()(sum);
      const Complex<T> product = Complex<T>{row[a], row[kRowLength + a]} *
                                 Complex<T>{static_cast<T>(z.re), static_cast<T>(z.im)};
      row[a] = product.re;
      row[kRowLength + a] = product.im;
    }
  }
  if (any || layer.lifts.mask) kernels.layer(tile, rows, layer.lifts, any ? &step : nullptr);
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
          case 1:
            kernels.row_flip(tile, rows, std::get<1>(s.step));
            break;
          case 2:
            kernels.masked_flip(tile, rows, std::get<2>(s.step));
            break;
          case 3:
            kernels.pair(tile, rows, std::get<3>(s.step));
            break;
          default:
            kernels.dense(tile, rows, std::get<4>(s.step));
            break;
        }
      }
    }
  }
}

// Works on the tile at `base`; while it is stored, the rows of the tile at `next` are fetched.
template <class T>
void run_tile(const BlockKernels<T>& kernels, const Pass& pass, const TileProgram<T>& program,
              const Addressing& at, Complex<T>* amps, std::uint64_t base, std::uint64_t next,
              T* tile, PhaseScratch<T>& scratch) {
  T* state = reinterpret_cast<T*>(amps);
  const std::size_t size = std::size_t{1} << at.load_bits;
  Chunks from;
  from.base = Address<T>::of(base);
  from.offset = at.load_offset.data();
  from.place = at.load_place.data();
  from.shift = Addressing::sum(at.load_outside, base);
  from.count = at.load_offset.size();
  from.bits = at.load_bits;
  if (pass.known_zero_before == 0) {
    kernels.load(state, tile, from);
  } else {
    for (std::size_t c = 0; c < from.count; ++c) {
      T* to = tile + (at.load_place[c] ^ from.shift);
      if (at.load_zero[c]) {
        std::memset(to, 0, size * sizeof(T));
        std::memset(to + kRowLength, 0, size * sizeof(T));
        continue;
      }
      Chunks one = from;
      one.offset += c, one.place += c, one.count = 1;
      kernels.load(state, tile, one);
      for (std::size_t x = 0; at.low_zero && x < size; ++x) {
        if (x & at.low_zero) to[x] = to[kRowLength + x] = 0;
      }
    }
  }
  run_steps(kernels, tile, program, base, scratch);
  Chunks to = from, ahead = from;
  to.offset = at.store_offset.data();
  to.place = at.store_place.data();
  to.shift = Addressing::sum(at.store_outside, base);
  if (at.store != Addressing::Store::kStraight) to.table = at.inside.data();
  to.inside_row = at.store == Addressing::Store::kInsideRow;
  ahead.base = Address<T>::of(next);
  kernels.store(tile, state, to, ahead, static_cast<T>(pass.scale.real()),
                static_cast<T>(pass.scale.imag()));
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

template <class T>
struct PreparedPass {
  Addressing at;
  TileProgram<T> program;
};

std::size_t bytes_of(const Addressing& at) {
  return sizeof at + 8 * (at.load_offset.size() + at.store_offset.size()) +
         4 * (at.load_place.size() + at.store_place.size() + at.inside.size()) +
         sizeof at.load_outside[0] * (at.load_outside.size() + at.store_outside.size());
}

int block_row_bits(bool is_double) {
  static const bool in_first_level = [] {
    const std::size_t bytes = runtime::cache_sizes().first_level_bytes;
    return bytes == 0 || bytes >= kFirstLevelOfBlocks;
  }();
  if (in_first_level) return is_double ? kBlockRowBitsDouble : kBlockRowBitsSingle;
  return is_double ? kTileRowBitsDouble : kTileRowBitsSingle;
}

// The pass must be one of the plan's.
template <class T>
std::shared_ptr<const PreparedPass<T>> prepare(const Plan& plan, const Pass& pass) {
  const auto index = static_cast<std::size_t>(&pass - plan.passes.data());
  KeptPasses* kept = plan.num_qubits <= kMostQubitsKept ? plan.kept.get() : nullptr;
  if (kept) {
    if (auto found = kept->find<PreparedPass<T>>(index)) return found;
  }
  constexpr bool kDouble = sizeof(T) == 8;
  auto made = std::make_shared<PreparedPass<T>>();
  Pass work = pass;  // what is left once the movement has taken its part
  made->at = make_addressing(work, plan.terms, kDouble);
  made->program = make_tile_program<T>(plan, work, block_row_bits(kDouble));
  if (kept) kept->keep<PreparedPass<T>>(index, made, bytes_of(made->program) + bytes_of(made->at));
  return made;
}

}  // namespace

std::uint64_t scratch_bytes_per_thread() {
  return (std::uint64_t{16} << kMaxTileBits) + (std::uint64_t{1} << 20);
}

template <class T>
void run_pass(const Plan& plan, const Pass& pass, Complex<T>* amps, int num_threads) {
  if (plan.num_qubits < kLowBits) {
    run_small(plan, pass, amps);
    return;
  }
  TW_CHECK(static_cast<int>(pass.active.size()) >= kLowBits,
           "a pass has too few active positions for the CPU");
  const BlockKernels<T>& kernels = block_kernels(T{});
  const auto prepared = prepare<T>(plan, pass);
  const Addressing& at = prepared->at;
  const TileProgram<T>& program = prepared->program;
  std::uint64_t active = 0;
  for (int p : pass.active) active |= bit(p);
  const std::uint64_t free = low_mask(plan.num_qubits) & ~active & ~pass.known_zero_before;
  const std::uint64_t num_tiles = bit(std::popcount(free));
  const int threads =
      static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(num_threads), num_tiles));
  // Cores are not equally fast where others use them too: eight shares a thread, the next one taken
  // by whoever is done (4% over 7 measurements of 23 qubits; 32 shares are slower on ghz).
  const std::uint64_t share =
      std::max<std::uint64_t>(1, num_tiles / (8 * static_cast<std::uint64_t>(threads)));
  std::exception_ptr failure;
#pragma omp parallel num_threads(threads)
  {
    Workspace<T>* w = nullptr;
    try {
      w = &workspace<T>(std::size_t{2} << at.num_slots);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
#pragma omp barrier
#pragma omp for schedule(dynamic, share)
    for (std::uint64_t t = 0; t < num_tiles; ++t) {
      if (failure) continue;
      const std::uint64_t next = t + 1 < num_tiles ? t + 1 : t;
      run_tile(kernels, pass, program, at, amps, deposit_bits(t, free), deposit_bits(next, free),
               w->tile.template as<T>(), w->scratch);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

template void run_pass<float>(const Plan&, const Pass&, Complex<float>*, int);
template void run_pass<double>(const Plan&, const Pass&, Complex<double>*, int);

}  // namespace tilewave::statevec::cpu
