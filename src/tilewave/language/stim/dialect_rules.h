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
  Dialect dialect = Dialect::kTilewave;
  std::string_view name;
  bool rotations = false;           ///< T, R_Z and the like
  bool product_t = false;           ///< TPP
  bool ccz = false;                 ///< CCX and CCZ
  bool ch = false;                  ///< CH
  bool few_words = false;           ///< of Clifford gates H, S, X, Y, Z, CX, CZ alone; no products
  bool heralds = false;             ///< HERALDED_ERASE, HERALDED_PAULI_CHANNEL_1
  bool repeats_in_product = false;  ///< X0*Z0*Y1*X1
  bool pauli_observables = false;   ///< OBSERVABLE_INCLUDE(0) X0
  bool tags = false;
  bool empty = false;  ///< instructions without targets
  Feedback feedback = Feedback::kStim;
  LeakageLanguage leakage = LeakageLanguage::kNone;
};

/// Of the factors of a product in R_PAULI, in the dialects that have it.
constexpr std::size_t kMostRotationFactors = 64;

const DialectRules& dialect_rules(Dialect dialect);

}  // namespace tilewave::language
