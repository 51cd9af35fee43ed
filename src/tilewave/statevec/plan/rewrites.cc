#include "tilewave/statevec/plan/rewrites.h"

namespace tilewave::statevec {

const char* name_of(Rewrite rewrite) {
  static constexpr const char* kNames[kNumRewrites] = {
      "searched",     "wide tiles",  "narrowed tiles", "one pass more",   "split passes",
      "merged moves", "taken moves", "small tiles",    "deferred passes", "handed over"};
  return kNames[static_cast<int>(rewrite)];
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
