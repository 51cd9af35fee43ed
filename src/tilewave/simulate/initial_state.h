// The state that a run starts from, where that is not |0...0>: an array of 2^n complex numbers as
// `--state` writes it. Number x is the amplitude of the basis state whose qubit k is bit k of x.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/formats/npy/npy.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

class InitialState {
 public:
  /// Throws Error(kInput) for a file that is no array of 2^num_qubits complex64 or complex128.
  InitialState(const std::string& path, std::uint32_t num_qubits);

  /// The state becomes this one, rounded to its precision; every process reads what it holds.
  /// `is_density`: the state is a density matrix, which becomes |psi><psi|. Collective.
  void put_into(statevec::State& state, bool is_density) const;
  /// Throws Error(kInput) where the norm is not 1 to within rounding of the file's numbers.
  void check_norm(double norm) const;

 private:
  void read(std::uint64_t first, std::span<cplx> out) const;
  std::string path_;
  formats::NpyReader file_;
};

/// Of the beginning, the end and the size of the file: tells another file. 0 for no path.
std::uint64_t fingerprint_of_file(const std::string& path);

}  // namespace tilewave::simulate
