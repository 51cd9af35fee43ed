// The one list of gates. Every parser, engine, document and test reads it; there is no second list.
//
// A gate is `num_controls` control qubits (listed first; it acts when all are 1) and `num_targets`
// target qubits under a matrix. Matrices are row-major, 2^t x 2^t; bit k of a row or column index
// is target k. Rotations are exp(-i angle/2 P) and global phases are kept. Clifford actions are
// derived from the matrix (see clifford.h), never listed twice.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tilewave/base/complex.h"

namespace tilewave::circuit {

enum class GateId : std::uint16_t {
  // one target, no parameter
  kId,
  kX,
  kY,
  kZ,
  kH,
  kS,
  kSdg,
  kT,
  kTdg,
  kSx,
  kSxdg,
  kSy,
  kSydg,
  kSw,
  // the remaining single-qubit Cliffords of Stim's language
  kHxy,
  kHyz,
  kHnxy,
  kHnxz,
  kHnyz,
  kCxyz,
  kCzyx,
  kCnxyz,
  kCxnyz,
  kCxynz,
  kCnzyx,
  kCznyx,
  kCzynx,
  // one target, parameters
  kGlobalPhase,
  kP,
  kU0,
  kU2,
  kU3,
  kU,
  kR,
  kRx,
  kRy,
  kRz,
  // one control
  kCx,
  kCy,
  kCz,
  kCh,
  kCs,
  kCsdg,
  kCsx,
  kCp,
  kCrx,
  kCry,
  kCrz,
  kCu3,
  kCu,
  // several controls
  kCcx,
  kCcz,
  kC3x,
  kC4x,
  kC3sqrtx,
  kCswap,
  kMcphase2,
  // two targets
  kSwap,
  kIswap,
  kIswapdg,
  kDcx,
  kEcr,
  kRxx,
  kRyy,
  kRzz,
  kRzx,
  kXxPlusYy,
  kXxMinusYy,
  kFsim,
  kSqrtSwap,
  kSqrtXx,
  kSqrtXxdg,
  kSqrtYy,
  kSqrtYydg,
  kSqrtZz,
  kSqrtZzdg,
  kXcx,
  kXcy,
  kXcz,
  kYcx,
  kYcy,
  kYcz,
  kCxSwap,
  kSwapCx,
  kCzSwap,
  kIi,
  // relative-phase Toffolis
  kRccx,
  kRc3x,
  kCount
};

/// What is known of a gate's matrix without looking at its parameters.
enum class Structure : std::uint8_t { kDiagonal, kPermutation, kReal, kHadamardLike, kGeneric };

struct GateInfo {
  GateId id;
  std::string_view name;  ///< our own name, lower case
  std::string_view qasm;  ///< names in OpenQASM, separated by spaces; our own where it has none
  std::string_view stim;  ///< names in Stim's language, empty where it has none
  std::string_view qsim;  ///< names in qsim's text format (rxy and cp count angles their own way)
  int num_params;
  int num_controls;
  int num_targets;
  Structure structure;
  void (*matrix)(const double* params, cplx* out);  ///< writes 4^num_targets entries
  std::string_view help;
};

/// Every gate, in the order of GateId.
std::span<const GateInfo> gate_table();

/// The row of one gate.
const GateInfo& gate_info(GateId id);

enum class Language : std::uint8_t { kTilewave, kQasm, kStim, kQsim };

/// Finds a gate by a name of a language (exact case; Stim's names in upper case). Null when there
/// is none.
const GateInfo* find_gate(Language language, std::string_view name);

/// The gate with the same action on its targets under `extra` more controls: x to cx, swap to
/// cswap. Null when the table has none.
const GateInfo* find_controlled(GateId id, int extra);

/// The matrix of a gate's targets (without controls), 4^num_targets entries.
std::vector<cplx> gate_matrix(GateId id, std::span<const double> params);

}  // namespace tilewave::circuit
