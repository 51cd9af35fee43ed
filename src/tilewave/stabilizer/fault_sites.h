// The places of noise of a circuit or an error model, for shots with a given number of faults. Of a
// model every error is a place. Of a circuit a place is a mechanism
// of a channel: a channel on one of its targets (a qubit, a pair, a record), or a whole chain of
// E and ELSE_CORRELATED_ERROR. It fires where its outcome is not the identity, at most once a shot,
// independently of all others; then one of its outcomes flips output bits. A place that flips
// nothing counts like any other.
//
// What an outcome flips is the sum of some of the place's generators: of the flips of X and Z on
// each qubit, of those of a record. So a place of DEPOLARIZE2 keeps four sets and not fifteen, and
// channels of equal probabilities share one table of outcomes. Loops are folded: a span of a class is
// the places of a segment, some times over, each time some detectors further.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/stabilizer/fault_numbers.h"
#include "tilewave/stabilizer/sensitivity.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// The outcomes of a channel that fired: alias[first .. first + count), and what each adds up.
struct FaultChannel {
  double probability = 0;  ///< that it fires
  std::uint32_t first = 0, count = 0;
  std::uint32_t num_generators = 0;
  bool one_each = false;  ///< outcome b is generator selector[b] alone, else a mask of generators
};

struct FaultSite {
  std::uint32_t channel = 0;
  std::uint32_t first_generator = 0;  ///< in generators
};

/// Places [start, start + num_sites * repeats) of a class.
struct FaultSpan {
  std::uint64_t start = 0;
  std::uint32_t first_site = 0, num_sites = 0;
  std::uint64_t repeats = 1, shift = 0, stride = 0;
};

struct FaultProgram {
  std::uint64_t num_bits = 0;  ///< detectors, then observables, or records
  std::vector<FaultChannel> channels;
  std::vector<AliasEntry> alias;
  std::vector<std::uint32_t> selectors;
  std::vector<FaultSite> sites;
  std::vector<SparseList> generators;
  std::vector<std::uint32_t> far;  ///< bits; those marked kFixedBit do not move with a span
  std::vector<FaultClass> classes;
  std::vector<FaultSpan> spans;
  /// Spans of class c: [first_span[c], first_span[c + 1]). Places behind the last span flip nothing.
  std::vector<std::uint32_t> first_span;
  /// What is random beside the noise: coins alone, a program of the sparse engine without errors.
  SparseProgram coins;
  bool moves = false;  ///< some span has a shift

  std::uint64_t num_places() const;
};

/// Throws Error(kResources) where the circuit is too large, Error(kInput) where it has leakage.
FaultProgram build_faults(const StabProgram& program, SymptomKind kind);
/// The same of an error model.
FaultProgram build_faults(std::span<const IndependentError> errors, std::uint64_t num_detectors,
                          std::uint64_t num_observables);

/// For --explain: classes and how many faults a shot has.
std::string describe(const FaultProgram& program, const FaultNumbers& numbers);

}  // namespace tilewave::stabilizer
