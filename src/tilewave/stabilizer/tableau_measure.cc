// One measurement at a time, on the rows of a tableau: where outcomes steer what follows, there are
// no others to make together with it (tableau_collapse.cc). The steps are the same: CX from a pivot
// column, S, H and X on the start. Cost of a random outcome: 2 n rows of n / 256 panels, read and
// written once.
#include <bit>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::stabilizer {

Tableau::Tableau(const Tableau& other) : n_(0), panels_(0) { *this = other; }

Tableau& Tableau::operator=(const Tableau& other) {
  if (this == &other) return *this;
  n_ = other.n_;
  panels_ = other.panels_;
  if (bits_.num_bytes() != other.bits_.num_bytes())
    bits_ = runtime::HostBuffer(other.bits_.num_bytes());
  if (bits_.num_bytes() > 0) std::memcpy(bits_.data(), other.bits_.data(), bits_.num_bytes());
  place_ = other.place_;
  phase_ = other.phase_;
  fresh_ = other.fresh_;
  gates_ = other.gates_;
  products_ = other.products_;
  turns_ = other.turns_;
  return *this;
}

bool Tableau::measure_z(std::uint32_t q, bool one) {
  settle();
  flush();
  const std::size_t own = place_[2 * q + 1];
  std::size_t pivot = 0;  // word of x, counted through the panels
  while (pivot < 4 * panels_ && !(panel(pivot / 4) + own * kPanelWords)[pivot % 4]) ++pivot;
  if (pivot == 4 * panels_) return outcome_z(q);
  const std::uint64_t first = (panel(pivot / 4) + own * kPanelWords)[pivot % 4];
  const std::uint64_t bit = first & -first;
  targets_.resize(4 * panels_);
  for (std::size_t w = 0; w < targets_.size(); ++w)
    targets_[w] = (panel(w / 4) + own * kPanelWords)[w % 4];
  targets_[pivot] ^= bit;

  // CX from the pivot to all targets; what is left of the row is X or Y on the pivot.
  for (std::size_t row = 0; row < place_.size(); ++row) {
    std::uint64_t* const at = panel(pivot / 4) + row * kPanelWords + pivot % 4;
    const bool x = at[0] & bit;
    std::uint64_t z = 0;
    for (std::size_t p = 0; p < panels_; ++p) {
      std::uint64_t* const words = panel(p) + row * kPanelWords;
      for (std::size_t w = 0; w < 4; ++w) {
        z ^= words[4 + w] & targets_[4 * p + w];
        if (x) words[w] ^= targets_[4 * p + w];
      }
    }
    if (std::popcount(z) & 1) at[4] ^= bit;
  }
  const std::uint64_t* const of_pivot = panel(pivot / 4) + pivot % 4;
  const bool is_y = of_pivot[own * kPanelWords + 4] & bit;
  for (std::size_t row = 0; row < place_.size(); ++row) {
    std::uint64_t* const at = panel(pivot / 4) + row * kPanelWords + pivot % 4;
    const bool x = at[0] & bit;
    bool z = at[4] & bit;
    unsigned phase = phase_[row];
    if (is_y && x) z = !z, phase += 1;
    if (x && z) phase += 2;
    if (x != static_cast<bool>(at[4] & bit)) at[4] ^= bit;  // H: x and z change places
    if (z != x) at[0] ^= bit;
    phase_[row] = phase & 3;
  }
  TW_CHECK((phase_[own] & 1) == 0, "a measured Pauli has a real sign");
  if ((phase_[own] == 2) == one) return one;
  for (std::size_t row = 0; row < place_.size(); ++row) {
    if (of_pivot[row * kPanelWords + 4] & bit) phase_[row] ^= 2;
  }
  return one;
}

bool Tableau::is_random_z(std::uint32_t q) {
  settle();
  flush();
  std::uint64_t any = 0;
  for (std::size_t p = 0; p < panels_; ++p) {
    const std::uint64_t* x = panel(p) + place_[2 * q + 1] * kPanelWords;
    any |= x[0] | x[1] | x[2] | x[3];
  }
  return any != 0;
}

}  // namespace tilewave::stabilizer
