// What each operation of a frame program does, once for every machine: the choice by operation code
// and Pauli. A machine (cpu/frame_run.cc, cuda/frame_run.cu) gives the rows and their traversal:
//   controlled<A, B>, measure<P>, coin<P>, feedback<P>, sweep<P>, observe<P>, clear, pad, noise,
//   sites, correlated, detectors, observable, permute, swap, leakage,
// each for all targets of an operation. Loops are the machine's own.
#pragma once

#include "tilewave/stabilizer/frame_ops.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/tableau_gates.h"

namespace tilewave::stabilizer {

/// op.sub = 3 * (a - 1) + (b - 1) of C(a, b).
template <class Machine, class Op>
[[gnu::always_inline]] TW_HD void controlled_step(Machine& m, const Op& op) {
  constexpr Pauli kX = Pauli::kX, kY = Pauli::kY, kZ = Pauli::kZ;
  switch (op.sub) {
    case 0:
      return m.template controlled<kX, kX>(op);
    case 1:
      return m.template controlled<kX, kY>(op);
    case 2:
      return m.template controlled<kX, kZ>(op);
    case 3:
      return m.template controlled<kY, kX>(op);
    case 4:
      return m.template controlled<kY, kY>(op);
    case 5:
      return m.template controlled<kY, kZ>(op);
    case 6:
      return m.template controlled<kZ, kX>(op);
    case 7:
      return m.template controlled<kZ, kY>(op);
    default:
      return m.template controlled<kZ, kZ>(op);
  }
}

/// A gate of a tableau: controlled<A, B>, swap, clifford1.
template <class Machine>
[[gnu::always_inline]] inline void tableau_step(Machine& m, const TableauGate& gate) {
  switch (gate.kind) {
    case TableauGate::Kind::kControlled:
      return controlled_step(m, gate);
    case TableauGate::Kind::kSwap:
      return m.swap(gate);
    case TableauGate::Kind::kClifford1:
      return m.clifford1(gate);
  }
}

template <class Machine>
[[gnu::always_inline]] TW_HD void frame_step(Machine& m, const FrameOp& op) {
  constexpr Pauli kX = Pauli::kX, kY = Pauli::kY, kZ = Pauli::kZ;
  const Pauli p = static_cast<Pauli>(op.sub & 3);  // of operations with one
  switch (op.code) {
    case FrameCode::kControlled:
      return controlled_step(m, op);
    case FrameCode::kMeasure:
      if (p == kX) return m.template measure<kX>(op);
      if (p == kY) return m.template measure<kY>(op);
      return m.template measure<kZ>(op);
    case FrameCode::kCoin:
      if (p == kX) return m.template coin<kX>(op);
      if (p == kY) return m.template coin<kY>(op);
      return m.template coin<kZ>(op);
    case FrameCode::kFeedback:
      if (p == kX) return m.template feedback<kX>(op);
      if (p == kY) return m.template feedback<kY>(op);
      return m.template feedback<kZ>(op);
    case FrameCode::kSweep:
      if (p == kX) return m.template sweep<kX>(op);
      if (p == kY) return m.template sweep<kY>(op);
      return m.template sweep<kZ>(op);
    case FrameCode::kObservablePauli:
      if (p == kX) return m.template observe<kX>(op);
      if (p == kY) return m.template observe<kY>(op);
      return m.template observe<kZ>(op);
    case FrameCode::kClear:
      return m.clear(op);
    case FrameCode::kPad:
      return m.pad(op);
    case FrameCode::kRecordFlip:
    case FrameCode::kPauli1:
    case FrameCode::kPauli2:
    case FrameCode::kHerald:
      return m.noise(op);
    case FrameCode::kSites:
      return m.sites(op);
    case FrameCode::kCorrelated:
      return m.correlated(op);
    case FrameCode::kDetector:
      return m.detectors(op);
    case FrameCode::kObservable:
      return m.observable(op);
    case FrameCode::kPermute:
      return m.permute(op);
    case FrameCode::kSwap:
      return m.swap(op);
    case FrameCode::kLeak:
    case FrameCode::kLeakPair:
    case FrameCode::kUnleaked1:
    case FrameCode::kUnleaked2:
    case FrameCode::kFalseFlag:
    case FrameCode::kSeal:
    case FrameCode::kSpread:
    case FrameCode::kScrambleSpread:
    case FrameCode::kGateSpread:
    case FrameCode::kLeaked1:
    case FrameCode::kLeaked2:
    case FrameCode::kMissedFlag:
    case FrameCode::kScramble:
    case FrameCode::kScramblePartner:
    case FrameCode::kFlag:
      return m.leakage(op);
    case FrameCode::kLoop:
    case FrameCode::kLoopEnd:
      return;
  }
}

}  // namespace tilewave::stabilizer
