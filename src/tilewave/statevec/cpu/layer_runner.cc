#include "tilewave/statevec/cpu/layer_runner.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <span>

namespace tilewave::statevec::cpu {

namespace {

Complex<double> exact_unit(long double turn) {
  const long double angle = 2 * std::numbers::pi_v<long double> * turn;
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
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
const T* factor_table(const BlockKernels<T>& kernels, const ColumnPhases<T>& f, std::uint64_t index,
                      T* out) {
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
const T* row_scalars(const BlockKernels<T>& kernels, const RowPhases<T>& phases, int num_bits,
                     std::uint64_t index, T* out) {
  LinearSum linear;
  bool any = false, general = false;
  for (const auto& term : phases.dynamic) {
    if ((index & term.outside) != term.outside) continue;
    any = true;
    if (term.rows == 0) {
      linear.join(term.z);
    } else if (std::has_single_bit(term.rows)) {
      linear.join(std::countr_zero(term.rows), term.z);
    } else {
      general = true;
    }
  }
  const T* scalars = phases.table.empty() ? nullptr : phases.table.data();
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
    for (const auto& term : phases.dynamic) {
      if ((index & term.outside) == term.outside && (r & term.rows) == term.rows &&
          std::popcount(term.rows) > 1) {
        sum += term.turns;
      }
    }
    const Complex<double> z = turn_table()(sum);
    multiply(r, {static_cast<T>(z.re), static_cast<T>(z.im)});
  }
  return out;
}

}  // namespace

TurnTable::TurnTable() {
  for (int k = 0; k < kSize; ++k) {
    coarse_[k] = exact_unit(static_cast<long double>(k) / kSize);
    fine_[k] = exact_unit(static_cast<long double>(k) / kSize / kSize);
  }
}

const TurnTable& turn_table() {
  static const TurnTable table;
  return table;
}

template <class T>
void run_layer(const BlockKernels<T>& kernels, T* tile, BlockRows rows, const Layer<T>& layer,
               std::uint64_t index, PhaseScratch<T>& scratch) {
  RowLink<T> links[kMaxLinks];
  const std::span<const RowLink<T>> used_links{links, layer.links.size()};
  for (std::size_t l = 0; l < layer.links.size(); ++l) {
    const LinkProgram<T>& link = layer.links[l];
    links[l] = {factor_table<T>(kernels, link.phases, index, scratch.links[l]), link.columns,
                &link.lifts};
  }
  if (!layer.has_phase) {
    kernels.layer(tile, rows, layer.lifts, nullptr, used_links);
    return;
  }
  const PhaseProgram<T>& program = layer.phase;
  PhaseStep<T> step;
  bool any = layer.weighs;  // kernels weigh lifts after phases only
  const auto table_of = [&](const ColumnPhases<T>& factor, T* out) -> const T* {
    if (factor.is_one()) return nullptr;
    const T* table = factor_table<T>(kernels, factor, index, out);
    any |= table != nullptr;
    return table;
  };
  step.root = table_of(program.root, scratch.tables[kMaxRowBits]);
  const RowOrder& order = program.order;
  for (int j = 0; j < order.num_bits; ++j)
    step.bit_tables[j] = table_of(program.bits[order.bits[j]], scratch.tables[order.bits[j]]);
  step.order = order.rows.data();
  step.runs = order.runs.data();
  step.scalars = row_scalars(kernels, program.scalars, rows.num_bits, index, scratch.scalars);
  any |= step.scalars != nullptr;
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
  if (any || layer.lifts.mask || !layer.links.empty())
    kernels.layer(tile, rows, layer.lifts, any ? &step : nullptr, used_links);
}

template <class T>
void run_sweep(const BlockKernels<T>& kernels, T* tile, BlockRows rows,
               const SweepProgram<T>& sweep, std::uint64_t index, PhaseScratch<T>& scratch) {
  SweepStep<T> step = sweep.step;
  step.before = row_scalars(kernels, sweep.before, rows.num_bits, index, scratch.scalars);
  for (int k = 0; k < step.num_bits; ++k)
    step.after[k] = row_scalars(kernels, sweep.after[k], step.num_bits, index, scratch.groups[k]);
  kernels.sweep(tile, rows, step);
}

template void run_layer<float>(const BlockKernels<float>&, float*, BlockRows, const Layer<float>&,
                               std::uint64_t, PhaseScratch<float>&);
template void run_layer<double>(const BlockKernels<double>&, double*, BlockRows,
                                const Layer<double>&, std::uint64_t, PhaseScratch<double>&);
template void run_sweep<float>(const BlockKernels<float>&, float*, BlockRows,
                               const SweepProgram<float>&, std::uint64_t, PhaseScratch<float>&);
template void run_sweep<double>(const BlockKernels<double>&, double*, BlockRows,
                                const SweepProgram<double>&, std::uint64_t, PhaseScratch<double>&);

}  // namespace tilewave::statevec::cpu
