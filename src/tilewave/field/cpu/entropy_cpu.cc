// Entropy on the CPU: cuts the rows into tiles that fit a core's caches with their halo, fills each
// tile once, and runs the plan's kernel on it. Tiles are independent, threads take them in any
// order.
#include <algorithm>
#include <limits>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/field/cpu/entropy_tile.h"
#include "tilewave/field/cpu/entropy_tuning.h"
#include "tilewave/field/entropy.h"
#include "tilewave/field/work_threads.h"

namespace tilewave::field {
namespace detail {

std::int64_t border_index(std::int64_t i, std::int64_t size, Border border) {
  if (i >= 0 && i < size) return i;
  switch (border) {
    case Border::kReflect: {
      const std::int64_t period = 2 * size;
      i = ((i % period) + period) % period;
      return i < size ? i : period - 1 - i;
    }
    case Border::kNearest:
      return i < 0 ? 0 : size - 1;
    case Border::kConstant:
      return kConstant;
    default:
      return kOutside;
  }
}

}  // namespace detail

namespace {

// Output pixels of a tile: wide enough to pay for the halo, small enough for the second-level
// cache.
int tile_side(EntropyAlgorithm algorithm, int levels, int window_side, bool horizontal) {
  switch (algorithm) {
    case EntropyAlgorithm::kPlane:  // counts of 16 classes in the first-level cache
      return horizontal ? 512 : std::max(512, 4 * window_side);
    case EntropyAlgorithm::kColumn:  // a row starts with the columns of a window, or of four
      if (horizontal && levels <= 16) return std::max(2048, 32 * window_side);
      return std::max(levels <= 16 ? 1024 : 512, (horizontal ? 8 : 4) * window_side);
    case EntropyAlgorithm::kNibble:
      return horizontal ? 1024 : 256;
    default:
      return std::max(horizontal ? 2048 : 96, 2 * window_side);
  }
}

// Pixels of output that leave the caches before anyone reads them.
constexpr std::int64_t kPastCaches = std::int64_t{1} << 22;

struct TileBuffers {
  std::vector<std::uint16_t> codes;
  std::vector<std::int32_t> pop_x, pop_y;
  EntropyScratch scratch;
};

template <class Code>
void run_kernel(const EntropyPlan& plan, const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  switch (plan.cpu_algorithm()) {
    case EntropyAlgorithm::kNaive:
      return entropy_tile_naive(tile, scratch);
    case EntropyAlgorithm::kColumn:
      if constexpr (sizeof(Code) <= 2) return entropy_tile_column(tile, scratch);
      [[fallthrough]];
    case EntropyAlgorithm::kNibble:
      if constexpr (sizeof(Code) == 1) return entropy_tile_nibble(tile, scratch);
      [[fallthrough]];
    case EntropyAlgorithm::kPlane:
      if constexpr (sizeof(Code) == 1) return entropy_tile_plane(tile, scratch);
      [[fallthrough]];
    default:
      return entropy_tile_sliding(tile, scratch);
  }
}

// Border kValid: pixels whose window leaves the image have no value.
void blank_border(const EntropyPlan& plan, std::int64_t x0, std::int64_t y0, int width, int height,
                  float* out, std::int64_t stride) {
  const Footprint& window = plan.window();
  for (int y = 0; y < height; ++y) {
    const bool row_out = y0 + y < window.top() || y0 + y + window.bottom() >= plan.height();
    for (int x = 0; x < width; ++x) {
      if (row_out || x0 + x < window.left() || x0 + x + window.right() >= plan.width()) {
        out[y * stride + x] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
}

template <class TileCode, class Src>
void run_tile(const EntropyPlan& plan, const CodeRows<Src>& codes, std::int64_t x0, std::int64_t y0,
              int width, int height, float* out, std::int64_t out_stride, bool past_caches,
              TileBuffers& buffers) {
  const Footprint& window = plan.window();
  const std::int64_t stride = (width + window.width() - 1 + 63) / 64 * 64;
  const std::int64_t cells = stride * (height + window.height() - 1);
  buffers.codes.resize((static_cast<std::size_t>(cells) * sizeof(TileCode) + 1) / 2 + 64);
  auto* padded = reinterpret_cast<TileCode*>(buffers.codes.data());
  int invalid = plan.options().levels;
  // The nibble kernel shifts by 4 * code: code 16 shifts everything out. The column one compares
  // with 16 classes, however few there are.
  if (plan.cpu_algorithm() == EntropyAlgorithm::kNibble) invalid = 16;
  if (plan.cpu_algorithm() == EntropyAlgorithm::kColumn && sizeof(TileCode) == 1) invalid = 255;
  const bool any_invalid = detail::fill_tile(plan, codes, x0, y0, width, height,
                                             static_cast<TileCode>(invalid), padded, stride);
  EntropyTile<TileCode> tile{&plan,   padded,  stride, width,      height,
                             nullptr, nullptr, out,    out_stride, past_caches};
  if (plan.separable_population() &&
      (!any_invalid || plan.options().border == Border::kStudy2020)) {
    buffers.pop_x.resize(width);
    buffers.pop_y.resize(height);
    for (int x = 0; x < width; ++x) buffers.pop_x[x] = plan.population_x(x0 + x);
    for (int y = 0; y < height; ++y) buffers.pop_y[y] = plan.population_y(y0 + y);
    tile.pop_x = buffers.pop_x.data();
    tile.pop_y = buffers.pop_y.data();
  }
  run_kernel(plan, tile, buffers.scratch);
  if (plan.options().border == Border::kValid)
    blank_border(plan, x0, y0, width, height, out, out_stride);
}

// Whether the region is so narrow, and so much higher than the window, that rows and columns are
// better exchanged. A plan that is forced to an algorithm stays as it is.
bool is_narrow(const EntropyPlan& plan, const Region& region) {
  return plan.width() < kNarrowImage && region.height() >= kNarrowRows &&
         plan.window().height() <= kNarrowRows / 4 &&
         plan.options().algorithm == EntropyAlgorithm::kAuto;
}

template <class Src>
void run(const EntropyPlan& plan, const CodeRows<Src>& codes, const Region& region, float* out,
         std::int64_t out_stride);

// The entropies of the exchanged image in the exchanged window are the same, bit for bit: sums of
// integers have no order.
template <class Src>
void run_exchanged(const EntropyPlan& plan, const CodeRows<Src>& codes, const Region& region,
                   float* out, std::int64_t out_stride) {
  EntropyOptions options = plan.options();
  options.window = options.window.transposed();
  const EntropyPlan exchanged(options, plan.height(), plan.width());
  std::vector<Src> columns;
  std::vector<float> results;
  for (std::int64_t y = region.y_begin; y < region.y_end; y += kNarrowChunk) {
    const Region rows{region.x_begin, region.x_end, y, std::min(y + kNarrowChunk, region.y_end)};
    const std::int64_t first = plan.needed_begin(rows.y_begin);
    const std::int64_t held = plan.needed_end(rows.y_end) - first, width = plan.width();
    columns.resize(static_cast<std::size_t>(held * width));
    for (std::int64_t x = 0; x < width; ++x) {
      const Src* from = codes.data + (first - codes.row_begin) * codes.stride + x;
      Src* const to = columns.data() + x * held;
      for (std::int64_t k = 0; k < held; ++k) to[k] = from[k * codes.stride];
    }
    results.resize(static_cast<std::size_t>(rows.width() * rows.height()));
    // only the columns that are held are read
    run<Src>(exchanged, {columns.data() - first, held, plan.height(), width, 0, width},
             {rows.y_begin, rows.y_end, rows.x_begin, rows.x_end}, results.data(), rows.height());
    for (std::int64_t x = 0; x < rows.width(); ++x) {
      float* const to = out + (rows.y_begin - region.y_begin) * out_stride + x;
      const float* const from = results.data() + x * rows.height();
      for (std::int64_t k = 0; k < rows.height(); ++k) to[k * out_stride] = from[k];
    }
  }
}

template <class Src>
void run(const EntropyPlan& plan, const CodeRows<Src>& codes, const Region& region, float* out,
         std::int64_t out_stride) {
  const Region whole = plan.needed(region);
  TW_CHECK(codes.width == plan.width() && codes.height == plan.height(),
           "codes and plan differ in size");
  TW_CHECK(region.y_begin >= 0 && region.y_begin <= region.y_end && region.y_end <= codes.height,
           "rows outside the image");
  TW_CHECK(region.x_begin >= 0 && region.x_begin <= region.x_end && region.x_end <= codes.width,
           "columns outside the image");
  TW_CHECK(codes.row_begin <= whole.y_begin && codes.row_end >= whole.y_end,
           "rows of the halo are missing");
  TW_CHECK(sizeof(Src) > 1 || plan.options().levels <= 256,
           "more than 256 levels need 16-bit codes");
  if (region.width() == 0) return;
  if (is_narrow(plan, region)) return run_exchanged(plan, codes, region, out, out_stride);
  const double pixels = static_cast<double>(region.width()) * static_cast<double>(region.height());
  const int threads = threads_for_work(plan.options().threads, plan.cpu_ns() * pixels);
  const std::int64_t rows = region.height();
  const int levels = plan.options().levels;
  const int tile_width = static_cast<int>(std::min<std::int64_t>(
      tile_side(plan.cpu_algorithm(), levels, plan.window().width(), true), region.width()));
  std::int64_t tall = tile_side(plan.cpu_algorithm(), levels, plan.window().height(), false);
  const std::int64_t across = (region.width() + tile_width - 1) / tile_width;
  if (across == 1)
    tall = std::max<std::int64_t>(tall, 16384 / tile_width);  // narrow images: tall tiles
  // Small images: at least two tiles a thread.
  tall =
      std::min(tall, std::max<std::int64_t>(8, (rows * across + 2 * threads - 1) / (2 * threads)));
  const int tile_height = static_cast<int>(std::min(tall, std::max<std::int64_t>(rows, 1)));
  const std::int64_t down = (rows + tile_height - 1) / tile_height;
  const bool past_caches = rows * region.width() >= kPastCaches;
  StopFlag stop;
#pragma omp parallel num_threads(threads)
  {
    TileBuffers mine;
#pragma omp for schedule(dynamic)
    for (std::int64_t t = 0; t < across * down; ++t) {
      if (stop.wanted()) continue;
      const std::int64_t x0 = region.x_begin + t % across * tile_width;
      const std::int64_t y0 = region.y_begin + t / across * tile_height;
      const int width = static_cast<int>(std::min<std::int64_t>(tile_width, region.x_end - x0));
      const int height = static_cast<int>(std::min<std::int64_t>(tile_height, region.y_end - y0));
      float* to = out + (y0 - region.y_begin) * out_stride + (x0 - region.x_begin);
      const auto run_as = [&]<class TileCode>(TileCode) {
        run_tile<TileCode>(plan, codes, x0, y0, width, height, to, out_stride, past_caches, mine);
      };
      plan.code_bytes() == 1   ? run_as(std::uint8_t{})
      : plan.code_bytes() == 2 ? run_as(std::uint16_t{})
                               : run_as(std::uint32_t{});
    }
  }
  stop.rethrow();
}

}  // namespace

template <class Code>
void entropy_cpu(const EntropyPlan& plan, const CodeRows<Code>& codes, const Region& region,
                 float* out, std::int64_t out_stride) {
  run(plan, codes, region, out, out_stride);
}

template void entropy_cpu(const EntropyPlan&, const CodeRows<std::uint8_t>&, const Region&, float*,
                          std::int64_t);
template void entropy_cpu(const EntropyPlan&, const CodeRows<std::uint16_t>&, const Region&, float*,
                          std::int64_t);
template void entropy_cpu(const EntropyPlan&, const CodeRows<std::uint32_t>&, const Region&, float*,
                          std::int64_t);

}  // namespace tilewave::field
