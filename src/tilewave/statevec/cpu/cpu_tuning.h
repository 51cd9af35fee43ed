// Tuning values of the CPU engine, found on a 2-core AVX-512 server (2 MiB second-level, 48 KiB
// first-level cache), 2026-11.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::statevec::cpu {

constexpr int kTileBitsDouble = 14;  ///< active positions of a pass: 256 KiB
constexpr int kTileBitsSingle = 15;  ///< 256 KiB
constexpr double kWideTile = 0.8;    ///< bandwidth of a pass with one more: 512 KiB crowd the cache
constexpr int kMaxTileBits = 16;
/// Tiles that fit the first-level cache, 16 KiB, are moved faster.
template <class T>
constexpr int kSmallTileBits = sizeof(T) == sizeof(double) ? 10 : 11;
constexpr double kSmallTile = 0.8;      ///< of the time
constexpr int kStateRowBitsDouble = 4;  ///< low positions active in every pass: 256 bytes
constexpr int kStateRowBitsSingle = 5;
/// Rows of a block, 2^bits: 32 KiB that stay in a first-level cache of 48 KiB. Smaller than that it
/// was found on a 2-core Zen 4 (32 KiB first, 1 MiB second level), 2026-11-22, where a sweep costs
/// the same from the second level: a block is the whole tile there.
constexpr std::size_t kFirstLevelOfBlocks = std::size_t{48} << 10;
constexpr int kBlockRowBitsDouble = 5, kTileRowBitsDouble = 10;
constexpr int kBlockRowBitsSingle = 6, kTileRowBitsSingle = 10;
/// Lifts by less are not weighted (low_weights.h): six of them leave the range of floats.
constexpr double kLeastWeightedLift = 1e-3;
/// amplitudes (2^bits) of two tiles that strings with like flips share: 256 KiB each
template <class T>
constexpr int kObserveTileBits = sizeof(T) == sizeof(double) ? 14 : 15;
// Rows moved in memory (row_moves.h).
constexpr int kLongRowBits =
    4;  ///< a list of cycles is at most as long as there are rows of 4 KiB,
constexpr int kLeastMoveBits = 10, kMostMoveBits = 22;  ///< within these bounds
constexpr int kMostSliceBits = 10;                      ///< slices of a row
constexpr int kLeastSliceBits = 3;                      ///< those of a part, where cycles are long
constexpr std::size_t kMovePartBytes = std::size_t{512} << 10;
/// Amplitudes from which several threads work on them: below, waiting for each other takes longer,
/// and most of a time slice where another program has the core of one of them.
constexpr std::uint64_t kSharedAmplitudes = std::uint64_t{1} << 15;
/// Up to these a gate is applied sooner than its plan is found (1 to 2 us a gate, 2026-11-27).
constexpr int kTinyQubits = 8;
constexpr int kMeasureRatesFrom = 22;  ///< qubits from which the machine's rates are measured
/// Qubits from which passes are counted step by step where the machine is tuned: smaller plans would
/// take longer to make than they save.
constexpr int kPriceFrom = 17;

/// Of actions on one thread in FP64, on average: what a circuit is lowered by, and the price of
/// passes over small states. Relative to each other they are never measured, so that a circuit has
/// the same actions whatever else a machine does. On a 2-core Zen 4, 2026-11-23.
constexpr double kLift_s = 1.1e-10, kFlip_s = 2e-10, kRotate_s = 2.5e-10, kPhase_s = 1.5e-10,
                 kMultiply_s = 1.45e-10;

// What parts of a pass cost (pass_costs.cc), on a 2-core Zen 4, 2026-11-23: where no file of rates
// says it (cpu_numbers.h), the shares are kept and the rest is measured in a moment (cpu_rates.cc).
constexpr double kSweepStep_s = 1.2e-10, kLiftStep_s = 7.5e-11, kPhaseStep_s = 1.4e-10,
                 kFlipStep_s = 4e-10, kRotateStep_s = 2.8e-10, kMultiplyStep_s = 1.6e-10;
/// Bandwidth of larger states, and work on tiles that come from there, over the measurement's.
constexpr double kFarRows = 0.93, kFromMemory = 1.15;
constexpr double kSingleShare = 0.52;  ///< of the time of work, in FP32
constexpr double kLoadShare = 0.1;     ///< of the traffic, where nothing is known to be zero
constexpr double kMoveShare = 0.6;     ///< of the time, where rows only change places
constexpr int kShortCycles = 64;       ///< not in cycles longer than this
constexpr double kCycleRow_s = 5e-9;   ///< a row in a list of cycles
constexpr double kRunShare =
    0.85;  ///< of the time, where rows lie side by side; an EPYC, 2026-11-26
constexpr double kSmallRunShare = 0.55;  ///< the same of small tiles
constexpr double kTurnedShare = 0.1;  ///< more, where bits inside a row change places with others
constexpr double kLightLift = 0.5;    ///< a lift by additions, or one of two by the same number
constexpr double kScalarPhase = 0.4;  ///< of a phase block: factors of whole rows
constexpr double kProductPhase = 2;   ///< the product of its tables, where every row has another
constexpr double kSweepPhase = 0.4;   ///< factors in a sweep
constexpr double kLinkPhase = 0.35;   ///< of a phase block: a factor that all rows have
constexpr double kFactoredShare = 0.58;  ///< of a 4x4 matrix, where it has factors
constexpr double kPassTables_s = 2e-4;   ///< the tables of a pass

}  // namespace tilewave::statevec::cpu
