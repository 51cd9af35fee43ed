#include "tilewave/statevec/distributed/host_chunks.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <thread>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/distributed/distributed_state.h"

namespace tilewave::statevec {

namespace distributed {

std::uint64_t ChunkStore::address(int chunk, std::uint64_t index) const {
  const std::uint64_t values =
      (static_cast<std::uint64_t>(chunk) << layout.chunk_qubits | index) ^ inverted;
  std::uint64_t at = 0;
  for (int p = 0; p < layout.num_qubits; ++p) at |= (values >> p & 1) << address_bit[p];
  return at;
}

void ChunkStore::reset() {
  address_bit.resize(static_cast<std::size_t>(layout.num_qubits));
  for (int p = 0; p < layout.num_qubits; ++p) address_bit[static_cast<std::size_t>(p)] = p;
  inverted = 0;
}

char* ChunkStore::at(int chunk, std::uint64_t index) const {
  const std::uint64_t a = address(chunk, index);
  return static_cast<char*>(memory.blocks[a >> layout.block_qubits]) +
         (a & low_mask(layout.block_qubits)) * layout.amplitude_bytes;
}

void ChunkStore::copy(void* to, const void* from, std::size_t num_bytes, std::uint64_t a) const {
  if (layout.device_of_block[a >> layout.block_qubits] == StreamLayout::kHostBlock) {
    std::memcpy(to, from, num_bytes);
  } else {
    memory.copy(to, from, num_bytes);
  }
}

void ChunkStore::read(int chunk, std::uint64_t index, void* to, std::size_t num_bytes) const {
  copy(to, at(chunk, index), num_bytes, address(chunk, index));
}

void ChunkStore::write(int chunk, std::uint64_t index, const void* from, std::size_t num_bytes) {
  copy(at(chunk, index), from, num_bytes, address(chunk, index));
}

int ChunkStore::run_bits() const {
  int bits = 0;
  while (bits < layout.block_qubits && address_bit[bits] == bits && !(inverted >> bits & 1)) ++bits;
  return bits;
}

WorkerPool::WorkerPool(std::vector<std::unique_ptr<State>> workers) : all_(std::move(workers)) {
  for (const auto& worker : all_) free_.push_back(worker.get());
}

void WorkerPool::borrow(const std::function<void(State&)>& f) {
  State* worker = nullptr;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty(); });
    worker = free_.back();
    free_.pop_back();
  }
  std::exception_ptr failure;
  try {
    f(*worker);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(worker);
  }
  freed_.notify_one();
  if (failure) std::rethrow_exception(failure);
}

std::uint64_t WorkerPool::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& worker : all_) bytes += worker->memory_bytes();
  return bytes;
}

namespace {

constexpr int kMostCopies = 7;            // log2: a copy takes microseconds to start
constexpr std::size_t kManyIndices = 64;  // more are read in a visit

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
    layout_ = Layout::identity();
    known_zero_ = low_mask(num_qubits_);
    if (precision_ == Precision::kDouble) {
      const Complex<double> one{1, 0};
      store_->write(chunk_, 0, &one, sizeof one);
    } else {
      const Complex<float> one{1, 0};
      store_->write(chunk_, 0, &one, sizeof one);
    }
  }
  void set_product_state(std::span<const cplx> a) override {
    fill([&](State& w) { w.set_product_state(a); });
  }
  void set_amplitudes(std::span<const cplx> a) override {
    fill([&](State& w) { w.set_amplitudes(a); });
  }
  void run(const Plan& plan, const RunObserver& observer) override {
    change([&](State& w) { w.run(plan, observer); });
  }
  void materialize() override {
    if (known_zero_) change([](State& w) { w.materialize(); });
  }
  double norm() override {
    return ask<double>([](State& w) { return w.norm(); });
  }
  std::vector<double> marginals() override {
    return ask<std::vector<double>>([](State& w) { return w.marginals(); });
  }
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override {
    return ask<std::vector<double>>([&](State& w) { return w.joint_probabilities(qubits); });
  }
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override {
    if (indices.size() > kManyIndices)
      return ask<std::vector<cplx>>([&](State& w) { return w.amplitudes(indices); });
    std::vector<cplx> out;
    for (const std::uint64_t index : indices) {
      if (index & known_zero_) {
        out.push_back(0);
      } else if (precision_ == Precision::kDouble) {
        Complex<double> z;
        store_->read(chunk_, index, &z, sizeof z);
        out.push_back({z.re, z.im});
      } else {
        Complex<float> z;
        store_->read(chunk_, index, &z, sizeof z);
        out.push_back({z.re, z.im});
      }
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
    layout_ = from->layout_;
    known_zero_ = from->known_zero_;
    const int bits = std::min(store_->run_bits(), from->store_->run_bits());
    std::vector<char> run(store_->layout.amplitude_bytes << bits);
    for (std::uint64_t first = 0; first < num_amplitudes(); first += bit(bits)) {
      from->store_->read(from->chunk_, first, run.data(), run.size());
      store_->write(chunk_, first, run.data(), run.size());
    }
  }
  void for_each_block(const std::function<void(std::uint64_t, std::span<const cplx>)>& f) override {
    ask<int>([&](State& w) { return w.for_each_block(f), 0; });
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
    for_each_run(firsts, run_bits, [&](std::uint64_t at, std::uint64_t index, std::size_t bytes) {
      store_->write(chunk_, index, static_cast<const char*>(from) + at, bytes);
    });
  }
  std::uint64_t memory_bytes() const override {
    return store_->layout.amplitude_bytes << store_->layout.chunk_qubits;
  }

 private:
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

  // The chunk's contiguous runs, without those known to be zero: indices and places.
  struct Runs {
    int bits = 0;
    std::vector<std::uint64_t> firsts;
    std::vector<void*> places;
  };
  std::uint64_t free_bits(std::uint64_t known_zero, int run_bits) const {
    return low_mask(num_qubits_) & ~low_mask(run_bits) & ~known_zero;
  }
  Runs runs(std::uint64_t known_zero) const {
    Runs out;
    out.bits = store_->run_bits();
    const std::uint64_t free = free_bits(known_zero, out.bits);
    for (std::uint64_t k = 0; k < bit(std::popcount(free)); ++k) {
      out.firsts.push_back(deposit_bits(k, free));
      out.places.push_back(store_->at(chunk_, out.firsts.back()));
    }
    return out;
  }
  // Many short runs cost more to start than to copy: a worker that can fetches them by itself.
  bool are_scattered(std::uint64_t known_zero) const {
    return store_->memory.can_scatter &&
           std::popcount(free_bits(known_zero, store_->run_bits())) > kMostCopies;
  }
  void load(State& w) const {
    if (!are_scattered(known_zero_) || !w.gather(store_->map(chunk_), known_zero_)) {
      const Runs r = runs(known_zero_);
      w.load_runs(r.firsts, r.bits, r.places);
    }
    w.assume(layout_, known_zero_);
  }
  void store(const State& w) {
    layout_ = w.layout();
    known_zero_ = w.known_zero();
    if (are_scattered(known_zero_) && w.scatter(store_->map(chunk_), known_zero_)) return;
    const Runs r = runs(known_zero_);
    w.save_runs(r.firsts, r.bits, r.places);
  }
  void fill(const std::function<void(State&)>& f) {
    workers_->borrow([&](State& w) {
      f(w);
      store(w);
    });
  }
  void change(const std::function<void(State&)>& f) {
    workers_->borrow([&](State& w) {
      load(w);
      f(w);
      store(w);
    });
  }
  template <class R>
  R ask(const std::function<R(State&)>& f) {
    R result{};
    workers_->borrow([&](State& w) {
      load(w);
      result = f(w);
    });
    return result;
  }

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
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
      for (int k = next++; k < num_ranks(); k = next++) {
        try {
          f(k);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < std::min(workers_->size(), num_ranks()); ++t) threads.emplace_back(work);
    work();
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
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
  auto pool = std::make_shared<distributed::WorkerPool>(std::move(workers));
  std::vector<std::unique_ptr<State>> chunks;
  for (int k = 0; k < layout.num_chunks(); ++k)
    chunks.push_back(std::make_unique<distributed::ChunkState>(k, store, pool));
  return std::make_unique<distributed::DistributedState>(
      layout.num_qubits, precision, std::make_shared<distributed::StreamTransport>(store, pool),
      std::move(chunks));
}

}  // namespace tilewave::statevec
