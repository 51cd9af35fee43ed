// What is wrong with a call, in the words of QuEST 3: programs and tests that look for these in
// error messages get them with TILEWAVE_MESSAGES=quest. They say less than the messages of this
// library, which name the argument and its value.
#pragma once

#include <string>

#include "tilewave/base/error.h"

namespace tilewave::quest {

/// What QuEST says; empty where it has no such error.
struct QuestWords {
  const char* text;
};

// The texts are those that programs of QuEST 3.7 and its own tests look for.
struct Words {
  static constexpr QuestWords kNone{""};
  static constexpr QuestWords kNumNewQubits{"Invalid number of qubits. Must create >0."};
  static constexpr QuestWords kTooManyQubits{
      "Too many qubits. Cannot store the number of amplitudes in the size_t type."};
  static constexpr QuestWords kTooFewQubits{
      "Too few qubits. There must be at least one amplitude per node of the distributed "
      "simulation."};
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
  static constexpr QuestWords kStateIndex{"Invalid state index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kAmplitudeIndex{
      "Invalid amplitude index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kElementIndex{"Invalid element index. Must be >=0 and <2^numQubits."};
  static constexpr QuestWords kNumAmplitudes{"Invalid number of amplitudes."};
  static constexpr QuestWords kNumElements{"Invalid number of elements."};
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
  static constexpr QuestWords kFile{"Could not open file."};
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
      "The probability of a single qubit dephase error cannot exceed 1/2."};
  static constexpr QuestWords kTwoQubitDephasing{
      "The probability of a two-qubit dephase error cannot exceed 3/4."};
  static constexpr QuestWords kDepolarising{
      "The probability of a single qubit depolarising error cannot exceed 3/4."};
  static constexpr QuestWords kTwoQubitDepolarising{
      "The probability of a two-qubit depolarising error cannot exceed 15/16."};
  static constexpr QuestWords kPauliProbabilities{
      "The probability of any X, Y or Z error cannot exceed the probability of no error."};
  static constexpr QuestWords kControlState{
      "The state of the control qubits must be a bit sequence (0s and 1s)."};
  static constexpr QuestWords kPauliCode{
      "Invalid Pauli code. Codes must be 0 (or PAULI_I), 1 (PAULI_X), 2 (PAULI_Y) or 3 "
      "(PAULI_Z)."};
  static constexpr QuestWords kNumSumTerms{
      "Invalid number of terms in the Pauli sum. The number of terms must be >0."};
  static constexpr QuestWords kMatrixSize{
      "The matrix size does not match the number of target qubits."};
  static constexpr QuestWords kMatrixNotCreated{"The ComplexMatrixN was not successfully created."};
  static constexpr QuestWords kNumOneQubitKraus{
      "At least 1 and at most 4 single qubit Kraus operators may be specified."};
  static constexpr QuestWords kNumTwoQubitKraus{
      "At least 1 and at most 16 two-qubit Kraus operators may be specified."};
  static constexpr QuestWords kNumKraus{
      "At least 1 and at most 4^N of N-qubit Kraus operators may be specified."};
  static constexpr QuestWords kNotTracePreserving{
      "The specified Kraus map is not a completely positive, trace preserving map."};
  static constexpr QuestWords kKrausSize{
      "Every Kraus operator must be of the same number of qubits as the number of targets."};
  static constexpr QuestWords kHamilSize{
      "The number of qubits and terms in the PauliHamil must be strictly positive."};
  static constexpr QuestWords kHamilFileSize{
      "The number of qubits and terms in the PauliHamil file must be strictly positive."};
  static constexpr QuestWords kHamilFileCoefficient{
      "Failed to parse the next expected term coefficient in PauliHamil file."};
  static constexpr QuestWords kHamilFileCode{
      "Failed to parse the next expected Pauli code in PauliHamil file."};
  static constexpr QuestWords kHamilFileCodeRange{
      "The PauliHamil file contained an invalid pauli code."};
  static constexpr QuestWords kHamilRegister{
      "The PauliHamil must act on the same number of qubits as exist in the Qureg."};
  static constexpr QuestWords kTrotterOrder{
      "The Trotterisation order must be 1, or an even number."};
  static constexpr QuestWords kTrotterRepetitions{"The number of Trotter repetitions must be >=1."};
  static constexpr QuestWords kDiagonalRegister{
      "The qureg must represent an equal number of qubits as that in the applied diagonal "
      "operator."};
  static constexpr QuestWords kDiagonalNotCreated{
      "The diagonal operator has not been initialised."};
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
      "Invalid number of phase function overrides specified."};
  static constexpr QuestWords kUnsignedOverride{
      "Invalid phase function override index, in the UNSIGNED encoding."};
  static constexpr QuestWords kSignedOverride{
      "Invalid phase function override index, in the TWOS_COMPLEMENT encoding."};
  static constexpr QuestWords kPhaseFunction{"Invalid named phase function."};
  static constexpr QuestWords kNumPhaseParameters{
      "Invalid number of parameters passed for the given named phase function."};
  static constexpr QuestWords kBitEncoding{
      "Invalid bit encoding. Must be one of {UNSIGNED, TWOS_COMPLEMENT}."};
  static constexpr QuestWords kSignedTooSmall{
      "A sub-register contained too few qubits to employ TWOS_COMPLEMENT encoding."};
  static constexpr QuestWords kNegativeExponent{
      "The phase function contained a negative exponent which would diverge at zero, but "
      "the zero index was not overriden."};
  static constexpr QuestWords kFractionalExponent{
      "The phase function contained a fractional exponent, which in TWOS_COMPLEMENT "
      "encoding, requires all negative indices are overriden. However, one or more negative "
      "indices were not overriden."};
  static constexpr QuestWords kNegativeExponentOfSeveral{
      "The phase function contained an illegal negative exponent."};
  static constexpr QuestWords kFractionalExponentOfSeveral{
      "The phase function contained a fractional exponent, which is illegal in "
      "TWOS_COMPLEMENT encoding."};
  static constexpr QuestWords kOddDistance{
      "Phase functions DISTANCE and those made of it require a strictly even number of "
      "sub-registers."};
};

/// An invalid call.
struct InvalidCall : Error {
  InvalidCall(const std::string& message, QuestWords what)
      : Error(ExitCode::kUsage, message), words(what) {}
  QuestWords words;
};

}  // namespace tilewave::quest
