// The chunks of a streamed state as shards of a distributed one, and the transport between them: an
// exchange changes names. See host_chunks.h.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/distributed/distributed_state.h"
#include "tilewave/statevec/distributed/host_chunks.h"

namespace tilewave::statevec {

namespace distributed {

namespace {

// Copies that pay, found on one H200, 2026-11-22 (both ways at once, each way): pieces of 8 MiB
// move at 49 GB/s and of 1 MiB at 43, whatever their rows from 256 bytes on; the kernel at 35.
constexpr int kMostCopies = 7;                               // log2: so few are nothing to start
constexpr std::uint64_t kLongCopy = std::uint64_t{1} << 19;  // bytes
constexpr std::uint64_t kShortRow = 256;                     // bytes
constexpr std::size_t kManyIndices = 64;                     // more are read in a visit

/// One chunk as a State: every question and every plan is a visit to a worker.
class ChunkState final : public State {
 public:
  ChunkState(int chunk, std::shared_ptr<ChunkStore> store, std::shared_ptr<WorkerPool> workers)
      : State(store->layout.chunk_qubits, workers->any().precision()),
        chunk_(chunk),
        store_(std::move(store)),
        workers_(std::move(workers)) {
    set_zero_state();
  }

  CostModel cost_model() const override { return workers_->any().cost_model(); }
  std::string device() const override { return workers_->any().device(); }
  void set_zero_state() override {
    assume(Layout::identity(), low_mask(num_qubits_));
    const cplx one = 1;
    write_local(0, {&one, 1});
  }
  void set_product_state(std::span<const cplx> a) override {
    fill([&](State& w) { w.set_product_state(a); });
  }
  void set_amplitudes(std::span<const cplx> a) override {
    fill([&](State& w) { w.set_amplitudes(a); });
  }
  void set_reproducible(bool value) override { is_reproducible_ = value; }
  void run(const Plan& plan, const RunObserver& observer) override {
    change([&](State& w) {
      w.set_reproducible(is_reproducible_);  // the worker serves other states too
      w.run(plan, observer);
    });
  }
  void materialize() override {
    if (known_zero_) change([](State& w) { w.materialize(); });
  }
  double norm() override { return sums().norm; }
  std::vector<double> marginals() override { return sums().marginals; }
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override {
    return ask<std::vector<double>>([&](State& w) { return w.joint_probabilities(qubits); });
  }
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override {
    if (indices.size() > kManyIndices)
      return ask<std::vector<cplx>>([&](State& w) { return w.amplitudes(indices); });
    std::vector<cplx> out(indices.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (!(indices[k] & known_zero_)) read_local(indices[k], {&out[k], 1});
    }
    return out;
  }
  std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) override {
    return ask<std::vector<std::uint64_t>>([&](State& w) { return w.sample_sorted(sorted_u); });
  }
  std::vector<double> expectations(const circuit::PauliSum& sum) override {
    return ask<std::vector<double>>([&](State& w) { return w.expectations(sum); });
  }
  void collapse(circuit::Qubit qubit, int outcome, double scale) override {
    change([&](State& w) { w.collapse(qubit, outcome, scale); });
  }
  std::unique_ptr<State> clone() const override {
    throw Error(ExitCode::kResources,
                "a state that streams from host memory cannot be copied: use a device that holds "
                "it, or --device cpu");
  }
  void copy_from(const State& other) override {
    const auto* from = dynamic_cast<const ChunkState*>(&other);
    TW_CHECK(from && from->num_qubits_ == num_qubits_, "a chunk takes over one of its kind");
    assume(from->layout_, from->known_zero_);
    const int bits = std::min(store_->run_bits(), from->store_->run_bits());
    std::vector<char> run(store_->layout.amplitude_bytes << bits);
    for (std::uint64_t first = 0; first < num_amplitudes(); first += bit(bits)) {
      from->store_->read(from->chunk_, first, run.data(), run.size());
      store_->write(chunk_, first, run.data(), run.size());
    }
  }
  void update_blocks(const std::function<void(std::uint64_t, std::span<cplx>)>& f) override {
    change([&](State& w) { w.update_blocks(f); });
  }
  void sweep(const Sweep& s, std::uint64_t first) override {
    change([&](State& w) { w.sweep(s, first); });
  }
  cplx sweep_sum(const SweepSum& s, std::uint64_t first) override {
    return ask<cplx>([&](State& w) { return w.sweep_sum(s, first); });
  }
  void apply_dense(const DenseOp& op, std::uint64_t first) override {
    change([&](State& w) { w.apply_dense(op, first); });
  }
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override {
    for_each_run(firsts, run_bits, [&](std::uint64_t at, std::uint64_t index, std::size_t bytes) {
      store_->read(chunk_, index, static_cast<char*>(to) + at, bytes);
    });
  }
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override {
    forget_answers();
    for_each_run(firsts, run_bits, [&](std::uint64_t at, std::uint64_t index, std::size_t bytes) {
      store_->write(chunk_, index, static_cast<const char*>(from) + at, bytes);
    });
  }
  std::uint64_t memory_bytes() const override {
    return store_->layout.amplitude_bytes << store_->layout.chunk_qubits;
  }

 private:
  void forget_answers() override { sums_.reset(); }
  // From one visit, until the chunk changes.
  struct Sums {
    double norm = 0;
    std::vector<double> marginals;
  };
  const Sums& sums() {
    if (!sums_) sums_ = ask<Sums>([](State& w) { return Sums{w.norm(), w.marginals()}; });
    return *sums_;
  }

  template <class F>
  void for_each_run(std::span<const std::uint64_t> firsts, int run_bits, F f) const {
    const int bits = std::min(run_bits, store_->run_bits());
    const std::size_t bytes = store_->layout.amplitude_bytes << bits;
    std::uint64_t at = 0;
    for (const std::uint64_t first : firsts) {
      for (std::uint64_t k = 0; k < bit(run_bits - bits); ++k, at += bytes)
        f(at, first + (k << bits), bytes);
    }
  }

  // A visit brings the chunk by copies, or a worker fetches it itself where they would be too many
  // and too short.
  bool are_scattered(const ChunkPieces& p) const {
    if (!store_->memory.can_scatter) return false;
    const std::uint64_t amplitude = store_->layout.amplitude_bytes;
    return (p.shape.rows.bits && amplitude << p.shape.run_bits < kShortRow) ||
           (p.log_count() > kMostCopies && amplitude << p.shape.bits() < kLongCopy);
  }
  template <class F>
  void copy_pieces(const ChunkPieces& p, F f) const {
    std::vector<std::uint64_t> firsts;
    std::vector<void*> places;
    for (std::uint64_t k = 0; k < bit(p.log_count()); ++k) {
      firsts.push_back(deposit_bits(k, p.free));
      places.push_back(store_->at(chunk_, firsts.back()));
    }
    f(firsts, places);
  }
  void load(State& w) const {
    const ChunkPieces p = store_->pieces(known_zero_);
    if (!are_scattered(p) || !w.gather(store_->map(chunk_), known_zero_)) {
      copy_pieces(
          p, [&](const auto& firsts, const auto& places) { w.load_runs(firsts, p.shape, places); });
    }
    w.assume(layout_, known_zero_);
  }
  void store(const State& w) {
    layout_ = w.layout();
    known_zero_ = w.known_zero();
    const ChunkPieces p = store_->pieces(known_zero_);
    if (are_scattered(p) && w.scatter(store_->map(chunk_), known_zero_)) return;
    copy_pieces(
        p, [&](const auto& firsts, const auto& places) { w.save_runs(firsts, p.shape, places); });
  }
  double link_bytes() const {
    return static_cast<double>(store_->layout.amplitude_bytes *
                               store_->num_on_host(chunk_, known_zero_));
  }
  // One visit: in, where there is something to bring, f, and out where it changes.
  void visit(bool loads, bool stores, const std::function<void(State&)>& f) {
    workers_->borrow([&](WorkerPool::Worker& worker) {
      State& w = *worker.state;
      VisitTimes times;
      runtime::Timer timer;
      const auto done = [&](VisitPart& part, double bytes) {
        part = {timer.elapsed_s(), bytes};
        timer.reset();
      };
      if (loads) {
        const std::lock_guard alone(worker.link->in);
        done(times.wait_in, 0);
        load(w);
        done(times.in, link_bytes());
      }
      f(w);
      done(times.work, 0);
      if (stores) {
        const std::lock_guard alone(worker.link->out);
        done(times.wait_out, 0);
        store(w);
        done(times.out, link_bytes());
      }
      workers_->add(times);
    });
  }
  void fill(const std::function<void(State&)>& f) {
    forget_answers();
    visit(false, true, f);
  }
  void change(const std::function<void(State&)>& f) {
    forget_answers();
    visit(true, true, f);
  }
  template <class R>
  R ask(const std::function<R(State&)>& f) {
    R result{};
    visit(true, false, [&](State& w) { result = f(w); });
    return result;
  }

  std::optional<Sums> sums_;
  bool is_reproducible_ = false;
  int chunk_;
  std::shared_ptr<ChunkStore> store_;
  std::shared_ptr<WorkerPool> workers_;
};

class StreamTransport final : public Transport {
 public:
  StreamTransport(std::shared_ptr<ChunkStore> store, std::shared_ptr<WorkerPool> workers)
      : store_(std::move(store)), workers_(std::move(workers)) {
    set_remark(store_->layout.text() +
               (store_->memory.can_scatter ? "" : "; short runs are copied one by one, slow"));
  }

  int num_ranks() const override { return store_->layout.num_chunks(); }
  int first_rank() const override { return 0; }
  int num_local() const override { return num_ranks(); }
  const char* name() const override { return "chunks streamed from host memory"; }
  int num_at_once() const override { return store_->layout.num_devices; }
  // an exchange is a change of names, but a further stretch for all chunks
  double bandwidth() const override {
    const StreamLayout& l = store_->layout;
    return static_cast<double>(l.amplitude_bytes << l.chunk_qubits) / l.stretch_s();
  }
  std::uint64_t ring_bytes() const override { return workers_->memory_bytes(); }

  void for_each_shard(const std::function<void(int)>& f) const override {
    std::atomic<int> next = 0;
    runtime::run_on_threads(std::min(workers_->size(), num_ranks()), [&](int) {
      for (int k = next++; k < num_ranks(); k = next++) f(k);
    });
  }
  std::vector<double> gather(std::span<const double> mine, std::size_t) const override {
    return {mine.begin(), mine.end()};
  }
  void broadcast(int, void*, std::size_t) const override {}

  void exchange(Shards, const ShardSwap& swap) override {
    for (int j = 0; j < swap.num_bits(); ++j) {
      const int p = swap.local_bits[j], r = store_->layout.chunk_qubits + swap.rank_bits[j];
      const std::uint64_t opposite = swap.inverted >> swap.rank_bits[j] & 1;
      const std::uint64_t at_p = store_->inverted >> p & 1, at_r = store_->inverted >> r & 1;
      std::swap(store_->address_bit[p], store_->address_bit[r]);
      store_->inverted &= ~(bit(p) | bit(r));
      store_->inverted |= (at_r ^ opposite) << p | (at_p ^ opposite) << r;
    }
  }
  void fetch(Shards shards, int, int peer, std::span<const std::uint64_t>,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    shards[peer]->read_runs(theirs, run_bits, to);
  }
  void forget() override { store_->reset(); }
  std::vector<StepTime> take_parts() override {
    const VisitTimes t = workers_->take_times();
    if (t.work.seconds == 0) return {};
    return {{"wait to come in", 0, t.wait_in.seconds, 0},
            {"copy in", t.in.bytes / StreamLayout::kHostBandwidth, t.in.seconds, t.in.bytes},
            {"passes of a chunk", 0, t.work.seconds, 0},
            {"wait to go out", 0, t.wait_out.seconds, 0},
            {"copy out", t.out.bytes / StreamLayout::kHostBandwidth, t.out.seconds, t.out.bytes}};
  }

 private:
  std::shared_ptr<ChunkStore> store_;
  std::shared_ptr<WorkerPool> workers_;
};

}  // namespace

}  // namespace distributed

std::unique_ptr<State> make_streamed_state(const StreamLayout& layout, Precision precision,
                                           StreamMemory memory,
                                           std::vector<std::unique_ptr<State>> workers) {
  TW_CHECK(memory.blocks.size() == layout.device_of_block.size() &&
               memory.blocks.size() == bit(layout.num_qubits - layout.block_qubits),
           "every block of a streamed state has a place");
  auto store = std::make_shared<distributed::ChunkStore>();
  store->layout = layout;
  store->memory = std::move(memory);
  store->reset();
  auto pool = std::make_shared<distributed::WorkerPool>(std::move(workers), layout.num_devices);
  std::vector<std::unique_ptr<State>> chunks;
  for (int k = 0; k < layout.num_chunks(); ++k)
    chunks.push_back(std::make_unique<distributed::ChunkState>(k, store, pool));
  return std::make_unique<distributed::DistributedState>(
      layout.num_qubits, precision, std::make_shared<distributed::StreamTransport>(store, pool),
      std::move(chunks));
}

}  // namespace tilewave::statevec
