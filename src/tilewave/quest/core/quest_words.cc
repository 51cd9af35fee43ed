// See quest_words.h. The texts are those that programs of QuEST 3.7 and its own tests look for.
#include "tilewave/quest/core/quest_words.h"

#include <array>
#include <cstdlib>

#include "tilewave/settings/words.h"

namespace tilewave::quest {

const char* quest_words(Words words) {
  switch (words) {
    case Words::kNone:
    case Words::kCount:
      return "";
    case Words::kNumNewQubits:
      return "Invalid number of qubits. Must create >0.";
    case Words::kTooManyQubits:
      return "Too many qubits. Cannot store the number of amplitudes in the size_t type.";
    case Words::kTooFewQubits:
      return "Too few qubits. There must be at least one amplitude per node of the distributed "
             "simulation.";
    case Words::kQubitIndex:
      return "Invalid qubit index. Must be >=0 and <numQubits.";
    case Words::kTargetIndex:
      return "Invalid target qubit. Must be >=0 and <numQubits.";
    case Words::kControlIndex:
      return "Invalid control qubit. Must be >=0 and <numQubits.";
    case Words::kNumQubits:
      return "Invalid number of qubits. Must be >0 and <=numQubits.";
    case Words::kNumTargets:
      return "Invalid number of target qubits. Must be >0 and <=numQubits.";
    case Words::kNumControls:
      return "Invalid number of control qubits. Must be >0 and <numQubits.";
    case Words::kQubitsNotUnique:
      return "The qubits must be unique.";
    case Words::kTargetsNotUnique:
      return "The target qubits must be unique.";
    case Words::kControlsNotUnique:
      return "The control qubits should be unique.";
    case Words::kControlIsTarget:
      return "Control and target qubits must be disjoint.";
    case Words::kStateIndex:
      return "Invalid state index. Must be >=0 and <2^numQubits.";
    case Words::kAmplitudeIndex:
      return "Invalid amplitude index. Must be >=0 and <2^numQubits.";
    case Words::kElementIndex:
      return "Invalid element index. Must be >=0 and <2^numQubits.";
    case Words::kNumAmplitudes:
      return "Invalid number of amplitudes.";
    case Words::kNumElements:
      return "Invalid number of elements.";
    case Words::kAmplitudesBeyondEnd:
      return "More amplitudes given than exist in the state from the given starting index.";
    case Words::kElementsBeyondEnd:
      return "More elements given than exist in the diagonal operator from the given starting "
             "index.";
    case Words::kMatrixNotUnitary:
      return "Matrix is not unitary.";
    case Words::kPairNotUnitary:
      return "Compact matrix formed by given complex numbers is not unitary.";
    case Words::kDiagonalNotUnitary:
      return "Diagonal operator is not unitary.";
    case Words::kZeroAxis:
      return "Invalid axis vector. Must be non-zero.";
    case Words::kTooBigToPrint:
      return "Invalid system size. Cannot print output for systems greater than 5 qubits.";
    case Words::kZeroProbability:
      return "Can't collapse to state with zero probability.";
    case Words::kOutcome:
      return "Invalid measurement outcome -- must be either 0 or 1.";
    case Words::kFile:
      return "Could not open file.";
    case Words::kSecondNotStateVector:
      return "Second argument must be a state-vector.";
    case Words::kDifferentDimensions:
      return "Dimensions of the qubit registers don't match.";
    case Words::kDifferentTypes:
      return "Registers must both be state-vectors or both be density matrices.";
    case Words::kSubDiagonalSize:
      return "The given SubDiagonalOp has an incompatible dimension with the given number of "
             "target qubits.";
    case Words::kOnlyStateVectors:
      return "Operation valid only for state-vectors.";
    case Words::kOnlyDensityMatrices:
      return "Operation valid only for density matrices.";
    case Words::kProbability:
      return "Probabilities must be in [0, 1].";
    case Words::kDephasing:
      return "The probability of a single qubit dephase error cannot exceed 1/2.";
    case Words::kTwoQubitDephasing:
      return "The probability of a two-qubit dephase error cannot exceed 3/4.";
    case Words::kDepolarising:
      return "The probability of a single qubit depolarising error cannot exceed 3/4.";
    case Words::kTwoQubitDepolarising:
      return "The probability of a two-qubit depolarising error cannot exceed 15/16.";
    case Words::kPauliProbabilities:
      return "The probability of any X, Y or Z error cannot exceed the probability of no error.";
    case Words::kControlState:
      return "The state of the control qubits must be a bit sequence (0s and 1s).";
    case Words::kPauliCode:
      return "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 "
             "(PAULI_Z).";
    case Words::kNumSumTerms:
      return "Invalid number of terms in the Pauli sum. The number of terms must be >0.";
    case Words::kMatrixSize:
      return "The matrix size does not match the number of target qubits.";
    case Words::kMatrixNotCreated:
      return "The ComplexMatrixN was not successfully created.";
    case Words::kNumOneQubitKraus:
      return "At least 1 and at most 4 single qubit Kraus operators may be specified.";
    case Words::kNumTwoQubitKraus:
      return "At least 1 and at most 16 two-qubit Kraus operators may be specified.";
    case Words::kNumKraus:
      return "At least 1 and at most 4^N of N-qubit Kraus operators may be specified.";
    case Words::kNotTracePreserving:
      return "The specified Kraus map is not a completely positive, trace preserving map.";
    case Words::kKrausSize:
      return "Every Kraus operator must be of the same number of qubits as the number of targets.";
    case Words::kHamilSize:
      return "The number of qubits and terms in the PauliHamil must be strictly positive.";
    case Words::kHamilFileSize:
      return "The number of qubits and terms in the PauliHamil file must be strictly positive.";
    case Words::kHamilFileCoefficient:
      return "Failed to parse the next expected term coefficient in PauliHamil file.";
    case Words::kHamilFileCode:
      return "Failed to parse the next expected Pauli code in PauliHamil file.";
    case Words::kHamilFileCodeRange:
      return "The PauliHamil file contained an invalid pauli code.";
    case Words::kHamilRegister:
      return "The PauliHamil must act on the same number of qubits as exist in the Qureg.";
    case Words::kTrotterOrder:
      return "The Trotterisation order must be 1, or an even number.";
    case Words::kTrotterRepetitions:
      return "The number of Trotter repetitions must be >=1.";
    case Words::kDiagonalRegister:
      return "The qureg must represent an equal number of qubits as that in the applied diagonal "
             "operator.";
    case Words::kDiagonalNotCreated:
      return "The diagonal operator has not been initialised.";
    case Words::kHamilNotDiagonal:
      return "The Pauli Hamiltonian contained operators other than PAULI_Z and PAULI_I, and hence "
             "cannot be expressed as a diagonal matrix.";
    case Words::kHamilDiagonalSize:
      return "The Pauli Hamiltonian and diagonal operator have different, incompatible dimensions.";
    case Words::kNumSubregisters:
      return "Invalid number of qubit subregisters, which must be >0 and <=100.";
    case Words::kNumPhaseTerms:
      return "Invalid number of terms in the phase function specified. Must be >0.";
    case Words::kNumOverrides:
      return "Invalid number of phase function overrides specified.";
    case Words::kUnsignedOverride:
      return "Invalid phase function override index, in the UNSIGNED encoding.";
    case Words::kSignedOverride:
      return "Invalid phase function override index, in the TWOS_COMPLEMENT encoding.";
    case Words::kPhaseFunction:
      return "Invalid named phase function.";
    case Words::kNumPhaseParameters:
      return "Invalid number of parameters passed for the given named phase function.";
    case Words::kBitEncoding:
      return "Invalid bit encoding. Must be one of {UNSIGNED, TWOS_COMPLEMENT}.";
    case Words::kSignedTooSmall:
      return "A sub-register contained too few qubits to employ TWOS_COMPLEMENT encoding.";
    case Words::kNegativeExponent:
      return "The phase function contained a negative exponent which would diverge at zero, but "
             "the zero index was not overriden.";
    case Words::kFractionalExponent:
      return "The phase function contained a fractional exponent, which in TWOS_COMPLEMENT "
             "encoding, requires all negative indices are overriden. However, one or more negative "
             "indices were not overriden.";
    case Words::kNegativeExponentOfSeveral:
      return "The phase function contained an illegal negative exponent.";
    case Words::kFractionalExponentOfSeveral:
      return "The phase function contained a fractional exponent, which is illegal in "
             "TWOS_COMPLEMENT encoding.";
    case Words::kOddDistance:
      return "Phase functions DISTANCE and those made of it require a strictly even number of "
             "sub-registers.";
  }
  return "";
}

std::optional<bool> messages_in_quest_words() {
  static const std::optional<bool> found = []() -> std::optional<bool> {
    constexpr std::array<Word<bool>, 2> kMessages = {{{"tilewave", false}, {"quest", true}}};
    const char* text = std::getenv("TILEWAVE_MESSAGES");
    if (!text || !*text) return false;
    return find_word(kMessages, text);
  }();
  return found;
}

bool wants_quest_words() { return messages_in_quest_words().value_or(false); }

}  // namespace tilewave::quest
