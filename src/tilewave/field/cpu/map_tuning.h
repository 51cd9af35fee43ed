// Costs of a map's steps in nanoseconds a value on one core (AVX-512, EPYC of the Zen 4 family,
// 2026-11); only the choice of the number of threads depends on them.
#pragma once

#include "tilewave/field/map_program.h"

namespace tilewave::field {

inline double step_cost_ns(const MapStep& s, bool fast) {
  if (s.integer || s.to_float) return 0.3;
  if (takes_more(s)) return fast ? 0.4 : 1.0;
  switch (s.op) {
    case MapOp::kTan:
    case MapOp::kSinh:
    case MapOp::kCosh:
    case MapOp::kTanh:
    case MapOp::kLog1p:
    case MapOp::kExpm1:
    case MapOp::kHypot:
      return 2.0;
    case MapOp::kPow:
      return s.immediate != 0 ? 2.5 : 15.0;
    case MapOp::kAsin:
    case MapOp::kAcos:
    case MapOp::kAtan:
    case MapOp::kAtan2:
    case MapOp::kCbrt:
      return 12.0;
    default:
      return 0.1;
  }
}

/// The whole program, read and stored once.
inline double program_cost_ns(const MapProgram& program, bool fast, int repeat) {
  double cost = 0;
  for (const MapStep& s : program.steps) cost += step_cost_ns(s, fast);
  return 0.3 + cost * repeat;
}

/// The scan of a lookup, and the lookup.
inline constexpr double kScanCostNs = 0.1, kLookUpCostNs = 0.5;
/// A node of the expression in double precision, one value at a time.
inline constexpr double kNodeCostNs = 3.0;

/// Rows of fewer pixels are joined, even where each pixel's column and row are worked out: a row of its
/// own costs 40 to 90 ns, a place 1 to 1.5 ns a pixel, and a remainder that no residue's program takes
/// away 10.
inline constexpr std::int64_t kShortRow = 32, kShortRowOfResidues = 6;

}  // namespace tilewave::field
