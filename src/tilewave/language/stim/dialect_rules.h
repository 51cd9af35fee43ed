// What each dialect has words for, as its reader takes them: clifft 0.12, symft 2026.10, bloqade-tsim
// 0.1.5, Stim 1.16, deltakit-stim 0.2.7 (and the second argument of its HERALD_LEAKAGE_EVENT, which
// is newer) and cuStabilizer 0.5.
#pragma once

#include <cstdint>
#include <string_view>

#include "tilewave/language/stim/dialect.h"

namespace tilewave::language {

enum class LeakageLanguage : std::uint8_t { kNone, kDeltakit, kCustabilizer };
enum class Feedback : std::uint8_t {
  kStim,  ///< by records and sweep bits, on all gates on which Stim has it
  kCxCz,  ///< `CX rec[-k] q` and `CZ rec[-k] q`
  kNone,
};

struct DialectRules {
  Dialect dialect;
  std::string_view name;
  bool rotations;          ///< T, R_Z and the like
  bool product_t;          ///< TPP
  bool ccz, ch;            ///< CCX and CCZ; CH
  bool few_words;          ///< of Clifford gates H, S, X, Y, Z, CX and CZ alone; no products
  bool heralds;            ///< HERALDED_ERASE, HERALDED_PAULI_CHANNEL_1
  bool repeats_in_product;  ///< X0*Z0*Y1*X0
  bool pauli_observables;  ///< OBSERVABLE_INCLUDE(0) X0
  bool tags, empty;        ///< tags; instructions without targets
  Feedback feedback;
  LeakageLanguage leakage;
};

/// Of the factors of a product in R_PAULI, in the dialects that have it.
constexpr std::size_t kMostRotationFactors = 64;

const DialectRules& dialect_rules(Dialect dialect);

}  // namespace tilewave::language
