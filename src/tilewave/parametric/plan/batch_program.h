// The program of a circuit whose whole state a few threads hold in registers, for many sets of values at
// once: the stages of one pass (stages.h) with operations that go together as one. Rotations of
// different bits of the register's number are one operation, phases of single bits another.
//
// Every operation that needs angles has consecutive *slots*. A slot has one angle, whose cosine and sine
// stand in its place of a table that each set has, and one derivative. Terms of phases on the same bits
// share a slot: their angles are added.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/parametric/plan/stages.h"

namespace tilewave::parametric {

enum class BatchOpKind : std::uint8_t {
  kExchange,      ///< `index`: of the exchange
  kRotations,     ///< of the register's bits in `bits`: bit b has slot + b
  kSinglePhases,  ///< of single bits: bit b of the register slot + b, bit b of the thread those after
  kRotate,        ///< of the register's bit `bits`, under controls
  kFlip,          ///< likewise
  kPhases,        ///< `index`: of BatchPhases; its terms have the slots from slot on
  kMatrix,        ///< `index`: of the matrix
};

struct alignas(16) BatchOp {
  BatchOpKind kind = BatchOpKind::kExchange;
  std::uint8_t bits = 0;
  std::uint8_t registers = 0, register_value = 0;  ///< controls among the register's bits
  std::uint16_t thread = 0, thread_value = 0;      ///< controls among the thread's bits
  std::uint32_t index = 0, slot = 0;
  std::uint32_t reads = 0;  ///< how many of its slots' derivatives are asked for
};

/// Terms by the bits of the register's number that they need: m's slots are slot + first[m] to
/// slot + first[m + 1] - 1.
struct BatchPhases {
  std::uint16_t present = 0;  ///< bit m: there are such terms
  std::uint16_t first[(1 << kMostRegisterBits) + 1] = {};
};

struct BatchSlot {
  circuit::AffineAngle angle;
  double share = 1;          ///< of the angle whose cosine and sine are needed
  std::uint16_t thread = 0;  ///< kPhases: bits of the thread's number that are 1
  bool is_read = false;      ///< its derivative is asked for
};

struct BatchMatrix {
  StageMatrix matrix;
  std::uint16_t rows[kMostTileBits] = {};  ///< the bit of the row in each slot of the layout
};

struct BatchProgram {
  int row_bits = 0, register_bits = 0;
  std::vector<BatchOp> ops;
  std::vector<BatchSlot> slots;
  std::vector<BatchPhases> phases;
  std::vector<Exchange> exchanges;
  std::vector<BatchMatrix> matrices;
  std::vector<cplx> entries;
};

/// Of a circuit of at most `row_bits` wires; more wires stay |0>. It begins and ends with the highest
/// bits of the row in registers. `passes` are those of all wires, one pass.
BatchProgram make_batch_program(const Passes& passes,
                                const std::vector<circuit::AffineAngle>& angles, int register_bits,
                                int bank_bits);

}  // namespace tilewave::parametric
