// What the checks of known and of dense circuits have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "differential/known_circuit.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

namespace tilewave::differential {

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

[[noreturn]] inline void fail(const std::string& what) { throw Failure(what); }

inline std::string text_of(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", x);
  return text;
}

inline void need_near(double got, double right, double allowed, const std::string& what) {
  if (!(std::abs(got - right) <= allowed))
    fail(what + ": " + text_of(got) + " instead of " + text_of(right));
}

inline void need_near(cplx got, cplx right, double allowed, const std::string& what) {
  if (!(std::abs(got - right) <= allowed)) {
    fail(what + ": " + text_of(got.real()) + " + " + text_of(got.imag()) + "i instead of " +
         text_of(right.real()) + " + " + text_of(right.imag()) + "i");
  }
}

struct Tolerance {
  double amplitude, probability;
};
inline Tolerance tolerance(Precision precision) {
  return precision == Precision::kDouble ? Tolerance{1e-11, 1e-10} : Tolerance{1e-5, 2e-5};
}

inline std::vector<Qubit> some_qubits(int num_qubits, std::size_t count, Random& random) {
  std::vector<Qubit> all(static_cast<std::size_t>(num_qubits));
  std::iota(all.begin(), all.end(), 0u);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::min(count, all.size()));
  return all;
}

inline std::unique_ptr<State> make_state(int num_qubits, Precision precision,
                                         const Settings& settings, int ranks = 1, int threads = 0) {
  simulate::Distribution distribution;
  distribution.device_bytes = settings.stream_bytes;
  distribution.num_logical_ranks = ranks;
  return simulate::make_state(static_cast<std::uint32_t>(num_qubits), precision, threads,
                              settings.device, distribution);
}

/// A random choice of rewrites and of the sizes that a planner may have.
void vary(PlanOptions& options, Random& random);

/// A random dense circuit against itself: see differential.cc. Throws Failure.
void check_dense(int num_qubits, const Settings& settings, Coverage& coverage, Random& random);

}  // namespace tilewave::differential
