#include "tilewave/quest/core/settings.h"

#include <array>
#include <cstdlib>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/words.h"

namespace tilewave::quest {
namespace {

void read_number(const char* name, int least, int most, int& out) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end || value < least || value > most) {
    fail(ExitCode::kUsage, name, " is '", text, "': use a whole number from ", least, " to ", most);
  }
  out = static_cast<int>(value);
}

DeviceSet read_device(const char* text) {
  try {
    const DeviceSet device = DeviceSet::parse(text);
    need_one_kind(device);
    if (device.has_cuda() && !runtime::built_with_cuda()) {
      fail(ExitCode::kUsage, "device '", device.text(),
           "': this build has no CUDA back end: use cpu, or build with --preset cuda");
    }
    return device;
  } catch (const Error& error) {
    fail(error.code(), "TILEWAVE_DEVICE: ", error.what());
  }
}

}  // namespace

const Settings& settings() {
  static const Settings instance = [] {
    Settings s;
    if (const char* device = std::getenv("TILEWAVE_DEVICE"); device && *device)
      s.device = read_device(device);
    if (!wants_quest_words()) {
      const char* text = std::getenv("TILEWAVE_MESSAGES");
      fail(ExitCode::kUsage, "TILEWAVE_MESSAGES is '", text ? text : "",
           "': use tilewave, or quest for error messages in the words of QuEST 3");
    }
    read_number("TILEWAVE_THREADS", 1, runtime::kMostAskedThreads, s.num_threads);
    read_number("TILEWAVE_RANKS", 1, 1024, s.num_ranks);
    read_number("TILEWAVE_SHARE_FROM", 1, 30, s.share_from);
    if (s.num_ranks > 1 && s.device.has_cuda()) {
      fail(ExitCode::kUsage, "TILEWAVE_RANKS is ", s.num_ranks, " and TILEWAVE_DEVICE ",
           s.device.text(),
           ": ranks inside a process are on the CPU; for several devices set TILEWAVE_DEVICE "
           "alone, as in cuda:0-3");
    }
    return s;
  }();
  return instance;
}

std::optional<bool> wants_quest_words() {
  static const std::optional<bool> found = []() -> std::optional<bool> {
    constexpr std::array<Word<bool>, 2> kMessages = {{{"tilewave", false}, {"quest", true}}};
    const char* text = std::getenv("TILEWAVE_MESSAGES");
    if (!text || !*text) return false;
    return find_word(kMessages, text);
  }();
  return found;
}

}  // namespace tilewave::quest
