#include "tilewave/statevec/plan/rewrites.h"

namespace tilewave::statevec {

const char* name_of(Rewrite rewrite) {
  switch (rewrite) {
    case Rewrite::kSearched:
      return "searched";
    case Rewrite::kWideTile:
      return "wide tiles";
    case Rewrite::kNarrowed:
      return "narrowed tiles";
    case Rewrite::kOneMore:
      return "one pass more";
    case Rewrite::kSplit:
      return "split passes";
    case Rewrite::kMergedMoves:
      return "merged moves";
    case Rewrite::kTakenMoves:
      return "taken moves";
    case Rewrite::kSmallTile:
      return "small tiles";
    case Rewrite::kDeferred:
      return "deferred passes";
    case Rewrite::kHandedOver:
      return "handed over";
  }
  return "";
}

std::string Rewrites::text() const {
  std::string text;
  for (int k = 0; k < kNumRewrites; ++k) {
    const auto r = static_cast<Rewrite>(k);
    if (!has(r)) continue;
    if (!text.empty()) text += ", ";
    text += name_of(r);
  }
  return text;
}

}  // namespace tilewave::statevec
