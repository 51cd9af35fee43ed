// The pieces of the Python module tilewave._core, one function per module of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/settings/precision_words.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::python {

/// The number of threads as people give it, 0 for all.
inline int checked_threads(int threads) {
  if (threads < 0 || threads > 4096) {
    throw Error(ExitCode::kUsage, "threads=" + std::to_string(threads) + ": use 0 (all) to 4096");
  }
  return threads;
}

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

/// A noise model as Python holds it.
struct PyNoise {
  std::shared_ptr<const circuit::NoiseModel> model;
};

}  // namespace tilewave::python
