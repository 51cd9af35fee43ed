#include "tilewave/stabilizer/near_clifford/pauli_rows.h"

#include <algorithm>
#include <bit>

namespace tilewave::stabilizer {
namespace {

using circuit::Pauli;

// x + 2 z.
constexpr unsigned code_of_pauli(Pauli p) {
  return p == Pauli::kX ? 1 : p == Pauli::kZ ? 2 : p == Pauli::kY ? 3 : 0;
}
constexpr bool codes_anticommute(unsigned a, unsigned b) { return a && b && a != b; }
// Phase of the product of two codes, X^x Z^z each.
constexpr std::uint8_t product_phase(unsigned a, unsigned b) {
  return static_cast<std::uint8_t>((a >> 1) & b & 1 ? 2 : 0);
}
constexpr std::uint8_t hermitian_phase(unsigned code) { return code == 3 ? 1 : 0; }

}  // namespace

std::uint32_t PauliRows::add() {
  bits_.resize(bits_.size() + std::size_t{2} * words_);
  phase_.push_back(0);
  return size() - 1;
}

std::uint32_t PauliRows::add(std::span<const std::pair<std::uint32_t, Pauli>> factors) {
  const std::uint32_t row = add();
  assign(row, factors);
  return row;
}

void PauliRows::assign(std::uint32_t row,
                       std::span<const std::pair<std::uint32_t, Pauli>> factors) {
  clear(row);
  for (const auto& [q, p] : factors) {
    const unsigned code = code_of_pauli(p);
    set(row, q, code);
    phase_[row] = static_cast<std::uint8_t>((phase_[row] + hermitian_phase(code)) & 3);
  }
}

void PauliRows::pop() {
  bits_.resize(bits_.size() - std::size_t{2} * words_);
  phase_.pop_back();
}

void PauliRows::set(std::uint32_t row, std::uint32_t q, unsigned code) {
  std::uint64_t* r = x(row);
  const std::uint64_t bit = std::uint64_t{1} << (q % 64);
  std::uint64_t &xs = r[q / 64], &zs = r[words_ + q / 64];
  xs = code & 1 ? xs | bit : xs & ~bit;
  zs = code & 2 ? zs | bit : zs & ~bit;
}

void PauliRows::copy(std::uint32_t to, std::uint32_t from) {
  std::copy_n(x(from), std::size_t{2} * words_, x(to));
  phase_[to] = phase_[from];
}

void PauliRows::clear(std::uint32_t row) {
  std::fill_n(x(row), std::size_t{2} * words_, 0);
  phase_[row] = 0;
}

void PauliRows::multiply(std::uint32_t to, std::uint32_t by) {
  std::uint64_t* t = x(to);
  const std::uint64_t* b = x(by);
  int crossings = 0;
  for (std::uint32_t w = 0; w < words_; ++w) crossings += std::popcount(t[words_ + w] & b[w]);
  for (std::uint32_t w = 0; w < 2 * words_; ++w) t[w] ^= b[w];
  phase_[to] = static_cast<std::uint8_t>((phase_[to] + phase_[by] + 2 * crossings) & 3);
}

bool PauliRows::anticommute(std::uint32_t a, std::uint32_t b) const {
  const std::uint64_t *ra = x(a), *rb = x(b);
  std::uint64_t parity = 0;
  for (std::uint32_t w = 0; w < words_; ++w)
    parity ^= (ra[w] & rb[words_ + w]) ^ (ra[words_ + w] & rb[w]);
  return std::popcount(parity) & 1;
}

bool PauliRows::same_body(std::uint32_t a, std::uint32_t b) const {
  return std::equal(x(a), x(a) + std::size_t{2} * words_, x(b));
}

std::vector<std::pair<std::uint32_t, Pauli>> PauliRows::factors(std::uint32_t row) const {
  static constexpr Pauli kOfCode[] = {Pauli::kI, Pauli::kX, Pauli::kZ, Pauli::kY};
  std::vector<std::pair<std::uint32_t, Pauli>> out;
  const std::uint64_t* r = x(row);
  for (std::uint32_t w = 0; w < words_; ++w) {
    for (std::uint64_t any = r[w] | r[words_ + w]; any; any &= any - 1) {
      const std::uint32_t q = 64 * w + static_cast<std::uint32_t>(std::countr_zero(any));
      out.emplace_back(q, kOfCode[at(row, q)]);
    }
  }
  return out;
}

void PauliRows::apply(const circuit::Clifford1& c, std::uint32_t q) {
  // Images of X^x Z^z: code, and what is added to the phase.
  unsigned code[4] = {0, code_of_pauli(c.x), code_of_pauli(c.z), 0};
  unsigned turn[4] = {0, hermitian_phase(code[1]) + (c.x_negative ? 2u : 0u),
                      hermitian_phase(code[2]) + (c.z_negative ? 2u : 0u), 0};
  code[3] = code[1] ^ code[2];
  turn[3] = turn[1] + turn[2] + product_phase(code[1], code[2]);
  for (std::uint32_t r = 0; r < size(); ++r) {
    const unsigned before = at(r, q);
    if (before == 0) continue;
    set(r, q, code[before]);
    phase_[r] = static_cast<std::uint8_t>((phase_[r] + turn[before]) & 3);
  }
}

// R becomes R B where it anticommutes with A on qa, R A where with B on qb, - R A B where with both.
void PauliRows::apply_controlled(Pauli a, std::uint32_t qa, Pauli b, std::uint32_t qb) {
  const unsigned ca = code_of_pauli(a), cb = code_of_pauli(b);
  for (std::uint32_t r = 0; r < size(); ++r) {
    const unsigned ra = at(r, qa), rb = at(r, qb);
    const bool with_a = codes_anticommute(ra, ca), with_b = codes_anticommute(rb, cb);
    if (!with_a && !with_b) continue;
    unsigned phase = phase_[r] + (with_a && with_b ? 2u : 0u);
    if (with_b) {
      phase += hermitian_phase(ca) + product_phase(ra, ca);
      set(r, qa, ra ^ ca);
    }
    if (with_a) {
      phase += hermitian_phase(cb) + product_phase(rb, cb);
      set(r, qb, rb ^ cb);
    }
    phase_[r] = static_cast<std::uint8_t>(phase & 3);
  }
}

void PauliRows::apply_swap(std::uint32_t a, std::uint32_t b) {
  for (std::uint32_t r = 0; r < size(); ++r) {
    const unsigned ra = at(r, a), rb = at(r, b);
    set(r, a, rb);
    set(r, b, ra);
  }
}

void PauliRows::apply_pauli(Pauli p, std::uint32_t q) {
  const unsigned code = code_of_pauli(p);
  for (std::uint32_t r = 0; r < size(); ++r) {
    if (codes_anticommute(at(r, q), code)) phase_[r] ^= 2;
  }
}

}  // namespace tilewave::stabilizer
