// Observation and measurement.
#include <cmath>

#include "tilewave/quest/api/call.h"
#include "tilewave/quest/core/overlap.h"
#include "tilewave/quest/core/random.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

cplx amplitude(const Qureg& qureg, long long index) {
  Register& r = use_vector(qureg);
  check_range(index, 0, static_cast<long long>(r.num_amplitudes()) - 1, "index",
              Words::kAmplitudeIndex);
  return r.amplitude(static_cast<std::uint64_t>(index));
}

// Projects on an outcome of probability p and renormalises.
void project(Register& r, Qubit q, int outcome, double p) {
  r.collapse(q, outcome, r.is_density() ? 1 / p : 1 / std::sqrt(p));
}

int measure_qubit(const char* function, const Qureg& qureg, int target, qreal* probability) {
  return call(function, [&] {
    Register& r = use(qureg);
    const Qubit q = qubit(r, target, "measureQubit");
    const double zero = r.probability(q, 0);
    int outcome = 0;
    if (zero < REAL_EPS) {
      outcome = 1;
    } else if (1 - zero >= REAL_EPS) {
      outcome = next_random() > zero;
    }
    const double p = outcome ? 1 - zero : zero;
    project(r, q, outcome, p);
    r.log().measure(q);
    if (probability) *probability = static_cast<qreal>(p);
    return outcome;
  });
}

}  // namespace

::Complex getAmp(Qureg qureg, long long int index) {
  return call(__func__, [&] { return value(amplitude(qureg, index)); });
}
qreal getRealAmp(Qureg qureg, long long int index) {
  return call(__func__, [&] { return static_cast<qreal>(amplitude(qureg, index).real()); });
}
qreal getImagAmp(Qureg qureg, long long int index) {
  return call(__func__, [&] { return static_cast<qreal>(amplitude(qureg, index).imag()); });
}
qreal getProbAmp(Qureg qureg, long long int index) {
  return call(__func__, [&] { return static_cast<qreal>(std::norm(amplitude(qureg, index))); });
}

::Complex getDensityAmp(Qureg qureg, long long int row, long long int col) {
  return call(__func__, [&] {
    Register& r = use_density(qureg);
    const auto last = static_cast<long long>(r.dimension()) - 1;
    check_range(row, 0, last, "row", Words::kAmplitudeIndex);
    check_range(col, 0, last, "col", Words::kAmplitudeIndex);
    return value(r.amplitude(static_cast<std::uint64_t>(row + col * (last + 1))));
  });
}

qreal calcTotalProb(Qureg qureg) {
  return call(__func__, [&] { return static_cast<qreal>(use(qureg).total_probability()); });
}

qreal calcProbOfOutcome(Qureg qureg, int measureQubit, int outcome) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    const Qubit q = qubit(r, measureQubit, "measureQubit");
    check_outcome(outcome);
    return static_cast<qreal>(r.probability(q, outcome));
  });
}

void calcProbOfAllOutcomes(qreal* outcomeProbs, Qureg qureg, int* qubits, int numQubits) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_pointer(outcomeProbs, "outcomeProbs");
    const auto q = check_qubits(r, qubits, numQubits, 1, "qubits");
    const std::vector<double> p = r.probabilities(q);
    for (std::size_t k = 0; k < p.size(); ++k) outcomeProbs[k] = static_cast<qreal>(p[k]);
  });
}

qreal collapseToOutcome(Qureg qureg, int measureQubit, int outcome) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    const Qubit q = qubit(r, measureQubit, "measureQubit");
    check_outcome(outcome);
    const double p = r.probability(q, outcome);
    if (!(p > REAL_EPS)) {
      fail(Words::kZeroProbability, "outcome ", outcome, " of qubit ", measureQubit,
           " has probability zero: the state cannot collapse to it");
    }
    project(r, q, outcome, p);
    r.log().comment("qubit " + std::to_string(q) + " is projected on " + std::to_string(outcome));
    return static_cast<qreal>(p);
  });
}

int measure(Qureg qureg, int measureQubit) {
  return measure_qubit(__func__, qureg, measureQubit, nullptr);
}

int measureWithStats(Qureg qureg, int measureQubit, qreal* outcomeProb) {
  bool valid = false;
  call(__func__, [&] {
    check_pointer(outcomeProb, "outcomeProb");
    valid = true;
  });
  return valid ? measure_qubit(__func__, qureg, measureQubit, outcomeProb) : 0;
}

::Complex calcInnerProduct(Qureg bra, Qureg ket) {
  return call(__func__, [&] {
    Register &a = use_vector(bra, "bra"), &b = use_vector(ket, "ket");
    check_same_size(a, b, "bra and ket");
    return value(inner_product(a, b));
  });
}

qreal calcDensityInnerProduct(Qureg rho1, Qureg rho2) {
  return call(__func__, [&] {
    Register &a = use_density(rho1, "rho1"), &b = use_density(rho2, "rho2");
    check_same_size(a, b, "rho1 and rho2");
    return static_cast<qreal>(inner_product(a, b).real());
  });
}

qreal calcPurity(Qureg qureg) {
  return call(__func__, [&] {
    Register& r = use_density(qureg);
    return static_cast<qreal>(r.norm());
  });
}

qreal calcFidelity(Qureg qureg, Qureg pureState) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    Register& pure = use_vector(pureState, "pureState", Words::kSecondNotStateVector);
    check_same_size(r, pure, "qureg and pureState");
    return static_cast<qreal>(r.is_density() ? mixed_fidelity(r, pure)
                                             : std::norm(inner_product(r, pure)));
  });
}

qreal calcHilbertSchmidtDistance(Qureg a, Qureg b) {
  return call(__func__, [&] {
    Register &first = use_density(a, "a"), &second = use_density(b, "b");
    check_same_size(first, second, "a and b");
    return static_cast<qreal>(distance(first, second));
  });
}
