// Rasters: local entropy and fused elementwise maps over arrays of Python, read and written where
// they lie.
#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/field/entropy_runner.h"
#include "tilewave/field/map_runner.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/rooms-inl.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using field::Border;

Border parse_border(const std::string& word) {
  struct Row {
    const char* name;
    Border border;
  };
  constexpr Row kRows[] = {{"crop", Border::kCrop},       {"reflect", Border::kReflect},
                           {"nearest", Border::kNearest}, {"constant", Border::kConstant},
                           {"valid", Border::kValid},     {"study2020", Border::kStudy2020}};
  for (const Row& row : kRows) {
    if (word == row.name) return row.border;
  }
  throw Error(ExitCode::kUsage, "unknown border '" + word +
                                    "': use crop, reflect, nearest, constant, valid or study2020");
}

field::Footprint to_footprint(const ConstArray<std::uint8_t>& cells) {
  if (cells.ndim() != 2) throw Error(ExitCode::kUsage, "a footprint has two dimensions");
  const auto h = static_cast<int>(cells.shape(0)), w = static_cast<int>(cells.shape(1));
  return field::Footprint::from_mask(
      std::vector<std::uint8_t>(cells.data(), cells.data() + cells.size()), w, h);
}

// A row of pixels lies without gaps; rows may be apart.
template <class T>
using Image = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
field::CodeRows<T> code_rows(const Image<T>& image) {
  const auto h = static_cast<std::int64_t>(image.shape(0)),
             w = static_cast<std::int64_t>(image.shape(1));
  TW_CHECK(w < 2 || image.stride(1) == 1, "the pixels of a row must lie side by side");
  return {image.data(), image.stride(0), w, h, 0, h};
}

template <class T>
int largest(const Image<T>& image) {
  const nb::gil_scoped_release release;
  const auto rows = code_rows(image);
  T most = 0;
  for (std::int64_t y = 0; y < rows.height; ++y) {
    const T* row = rows.data + y * rows.stride;
    T of_row = 0;
    for (std::int64_t x = 0; x < rows.width; ++x) of_row = std::max(of_row, row[x]);
    most = std::max(most, of_row);
  }
  return most;
}

template <class T>
void run_entropy(const Image<T>& image,
                 nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
                 const ConstArray<std::uint8_t>& footprint, int levels, double base,
                 const std::string& border, int constant_code, double min_valid, int threads,
                 const std::string& device) {
  field::EntropyOptions options;
  options.window = to_footprint(footprint);
  options.levels = levels;
  options.log_base = base;
  options.border = parse_border(border);
  options.constant_code = constant_code;
  options.min_valid = min_valid;
  options.threads = threads;
  const auto devices = field::parse_device_set("device", device);
  const auto codes = code_rows(image);
  TW_CHECK(out.shape(0) == image.shape(0) && out.shape(1) == image.shape(1),
           "the result has the shape of the image");
  const nb::gil_scoped_release release;
  const field::EntropyPlan plan(options, codes.width, codes.height);
  field::EntropyRunner(plan, devices)
      .run(codes, {0, codes.width, 0, codes.height}, out.data(), codes.width);
}

template <class T>
void bind_entropy(nb::module_& m) {
  m.def("_entropy", &run_entropy<T>, "image"_a.noconvert(), "out"_a.noconvert(), "footprint"_a,
        "levels"_a, "base"_a, "border"_a, "constant"_a, "min_valid"_a, "threads"_a, "device"_a);
  m.def("_largest", &largest<T>, "image"_a.noconvert());
}

field::MapPrecision parse_map_precision(const std::string& word) {
  if (word == "precise") return field::MapPrecision::kPrecise;
  if (word == "fast") return field::MapPrecision::kFast;
  if (word == "lut") return field::MapPrecision::kLut;
  throw Error(ExitCode::kUsage, "unknown precision '" + word + "': use precise, fast or lut");
}

}  // namespace

void bind_field(nb::module_& m) {
  bind_entropy<std::uint8_t>(m);
  bind_entropy<std::uint16_t>(m);
  m.def(
      "_map",
      [](nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
         const std::string& text, int repeat, const std::string& precision, int threads,
         const std::string& device) {
        const auto expression = field::MapExpression::parse(text);
        field::MapOptions options;
        options.repeat = repeat;
        options.precision = parse_map_precision(precision);
        options.threads = threads;
        const auto devices = field::parse_device_set("device", device);
        const auto height = static_cast<std::int64_t>(values.shape(0)),
                   width = static_cast<std::int64_t>(values.shape(1));
        const nb::gil_scoped_release release;
        field::MapRunner(expression, options, width, width * height, devices)
            .run(0, height, values.data());
      },
      "values"_a.noconvert(), "expression"_a, "repeat"_a, "precision"_a, "threads"_a, "device"_a);
}

}  // namespace tilewave::python
