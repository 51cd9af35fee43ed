#include "tilewave/stabilizer/tableau.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"

namespace tilewave::stabilizer {
namespace {

using circuit::Clifford1;
using circuit::Pauli;

// Products noted before they are done: 2 MiB of them, some gate layers of a large circuit.
constexpr std::size_t kMostProducts = std::size_t{1} << 18;

// All products on one panel; adds the parity of z_to & x_by of each (a swap is a sign).
template <class Product>
[[gnu::always_inline]] inline void products_body(std::uint64_t* panel,
                                                 std::span<const Product> products,
                                                 std::uint8_t* signs) {
  typedef std::uint64_t Half __attribute__((vector_size(32)));
  for (std::size_t k = 0; k < products.size(); ++k) {
    auto* to = reinterpret_cast<Half*>(panel + products[k].to * Tableau::kPanelWords);
    const auto* by = reinterpret_cast<const Half*>(panel + products[k].by * Tableau::kPanelWords);
    const Half swaps = to[1] & by[0];
    to[0] ^= by[0];
    to[1] ^= by[1];
    signs[k] ^= static_cast<std::uint8_t>(std::popcount(swaps[0] ^ swaps[1] ^ swaps[2] ^ swaps[3]));
  }
}
template <class Product>
TW_TARGET_AVX512 void products_avx512(std::uint64_t* panel, std::span<const Product> products,
                                      std::uint8_t* signs) {
  products_body(panel, products, signs);
}
template <class Product>
TW_TARGET_AVX2 void products_avx2(std::uint64_t* panel, std::span<const Product> products,
                                  std::uint8_t* signs) {
  products_body(panel, products, signs);
}
template <class Product>
void products_base(std::uint64_t* panel, std::span<const Product> products, std::uint8_t* signs) {
  products_body(panel, products, signs);
}

}  // namespace

Tableau::Tableau(std::uint32_t num_qubits)
    : n_(num_qubits),
      panels_((std::size_t{num_qubits} + 255) / 256),
      bits_(std::max<std::size_t>(64, panels_ * 2 * num_qubits * kPanelWords * 8)),
      place_(2 * std::size_t{num_qubits}),
      phase_(2 * std::size_t{num_qubits}) {
  for (std::uint32_t r = 0; r < place_.size(); ++r) place_[r] = r;
  for (std::uint32_t q = 0; q < n_; ++q) {
    const std::size_t word = (q % 256) / 64;
    const std::uint64_t bit = std::uint64_t{1} << (q % 64);
    panel(q / 256)[2 * q * kPanelWords + word] = bit;
    panel(q / 256)[(2 * q + 1) * kPanelWords + 4 + word] = bit;
  }
}

void Tableau::multiply(std::uint32_t to, std::uint32_t by) {
  if (products_.size() == kMostProducts) flush();
  products_.push_back({place_[to], place_[by]});
}

void Tableau::turn(std::uint32_t row, std::uint32_t by) {
  if (products_.empty()) {
    phase_[place_[row]] = (phase_[place_[row]] + by) & 3;
  } else {
    turns_.push_back({static_cast<std::uint32_t>(products_.size()), place_[row], by});
  }
}

void Tableau::flush() {
  if (products_.empty()) return;
  signs_.assign(products_.size(), 0);
  const std::span<const Product> all(products_);
  for (std::size_t p = 0; p < panels_; ++p) {
    switch (cpu_level()) {
      case CpuLevel::kAvx512:
        products_avx512(panel(p), all, signs_.data());
        break;
      case CpuLevel::kAvx2:
        products_avx2(panel(p), all, signs_.data());
        break;
      case CpuLevel::kBase:
        products_base(panel(p), all, signs_.data());
        break;
    }
  }
  // The signs depend on their order.
  auto next = turns_.begin();
  for (std::uint32_t k = 0; k <= products_.size(); ++k) {
    for (; next != turns_.end() && next->after == k; ++next)
      phase_[next->row] = (phase_[next->row] + next->by) & 3;
    if (k == products_.size()) break;
    const Product& m = products_[k];
    phase_[m.to] = static_cast<std::uint8_t>((phase_[m.to] + phase_[m.by] + 2 * signs_[k]) & 3);
  }
  products_.clear();
  turns_.clear();
}

void Tableau::swap(std::uint32_t a, std::uint32_t b) {
  std::swap(place_[2 * a], place_[2 * b]);
  std::swap(place_[2 * a + 1], place_[2 * b + 1]);
}

void Tableau::apply_pauli(Pauli p, std::uint32_t q) {
  if (p == Pauli::kX || p == Pauli::kY) turn(2 * q + 1, 2);
  if (p == Pauli::kZ || p == Pauli::kY) turn(2 * q, 2);
}

void Tableau::apply(const Clifford1& c, std::uint32_t q) {
  // The new rows are U^dagger (G^dagger P G) U: the images under the inverse gate in the old rows.
  const Clifford1 back = circuit::inverse(c);
  const std::uint32_t rx = 2 * q, rz = 2 * q + 1;
  // Bring the rows to (image of X, image of Z), each X, Y or Z of the old ones, by products and a
  // swap. Y = i X Z, and X Z = -Z X.
  std::uint32_t x_turns = back.x_negative ? 2 : 0, z_turns = back.z_negative ? 2 : 0;
  const Pauli to_x = back.x, to_z = back.z;
  if (to_x == Pauli::kX && to_z == Pauli::kY) {
    multiply(rz, rx), z_turns += 3;  // i X Z = -i Z X
  } else if (to_x == Pauli::kY && to_z == Pauli::kZ) {
    multiply(rx, rz), x_turns += 1;
  } else if (to_x == Pauli::kZ && to_z == Pauli::kX) {
    std::swap(place_[rx], place_[rz]);
  } else if (to_x == Pauli::kY && to_z == Pauli::kX) {
    multiply(rx, rz), turn(rx, 1);   // (Y, Z)
    multiply(rz, rx), z_turns += 1;  // Z Y = -i X
  } else if (to_x == Pauli::kZ && to_z == Pauli::kY) {
    multiply(rz, rx), turn(rz, 3);   // (X, Y)
    multiply(rx, rz), x_turns += 3;  // X Y = i Z
  }
  if (x_turns & 3) turn(rx, x_turns);
  if (z_turns & 3) turn(rz, z_turns);
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
      if (other == Pauli::kY) turn(row, 1);
    }
  };
  // The gate keeps a and b themselves (also the products that make a Y), so the order is free.
  spread(qa, a, qb, b);
  spread(qb, b, qa, a);
}

bool Tableau::outcome_z(std::uint32_t q) {
  flush();
  const std::uint8_t phase = phase_[place_[2 * q + 1]];
  TW_CHECK((phase & 1) == 0, "the outcome is random");
  return phase == 2;
}

std::uint64_t Tableau::hash() {
  flush();
  std::uint64_t h = 0x243F6A8885A308D3ull;
  for (std::size_t p = 0; p < panels_; ++p) {
    for (std::uint32_t place : place_) {
      const std::uint64_t* words = panel(p) + place * kPanelWords;
      for (std::size_t w = 0; w < kPanelWords; ++w) {
        h = (h ^ words[w]) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 32;
      }
    }
  }
  for (std::uint32_t place : place_) h = (h ^ phase_[place]) * 0x9E3779B97F4A7C15ull;
  return h;
}

}  // namespace tilewave::stabilizer
