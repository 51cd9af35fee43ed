#include "tilewave/simulate/agreement.h"

#include <array>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/simulate/branch.h"
#include "tilewave/simulate/initial_state.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {

namespace {

constexpr std::size_t kMachine = 2, kQuestions = 5;
constexpr std::array<const char*, 6> kNames = {"version of tilewave",
                                               "circuit",
                                               "precision, device, engine, effort, number of "
                                               "runs or checkpoint",
                                               "noise model",
                                               "number of shots or seed",
                                               "initial state or list of questions"};
using Words = std::array<std::uint64_t, kNames.size()>;

// Of what a model does to this circuit: models in other words that do the same are one.
std::uint64_t of_noise(const circuit::Circuit& circuit, const Options& options) {
  if (!options.noise) return 0;
  Fingerprint f;
  f.add(circuit::with_noise(circuit, *options.noise).fingerprint());
  for (const circuit::ReadoutError& e :
       circuit::readout_errors(*options.noise, circuit.num_qubits()))
    f.add(e.p1_given_0).add(e.p0_given_1);
  return f.value();
}

std::uint64_t of_questions(const Options& options) {
  Fingerprint f;
  for (const IndexRange& range : options.amplitudes) f.add(range.first).add(range.count);
  f.add(std::uint64_t{options.amplitudes.size()});
  f.add(static_cast<std::uint64_t>(options.probabilities));
  for (const auto q : options.probability_qubits) f.add(std::uint64_t{q});
  f.add(std::uint64_t{options.probability_qubits.size()});
  for (const circuit::WidePauliTerm& term : options.observables) {
    f.add(term.coefficient);
    for (const auto* words : {&term.x, &term.z}) {
      f.add(std::uint64_t{words->size()});
      for (const std::uint64_t word : *words) f.add(word);
    }
  }
  f.add(static_cast<std::uint64_t>(!options.state_path.empty()));
  f.add(fingerprint_of(std::as_bytes(options.initial_state)));
  f.add(fingerprint_of_file(options.initial_state_path, Look::kSome));
  f.add(static_cast<std::uint64_t>(options.dry_run));
  f.add(static_cast<std::uint64_t>(options.record_shots));
  return f.value();
}

Words words_of(const circuit::Circuit& circuit, const Options& options) {
  Fingerprint version, machine, draws;
  version.add(std::string_view(TW_VERSION));
  machine.add(static_cast<std::uint64_t>(options.precision))
      .add(std::string_view(options.device.text()));
  machine.add(static_cast<std::uint64_t>(options.engine));
  // ranks that plan with another effort may exchange other qubits
  machine.add(static_cast<std::uint64_t>(options.effort));
  // the last of several runs writes the state: ranks of another number of runs part there
  machine.add(std::uint64_t{options.writes_state} << 4 |
              std::uint64_t{!options.topology_path.empty()} << 3 |
              std::uint64_t{options.checkpoint.folder == options.checkpoint.resume} << 2 |
              std::uint64_t{!options.checkpoint.folder.empty()} << 1 |
              std::uint64_t{!options.checkpoint.resume.empty()});
  draws.add(options.shots).add(static_cast<std::uint64_t>(options.seed.has_value()));
  draws.add(options.seed.value_or(0));
  return {version.value(), circuit.fingerprint(), machine.value(), of_noise(circuit, options),
          draws.value(),   of_questions(options)};
}

}  // namespace

std::vector<std::uint64_t> asked_of(const circuit::Circuit& circuit, const Options& options) {
  Words words = words_of(circuit, options);
  Fingerprint precision;
  precision.add(static_cast<std::uint64_t>(options.precision));
  precision.add(static_cast<std::uint64_t>(options.engine));
  words[kMachine] = precision.value();
  // days may lie between: basis states, say, differ in a few bytes of the file only
  words[kQuestions] =
      mix(words[kQuestions], fingerprint_of_file(options.initial_state_path, Look::kWhole));
  for (const std::size_t size :
       {sizeof(statevec::CostModel), sizeof(statevec::Action), sizeof(Outcome)})
    words[0] = mix(words[0], size);  // as the record has them
  return {words.begin(), words.end()};
}

std::string difference_of(const std::vector<std::uint64_t>& was,
                          const std::vector<std::uint64_t>& is) {
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (k < was.size() && was[k] == is[k]) continue;
    return k == kMachine ? "precision or engine" : kNames[k];
  }
  return {};
}

void check_agreement(const circuit::Circuit& circuit, const Options& options) {
  const auto& processes = options.distribution.processes;
  if (!processes || processes->size() == 1) return;
  const Words mine = words_of(circuit, options);
  std::vector<Words> all(static_cast<std::size_t>(processes->size()));
  processes->gather(mine.data(), all.data(), sizeof mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t k = 0; k < kNames.size(); ++k) {
      if (all[rank][k] == all[0][k]) continue;
      fail(ExitCode::kUsage, "rank ", rank, " has another ", kNames[k],
           " than rank 0 (their parts of the state would be mixed): start all processes with the "
           "same files and flags");
    }
  }
}

}  // namespace tilewave::simulate
