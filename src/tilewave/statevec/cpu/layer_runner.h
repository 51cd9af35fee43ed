// Layers and sweeps of a tile program on one block: factors that depend on where the block lies are
// made, then the kernels run.
#pragma once

#include <array>
#include <cstdint>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/tile_program.h"

namespace tilewave::statevec::cpu {

// e^{2 pi i turns / 2^64}: two table lookups of 2^10 entries and a short series for the rest (below
// 6e-6 rad).
class TurnTable {
 public:
  TurnTable();
  Complex<double> operator()(std::uint64_t turns) const {
    const double rest =
        static_cast<double>(turns & low_mask(44)) * (0x1p-64 * 2 * std::numbers::pi);
    const Complex<double> c = coarse_[turns >> 54] * fine_[turns >> 44 & (kSize - 1)];
    return c * Complex<double>{1 - 0.5 * rest * rest, rest * (1 - rest * rest / 6)};
  }

 private:
  static constexpr int kSize = 1024;
  std::array<Complex<double>, kSize> coarse_, fine_;
};

const TurnTable& turn_table();

/// Scratch tables of a step.
template <class T>
struct PhaseScratch {
  alignas(64) T tables[kMaxRowBits + 1][2 * kRowLength];
  alignas(64) T links[kMaxLinks][2 * kRowLength];
  alignas(64) T scalars[2 << kMaxRowBits];
  alignas(64) T groups[kSweepBits][2 << kSweepBits];
};

/// `index`: the bits of the block's amplitudes outside it.
template <class T>
void run_layer(const BlockKernels<T>& kernels, T* tile, BlockRows rows, const Layer<T>& layer,
               std::uint64_t index, PhaseScratch<T>& scratch);
template <class T>
void run_sweep(const BlockKernels<T>& kernels, T* tile, BlockRows rows,
               const SweepProgram<T>& sweep, std::uint64_t index, PhaseScratch<T>& scratch);

}  // namespace tilewave::statevec::cpu
