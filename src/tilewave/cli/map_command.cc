// tilewave map IN -o OUT --expr E: an elementwise expression over an array.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/field_flags.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/field/jit/map_cuda.h"
#include "tilewave/field/run/map_stream.h"
#include "tilewave/runtime/progress.h"

namespace tilewave::cli {
namespace {

struct MapFlags : FieldFlags {
  std::string expression, precision = "precise", dtype = "f32";
  int repeat = 1;
  bool verify = false, source = false, rounds = false;
};

void report(const MapFlags& f, int pages, const field::MapSummary& s) {
  if (f.json) {
    nlohmann::ordered_json out;
    out["width"] = s.width;
    out["height"] = s.height;
    out["pages"] = pages;
    out["missing"] = s.missing;
    out["nonfinite"] = s.nonfinite;
    out["processors"] = s.processors;
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
  if (f.explain) std::printf("%s\n", s.processors.c_str());
  if (f.quiet) return;
  const double pixels = static_cast<double>(s.width) * static_cast<double>(s.height);
  std::printf("%lld x %lld pixels, computed in %s (%.2f ns a pixel)\n",
              static_cast<long long>(s.width), static_cast<long long>(s.height),
              in_time(s.compute_s).c_str(), s.compute_s * 1e9 / pixels);
  if (s.missing > 0) {
    std::printf("%lld pixels have no data: %s in the output\n", static_cast<long long>(s.missing),
                f.dtype == "u8" ? "255" : "NaN");
  }
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
  job.output = f.dtype == "f16"  ? formats::SampleType::kFloat16
               : f.dtype == "u8" ? formats::SampleType::kUint8
                                 : formats::SampleType::kFloat32;
  job.devices = DeviceSet::parse(f.device);
  job.rounds = f.rounds;
  need_distinct_files({f.in, f.in + ".msk"}, {{"--output", f.out}});
  const InterruptFlag interrupt;
  const auto raw = raw_info(f);
  const auto reader = open_input(f, raw.get());
  report_pages(f, reader->info());
  if (f.nodata.empty()) {
    job.nodata = reader->info().nodata;
  } else {
    job.nodata = to_number("--nodata", f.nodata);
  }
  if (f.source)
    std::fputs(field::make_map_kernel(job.expression, job.options.precision, reader->info().width,
                                      job.options.repeat == 1)
                   .source.c_str(),
               stdout);
  formats::RasterInfo info = reader->info();
  info.nodata = job.nodata;
  const bool misses = field::may_miss(job, info);
  const bool bytes = job.output == formats::SampleType::kUint8;
  info.type = job.output;
  formats::describe_new_values(info, !bytes ? "nan" : misses ? "255" : "");
  const auto writer = formats::create_raster(f.out, info);
  runtime::ProgressBar bar(stderr, !f.quiet && runtime::wants_progress(stderr));
  job.on_progress = [&](double fraction, double remaining_s) {
    interrupt.check();
    bar.update(fraction, remaining_s);
  };
  const field::MapSummary summary = field::run_map(job, *reader, *writer);
  interrupt.check();
  writer->close();
  bar.clear();
  report(f, reader->info().pages, summary);
}

}  // namespace

void add_map_command(CLI::App& app) {
  CLI::App* c =
      app.add_subcommand("map", "an expression over every value of an array, in one pass");
  auto f = std::make_shared<MapFlags>();
  add_field_flags(*c, *f, ".npy .tif .png .pgm .raw",
                  ".npy .tif .raw, or .png .pgm with --dtype u8", "f32");
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
  c->add_flag("--round", f->rounds,
              "round values that 32-bit floats do not hold, such as 64-bit floats, to those");
  c->add_option("--dtype", f->dtype,
                "f32 (default), f16, or u8: rounded, clamped, 255 for missing pixels")
      ->check(CLI::IsMember({"f32", "f16", "u8"}));
  c->add_flag("--print-source", f->source, "print the CUDA kernel this becomes");
  c->callback([f] { InterruptFlag::run([&] { run(*f); }); });
}

}  // namespace tilewave::cli
