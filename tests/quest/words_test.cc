// What an error handler gets: the message and, apart from it, the function's name; with
// TILEWAVE_MESSAGES=quest the message in QuEST's words. The environment is read once, so this runs
// in a process of its own for each (CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdlib>

#include "misuse.h"
#include "tilewave/quest/core/quest_words.h"

using namespace misuse;

namespace {

bool wants_quest() {
  const char* words = std::getenv("TILEWAVE_MESSAGES");
  return words && std::string(words) == "quest";
}

// The message without the name that the tests' handler puts before it.
std::string message_of(const char* function, const Call<>& f) {
  try {
    f();
  } catch (const Misuse& e) {
    const std::string text = e.what(), name = std::string(function) + ": ";
    EXPECT_EQ(text.rfind(name, 0), 0u) << text;
    return text.substr(std::min(name.size(), text.size()));
  }
  ADD_FAILURE() << "not refused: " << function;
  return {};
}

}  // namespace

TEST(Words, OwnOrThoseOfQuest) {
  Fixture s;
  int pair[2] = {0, 1}, twice[2] = {1, 1}, far[2] = {0, 9}, all[3] = {0, 1, 2};
  int bad_state[2] = {0, 2};
  const ComplexMatrix2 no_unitary = {{{1, 0}, {0, 2}}, {{0, 0}, {0, 0}}};
  ComplexMatrix2 ops[1] = {no_unitary};
  qreal v[9] = {}, one = 1, minus = -1, half = qreal(0.5);
  int wrong[3] = {1, 7, 0};
  auto* codes = reinterpret_cast<pauliOpType*>(wrong);
  PauliHamil small = createPauliHamil(2, 1);
  char no_file[] = "/no/such/file";
  const QuESTEnv env = environment();
  const struct {
    const char *function, *own, *quest;
    Call<> call;
  } kCases[] = {
      {"createQureg", "numQubits is 0", "Invalid number of qubits", [=] { createQureg(0, env); }},
      {"createQureg", "numQubits is 99", "Too many qubits", [=] { createQureg(99, env); }},
      {"hadamard", "targetQubit is 9", "Invalid target qubit", [&] { hadamard(s.vector, 9); }},
      {"controlledNot", "controlQubit is -1", "Invalid control qubit",
       [&] { controlledNot(s.vector, -1, 0); }},
      {"controlledNot", "are both 1", "Control and target", [&] { controlledNot(s.vector, 1, 1); }},
      {"controlledPhaseFlip", "idQubit1 is 9", "Invalid control qubit",
       [&] { controlledPhaseFlip(s.vector, 9, 0); }},
      {"swapGate", "are both 1", "The target qubits must be unique",
       [&] { swapGate(s.vector, 1, 1); }},
      {"multiQubitNot", "names qubit 1 again", "The target qubits must be unique",
       [&] { multiQubitNot(s.vector, twice, 2); }},
      {"multiQubitNot", "the number of targs is 7", "Invalid number of target qubits",
       [&] { multiQubitNot(s.vector, far, 7); }},
      {"multiControlledUnitary", "from 1 to 2", "Invalid number of control qubits",
       [&] { multiControlledUnitary(s.vector, all, 3, 0, kOne); }},
      {"multiControlledPhaseFlip", "is 9", "Invalid qubit index",
       [&] { multiControlledPhaseFlip(s.vector, far, 2); }},
      {"multiStateControlledUnitary", "an entry of controlState is 2", "bit sequence",
       [&] { multiStateControlledUnitary(s.vector, pair, bad_state, 2, 2, kOne); }},
      {"unitary", "is not unitary", "Matrix is not unitary",
       [&] { unitary(s.vector, 0, no_unitary); }},
      {"compactUnitary", "alpha and beta is not unitary", "Compact matrix",
       [&] {
         compactUnitary(s.vector, 0, {1, 0}, {1, 0});
       }},
      {"rotateAroundAxis", "axis is the zero vector", "Invalid axis vector",
       [&] {
         rotateAroundAxis(s.vector, 0, 1, Vector{0, 0, 0});
       }},
      {"rotateX", "an angle is nan", "an angle is nan", [&] { rotateX(s.vector, 0, kNan); }},
      {"multiQubitUnitary", "u is for 2 qubits", "matrix size",
       [&] { multiQubitUnitary(s.vector, pair, 1, s.two.value); }},
      {"getAmp", "index is 8", "Invalid amplitude index", [&] { getAmp(s.vector, 8); }},
      {"getAmp", "is a density matrix", "valid only for state-vectors",
       [&] { getAmp(s.density, 0); }},
      {"mixDephasing", "is a state vector", "valid only for density matrices",
       [&] { mixDephasing(s.vector, 0, half); }},
      {"mixDephasing", "prob is 1", "cannot exceed 1/2", [&] { mixDephasing(s.density, 0, one); }},
      {"mixDephasing", "prob is -1", "Probabilities must be in [0, 1]",
       [&] { mixDephasing(s.density, 0, minus); }},
      {"mixTwoQubitDepolarising", "prob is 1", "cannot exceed 15/16",
       [&] { mixTwoQubitDepolarising(s.density, 0, 1, one); }},
      {"mixPauli", "leave", "cannot exceed the probability of no error",
       [&] { mixPauli(s.density, 0, half, half, 0); }},
      {"mixKrausMap", "ops do not preserve", "trace preserving",
       [&] { mixKrausMap(s.density, 0, ops, 1); }},
      {"mixKrausMap", "numOps is 5", "at most 4 single qubit Kraus operators",
       [&] { mixKrausMap(s.density, 0, ops, 5); }},
      {"setAmps", "numAmps is 9", "Invalid number of amplitudes",
       [&] { setAmps(s.vector, 0, v, v, 9); }},
      {"setAmps", "numAmps is 8", "More amplitudes given than exist",
       [&] { setAmps(s.vector, 1, v, v, 8); }},
      {"calcInnerProduct", "is a density matrix", "valid only for state-vectors",
       [&] { calcInnerProduct(s.vector, s.density); }},
      {"calcFidelity", "is a density matrix", "Second argument must be a state-vector",
       [&] { calcFidelity(s.vector, s.density); }},
      {"cloneQureg", "different kinds", "Registers must both be state-vectors",
       [&] { cloneQureg(s.vector, s.density); }},
      {"calcExpecPauliSum", "a Pauli code is 7", "Invalid Pauli code",
       [&] { calcExpecPauliSum(s.vector, codes, &one, 1, s.vector); }},
      {"applyPauliHamil", "hamil is for 2 qubits", "same number of qubits",
       [&] { applyPauliHamil(s.vector, small, s.vector); }},
      {"collapseToOutcome", "has probability zero", "Can't collapse",
       [&] { collapseToOutcome(s.vector, 0, 1); }},
      {"collapseToOutcome", "outcome is 2", "Invalid measurement outcome",
       [&] { collapseToOutcome(s.vector, 0, 2); }},
      {"applyPhaseFunc", "a number of terms is 0", "Invalid number of terms in the phase function",
       [&] { applyPhaseFunc(s.vector, pair, 2, UNSIGNED, v, v, 0); }},
      {"applyPhaseFunc", "diverges at 0", "zero index was not overriden",
       [&] { applyPhaseFunc(s.vector, pair, 2, UNSIGNED, &one, &minus, 1); }},
      {"createPauliHamilFromFile", "cannot be read", "Could not open file",
       [&] { createPauliHamilFromFile(no_file); }},
  };
  for (const auto& c : kCases) {
    const std::string text = message_of(c.function, c.call);
    EXPECT_NE(text.find(wants_quest() ? c.quest : c.own), std::string::npos) << text;
    EXPECT_NE(text.rfind(std::string(c.function) + ":", 0), 0u) << text;  // not twice
  }
  destroyPauliHamil(small);
}
