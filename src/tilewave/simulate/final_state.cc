// States that outlive their run: see simulate.h.
#include <complex>
#include <memory>
#include <span>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/density_program.h"
#include "tilewave/simulate/initial_state.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/noisy_engine.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/questions.h"
#include "tilewave/simulate/run_checks.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

using statevec::Precision;
using statevec::State;

namespace {

// Progress over the passes of one plan.
statevec::RunObserver progress_of(const Options& options) {
  statevec::RunObserver observer;
  if (options.on_progress) {
    observer.on_progress = [&options](double done_s, double total_s) {
      options.on_progress(total_s > 0 ? done_s / total_s : 1, total_s - done_s);
    };
  }
  return observer;
}

}  // namespace

FinalState final_state(const circuit::Circuit& circuit, const Options& options, bool whole) {
  const runtime::ThreadLimit limit(options.num_threads);
  circuit::need_bound(circuit);
  Program program = prepare(circuit, options.from_zeros());
  check_has_qubits(circuit);
  InitialState initial(options, circuit.num_qubits());
  if (program.has_channels) {
    fail(ExitCode::kUsage,
         "a circuit with noise channels ends in no single state: ask for its density matrix, or "
         "for counts or expectations");
  }
  circuit::Circuit of_touched;
  if (!whole && options.from_zeros()) keep_only(program, touched_qubits(program), of_touched);
  const std::uint32_t n = program.circuit->num_qubits();
  std::unique_ptr<State> state =
      make_state(n, options.precision, options.num_threads, options.device);
  if (options.keeps_device_memory) state->keep_shared_memory();
  BranchOptions branch_options;
  if (!options.from_zeros()) {
    branch_options.start = [&](State& s) { initial.put_into(s, false); };
    branch_options.start(*state);
  }
  if (program.dynamic) branch_options.seed = options.seed ? *options.seed : draw_seed();
  branch_options.session = &options.used_session();
  branch_options.effort = options.effort;
  branch_options.in_order = whole;
  Result ignored;
  statevec::RunObserver observer = progress_of(options);
  observer.makes_norm = true;
  run_branches(program, state, branch_options, observer, ignored, [](const Leaf&) {});
  check_norm(state->norm(), *program.circuit, program.ops, options.precision, true);
  return {std::move(state), std::move(program.qubits)};
}

namespace {

template <class Amplitude>
void spread_amplitudes(FinalState& final, Amplitude* to) {
  std::uint64_t kept = 0;
  for (const circuit::Qubit q : final.qubits.kept()) kept |= bit(static_cast<int>(q));
  const bool is_whole = final.qubits.is_identity();
  final.state->for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k)
      to[is_whole ? first + k : deposit_bits(first + k, kept)] = Amplitude(block[k]);
  });
}

}  // namespace

void copy_amplitudes(FinalState& final, std::span<std::complex<double>> to) {
  spread_amplitudes(final, to.data());
}

runtime::HostBuffer take_amplitudes(FinalState& final) {
  State& state = *final.state;
  const std::uint32_t n = final.qubits.num_qubits();
  if (final.qubits.is_identity()) return state.take_amplitudes();
  check_memory(n, state.precision(), 1, runtime::available_host_bytes());
  const std::uint64_t size = statevec::amplitude_bytes(state.precision());
  runtime::HostBuffer all(size << n);  // of zeros
  if (state.precision() == Precision::kDouble) {
    spread_amplitudes(final, all.as<cplx>());
  } else {
    spread_amplitudes(final, all.as<std::complex<float>>());
  }
  return all;
}

std::unique_ptr<State> final_density(const circuit::Circuit& circuit, const Options& options) {
  const runtime::ThreadLimit limit(options.num_threads);
  check_has_qubits(circuit);
  circuit::need_bound(circuit);
  const circuit::Circuit noisy =
      options.noise ? circuit::with_noise(circuit, *options.noise) : circuit;
  const Program program = prepare(noisy);
  DensityProgram density;
  Options exact = options;
  exact.engine = Engine::kDensity;
  choose_noisy_engine(program, exact, 1, density);
  if (density.program.dynamic) {
    fail(ExitCode::kUsage,
         "the density matrix of a circuit that measures in the middle depends on what is measured: "
         "ask for counts or expectations over shots");
  }
  std::unique_ptr<State> state = make_state(density.circuit.num_qubits(), options.precision,
                                            options.num_threads, options.device);
  BranchOptions branch_options;
  branch_options.session = &options.used_session();
  branch_options.effort = options.effort;
  branch_options.in_order = true;
  Result ignored;
  run_branches(density.program, state, branch_options, progress_of(options), ignored,
               [](const Leaf&) {});
  return state;
}

}  // namespace tilewave::simulate
