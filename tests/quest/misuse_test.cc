// Invalid calls: one message that names the function, the argument and what it may be; the state
// stays as it was.
#include <gtest/gtest.h>

#include <cmath>

#include "dense.h"

using namespace dense;

namespace {

// Runs f, which must be refused with a message that has every one of the words.
void refused(const std::vector<std::string>& words, const std::function<void()>& f) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << words[0];
  } catch (const Misuse& e) {
    for (const std::string& word : words) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << word << ": " << e.what();
    }
  }
}

}  // namespace

TEST(Misuse, Registers) {
  refused({"createQureg", "numQubits is 0", "from 1"}, [] { createQureg(0, environment()); });
  refused({"createQureg", "numQubits is -3"}, [] { createQureg(-3, environment()); });
  refused({"createQureg", "47 qubits"}, [] { createQureg(47, environment()); });
  refused({"createDensityQureg", "numQubits is 25"}, [] { createDensityQureg(25, environment()); });
  Qureg never{};
  refused({"hadamard", "never created"}, [&] { hadamard(never, 0); });
  Qureg gone = createQureg(2, environment());
  destroyQureg(gone, environment());
  refused({"hadamard", "destroyed"}, [&] { hadamard(gone, 0); });
  refused({"destroyQureg", "destroyed"}, [&] { destroyQureg(gone, environment()); });
  Qureg next = createQureg(2, environment());  // may use the same slot
  refused({"calcTotalProb", "destroyed"}, [&] { calcTotalProb(gone); });
  destroyQureg(next, environment());
}

TEST(Misuse, Arguments) {
  Pair s(4, false), d(3, true), other(3, false);
  ComplexMatrix2 bad = {{{1, 0}, {0, 2}}, {{0, 0}, {0, 0}}};
  int twice[3] = {1, 2, 1}, pair[2] = {0, 1}, far[2] = {0, 9};
  refused({"hadamard", "targetQubit is 4", "from 0 to 3"}, [&] { hadamard(s.q, 4); });
  refused({"hadamard", "targetQubit is -1"}, [&] { hadamard(s.q, -1); });
  refused({"rotateX", "rotQubit is 7"}, [&] { rotateX(s.q, 7, 1); });
  refused({"rotateX", "finite"}, [&] { rotateX(s.q, 0, qreal(NAN)); });
  refused({"controlledNot", "are both 2"}, [&] { controlledNot(s.q, 2, 2); });
  refused({"swapGate", "are both 1"}, [&] { swapGate(s.q, 1, 1); });
  refused({"unitary", "u is not unitary"}, [&] { unitary(s.q, 0, bad); });
  refused({"compactUnitary", "not unitary"}, [&] { compactUnitary(s.q, 0, {1, 0}, {1, 0}); });
  refused({"rotateAroundAxis", "zero vector"}, [&] {
    rotateAroundAxis(s.q, 0, 1, Vector{0, 0, 0});
  });
  refused({"multiQubitNot", "targs[2]", "again"}, [&] { multiQubitNot(s.q, twice, 3); });
  refused({"multiQubitNot", "targs[1] is 9"}, [&] { multiQubitNot(s.q, far, 2); });
  refused({"multiQubitNot", "null pointer"}, [&] { multiQubitNot(s.q, nullptr, 2); });
  refused({"multiQubitNot", "number of targs is 0"}, [&] { multiQubitNot(s.q, pair, 0); });
  refused({"multiQubitNot", "number of targs is 5"}, [&] { multiQubitNot(s.q, pair, 5); });
  refused({"multiControlledUnitary", "null"},
          [&] { multiControlledUnitary(s.q, nullptr, 1, 0, bad); });
  refused({"multiControlledMultiQubitNot", "twice"},
          [&] { multiControlledMultiQubitNot(s.q, pair, 2, pair, 2); });
  int state[2] = {0, 2};
  ComplexMatrix2 one = {{{1, 0}, {0, 1}}, {{0, 0}, {0, 0}}};
  refused({"multiStateControlledUnitary", "controlState"},
          [&] { multiStateControlledUnitary(s.q, pair, state, 2, 3, one); });
  const MatrixN two(random_unitary(2));
  refused({"multiQubitUnitary", "u is for 2 qubits"},
          [&] { multiQubitUnitary(s.q, pair, 1, two.value); });
  refused({"multiQubitUnitary", "never created"}, [&] {
    multiQubitUnitary(s.q, pair, 1, ComplexMatrixN{1, nullptr, nullptr});
  });
  refused({"getAmp", "index is 16"}, [&] { getAmp(s.q, 16); });
  refused({"getAmp", "density matrix"}, [&] { getAmp(d.q, 0); });
  refused({"getDensityAmp", "state vector"}, [&] { getDensityAmp(s.q, 0, 0); });
  refused({"calcProbOfOutcome", "outcome is 2"}, [&] { calcProbOfOutcome(s.q, 0, 2); });
  refused({"calcInnerProduct", "4 and 3 qubits"}, [&] { calcInnerProduct(s.q, other.q); });
  refused({"cloneQureg", "different kinds"}, [&] { cloneQureg(s.q, d.q); });
  refused({"mixDephasing", "state vector"}, [&] { mixDephasing(s.q, 0, qreal(0.1)); });
  refused({"mixDephasing", "prob is 0.6", "to 0.5"}, [&] { mixDephasing(d.q, 0, qreal(0.6)); });
  refused({"mixKrausMap", "trace"}, [&] { mixKrausMap(d.q, 0, &bad, 1); });
  refused({"mixKrausMap", "numOps is 5"}, [&] { mixKrausMap(d.q, 0, &bad, 5); });
  refused({"setAmps", "numAmps is 9"}, [&] {
    qreal v[9] = {};
    setAmps(s.q, 8, v, v, 9);
  });
  refused({"initClassicalState", "stateInd is 16"}, [&] { initClassicalState(s.q, 16); });
  refused({"measureWithStats", "null"}, [&] { measureWithStats(s.q, 0, nullptr); });
  refused({"createPauliHamilFromFile", "cannot be read"}, [] {
    char name[] = "/no/such/file";
    createPauliHamilFromFile(name);
  });
  pauliOpType wrong[4] = {PAULI_X, static_cast<pauliOpType>(7), PAULI_I, PAULI_I};
  qreal weight = 1;
  refused({"calcExpecPauliSum", "Pauli code is 7"},
          [&] { calcExpecPauliSum(s.q, wrong, &weight, 1, s.q); });
  PauliHamil h = createPauliHamil(4, 1);
  refused({"applyTrotterCircuit", "order is 3"}, [&] { applyTrotterCircuit(s.q, h, 1, 3, 1); });
  refused({"applyTrotterCircuit", "reps is 0"}, [&] { applyTrotterCircuit(s.q, h, 1, 2, 0); });
  refused({"setQuregToPauliHamil", "for 4 qubits"}, [&] { setQuregToPauliHamil(d.q, h); });
  destroyPauliHamil(h);
  qreal c = 1, e = -1;
  refused({"applyPhaseFunc", "diverges"},
          [&] { applyPhaseFunc(s.q, pair, 2, UNSIGNED, &c, &e, 1); });
  int sizes[2] = {1, 1};
  refused({"applyParamNamedPhaseFunc", "numParams is 1", "takes 0"},
          [&] { applyParamNamedPhaseFunc(s.q, pair, sizes, 2, UNSIGNED, NORM, &c, 1); });
  refused({"applyNamedPhaseFunc", "even"},
          [&] { applyNamedPhaseFunc(s.q, pair, sizes, 1, UNSIGNED, DISTANCE); });
  s.check("a register after refused calls");
  d.check("a density matrix after refused calls");
  initZeroState(s.q);
  refused({"collapseToOutcome", "probability zero"}, [&] { collapseToOutcome(s.q, 0, 1); });
}
