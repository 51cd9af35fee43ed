// Costs of the CPU algorithms in nanoseconds a pixel on one core, measured (docs/entropy.md says
// how and where).
#pragma once

#include "tilewave/field/entropy.h"

namespace tilewave::field {

/// Expected ns a pixel on one core; only the order matters. `blocks`: column histograms stay in
/// registers (column_in_blocks).
inline double cpu_cost_ns(EntropyAlgorithm algorithm, const Footprint& window, int levels,
                          bool blocks) {
  const double spans = static_cast<double>(window.spans().size());
  switch (algorithm) {
    case EntropyAlgorithm::kNibble:
      return 1.0;
    case EntropyAlgorithm::kSliding:
      return 2.0 + 2.3 * spans;
    case EntropyAlgorithm::kPlane:
      return 0.5 + (blocks ? 0.4 : 0.28) * levels;
    case EntropyAlgorithm::kColumn:
      if (blocks && levels <= 16) {  // counts that fit bytes; counts that may; counts that cannot
        const auto cells = window.num_cells();
        return cells <= 255 ? 1.4 : cells <= 255 * levels ? 3.0 : 4.0;
      }
      if (blocks)
        return 2.0 + (window.num_cells() <= 127 ? 0.04 : 0.08) * ((levels + 63) / 64 * 64);
      return levels <= 16 ? 5.5 : 25.0 + 0.1 * levels;
    default:
      return 5.0 * static_cast<double>(window.num_cells());
  }
}

/// Images of fewer columns than kNarrowImage are worked on with rows and columns exchanged, a chunk
/// of rows at a time: kernels run along rows. 2,000,000 x 1 pixels, 5x5: 56 ns a pixel as they lie
/// and 15 exchanged for 16 classes, 170 and 46 for 200; x 7: 8.4 and 5.4, 37 and 28; x 8: 5.9 and
/// 7.6, 33 and 44 (EPYC of the Zen 4 family, shared cores, 2026-11).
inline constexpr std::int64_t kNarrowImage = 8, kNarrowRows = 512, kNarrowChunk = 1 << 16;

}  // namespace tilewave::field
