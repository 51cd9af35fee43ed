// The state that a run begins in: |0...0>, or 2^n amplitudes from memory or from a file as `--state`
// writes it. Number x is the amplitude of the basis state whose qubit k is bit k of x.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tilewave/base/complex.h"
#include "tilewave/formats/npy/npy.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

class InitialState {
 public:
  /// Of Options::initial_state or initial_state_path. Throws Error(kUsage), or kInput for a file,
  /// where it is no array of 2^num_qubits complex numbers; amplitudes in memory stay those of the
  /// options.
  InitialState(const Options& options, std::uint32_t num_qubits);

  /// The state becomes this one, rounded to its precision; every process takes what it holds.
  /// `is_density`: the state is a density matrix, which becomes |psi><psi|. Throws the same where the
  /// norm is not 1 to within rounding of the numbers. Collective.
  void put_into(statevec::State& state, bool is_density);

 private:
  void read(std::uint64_t first, std::span<cplx> out) const;
  void check_norm(double norm) const;
  std::span<const cplx> amplitudes_;
  std::string path_;
  std::optional<formats::NpyReader> file_;
  bool is_checked_ = false;  // branches begin in it again and again
};

enum class Look : std::uint8_t { kSome, kWhole };
/// Of the size of the file and its bytes, or up to 64 MiB of them, evenly spread. 0 for no path.
std::uint64_t fingerprint_of_file(const std::string& path, Look look);

}  // namespace tilewave::simulate
