// Matrices on two register bits, factored where that is possible, and on any slots through shared
// memory.
#include <algorithm>
#include <cmath>

#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

namespace {

/// A 4x4 matrix becomes its factors L D U; false when a pivot is small.
bool factor_in_place(std::vector<cplx>& f, Precision precision) {
  const double largest = precision == Precision::kDouble ? 100 : 8;
  const auto at = [&f](int i, int j) -> cplx& { return f[static_cast<std::size_t>(4 * i + j)]; };
  for (int k = 0; k < 4; ++k) {
    const cplx pivot = at(k, k);
    for (int i = k + 1; i < 4; ++i) {
      if (!(std::abs(at(i, k)) <= largest * std::abs(pivot)) ||
          !(std::abs(at(k, i)) <= largest * std::abs(pivot)) || pivot == cplx{}) {
        return false;
      }
      at(i, k) /= pivot;
    }
    for (int i = k + 1; i < 4; ++i) {
      for (int j = k + 1; j < 4; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
    for (int j = k + 1; j < 4; ++j) at(k, j) /= pivot;
  }
  return true;
}

/// With the entries of its targets the other way round.
std::vector<cplx> swapped_targets(const std::vector<cplx>& m) {
  const auto at = [](std::size_t i) { return i >> 1 | (i & 1) << 1; };
  std::vector<cplx> out(16);
  for (std::size_t k = 0; k < 16; ++k) out[k] = m[at(k / 4) * 4 + at(k % 4)];
  return out;
}

}  // namespace

/// The matrix of an operation on stored amplitudes: D^-1 M D with D the magnitudes of its targets.
std::vector<cplx> Emitter::scaled_matrix(const SlotOp& op) const {
  const std::size_t dim = std::size_t{1} << op.num_targets;
  std::vector<double> d(dim, 1);
  for (std::size_t i = 0; i < dim; ++i) {
    for (int t = 0; t < op.num_targets; ++t) d[i] *= i >> t & 1 ? magnitude_[op.targets[t]] : 1;
  }
  std::vector<cplx> m(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      const std::size_t at = i * dim + j;
      m[at] = op.kind == OpKind::kRotate ? cplx(op.action->m[at])
                                         : plan_.matrices[op.action->first + at];
      m[at] *= d[j] / d[i];
    }
  }
  return m;
}

/// Writes a 4x4 matrix as L D U when no pivot is small; the first pivot becomes part of the scale.
bool Emitter::factored_matrix(std::vector<cplx> f, std::uint32_t code) {
  if (!factor_in_place(f, shape_.precision)) return false;
  // Many small pivots in a row may not take the stored amplitudes out of the range of a float.
  constexpr double kRange = 1e12;
  const cplx scale = cplx(out_.frame.scale_re, out_.frame.scale_im) * f[0];
  OpHead head;
  if (std::abs(scale) > 1 / kRange && std::abs(scale) < kRange) {
    out_.frame.scale_re = scale.real();
    out_.frame.scale_im = scale.imag();
    for (std::size_t k = 1; k < 4; ++k) f[5 * k] /= f[0];
    f[0] = 1;
  } else {
    head.word |= OpWord::index(1);
  }
  std::vector<std::byte> payload;
  for (cplx z : f) put(payload, z);
  pay(&OpCosts::factored2);
  emit(code, head, {}, std::move(payload));
  return true;
}

/// A 4x4 matrix on two register bits.
void Emitter::matrix2(const SlotOp& op, const OpHead& head, const OpControls& controls) {
  const auto bit0 = static_cast<std::uint32_t>(layout_->bit_of[op.targets[0]]),
             bit1 = static_cast<std::uint32_t>(layout_->bit_of[op.targets[1]]);
  const bool swapped = bit0 > bit1;
  const std::uint32_t low = std::min(bit0, bit1), high = std::max(bit0, bit1);
  const std::uint32_t pair = high * (high - 1) / 2 + low;
  std::vector<cplx> m = scaled_matrix(op);
  if (swapped) m = swapped_targets(m);
  if (!op.control_mask && !op.tile_mask && factored_matrix(m, kFactored2 + pair)) return;
  std::vector<std::byte> payload;
  for (std::size_t i = 0; i < 4; ++i) {
    for (int part = 0; part < 3; ++part) {
      for (std::size_t j = 0; j < 4; ++j) {
        const cplx z = m[i * 4 + j];
        put(payload, part == 0 ? z.real() : part == 1 ? z.real() + z.imag() : z.imag() - z.real());
      }
    }
  }
  pay(&OpCosts::matrix2);
  emit(kMatrix2 + pair, head, controls, std::move(payload));
}

void Emitter::shared_matrix(const SlotOp& op, const OpHead& head, const OpControls& controls) {
  SharedMatrix m;
  std::vector<std::byte> entries;
  for (cplx z : scaled_matrix(op)) put(entries, z);
  m.matrix = place(entries);
  m.num_targets = op.num_targets;
  for (int t = 0; t < op.num_targets; ++t) {
    m.target_column[t] = layout_->column[op.targets[t]];
    m.target_bit[t] = static_cast<std::uint32_t>(layout_->bit_of[op.targets[t]]);
  }
  for (int b = 0; b < shape_.register_bits; ++b) {
    m.register_column[b] = layout_->column[layout_->register_slot[static_cast<std::size_t>(b)]];
  }
  std::vector<std::byte> payload;
  append(payload, &m, sizeof m);
  emit(kMatrixShared, head, controls, std::move(payload));
}

}  // namespace tilewave::statevec::tile::detail
