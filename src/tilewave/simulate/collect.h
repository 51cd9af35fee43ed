// What a run was asked, collected from the final state of every branch, weighted by its share of
// the shots. Over trajectories, and over the shots of a circuit whose measurements steer it (of a
// density matrix only where its outcomes are too many to be followed), every mean gets its standard
// error, sqrt(sum_k (v_k - mean)^2 / (N (N - 1))).
#pragma once

#include <optional>
#include <span>

#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/run_checks.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/rates/question_rates.h"

namespace tilewave::simulate {

/// Of a mean over `count` values, from it and the mean of their squares; NaN for a single value,
/// which says nothing of how far others are.
double standard_error(double mean, double mean_square, std::uint64_t count);

class Collector {
 public:
  /// `num_shots` are run, whether or not their outcomes are asked for; `readout` as in
  /// BranchOptions. `means`: how those that are asked for come about.
  enum class Means : std::uint8_t {
    kExact,     ///< from the one state that answers everything, or by add_outcome()
    kOverShots  ///< with standard errors
  };
  Collector(const Program& program, const Options& options, std::uint64_t num_shots,
            std::span<const circuit::ReadoutError> readout, Means means, Result& result)
      : program_(program),
        options_(options),
        num_shots_(num_shots),
        has_errors_(means == Means::kOverShots),
        readout_(readout),
        result_(result),
        counter_(program) {}

  void operator()(const Leaf& leaf);
  /// The means that are asked for, in a final state that is reached with this probability.
  void add_outcome(statevec::State& state, double probability);
  /// Room for every shot, before the first leaf.
  void prepare_shots();
  void finish();
  /// The answers so far, for a checkpoint, and from one.
  void save(ByteWriter& out) const;
  void load(ByteReader& in);
  double fraction_done() const {
    return num_shots_ ? static_cast<double>(shots_done_) / static_cast<double>(num_shots_) : 1;
  }

 private:
  template <class F>
  void timed(const char* step, F f, double predicted_s = 0);
  const statevec::rates::QuestionRates& rates_of(const statevec::State& state);
  std::optional<statevec::rates::QuestionRates> question_rates_;
  double check_norm(statevec::State& state);
  void add_probabilities(statevec::State& state, double weight, double norm);
  void add_expectations(statevec::State& state, double weight, double norm);
  void read_amplitudes(statevec::State& state);
  void count(const Leaf& leaf);
  void outcome_of(const Leaf& leaf, std::uint64_t basis_state, Bits& out) const;
  void misread(std::uint32_t shot, Bits& outcome) const;
  void record(std::uint32_t shot, const Bits& outcome);

  const Program& program_;
  const Options& options_;
  std::uint64_t num_shots_;
  bool has_errors_;
  std::span<const circuit::ReadoutError> readout_;
  Result& result_;
  Counter counter_;
  std::uint64_t shots_done_ = 0;
  double sum_squares_ = 0;  // of the sum of expectations, weighted
  ShotCheck shot_check_;
};

}  // namespace tilewave::simulate
