// What operations of a tile program cost on a device: milliseconds of a pass over 2^30 amplitudes
// on one NVIDIA H200, fitted to the passes of the benchmark circuits (2026-11-22, 58 and 57
// passes; root mean square error 6% and 3%), but for `flip`, the best of 0.2 to 4 over three
// circuits, and for `ties` and `signs` in single precision, from passes before and after a change
// of both. They choose between ways to write a pass.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::tile {

struct OpCosts {
  double unhidden = 0.56;  ///< share of a pass without operations that is added to them
  double arrival = 0;      ///< more through shared memory than in registers
  double exchange = 0.68;
  double crossing = 1.1;
  double chunk = 0.55;  ///< another chunk
  double decode = 0.1;
  double lift = 0.12;
  double tau = 0.06;            ///< a constant phase on one bit
  double bit_phase = 0.12;      ///< any phase on one bit
  double pairs = 0.11;          ///< more with pair factors
  double lanes = 0.13;          ///< more with lane factors
  double phase_table = 0.36;    ///< a constant factor an amplitude of a thread
  double rotation_table = 0.3;  ///< the same as rotations
  double phase_all = 0.6;
  double phase_set = 0.3;
  double general = 1.9;  ///< making a factor of every thread
  double flip = 1;
  double rotate = 0.3;
  double matrix1 = 0.5;
  double matrix2 = 1.5;
  double factored2 = 1;
  double code_step = 0;  ///< of each jump between operations that share code, see jit_steps()
};
inline constexpr OpCosts kDoubleCosts;
inline constexpr OpCosts kSingleCosts = {.unhidden = 0.59,
                                         .arrival = 0.25,
                                         .exchange = 0.49,
                                         .chunk = 0.2,
                                         .decode = 0.11,
                                         .lift = 0.05,
                                         .tau = 0.03,
                                         .bit_phase = 0.05,
                                         .pairs = 0.05,
                                         .lanes = 0.02,
                                         .phase_table = 0.22,
                                         .rotation_table = 0.2,
                                         .phase_all = 0.1,
                                         .phase_set = 0.08,
                                         .general = 0.8,
                                         .flip = 1,
                                         .rotate = 0.08,
                                         .matrix1 = 0.2,
                                         .matrix2 = 1.5,
                                         .factored2 = 0.45};

/// Of kernels compiled for one program: what an operation does, and little for getting to it. Those
/// of the interpreter but for a few, which are guesses.
constexpr OpCosts compiled(OpCosts c, bool is_double) {
  c.decode = 0.02;
  c.flip = is_double ? 0.05 : 0.03;
  c.code_step = is_double ? 0.04 : 0.03;
  if (!is_double) {
    c.exchange = 0.4;
    c.lift = c.bit_phase = c.pairs = 0.07;
    c.tau = 0.035;
    c.lanes = 0.03;
    c.phase_all = 0.5;
  }
  return c;
}

/// What programs are written by: for the interpreter, and for kernels of their own.
struct WriterCosts {
  OpCosts interpreted, compiled;
  double lift_s = 0;  ///< CostModel::lift_s of the device they are from
};
inline constexpr WriterCosts kDoubleWriterCosts{kDoubleCosts, compiled(kDoubleCosts, true),
                                                1.45e-13};
inline constexpr WriterCosts kSingleWriterCosts{kSingleCosts, compiled(kSingleCosts, false),
                                                7.14e-14};
/// As shipped; those measured on a device are its CostModel::writer.
inline const WriterCosts& shipped_costs(Precision precision) {
  return precision == Precision::kDouble ? kDoubleWriterCosts : kSingleWriterCosts;
}

inline constexpr std::size_t kNumOpCosts = 22;
using OpCostList = std::array<double, kNumOpCosts>;
static_assert(sizeof(OpCosts) == sizeof(OpCostList), "one name each below");
inline constexpr std::array<const char*, kNumOpCosts> kOpCostNames = {
    "unhidden",       "arrival",   "exchange",  "crossing", "chunk", "decode",
    "lift",           "tau",       "bit_phase", "pairs",    "lanes", "phase_table",
    "rotation_table", "phase_all", "phase_set", "general",  "flip",  "rotate",
    "matrix1",        "matrix2",   "factored2", "code_step"};
constexpr OpCosts no_costs() { return std::bit_cast<OpCosts>(OpCostList{}); }
/// Milliseconds of so many operations.
inline double sum_of(const OpCosts& counts, const OpCosts& costs) {
  const auto n = std::bit_cast<OpCostList>(counts), ms = std::bit_cast<OpCostList>(costs);
  return std::inner_product(n.begin(), n.end(), ms.begin(), 0.0);
}

/// Bytes of machine code (sm_90) of an operation.
inline int code_bytes(std::uint32_t code) {
  struct Size {
    std::uint32_t first;
    int bytes;
  };
  constexpr Size kSizes[] = {
      {kEnd, 6700},      {kExchange, 6960}, {kMatrixShared, 8000}, {kPhaseAll, 4020},
      {kPhaseSet, 4610}, {kLayer, 5500},    {kFlip, 5460},         {kRotate, 4960},
      {kMatrix1, 8000},  {kMatrix2, 13000}, {kFactored2, 15000},   {kTauOne, 2320},
      {kTauReal, 1810},  {kPhase, 2700},    {kPhaseUpper, 3200},   {kPhasePairs, 4140},
      {kGeneral, 7840},  {kLift, 1260},     {kTable, 3000},        {kCross, 2000}};
  int bytes = 0;
  for (const Size& size : kSizes) bytes = code >= size.first ? size.bytes : bytes;
  return bytes;
}

/// Kernels compiled for one program (jit_source.h): the most that is compiled by prediction (in
/// double precision, with tiles of one block, code is fetched as fast as it runs), what the
/// instruction cache holds of their code as compiled, and bytes of machine code (sm_90) of load and
/// store, of an exchange, of an entry of a table, of a lift, of a rotated pair of amplitudes, of 4
/// bytes of a pair that some threads exchange, and of what such an operation has besides.
inline constexpr int kJitSingleCodeBytes = 108 << 10, kJitWideCodeBytes = 108 << 10,
                     kJitDoubleCodeBytes = 132 << 10, kJitMostCodeBytes = 150 << 10;
/// How often a kernel whose code comes out too long is written again, for an eighth less each time.
inline constexpr int kJitMostShortenings = 2;
inline constexpr int kJitFrameBytes = 16 << 10;
/// What code is shortened to in single precision once its operations share it.
inline constexpr int kJitSharedSingleCodeBytes = 100 << 10;
/// The numbers that such a kernel takes as an argument, in all (from 2 KiB on the cache for
/// arguments misses) and of operations side by side: what uniform registers hold.
inline constexpr int kJitNumberBytes = 2048, kJitKnownBytes = 192;
/// Code after which a basic block is ended, since in much longer ones each instruction reads its
/// argument; and where operations of double precision share code, which makes them spill.
inline constexpr int kJitBasicBlockBytes = 24 << 10, kJitSharedBasicBlockBytes = 64 << 10;
inline constexpr int kJitExchangeBytes = 2200, kJitLiftBytes = 1040, kJitTurnedPairBytes = 32,
                     kJitRotatedPairBytes = 96, kJitFlippedWordBytes = 48, kJitOtherBytes = 130,
                     kJitMatrix1Bytes = 4200, kJitMatrix2Bytes = 15000;

}  // namespace tilewave::statevec::tile
