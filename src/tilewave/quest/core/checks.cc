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

void fail(const std::string& message, QuestWords words) { throw InvalidCall(message, words); }

void check_pointer(const void* pointer, const char* name, QuestWords words) {
  if (!pointer) fail(std::string(name) + " is a null pointer: pass an array", words);
}

void check_range(long long value, long long first, long long last, const char* name,
                 QuestWords words) {
  if (value < first || value > last) {
    fail(std::string(name) + " is " + std::to_string(value) + ": it must be from " +
             std::to_string(first) + " to " + std::to_string(last),
         words);
  }
}

void check_new_qubits(int num_qubits, int most) {
  check_range(num_qubits, 1, most, "numQubits",
              num_qubits < 1 ? Words::kNumNewQubits : Words::kTooManyQubits);
}

void check_share(long long count, int env_ranks, int num_qubits, const char* what) {
  if (env_ranks < 0) check_range(env_ranks, 1, 1 << 30, "env.numRanks", Words::kTooFewQubits);
  const int ranks = std::max(env_ranks, num_ranks());
  if (count >= ranks) return;
  fail("numQubits is " + std::to_string(num_qubits) + ": " + std::to_string(ranks) +
           " ranks share the " + what + ", so each must get at least one amplitude of it",
       Words::kTooFewQubits);
}

void check_qubit(const Register& r, int qubit, const char* name, Role role) {
  if (qubit < 0 || qubit >= r.num_qubits())
    check_range(qubit, 0, r.num_qubits() - 1, name, kWords[static_cast<int>(role)].index);
}

void check_outcome(int outcome) { check_range(outcome, 0, 1, "outcome", Words::kOutcome); }

void check_finite(double value, const char* name) {
  if (!std::isfinite(value))
    fail(std::string(name) + " is " + nine_digits(value) + ": it must be finite");
}

void check_density(const Register& r, const char* name) {
  if (!r.is_density()) {
    fail(std::string(name) +
             " is a state vector: this call needs a density matrix (createDensityQureg)",
         Words::kOnlyDensityMatrices);
  }
}

void check_state_vector(const Register& r, const char* name, QuestWords words) {
  if (r.is_density()) {
    fail(std::string(name) + " is a density matrix: this call needs a state vector (createQureg)",
         words);
  }
}

void check_same_kind(const Register& a, const Register& b, const char* what) {
  if (a.is_density() != b.is_density()) {
    fail(std::string(what) +
             " are of different kinds: both must be state vectors, or both density matrices",
         Words::kDifferentTypes);
  }
}

void check_same_size(const Register& a, const Register& b, const char* what) {
  if (a.num_qubits() != b.num_qubits()) {
    fail(std::string(what) + " have " + std::to_string(a.num_qubits()) + " and " +
             std::to_string(b.num_qubits()) + " qubits: they must have equally many",
         Words::kDifferentDimensions);
  }
}

void check_probability(double p, double most, const char* name, QuestWords words) {
  if (!(p >= 0 && p <= most)) {
    fail(
        std::string(name) + " is " + nine_digits(p) + ": it must be from 0 to " + nine_digits(most),
        p >= 0 && p <= 1 ? words : Words::kProbability);
  }
}

std::vector<Qubit> check_qubits(const Register& r, const int* qubits, int count, int least,
                                const char* name, Role role) {
  const RoleWords& words = kWords[static_cast<int>(role)];
  // controls leave a target
  const int most = role == Role::kControl ? std::max(1, r.num_qubits() - 1) : r.num_qubits();
  if (count < least || count > most) {
    fail("the number of " + std::string(name) + " is " + std::to_string(count) +
             ": it must be from " + std::to_string(least) + " to " + std::to_string(most),
         words.count);
  }
  if (count > 0) check_pointer(qubits, name);
  std::vector<Qubit> out(static_cast<std::size_t>(count));
  std::uint64_t seen = 0;
  for (int k = 0; k < count; ++k) {
    if (qubits[k] < 0 || qubits[k] >= r.num_qubits()) {
      fail(std::string(name) + "[" + std::to_string(k) + "] is " + std::to_string(qubits[k]) +
               ": it must be from 0 to " + std::to_string(r.num_qubits() - 1),
           words.index);
    }
    if (seen >> qubits[k] & 1) {
      fail(std::string(name) + "[" + std::to_string(k) + "] names qubit " +
               std::to_string(qubits[k]) + " again: qubits must be distinct",
           words.unique);
    }
    seen |= std::uint64_t{1} << qubits[k];
    out[k] = static_cast<Qubit>(qubits[k]);
  }
  return out;
}

void check_disjoint(std::span<const Qubit> a, std::span<const Qubit> b) {
  for (Qubit q : a) {
    if (std::find(b.begin(), b.end(), q) != b.end()) {
      fail("qubit " + std::to_string(q) +
               " is named twice, as control and as target: qubits must be distinct",
           Words::kControlIsTarget);
    }
  }
}

double tolerance(const Register& r) {
  return r.precision() == statevec::Precision::kDouble ? 1e-10 : 1e-4;
}

void check_unitary(const Register& r, std::span<const cplx> m, const char* name, QuestWords words) {
  const double d = circuit::distance_from_trace_preserving({std::vector<cplx>(m.begin(), m.end())});
  if (!(d <= tolerance(r))) {
    fail(std::string(name) + " is not unitary: an element of its product with its adjoint is " +
             nine_digits(d) + " off the identity, at most " + nine_digits(tolerance(r)) +
             " is allowed",
         words);
  }
}

void check_trace_preserving(const Register& r, const std::vector<std::vector<cplx>>& ops) {
  const double d = circuit::distance_from_trace_preserving(ops);
  if (!(d <= tolerance(r))) {
    fail("ops do not preserve the trace: an element of the sum of K^dagger K is " + nine_digits(d) +
             " off the identity, at most " + nine_digits(tolerance(r)) + " is allowed",
         Words::kNotTracePreserving);
  }
}

}  // namespace tilewave::quest
