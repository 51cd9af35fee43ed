// A process's shard of a state that processes share (shared_state.h), in memory of its CPU or on its
// CUDA device: what it does by itself, and together with the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/parametric/plan/stretches.h"
#include "tilewave/parametric/plan/strings.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::parametric {

/// What all shards of a state do. Wires 0 .. local - 1 of the places are in memory, the further ones
/// number the process.
struct ShardPlan {
  Actions actions;
  Stretches stretches;
  Strings strings;                // on places
  std::vector<Program> programs;  // of the stretches; sweeps are the last one's
  int local = 0;
  bool reaches_others = false;  // whether a string has X or Y on a wire that numbers the process

  std::uint64_t process_of(std::uint64_t wires) const { return wires >> local; }
};

class Shard {
 public:
  virtual ~Shard() = default;

  /// Takes the memory. Throws Error(kResources).
  virtual void prepare() = 0;
  /// Collective, once.
  virtual void connect() = 0;
  /// What amplitudes travel over, behind `connect`: "TCP", "NCCL 2.28.9".
  virtual std::string link() const = 0;

  /// Values of all parameters, for what follows.
  virtual void bind(const double* values, std::size_t num_parameters) = 0;
  /// psi = |0...0>, whose one amplitude the first process has.
  virtual void start() = 0;
  /// psi through a stretch. The one before it, or `start`, came before.
  virtual void forward(std::size_t stretch) = 0;
  /// Collective. A place in memory and one of processes change, in psi, and in lam where `both`.
  virtual void exchange(std::pair<int, int> places, bool both) = 0;
  /// Collective. This process's part of the expectation of every observable.
  virtual void read(double* of_observables) = 0;
  /// Collective. lam = sum_m v[m] O_m psi; false where there are no strings, and so no derivatives.
  virtual bool make_lam(const double* v) = 0;
  /// Both states back through a stretch, from where the last one left them. Adds this process's part
  /// of the derivatives by parameters.
  virtual void backward(std::size_t stretch, double* of_parameters) = 0;
  /// Between calls: memory that others may have.
  virtual void rest() = 0;
};

/// `plan` outlives it.
template <class T>
std::unique_ptr<Shard> make_host_shard(const ShardPlan& plan, int num_threads,
                                       std::shared_ptr<runtime::Ranks> ranks);
/// On a CUDA device, whose tiles (kDeviceRowBits) the plan has. Throws Error(kResources) without it.
template <class T>
std::unique_ptr<Shard> make_device_shard(const ShardPlan& plan, int device,
                                         std::shared_ptr<runtime::Ranks> ranks);

/// Derivatives by the angles of a stretch become those by parameters: read(j) is the j-th.
template <class F>
void add_derivatives(const Actions& actions, std::span<const std::uint32_t> angles, F read,
                     double* of_parameters) {
  for (std::size_t j = 0; j < angles.size(); ++j) {
    for (const circuit::AffineTerm& t : actions.angles[angles[j]].terms)
      of_parameters[t.parameter] += t.coefficient * read(j);
  }
}

}  // namespace tilewave::parametric
