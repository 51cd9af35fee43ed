// `tilewave tune`: measures a device, finds every number that the planner and the writer of programs
// use, and checks predictions against measured times of circuits.
//
//   probes    passes with many steps of one kind (statevec/rates/probes.h), over a state that no cache
//             holds, and empty ones over smaller states
//   families  the passes of the benchmark's circuits, each timed apart
//   fit       rates by least squares to both (statevec/rates/fit.h)
//   check     the time of every circuit, predicted by the rates found, beside the measured one
//
// The numbers are fitted to the probes and to circuits a few qubits smaller than those of the check,
// except the costs of kernels that are compiled for a pass: compiling takes most of the time there is,
// so those are fitted to the kernels of the check itself.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tilewave/statevec/rates/rates_file.h"

namespace tilewave::simulate {

struct TuneOptions {
  int cuda_device = -1;  ///< -1: the CPU
  double most_s = 60;    ///< about so long; what was begun is measured whole
  int most_qubits = 0;   ///< of the check; 0: what fits the device and the time
  /// What happens, a line each; details of every probe with `verbose`.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
  bool verbose = false;
};

struct TuneResult {
  statevec::rates::RatesFile file;
  std::vector<std::string> notes;  ///< what was not measured or not checked, and why
  double fit_rms = 0;              ///< of the passes that rates were fitted to, relative
};

/// Spread and drift of repeated measurements above which rates are not to be trusted. A GPU clocks
/// itself by the power that it takes: an H100 by itself drifts by 14%, at a spread of 0.1%.
inline constexpr double kMostSpread = 0.05;
inline constexpr double most_drift(statevec::rates::Kind kind) {
  return kind == statevec::rates::Kind::kCpu ? 0.12 : 0.2;
}

/// Throws Error(kResources) where there is no such device or not enough memory free.
TuneResult tune(const TuneOptions& options);

/// What numbers there are.
std::span<const statevec::rates::NumberInfo> tuned_numbers(statevec::rates::Kind kind);

}  // namespace tilewave::simulate
