#include "tilewave/stabilizer/tableau.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"
#include "tilewave/stabilizer/bit_transpose.h"

namespace tilewave::stabilizer {
namespace {

using circuit::Clifford1;
using circuit::Pauli;

// to = to . by without the phases; returns the parity of z_to & x_by (each swap is a sign).
[[gnu::always_inline]] inline bool multiply_body(std::uint64_t* x_to, std::uint64_t* z_to,
                                                 const std::uint64_t* x_by,
                                                 const std::uint64_t* z_by, std::size_t words) {
  typedef std::uint64_t Vec __attribute__((vector_size(64)));
  auto* xt = reinterpret_cast<Vec*>(x_to);
  auto* zt = reinterpret_cast<Vec*>(z_to);
  const auto* xb = reinterpret_cast<const Vec*>(x_by);
  const auto* zb = reinterpret_cast<const Vec*>(z_by);
  Vec parity{};
  for (std::size_t i = 0; i < words / 8; ++i) {
    parity ^= zt[i] & xb[i];
    xt[i] ^= xb[i];
    zt[i] ^= zb[i];
  }
  std::uint64_t folded = 0;
  for (int k = 0; k < 8; ++k) folded ^= parity[k];
  return std::popcount(folded) & 1;
}
TW_TARGET_AVX512 bool multiply_avx512(std::uint64_t* xt, std::uint64_t* zt, const std::uint64_t* xb,
                                      const std::uint64_t* zb, std::size_t words) {
  return multiply_body(xt, zt, xb, zb, words);
}
TW_TARGET_AVX2 bool multiply_avx2(std::uint64_t* xt, std::uint64_t* zt, const std::uint64_t* xb,
                                  const std::uint64_t* zb, std::size_t words) {
  return multiply_body(xt, zt, xb, zb, words);
}
bool multiply_base(std::uint64_t* xt, std::uint64_t* zt, const std::uint64_t* xb,
                   const std::uint64_t* zb, std::size_t words) {
  return multiply_body(xt, zt, xb, zb, words);
}
bool multiply_rows(std::uint64_t* xt, std::uint64_t* zt, const std::uint64_t* xb,
                   const std::uint64_t* zb, std::size_t words) {
  switch (cpu_level()) {
    case CpuLevel::kAvx512:
      return multiply_avx512(xt, zt, xb, zb, words);
    case CpuLevel::kAvx2:
      return multiply_avx2(xt, zt, xb, zb, words);
    default:
      return multiply_base(xt, zt, xb, zb, words);
  }
}

}  // namespace

Tableau::Tableau(std::uint32_t num_qubits)
    : n_(num_qubits),
      words_((std::size_t{num_qubits} + 511) / 512 * 8),
      x_(std::max<std::size_t>(64, 2 * std::size_t{num_qubits} * words_ * 8)),
      z_(std::max<std::size_t>(64, 2 * std::size_t{num_qubits} * words_ * 8)),
      phase_(2 * std::size_t{num_qubits}) {
  for (std::uint32_t q = 0; q < n_; ++q) {
    x(2 * q)[q / 64] |= std::uint64_t{1} << (q % 64);
    z(2 * q + 1)[q / 64] |= std::uint64_t{1} << (q % 64);
  }
}

void Tableau::multiply(std::uint32_t to, std::uint32_t by) {
  const bool sign = multiply_rows(x(to), z(to), x(by), z(by), words_);
  phase_[to] = (phase_[to] + phase_[by] + 2 * sign) & 3;
}

void Tableau::swap(std::uint32_t a, std::uint32_t b) {
  for (int k = 0; k < 2; ++k) {
    std::swap_ranges(x(2 * a + k), x(2 * a + k) + words_, x(2 * b + k));
    std::swap_ranges(z(2 * a + k), z(2 * a + k) + words_, z(2 * b + k));
    std::swap(phase_[2 * a + k], phase_[2 * b + k]);
  }
}

void Tableau::apply_pauli(Pauli p, std::uint32_t q) {
  if (p == Pauli::kX || p == Pauli::kY) phase_[2 * q + 1] ^= 2;
  if (p == Pauli::kZ || p == Pauli::kY) phase_[2 * q] ^= 2;
}

void Tableau::apply(const Clifford1& c, std::uint32_t q) {
  // The new rows are U^dagger (G^dagger P G) U: the images under the inverse gate in the old rows.
  const Clifford1 back = circuit::inverse(c);
  const std::uint32_t rx = 2 * q, rz = 2 * q + 1;
  // Bring the rows to (image of X, image of Z), each X, Y or Z of the old ones, by products and a
  // swap.
  const auto exchange = [&] {
    std::swap_ranges(x(rx), x(rx) + words_, x(rz));
    std::swap_ranges(z(rx), z(rx) + words_, z(rz));
    std::swap(phase_[rx], phase_[rz]);
  };
  // Y = i X Z, and X Z = -Z X.
  const auto x_times_z = [&] { multiply(rx, rz), phase_[rx] = (phase_[rx] + 1) & 3; };
  const auto z_times_x = [&] { multiply(rz, rx), phase_[rz] = (phase_[rz] + 3) & 3; };
  const Pauli to_x = back.x, to_z = back.z;
  if (to_x == Pauli::kX && to_z == Pauli::kY) {
    z_times_x();  // i X Z = -i Z X
  } else if (to_x == Pauli::kY && to_z == Pauli::kZ) {
    x_times_z();
  } else if (to_x == Pauli::kZ && to_z == Pauli::kX) {
    exchange();
  } else if (to_x == Pauli::kY && to_z == Pauli::kX) {
    x_times_z();  // (Y, Z)
    // Z = -i X Y = i Y X, so X = ... : from (Y, Z): Y Z = i X
    multiply(rz, rx);                   // Z Y = -i X
    phase_[rz] = (phase_[rz] + 1) & 3;  // X
  } else if (to_x == Pauli::kZ && to_z == Pauli::kY) {
    z_times_x();                        // (X, Y)
    multiply(rx, rz);                   // X Y = i Z
    phase_[rx] = (phase_[rx] + 3) & 3;  // Z
  }
  if (back.x_negative) phase_[rx] ^= 2;
  if (back.z_negative) phase_[rz] ^= 2;
}

void Tableau::apply_controlled(Pauli a, std::uint32_t qa, Pauli b, std::uint32_t qb) {
  // Rows that anticommute with the control Pauli of their qubit gain the other one.
  const auto spread = [&](std::uint32_t q, Pauli own, std::uint32_t other_q, Pauli other) {
    const std::uint32_t ox = 2 * other_q, oz = ox + 1;
    for (int k = 0; k < 2; ++k) {
      if ((k == 0 && own == Pauli::kX) || (k == 1 && own == Pauli::kZ)) continue;
      const std::uint32_t row = 2 * q + static_cast<std::uint32_t>(k);
      if (other != Pauli::kZ) multiply(row, ox);
      if (other != Pauli::kX) multiply(row, oz);
      if (other == Pauli::kY) phase_[row] = (phase_[row] + 1) & 3;
    }
  };
  // The gate keeps a and b themselves (also the products that make a Y), so the order is free.
  spread(qa, a, qb, b);
  spread(qb, b, qa, a);
}

bool Tableau::is_determined_z(std::uint32_t q) const {
  const std::uint64_t* row = x(2 * q + 1);
  return std::all_of(row, row + words_, [](std::uint64_t w) { return w == 0; });
}

bool Tableau::outcome_z(std::uint32_t q) const {
  TW_CHECK(is_determined_z(q), "the outcome is random");
  return phase_[2 * q + 1] == 2;
}

std::uint64_t Tableau::hash() const {
  std::uint64_t h = 0x243F6A8885A308D3ull;
  for (const runtime::HostBuffer* half : {&x_, &z_}) {
    const auto* words = half->as<std::uint64_t>();
    for (std::size_t i = 0; i < 2 * std::size_t{n_} * words_; ++i) {
      h = (h ^ words[i]) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 32;
    }
  }
  for (std::uint8_t p : phase_) h = (h ^ p) * 0x9E3779B97F4A7C15ull;
  return h;
}

}  // namespace tilewave::stabilizer
