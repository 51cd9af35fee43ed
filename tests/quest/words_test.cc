// What an error handler gets: the message and, apart from it, the function's name; with
// TILEWAVE_MESSAGES=quest the message in QuEST's words. The environment is read once, so this runs
// in a process of its own for each (CMakeLists.txt).
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  // ranks and other tests run beside this process
  std::string wrong_file = testing::TempDir() + "wrong_code_" + std::to_string(getpid()) + ".txt";
  const std::string wrong_words =
      "The PauliHamil file (" + wrong_file +
      ") contained an invalid pauli code (7). Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 "
      "(PAULI_Y) or 3 (PAULI_Z) to indicate the identity, X, Y and Z operators respectively.";
  char no_file[] = "/no/such/file";
  std::ofstream(wrong_file) << "0.5 1 7 2\n";
  int twice_and_far[3] = {1, 1, 9}, sizes[2] = {1, 1};
  long long places[3] = {9, 0, 1};
  const QuESTEnv env = environment();
  const struct {
    const char *function, *own, *quest;
    Call<> call;
  } kCases[] = {
      {"createQureg", "numQubits is 0", "Invalid number of qubits. Must create >0.",
       [=] { createQureg(0, env); }},
      {"createQureg", "numQubits is 99",
       "Too many qubits (max of log2(SIZE_MAX)). Cannot store the number of amplitudes per-node in "
       "the size_t type.",
       [=] { createQureg(99, env); }},
      {"hadamard", "targetQubit is 9", "Invalid target qubit. Must be >=0 and <numQubits.",
       [&] { hadamard(s.vector, 9); }},
      {"controlledNot", "controlQubit is -1", "Invalid control qubit. Must be >=0 and <numQubits.",
       [&] { controlledNot(s.vector, -1, 0); }},
      {"controlledNot", "are both 1", "Control qubit cannot equal target qubit.",
       [&] { controlledNot(s.vector, 1, 1); }},
      {"controlledPhaseFlip", "idQubit1 is 9", "Invalid control qubit. Must be >=0 and <numQubits.",
       [&] { controlledPhaseFlip(s.vector, 9, 0); }},
      {"swapGate", "are both 1", "The target qubits must be unique.",
       [&] { swapGate(s.vector, 1, 1); }},
      {"multiQubitNot", "names qubit 1 again", "The target qubits must be unique.",
       [&] { multiQubitNot(s.vector, twice, 2); }},
      {"multiQubitNot", "the number of targs is 7",
       "Invalid number of target qubits. Must be >0 and <=numQubits.",
       [&] { multiQubitNot(s.vector, far, 7); }},
      {"multiControlledUnitary", "from 1 to 2",
       "Invalid number of control qubits. Must be >0 and <numQubits.",
       [&] { multiControlledUnitary(s.vector, all, 3, 0, kOne); }},
      {"multiControlledPhaseFlip", "is 9", "Invalid qubit index. Must be >=0 and <numQubits.",
       [&] { multiControlledPhaseFlip(s.vector, far, 2); }},
      {"multiStateControlledUnitary", "an entry of controlState is 2",
       "The state of the control qubits must be a bit sequence (0s and 1s).",
       [&] { multiStateControlledUnitary(s.vector, pair, bad_state, 2, 2, kOne); }},
      {"unitary", "is not unitary", "Matrix is not unitary.",
       [&] { unitary(s.vector, 0, no_unitary); }},
      {"compactUnitary", "alpha and beta is not unitary",
       "Compact matrix formed by given complex numbers is not unitary.",
       [&] {
         compactUnitary(s.vector, 0, {1, 0}, {1, 0});
       }},
      {"rotateAroundAxis", "axis is the zero vector", "Invalid axis vector. Must be non-zero.",
       [&] {
         rotateAroundAxis(s.vector, 0, 1, Vector{0, 0, 0});
       }},
      {"rotateX", "angle is nan", "angle is nan: it must be finite",
       [&] { rotateX(s.vector, 0, kNan); }},
      {"multiQubitUnitary", "u is for 2 qubits",
       "The matrix size does not match the number of target qubits.",
       [&] { multiQubitUnitary(s.vector, pair, 1, s.two.value); }},
      {"getAmp", "index is 8", "Invalid amplitude index. Must be >=0 and <2^numQubits.",
       [&] { getAmp(s.vector, 8); }},
      {"getAmp", "is a density matrix", "Operation valid only for state-vectors.",
       [&] { getAmp(s.density, 0); }},
      {"mixDephasing", "is a state vector", "Operation valid only for density matrices.",
       [&] { mixDephasing(s.vector, 0, half); }},
      {"mixDephasing", "prob is 1",
       "The probability of a single qubit dephase error cannot exceed 1/2, which maximally mixes.",
       [&] { mixDephasing(s.density, 0, one); }},
      {"mixDephasing", "prob is -1", "Probabilities must be in [0, 1].",
       [&] { mixDephasing(s.density, 0, minus); }},
      {"mixTwoQubitDepolarising", "prob is 1",
       "The probability of a two-qubit depolarising error cannot exceed 15/16, which maximally "
       "mixes.",
       [&] { mixTwoQubitDepolarising(s.density, 0, 1, one); }},
      {"mixPauli", "leave",
       "The probability of any X, Y or Z error cannot exceed the probability of no error.",
       [&] { mixPauli(s.density, 0, half, half, 0); }},
      {"mixKrausMap", "ops do not preserve",
       "The specified Kraus map is not a completely positive, trace preserving map.",
       [&] { mixKrausMap(s.density, 0, ops, 1); }},
      {"mixKrausMap", "numOps is 5",
       "At least 1 and at most 4 single qubit Kraus operators may be specified.",
       [&] { mixKrausMap(s.density, 0, ops, 5); }},
      {"setAmps", "numAmps is 9",
       "Invalid number of amplitudes. Must be >=0 and <=2^numQubits (or for density matrices, "
       "<=2^(2 numQubits)).",
       [&] { setAmps(s.vector, 0, v, v, 9); }},
      {"setAmps", "numAmps is 8",
       "More amplitudes given than exist in the state from the given starting index.",
       [&] { setAmps(s.vector, 1, v, v, 8); }},
      {"calcInnerProduct", "is a density matrix", "Operation valid only for state-vectors.",
       [&] { calcInnerProduct(s.vector, s.density); }},
      {"calcFidelity", "is a density matrix", "Second argument must be a state-vector.",
       [&] { calcFidelity(s.vector, s.density); }},
      {"cloneQureg", "different kinds",
       "Registers must both be state-vectors or both be density matrices.",
       [&] { cloneQureg(s.vector, s.density); }},
      {"calcExpecPauliSum", "a Pauli code is 7",
       "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 (PAULI_Z) "
       "to indicate the identity, X, Y and Z operators respectively.",
       [&] { calcExpecPauliSum(s.vector, codes, &one, 1, s.vector); }},
      {"applyPauliHamil", "hamil is for 2 qubits",
       "The PauliHamil must act on the same number of qubits as exist in the Qureg.",
       [&] { applyPauliHamil(s.vector, small, s.vector); }},
      {"collapseToOutcome", "has probability zero",
       "Can't collapse to state with zero probability.",
       [&] { collapseToOutcome(s.vector, 0, 1); }},
      {"collapseToOutcome", "outcome is 2", "Invalid measurement outcome -- must be either 0 or 1.",
       [&] { collapseToOutcome(s.vector, 0, 2); }},
      {"applyPhaseFunc", "numTerms is 0",
       "Invalid number of terms in the phase function specified. Must be >0.",
       [&] { applyPhaseFunc(s.vector, pair, 2, UNSIGNED, v, v, 0); }},
      {"applyPhaseFunc", "diverges at 0",
       "The phase function contained a negative exponent which would diverge at zero, but the zero "
       "index was not overriden.",
       [&] { applyPhaseFunc(s.vector, pair, 2, UNSIGNED, &one, &minus, 1); }},
      {"controlledUnitary", "control and as target", "Control qubit cannot equal target qubit.",
       [&] { controlledUnitary(s.vector, 1, 1, kOne); }},
      {"controlledPhaseShift", "are both 1", "Control qubit cannot equal target qubit.",
       [&] { controlledPhaseShift(s.vector, 1, 1, one); }},
      {"multiControlledUnitary", "control and as target",
       "Control qubits cannot include target qubit.",
       [&] { multiControlledUnitary(s.vector, pair, 2, 1, kOne); }},
      {"controlledTwoQubitUnitary", "control and as target",
       "Control and target qubits must be disjoint.",
       [&] { controlledTwoQubitUnitary(s.vector, 1, 0, 1, one4()); }},
      // the first of several that are wrong
      {"controlledNot", "targetQubit is 9", "Invalid target qubit. Must be >=0 and <numQubits.",
       [&] { controlledNot(s.vector, -1, 9); }},
      {"multiQubitNot", "targs[2] is 9", "Invalid target qubit. Must be >=0 and <numQubits.",
       [&] { multiQubitNot(s.vector, twice_and_far, 3); }},
      {"multiStateControlledUnitary", "is not unitary", "Matrix is not unitary.",
       [&] { multiStateControlledUnitary(s.vector, pair, bad_state, 2, 2, no_unitary); }},
      {"applyTrotterCircuit", "order is 3",
       "The Trotterisation order must be 1, or an even number (for higher-order Suzuki symmetrized "
       "expansions).",
       [&] { applyTrotterCircuit(s.vector, small, 1, 3, 0); }},
      {"applyTrotterCircuit", "reps is 0", "The number of Trotter repetitions must be >=1.",
       [&] { applyTrotterCircuit(s.vector, small, 1, 2, 0); }},
      {"setQuregToPauliHamil", "hamil is for 2 qubits",
       "The PauliHamil must act on the same number of qubits as exist in the Qureg.",
       [&] { setQuregToPauliHamil(s.density, small); }},
      {"calcExpecPauliProd", "a Pauli code is 7",
       "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 (PAULI_Z) "
       "to indicate the identity, X, Y and Z operators respectively.",
       [&] { calcExpecPauliProd(s.vector, pair, codes, 2, s.density); }},
      {"mixTwoQubitDephasing", "prob is 1",
       "The probability of a two-qubit qubit dephase error cannot exceed 3/4, which maximally "
       "mixes.",
       [&] { mixTwoQubitDephasing(s.density, 0, 1, one); }},
      {"mixDepolarising", "prob is 1",
       "The probability of a single qubit depolarising error cannot exceed 3/4, which maximally "
       "mixes.",
       [&] { mixDepolarising(s.density, 0, one); }},
      {"applyNamedPhaseFunc", "functionNameCode is 99",
       "Invalid named phase function, which must be one of {NORM, SCALED_NORM, INVERSE_NORM, "
       "SCALED_INVERSE_NORM, SCALED_INVERSE_SHIFTED_NORM, PRODUCT, SCALED_PRODUCT, "
       "INVERSE_PRODUCT, SCALED_INVERSE_PRODUCT, DISTANCE, SCALED_DISTANCE, INVERSE_DISTANCE, "
       "SCALED_INVERSE_DISTANCE, SCALED_INVERSE_SHIFTED_DISTANCE, "
       "SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE}.",
       [&] { applyNamedPhaseFunc(s.vector, all, sizes, 2, UNSIGNED, static_cast<phaseFunc>(99)); }},
      {"applyNamedPhaseFunc", "numRegs is 1",
       "Phase functions DISTANCE, INVERSE_DISTANCE, SCALED_DISTANCE, SCALED_INVERSE_DISTANCE, "
       "SCALED_INVERSE_SHIFTED_DISTANCE and SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE require a "
       "strictly even number of sub-registers.",
       [&] { applyNamedPhaseFunc(s.vector, all, sizes, 1, UNSIGNED, DISTANCE); }},
      {"applyPhaseFunc", "numQubits is 1",
       "A sub-register contained too few qubits to employ TWOS_COMPLEMENT encoding. Must use >1 "
       "qubits (allocating one for the sign).",
       [&] { applyPhaseFunc(s.vector, all, 1, TWOS_COMPLEMENT, &one, &one, 1); }},
      {"applyPhaseFuncOverrides", "numOverrides is 3",
       "Invalid number of phase function overrides specified. Must be >=0, and for single-variable "
       "phase "
       "functions, <=2^numQubits (the maximum unique binary values of the sub-register). Note that "
       "uniqueness of overriding indices is not checked.",
       [&] { applyPhaseFuncOverrides(s.vector, all, 1, UNSIGNED, v, v, 1, places, v, 3); }},
      {"applyPhaseFuncOverrides", "an entry of overrideInds is 9",
       "Invalid phase function override index, in the UNSIGNED encoding. Must be >=0, and <= the "
       "maximum index possible of the corresponding qubit subregister (2^numQubits-1).",
       [&] { applyPhaseFuncOverrides(s.vector, all, 1, UNSIGNED, &one, &minus, 1, places, v, 1); }},
      {"applyMultiVarPhaseFuncOverrides", "applyPhaseFuncOverrides, called for each register",
       "The phase function contained an illegal negative exponent. One must instead call "
       "applyPhaseFuncOverrides() once for each register, so that the zero index of each register "
       "is overriden, independent of the indices of all other registers.",
       [&] {
         applyMultiVarPhaseFuncOverrides(s.vector, all, sizes, 1, UNSIGNED, &one, &minus, sizes,
                                         places + 1, v, 1);
       }},
      {"copySubstateToGPU", "numAmps is 8",
       "More amplitudes given than exist in the state from the given starting index.",
       [&] { copySubstateToGPU(s.vector, 1, 8); }},
      {"createDiagonalOp", "out of memory",
       "Could not allocate memory for DiagonalOp. Possibly insufficient memory.",
       [=] { createDiagonalOp(40, env); }},
      {"createQureg", "cannot place 40 qubits",
       "Could not allocate memory for Qureg. Possibly insufficient memory.",
       [=] { createQureg(40, env); }},
      {"createPauliHamilFromFile", "is no Pauli code", wrong_words.c_str(),
       [&] { createPauliHamilFromFile(wrong_file.data()); }},
      {"createPauliHamilFromFile", "cannot be read", "Could not open file (/no/such/file).",
       [&] { createPauliHamilFromFile(no_file); }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.function);
    const std::string text = message_of(c.function, c.call);
    if (wants_quest()) {
      EXPECT_EQ(text, c.quest);
    } else {
      EXPECT_NE(text.find(c.own), std::string::npos) << text;
    }
    EXPECT_NE(text.rfind(std::string(c.function) + ":", 0), 0u) << text;  // not twice
  }
  destroyPauliHamil(small);
  std::filesystem::remove(wrong_file);
}
