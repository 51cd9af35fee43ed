// See settings.h.
#include "tilewave/quest/core/settings.h"

#include <cstdlib>

#include "tilewave/base/error.h"
#include "tilewave/runtime/device_list.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::quest {
namespace {

void read_number(const char* name, int least, int most, int& out) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end || value < least || value > most) {
    throw Error(ExitCode::kUsage, std::string(name) + " is '" + text +
                                      "': use a whole number from " + std::to_string(least) +
                                      " to " + std::to_string(most));
  }
  out = static_cast<int>(value);
}

void check_device(const std::string& device) {
  const auto fail = [&](const char* why) {
    throw Error(ExitCode::kUsage, "TILEWAVE_DEVICE is '" + device + "': " + why);
  };
  if (device == "auto" || device == "cpu") return;
  if (!runtime::parse_cuda_devices(device))
    fail("use auto, cpu, cuda, cuda:<index> or several devices as in cuda:0-3");
  if (!runtime::built_with_cuda())
    fail("this build has no CUDA back end: use cpu, or build with --preset cuda");
}

}  // namespace

const Settings& settings() {
  static const Settings instance = [] {
    Settings s;
    if (const char* device = std::getenv("TILEWAVE_DEVICE"); device && *device) s.device = device;
    check_device(s.device);
    if (const char* words = std::getenv("TILEWAVE_MESSAGES");
        words && *words && words != std::string("quest") && words != std::string("tilewave")) {
      throw Error(ExitCode::kUsage, std::string("TILEWAVE_MESSAGES is '") + words +
                                        "': use tilewave, or quest for error messages in the words "
                                        "of QuEST 3");
    }
    read_number("TILEWAVE_THREADS", 1, 4096, s.num_threads);
    read_number("TILEWAVE_RANKS", 1, 1024, s.num_ranks);
    read_number("TILEWAVE_SHARE_FROM", 1, 30, s.share_from);
    if (s.num_ranks > 1 && s.device != "cpu" && s.device != "auto") {
      throw Error(ExitCode::kUsage, "TILEWAVE_RANKS is " + std::to_string(s.num_ranks) +
                                        " and TILEWAVE_DEVICE " + s.device +
                                        ": ranks inside a process are on the CPU; for several "
                                        "devices set TILEWAVE_DEVICE alone, as in cuda:0-3");
    }
    return s;
  }();
  return instance;
}

}  // namespace tilewave::quest
