// What the commands over rasters share: flags for devices, channels and bare files, and the end of
// a run that is interrupted.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/cli/signals.h"
#include "tilewave/formats/raster/file.h"
#include "tilewave/settings/device.h"

namespace CLI {
class App;
}

namespace tilewave::cli {

struct FieldFlags {
  std::string in, out, device = "cpu", size, type, nodata;
  int threads = 0, channel = -1;
  bool json = false, quiet = false, explain = false;
};

/// Adds IN, --output, --channel, --nodata, --device, --threads, --size, --type, --json, --explain,
/// --quiet to a command.
void add_field_flags(CLI::App& command, FieldFlags& flags, const char* formats_in,
                     const char* formats_out, const char* default_type);

template <class... Parts>
[[noreturn]] void usage_error(const Parts&... message) {
  fail(ExitCode::kUsage, message...);
}

/// "WxH" with both sides at least 1.
std::pair<std::int64_t, std::int64_t> to_size(const char* flag, const std::string& text);

/// A .raw file's size and samples from the flags; nothing for other files, whose headers say it.
/// Throws Error(kUsage) where a flag is missing or has no meaning.
std::unique_ptr<formats::RasterInfo> raw_info(const FieldFlags& flags);

/// A number after a flag, whole.
double to_number(const char* flag, const std::string& text);

/// Opens IN, or its --channel. Throws Error(kInput) where it has several and none is chosen.
std::unique_ptr<formats::RasterReader> open_input(const FieldFlags& flags,
                                                  const formats::RasterInfo* raw);

/// Says that a file holds more images than the one taken, unless --quiet or --json.
void report_pages(const FieldFlags& flags, const formats::RasterInfo& info);

/// While it lives, the first SIGINT or SIGTERM stops computations within a tenth of a second by an
/// exception, so that unfinished files are removed; check() throws it elsewhere. A second signal
/// ends the process.
class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  void check() const;
  /// Runs `work`; where check() threw in it, ends the process by the signal.
  static void run(const std::function<void()>& work);

 private:
  NotedSignals signals_;
};

}  // namespace tilewave::cli
