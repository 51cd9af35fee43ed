#include "tilewave/settings/effort.h"

#include "tilewave/base/error.h"
#include "tilewave/settings/words.h"

namespace tilewave {

namespace {
constexpr std::array<Word<Effort>, 4> kEfforts = {{{"auto", Effort::kAuto},
                                                   {"once", Effort::kOnce},
                                                   {"repeated", Effort::kRepeated},
                                                   {"best", Effort::kBest}}};
}

std::string_view name_of(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)].text; }

Effort parse_effort(std::string_view text) {
  if (const auto found = find_word(kEfforts, text)) return *found;
  throw Error(ExitCode::kUsage, "unknown effort " + quoted(text) + ": use " + list_of(kEfforts));
}

std::string effort_words() { return list_of(kEfforts); }

}  // namespace tilewave
