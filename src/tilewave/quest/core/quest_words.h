// What is wrong with a call, in the words of QuEST 3.7: programs and tests that compare error
// messages get them with TILEWAVE_MESSAGES=quest. They say less than the messages of this
// library, which name the argument and its value.
#pragma once

#include <string>
#include <utility>

#include "tilewave/base/error.h"

namespace tilewave::quest {

/// What QuEST says; empty where it has no such error. Each % stands for a name or a number.
struct QuestWords {
  const char* text;
};

/// The words with what their %s stand for, in that order.
template <class... Parts>
std::string filled(QuestWords words, const Parts&... parts) {
  std::string text = words.text;
  std::size_t at = 0;
  const auto fill = [&](const std::string& part) {
    at = text.find('%', at);
    TW_CHECK(at != text.npos, "words have a place for each part");
    text.replace(at, 1, part);
    at += part.size();
  };
  (fill(concat(parts)), ...);
  return text;
}

// The texts of QuEST 3.7.0: what an error handler gets there, so that programs that compare or look
// for them go on as before. They are its interface, every character of it.
struct Words {
  static constexpr QuestWords kNone{""};
  static constexpr QuestWords kNumNewQubits{"Invalid number of qubits. Must create >0."};
  static constexpr QuestWords kTooManyQubits{
      "Too many qubits (max of log2(SIZE_MAX)). Cannot store the number of amplitudes per-node in "
      "the size_t type."};
  static constexpr QuestWords kTooFewQubits{
      "Too few qubits. The created qureg must have at least one amplitude per node used in "
      "distributed simulation."};
  static constexpr QuestWords kTooManyDiagonalQubits{
      "Too many qubits (max of log2(SIZE_MAX)). Cannot store the number of elements in the "
      "diagonal operator."};
  static constexpr QuestWords kTooFewDiagonalQubits{
      "Too few qubits. The created DiagonalOp must contain at least one element per node used in "
      "distributed simulation."};
  static constexpr QuestWords kRegisterMemory{
      "Could not allocate memory for Qureg. Possibly insufficient memory."};
  static constexpr QuestWords kDiagonalMemory{
      "Could not allocate memory for DiagonalOp. Possibly insufficient memory."};
  static constexpr QuestWords kQubitIndex{"Invalid qubit index. Must be >=0 and <numQubits."};
  static constexpr QuestWords kTargetIndex{"Invalid target qubit. Must be >=0 and <numQubits."};
  static constexpr QuestWords kControlIndex{"Invalid control qubit. Must be >=0 and <numQubits."};
  static constexpr QuestWords kNumQubits{"Invalid number of qubits. Must be >0 and <=numQubits."};
  static constexpr QuestWords kNumTargets{
      "Invalid number of target qubits. Must be >0 and <=numQubits."};
  static constexpr QuestWords kNumControls{
      "Invalid number of control qubits. Must be >0 and <numQubits."};
  static constexpr QuestWords kQubitsNotUnique{"The qubits must be unique."};
  static constexpr QuestWords kTargetsNotUnique{"The target qubits must be unique."};
  static constexpr QuestWords kControlsNotUnique{"The control qubits should be unique."};
  static constexpr QuestWords kControlIsTarget{"Control and target qubits must be disjoint."};
  static constexpr QuestWords kTargetIsControl{"Control qubit cannot equal target qubit."};
  static constexpr QuestWords kTargetInControls{"Control qubits cannot include target qubit."};
  static constexpr QuestWords kStateIndex{"Invalid state index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kAmplitudeIndex{
      "Invalid amplitude index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kElementIndex{"Invalid element index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kNumAmplitudes{
      "Invalid number of amplitudes. Must be >=0 and <=2^numQubits (or for density matrices, "
      "<=2^(2 numQubits))."};
  static constexpr QuestWords kNumElements{
      "Invalid number of elements. Must be >=0 and <=2^numQubits."};
  static constexpr QuestWords kAmplitudesBeyondEnd{
      "More amplitudes given than exist in the state from the given starting index."};
  static constexpr QuestWords kElementsBeyondEnd{
      "More elements given than exist in the diagonal operator from the given starting "
      "index."};
  static constexpr QuestWords kMatrixNotUnitary{"Matrix is not unitary."};
  static constexpr QuestWords kPairNotUnitary{
      "Compact matrix formed by given complex numbers is not unitary."};
  static constexpr QuestWords kDiagonalNotUnitary{"Diagonal operator is not unitary."};
  static constexpr QuestWords kZeroAxis{"Invalid axis vector. Must be non-zero."};
  static constexpr QuestWords kTooBigToPrint{
      "Invalid system size. Cannot print output for systems greater than 5 qubits."};
  static constexpr QuestWords kZeroProbability{"Can't collapse to state with zero probability."};
  static constexpr QuestWords kOutcome{"Invalid measurement outcome -- must be either 0 or 1."};
  static constexpr QuestWords kFile{"Could not open file (%)."};
  static constexpr QuestWords kSecondNotStateVector{"Second argument must be a state-vector."};
  static constexpr QuestWords kDifferentDimensions{
      "Dimensions of the qubit registers don't match."};
  static constexpr QuestWords kDifferentTypes{
      "Registers must both be state-vectors or both be density matrices."};
  static constexpr QuestWords kSubDiagonalSize{
      "The given SubDiagonalOp has an incompatible dimension with the given number of "
      "target qubits."};
  static constexpr QuestWords kOnlyStateVectors{"Operation valid only for state-vectors."};
  static constexpr QuestWords kOnlyDensityMatrices{"Operation valid only for density matrices."};
  static constexpr QuestWords kProbability{"Probabilities must be in [0, 1]."};
  static constexpr QuestWords kDephasing{
      "The probability of a single qubit dephase error cannot exceed 1/2, which maximally mixes."};
  static constexpr QuestWords kTwoQubitDephasing{
      "The probability of a two-qubit qubit dephase error cannot exceed 3/4, which maximally "
      "mixes."};
  static constexpr QuestWords kDepolarising{
      "The probability of a single qubit depolarising error cannot exceed 3/4, which maximally "
      "mixes."};
  static constexpr QuestWords kTwoQubitDepolarising{
      "The probability of a two-qubit depolarising error cannot exceed 15/16, which maximally "
      "mixes."};
  static constexpr QuestWords kPauliProbabilities{
      "The probability of any X, Y or Z error cannot exceed the probability of no error."};
  static constexpr QuestWords kControlState{
      "The state of the control qubits must be a bit sequence (0s and 1s)."};
  static constexpr QuestWords kPauliCode{
      "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 (PAULI_Z) "
      "to indicate the identity, X, Y and Z operators respectively."};
  static constexpr QuestWords kNumSumTerms{
      "Invalid number of terms in the Pauli sum. The number of terms must be >0."};
  static constexpr QuestWords kMatrixSize{
      "The matrix size does not match the number of target qubits."};
  static constexpr QuestWords kMatrixNotCreated{
      "The ComplexMatrixN was not successfully created (possibly insufficient memory available)."};
  static constexpr QuestWords kNumOneQubitKraus{
      "At least 1 and at most 4 single qubit Kraus operators may be specified."};
  static constexpr QuestWords kNumTwoQubitKraus{
      "At least 1 and at most 16 two-qubit Kraus operators may be specified."};
  static constexpr QuestWords kNumKraus{
      "At least 1 and at most 4*N^2 of N-qubit Kraus operators may be specified."};
  static constexpr QuestWords kNotTracePreserving{
      "The specified Kraus map is not a completely positive, trace preserving map."};
  static constexpr QuestWords kKrausSize{
      "Every Kraus operator must be of the same number of qubits as the number of targets."};
  static constexpr QuestWords kHamilSize{
      "The number of qubits and terms in the PauliHamil must be strictly positive."};
  static constexpr QuestWords kHamilFileSize{
      "The number of qubits and terms in the PauliHamil file (%) must be strictly positive."};
  static constexpr QuestWords kHamilFileCoefficient{
      "Failed to parse the next expected term coefficient in PauliHamil file (%)."};
  static constexpr QuestWords kHamilFileCode{
      "Failed to parse the next expected Pauli code in PauliHamil file (%)."};
  static constexpr QuestWords kHamilFileCodeRange{
      "The PauliHamil file (%) contained an invalid pauli code (%). Codes must be 0 (or PAULI_I), "
      "1 (PAULI_X), 2 (PAULI_Y) or 3 (PAULI_Z) to indicate the identity, X, Y and Z operators "
      "respectively."};
  static constexpr QuestWords kHamilRegister{
      "The PauliHamil must act on the same number of qubits as exist in the Qureg."};
  static constexpr QuestWords kTrotterOrder{
      "The Trotterisation order must be 1, or an even number (for higher-order Suzuki symmetrized "
      "expansions)."};
  static constexpr QuestWords kTrotterRepetitions{"The number of Trotter repetitions must be >=1."};
  static constexpr QuestWords kDiagonalRegister{
      "The qureg must represent an equal number of qubits as that in the applied diagonal "
      "operator."};
  static constexpr QuestWords kDiagonalNotCreated{
      "The diagonal operator has not been initialised through createDiagonalOperator()."};
  static constexpr QuestWords kHamilNotDiagonal{
      "The Pauli Hamiltonian contained operators other than PAULI_Z and PAULI_I, and hence "
      "cannot be expressed as a diagonal matrix."};
  static constexpr QuestWords kHamilDiagonalSize{
      "The Pauli Hamiltonian and diagonal operator have different, incompatible dimensions."};
  static constexpr QuestWords kNumSubregisters{
      "Invalid number of qubit subregisters, which must be >0 and <=100."};
  static constexpr QuestWords kNumPhaseTerms{
      "Invalid number of terms in the phase function specified. Must be >0."};
  static constexpr QuestWords kNumOverrides{
      "Invalid number of phase function overrides specified. Must be >=0, and for single-variable "
      "phase functions, <=2^numQubits (the maximum unique binary values of the sub-register). Note "
      "that uniqueness of overriding indices is not checked."};
  static constexpr QuestWords kUnsignedOverride{
      "Invalid phase function override index, in the UNSIGNED encoding. Must be >=0, and <= the "
      "maximum index possible of the corresponding qubit subregister (2^numQubits-1)."};
  static constexpr QuestWords kSignedOverride{
      "Invalid phase function override index, in the TWOS_COMPLEMENT encoding. Must be between "
      "(inclusive) -2^(N-1) and +2^(N-1)-1, where N is the number of qubits (including the sign "
      "qubit)."};
  static constexpr QuestWords kPhaseFunction{
      "Invalid named phase function, which must be one of {NORM, SCALED_NORM, INVERSE_NORM, "
      "SCALED_INVERSE_NORM, SCALED_INVERSE_SHIFTED_NORM, PRODUCT, SCALED_PRODUCT, INVERSE_PRODUCT, "
      "SCALED_INVERSE_PRODUCT, DISTANCE, SCALED_DISTANCE, INVERSE_DISTANCE, "
      "SCALED_INVERSE_DISTANCE, SCALED_INVERSE_SHIFTED_DISTANCE, "
      "SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE}."};
  static constexpr QuestWords kNumPhaseParameters{
      "Invalid number of parameters passed for the given named phase function. {NORM, PRODUCT, "
      "DISTANCE} accept 0 parameters, {INVERSE_NORM, INVERSE_PRODUCT, INVERSE_DISTANCE} accept 1 "
      "parameter (the phase at the divergence), {SCALED_NORM, SCALED_INVERSE_NORM, SCALED_PRODUCT} "
      "accept 1 parameter (the scaling coefficient), {SCALED_INVERSE_PRODUCT, SCALED_DISTANCE, "
      "SCALED_INVERSE_DISTANCE} accept 2 parameters (the coefficient then divergence phase), "
      "SCALED_INVERSE_SHIFTED_NORM accepts 2 + (number of sub-registers) parameters (the "
      "coefficient, then the divergence phase, followed by the offset for each sub-register), "
      "SCALED_INVERSE_SHIFTED_DISTANCE accepts 2 + (number of sub-registers) / 2 parameters (the "
      "coefficient, then the divergence phase, followed by the offset for each pair of "
      "sub-registers), SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE accepts 2 + (number of "
      "sub-registers) parameters (the coefficient, then the divergence phase, followed by the "
      "factor and offset for each pair of sub-registers)."};
  static constexpr QuestWords kBitEncoding{
      "Invalid bit encoding. Must be one of {UNSIGNED, TWOS_COMPLEMENT}."};
  static constexpr QuestWords kSignedTooSmall{
      "A sub-register contained too few qubits to employ TWOS_COMPLEMENT encoding. Must use >1 "
      "qubits (allocating one for the sign)."};
  static constexpr QuestWords kNegativeExponent{
      "The phase function contained a negative exponent which would diverge at zero, but "
      "the zero index was not overriden."};
  static constexpr QuestWords kFractionalExponent{
      "The phase function contained a fractional exponent, which in TWOS_COMPLEMENT "
      "encoding, requires all negative indices are overriden. However, one or more negative "
      "indices were not overriden."};
  static constexpr QuestWords kNegativeExponentOfSeveral{
      "The phase function contained an illegal negative exponent. One must instead call "
      "applyPhaseFuncOverrides() once for each register, so that the zero index of each register "
      "is overriden, independent of the indices of all other registers."};
  static constexpr QuestWords kFractionalExponentOfSeveral{
      "The phase function contained a fractional exponent, which is illegal in TWOS_COMPLEMENT "
      "encoding, since it cannot be (efficiently) checked that all negative indices were "
      "overriden. One must instead call applyPhaseFuncOverrides() once for each register, so that "
      "each register's negative indices can be overriden, independent of the indices of all other "
      "registers."};
  static constexpr QuestWords kOddDistance{
      "Phase functions DISTANCE, INVERSE_DISTANCE, SCALED_DISTANCE, SCALED_INVERSE_DISTANCE, "
      "SCALED_INVERSE_SHIFTED_DISTANCE and SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE require a "
      "strictly even number of sub-registers."};
};

/// An invalid call.
struct InvalidCall : Error {
  InvalidCall(const std::string& message, std::string what)
      : Error(ExitCode::kUsage, message), words(std::move(what)) {}
  std::string words;
};

}  // namespace tilewave::quest
