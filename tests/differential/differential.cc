// Random circuits at the sizes people run, each against an answer that is known another way.
//
// Known circuits (known_circuit.h) have exact answers from a few qubits: half go through
// simulate(), with every question at once and at times the state file; half through a State, by a
// plan whose rewrites, tiles and ranks are drawn at random. Dense circuits have none: each is run
// once plainly, and again with its qubits relabelled, in two parts, followed by its inverse, with
// each rewrite forced and forbidden, other tiles, ranks, threads and precision, planned again, and
// on the device that was asked for.
//
//   differential [--circuits N] [--seconds S] [--seed S] [--first K] [--qubits 20-24]
//                [--device cuda:0] [--stream MIB] [--verbose]
//
// Ends with the number of circuits and of plans with each rewrite; exit 1 at the first wrong
// answer, with the number that repeats it (--seed S --first K --circuits 1), or where a rewrite
// never occurred in 1000 circuits or more.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "differential/known_circuit.h"
#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/circuit/random_circuit.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::differential {
namespace {

using circuit::Qubit;
using statevec::Plan;
using statevec::PlanOptions;
using statevec::Precision;
using statevec::Rewrite;
using statevec::State;

struct Settings {
  std::uint64_t circuits = 200, first = 0, seed = 1;
  double seconds = 1e9;
  int least_qubits = 20, most_qubits = 24;
  DeviceSet device = DeviceSet::cpu();
  std::uint64_t stream_bytes = 0;
  bool verbose = false;
};

struct Coverage {
  std::uint64_t known = 0, dense = 0, plans = 0;
  std::map<std::string, std::uint64_t> occurred;

  void add(const Plan& plan) {
    ++plans;
    for (int k = 0; k < statevec::kNumRewrites; ++k) {
      const auto r = static_cast<Rewrite>(k);
      occurred[name_of(r)] += plan.rewrites.has(r);
    }
    bool flips = false, wide = false, zeros = false;
    for (const auto& pass : plan.passes) {
      flips |= pass.store_flips != 0;
      wide |= static_cast<int>(pass.active.size()) > plan.tile_qubits;
      zeros |= pass.known_zero_before != 0;
    }
    occurred["flips on store"] += flips;
    occurred["moves wider than a tile"] += wide;
    occurred["known zeros"] += zeros;
    occurred["exchanges"] += !plan.exchanges.empty();
  }
};

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& what) { throw Failure(what); }

std::string text_of(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", x);
  return text;
}

void need_near(double got, double right, double allowed, const std::string& what) {
  if (!(std::abs(got - right) <= allowed))
    fail(what + ": " + text_of(got) + " instead of " + text_of(right));
}

void need_near(cplx got, cplx right, double allowed, const std::string& what) {
  if (!(std::abs(got - right) <= allowed)) {
    fail(what + ": " + text_of(got.real()) + " + " + text_of(got.imag()) + "i instead of " +
         text_of(right.real()) + " + " + text_of(right.imag()) + "i");
  }
}

struct Tolerance {
  double amplitude, probability;
};
Tolerance tolerance(Precision precision) {
  return precision == Precision::kDouble ? Tolerance{1e-11, 1e-10} : Tolerance{1e-5, 2e-5};
}

// Draws against the exact distribution of a few qubits: Bernstein's bound for each outcome. Basis
// states of less than `least_amplitude` hardly occur: in single precision, where rounding leaves
// something everywhere, once or twice.
void check_draws(const KnownCircuit& known, std::span<const std::uint64_t> drawn,
                 std::span<const Qubit> qubits, double least_amplitude) {
  const std::vector<double> p = known.joint(qubits);
  std::vector<double> count(p.size());
  int stray = 0;
  for (const std::uint64_t x : drawn) {
    std::size_t o = 0;
    for (std::size_t j = 0; j < qubits.size(); ++j) o |= (x >> qubits[j] & 1) << j;
    ++count[o];
    const bool is_stray = std::abs(known.amplitude(x)) < least_amplitude;
    if (is_stray && ++stray > (least_amplitude > 1e-9 ? 2 : 0)) {
      fail("shot of basis state " + std::to_string(x) + ", whose amplitude is " +
           text_of(std::abs(known.amplitude(x))));
    }
  }
  const auto shots = static_cast<double>(drawn.size());
  for (std::size_t o = 0; o < p.size(); ++o) {
    const double q = std::clamp(p[o], 0.0, 1.0), d = std::abs(count[o] - shots * q);
    if (d * d > 30 * 2 * (shots * q * (1 - q) + d / 3)) {
      fail("outcome " + std::to_string(o) + " of a few qubits came " + text_of(count[o]) +
           " times, expected " + text_of(shots * q));
    }
  }
}

std::vector<Qubit> some_qubits(int num_qubits, std::size_t count, Random& random) {
  std::vector<Qubit> all(static_cast<std::size_t>(num_qubits));
  std::iota(all.begin(), all.end(), 0u);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(count, all.size()));
  return all;
}

// Indices that can have an amplitude, and others.
std::vector<std::uint64_t> some_indices(const KnownCircuit& known, Random& random) {
  std::vector<std::uint64_t> all;
  for (int k = 0; k < 200; ++k) {
    const std::uint64_t x = known.draw(random);
    all.push_back(x);
    if (k % 4 == 0) all.push_back(x ^ bit(static_cast<int>(random() % known.num_qubits())));
    if (k % 8 == 0) all.push_back(random() & low_mask(known.num_qubits()));
  }
  return all;
}

circuit::PauliSum some_strings(const KnownCircuit& known, std::vector<double>& right,
                               Random& random) {
  circuit::PauliSum sum;
  const std::uint64_t all = low_mask(known.num_qubits());
  for (int k = 0; k < 16; ++k) {
    const std::uint64_t support = random() & random() & (k % 2 ? random() : ~0ull);
    const circuit::PauliTerm term{1, k % 3 ? random() & support & all : 0,
                                  random() & support & all};
    const auto value = known.expectation(term);
    if (!value) continue;
    sum.push_back(term);
    right.push_back(*value);
  }
  return sum;
}

// ---- known circuits, through simulate() ----

std::vector<std::uint64_t> shots_of(const simulate::Result& r) {
  std::vector<std::uint64_t> drawn;
  for (std::size_t s = 0; s < r.shots; ++s) drawn.push_back(r.shot_bits[s * r.shot_words]);
  return drawn;
}

// A file of complex numbers behind a header of a multiple of 64 bytes.
void check_file(const KnownCircuit& known, const std::string& path, Precision precision,
                std::span<const std::uint64_t> indices) {
  const std::uint64_t size = bit(known.num_qubits());
  const std::uint64_t each = amplitude_bytes(precision);
  const std::uint64_t header = std::filesystem::file_size(path) - size * each;
  if (header % 64 || header > 4096) fail("the state file has another size");
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 22);
  in.seekg(static_cast<std::streamoff>(header));
  const auto at = [&](const char* p) {
    if (precision == Precision::kDouble) {
      double z[2];
      std::memcpy(z, p, sizeof z);
      return cplx{z[0], z[1]};
    }
    float z[2];
    std::memcpy(z, p, sizeof z);
    return cplx{z[0], z[1]};
  };
  double norm = 0;
  std::map<std::uint64_t, cplx> wanted;
  for (const std::uint64_t x : indices) wanted[x];
  auto next = wanted.begin();
  for (std::uint64_t first = 0; first < size;) {
    const std::uint64_t count = std::min<std::uint64_t>(block.size() / each, size - first);
    in.read(block.data(), static_cast<std::streamsize>(count * each));
    for (std::uint64_t k = 0; k < count; ++k) {
      const cplx z = at(block.data() + k * each);
      norm += std::norm(z);
      if (next != wanted.end() && next->first == first + k) next++->second = z;
    }
    first += count;
  }
  const Tolerance t = tolerance(precision);
  need_near(norm, 1, t.probability, "norm of the state file");
  for (const auto& [x, z] : wanted)
    need_near(z, known.amplitude(x), t.amplitude, "state file at " + std::to_string(x));
}

void check_by_simulate(const KnownCircuit& known, const Settings& settings, Random& random) {
  simulate::Options options;
  options.device = settings.device;
  options.distribution.device_bytes = settings.stream_bytes;
  options.precision = random() % 2 ? Precision::kDouble : Precision::kSingle;
  options.shots = 1 + random() % 4000;
  options.seed = random();
  options.record_shots = true;
  options.probabilities = true;
  if (settings.device.is_cpu() && random() % 4 == 0)
    options.distribution.num_logical_ranks = 2 << (random() % 3);
  const bool has_joint = random() % 2;
  if (has_joint) options.probability_qubits = some_qubits(known.num_qubits(), 5, random);
  const std::vector<std::uint64_t> indices = some_indices(known, random);
  for (const std::uint64_t x : indices) options.amplitudes.push_back({x, 1});
  std::vector<double> right;
  const circuit::PauliSum strings = some_strings(known, right, random);
  options.observables.assign(strings.begin(), strings.end());
  const bool has_file = random() % 8 == 0 && known.num_qubits() <= 22;
  if (has_file) {
    options.state_path = (std::filesystem::temp_directory_path() /
                          ("differential_" + std::to_string(random()) + ".npy"))
                             .string();
  }
  const simulate::Result r = simulate::simulate(known.circuit(), options);

  const Tolerance t = tolerance(options.precision);
  need_near(r.norm, 1, t.probability, "norm");
  for (std::size_t k = 0; k < indices.size(); ++k) {
    need_near(r.amplitudes[k].value, known.amplitude(indices[k]), t.amplitude,
              "amplitude " + std::to_string(indices[k]));
  }
  const std::vector<double> marginals = known.marginals();
  for (std::size_t k = 0; k < r.probabilities.size(); ++k) {
    const std::size_t q = has_joint ? options.probability_qubits[k] : k;
    need_near(r.probabilities[k], marginals[q], t.probability, "P of qubit " + std::to_string(q));
  }
  if (has_joint) {
    const std::vector<double> joint = known.joint(options.probability_qubits);
    for (std::size_t o = 0; o < joint.size(); ++o)
      need_near(r.joint_probabilities[o], joint[o], t.probability, "joint probability");
  }
  for (std::size_t k = 0; k < right.size(); ++k)
    need_near(r.expectations[k], right[k], t.probability, "expectation");
  check_draws(known, shots_of(r), some_qubits(known.num_qubits(), 4, random), t.amplitude / 10);
  if (has_file) {
    check_file(known, options.state_path, options.precision, indices);
    std::filesystem::remove(options.state_path);
  }
}

// ---- states with plans of any kind ----

std::unique_ptr<State> make_state(int num_qubits, Precision precision, const Settings& settings,
                                  int ranks = 1, int threads = 0) {
  simulate::Distribution distribution;
  distribution.device_bytes = settings.stream_bytes;
  distribution.num_logical_ranks = ranks;
  return simulate::make_state(static_cast<std::uint32_t>(num_qubits), precision, threads,
                              settings.device, distribution);
}

// A random choice of rewrites and of the sizes that a planner may have.
void vary(PlanOptions& options, Random& random) {
  for (int k = 0; k < statevec::kNumRewrites; ++k) {
    const auto r = static_cast<Rewrite>(k);
    switch (random() % 4) {
      case 0:
        options.rewrites.forced.add(r);
        break;
      case 1:
        options.rewrites.forbidden.add(r);
        break;
      default:
        break;
    }
  }
  if (random() % 3 == 0) {
    const int smaller = static_cast<int>(random() % 5);
    options.cost.tile_qubits -= smaller;
    if (smaller) options.cost.wide_tile_qubits = options.cost.tile_qubits + 1;
    options.cost.mixed_tiles = random() % 2;
  }
  options.restore_layout = random() % 3 == 0;
}

void check_by_state(const KnownCircuit& known, const Settings& settings, Coverage& coverage,
                    Random& random) {
  const Precision precision = random() % 2 ? Precision::kDouble : Precision::kSingle;
  const bool is_cpu = settings.device.is_cpu();
  // passes that only move rows are wide where the qubits inside rows have their places
  const bool moves = is_cpu && known.has_chain() && random() % 2;
  const int ranks = is_cpu && !moves && random() % 3 == 0 ? 2 << (random() % 3) : 1;
  const auto state = make_state(known.num_qubits(), precision, settings, ranks);
  // in one part, at times in two: before what only moves and turns, or anywhere
  const auto ops = known.circuit().ops();
  std::vector<std::size_t> ends = {ops.size()};
  if (moves || random() % 2) {
    const bool anywhere = !moves && random() % 4 == 0;
    ends.insert(ends.begin(), anywhere ? random() % (ops.size() + 1) : known.num_of_groups());
  }
  std::size_t first = 0;
  for (const std::size_t last : ends) {
    PlanOptions options = state->plan_options();
    vary(options, random);
    if (!is_cpu) options.cost = state->plan_options().cost;  // kernels have their own tiles
    if (moves) {
      options.cost = state->plan_options().cost;
      options.rewrites = {{Rewrite::kMergedMoves, Rewrite::kTakenMoves}, {}};
      options.restore_layout = true;
    }
    const Plan plan = make_plan(known.circuit(), ops.subspan(first, last - first), options);
    coverage.add(plan);
    state->run(plan);
    first = last;
  }
  const Tolerance t = tolerance(precision);
  need_near(state->norm(), 1, t.probability, "norm");
  const std::vector<double> marginals = known.marginals(), got = state->marginals();
  for (std::size_t q = 0; q < got.size(); ++q)
    need_near(got[q], marginals[q], t.probability, "P of qubit " + std::to_string(q));
  std::vector<double> right;
  const circuit::PauliSum strings = some_strings(known, right, random);
  const std::vector<double> values = state->expectations(strings);
  for (std::size_t k = 0; k < right.size(); ++k)
    need_near(values[k], right[k], t.probability, "expectation");
  const auto qubits = some_qubits(known.num_qubits(), 1 + random() % 6, random);
  const std::vector<double> joint = known.joint(qubits),
                            got_joint = state->joint_probabilities(qubits);
  for (std::size_t o = 0; o < joint.size(); ++o)
    need_near(got_joint[o], joint[o], t.probability, "joint probability");
  const std::vector<std::uint64_t> indices = some_indices(known, random);
  const auto check_amplitudes = [&](const char* when) {
    const std::vector<cplx> a = state->amplitudes(indices);
    for (std::size_t k = 0; k < indices.size(); ++k) {
      need_near(a[k], known.amplitude(indices[k]), t.amplitude,
                "amplitude " + std::to_string(indices[k]) + when);
    }
  };
  check_amplitudes("");
  check_draws(known, statevec::sample(*state, 1000, random()),
              some_qubits(known.num_qubits(), 4, random), t.amplitude / 10);
  check_amplitudes(" after the shots");
}

// ---- dense circuits, against themselves ----

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

// Half of the circuits at the least size, and half as many at each further qubit.
int any_size(const Settings& s, Random& random) {
  int n = s.least_qubits;
  while (n < s.most_qubits && random() % 2) ++n;
  return n;
}

int run(const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Coverage coverage;
  std::uint64_t k = settings.first;
  const std::uint64_t end = settings.first + settings.circuits;
  for (; k < end && seconds() < settings.seconds; ++k) {
    Random random(settings.seed * 1'000'003 + k);
    const int n = any_size(settings, random);
    const std::uint64_t kind = random() % 8;
    const char* what = kind == 0 ? "dense" : kind < 4 ? "known, simulate" : "known, state";
    if (settings.verbose)
      std::fprintf(stderr, "%llu: %d qubits, %s\n", static_cast<unsigned long long>(k), n, what);
    try {
      if (kind == 0) {
        check_dense(n, settings, coverage, random);
        ++coverage.dense;
      } else {
        const KnownCircuit known(n, random);
        if (kind < 4) {
          check_by_simulate(known, settings, random);
        } else {
          check_by_state(known, settings, coverage, random);
        }
        ++coverage.known;
      }
    } catch (const std::exception& error) {
      std::printf(
          "FAILED: circuit %llu (%d qubits, %s): %s\n  repeat: --seed %llu --first %llu --circuits "
          "1\n",
          static_cast<unsigned long long>(k), n, what, error.what(),
          static_cast<unsigned long long>(settings.seed), static_cast<unsigned long long>(k));
      return 1;
    }
  }
  std::printf("%llu known and %llu dense circuits on %s in %.0f s, %llu plans, of which with\n",
              static_cast<unsigned long long>(coverage.known),
              static_cast<unsigned long long>(coverage.dense), settings.device.text().c_str(),
              seconds(), static_cast<unsigned long long>(coverage.plans));
  int missing = 0;
  // what a device has: exchanges between ranks, tiles of two blocks, rows moved in place
  const bool is_cpu = settings.device.is_cpu();
  for (const auto& [name, count] : coverage.occurred) {
    std::printf("  %-26s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
    missing += count == 0;
  }
  if (is_cpu && missing && k - settings.first >= 1000) {
    std::printf("FAILED: %d of these never occurred\n", missing);
    return 1;
  }
  return 0;
}

std::optional<Settings> parse(int argc, char** argv) {
  Settings s;
  for (int k = 1; k < argc; ++k) {
    const std::string flag = argv[k];
    if (flag == "--verbose") {
      s.verbose = true;
      continue;
    }
    if (k + 1 == argc) return std::nullopt;
    const char* value = argv[++k];
    if (flag == "--circuits") {
      s.circuits = std::strtoull(value, nullptr, 10);
    } else if (flag == "--first") {
      s.first = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seed") {
      s.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seconds") {
      s.seconds = std::strtod(value, nullptr);
    } else if (flag == "--device") {
      s.device = DeviceSet::parse(value);
    } else if (flag == "--stream") {
      s.stream_bytes = std::strtoull(value, nullptr, 10) << 20;
    } else if (flag == "--qubits") {
      if (std::sscanf(value, "%d-%d", &s.least_qubits, &s.most_qubits) != 2) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return s;
}

}  // namespace
}  // namespace tilewave::differential

int main(int argc, char** argv) {
  const auto settings = tilewave::differential::parse(argc, argv);
  if (!settings) {
    std::fprintf(stderr,
                 "usage: differential [--circuits N] [--seconds S] [--seed S] [--first K] "
                 "[--qubits 20-24] [--device WORD] [--stream MIB] [--verbose]\n");
    return 2;
  }
  return tilewave::differential::run(*settings);
}
