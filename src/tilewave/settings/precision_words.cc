#include "tilewave/settings/precision_words.h"

#include "tilewave/base/error.h"
#include "tilewave/settings/words.h"

namespace tilewave {

namespace {
constexpr std::array<Word<Precision>, 2> kPrecisions = {
    {{"double", Precision::kDouble}, {"single", Precision::kSingle}}};
}

std::string_view name_of(Precision p) { return kPrecisions[p == Precision::kSingle ? 1 : 0].text; }

Precision parse_precision(std::string_view text) {
  if (const auto found = find_word(kPrecisions, text)) return *found;
  throw Error(ExitCode::kUsage,
              "unknown precision " + quoted(text) + ": use " + list_of(kPrecisions));
}

}  // namespace tilewave
