// The program of the sparse engine: every way a shot can differ from the noiseless one, as a set of
// output bits that flip together. Gates cost nothing here; a shot costs its errors.
//
// Exactness. A channel that is a mixture of Paulis under composition (X_ERROR(p), depolarisation,
// measurement flips, a single correlated error) equals a Poisson process of independent flips:
//   X_ERROR(p):                   rate -ln(1 - 2p) / 2
//                                 (an odd number of hits has probability p)
//   n qubits depolarised with p:  rate -ln(1 - p 4^n / (4^n - 1)) / 4^n
//                                 for each of the 4^n - 1 Paulis
// Rates of equal flips add, so the whole circuit becomes one process of few thousand mechanisms,
// drawn without any order: a Poisson number for a unit of shots, then a mechanism (alias table) and
// a shot for each. Channels that have no such form (PAULI_CHANNEL, ELSE chains, heralds, p above
// the limit) stay disjoint and are drawn by geometric gaps. Coins (rate infinity) are drawn as
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

/// A table of mechanisms that flip `width` bits each.
struct SparseGroup {
  std::uint32_t width = 0;  ///< 1 to 4, or 0: lists in `far`
  bool fixed = false;       ///< some bits (marked kFixedBit) do not move with the tile
  std::uint32_t first = 0;  ///< of its entries in `alias`
  std::uint32_t count = 0;
  /// In bits: m flips bits[first_bit + m * width ...]; width 0: lists.
  std::uint32_t first_bit = 0;
  double rate = 0;            ///< events a shot
  double flips = 0;           ///< bits they flip
  std::uint32_t poisson = 0;  ///< index in poissons
};
constexpr std::uint32_t kFixedBit = std::uint32_t{1} << 31;

/// A group at a place: an iteration of a loop draws the group of its body with its bits moved down.
struct SparseTile {
  std::uint32_t group = 0;
  std::uint32_t shift = 0;  ///< subtracted from every bit that is not fixed
};

/// The distribution of the number of events in a unit: upto[k] = P(N <= first + k).
struct PoissonTable {
  std::uint64_t first = 0;
  std::vector<double> upto;
};

struct AliasEntry {
  std::uint32_t threshold;  ///< below (in 2^-32): this mechanism, else `alias`
  std::uint32_t alias;
};

/// One place of a disjoint channel.
struct SparseSite {
  std::uint32_t first_branch = 0;
  std::uint32_t num_branches = 0;
};
/// A branch: chosen by 24 random bits below `upto`; flips far[first .. first + count).
struct SparseBranch {
  std::uint32_t upto = 0;
  std::uint32_t first = 0, count = 0;
};
/// Sites of equal total probability.
struct SparseSiteGroup {
  double probability = 0, inv_log = 0;
  std::uint32_t first_site = 0, num_sites = 0;
};
struct SparseList {
  std::uint32_t first = 0, count = 0;  ///< in far
};

struct SparseProgram {
  std::uint64_t num_bits = 0;  ///< detectors, then observables
  std::uint64_t num_detectors = 0;
  std::uint32_t log2_unit = 5;  ///< shots of a unit, the grain of the random streams
  std::vector<SparseGroup> groups;
  std::vector<SparseTile> tiles;  ///< one process each; the index is the random stream
  std::vector<PoissonTable> poissons;
  std::vector<AliasEntry> alias;
  std::vector<std::uint32_t> bits;
  std::vector<SparseList> lists;
  std::vector<std::uint32_t> far;  ///< bit numbers
  std::vector<SparseSiteGroup> site_groups;
  std::vector<SparseSite> sites;
  std::vector<SparseBranch> branches;
  std::vector<SparseList> coins;
  std::vector<std::uint32_t> always;  ///< bits flipped in every shot

  double events_per_shot = 0;       ///< of the Poisson groups
  double event_flips_per_shot = 0;  ///< output bits they flip
  double sites_per_shot = 0;        ///< expected hits of disjoint channels
  double site_flips_per_shot = 0;
  double coin_flips_per_shot = 0;

  std::uint64_t row_bytes() const { return (num_bits + 7) / 8; }
};

SparseProgram build_sparse(const StabProgram& program, SymptomKind kind);
/// The same; nothing where it takes more work (symptoms looked at) than this.
std::optional<SparseProgram> build_sparse_within(const StabProgram& program, SymptomKind kind,
                                                 std::uint64_t most_work);

/// The binary logarithm of so many shots that their rows fill about half of a second-level cache.
std::uint32_t usual_unit(const SparseProgram& program);
/// Chooses how many shots a unit has, which the streams of random numbers depend on.
void set_unit(SparseProgram& program, std::uint32_t log2_unit);

/// One independent mechanism of an error model.
struct IndependentError {
  double probability;
  std::vector<std::uint32_t> bits;
};
/// What its bits are, of which detectors come first.
SymptomSet symptoms_of(const IndependentError& error, std::uint64_t num_detectors);
SparseProgram build_sparse(std::span<const IndependentError> errors, std::uint64_t num_detectors,
                           std::uint64_t num_observables);

}  // namespace tilewave::stabilizer
