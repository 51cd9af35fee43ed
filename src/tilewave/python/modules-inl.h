// The functions that add each module's part to Python's; included by its source files only.
#pragma once

#include <nanobind/nanobind.h>

namespace tilewave::python {

class PyCircuit;

void bind_circuit(nanobind::module_& m);
void bind_interrupt(nanobind::module_& m);
void bind_gates(nanobind::class_<PyCircuit>& c);
void bind_inspection(nanobind::class_<PyCircuit>& c);
void bind_noise(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_result(nanobind::module_& m);
void bind_state(nanobind::module_& m);
void bind_sampler(nanobind::module_& m);
void bind_strata(nanobind::module_& m);
void bind_stabilizer(nanobind::module_& m);
void bind_field(nanobind::module_& m);
void bind_parametric(nanobind::module_& m);

}  // namespace tilewave::python
