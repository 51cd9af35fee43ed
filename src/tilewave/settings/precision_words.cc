#include "tilewave/settings/precision_words.h"

#include "tilewave/settings/words.h"

namespace tilewave {

namespace {
constexpr std::array<Word<Precision>, 2> kPrecisions = {
    {{"double", Precision::kDouble}, {"single", Precision::kSingle}}};
}

std::string_view name_of(Precision p) { return word_of(kPrecisions, p); }

Precision parse_precision(std::string_view text) {
  return parse_word(kPrecisions, "precision", text);
}

}  // namespace tilewave
