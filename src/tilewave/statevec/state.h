// The state of n qubits behind one interface: the CPU engine (cpu/) and the CUDA engine (cuda/)
// implement it, states that ranks share or that stream from host memory (distributed/) and density
// matrices (density.cc) are made of these. It owns the amplitudes and their Layout, runs plans, and
// answers questions about the state without moving it.
//
// Basis states are numbered with qubit 0 as the least significant bit. All answers are about the
// state as it is: nothing is ever renormalised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/stream_layout.h"

namespace tilewave::statevec {

/// What one step of a run took; step is "pass", "marginals", "sample", ...
struct StepTime {
  std::string step;
  double predicted_s = 0;
  double measured_s = 0;
  double bytes = 0;
  /// Where RunObserver::wants_terms: what the engine's rates are multiplied by for this prediction, in
  /// the order of their list (rates/rates_file.h); empty where the step is not made of them.
  std::vector<double> terms = {};
};

class KeptPasses;

/// Called after every step; done and total are predicted seconds of the plan (for progress bars).
struct RunObserver {
  std::function<void(const StepTime&)> on_step;
  /// After a step whose parts ran side by side (a state that streams): each part, its seconds added
  /// up over those who did it.
  std::function<void(const StepTime&)> on_part;
  std::function<void(double done_s, double total_s)> on_progress;
  bool wants_terms = false;      ///< fill StepTime::terms
  bool makes_norm = false;       ///< norm() will be asked: a device sums it up in the last pass
  bool makes_marginals = false;  ///< the same of marginals()
  /// What an engine makes of the plan's passes and its later runs can use again; null: nothing is
  /// kept.
  KeptPasses* tables = nullptr;
};

/// Where the amplitudes of a state lie in a larger memory of blocks: amplitude i at
/// address ^ (bit k of i moved to address_bit[k], for all k).
struct BlockMap {
  std::span<void* const> blocks;  ///< of 2^block_qubits amplitudes each, a device can reach them
  int block_qubits = 0;
  std::uint64_t address = 0;
  std::span<const int> address_bit;
};

/// Runs of 2^run_bits amplitudes in equal distances, `rows` of them, and such groups of rows in
/// `planes`: what one copy between two memories moves.
struct RunShape {
  struct Axis {
    int bits = 0;                ///< log2 of how many
    std::uint64_t step = 0;      ///< amplitudes from one to the next
    std::uint64_t far_step = 0;  ///< ... in the other memory
  };
  int run_bits = 0;
  Axis rows, planes;
  int bits() const { return run_bits + rows.bits + planes.bits; }
};

/// The most qubits that State::joint_probabilities answers for.
inline constexpr std::size_t kMostJointQubits = 24;
/// Throws Error(kUsage) for more than `most` qubits, whose joint outcomes would be too many numbers,
/// and for a qubit that is named twice.
void check_joint_qubits(std::span<const circuit::Qubit> qubits,
                        std::size_t most = kMostJointQubits);

struct Sweep;
struct SweepSum;
struct StringTerm;
struct DenseOp;
enum class PairSum : std::uint8_t;

class State {
 public:
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int num_qubits() const { return num_qubits_; }
  Precision precision() const { return precision_; }
  const Layout& layout() const { return layout_; }
  std::uint64_t known_zero() const { return known_zero_; }  ///< positions
  std::uint64_t num_amplitudes() const { return std::uint64_t{1} << num_qubits_; }

  /// The planner's knowledge of this machine.
  virtual CostModel cost_model() const = 0;
  /// A word for reports: "cpu" or "cuda:0".
  virtual std::string device() const = 0;
  /// How its parts reach each other and why so, for reports; empty where there is nothing to say.
  virtual std::string remark() const { return {}; }

  /// |0...0>.
  virtual void set_zero_state() = 0;
  /// The product of n qubit states; qubit q is a[2q] |0> + a[2q+1] |1>.
  virtual void set_product_state(std::span<const cplx> a) = 0;
  /// All amplitudes, in order of basis states.
  virtual void set_amplitudes(std::span<const cplx> amplitudes) = 0;

  /// Runs a plan made for this state's layout, known zeros and precision.
  virtual void run(const Plan& plan, const RunObserver& observer = {}) = 0;
  /// For a plan that will run many times: makes now, in some seconds, what makes its later runs
  /// faster and is otherwise made beside them (better programs and kernels of its own). Does nothing
  /// on a CPU, nor where several devices or ranks share the state, and nothing a second time.
  /// Without `waits` what is compiled becomes ready beside what comes next, and is waited for by a
  /// later call.
  void prepare(const Plan& plan) { prepare(plan, true); }
  virtual void prepare(const Plan& /*plan*/, bool /*waits*/) {}
  /// Seconds that the next run of a plan is predicted to take as the engine will run it: what
  /// Plan::predicted_s says, but that a device looks at the programs that it has of the passes by now.
  virtual double predicted_s(const Plan& plan) { return plan.predicted_s; }
  /// A state of so few amplitudes that gates are applied one by one, in less time than a look for
  /// their plan takes.
  virtual bool is_tiny() const { return false; }
  /// Of a tiny state: the amplitudes where the qubits of `mask` are as in `value` are multiplied by
  /// the matrix on the targets, 4^k entries, row-major; bit j of an index is targets[j].
  virtual void apply_tiny(std::uint64_t mask, std::uint64_t value,
                          std::span<const circuit::Qubit> targets, std::span<const cplx> m);
  /// The same of gates and matrices of a circuit, one after the other.
  void apply_tiny(const circuit::Circuit& circuit, std::span<const circuit::Op> ops);
  /// Plans a unitary part of a circuit for this state as it is now, and runs it.
  void apply(const circuit::Circuit& circuit, std::span<const circuit::Op> ops);
  /// Options for make_plan that fit this state as it is now.
  PlanOptions plan_options() const;
  /// Brings the layout to the identity without flips (a plan of its own where needed) and clears
  /// known zeros.
  void restore_layout();

  /// Writes zeros where positions are known to be zero, and forgets them.
  virtual void materialize() = 0;

  /// Sum of |amplitude|^2.
  virtual double norm() = 0;
  /// P(qubit = value) of one qubit, from one look at the amplitudes that have it: for those who
  /// change the state next.
  virtual double probability(circuit::Qubit qubit, int value);
  /// P(qubit = 1) for every qubit, from one pass over the state.
  virtual std::vector<double> marginals() = 0;
  /// P of each of the 2^k outcomes of chosen qubits; bit j of an outcome is qubits[j]. k at
  /// most kMostJointQubits.
  virtual std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) = 0;
  /// Amplitudes of chosen basis states.
  virtual std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) = 0;
  /// Basis states drawn with probability |amplitude|^2: for the sorted numbers u in [0, 1), the
  /// first basis state at which the running sum in the order of basis states exceeds u * norm.
  /// O(shots) memory. Restores the layout.
  virtual std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) = 0;
  /// <psi| P_k |psi> without coefficients for every term of the sum; strings of one flip mask share
  /// a pass.
  virtual std::vector<double> expectations(const circuit::PauliSum& sum) = 0;
  /// Projects a qubit on an outcome and multiplies by `scale`; its value is known afterwards. On an
  /// outcome that cannot be nothing is left: all amplitudes are zero.
  virtual void collapse(circuit::Qubit qubit, int outcome, double scale) = 0;
  /// A second state with the same content.
  virtual std::unique_ptr<State> clone() const = 0;
  /// Takes over the content of a state of the same size, precision and kind.
  virtual void copy_from(const State& other) = 0;
  /// A second state with the same content, in the memory of `spare` where that is a state of this
  /// kind and size; otherwise `spare`, which may be null, is given back first.
  std::unique_ptr<State> clone_into(std::unique_ptr<State> spare) const;
  /// All amplitudes in order of basis states, in blocks: f(first basis state, amplitudes). Restores
  /// the layout.
  virtual void for_each_block(
      const std::function<void(std::uint64_t first, std::span<const cplx>)>& f);
  /// Rewrites all amplitudes, in blocks in order of basis states: f(first basis state, amplitudes)
  /// may change them and may be called for several blocks at once. Restores the layout. States
  /// that are not in host memory travel through it, block by block.
  virtual void update_blocks(const std::function<void(std::uint64_t first, std::span<cplx>)>& f);
  /// Gives all amplitudes away in order of basis states, complex numbers of the state's precision
  /// in host memory. The state is empty afterwards and may only be destroyed. States in host memory
  /// give their own memory, without a copy.
  virtual runtime::HostBuffer take_amplitudes();
  /// For those who hold a larger state in parts: runs of 2^run_bits physical amplitudes, in this
  /// state's precision, to or from a buffer on the host. First indices are multiples of a run.
  virtual void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const = 0;
  virtual void write_runs(std::span<const std::uint64_t> firsts, int run_bits,
                          const void* from) = 0;
  /// The same with a shape and a place for each.
  virtual void load_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                         std::span<void* const> from);
  virtual void save_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                         std::span<void* const> to) const;

  /// For checkpoints: every slice of at most 2^slice_bits physical amplitudes that this process holds,
  /// but for those that are known to be zero, in this state's precision: f(index of the first,
  /// bytes). What is known to be zero inside a slice is written as zero. Moves nothing.
  using SliceOut = std::function<void(std::uint64_t first, std::span<const std::byte>)>;
  virtual void save_physical(int slice_bits, const SliceOut& f);
  /// The reverse: f fills the slices of a state of this layout and these known zeros.
  using SliceIn = std::function<void(std::uint64_t first, std::span<std::byte>)>;
  virtual void load_physical(const Layout& layout, std::uint64_t known_zero, int slice_bits,
                             const SliceIn& f);

  /// Brings in, or out, all amplitudes but those of `known_zero`, to or from where they lie in a
  /// larger memory. False where this kind of state cannot, and nothing has happened.
  virtual bool gather(const BlockMap& /*from*/, std::uint64_t /*known_zero*/) { return false; }
  virtual bool scatter(const BlockMap& /*to*/, std::uint64_t /*known_zero*/) const { return false; }

  // ---- beside circuits: operators on all amplitudes at once, see sweep.h ----
  // They want settled states. `first` is what to add to this state's indices where it is a part of
  // a larger one.
  /// restore_layout(), and every process holds the amplitudes of local_range(). Collective.
  virtual void settle() { restore_layout(); }
  virtual bool is_settled() const { return layout_.is_identity(num_qubits_) && !known_zero_; }
  /// The amplitudes this process holds: all, or its share.
  struct Range {
    std::uint64_t first = 0, count = 0;
  };
  virtual Range local_range() const { return {0, num_amplitudes()}; }
  /// Threads for work on the host beside this state: 1 where the state is on a device.
  virtual int host_threads() const { return 1; }
  /// A power of two of amplitudes of local_range() from a multiple of it on.
  virtual void read_local(std::uint64_t first, std::span<cplx> out) const;
  virtual void write_local(std::uint64_t first, std::span<const cplx> in);
  virtual void sweep(const Sweep& s, std::uint64_t first = 0);
  virtual cplx sweep_sum(const SweepSum& s, std::uint64_t first = 0);
  /// With a state of the same size and kind.
  virtual cplx pair_sum(PairSum kind, const State& other);
  /// c this + a other.
  virtual void add_scaled(const State& other, cplx a, cplx c);
  /// Adds the terms applied to another state of the same size and kind, which moves meanwhile.
  virtual void add_strings(State& other, std::span<const StringTerm> terms,
                           std::uint64_t first = 0);
  virtual void apply_dense(const DenseOp& op, std::uint64_t first = 0);

  /// What the memory means from now on. Answers about what it meant before are forgotten: where
  /// positions count as zero that did not, the norm is another one though nothing was written.
  void assume(const Layout& layout, std::uint64_t known_zero) {
    forget_answers();
    layout_ = layout;
    known_zero_ = known_zero;
  }
  /// Bytes of device (or host) memory this state holds, with what it shares with others.
  virtual std::uint64_t memory_bytes() const = 0;
  /// Whether a plan gives the same bits in every process, and cut into pieces anywhere, as checkpoints
  /// want it. A device that has it written by the time there is, or compiled once it ran often, stops
  /// that and writes each pass by itself; other engines always do so.
  virtual void set_reproducible(bool /*value*/) {}
  /// What the states of a device share stays for later ones until the process ends, for programs
  /// that make and give back states again and again.
  virtual void keep_shared_memory() const {}
  /// Nobody uses it for now: who finds too little memory on its device may take its own. False, and
  /// nothing changes, where it is not on one device or holds more than this share of the memory there.
  virtual bool rest(double /*most_share*/) { return false; }
  /// Ends the rest. Whether its memory is still there: without, it can only be destroyed.
  virtual bool wake() { return true; }

 protected:
  State(int num_qubits, Precision precision) : num_qubits_(num_qubits), precision_(precision) {
    layout_ = Layout::identity();
  }
  /// Throws unless a plan is for a state of this size, precision and layout.
  void check_plan(const Plan& plan) const;
  /// Throws Error(kUsage) for a string on a qubit that the state does not have.
  void check_strings(const circuit::PauliSum& sum) const;
  /// ... for qubits that it does not have, or more than joint_probabilities() answers for; for an
  /// amplitude that it does not have.
  void check_joint(std::span<const circuit::Qubit> qubits) const;
  void check_index(std::uint64_t index) const;
  /// Throws Error(kVerification) for a norm that no shots can be drawn by.
  static void check_drawable(double norm);
  /// Norms and probabilities that are kept until the state changes.
  virtual void forget_answers() {}
  int num_qubits_;
  Precision precision_;
  Layout layout_;
  std::uint64_t known_zero_ = 0;
};

/// Draws `shots` basis states with counter-based numbers keyed by (seed, shot): entry s belongs to
/// shot s, so the result is the same for any number of threads.
std::vector<std::uint64_t> sample(State& state, std::uint64_t shots, std::uint64_t seed);

/// Bytes needed for a state of n qubits, with the engine's scratch memory.
std::uint64_t needed_bytes(int num_qubits, Precision precision, int num_threads);

/// A state on the CPU in |0...0>; num_threads 0 takes OpenMP's default. Throws Error(kResources) if
/// memory is refused.
std::unique_ptr<State> make_cpu_state(int num_qubits, Precision precision, int num_threads = 0);
/// What such a state knows of the machine, without its memory.
CostModel cpu_cost_model(int num_qubits, Precision precision, int num_threads = 0);

/// log2 of a number of ranks; throws Error(kUsage) when it is no power of two or leaves a rank no
/// qubit.
int checked_shard_bits(int num_ranks, int num_qubits);

/// A state of 2^g ranks that all live in this process, each a state on the CPU; they share the
/// threads. Runs what several processes or devices run, on one machine.
std::unique_ptr<State> make_logical_state(int num_qubits, Precision precision, int num_threads,
                                          int num_ranks);

/// A state on all processes of a run, one rank each: on the CPU, or on a CUDA device with exchanges
/// between devices or through host memory (distributed/transport.h). The former overlap with
/// passes from `min_sliced_qubits` local qubits on; -1: where it pays.
constexpr int kOnCpu = -1;
std::unique_ptr<State> make_process_state(int num_qubits, Precision precision, int num_threads,
                                          std::shared_ptr<runtime::Ranks> ranks,
                                          int cuda_device = kOnCpu, int min_sliced_qubits = -1);

/// Where the blocks of a streamed state lie (stream_layout.h), in order of addresses.
struct StreamMemory {
  std::vector<void*> blocks;
  std::shared_ptr<void> owner;
  /// For blocks that are not in host memory; both ends may be anywhere.
  std::function<void(void* to, const void* from, std::size_t num_bytes)> copy;
  bool can_scatter = false;  ///< gather() and scatter() of workers came out right here
};
/// A state of which chunks visit the workers, states of a chunk's size, to be worked on.
std::unique_ptr<State> make_streamed_state(const StreamLayout& layout, Precision precision,
                                           StreamMemory memory,
                                           std::vector<std::unique_ptr<State>> workers);

/// A state that streams through CUDA devices from pinned host memory. It uses at most
/// `device_bytes` of each. Throws Error(kResources) when that is too little for any chunk.
std::unique_ptr<State> make_streamed_cuda_state(int num_qubits, Precision precision,
                                                const std::vector<int>& devices,
                                                std::uint64_t device_bytes,
                                                double memory_fraction = 0);

/// A state on several CUDA devices of this process, a rank each. Exchanges overlap with passes from
/// so many local qubits on (negative: from where it pays). `remark`: for reports, on the order of
/// the devices. In a build without CUDA: Error(kResources) that says so.
std::unique_ptr<State> make_multi_cuda_state(int num_qubits, Precision precision,
                                             const std::vector<int>& devices,
                                             int min_sliced_qubits = -1, double memory_fraction = 0,
                                             const std::string& remark = {});

/// A state on a CUDA device in |0...0>. In a build without CUDA: Error(kResources) that says so.
/// With a memory_fraction that share of the device's memory is reserved first, and this state and
/// its clones live there.
std::unique_ptr<State> make_cuda_state(int num_qubits, Precision precision, int device = 0,
                                       double memory_fraction = 0);

}  // namespace tilewave::statevec
