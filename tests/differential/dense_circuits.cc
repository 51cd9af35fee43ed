// Dense circuits have no known answer: each is run in many ways, which must agree.
#include <string>

#include "differential/checks.h"
#include "oracle/random_circuit.h"
#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::differential {
namespace {

circuit::Circuit dense_circuit(int num_qubits, Random& random) {
  const auto families = circuit::family_names();
  if (random() % 3 == 0)
    return circuit::make_family(families[random() % families.size()],
                                static_cast<std::uint32_t>(num_qubits));
  circuit::RandomCircuitOptions options;
  options.num_qubits = static_cast<std::uint32_t>(num_qubits);
  options.num_ops = static_cast<std::uint32_t>(20 + random() % 200);
  options.seed = random();
  static constexpr circuit::GateId kRows[] = {
      circuit::GateId::kCx, circuit::GateId::kX,  circuit::GateId::kH,  circuit::GateId::kCz,
      circuit::GateId::kT,  circuit::GateId::kRy, circuit::GateId::kCx, circuit::GateId::kSwap};
  if (random() % 2) options.gates = kRows;  // plans that move much
  return circuit::make_random_circuit(options);
}

struct Answers {
  std::vector<cplx> amplitudes;
  std::vector<double> marginals, joint, expectations;
  std::vector<std::uint64_t> shots;
};

// What is asked of every run; qubit q of the circuit is qubit to[q] of the state.
struct Asked {
  std::vector<std::uint64_t> indices;
  std::vector<Qubit> joint;
  circuit::PauliSum strings;
  std::uint64_t seed = 0;

  static Asked any(int num_qubits, Random& random) {
    Asked asked;
    const std::uint64_t all = low_mask(num_qubits);
    for (int k = 0; k < 2000; ++k) asked.indices.push_back(random() & all);
    for (int k = 0; k < 64; ++k) asked.indices.push_back(static_cast<std::uint64_t>(k));
    asked.joint = some_qubits(num_qubits, 6, random);
    for (int k = 0; k < 6; ++k) {
      const std::uint64_t support = random() & random() & all;
      asked.strings.push_back({1, random() & support, random() & support});
    }
    asked.seed = random();
    return asked;
  }

  std::uint64_t mapped(std::uint64_t x, std::span<const Qubit> to) const {
    std::uint64_t y = 0;
    for_each_bit(x, [&](int q) { y |= bit(static_cast<int>(to[static_cast<std::size_t>(q)])); });
    return y;
  }

  Answers of(State& state, std::span<const Qubit> to = {}) const {
    std::vector<Qubit> same(static_cast<std::size_t>(state.num_qubits()));
    std::iota(same.begin(), same.end(), 0u);
    if (to.empty()) to = same;
    std::vector<std::uint64_t> at;
    for (const std::uint64_t x : indices) at.push_back(mapped(x, to));
    std::vector<Qubit> qubits;
    for (const Qubit q : joint) qubits.push_back(to[q]);
    circuit::PauliSum sum;
    for (const auto& s : strings) sum.push_back({1, mapped(s.x, to), mapped(s.z, to)});
    Answers answers;
    answers.amplitudes = state.amplitudes(at);
    const std::vector<double> ones = state.marginals();
    for (std::size_t q = 0; q < ones.size(); ++q) answers.marginals.push_back(ones[to[q]]);
    answers.joint = state.joint_probabilities(qubits);
    answers.expectations = state.expectations(sum);
    if (to.data() == same.data()) answers.shots = statevec::sample(state, 2000, seed);
    return answers;
  }
};

void compare(const Answers& got, const Answers& right, const Tolerance& t,
             const std::string& what) {
  for (std::size_t k = 0; k < right.amplitudes.size(); ++k)
    need_near(got.amplitudes[k], right.amplitudes[k], t.amplitude, what + ": amplitude");
  const auto all_near = [&](const std::vector<double>& a, const std::vector<double>& b,
                            const char* of) {
    for (std::size_t k = 0; k < b.size(); ++k)
      need_near(a[k], b[k], t.probability, what + ": " + of + " " + std::to_string(k));
  };
  all_near(got.marginals, right.marginals, "marginal");
  all_near(got.joint, right.joint, "joint probability");
  all_near(got.expectations, right.expectations, "expectation");
  // in single precision a running sum of probabilities is off by more than one of them
  if (got.shots.empty() || right.shots.empty() || t.amplitude > 1e-8) return;
  std::size_t others = 0;
  for (std::size_t k = 0; k < right.shots.size(); ++k) others += got.shots[k] != right.shots[k];
  if (others > 2) fail(what + ": " + std::to_string(others) + " shots differ");
}

circuit::Circuit relabelled(const circuit::Circuit& c, std::span<const Qubit> to) {
  circuit::Circuit out(c.num_qubits());
  for (const circuit::Op& op : c.ops()) {
    std::vector<Qubit> qubits;
    for (const Qubit q : c.qubits(op)) qubits.push_back(to[q]);
    const auto all = std::span<const Qubit>(qubits);
    if (op.kind == circuit::OpKind::kMatrix) {
      out.add_matrix(all.first(op.num_controls), op.control_values, all.subspan(op.num_controls),
                     c.matrix(op));
    } else if (op.kind == circuit::OpKind::kGate) {
      const auto& info = circuit::gate_info(op.gate);
      const std::size_t extra = op.num_controls - static_cast<std::size_t>(info.num_controls);
      out.add_controlled_gate(op.gate, all.first(extra), op.control_values, all.subspan(extra),
                              c.params(op));
    }
  }
  return out;
}

}  // namespace

void check_dense(int num_qubits, const Settings& settings, Coverage& coverage, Random& random) {
  const circuit::Circuit c = dense_circuit(num_qubits, random);
  const Asked asked = Asked::any(num_qubits, random);
  Settings plain = settings;
  plain.device = DeviceSet::cpu();
  plain.stream_bytes = 0;
  const auto run = [&](State& state, const circuit::Circuit& of, const PlanOptions& options) {
    const Plan plan = make_plan(of, options);
    coverage.add(plan);
    state.run(plan);
  };
  const auto base = make_state(num_qubits, Precision::kDouble, plain);
  run(*base, c, base->plan_options());
  const Answers right = asked.of(*base);
  const Tolerance exact = tolerance(Precision::kDouble), rough = tolerance(Precision::kSingle);
  const bool is_other = !settings.device.is_cpu();
  const auto variant = [&](const std::string& what, const Settings& where, Precision precision,
                           int ranks, int threads, auto change) {
    const auto state = make_state(num_qubits, precision, where, ranks, threads);
    PlanOptions options = state->plan_options();
    change(options);
    run(*state, c, options);
    compare(asked.of(*state), right, precision == Precision::kDouble ? exact : rough, what);
  };
  const auto nothing = [](PlanOptions&) {};
  if (is_other) {
    variant("the device", settings, Precision::kDouble, 1, 0, nothing);
    variant("the device in single precision", settings, Precision::kSingle, 1, 0, nothing);
  }
  switch (random() % 8) {
    case 0: {
      std::vector<Qubit> to = some_qubits(num_qubits, static_cast<std::size_t>(num_qubits), random);
      const auto state = make_state(num_qubits, Precision::kDouble, settings);
      run(*state, relabelled(c, to), state->plan_options());
      compare(asked.of(*state, to), right, exact, "relabelled");
      break;
    }
    case 1: {
      const auto state = make_state(num_qubits, Precision::kDouble, settings);
      const std::size_t middle = random() % (c.ops().size() + 1);
      state->apply(c, c.ops().first(middle));
      state->apply(c, c.ops().subspan(middle));
      compare(asked.of(*state), right, exact, "in two parts");
      break;
    }
    case 2: {
      const auto state = make_state(num_qubits, Precision::kDouble, settings);
      state->apply(c, c.ops());
      const circuit::Circuit back = circuit::inverse(c);
      state->apply(back, back.ops());
      const std::uint64_t zero[] = {0};
      need_near(state->amplitudes(zero)[0], 1, exact.probability, "mirrored: amplitude 0");
      need_near(state->norm(), 1, exact.probability, "mirrored: norm");
      break;
    }
    case 3:
      if (settings.device.is_cpu()) {
        variant("ranks", settings, Precision::kDouble, 2 << (random() % 3), 0,
                [&](PlanOptions& o) { vary(o, random); });
      }
      break;
    case 4:
      variant("single precision", settings, Precision::kSingle, 1, 0, nothing);
      break;
    case 5:
      variant("one thread", settings, Precision::kDouble, 1, 1, nothing);
      break;
    case 6:
      for (int again = 0; again < 2; ++again)
        variant("planned again", settings, Precision::kDouble, 1, 0, nothing);
      break;
    default: {  // one rewrite
      const auto r = static_cast<Rewrite>(random() % statevec::kNumRewrites);
      variant(std::string("forced: ") + name_of(r), settings, Precision::kDouble, 1, 0,
              [&](PlanOptions& o) { o.rewrites.forced.add(r); });
      variant(std::string("forbidden: ") + name_of(r), settings, Precision::kDouble, 1, 0,
              [&](PlanOptions& o) { o.rewrites.forbidden.add(r); });
    }
  }
}

}  // namespace tilewave::differential
