// See quest_words.h. The texts are those that programs of QuEST 3.7 and its own tests look for.
#include "tilewave/quest/core/quest_words.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "tilewave/settings/words.h"

namespace tilewave::quest {

namespace {

using W = Words;
struct Row {
  Words words;
  const char* text;
};
// In the order of the enumeration.
constexpr Row kRows[] = {
    {W::kNone, ""},
    {W::kNumNewQubits, "Invalid number of qubits. Must create >0."},
    {W::kTooManyQubits,
     "Too many qubits. Cannot store the number of amplitudes in the size_t type."},
    {W::kTooFewQubits,
     "Too few qubits. There must be at least one amplitude per node of the distributed "
     "simulation."},
    {W::kQubitIndex, "Invalid qubit index. Must be >=0 and <numQubits."},
    {W::kTargetIndex, "Invalid target qubit. Must be >=0 and <numQubits."},
    {W::kControlIndex, "Invalid control qubit. Must be >=0 and <numQubits."},
    {W::kNumQubits, "Invalid number of qubits. Must be >0 and <=numQubits."},
    {W::kNumTargets, "Invalid number of target qubits. Must be >0 and <=numQubits."},
    {W::kNumControls, "Invalid number of control qubits. Must be >0 and <numQubits."},
    {W::kQubitsNotUnique, "The qubits must be unique."},
    {W::kTargetsNotUnique, "The target qubits must be unique."},
    {W::kControlsNotUnique, "The control qubits should be unique."},
    {W::kControlIsTarget, "Control and target qubits must be disjoint."},
    {W::kStateIndex, "Invalid state index. Must be >=0 and <2^numQubits."},
    {W::kAmplitudeIndex, "Invalid amplitude index. Must be >=0 and <2^numQubits."},
    {W::kElementIndex, "Invalid element index. Must be >=0 and <2^numQubits."},
    {W::kNumAmplitudes, "Invalid number of amplitudes."},
    {W::kNumElements, "Invalid number of elements."},
    {W::kAmplitudesBeyondEnd,
     "More amplitudes given than exist in the state from the given starting index."},
    {W::kElementsBeyondEnd,
     "More elements given than exist in the diagonal operator from the given starting "
     "index."},
    {W::kMatrixNotUnitary, "Matrix is not unitary."},
    {W::kPairNotUnitary, "Compact matrix formed by given complex numbers is not unitary."},
    {W::kDiagonalNotUnitary, "Diagonal operator is not unitary."},
    {W::kZeroAxis, "Invalid axis vector. Must be non-zero."},
    {W::kTooBigToPrint,
     "Invalid system size. Cannot print output for systems greater than 5 qubits."},
    {W::kZeroProbability, "Can't collapse to state with zero probability."},
    {W::kOutcome, "Invalid measurement outcome -- must be either 0 or 1."},
    {W::kFile, "Could not open file."},
    {W::kSecondNotStateVector, "Second argument must be a state-vector."},
    {W::kDifferentDimensions, "Dimensions of the qubit registers don't match."},
    {W::kDifferentTypes, "Registers must both be state-vectors or both be density matrices."},
    {W::kSubDiagonalSize,
     "The given SubDiagonalOp has an incompatible dimension with the given number of "
     "target qubits."},
    {W::kOnlyStateVectors, "Operation valid only for state-vectors."},
    {W::kOnlyDensityMatrices, "Operation valid only for density matrices."},
    {W::kProbability, "Probabilities must be in [0, 1]."},
    {W::kDephasing, "The probability of a single qubit dephase error cannot exceed 1/2."},
    {W::kTwoQubitDephasing, "The probability of a two-qubit dephase error cannot exceed 3/4."},
    {W::kDepolarising, "The probability of a single qubit depolarising error cannot exceed 3/4."},
    {W::kTwoQubitDepolarising,
     "The probability of a two-qubit depolarising error cannot exceed 15/16."},
    {W::kPauliProbabilities,
     "The probability of any X, Y or Z error cannot exceed the probability of no error."},
    {W::kControlState, "The state of the control qubits must be a bit sequence (0s and 1s)."},
    {W::kPauliCode,
     "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 "
     "(PAULI_Z)."},
    {W::kNumSumTerms, "Invalid number of terms in the Pauli sum. The number of terms must be >0."},
    {W::kMatrixSize, "The matrix size does not match the number of target qubits."},
    {W::kMatrixNotCreated, "The ComplexMatrixN was not successfully created."},
    {W::kNumOneQubitKraus,
     "At least 1 and at most 4 single qubit Kraus operators may be specified."},
    {W::kNumTwoQubitKraus, "At least 1 and at most 16 two-qubit Kraus operators may be specified."},
    {W::kNumKraus, "At least 1 and at most 4^N of N-qubit Kraus operators may be specified."},
    {W::kNotTracePreserving,
     "The specified Kraus map is not a completely positive, trace preserving map."},
    {W::kKrausSize,
     "Every Kraus operator must be of the same number of qubits as the number of targets."},
    {W::kHamilSize, "The number of qubits and terms in the PauliHamil must be strictly positive."},
    {W::kHamilFileSize,
     "The number of qubits and terms in the PauliHamil file must be strictly positive."},
    {W::kHamilFileCoefficient,
     "Failed to parse the next expected term coefficient in PauliHamil file."},
    {W::kHamilFileCode, "Failed to parse the next expected Pauli code in PauliHamil file."},
    {W::kHamilFileCodeRange, "The PauliHamil file contained an invalid pauli code."},
    {W::kHamilRegister,
     "The PauliHamil must act on the same number of qubits as exist in the Qureg."},
    {W::kTrotterOrder, "The Trotterisation order must be 1, or an even number."},
    {W::kTrotterRepetitions, "The number of Trotter repetitions must be >=1."},
    {W::kDiagonalRegister,
     "The qureg must represent an equal number of qubits as that in the applied diagonal "
     "operator."},
    {W::kDiagonalNotCreated, "The diagonal operator has not been initialised."},
    {W::kHamilNotDiagonal,
     "The Pauli Hamiltonian contained operators other than PAULI_Z and PAULI_I, and hence "
     "cannot be expressed as a diagonal matrix."},
    {W::kHamilDiagonalSize,
     "The Pauli Hamiltonian and diagonal operator have different, incompatible dimensions."},
    {W::kNumSubregisters, "Invalid number of qubit subregisters, which must be >0 and <=100."},
    {W::kNumPhaseTerms, "Invalid number of terms in the phase function specified. Must be >0."},
    {W::kNumOverrides, "Invalid number of phase function overrides specified."},
    {W::kUnsignedOverride, "Invalid phase function override index, in the UNSIGNED encoding."},
    {W::kSignedOverride, "Invalid phase function override index, in the TWOS_COMPLEMENT encoding."},
    {W::kPhaseFunction, "Invalid named phase function."},
    {W::kNumPhaseParameters,
     "Invalid number of parameters passed for the given named phase function."},
    {W::kBitEncoding, "Invalid bit encoding. Must be one of {UNSIGNED, TWOS_COMPLEMENT}."},
    {W::kSignedTooSmall,
     "A sub-register contained too few qubits to employ TWOS_COMPLEMENT encoding."},
    {W::kNegativeExponent,
     "The phase function contained a negative exponent which would diverge at zero, but "
     "the zero index was not overriden."},
    {W::kFractionalExponent,
     "The phase function contained a fractional exponent, which in TWOS_COMPLEMENT "
     "encoding, requires all negative indices are overriden. However, one or more negative "
     "indices were not overriden."},
    {W::kNegativeExponentOfSeveral, "The phase function contained an illegal negative exponent."},
    {W::kFractionalExponentOfSeveral,
     "The phase function contained a fractional exponent, which is illegal in "
     "TWOS_COMPLEMENT encoding."},
    {W::kOddDistance,
     "Phase functions DISTANCE and those made of it require a strictly even number of "
     "sub-registers."},
};
static_assert([] {
  for (std::size_t k = 0; k < std::size(kRows); ++k) {
    if (static_cast<std::size_t>(kRows[k].words) != k) return false;
  }
  return std::size(kRows) == static_cast<std::size_t>(Words::kCount);
}());

}  // namespace

const char* quest_words(Words words) { return kRows[static_cast<std::size_t>(words)].text; }

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
