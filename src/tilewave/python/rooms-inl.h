// The functions that add each room's part to the module; included by its source files only.
#pragma once

#include <nanobind/nanobind.h>

namespace tilewave::python {

void bind_circuit(nanobind::module_& m);
void bind_noise(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_stabilizer(nanobind::module_& m);
void bind_field(nanobind::module_& m);

}  // namespace tilewave::python
