#include "tilewave/simulate/questions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::simulate {

namespace {

constexpr std::uint64_t kMaxShots = 100'000'000;

}  // namespace

void check_has_qubits(const circuit::Circuit& circuit) {
  if (circuit.num_qubits() == 0) {
    throw Error(ExitCode::kInput,
                "the circuit has no qubits, so there is no state to run: declare at least one");
  }
}

void check_questions(const Program& program, const Options& options) {
  const std::uint32_t n = program.circuit->num_qubits();
  const auto fail = [](const auto&... parts) { tilewave::fail(ExitCode::kUsage, parts...); };
  check_has_qubits(*program.circuit);
  if (!options.topology_path.empty() && !options.dry_run)
    fail("--topology describes a machine that is not here: add --dry-run");
  if (!options.from_zeros() && options.engine == Engine::kStabilizer)
    fail("the stabilizer engine starts in |0...0> only: use --engine statevector");
  const CheckpointOptions& checkpoint = options.checkpoint;
  if (options.dry_run && !(checkpoint.folder.empty() && checkpoint.resume.empty()))
    fail("a dry run has no run to keep: leave out --checkpoint and --resume");
  if (!checkpoint.folder.empty() && !(checkpoint.every_s > 0))
    fail("checkpoints are kept every so many seconds: give a number above 0");
  if (options.shots > kMaxShots) fail("at most 100000000 shots in one run: split them by seed");
  for (const auto& range : options.amplitudes) {
    const std::uint64_t size = n >= 64 ? ~std::uint64_t{0} : bit(static_cast<int>(n));
    if (range.first >= size || range.count > size - range.first) {
      fail("amplitude ", std::max(range.first, range.first + range.count - 1),
           " does not exist: a state of ", n, " qubits has indices 0 to ", size - 1);
    }
  }
  for (const auto q : options.probability_qubits) {
    if (q >= n) {
      fail("qubit ", q, " does not exist: the circuit has qubits 0 to ", n - 1);
    }
    if (std::count(options.probability_qubits.begin(), options.probability_qubits.end(), q) > 1) {
      fail("qubit ", q, " is asked for twice");
    }
  }
  double total = 0;
  for (const circuit::WidePauliTerm& term : options.observables) {
    total += std::abs(term.coefficient);
    for (const auto* words : {&term.x, &term.z}) {
      for (std::size_t k = n / 64; k < words->size(); ++k) {
        if ((*words)[k] >> (k == n / 64 ? n % 64 : 0)) {
          fail("an observable acts on qubits the circuit does not have: it has 0 to ", n - 1);
        }
      }
    }
  }
  if (!std::isfinite(total)) {
    fail("the coefficients of the observable must be finite, and so must their sum");
  }
  if (options.engine == Engine::kStatevector && program.has_channels) {
    fail("a state vector holds no noise: use --engine density, trajectories or auto");
  }
  if (options.engine == Engine::kTrajectories && !program.has_channels) {
    fail(
        !options.noise
            ? "--engine trajectories is for circuits with noise channels: give a --noise "
              "file with some"
        : !circuit::readout_errors(*options.noise, n).empty()
            ? "none of the noise model's channels acts in this circuit, and readout errors need no "
              "trajectories: use --engine auto, which misreads shots of one state"
            : "none of the noise model's channels acts in this circuit, so there is "
              "nothing to draw: use --engine auto, or name operations of the circuit in the model");
  }
  if ((program.has_channels || options.engine == Engine::kDensity) &&
      (!options.amplitudes.empty() || !options.state_path.empty())) {
    fail(
        "a noisy circuit ends in no single state, so it has no amplitudes: ask for counts, "
        "probabilities or expectations");
  }
}

void check_shots(const Program& program, const Options& options) {
  const auto fail = [](const auto&... parts) { tilewave::fail(ExitCode::kUsage, parts...); };
  if (!program.dynamic) return;
  if ((!options.amplitudes.empty() || !options.state_path.empty()) && options.shots != 1) {
    fail(
        "amplitudes and the state are not defined over several shots of a circuit that measures "
        "or resets in the middle: ask for --shots 1, or for counts, probabilities or expectations");
  }
  if (options.shots == 0 && !options.dry_run && !program.has_channels) {
    fail(
        "a circuit that measures or resets in the middle needs shots: ask for --shots N, or for "
        "--engine density, which gives probabilities and expectations exactly");
  }
}

}  // namespace tilewave::simulate
