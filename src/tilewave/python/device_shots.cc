#include "tilewave/python/device_shots.h"

#include "tilewave/base/error.h"
#include "tilewave/python/arrays-inl.h"

namespace nb = nanobind;

namespace tilewave::python {
namespace {

using stabilizer::DeviceLayout;

// An array, its address, which the CUDA array interface tells, and its shape.
template <class T>
void append(nb::list& out, const std::shared_ptr<void>& memory, std::vector<std::size_t> shape,
            int device) {
  nb::list sides;
  for (const std::size_t n : shape) sides.append(n);
  out.append(nb::make_tuple(
      own_device_array<T>(std::shared_ptr<void>(memory), memory.get(), std::move(shape), device),
      reinterpret_cast<std::uintptr_t>(memory.get()), nb::tuple(sides)));
}

}  // namespace

DeviceLayout parse_device_layout(const std::string& word) {
  if (word == "packed") return DeviceLayout::kPacked;
  if (word == "bytes") return DeviceLayout::kBytes;
  if (word == "bit_rows") return DeviceLayout::kBitRows;
  if (word == "lists") return DeviceLayout::kLists;
  throw Error(ExitCode::kUsage, "there is no layout '" + word + "' of shots on a device");
}

nb::list device_arrays(const std::vector<stabilizer::DeviceShots>& parts, DeviceLayout layout) {
  nb::list all;
  for (const stabilizer::DeviceShots& p : parts) {
    nb::list made;
    if (layout == DeviceLayout::kLists) {
      append<std::int64_t>(made, p.offsets, {p.shots + 1}, p.device);
      append<std::uint32_t>(made, p.memory, {p.rows}, p.device);
    } else if (layout == DeviceLayout::kBytes) {
      append<bool>(made, p.memory, {p.rows, p.row_bytes}, p.device);
    } else {
      append<std::uint8_t>(made, p.memory, {p.rows, p.row_bytes}, p.device);
    }
    all.append(nb::tuple(made));
  }
  return all;
}

}  // namespace tilewave::python
