// Costs that choose between the engines, measured on two cores of an Intel Xeon (Sapphire Rapids,
// AVX-512) in November 2026 with `tilewave detect --engine frame|sparse` on rotated surface codes.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

constexpr double kFrameTargetSeconds = 0.03e-9;  ///< one target of one operation, a shot
constexpr double kFrameEventSeconds = 30e-9;     ///< one noise event
constexpr double kSparseEventSeconds = 7e-9;     ///< one event of a Poisson group
constexpr double kSparseSiteSeconds = 25e-9;     ///< one hit of a disjoint channel
constexpr double kBranchSeconds = 150e-9;        ///< walking one branch of one channel once
constexpr double kMostBranches = 1e7;            ///< folded loops keep the walk below this

constexpr double kNominalShots = 1e5;  ///< the choice weighs the build against this many

// When noise of few targets becomes sites of a list (AMD EPYC, Zen 4, AVX-512, November 2026).
constexpr double kFewEvents = 0.5;  ///< expected in a unit of 32 shots: below
constexpr double kProductEventSeconds = 20e-9, kProductFactorSeconds = 2e-9;  ///< of a site
constexpr double kProductRowSeconds = 0.24e-9;  ///< of an operation on whole rows, a shot

constexpr std::uint64_t kLargestBatch = 4096;  ///< shots of a frame batch
constexpr std::uint64_t kBatchBytes = std::uint64_t{3}
                                      << 20;  ///< frames, records and outputs of a batch
constexpr std::uint64_t kGpuBytes = std::uint64_t{64} << 20;  ///< rows of one block of GPU shots
constexpr std::uint64_t kLargestBytes = std::uint64_t{16} << 30;  ///< refused above

}  // namespace tilewave::stabilizer
