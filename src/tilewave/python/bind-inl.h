// The pieces of the Python module tilewave._core, one function per module of the library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "tilewave/base/complex.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/settings/names.h"
#include "tilewave/simulate/simulate.h"

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

/// A circuit as Python holds it. A run holds on to the circuit it started with, so another thread
/// may go on building.
class PyCircuit {
 public:
  explicit PyCircuit(circuit::Circuit circuit)
      : circuit_(std::make_shared<circuit::Circuit>(std::move(circuit))) {}
  PyCircuit(const PyCircuit& other) : circuit_(other.circuit_) {}

  const circuit::Circuit& get() const { return *circuit_; }
  std::shared_ptr<const circuit::Circuit> share() const { return circuit_; }
  circuit::Circuit& change() {
    if (circuit_.use_count() > 1) circuit_ = std::make_shared<circuit::Circuit>(*circuit_);
    is_dynamic_.reset();
    return *circuit_;
  }
  /// True when it measures or resets in the middle: shots then end in different states.
  bool is_dynamic() const;
  /// Equal channels are kept once.
  void add_channel(std::span<const circuit::Qubit> targets, circuit::Channel channel);

 private:
  std::shared_ptr<circuit::Circuit> circuit_;
  mutable std::optional<bool> is_dynamic_;
};

/// f() while other threads of Python go on.
template <class F>
auto without_interpreter(F&& f) {
  const nanobind::gil_scoped_release release;
  return f();
}

using Seed = std::optional<std::uint64_t>;

/// Options of a run in the session of this process; the caller holds the initial state. Throws Error(kUsage) for unknown words.
simulate::Options run_options(const std::string& precision, const std::string& device, int threads,
                              const std::string& effort, const Seed& seed,
                              std::span<const cplx> initial_state = {});

/// A noise model as Python holds it.
struct PyNoise {
  std::shared_ptr<const circuit::NoiseModel> model;
};

}  // namespace tilewave::python
