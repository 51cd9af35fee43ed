// Rasters: local entropy and fused elementwise maps over arrays of Python, read and written where
// they lie.
#include <algorithm>
#include <cmath>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/jit/map_cuda.h"
#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/field/run/map_runner.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/runtime/cuda/device_memory.h"
#include "tilewave/runtime/threads.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

field::Border parse_border(const std::string& word) {
  if (const auto border = field::border_named(word)) return *border;
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

field::EntropyOptions entropy_options(const ConstArray<std::uint8_t>& footprint, int levels,
                                      double base, const std::string& border, int constant_code,
                                      double min_valid, int threads) {
  field::EntropyOptions options;
  options.window = to_footprint(footprint);
  options.levels = levels;
  options.log_base = base;
  options.border = parse_border(border);
  options.constant_code = constant_code;
  options.min_valid = min_valid;
  options.threads = runtime::checked_num_threads(threads);
  return options;
}

template <class T>
void run_entropy(const Image<T>& image,
                 nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
                 const ConstArray<std::uint8_t>& footprint, int levels, double base,
                 const std::string& border, int constant_code, double min_valid, int threads,
                 const std::string& device) {
  const field::EntropyOptions options =
      entropy_options(footprint, levels, base, border, constant_code, min_valid, threads);
  const auto devices = DeviceSet::parse(device);
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

// ---- arrays on a CUDA device: used where they lie, on the default stream ----

using DeviceMemory = runtime::cuda::DeviceMemory;

template <class A>
std::vector<std::size_t> shape_of(const A& array) {
  std::vector<std::size_t> shape;
  for (std::size_t k = 0; k < array.ndim(); ++k) shape.push_back(array.shape(k));
  return shape;
}

// The result's place: `out` where it is given, otherwise new memory of the device.
struct DeviceResult {
  std::shared_ptr<DeviceMemory> memory;
  float* data = nullptr;

  // in_place: `out` may be the array; no result may take the place of a value that is still to be
  // read.
  template <class A>
  DeviceResult(const A& like, const std::optional<DeviceArray<float>>& out, bool in_place) {
    if (!out) {
      memory = std::make_shared<DeviceMemory>(like.device_id(), like.size() * sizeof(float));
      data = static_cast<float*>(memory->data());
      return;
    }
    if (shape_of(*out) != shape_of(like) || out->device_id() != like.device_id()) {
      throw Error(ExitCode::kUsage, "out must have the shape of the array and lie beside it");
    }
    data = out->data();
    const auto begin = [](const auto& array) {
      return reinterpret_cast<std::uintptr_t>(array.data());
    };
    const bool overlaps =
        begin(like) < begin(*out) + out->nbytes() && begin(*out) < begin(like) + like.nbytes();
    if (overlaps && !(in_place && begin(like) == begin(*out))) {
      throw Error(ExitCode::kUsage,
                  "out shares memory with the array: use other memory on a device");
    }
  }
  /// The new array; none where it is in `out`.
  template <class A>
  nb::object array(const A& like) const {
    if (!memory) return nb::none();
    return own_device_array<float>(std::shared_ptr<DeviceMemory>(memory), data, shape_of(like),
                                   like.device_id());
  }
};

void check_alignment(const float* values) {
  if (reinterpret_cast<std::uintptr_t>(values) % 16) {
    throw Error(ExitCode::kUsage, "an array on a device must begin at a multiple of 16 bytes");
  }
}

// Pixels without a result, which are NaN, become `fill`.
void fill_gaps(float* values, std::size_t size, double fill, int device) {
  check_alignment(values);
  const std::string text = "v == v ? v : (" + nine_digits(fill) + ")";
  const auto count = static_cast<std::int64_t>(size);
  field::MapCuda map(field::MapExpression::parse(text), {}, count, device);
  map.run_on_device(0, count, values, nullptr);
}

template <class T>
nb::object entropy_on_device(const DeviceArray<const T>& image,
                             const std::optional<DeviceArray<float>>& out,
                             const ConstArray<std::uint8_t>& footprint,
                             const std::optional<int>& given_levels, double base,
                             const std::string& border, int constant_code, double min_valid,
                             double fill) {
  if (image.ndim() < 2) throw Error(ExitCode::kUsage, "an image has two dimensions or more");
  if (image.size() == 0) throw Error(ExitCode::kUsage, "the image is empty");
  if (!given_levels && sizeof(T) > 1) {
    throw Error(ExitCode::kUsage,
                "an image of more than 8 bits on a device needs levels, its number of classes");
  }
  const int levels = given_levels.value_or(256);
  const auto height = static_cast<std::int64_t>(image.shape(image.ndim() - 2)),
             width = static_cast<std::int64_t>(image.shape(image.ndim() - 1));
  const field::EntropyOptions options =
      entropy_options(footprint, levels, base, border, constant_code, min_valid, 0);
  const DeviceResult result(image, out, false);
  {
    const nb::gil_scoped_release release;
    field::EntropyCuda entropy(field::EntropyPlan(options, width, height), image.device_id());
    const auto plane = static_cast<std::size_t>(width * height);
    for (std::size_t at = 0; at < image.size(); at += plane) {
      entropy.run_on_device(image.data() + at, width, {0, width, 0, height}, result.data + at,
                            width, nullptr);
    }
    if (!std::isnan(fill)) fill_gaps(result.data, image.size(), fill, image.device_id());
    runtime::cuda::finish_on_device(image.device_id());
  }
  return result.array(image);
}

nb::object map_on_device(const DeviceArray<const float>& values,
                         const std::optional<DeviceArray<float>>& out, const std::string& text,
                         int repeat, const std::string& precision) {
  const auto expression = field::MapExpression::parse(text);
  field::MapOptions options;
  options.repeat = repeat;
  options.precision = parse_map_precision(precision);
  if (options.precision == field::MapPrecision::kLut) {
    throw Error(ExitCode::kUsage, "a map by table needs the values on the host: use 'precise'");
  }
  const DeviceResult result(values, out, true);
  const int device = values.device_id();
  check_alignment(result.data);
  if (values.ndim() != 1 && values.ndim() != 2) {
    throw Error(ExitCode::kUsage, "a map takes one or two dimensions");
  }
  const auto width = static_cast<std::int64_t>(values.shape(values.ndim() - 1));
  if (values.size() > 0) {
    const nb::gil_scoped_release release;
    if (result.data != values.data()) {
      runtime::cuda::copy_on_device(device, result.data, values.data(),
                                    values.size() * sizeof(float));
    }
    std::optional<field::MapCuda> map;
    if (repeat > 0) {
      map.emplace(expression, options, width, device);
      map->run_on_device(0, static_cast<std::int64_t>(values.size()), result.data, nullptr);
    }
    runtime::cuda::finish_on_device(device);
  }
  return result.array(values);
}

// To a device, for those who have no other package for it.
template <class T>
void bind_moves(nb::module_& m) {
  m.def(
      "_to_device",
      [](const ConstArray<T>& array, int device) {
        auto memory = std::make_shared<DeviceMemory>(device, array.size() * sizeof(T));
        void* const data = memory->data();
        without_interpreter([&] {
          runtime::cuda::copy_on_device(device, data, array.data(), array.size() * sizeof(T));
          runtime::cuda::finish_on_device(device);
        });
        return own_device_array<T>(std::move(memory), data, shape_of(array), device);
      },
      "array"_a.noconvert(), "device"_a);
}

template <class T>
void bind_entropy_on_device(nb::module_& m) {
  m.def("_entropy_on_device", &entropy_on_device<T>, "image"_a.noconvert(),
        "out"_a.none().noconvert(), "footprint"_a, "levels"_a.none(), "base"_a, "border"_a,
        "constant"_a, "min_valid"_a, "fill"_a);
}

// A NumPy array with what lies on the device.
nb::object to_host(const nb::ndarray<nb::ro, nb::c_contig, nb::device::cuda>& array) {
  runtime::HostBuffer memory(array.nbytes());
  void* const data = memory.data();
  without_interpreter([&] {
    runtime::cuda::copy_on_device(array.device_id(), data, array.data(), array.nbytes());
    runtime::cuda::finish_on_device(array.device_id());
  });
  const std::vector<std::size_t> shape = shape_of(array);
  return nb::cast(nb::ndarray<nb::numpy, nb::device::cpu>(
      data, shape.size(), shape.data(), keep(std::move(memory)), nullptr, array.dtype(),
      nb::device::cpu::value, 0));
}

void bind_device_arrays(nb::module_& m) {
  bind_entropy_on_device<std::uint8_t>(m);
  bind_entropy_on_device<std::uint16_t>(m);
  m.def("_map_on_device", &map_on_device, "values"_a.noconvert(), "out"_a.none().noconvert(),
        "expression"_a, "repeat"_a, "precision"_a);
  bind_moves<std::uint8_t>(m);
  bind_moves<std::uint16_t>(m);
  bind_moves<float>(m);
  bind_moves<double>(m);
  bind_moves<std::complex<float>>(m);
  bind_moves<std::complex<double>>(m);
  m.def("_to_host", &to_host, "array"_a.noconvert());
}

}  // namespace

void bind_field(nb::module_& m) {
  bind_entropy<std::uint8_t>(m);
  bind_entropy<std::uint16_t>(m);
  bind_entropy<std::uint32_t>(m);
  bind_device_arrays(m);
  m.def(
      "_map",
      [](nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> values,
         const std::string& text, int repeat, const std::string& precision, int threads,
         const std::string& device) {
        const auto expression = field::MapExpression::parse(text);
        field::MapOptions options;
        options.repeat = repeat;
        options.precision = parse_map_precision(precision);
        options.threads = runtime::checked_num_threads(threads);
        const auto devices = DeviceSet::parse(device);
        const auto height = static_cast<std::int64_t>(values.shape(0)),
                   width = static_cast<std::int64_t>(values.shape(1));
        const nb::gil_scoped_release release;
        field::MapRunner(expression, options, width, width * height, devices)
            .run(0, height, values.data());
      },
      "values"_a.noconvert(), "expression"_a, "repeat"_a, "precision"_a, "threads"_a, "device"_a);
}

}  // namespace tilewave::python
