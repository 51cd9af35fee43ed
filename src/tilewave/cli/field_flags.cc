#include "tilewave/cli/field_flags.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"

namespace tilewave::cli {
namespace {

io::SampleType to_sample_type(const std::string& name) {
  using T = io::SampleType;
  struct Row {
    const char* name;
    T type;
  };
  constexpr Row kRows[] = {{"u8", T::kUint8},    {"u16", T::kUint16}, {"i16", T::kInt16},
                           {"u32", T::kUint32},  {"i32", T::kInt32},  {"f16", T::kFloat16},
                           {"f32", T::kFloat32}, {"f64", T::kFloat64}};
  for (const Row& row : kRows) {
    if (name == row.name) return row.type;
  }
  usage_error("--type " + name + ": use u8, u16, i16, u32, i32, f16, f32 or f64");
}

}  // namespace

void usage_error(const std::string& message) { throw Error(ExitCode::kUsage, message); }

void add_field_flags(CLI::App& command, FieldFlags& f, const char* formats_in,
                     const char* formats_out, const char* default_type) {
  f.type = default_type;
  command.add_option("IN", f.in, formats_in)->required();
  command.add_option("-o,--output", f.out, formats_out)->required();
  command.add_option("--device", f.device,
                     "cpu (default), cuda, cuda:1, cuda:0-3 (several), or auto: by measured costs");
  command.add_option("--threads", f.threads, "CPU threads")->check(CLI::Range(0, 4096));
  command.add_option("--size", f.size, "WxH of a .raw file");
  command.add_option(
      "--type", f.type,
      std::string("samples of a .raw file: u8 u16 i16 u32 i32 f16 f32 f64 (default ") +
          default_type + ")");
  command.add_flag("--json", f.json, "print JSON");
  command.add_flag("--explain", f.explain, "print the plan: algorithm, processors, and why");
  command.add_flag("--quiet", f.quiet, "no summary, no progress");
}

void report_pages(const FieldFlags& f, const io::RasterInfo& info) {
  if (info.pages > 1 && !f.quiet && !f.json)
    std::printf("%s holds %d pages, the first is taken\n", f.in.c_str(), info.pages);
}

std::pair<std::int64_t, std::int64_t> to_size(const char* flag, const std::string& text) {
  long long w = 0, h = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lldx%lld%c", &w, &h, &rest) != 2 || w < 1 || h < 1) {
    usage_error(std::string(flag) + " " + text + ": write it as WIDTHxHEIGHT, such as 5x5");
  }
  return {w, h};
}

std::unique_ptr<io::RasterInfo> raw_info(const FieldFlags& f) {
  if (io::raster_format_of(f.in) != io::RasterFormat::kRaw) {
    if (!f.size.empty()) usage_error("--size is for .raw files: " + f.in + " says its own size");
    return nullptr;
  }
  if (f.size.empty())
    usage_error(f.in + ": bare numbers do not say their size: give --size WxH, and --type");
  auto raw = std::make_unique<io::RasterInfo>();
  std::tie(raw->width, raw->height) = to_size("--size", f.size);
  raw->type = to_sample_type(f.type);
  return raw;
}

}  // namespace tilewave::cli
