// See include/tilewave/raster.h.
#include "tilewave/raster.h"
#include "tilewave/api/guard.h"
#include "tilewave/base/error.h"

#include <string>

#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/field/run/map_runner.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/device.h"

namespace tilewave {

namespace {

template <class Pixel>
void check_size(const Image<Pixel>& image) {
  const std::size_t num = image.pixels.size();
  const auto width = static_cast<std::uint64_t>(image.width);
  if (image.width < 1 || image.height < 1 || num % width != 0 ||
      num / width != static_cast<std::uint64_t>(image.height)) {
    fail(ExitCode::kUsage, "an image of ", image.width, " x ", image.height, " pixels is given ",
         num, " values");
  }
}

template <class Pixel>
std::vector<float> entropy_of(const Image<Pixel>& image, const LocalEntropyOptions& o) {
  check_size(image);
  if (o.window < 1 || o.window % 2 == 0) {
    fail(ExitCode::kUsage, "window = ", o.window, ": use an odd number of pixels");
  }
  field::EntropyOptions options;
  options.window = field::Footprint::rectangle(o.window, o.window);
  options.levels = o.levels;
  options.log_base = o.base;
  options.threads = runtime::checked_num_threads(o.threads);
  const field::EntropyPlan plan(options, image.width, image.height);
  if (static_cast<int>(sizeof(Pixel)) < plan.code_bytes() && sizeof(Pixel) > 1) {
    fail(ExitCode::kUsage, "levels = ", o.levels, ": pixels of 16 bits hold at most 65535 classes");
  }
  std::vector<float> out(image.pixels.size());
  field::EntropyRunner runner(plan, DeviceSet::parse(o.device));
  runner.run(field::CodeRows<Pixel>{image.pixels.data(), image.width, image.width, image.height, 0,
                                    image.height},
             {0, image.width, 0, image.height}, out.data(), image.width);
  return out;
}

}  // namespace

std::vector<float> local_entropy(Image<std::uint8_t> image, const LocalEntropyOptions& options) {
  return guarded([&] { return entropy_of(image, options); });
}

std::vector<float> local_entropy(Image<std::uint16_t> image, const LocalEntropyOptions& options) {
  return guarded([&] { return entropy_of(image, options); });
}

std::vector<float> map(std::string_view expression, Image<float> image, const MapOptions& o) {
  return guarded([&] {
    check_size(image);
    const auto parsed = field::MapExpression::parse(std::string(expression));
    field::MapOptions options;
    options.repeat = o.repeat;
    options.threads = runtime::checked_num_threads(o.threads);
    std::vector<float> values(image.pixels.begin(), image.pixels.end());
    field::MapRunner(parsed, options, image.width, image.width * image.height,
                     DeviceSet::parse(o.device))
        .run(0, image.height, values.data());
    return values;
  });
}

}  // namespace tilewave
