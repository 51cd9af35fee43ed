#include "tilewave/settings/words.h"

namespace tilewave {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20 || code == 0x7f ? '?' : c;
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

}  // namespace tilewave
