// Costs that choose between the engines, fitted to `tilewave detect --engine frame|sparse` of
// twenty circuits (surface, color and repetition codes, heralds, chains, single places of noise)
// within a fifth, on one core of an AMD EPYC (Zen 4, AVX-512) in November 2026.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

// Of a shot of the frame engine (sample/engine_cost.h).
constexpr double kFrameShotSeconds = 8e-9;
constexpr double kFrameTargetSeconds = 0.004e-9;
constexpr double kFrameStreamSeconds = 4e-9;
constexpr double kFrameEventSeconds = 8e-9;
constexpr double kFrameSiteSeconds = 21e-9;  ///< an event of a list of sites
constexpr double kFrameRowSeconds = 0.046e-9;

// Of a shot of the sparse engine.
constexpr double kSparseShotSeconds = 2.4e-9;
constexpr double kSparseEventSeconds = 1e-9;  ///< of a Poisson group
constexpr double kSparseFlipSeconds = 1.8e-9;
constexpr double kSparseHitSeconds = 45e-9;  ///< of a disjoint channel
constexpr double kSparseCoinSeconds = 0.2e-9;
constexpr double kSparseStreamSeconds = 630e-9;  ///< of a unit: a tile, a group of channels
constexpr double kSparseByteSeconds = 0.03e-9;   ///< of a row

constexpr double kWorkSeconds = 25e-9;       ///< of building a sparse program, a symptom looked at
constexpr double kBranchWork = 5;            ///< symptoms a branch of a channel, at least
constexpr double kFreeBuildSeconds = 0.05;   ///< taken whatever the number of shots
constexpr double kLongShotSeconds = 1e-3;    ///< of frames: above, records may be made sparsely
constexpr double kMostBatchSeconds = 86400;  ///< refused above
constexpr double kHopefulBuildSeconds = 2;   ///< of one where that is refused, or of records
constexpr double kMostShots = 1e6;  ///< a longer build is weighed against at most this many

// When noise of few targets becomes sites of a list (AMD EPYC, Zen 4, AVX-512, November 2026).
constexpr double kFewEvents = 0.5;  ///< expected in a unit of 32 shots: below
constexpr double kProductEventSeconds = 20e-9, kProductFactorSeconds = 2e-9;  ///< of a site
constexpr double kProductRowSeconds = 0.24e-9;  ///< of an operation on whole rows, a shot

constexpr std::uint64_t kLeastBatch = 512;     ///< shots of a frame batch, at least
constexpr std::uint64_t kLargestBatch = 4096;  ///< shots of a frame batch
constexpr std::uint64_t kBatchBytes = std::uint64_t{3}
                                      << 20;  ///< frames, records and outputs of a batch
constexpr std::uint64_t kGpuBytes = std::uint64_t{64} << 20;  ///< rows of one block of GPU shots
constexpr std::uint64_t kGpuWorkedBytes = std::uint64_t{8} << 20;  ///< where the host formats them
constexpr std::uint64_t kGpuMostLockedBytes = std::uint64_t{1}
                                              << 30;  ///< page-locked for such rows
constexpr std::uint64_t kGpuKeepBytes = std::uint64_t{32}
                                        << 20;  ///< rows made before arrays are made of them
constexpr std::uint64_t kGpuReadBytes = std::uint64_t{16}
                                        << 20;  ///< rows that are read again while in its cache
constexpr std::uint64_t kGpuIdleShare = 8;      ///< of a GPU's memory, kept for the next arrays
constexpr double kMostBlockSteps = 0x1p29;  ///< amplitude steps of a block, if nothing is shared
constexpr double kMostLeaves = 4096;        ///< ways of outcomes that are listed
constexpr double kMostLeafSteps = 0x1p28;   ///< amplitude steps that may take
constexpr std::uint64_t kHistoryBytes = std::uint64_t{64} << 20;  ///< amplitudes kept a thread
constexpr unsigned kMostActiveOfThread = 5;  ///< on a GPU; with more a shot is a warp
constexpr unsigned kMostActiveOnGpu = 20;    ///< 16 MiB a shot; refused above
constexpr std::uint64_t kLargestBytes = std::uint64_t{16} << 30;  ///< refused above

}  // namespace tilewave::stabilizer
