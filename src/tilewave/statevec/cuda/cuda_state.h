// The state on one CUDA device: amplitudes in the memory of the device, in place, and nothing else
// of its own: programs and observations use the workspace of the device (workspace.h). See state.h;
// the tile passes are in tile_kernel.cuh, the observations in observe.cuh.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/tile_launch.h"
#include "tilewave/statevec/cuda/workspace.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::cuda {

/// The device copy of a plan's tile programs, kept while the same plan is run again.
struct LoweredPlan {
  struct Step {
    tile::PassFrame frame;
    std::size_t pass = 0;              ///< of the plan; a long one has several steps
    std::size_t code = 0, tables = 0;  ///< offsets in the workspace
    const void* kernel = nullptr;      ///< compiled for it; null: the interpreter runs it
    std::vector<std::byte> numbers;    ///< what that takes, see JitSource
    /// The kernel to come, if any, of it or of what takes its place.
    std::shared_ptr<JitCache::Entry> jit;
    double predicted_s = 0;  ///< a share of the pass's, which decides when it is compiled
    tile::OpCosts paid = tile::no_costs();  ///< what its program is made of
  };
  std::uint64_t key = 0,  ///< set once every pass has its programs
      epoch = 0;          ///< of the workspace: every program is there as long as it lasts
  std::shared_ptr<const ProgramStore::Plan> programs;  ///< what they are, where they are kept
  std::vector<Step> steps;
};

template <class T>
class CudaState final : public State {
 public:
  /// `workspace`: null for the one that the states of the device share.
  CudaState(int num_qubits, int device, std::shared_ptr<Workspace> workspace = nullptr);
  ~CudaState() override;

  CostModel cost_model() const override;
  std::string device() const override { return "cuda:" + std::to_string(info_.index); }
  void set_zero_state() override;
  void set_product_state(std::span<const cplx> a) override;
  void set_amplitudes(std::span<const cplx> amplitudes) override;
  void run(const Plan& plan, const RunObserver& observer) override;
  void prepare(const Plan& plan, bool waits) override;
  void set_reproducible(bool value) override { is_reproducible_ = value; }
  double predicted_s(const Plan& plan) override;
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
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override;
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override;
  void load_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                 std::span<void* const> from) override;
  void save_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                 std::span<void* const> to) const override;
  bool gather(const BlockMap& from, std::uint64_t known_zero) override;
  bool scatter(const BlockMap& to, std::uint64_t known_zero) const override;
  std::uint64_t memory_bytes() const override { return state_bytes() + workspace_->num_bytes(); }
  void keep_shared_memory() const override { Workspace::keep(workspace_); }
  bool rest(double most_share) override;
  bool wake() override;
  void sweep(const Sweep& s, std::uint64_t first) override;
  cplx sweep_sum(const SweepSum& s, std::uint64_t first) override;
  cplx pair_sum(PairSum kind, const State& other) override;
  void add_scaled(const State& other, cplx a, cplx c) override;
  void add_strings(State& other, std::span<const StringTerm> terms, std::uint64_t first) override;
  void apply_dense(const DenseOp& op, std::uint64_t first) override;
  int device_index() const { return info_.index; }
  /// Starts the passes of a plan on the memory from index `first` on; nothing is checked or
  /// remembered, and the call does not wait. `is_busy`: the device has as much to do already.
  void start_passes(const Plan& plan, std::uint64_t first, bool is_busy);
  const runtime::cuda::Stream& stream() const { return stream_; }
  /// The workspace, for work on this state.
  Workspace::Lease lease() { return {*workspace_, stream_}; }
  /// The amplitudes, for an exchange that changes them.
  Complex<T>* open_memory() {
    forget_answers();
    return amps_;
  }

 private:
  void move_blocks(const BlockMap& map, std::uint64_t known_zero, bool in) const;
  std::uint64_t state_bytes() const { return num_amplitudes() * sizeof(Complex<T>); }
  /// Writes passes for this device and its workspace. Under a lease, as what follows.
  PassWriter writer() const;
  /// Whether better programs are looked for: small circuits have the same bits every time.
  bool improves() const { return !is_reproducible_ && num_qubits_ >= cost_.search_from_qubits; }
  /// The best ways of the passes, where they are known.
  std::optional<std::vector<tile::PassWays::Pass>> known_ways(const Plan& plan);
  /// The programs of passes [first, last), side by side in about `spare_s`, or by their best ways.
  void lower_ahead(const Plan& plan, std::size_t first, std::size_t last, double spare_s,
                   const std::optional<std::vector<tile::PassWays::Pass>>& ways,
                   ProgramStore::Plan& to);
  /// Has the passes of a plan written better in the background.
  void improve(const Plan& plan, std::uint64_t key, const ProgramStore::Plan* kept);
  /// Of a program that was kept with one, which may have come out too long since.
  PassKernel kernel_now(const CompiledPass& compiled) const;
  /// Has kernels compiled that programs lack. Whether there are any.
  bool request_kernels(const ProgramStore::Plan& programs);
  /// Takes over what was written in the background.
  void take_written();
  /// Copies a program of a pass to the device.
  LoweredPlan::Step upload(const tile::TilePass& program, std::size_t pass,
                           const PassKernel* kernel);
  /// Calls f with each step of a pass as it has its place on the device: those of compiled kernels
  /// where all are made. The next one may take that place, once what was started is done.
  void for_each_step(const ProgramStore::Plan& programs, const Plan& plan, std::size_t pass,
                     const std::function<void(const LoweredPlan::Step&)>& f);
  /// What programs of a plan are kept under.
  std::uint64_t key_of(const Plan& plan) const;
  /// How many ways to write a pass are tried where `spare_s` are free for them.
  int tries_of(const Pass& pass, double spare_s) const;
  /// Seconds of a program of `pass`.
  double program_s(const tile::OpCosts& paid, bool compiled, const Pass& pass) const;
  bool is_wide(const Pass& pass) const {
    return static_cast<int>(pass.active.size()) > launchers_[0].shape().tile_qubits;
  }
  /// Sets what the programs of a pass that has run were predicted to take, and their terms.
  void predict_step(const Plan& plan, std::size_t pass, bool wants_terms, StepTime& step) const;
  /// Kernels that steps wait for are made, or others are to be made instead.
  bool has_new_kernels() const;
  /// What the last pass of a run sums up as it stores, see PassArguments.
  struct TileSums {
    double* at = nullptr;
    bool of_slots = false;
    int block_qubits = 0;
  };
  void start(TileLauncher<T>& launcher, const LoweredPlan::Step& step, Complex<T>* amplitudes,
             const TileSums& sums);
  /// Room for what the observer asks of the last pass: marginals only where they fit.
  TileSums take_sums(Workspace::Lease& lease, const RunObserver& observer, int block_qubits) const;
  /// The norm and, if they were made, the marginals from the sums of a pass that has started.
  void finish_sums(Workspace::Lease& lease, const TileSums& sums, const tile::PassFrame& frame);
  double sum(Workspace::Lease& lease, const double* values, std::uint64_t count);
  /// Marginals of qubits from the sums where a position is 1.
  std::vector<double> by_qubit(double whole, std::span<const double> ones) const;
  void use_device() const;
  void forget_answers() override {
    marginals_.clear();
    norm_.reset();
  }
  /// The one with the smallest tile that holds the pass.
  TileLauncher<T>& launcher_of(const Pass& pass);
  /// The amplitudes of another state on a device, done with what it was doing; null where it is
  /// elsewhere. The device of this state is current afterwards.
  const Complex<T>* memory_of(const State& other) const;
  /// Copies host values into scratch memory.
  template <class V>
  V* to_device(Workspace::Lease& lease, std::span<const V> values);
  template <class V>
  std::vector<V> to_host(const V* values, std::size_t count);

  runtime::CudaDevice info_;
  CostModel cost_;
  runtime::cuda::Stream stream_;
  runtime::cuda::DeviceArena memory_;
  Complex<T>* amps_ = nullptr;  ///< exactly 2^n: tiles of smaller states are not read beyond
  std::shared_ptr<Workspace> workspace_;
  LoweredPlan lowered_;
  bool is_reproducible_ = false;
  std::vector<TileLauncher<T>> launchers_;  ///< by ascending size of their tiles
  std::vector<double> marginals_;           ///< cached until the state changes
  std::optional<double> norm_;              ///< from the last pass, until the state changes
};

/// A state with a workspace of its own, for several that work at the same time; both in the
/// reservation, if any.
std::unique_ptr<State> make_state_apart(
    int num_qubits, Precision precision, int device,
    std::shared_ptr<runtime::cuda::DeviceReservation> reservation = nullptr);

}  // namespace tilewave::statevec::cuda
