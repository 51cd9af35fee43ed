// Checks the options once, shrinks the window where it cannot matter, builds the tables and picks
// the algorithm.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tilewave/base/error.h"
#include "tilewave/field/cpu/entropy_tile.h"
#include "tilewave/field/cpu/entropy_tuning.h"
#include "tilewave/field/entropy.h"

namespace tilewave::field {
namespace {

bool can_run(EntropyAlgorithm algorithm, const Footprint& window, int levels) {
  const bool rectangle = window.is_rectangle();
  switch (algorithm) {
    case EntropyAlgorithm::kNibble:
      return rectangle && levels <= 16 && window.num_cells() <= 31 && window.height() <= 15;
    case EntropyAlgorithm::kPlane:
      return rectangle && levels <= 64 && window.num_cells() >= 32;
    case EntropyAlgorithm::kColumn:
      return rectangle && levels <= 256;
    default:
      return true;
  }
}

const char* requirement(EntropyAlgorithm algorithm) {
  switch (algorithm) {
    case EntropyAlgorithm::kNibble:
      return "it needs a rectangle of at most 31 cells and 15 rows, and at most 16 levels";
    case EntropyAlgorithm::kPlane:
      return "it needs a rectangle of at least 32 cells, and at most 64 levels";
    default:
      return "it needs a rectangle and at most 256 levels";
  }
}

EntropyAlgorithm choose(const EntropyOptions& options, const Footprint& window) {
  if (options.algorithm != EntropyAlgorithm::kAuto) {
    if (!can_run(options.algorithm, options.window, options.levels)) {
      fail(ExitCode::kUsage, "algorithm '", algorithm_name(options.algorithm),
           "' cannot run this window: ", requirement(options.algorithm),
           "; use 'auto' or 'sliding'");
    }
    return options.algorithm;
  }
  const bool blocks = column_in_blocks(window.num_cells(), window.height(), options.levels);
  EntropyAlgorithm best = EntropyAlgorithm::kSliding;
  double least = cpu_cost_ns(best, window, options.levels, blocks);
  for (EntropyAlgorithm a :
       {EntropyAlgorithm::kNibble, EntropyAlgorithm::kPlane, EntropyAlgorithm::kColumn}) {
    if (!can_run(a, window, options.levels)) continue;
    const double cost = cpu_cost_ns(a, window, options.levels, blocks);
    if (cost < least) {
      least = cost;
      best = a;
    }
  }
  return best;
}

// The cells of the window that may lie in the image, where those outside count for nothing; the
// results have the same bits. As many as tell a narrow window from a wide one are left.
Footprint seen(const EntropyOptions& o, std::int64_t width, std::int64_t height) {
  const bool is_empty_outside =
      o.border == Border::kCrop || o.border == Border::kValid || o.border == Border::kStudy2020;
  if (!is_empty_outside || (o.window.width() <= width && o.window.height() <= height)) {
    return o.window;
  }
  Footprint window = o.window.within(width, height);
  return window.num_cells() > kMostNarrowCells ? window : o.window;
}

// Cells of [i - before, i + after] inside [0, size).
std::int32_t inside(std::int64_t i, int before, int after, std::int64_t size) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(i, before) + 1 +
                                   std::min<std::int64_t>(size - 1 - i, after));
}

std::int32_t population(std::int64_t i, int before, int after, std::int64_t size, Border border) {
  switch (border) {
    case Border::kCrop:
    case Border::kValid:
      return inside(i, before, after, size);
    case Border::kStudy2020:  // the study wrote min(size - i, after): one too many at the far edge
      return static_cast<std::int32_t>(std::min<std::int64_t>(i, before) + 1 +
                                       std::min<std::int64_t>(size - i, after));
    default:
      return before + 1 + after;
  }
}

void check(const EntropyOptions& o, std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    fail(ExitCode::kInput, "the image is empty (", width, " x ", height, " pixels): nothing to do");
  }
  if (o.levels < 2 || o.levels > 65536) {
    fail(ExitCode::kUsage, "levels ", o.levels, " is out of range: use 2..65536");
  }
  if (o.log_base != 0 && !(o.log_base > 1 && std::isfinite(o.log_base))) {
    fail(ExitCode::kUsage, "the logarithm base must be a finite number greater than 1");
  }
  if (o.border == Border::kConstant && (o.constant_code < 0 || o.constant_code >= o.levels)) {
    fail(ExitCode::kUsage, "the constant class ", o.constant_code, " beyond the border is none of ",
         o.levels, ": use 0..", o.levels - 1);
  }
  if (!(o.min_valid >= 0 && o.min_valid <= 1)) {
    fail(ExitCode::kUsage, "the least valid share must lie in 0..1");
  }
  if (o.border == Border::kStudy2020 && !o.window.is_rectangle()) {
    fail(ExitCode::kUsage, "border study2020 is defined for rectangles only: use --shape square");
  }
  if (o.border == Border::kStudy2020 && o.min_valid > 0) {
    fail(ExitCode::kUsage, "border study2020 knows no missing cells: leave out --min-valid");
  }
  if (o.window.num_cells() > (1 << 24)) {
    fail(ExitCode::kUsage, "the window has more than 2^24 cells: use a smaller one");
  }
}

}  // namespace

const char* algorithm_name(EntropyAlgorithm algorithm) {
  static constexpr const char* kNames[] = {"auto", "naive", "nibble", "plane", "sliding", "column"};
  return kNames[static_cast<int>(algorithm)];
}

std::optional<Border> border_named(std::string_view name) {
  static constexpr std::string_view kNames[] = {"crop",     "reflect", "nearest",
                                                "constant", "valid",   "study2020"};
  const auto* const at = std::find(std::begin(kNames), std::end(kNames), name);
  if (at == std::end(kNames)) return std::nullopt;
  return static_cast<Border>(at - std::begin(kNames));
}

EntropyPlan::EntropyPlan(const EntropyOptions& options, std::int64_t width, std::int64_t height)
    : options_(options), window_(options.window), width_(width), height_(height) {
  check(options, width, height);
  window_ = seen(options, width, height);
  const auto cells = static_cast<std::int32_t>(options.window.num_cells());
  const auto least = static_cast<std::int32_t>(std::ceil(options.min_valid * cells - 1e-9));
  tables_ = make_entropy_tables(static_cast<std::int32_t>(window_.num_cells()), options.log_base,
                                least, cells, options.levels);
  algorithm_ = choose(options, window_);
  cpu_ns_ = cpu_cost_ns(algorithm_, window_, options.levels,
                        column_in_blocks(window_.num_cells(), window_.height(), options.levels));
}

std::int32_t EntropyPlan::population_x(std::int64_t x) const {
  return population(x, window_.left(), window_.right(), width_, options_.border);
}

std::int32_t EntropyPlan::population_y(std::int64_t y) const {
  return population(y, window_.top(), window_.bottom(), height_, options_.border);
}

std::int64_t EntropyPlan::needed_begin(std::int64_t y_begin) const {
  // A mirrored window near the far edge looks back by as much as it sticks out.
  const std::int64_t reach = std::max(window_.top(), window_.bottom());
  return std::max<std::int64_t>(0, y_begin - reach);
}

std::int64_t EntropyPlan::needed_end(std::int64_t y_end) const {
  const std::int64_t reach = std::max(window_.top(), window_.bottom());
  return std::min(height_, y_end + reach);
}

Region EntropyPlan::needed(const Region& r) const {
  const std::int64_t reach = std::max(window_.left(), window_.right());
  return {std::max<std::int64_t>(0, r.x_begin - reach), std::min(width_, r.x_end + reach),
          needed_begin(r.y_begin), needed_end(r.y_end)};
}

std::string EntropyPlan::explain() const {
  char text[200];
  std::snprintf(text, sizeof text,
                "entropy: %s, window %dx%d (%lld cells), %d levels, unit %.3g nats, sums in %s",
                algorithm_name(algorithm_), options_.window.width(), options_.window.height(),
                static_cast<long long>(options_.window.num_cells()), options_.levels, tables_.unit,
                tables_.narrow    ? "24 bits"
                : tables_.is_long ? "52 bits"
                                  : "31 bits");
  return text;
}

}  // namespace tilewave::field
