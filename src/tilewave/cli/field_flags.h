// Flags the commands over rasters share: devices, the size and samples of bare files.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tilewave/field/device_set.h"
#include "tilewave/io/raster_file.h"

namespace CLI {
class App;
}

namespace tilewave::cli {

struct FieldFlags {
  std::string in, out, device = "cpu", size, type;
  int threads = 0;
  bool json = false, quiet = false, explain = false;
};

/// Adds IN, --output, --device, --threads, --size, --type, --json, --explain, --quiet to a command.
void add_field_flags(CLI::App& command, FieldFlags& flags, const char* formats_in,
                     const char* formats_out, const char* default_type);

[[noreturn]] void usage_error(const std::string& message);

/// "WxH" with both sides at least 1.
std::pair<std::int64_t, std::int64_t> to_size(const char* flag, const std::string& text);

/// A .raw file's size and samples from the flags; nothing for other files, whose headers say it.
/// Throws Error(kUsage) where a flag is missing or has no meaning.
std::unique_ptr<io::RasterInfo> raw_info(const FieldFlags& flags);

/// Says that a file holds more images than the one taken, unless --quiet or --json.
void report_pages(const FieldFlags& flags, const io::RasterInfo& info);

}  // namespace tilewave::cli
