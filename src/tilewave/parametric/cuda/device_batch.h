// Many sets of values of a circuit whose state fits the registers of a block: each block runs the
// whole circuit for a set at a time, forward and backward, without moving the state to memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tilewave/parametric/plan/lower.h"
#include "tilewave/parametric/plan/strings.h"

namespace tilewave::parametric {

constexpr int kMostBatchWires = 12;

template <class T>
class DeviceBatch {
 public:
  /// Throws Error(kResources) without such a device. `actions` have at most kMostBatchWires wires;
  /// `is_read`: the angles whose derivatives are asked for.
  DeviceBatch(const Actions& actions, const Strings& strings, const std::vector<bool>& is_read,
              int device);
  ~DeviceBatch();

  /// From |0...0>, for values[set][parameter]: expectations[set][observable], unless that is null, and,
  /// where `v` is not null, the derivatives of sum_m v[set][m] E_m: gradient[set][parameter]. Says
  /// whether all values are finite; where one is not, no result is meant.
  bool run(const double* values, std::size_t sets, const double* v, double* expectations,
           double* gradient);

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave::parametric
