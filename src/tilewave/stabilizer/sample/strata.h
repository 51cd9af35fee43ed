// Importance sampling by the number of faults. The numbers of faults are divided into strata; each is
// sampled by shots that have such a number, drawn given that they do, and counts with its exact
// probability P_k. With a_k the share of its shots that post-selection keeps and e_k the share that is
// kept and wrong,
//   P(kept) = sum_k P_k a_k,      P(wrong | kept) = sum_k P_k e_k / sum_k P_k a_k.
// So errors that need many faults are seen as often as one likes, and weigh what they should. The
// strata cover all numbers of faults: nothing is left out and no estimate is biased by that.
//
// Shots are shared out in four rounds, an eighth of them evenly, the others by Neyman's rule from what
// is known then: n_k in proportion to P_k s_k, s_k the standard deviation of (wrong - p kept) in the
// stratum. Everything depends on the seed alone, not on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/stabilizer/sample/weighted_counts.h"

namespace tilewave::stabilizer {

struct Stratum {
  FaultRange faults;
  double weight = 0;  ///< the probability of such a number of faults
  /// No shot in it is wrong: its numbers are below the fault distance.
  bool is_safe = false;
  std::uint64_t attempted = 0, kept = 0;
  std::vector<std::uint64_t> errors;  ///< kept shots with each observable set
  std::uint64_t any_error = 0;        ///< kept shots with some observable set
};

/// num_shots are those of all strata together; first_shot is 0.
struct StrataOptions : SampleOptions {
  std::uint64_t num_detectors = 0, num_observables = 0;
  /// The least number of faults that make a kept shot wrong, if it is known; 0: it is not.
  std::uint64_t fault_distance = 0;
  bool even = false;         ///< as many shots for every stratum
  double confidence = 0.95;  ///< from 0.5 on, below 1
};

struct StrataTable {
  std::vector<Stratum> strata;   ///< by numbers of faults
  std::uint64_t attempted = 0;   ///< shots
  Estimate kept;                 ///< share of shots
  std::vector<Estimate> errors;  ///< share of kept shots with each observable set
  Estimate any_error;            ///< with some observable set
  double confidence = 0.95;
};

/// The strata that words name, and those between them: every number of "3-8" is one, "9+" is one,
/// commas between; what is left below, between and above them is one each. `auto`: numbers that are
/// neither very rare nor too many, from the fault distance on. Throws Error(kUsage).
std::vector<FaultRange> parse_strata(std::string_view words, const FaultRows& faults,
                                     std::uint64_t fault_distance);

/// Makes the shots. The source is one with faults(). `progress` gets how many shots are done and says
/// whether to go on; where not, the table is of the shots made. Throws Error(kUsage) for fewer shots
/// than eight a stratum, for a confidence out of its range, for a first shot, and where a shot with
/// fewer faults than the fault distance is wrong.
StrataTable sample_strata(ShotSource& source, const std::vector<FaultRange>& strata,
                          const StrataOptions& options,
                          const std::function<bool(std::uint64_t)>& progress);
/// All of it for a circuit, which tells the numbers of bits.
StrataTable sample_strata(const StabProgram& program, std::string_view words,
                          StrataOptions options);

/// The probabilities of 0, 1, ... `most` faults in a shot. Throws Error(kUsage) above 2^20, and where
/// more places always fire.
std::vector<double> fault_probabilities(const StabProgram& program, std::uint64_t most);

}  // namespace tilewave::stabilizer
