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
#include <optional>
#include <string>

#include "differential/checks.h"
#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::differential {

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

namespace {

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
