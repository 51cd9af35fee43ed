// One line, rewritten in place with a carriage return.
#include "tilewave/runtime/progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace tilewave::runtime {
namespace {

constexpr double kShownAbove_s = 2.0;
constexpr double kRedrawEvery_s = 0.1;
constexpr int kWidth = 40;

}  // namespace

bool wants_progress(std::FILE* stream) {
  if (!isatty(fileno(stream))) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
}

void ProgressBar::update(double fraction, double remaining_s) {
  if (!enabled_) return;
  const double now_s = timer_.elapsed_s();
  if (!drawn_ && now_s + remaining_s < kShownAbove_s) return;
  if (drawn_ && now_s - last_s_ < kRedrawEvery_s) return;
  last_s_ = now_s;
  drawn_ = true;
  fraction = std::clamp(fraction, 0.0, 1.0);
  char bar[kWidth + 1];
  const int full = static_cast<int>(fraction * kWidth);
  std::memset(bar, '.', kWidth);
  std::memset(bar, '#', static_cast<std::size_t>(full));
  bar[kWidth] = '\0';
  const long seconds = static_cast<long>(std::max(0.0, remaining_s) + 0.5);
  std::fprintf(stream_, "\r[%s] %3.0f%%  %ld:%02ld left \033[K", bar, 100 * fraction, seconds / 60,
               seconds % 60);
  std::fflush(stream_);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace tilewave::runtime
