// tilewave map IN -o OUT --expr E: an elementwise expression over an array.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/field/jit/map_cuda.h"
#include "tilewave/field/map_stream.h"
#include "tilewave/runtime/progress.h"

namespace tilewave::cli {
namespace {

struct MapFlags {
  std::string in, out, expression, precision = "precise", device = "cpu", dtype = "f32", size,
                                   type = "f32";
  int repeat = 1, threads = 0;
  bool verify = false, json = false, quiet = false, source = false;
};

void set_device(const MapFlags& f, field::MapJob& job) {
  if (f.device == "cpu") return;
  int index = 0;
  char rest = 0;
  if (f.device != "cuda" &&
      (std::sscanf(f.device.c_str(), "cuda:%d%c", &index, &rest) != 1 || index < 0)) {
    refuse_usage("--device " + f.device + ": use cpu, cuda or cuda:<index>");
  }
  job.on_cuda = true;
  job.device_index = index;
}

void report(const MapFlags& f, const field::MapSummary& s) {
  if (f.json) {
    nlohmann::ordered_json out;
    out["width"] = s.width;
    out["height"] = s.height;
    out["nonfinite"] = s.nonfinite;
    if (f.verify) {
      out["error"] = {{"absolute", s.error.absolute},
                      {"relative", s.error.relative},
                      {"x", s.error.x},
                      {"y", s.error.y},
                      {"nonfinite", s.error.nonfinite},
                      {"mismatched", s.error.mismatched}};
    }
    out["seconds"] = {{"read", s.read_s}, {"compute", s.compute_s}, {"write", s.write_s}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  if (f.verify) {
    std::printf(
        "largest error against double precision: %.3g (at column %lld, row %lld), relative %.3g\n",
        s.error.absolute, static_cast<long long>(s.error.x), static_cast<long long>(s.error.y),
        s.error.relative);
    if (s.error.mismatched > 0) {
      std::printf("%lld pixels are finite in only one of the two\n",
                  static_cast<long long>(s.error.mismatched));
    }
  }
  if (f.quiet) return;
  const double pixels = static_cast<double>(s.width) * static_cast<double>(s.height);
  std::printf("%lld x %lld pixels, computed in %.3f s (%.2f ns a pixel)\n",
              static_cast<long long>(s.width), static_cast<long long>(s.height), s.compute_s,
              s.compute_s * 1e9 / pixels);
  if (s.nonfinite > 0)
    std::printf("%lld results are infinite or no number\n", static_cast<long long>(s.nonfinite));
}

void run(const MapFlags& f) {
  field::MapJob job;
  job.expression = field::MapExpression::parse(f.expression);
  job.options.repeat = f.repeat;
  job.options.threads = f.threads;
  job.options.precision = f.precision == "fast"  ? field::MapPrecision::kFast
                          : f.precision == "lut" ? field::MapPrecision::kLut
                                                 : field::MapPrecision::kPrecise;
  job.verify = f.verify;
  job.output = f.dtype == "f16"  ? io::SampleType::kFloat16
               : f.dtype == "u8" ? io::SampleType::kUint8
                                 : io::SampleType::kFloat32;
  set_device(f, job);
  io::RasterInfo raw;
  const bool is_raw = io::raster_format_of(f.in) == io::RasterFormat::kRaw;
  if (is_raw) {
    long long w = 0, h = 0;
    char rest = 0;
    if (std::sscanf(f.size.c_str(), "%lldx%lld%c", &w, &h, &rest) != 2 || w < 1 || h < 1) {
      refuse_usage(f.in + ": bare numbers do not say their size: give --size WxH, and --type");
    }
    raw.width = w;
    raw.height = h;
    raw.type = parse_sample_type(f.type, false);
  } else if (!f.size.empty()) {
    refuse_usage("--size is for .raw files: " + f.in + " says its own size");
  }
  const auto reader = io::open_raster(f.in, is_raw ? &raw : nullptr);
  if (reader->info().channels != 1) {
    throw Error(ExitCode::kInput, f.in + ": the array has " +
                                      std::to_string(reader->info().channels) +
                                      " channels, a map takes one: split it first");
  }
  if (f.source)
    std::fputs(field::map_kernel_source(job.expression, job.options.precision, reader->info().width)
                   .c_str(),
               stdout);
  io::RasterInfo info = reader->info();
  info.type = job.output;
  const auto writer = io::create_raster(f.out, info);
  runtime::ProgressBar bar(stderr, !f.quiet && runtime::wants_progress(stderr));
  job.on_progress = [&bar](double fraction, double remaining_s) {
    bar.update(fraction, remaining_s);
  };
  const field::MapSummary summary = field::run_map(job, *reader, *writer);
  writer->close();
  bar.clear();
  report(f, summary);
}

}  // namespace

void add_map_command(CLI::App& app) {
  CLI::App* c =
      app.add_subcommand("map", "an expression over every value of an array, in one pass");
  auto f = std::make_shared<MapFlags>();
  c->add_option("IN", f->in, ".npy .tif .png .pgm .raw")->required();
  c->add_option("-o,--output", f->out, ".npy .tif .raw, or .png .pgm with --dtype u8")->required();
  c->add_option("--expr", f->expression,
                "of v, ix, iy, idx: 'v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))'")
      ->required();
  c->add_option("--repeat", f->repeat, "apply it this often, in one pass (default 1)")
      ->check(CLI::Range(0, 1000000000));
  c->add_option("--precision", f->precision,
                "precise (default, 1 ulp a function), fast, or lut: precise bits from a table, "
                "where the input is whole "
                "numbers in a small range")
      ->check(CLI::IsMember({"precise", "fast", "lut"}));
  c->add_flag("--verify", f->verify, "compare with double precision and print the largest error");
  c->add_option("--device", f->device, "cpu (default), cuda or cuda:<index>");
  c->add_option("--dtype", f->dtype, "f32 (default), f16, or u8 (rounded, clamped)")
      ->check(CLI::IsMember({"f32", "f16", "u8"}));
  c->add_option("--threads", f->threads, "CPU threads")->check(CLI::Range(0, 4096));
  c->add_option("--size", f->size, "WxH of a .raw file");
  c->add_option("--type", f->type, "samples of a .raw file: f32 (default) f16 u8 u16 i16 u32 i32");
  c->add_flag("--print-source", f->source, "print the CUDA kernel this becomes");
  c->add_flag("--json", f->json, "print JSON");
  c->add_flag("--quiet", f->quiet, "no summary, no progress");
  c->callback([f] { run(*f); });
}

}  // namespace tilewave::cli
