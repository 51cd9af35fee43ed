#include "tilewave/simulate/initial_state.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <fstream>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"

namespace tilewave::simulate {

using formats::NpyType;

InitialState::InitialState(const Options& options, std::uint32_t num_qubits)
    : amplitudes_(options.initial_state), path_(options.initial_state_path) {
  if (!amplitudes_.empty()) {
    if (num_qubits < 64 && amplitudes_.size() == bit(static_cast<int>(num_qubits))) return;
    fail(ExitCode::kUsage, "the initial state has ", amplitudes_.size(),
         " amplitudes: a circuit of ", num_qubits, " qubits needs 2^", num_qubits);
  }
  if (path_.empty()) return;
  const formats::NpyHeader& header = file_.emplace(path_).header();
  const bool is_complex = header.type == NpyType::kComplex64 || header.type == NpyType::kComplex128;
  const std::uint64_t size = num_qubits < 63 ? bit(static_cast<int>(num_qubits)) : 0;
  if (is_complex && size && header.shape == std::vector<std::uint64_t>{size}) return;
  std::string shape;
  for (const std::uint64_t n : header.shape)
    shape += (shape.empty() ? "" : " x ") + std::to_string(n);
  fail(ExitCode::kInput, path_, ": an initial state of ", num_qubits, " qubits is 2^", num_qubits,
       " numbers of complex64 or complex128 in a row, not ",
       is_complex ? "" : "other numbers of shape ", shape.empty() ? "a single one" : shape);
}

void InitialState::read(std::uint64_t first, std::span<cplx> out) const {
  if (!file_) {
    std::copy_n(amplitudes_.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
    return;
  }
  if (file_->header().type == NpyType::kComplex128) {
    file_->read_at(first, std::as_writable_bytes(out));
    return;
  }
  std::vector<std::complex<float>> narrow(out.size());
  file_->read_at(first, std::as_writable_bytes(std::span(narrow)));
  std::copy(narrow.begin(), narrow.end(), out.begin());
}

void InitialState::put_into(statevec::State& state, bool is_density) {
  state.set_zero_state();
  if (amplitudes_.empty() && !file_) return;
  if (!is_density) {
    state.update_blocks([&](std::uint64_t first, std::span<cplx> block) { read(first, block); });
  } else {
    const int rows = state.num_qubits() / 2;
    std::vector<cplx> psi(bit(rows));
    read(0, psi);
    state.update_blocks([&](std::uint64_t first, std::span<cplx> block) {
      for (std::size_t k = 0; k < block.size(); ++k) {
        const std::uint64_t at = first + k;
        block[k] = psi[at & low_mask(rows)] * std::conj(psi[at >> rows]);
      }
    });
  }
  if (!is_checked_) check_norm(state.norm());
  is_checked_ = true;
}

void InitialState::check_norm(double norm) const {
  constexpr double kAllowed = 1e-5;  // of numbers in single precision
  if (std::abs(norm - 1) <= kAllowed) return;
  char text[64];
  std::snprintf(text, sizeof text, "%.9g", norm);
  fail(file_ ? ExitCode::kInput : ExitCode::kUsage, file_ ? path_ + ": " : "",
       "the norm of the initial state is ", text,
       ", not 1: nothing is rescaled here, divide it by its square root");
}

std::uint64_t fingerprint_of_file(const std::string& path, Look look) {
  if (path.empty()) return 0;
  constexpr std::streamoff kBlock = 1 << 20, kSomeBlocks = 64;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  Fingerprint f;
  f.add(static_cast<std::uint64_t>(size));
  const std::streamoff step =
      look == Look::kWhole
          ? kBlock
          : std::max((size - kBlock + kSomeBlocks - 2) / (kSomeBlocks - 1), kBlock);
  std::string bytes;
  for (std::streamoff from = 0; from < size; from += step) {
    bytes.resize(static_cast<std::size_t>(std::min(size - from, kBlock)));
    in.seekg(from);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    f.add(fingerprint_of(std::as_bytes(std::span(bytes))));
  }
  return f.value();
}

}  // namespace tilewave::simulate
