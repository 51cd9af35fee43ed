// Shots in the memory of a GPU for Python: arrays that speak DLPack, without a copy.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "tilewave/stabilizer/sample/device_shots.h"

namespace tilewave::python {

/// packed, bytes, bit_rows or lists.
stabilizer::DeviceLayout parse_device_layout(const std::string& word);

/// A list of arrays for each part, one, or the offsets and the ones of lists. Each is a tuple (array,
/// address, shape).
nanobind::list device_arrays(const std::vector<stabilizer::DeviceShots>& parts,
                             stabilizer::DeviceLayout layout);

}  // namespace tilewave::python
