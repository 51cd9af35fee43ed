// Shots in the memory of a GPU for Python: arrays that speak DLPack, without a copy.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "tilewave/base/error.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/stabilizer/device_shots.h"

namespace tilewave::python {

/// packed, bytes, bit_rows or lists.
inline stabilizer::DeviceLayout parse_device_layout(const std::string& word) {
  if (word == "packed") return stabilizer::DeviceLayout::kPacked;
  if (word == "bytes") return stabilizer::DeviceLayout::kBytes;
  if (word == "bit_rows") return stabilizer::DeviceLayout::kBitRows;
  if (word == "lists") return stabilizer::DeviceLayout::kLists;
  throw Error(ExitCode::kUsage, "there is no layout '" + word + "' of shots on a device");
}

namespace detail {

/// An array, its address, which the CUDA array interface tells, and its shape.
template <class T>
void append(nanobind::list& out, const std::shared_ptr<void>& memory,
            std::vector<std::size_t> shape, int device) {
  nanobind::list sides;
  for (const std::size_t n : shape) sides.append(n);
  out.append(nanobind::make_tuple(
      own_device_array<T>(std::shared_ptr<void>(memory), memory.get(), std::move(shape), device),
      reinterpret_cast<std::uintptr_t>(memory.get()), nanobind::tuple(sides)));
}

}  // namespace detail

/// A list of arrays for each part, one, or the offsets and the ones of lists. Each is a tuple (array,
/// address, shape).
inline nanobind::list device_arrays(const std::vector<stabilizer::DeviceShots>& parts,
                                    stabilizer::DeviceLayout layout) {
  nanobind::list all;
  for (const stabilizer::DeviceShots& p : parts) {
    nanobind::list made;
    if (layout == stabilizer::DeviceLayout::kLists) {
      detail::append<std::int64_t>(made, p.offsets, {p.shots + 1}, p.device);
      detail::append<std::uint32_t>(made, p.memory, {p.rows}, p.device);
    } else if (layout == stabilizer::DeviceLayout::kBytes) {
      detail::append<bool>(made, p.memory, {p.rows, p.row_bytes}, p.device);
    } else {
      detail::append<std::uint8_t>(made, p.memory, {p.rows, p.row_bytes}, p.device);
    }
    all.append(nanobind::tuple(made));
  }
  return all;
}

}  // namespace tilewave::python
