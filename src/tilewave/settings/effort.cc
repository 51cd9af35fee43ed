#include "tilewave/settings/effort.h"

#include "tilewave/settings/words.h"

namespace tilewave {

namespace {
constexpr std::array<Word<Effort>, 4> kEfforts = {{{"auto", Effort::kAuto},
                                                   {"once", Effort::kOnce},
                                                   {"repeated", Effort::kRepeated},
                                                   {"best", Effort::kBest}}};
}

std::string_view name_of(Effort effort) { return word_of(kEfforts, effort); }
Effort parse_effort(std::string_view text) { return parse_word(kEfforts, "effort", text); }
std::string effort_words() { return list_of(kEfforts); }

}  // namespace tilewave
