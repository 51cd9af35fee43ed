// What each error flips: a walk backwards through a program that keeps, for every qubit, the set of
// symptoms an X or a Z error at this place flips, and for every record the symptoms that include
// it. Symptoms are detectors and observables (or the records themselves). Gates act on the sets as
// on Paulis; a noise channel is handed to the visitor with the sets of its place. One walk serves
// the sparse engine, error models and explanations.
//
// Where the state is known to be an eigenstate of P (after a measurement or reset, at the start), P
// acts trivially; symptoms that P flips there are coins, and reported as such.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tilewave/stabilizer/stab_program.h"
#include "tilewave/stabilizer/symptom_set.h"

namespace tilewave::stabilizer {

/// Throws Error(kInput): these symptoms are random at a measurement or reset (or the start) of a
/// qubit; `place` is where the instruction stands.
[[noreturn]] void throw_random_symptoms(const SymptomSet& set, const std::string& place,
                                        bool collapse, std::uint32_t qubit);

class SensitivityWalk;

/// Thrown where a walk would take more work than it may.
struct TooMuchWork {};

/// Receives what the walk meets, last things first.
class SensitivityVisitor {
 public:
  virtual ~SensitivityVisitor() = default;
  /// A noise primitive; the walk's sets are those right behind it.
  virtual void noise(const Prim&, const SensitivityWalk&) {}
  /// A coin: these symptoms flip together with probability one half.
  virtual void coin(const Prim*, std::uint32_t /*qubit*/, const SymptomSet& /*flips*/) {}
  virtual void detector(const Prim&, const SensitivityWalk&) {}
  virtual void observable(const Prim&) {}
  virtual void shift(const Prim&) {}
  /// The record just before this place, with all symptoms it takes part in: by detectors that name
  /// it, and by what feedback on it flips.
  virtual void record(std::uint64_t /*number*/, const SymptomSet& /*set*/) {}
  /// A Pauli controlled by sweep bit p.b; the sets are those right behind it.
  virtual void sweep(const Prim&, const SensitivityWalk&) {}
  /// Runs a loop's body `iterations` times; a visitor may fold.
  virtual void loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk);
};

enum class SymptomKind : std::uint8_t {
  kDetectors,  ///< detectors and observables
  kRecords,
};

class SensitivityWalk {
 public:
  SensitivityWalk(const StabProgram& program, SymptomKind kind, SensitivityVisitor& visitor);

  /// The walk throws TooMuchWork beyond so many symptoms moved.
  void limit_work(std::uint64_t most_symptoms) { most_work_ = most_symptoms; }

  /// The whole circuit, from its end to its start.
  void run();
  /// One pass through a block, backwards.
  void block(std::uint32_t index);

  /// Symptoms flipped by Pauli p on qubit q here.
  const SymptomSet& x(std::uint32_t q) const { return x_[q]; }
  const SymptomSet& z(std::uint32_t q) const { return z_[q]; }
  SymptomSet flips(Pauli p, std::uint32_t q) const;
  /// Those flipped by the Pauli product of a kCorrelated.
  SymptomSet flips(const Prim& product) const;
  /// Symptoms that include the record `back` before the present place.
  const SymptomSet& record(std::uint64_t back) const {
    return records_[(num_records_ - back) & mask_];
  }

  /// Symptoms that lie before this place.
  std::uint64_t position() const {
    return kind_ == SymptomKind::kRecords ? num_records_ : num_detectors_;
  }
  std::uint64_t num_records() const { return num_records_; }
  std::uint64_t num_detectors() const { return num_detectors_; }
  const StabProgram& program() const { return program_; }

  /// For folding loops: a hash of the sets of the qubits the block touches and of the records that
  /// are looked back at, with detectors counted back from this place. Equal states have equal
  /// futures.
  SetHash state_hash(std::uint32_t block);
  /// Symptoms of all these sets, and a hash of the sizes of the sets.
  struct StateSize {
    std::size_t symptoms = 0;
    std::uint64_t hash = 0;
  };
  StateSize state_size(std::uint32_t block);
  /// Makes the last symptom of a coin's set depend on the others: every set that holds it gains the
  /// set.
  void remove_gauge(const SymptomSet& gauge);
  /// Goes on as if iterations with so many detectors and records had been walked.
  void shift_detectors(std::uint32_t block, std::uint64_t detectors, std::uint64_t records);

 private:
  SymptomSet& record_ref(std::uint64_t back) { return records_[(num_records_ - back) & mask_]; }
  void anticommuting(Pauli p, std::uint32_t q, const SymptomSet& symptoms);
  void coin(const Prim* p, Pauli basis, std::uint32_t q);

  const std::vector<std::uint32_t>& touched(std::uint32_t block);
  // Calls f(place, set) for the sets of a state that are not empty.
  template <class F>
  void each_of_state(std::uint32_t block, F f);

  const StabProgram& program_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> touched_;  // qubits a block touches
  SymptomKind kind_;
  SensitivityVisitor& visitor_;
  std::vector<SymptomSet> x_, z_, records_;
  std::uint64_t mask_;
  std::uint64_t num_records_, num_detectors_;
  std::uint64_t work_ = 0, most_work_ = ~std::uint64_t{0};  // symptoms
};

}  // namespace tilewave::stabilizer
