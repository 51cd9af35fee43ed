// Pauli strings and weighted sums of them. Bit k of x (z) is set when the string has X or Y (Z or
// Y) on qubit k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewave::circuit {

struct PauliTerm {
  double coefficient = 1;
  std::uint64_t x = 0, z = 0;
};

using PauliSum = std::vector<PauliTerm>;

/// The same on any number of qubits: qubit k is bit k % 64 of word k / 64; words that are missing
/// are zero.
struct WidePauliTerm {
  double coefficient = 1;
  std::vector<std::uint64_t> x, z;

  WidePauliTerm() = default;
  WidePauliTerm(double c, std::uint64_t x_mask, std::uint64_t z_mask)
      : coefficient(c), x{x_mask}, z{z_mask} {}
  WidePauliTerm(const PauliTerm& t) : WidePauliTerm(t.coefficient, t.x, t.z) {}

  bool has_x(std::size_t qubit) const { return has(x, qubit); }
  bool has_z(std::size_t qubit) const { return has(z, qubit); }

 private:
  static bool has(const std::vector<std::uint64_t>& words, std::size_t qubit) {
    return qubit / 64 < words.size() && (words[qubit / 64] >> (qubit % 64) & 1);
  }
};

using WidePauliSum = std::vector<WidePauliTerm>;

/// A term that acts on the first 64 qubits only.
inline PauliTerm narrow(const WidePauliTerm& t) {
  return {t.coefficient, t.x.empty() ? 0 : t.x[0], t.z.empty() ? 0 : t.z[0]};
}

/// Which character of a dense string such as "ZZI" acts on qubit 0.
enum class PauliOrder : std::uint8_t { kLastIsQubit0, kFirstIsQubit0 };

}  // namespace tilewave::circuit
