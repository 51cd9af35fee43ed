// The benchmark families: circuits of any size from a name, always the same for the same name and
// size (angles and places by Philox). What they stress:
//   qft, invqft      all-to-all controlled phases        ghz, ghz_qft    a chain of cx
//   random           gates and qubits drawn uniformly    supremacy       cz layers on a grid
//   quantum_volume   dense blocks on random pairs        ising           Trotter steps of a chain
//   qaoa             ZZ on a random graph                bv              one qubit under many cx
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// The names make_family knows.
std::span<const std::string_view> family_names();

/// The circuit of a family on `num_qubits` qubits, 2 to 64. Throws Error(kUsage) for an unknown
/// name, with the list of names, or a size out of range.
Circuit make_family(std::string_view name, std::uint32_t num_qubits);

}  // namespace tilewave::circuit
