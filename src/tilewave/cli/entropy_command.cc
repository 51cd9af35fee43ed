// tilewave entropy IN -o OUT: flags in, a raster's entropy out.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/field_flags.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/field/run/entropy_stream.h"
#include "tilewave/runtime/progress.h"

namespace tilewave::cli {
namespace {

struct EntropyFlags : FieldFlags {
  std::string window, shape = "square", range, classes, base = "e", border = "crop", dtype = "f32",
                      algorithm = "auto", view;
  int radius = 2, levels = 16;
  bool levels_given = false;
  double min_valid = 0;
};

field::Footprint to_window(const EntropyFlags& f) {
  if (f.shape == "disk") {
    if (!f.window.empty()) usage_error("--window goes with --shape square: a disk takes --radius");
    return field::Footprint::disk(f.radius);
  }
  if (f.shape == "square") {
    if (f.window.empty()) return field::Footprint::rectangle(2 * f.radius + 1, 2 * f.radius + 1);
    const auto [w, h] = to_size("--window", f.window);
    if (w > 1 << 20 || h > 1 << 20) usage_error("--window ", f.window, ": too large");
    return field::Footprint::rectangle(static_cast<int>(w), static_cast<int>(h));
  }
  if (!f.window.empty()) usage_error("--window is for squares: a picture has its own size");
  if (f.shape.find('.') == std::string::npos)
    usage_error("--shape ", f.shape, ": use square, disk, or a picture (.png .pgm .tif .npy)");
  const auto reader = formats::open_raster(f.shape);
  const formats::RasterInfo& info = reader->info();
  if (info.channels != 1 || info.type != formats::SampleType::kUint8 || info.width > 4096 ||
      info.height > 4096) {
    fail(ExitCode::kInput, f.shape,
         ": a window mask is an 8-bit picture of one channel, at most 4096 a side");
  }
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(info.width * info.height));
  reader->read_rows(cells.data(), info.height);
  return field::Footprint::from_mask(cells, static_cast<int>(info.width),
                                     static_cast<int>(info.height));
}

double to_base(const EntropyFlags& f, int levels) {
  if (f.base == "e") return 0;
  const double base = f.base == "K" ? levels : to_number("--base", f.base);
  if (!(base > 1) || std::isinf(base))
    usage_error("--base ", f.base, ": a base is a number above 1");
  return base;
}

// The number of classes, and the table of them: as many as it lists, unless --levels says more.
int to_levels(const EntropyFlags& f, const field::ClassTable& table) {
  if (f.classes.empty()) return f.levels;
  const int most = table.classes.back();
  if (!f.levels_given) return std::max(static_cast<int>(table.classes.size()), 2);
  if (most < f.levels) return f.levels;
  usage_error("--levels ", f.levels, ": ", f.classes, " lists the class ", most,
              ": leave --levels out, or give ", most + 1, " and more");
}

void set_border(const EntropyFlags& f, const field::ClassTable& table, field::EntropyOptions& o) {
  const auto border = field::border_named(f.border);
  if (border && *border != field::Border::kConstant) {
    o.border = *border;
    return;
  }
  if (!f.border.starts_with("constant:")) {
    usage_error("--border ", f.border,
                ": use crop, reflect, nearest, constant:<class>, valid or study2020");
  }
  double code = to_number("--border constant:", f.border.substr(9));
  if (!f.classes.empty()) {
    const bool whole = code >= 0 && code <= 65535 && code == std::floor(code);
    code = whole ? table.index_of(static_cast<int>(code)) : -1;
    if (code < 0) usage_error("--border ", f.border, ": ", f.classes, " lists no such class");
  }
  if (!(code >= 0 && code < o.levels && code == std::floor(code)))
    usage_error("--border ", f.border, ": the class must be 0..", o.levels - 1);
  o.border = field::Border::kConstant;
  o.constant_code = static_cast<int>(code);
}

field::EntropyAlgorithm to_algorithm(const std::string& name) {
  using A = field::EntropyAlgorithm;
  for (const A a : {A::kAuto, A::kNaive, A::kNibble, A::kPlane, A::kSliding, A::kColumn}) {
    if (name == field::algorithm_name(a)) return a;
  }
  usage_error("--algorithm ", name, ": use auto, naive, nibble, plane, sliding or column");
}

// "low:high", "auto" (all values), or percentages "2%:98%".
void set_range(const EntropyFlags& f, const formats::RasterInfo* raw, field::EntropyJob& job) {
  const std::size_t colon = f.range.find(':');
  if (f.range != "auto" && colon == std::string::npos)
    usage_error("--range ", f.range, ": write low:high, 2%:98% or auto");
  std::string low = "0%", high = "100%";
  if (f.range != "auto") {
    low = f.range.substr(0, colon);
    high = f.range.substr(colon + 1);
  }
  job.quantisation.kind = field::Quantisation::Kind::kRange;
  if (!low.ends_with('%') && !high.ends_with('%')) {
    job.quantisation.low = to_number("--range", low);
    job.quantisation.high = to_number("--range", high);
    return;
  }
  if (!low.ends_with('%') || !high.ends_with('%'))
    usage_error("--range ", f.range, ": give both ends as percentages, or none");
  low.pop_back();
  high.pop_back();
  const double from = to_number("--range", low), to = to_number("--range", high);
  if (!(from >= 0 && from < to && to <= 100))
    usage_error("--range ", f.range, ": percentages must rise within 0..100");
  const auto reader = open_input(f, raw);  // a pass of its own over the file
  const field::ValueRange range = field::find_range(*reader, job.quantisation.nodata, from, to);
  job.quantisation.low = range.low;
  job.quantisation.high = range.high;
}

// Before anything is computed.
void check_view(const EntropyFlags& f) {
  if (f.view.empty()) return;
  if (formats::raster_format_of(f.view) != formats::RasterFormat::kPng)
    usage_error("--view ", f.view, ": a view is written as .png");
  std::error_code ignored;
  const auto folder = std::filesystem::path(f.view).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    fail(ExitCode::kResources, f.view, ": cannot write: there is no such folder");
}

// What a logarithm to this base counts in.
std::string unit_of(const EntropyFlags& f) {
  if (f.base == "e") return "nats";
  if (f.base == "2") return "bits";
  return "(base " + f.base + ")";
}

void report(const EntropyFlags& f, int pages, const field::EntropySummary& s) {
  const double pixels = static_cast<double>(s.width) * static_cast<double>(s.height);
  const bool any = s.valid_pixels > 0;
  if (f.json) {
    nlohmann::ordered_json out;
    const auto number = [any](double v) { return any ? nlohmann::ordered_json(v) : nullptr; };
    out["width"] = s.width;
    out["height"] = s.height;
    out["pages"] = pages;
    out["valid_pixels"] = s.valid_pixels;
    out["mean"] = number(s.mean);
    out["min"] = number(s.least);
    out["max"] = number(s.most);
    out["outside_range"] = s.outside;
    out["plan"] = s.plan;
    out["seconds"] = {{"read", s.read_s}, {"compute", s.compute_s}, {"write", s.write_s}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  if (f.explain) std::printf("%s\n", s.plan.c_str());
  if (f.quiet) return;
  std::printf("%lld x %lld pixels, %lld valid", static_cast<long long>(s.width),
              static_cast<long long>(s.height), static_cast<long long>(s.valid_pixels));
  if (any) {
    std::printf(", entropy %.5f..%.5f %s, mean %.5f", s.least, s.most, unit_of(f).c_str(), s.mean);
  }
  std::printf("\n");
  if (s.outside > 0) {
    std::printf("%lld pixels (%.1f %%) lie outside of --range %s, in its end classes\n",
                static_cast<long long>(s.outside), 100 * static_cast<double>(s.outside) / pixels,
                f.range.c_str());
  }
  std::printf("read %s, computed %s (%.2f ns a pixel), wrote %s\n", in_time(s.read_s).c_str(),
              in_time(s.compute_s).c_str(), s.compute_s * 1e9 / pixels, in_time(s.write_s).c_str());
}

void run_container(const EntropyFlags& f, const InterruptFlag& interrupt, field::EntropyJob& job) {
  if (!f.in.ends_with(".bin")) {
    usage_error(
        f.in, ": results are written as .csv, and not read: a container of images is a .bin file");
  }
  if (formats::raster_format_of(f.out) != formats::RasterFormat::kStudy ||
      f.out.ends_with(".bin")) {
    usage_error(f.out, ": a .bin container is answered by a .csv file");
  }
  if (!f.range.empty() && f.range.find('%') != std::string::npos)
    usage_error("--range in percent needs a single image");
  if (f.dtype != "f32")
    usage_error("--dtype ", f.dtype, ": a .csv file holds printed numbers, leave it out");
  if (!f.view.empty())
    usage_error("--view needs a single image, ", f.in, " is a container of several");
  if (f.channel > 0) usage_error("--channel: the images of a container have one channel");
  formats::StudyReader in(f.in);
  formats::StudyWriter out(f.out);
  while (const auto record = in.next()) {
    const auto writer = out.begin(record->info().width, record->info().height);
    const field::EntropySummary summary = field::run_entropy(job, *record, *writer);
    writer->close();
    report(f, 1, summary);
  }
  interrupt.check();
  out.close();
}

void run(const EntropyFlags& f) {
  field::EntropyJob job;
  if (!f.range.empty() && !f.classes.empty())
    usage_error("--range and --classes exclude each other");
  if (!f.classes.empty()) {
    job.quantisation.kind = field::Quantisation::Kind::kClasses;
    job.quantisation.classes = field::read_class_table(f.classes);
  }
  const field::ClassTable& table = job.quantisation.classes;
  job.quantisation.levels = to_levels(f, table);
  job.options.window = to_window(f);
  job.options.levels = job.quantisation.levels;
  job.options.log_base = to_base(f, job.options.levels);
  job.options.min_valid = f.min_valid;
  job.options.threads = f.threads;
  job.options.algorithm = to_algorithm(f.algorithm);
  set_border(f, table, job.options);
  check_view(f);
  need_distinct_files({f.in, f.in + ".msk", f.classes}, {{"--output", f.out}, {"--view", f.view}});
  job.devices = DeviceSet::parse(f.device);
  job.view_path = f.view;
  job.output = f.dtype == "f16"  ? formats::SampleType::kFloat16
               : f.dtype == "u8" ? formats::SampleType::kUint8
                                 : formats::SampleType::kFloat32;
  if (!f.nodata.empty()) job.quantisation.nodata = to_number("--nodata", f.nodata);
  if (f.border == "study2020" && !f.nodata.empty())
    usage_error("--border study2020 knows no missing cells: leave out --nodata");
  runtime::ProgressBar bar(stderr, !f.quiet && runtime::wants_progress(stderr));
  const InterruptFlag interrupt;
  job.on_progress = [&](double fraction, double remaining_s) {
    interrupt.check();
    bar.update(fraction, remaining_s);
  };

  if (formats::raster_format_of(f.in, true) == formats::RasterFormat::kStudy) {
    if (!f.range.empty()) set_range(f, nullptr, job);
    return run_container(f, interrupt, job);
  }
  const auto raw = raw_info(f);
  const auto reader = open_input(f, raw.get());
  report_pages(f, reader->info());
  if (!job.quantisation.nodata) job.quantisation.nodata = reader->info().nodata;
  if (!f.range.empty()) set_range(f, raw.get(), job);
  formats::RasterInfo info = reader->info();
  info.type = job.output;
  formats::describe_new_values(info, job.output == formats::SampleType::kUint8 ? "255" : "nan");
  const auto writer = formats::create_raster(f.out, info);
  const field::EntropySummary summary = field::run_entropy(job, *reader, *writer);
  interrupt.check();
  writer->close();
  bar.clear();
  report(f, reader->info().pages, summary);
}

}  // namespace

void add_entropy_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand(
      "entropy", "local entropy of a raster: how mixed the classes are around each pixel");
  auto f = std::make_shared<EntropyFlags>();
  add_field_flags(*c, *f, ".png .tif .npy .pgm .raw, or .bin (the study's container)",
                  ".tif .npy .raw, .png .pgm with --dtype u8, .csv for .bin", "u8");
  CLI::Option* radius = c->add_option("--radius", f->radius, "window of 2r + 1 pixels (default 2)")
                            ->check(CLI::Range(0, 2047));
  c->add_option("--window", f->window, "window of WxH pixels instead")->excludes(radius);
  c->add_option("--shape", f->shape,
                "square (default), disk, or a picture whose non-zero pixels are the window");
  CLI::Option* levels = c->add_option(
      "--levels", f->levels, "number of classes K (default 16, or as many as --classes lists)");
  c->add_option("--range", f->range, "cut values low:high, 2%:98% or auto into K classes");
  c->add_option("--classes", f->classes, "a table value,class of the pixels' values");
  c->add_option("--base", f->base, "of the logarithm: e (default), 2, 10, K, or a number");
  c->add_option("--border", f->border,
                "crop (default), reflect, nearest, constant:<class>, valid, study2020");
  c->add_option("--min-valid", f->min_valid, "least share of the window that must be valid");
  c->add_option("--dtype", f->dtype,
                "f32 (default), f16, or u8: 254 * H / log K, 255 where there is none")
      ->check(CLI::IsMember({"f32", "f16", "u8"}));
  c->add_option("--algorithm", f->algorithm,
                "on the CPU: auto (default), naive, nibble, plane, sliding, column");
  c->add_option("--view", f->view, "also write a colour picture with its scale (.png)");
  c->callback([f, levels] {
    f->levels_given = levels->count() > 0;
    InterruptFlag::run([&] { run(*f); });
  });
}

}  // namespace tilewave::cli
