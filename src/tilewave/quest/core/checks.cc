#include "tilewave/quest/core/checks.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/channel.h"
#include "tilewave/quest/core/session.h"

namespace tilewave::quest {
namespace {

struct RoleWords {
  QuestWords index, count, unique;
};
constexpr RoleWords kWords[] = {
    {Words::kQubitIndex, Words::kNumQubits, Words::kQubitsNotUnique},
    {Words::kTargetIndex, Words::kNumTargets, Words::kTargetsNotUnique},
    {Words::kControlIndex, Words::kNumControls, Words::kControlsNotUnique}};

}  // namespace

void check_pointer(const void* pointer, const char* name, QuestWords words) {
  if (!pointer) fail(words, name, " is a null pointer: pass an array");
}

void check_range(long long value, long long first, long long last, const char* name,
                 QuestWords words) {
  if (value < first || value > last) {
    fail(words, name, " is ", value, ": it must be from ", first, " to ", last);
  }
}

void check_new_qubits(int num_qubits, int most, QuestWords too_many, const char* name) {
  check_range(num_qubits, 1, most, name, num_qubits < 1 ? Words::kNumNewQubits : too_many);
}

void check_share(long long count, int env_ranks, int num_qubits, const char* what, QuestWords words,
                 const char* name) {
  if (env_ranks < 0) check_range(env_ranks, 1, 1 << 30, "env.numRanks", words);
  const int ranks = std::max(env_ranks, num_ranks());
  if (count >= ranks) return;
  fail(words, name, " is ", num_qubits, ": ", ranks, " ranks share the ", what,
       ", so each must get at least one amplitude of it");
}

void check_qubit(const Register& r, int qubit, const char* name, Role role) {
  if (qubit < 0 || qubit >= r.num_qubits())
    check_range(qubit, 0, r.num_qubits() - 1, name, kWords[static_cast<int>(role)].index);
}

void check_outcome(int outcome) { check_range(outcome, 0, 1, "outcome", Words::kOutcome); }

void check_finite(double value, const char* name) {
  if (!std::isfinite(value))
    fail(Words::kNone, name, " is ", nine_digits(value), ": it must be finite");
}

void check_density(const Register& r, const char* name) {
  if (!r.is_density()) {
    fail(Words::kOnlyDensityMatrices, name,
         " is a state vector: this call needs a density matrix (createDensityQureg)");
  }
}

void check_state_vector(const Register& r, const char* name, QuestWords words) {
  if (r.is_density()) {
    fail(words, name, " is a density matrix: this call needs a state vector (createQureg)");
  }
}

void check_same_kind(const Register& a, const Register& b, const char* what) {
  if (a.is_density() != b.is_density()) {
    fail(Words::kDifferentTypes, what,
         " are of different kinds: both must be state vectors, or both density matrices");
  }
}

void check_same_size(const Register& a, const Register& b, const char* what) {
  if (a.num_qubits() != b.num_qubits()) {
    fail(Words::kDifferentDimensions, what, " have ", a.num_qubits(), " and ", b.num_qubits(),
         " qubits: they must have equally many");
  }
}

void check_probability(double p, double most, const char* name, QuestWords words) {
  if (!(p >= 0 && p <= most)) {
    fail(p >= 0 && p <= 1 ? words : Words::kProbability, name, " is ", nine_digits(p),
         ": it must be from 0 to ", nine_digits(most));
  }
}

std::vector<Qubit> check_qubits(const Register& r, const int* qubits, int count, int least,
                                const ArgumentNames& names, Role role) {
  const RoleWords& words = kWords[static_cast<int>(role)];
  // controls leave a target
  const int most = role == Role::kControl ? std::max(1, r.num_qubits() - 1) : r.num_qubits();
  if (count < least || count > most) {
    fail(words.count, "the number of ", names.array(), " is ", count, ": it must be from ", least,
         " to ", most);
  }
  if (count > 0) check_pointer(qubits, names.array());
  std::vector<Qubit> out(static_cast<std::size_t>(count));
  std::uint64_t seen = 0;
  for (int k = 0; k < count; ++k) {
    if (qubits[k] < 0 || qubits[k] >= r.num_qubits()) {
      fail(words.index, names.of(k), " is ", qubits[k], ": it must be from 0 to ",
           r.num_qubits() - 1);
    }
  }
  for (int k = 0; k < count; ++k) {
    if (seen >> qubits[k] & 1) {
      fail(words.unique, names.of(k), " names qubit ", qubits[k],
           " again: qubits must be distinct");
    }
    seen |= std::uint64_t{1} << qubits[k];
    out[k] = static_cast<Qubit>(qubits[k]);
  }
  return out;
}

void check_disjoint(std::span<const Qubit> a, std::span<const Qubit> b, QuestWords words) {
  for (Qubit q : a) {
    if (std::find(b.begin(), b.end(), q) != b.end()) {
      fail(words, "qubit ", q,
           " is named twice, as control and as target: qubits must be distinct");
    }
  }
}

double tolerance(const Register& r) {
  return r.precision() == statevec::Precision::kDouble ? 1e-10 : 1e-4;
}

void check_unitary(const Register& r, std::span<const cplx> m, const char* name, QuestWords words) {
  const double d = circuit::distance_from_trace_preserving({std::vector<cplx>(m.begin(), m.end())});
  if (!(d <= tolerance(r))) {
    fail(words, name, " is not unitary: an element of its product with its adjoint is ",
         nine_digits(d), " off the identity, at most ", nine_digits(tolerance(r)), " is allowed");
  }
}

void check_trace_preserving(const Register& r, const std::vector<std::vector<cplx>>& ops) {
  const double d = circuit::distance_from_trace_preserving(ops);
  if (!(d <= tolerance(r))) {
    fail(Words::kNotTracePreserving,
         "ops do not preserve the trace: an element of the sum of K^dagger K is ", nine_digits(d),
         " off the identity, at most ", nine_digits(tolerance(r)), " is allowed");
  }
}

}  // namespace tilewave::quest
