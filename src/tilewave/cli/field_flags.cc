#include "tilewave/cli/field_flags.h"

#include <csignal>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "tilewave/base/interrupt.h"
#include "tilewave/base/read_double.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::cli {
namespace {

formats::SampleType to_sample_type(const std::string& name) {
  // u16 is uint16, f32 float32
  const std::size_t digits = std::min<std::size_t>(1, name.size());
  for (int k = 0; k <= static_cast<int>(formats::SampleType::kUint64); ++k) {
    const auto type = static_cast<formats::SampleType>(k);
    const std::string_view known = formats::sample_name(type);
    const std::size_t size = known.find_first_of("123456789");
    if (name.substr(0, digits) == known.substr(0, 1) && name.substr(digits) == known.substr(size))
      return type;
  }
  usage_error("--type ", name, ": use u8, i8, u16, i16, u32, i32, u64, i64, f16, f32 or f64");
}

// ---- interrupts ----
struct Interrupted {};

void poll_stop() {
  if (NotedSignals::noted()) throw Interrupted();
}

}  // namespace

void add_field_flags(CLI::App& command, FieldFlags& f, const char* formats_in,
                     const char* formats_out, const char* default_type) {
  f.type = default_type;
  command.add_option("IN", f.in, formats_in)->required();
  command.add_option("-o,--output", f.out, formats_out)->required();
  command.add_option("--channel", f.channel, "which channel of several, from 0")
      ->check(CLI::Range(0, 65535));
  command.add_option("--nodata", f.nodata,
                     "value of missing pixels, instead of what a TIFF declares");
  command.add_option("--device", f.device,
                     "cpu (default), cuda, cuda:1, cuda:0-3 (several), or auto: by measured costs");
  command.add_option("--threads", f.threads, "CPU threads")
      ->check(CLI::Range(0, runtime::kMostAskedThreads));
  command.add_option("--size", f.size, "WxH of a .raw file");
  command.add_option(
      "--type", f.type,
      std::string("samples of a .raw file: u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 "
                  "(default ") +
          default_type + ")");
  command.add_flag("--json", f.json, "print JSON");
  command.add_flag("--explain", f.explain, "print the plan: algorithm, processors, and why");
  command.add_flag("--quiet", f.quiet, "no summary, no progress");
}

double to_number(const char* flag, const std::string& text) {
  const std::optional<double> value = whole_double(text);
  if (!value) usage_error(flag, " ", text, ": not a number");
  return *value;
}

std::unique_ptr<formats::RasterReader> open_input(const FieldFlags& f,
                                                  const formats::RasterInfo* raw) {
  auto reader = formats::open_raster(f.in, raw, f.channel);
  const int channels = reader->info().channels;
  if (channels == 1) return reader;
  fail(ExitCode::kInput, f.in, ": the image has ", channels,
       " channels, one is taken: pick it with --channel 0..", channels - 1);
}

void report_pages(const FieldFlags& f, const formats::RasterInfo& info) {
  if (info.pages > 1 && !f.quiet && !f.json)
    std::printf("%s holds %d pages, the first is taken\n", f.in.c_str(), info.pages);
}

std::pair<std::int64_t, std::int64_t> to_size(const char* flag, const std::string& text) {
  long long w = 0, h = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lldx%lld%c", &w, &h, &rest) != 2 || w < 1 || h < 1) {
    usage_error(flag, " ", text, ": write it as WIDTHxHEIGHT, such as 5x5");
  }
  return {w, h};
}

std::unique_ptr<formats::RasterInfo> raw_info(const FieldFlags& f) {
  if (formats::raster_format_of(f.in, true) != formats::RasterFormat::kRaw) {
    if (!f.size.empty()) usage_error("--size is for .raw files: ", f.in, " says its own size");
    return nullptr;
  }
  if (f.size.empty())
    usage_error(f.in, ": bare numbers do not say their size: give --size WxH, and --type");
  auto raw = std::make_unique<formats::RasterInfo>();
  std::tie(raw->width, raw->height) = to_size("--size", f.size);
  raw->type = to_sample_type(f.type);
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 58;
  if (raw->width > kMostPixels / raw->height)
    usage_error("--size ", f.size, ": more pixels than any file holds");
  return raw;
}

InterruptFlag::InterruptFlag() { set_interrupt_poll(&poll_stop); }

InterruptFlag::~InterruptFlag() { set_interrupt_poll(nullptr); }

void InterruptFlag::check() const { poll_stop(); }

void InterruptFlag::run(const std::function<void()>& work) {
  try {
    work();
    return;
  } catch (const Interrupted&) {
  } catch (const Error&) {  // a read or a write that the signal cut short
    if (!NotedSignals::noted()) throw;
  }
  std::raise(NotedSignals::noted());
}

}  // namespace tilewave::cli
