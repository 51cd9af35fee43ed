// A circuit prepared for shots: measurements that nothing depends on are moved to the end, resets
// of untouched qubits and conditions on bits that were never written are resolved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/noise_model.h"
#include "tilewave/simulate/qubit_map.h"

namespace tilewave::simulate {

struct DeferredMeasure {
  circuit::Clbit clbit = 0;
  circuit::Qubit qubit = 0;  ///< in the state; QubitMap::kNowhere where it is |0> for good
  circuit::Qubit name = 0;   ///< in the register, as readout errors know it

  bool is_one(std::uint64_t basis_state) const {
    return qubit != QubitMap::kNowhere && (basis_state >> qubit & 1);
  }
};

struct Program {
  const circuit::Circuit* circuit = nullptr;
  QubitMap qubits;                        ///< of the circuit's in the register that is asked about
  std::vector<circuit::Op> ops;           ///< what is left, in order
  std::vector<DeferredMeasure> deferred;  ///< read off the final state; each clbit once
  bool records = false;            ///< the circuit as given writes a classical bit, also where
                                   ///< nothing of that is left in `ops`
  bool dynamic = false;            ///< ops hold a measurement or a reset
  bool has_channels = false;       ///< ops hold a noise channel
  bool has_runtime_gates = false;  ///< ops hold a gate whose angles are computed
  bool has_control_flow = false;   ///< ops jump or assign; jumps name operations of `ops`
};

/// True when the condition holds for these classical bits.
bool holds(const circuit::Condition& condition, std::span<const std::uint64_t> bits);

/// True when the operation has no condition, or it holds.
inline bool holds(const circuit::Circuit& circuit, const circuit::Op& op,
                  std::span<const std::uint64_t> bits) {
  return op.condition < 0 ||
         holds(circuit.conditions()[static_cast<std::size_t>(op.condition)], bits);
}

/// Calls f(first, count) for every run of classical bits the condition reads.
template <class F>
void for_each_read(const circuit::Condition& condition, F f) {
  if (condition.expr.empty()) return f(condition.first, condition.size);
  circuit::for_each_read(condition.expr, f);
}

/// Of every classical bit: whether an operation of the program reads it, as a condition, an angle or
/// a value that is assigned.
std::vector<bool> bits_read(const Program& program);

/// The program with every angle that is computed set to 1, for plans that are only looked at;
/// `storage` holds its circuit.
Program with_typical_angles(const Program& program, circuit::Circuit& storage);

/// O(operations + classical bits named by conditions). Without `from_zeros` qubits may begin in any
/// state, so that nothing is known of those that no gate has touched.
Program prepare(const circuit::Circuit& circuit, bool from_zeros = true);

/// The qubits that some operation changes or reads, in ascending order, and as many others as make
/// `least` of them. Measurements at the end touch nothing: what they read is 0 unless another
/// operation did. O(operations + qubits).
std::vector<circuit::Qubit> touched_qubits(const Program& program, std::uint32_t least = 1);

/// Takes all other qubits out of the program; `storage` holds its circuit then, and is left alone
/// where every qubit stays.
void keep_only(Program& program, std::vector<circuit::Qubit> kept, circuit::Circuit& storage);

/// One of a register's readout errors for every qubit of the state; none where there are none.
std::vector<circuit::ReadoutError> readout_in_state(const Program& program,
                                                    std::span<const circuit::ReadoutError> readout);

}  // namespace tilewave::simulate
