// The state on one CUDA device: amplitudes in the memory of the device, in place, with a small
// reservation beside them for programs and observations. See state.h; the tile passes are in
// tile_kernel.cuh, the observations in observe.cuh.
#pragma once

#include <cstring>
#include <vector>

#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/tile_launch.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::cuda {

/// The device copy of a plan's tile programs, kept while the same plan is run again.
struct LoweredPlan {
  struct Step {
    tile::PassFrame frame;
    std::size_t code = 0, tables = 0;  ///< offsets in the program region
  };
  std::uint64_t key = 0;
  std::vector<std::vector<Step>> passes;  ///< mostly of one step
  bool resident = false;                  ///< every program is in the region
};

template <class T>
class CudaState final : public State {
 public:
  CudaState(int num_qubits, int device,
            std::shared_ptr<runtime::cuda::DeviceReservation> reservation = nullptr);
  ~CudaState() override;

  CostModel cost_model() const override;
  std::string device() const override { return "cuda:" + std::to_string(info_.index); }
  void set_zero_state() override;
  void set_product_state(std::span<const cplx> a) override;
  void set_amplitudes(std::span<const cplx> amplitudes) override;
  void run(const Plan& plan, const RunObserver& observer) override;
  void materialize() override;
  double norm() override;
  std::vector<double> marginals() override;
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override;
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override;
  std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) override;
  std::vector<double> expectations(const circuit::PauliSum& sum) override;
  void collapse(circuit::Qubit qubit, int outcome, double scale) override;
  std::unique_ptr<State> clone() const override;
  void copy_from(const State& other) override;
  void for_each_block(const std::function<void(std::uint64_t, std::span<const cplx>)>& f) override;
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override;
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override;
  void load_runs(std::span<const std::uint64_t> firsts, int run_bits,
                 std::span<void* const> from) override;
  void save_runs(std::span<const std::uint64_t> firsts, int run_bits,
                 std::span<void* const> to) const override;
  std::uint64_t memory_bytes() const override { return arena_.num_bytes(); }
  void sweep(const Sweep& s, std::uint64_t first) override;
  cplx sweep_sum(const SweepSum& s, std::uint64_t first) override;
  cplx pair_sum(PairSum kind, const State& other) override;
  void add_scaled(const State& other, cplx a, cplx c) override;
  void add_strings(State& other, std::span<const StringTerm> terms, std::uint64_t first) override;
  void apply_dense(const DenseOp& op, std::uint64_t first) override;
  int device_index() const { return info_.index; }
  /// Starts the passes of a plan on the memory from index `first` on; nothing is checked or
  /// remembered, and the call does not wait.
  void start_passes(const Plan& plan, std::uint64_t first);
  const runtime::cuda::Stream& stream() const { return stream_; }
  /// The amplitudes, for an exchange that changes them.
  Complex<T>* open_memory() {
    forget_answers();
    return amps_;
  }

 private:
  /// Copies a program to the device; starts the region anew when it is full.
  LoweredPlan::Step upload(const tile::TilePass& program);
  /// The programs of a pass, each small enough for the region.
  std::vector<tile::TilePass> lower(const Plan& plan, std::size_t pass);
  /// Uploads and starts them one by one.
  std::vector<LoweredPlan::Step> start(const std::vector<tile::TilePass>& programs,
                                       TileLauncher<T>& launcher, Complex<T>* state,
                                       bool makes_norm = false);
  void start(TileLauncher<T>& launcher, const LoweredPlan::Step& step, Complex<T>* state,
             bool makes_norm = false);
  void use_device() const;
  void forget_answers() {
    marginals_.clear();
    num_tile_norms_ = 0;
  }
  /// The one with the smallest tile that holds the pass.
  TileLauncher<T>& launcher_of(const Pass& pass);
  /// The amplitudes of another state on a device, done with what it was doing; null where it is
  /// elsewhere. The device of this state is current afterwards.
  const Complex<T>* memory_of(const State& other) const;
  /// Copies host values through pinned memory into scratch memory of the arena.
  template <class V>
  V* to_device(std::span<const V> values);
  template <class V>
  std::vector<V> to_host(const V* values, std::size_t count);

  runtime::CudaDevice info_;
  CostModel cost_;
  runtime::cuda::Stream stream_;
  std::shared_ptr<runtime::cuda::DeviceReservation> reservation_;  ///< clones live there too
  runtime::cuda::DeviceArena arena_;
  Complex<T>* amps_ = nullptr;
  std::uint64_t held_ = 0;  ///< amplitudes in memory: at least a tile
  std::byte* region_ = nullptr;
  std::size_t region_bytes_ = 0, region_used_ = 0;
  runtime::cuda::PinnedBuffer staging_;  ///< mirrors the region
  bool region_restarted_ = false;
  LoweredPlan lowered_;
  std::vector<TileLauncher<T>> launchers_;  ///< by ascending size of their tiles
  std::vector<double> marginals_;           ///< cached until the state changes
  double* tile_norms_ = nullptr;            ///< of every tile of the last pass, made on the way
  std::uint64_t num_tile_norms_ = 0;        ///< 0: not known
};

std::unique_ptr<State> make_state_on(int num_qubits, Precision precision, int device,
                                     std::shared_ptr<runtime::cuda::DeviceReservation> reservation);

/// Bytes reserved beside the amplitudes.
std::uint64_t scratch_bytes(int num_qubits);

}  // namespace tilewave::statevec::cuda
