// Observables as sums of Pauli strings, and the sweeps over a state that multiply or measure them:
// strings whose masks of X and Y lie among the wires of one tile share a sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/circuit/pauli.h"
#include "tilewave/parametric/plan/passes.h"

namespace tilewave::parametric {

/// Strings of one mask of X and Y, in the tiles of a sweep.
struct SweepGroup {
  Bits flip;
  std::size_t first = 0, count = 0;  ///< of the sweep's strings
};

struct StringSweep {
  std::uint64_t active = 0;      ///< wires of the rows
  std::uint64_t flip_outer = 0;  ///< which tile the amplitudes come from
  std::vector<SweepGroup> groups;
  std::vector<Bits> z;
  std::vector<std::uint8_t> y;
  std::vector<std::uint32_t> string;  ///< its number in Strings::strings
};

/// Every string once, and how much of it each observable has.
struct Strings {
  struct Share {
    std::uint32_t observable, string;
    double coefficient;
  };
  std::vector<circuit::PauliTerm> strings;  ///< on wires; coefficients are in `shares`
  std::vector<Share> shares;
  std::uint32_t num_observables = 0;
};

/// Observables on qubits as strings on wires. Throws Error(kInput) for qubits that do not exist and
/// coefficients that are not finite.
Strings make_strings(const std::vector<circuit::PauliSum>& observables,
                     const std::vector<int>& wire_of_qubit);

/// `kept`: the lowest wires beyond the lanes that every tile has. Strings may have wires beyond those of
/// the passes, which number the processes that share a state: they are bits of `flip_outer`.
std::vector<StringSweep> make_sweeps(const Strings& strings, const Passes& passes, int kept = 0);

/// Passes and sweeps, for states by themselves or for batches.
struct Program {
  Passes passes;
  std::vector<StringSweep> sweeps;
};

}  // namespace tilewave::parametric
