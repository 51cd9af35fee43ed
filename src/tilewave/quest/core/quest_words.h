// What is wrong with a call, in the words of QuEST 3: programs and tests that look for these in
// error messages get them with TILEWAVE_MESSAGES=quest. They say less than the messages of this
// library, which name the argument and its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewave/base/error.h"

namespace tilewave::quest {

enum class Words : std::uint8_t {
  kNone,  ///< QuEST has no such error
  kNumNewQubits,
  kTooManyQubits,
  kTooFewQubits,
  kQubitIndex,
  kTargetIndex,
  kControlIndex,
  kNumQubits,
  kNumTargets,
  kNumControls,
  kQubitsNotUnique,
  kTargetsNotUnique,
  kControlsNotUnique,
  kControlIsTarget,
  kStateIndex,
  kAmplitudeIndex,
  kElementIndex,
  kNumAmplitudes,
  kNumElements,
  kAmplitudesBeyondEnd,
  kElementsBeyondEnd,
  kMatrixNotUnitary,
  kPairNotUnitary,
  kDiagonalNotUnitary,
  kZeroAxis,
  kTooBigToPrint,
  kZeroProbability,
  kOutcome,
  kFile,
  kSecondNotStateVector,
  kDifferentDimensions,
  kDifferentTypes,
  kSubDiagonalSize,
  kOnlyStateVectors,
  kOnlyDensityMatrices,
  kProbability,
  kDephasing,
  kTwoQubitDephasing,
  kDepolarising,
  kTwoQubitDepolarising,
  kPauliProbabilities,
  kControlState,
  kPauliCode,
  kNumSumTerms,
  kMatrixSize,
  kMatrixNotCreated,
  kNumOneQubitKraus,
  kNumTwoQubitKraus,
  kNumKraus,
  kNotTracePreserving,
  kKrausSize,
  kHamilSize,
  kHamilFileSize,
  kHamilFileCoefficient,
  kHamilFileCode,
  kHamilFileCodeRange,
  kHamilRegister,
  kTrotterOrder,
  kTrotterRepetitions,
  kDiagonalRegister,
  kDiagonalNotCreated,
  kHamilNotDiagonal,
  kHamilDiagonalSize,
  kNumSubregisters,
  kNumPhaseTerms,
  kNumOverrides,
  kUnsignedOverride,
  kSignedOverride,
  kPhaseFunction,
  kNumPhaseParameters,
  kBitEncoding,
  kSignedTooSmall,
  kNegativeExponent,
  kFractionalExponent,
  kNegativeExponentOfSeveral,
  kFractionalExponentOfSeveral,
  kOddDistance,
  kCount
};

/// The words; empty for kNone.
const char* quest_words(Words words);
/// What TILEWAVE_MESSAGES says, "quest" or "tilewave"; nothing for any other text.
std::optional<bool> messages_in_quest_words();
/// True where the environment asks for them.
bool wants_quest_words();

/// An invalid call.
struct InvalidCall : Error {
  InvalidCall(const std::string& message, Words what)
      : Error(ExitCode::kUsage, message), words(what) {}
  Words words;
};

}  // namespace tilewave::quest
