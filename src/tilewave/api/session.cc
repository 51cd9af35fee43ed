// See include/tilewave/session.h.
#include "tilewave/session.h"
#include "tilewave/base/error.h"

#include <utility>

#include "tilewave/api/access.h"
#include "tilewave/api/guard.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/device.h"
#include "tilewave/simulate/run_checks.h"
#include "tilewave/simulate/session.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/state.h"

namespace tilewave {

struct Session::Data {
  DeviceSet device;
  Precision precision = Precision::kDouble;
  int num_threads = 0;
  std::shared_ptr<simulate::Session> plans = std::make_shared<simulate::Session>();

  simulate::Options options(Effort effort) const {
    simulate::Options options;
    options.device = device;
    options.precision = precision;
    options.num_threads = num_threads;
    options.effort = effort;
    options.session = plans;
    options.keeps_device_memory = true;
    return options;
  }
};

struct Executable::Data {
  Circuit circuit;
  std::shared_ptr<Session::Data> session;
  Effort effort;
};

namespace {

simulate::Options with_questions(simulate::Options options, const Questions& asked,
                                 std::uint32_t num_qubits) {
  options.shots = asked.shots;
  options.seed = asked.seed;
  options.engine = asked.engine;
  options.initial_state_path = asked.initial_state_file;
  options.state_path = asked.state_file;
  options.checkpoint.folder = asked.checkpoint;
  options.checkpoint.every_s = asked.checkpoint_every_s;
  options.checkpoint.resume = asked.resume;
  options.probabilities = asked.probabilities || !asked.joint.empty();
  options.probability_qubits = asked.joint;
  for (const std::uint64_t index : asked.amplitudes) options.amplitudes.push_back({index, 1});
  if (!asked.observable.empty()) {
    options.observables = language::parse_pauli_sum(asked.observable, "observable",
                                                    circuit::PauliOrder::kLastIsQubit0, num_qubits);
  }
  return options;
}

Result to_result(simulate::Result&& r) {
  Result result;
  result.counts = std::move(r.counts);
  result.probabilities = std::move(r.probabilities);
  result.joint_probabilities = std::move(r.joint_probabilities);
  for (const simulate::Amplitude& a : r.amplitudes)
    result.amplitudes.emplace_back(a.index, a.value);
  result.expectations = std::move(r.expectations);
  result.expectation = r.expectation_sum;
  result.norm = r.norm;
  result.seed = r.seed;
  result.engine = std::move(r.engine);
  result.device = std::move(r.device);
  result.passes = r.plan.passes;
  result.effort = r.plan.effort;
  result.plan_text = std::move(r.plan.text);
  result.plan_s = r.timings.plan_s;
  result.execute_s = r.timings.execute_s;
  result.observe_s = r.timings.observe_s;
  result.memory_bytes = r.memory_bytes;
  result.warnings = std::move(r.warnings);
  return result;
}

Result ask(const circuit::Circuit& circuit, const simulate::Options& options,
           const Questions& questions) {
  statevec::check_joint_qubits(questions.joint, simulate::kMaxJointQubits);
  simulate::Options asked = with_questions(options, questions, circuit.num_qubits());
  asked.explain = questions.explain;
  simulate::Result result = simulate::simulate(circuit, asked);
  if (!result.state_error.empty()) fail(ExitCode::kResources, result.state_error);
  if (result.keeper) result.keeper->remove();  // nothing is left to go on with
  return to_result(std::move(result));
}

}  // namespace

Executable::Executable(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

std::string Executable::explain() {
  return guarded([&] {
    simulate::Options options = data_->session->options(data_->effort);
    options.explain = options.dry_run = true;
    return simulate::simulate(Access::inside(data_->circuit), options).plan.text;
  });
}

Result Executable::run(const Questions& questions) {
  return guarded([&] {
    return ask(Access::inside(data_->circuit), data_->session->options(data_->effort), questions);
  });
}

std::vector<std::complex<double>> Executable::statevector(std::optional<std::uint64_t> seed) {
  return guarded([&] {
    simulate::Options options = data_->session->options(data_->effort);
    options.seed = seed;
    const circuit::Circuit& circuit = Access::inside(data_->circuit);
    // before the run, which then finds what is left for its state
    simulate::check_memory(circuit.num_qubits(), Precision::kDouble, 1,
                           runtime::available_host_bytes());
    std::vector<std::complex<double>> amplitudes(std::size_t{1} << circuit.num_qubits());
    simulate::FinalState final = simulate::final_state(circuit, options, true);
    simulate::copy_amplitudes(final, amplitudes);
    return amplitudes;
  });
}

Session::Session(const SessionOptions& options)
    : data_(guarded([] { return std::make_shared<Data>(); })) {
  guarded([&] {
    data_->device = DeviceSet::parse(options.device);
    need_one_kind(data_->device);
    data_->precision = options.precision;
    data_->num_threads = runtime::checked_num_threads(options.threads);
  });
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Executable Session::compile(const Circuit& circuit, Effort effort) {
  return guarded([&] {
    if (circuit.num_qubits() == 0)
      fail(ExitCode::kInput, "the circuit has no qubits: give the constructor their number");
    if (effort == Effort::kAuto) effort = Effort::kRepeated;
    Executable executable(
        std::unique_ptr<Executable::Data>(new Executable::Data{circuit, data_, effort}));
    (void)executable.explain();  // plans, and refuses what cannot run
    return executable;
  });
}

Result Session::run(const Circuit& circuit, const Questions& questions) {
  return guarded(
      [&] { return ask(Access::inside(circuit), data_->options(Effort::kAuto), questions); });
}

void Session::clear() { data_->plans->clear(); }

}  // namespace tilewave
