// Ranks as processes of one host with a device each, that reach each other's device memory: every
// process opens the others' shards and runs the kernels that the devices of one process run
// (peer_swap.cuh). Streams of different processes wait for each other by shared events: one process
// records, all meet on the host, the others let their streams wait.
//
// It is used after a start-up exchange of known numbers came out right on all ranks. A shard is
// opened at its first exchange, by all ranks at once, and closed by all before any gives it back.

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.h"
#include "tilewave/statevec/cuda/peer_swap.cuh"
#include "tilewave/statevec/cuda/process_transports.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

constexpr std::size_t kSlices = std::size_t{1} << kSliceBits;

/// "" or what went wrong, in a form that travels.
struct Outcome {
  std::array<char, 200> text{};
  Outcome() = default;
  explicit Outcome(const std::string& problem) {
    std::strncpy(text.data(), problem.c_str(), text.size() - 1);
  }
};

/// The first problem of any rank, the same on all; empty where there is none.
std::string first_problem(runtime::Ranks& ranks, const std::string& mine) {
  const Outcome outcome(mine);
  std::vector<Outcome> all(static_cast<std::size_t>(ranks.size()));
  ranks.gather(&outcome, all.data(), sizeof outcome);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].text[0]) return "rank " + std::to_string(r) + ": " + all[r].text.data();
  }
  return {};
}

/// f() and what it threw.
template <class F>
std::string problem_of(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    (void)cudaGetLastError();
    return e.what();
  }
  return {};
}

/// Memory and events of all processes, as this one reaches them. Every call is made by all.
class IpcGroup {
 public:
  IpcGroup(std::shared_ptr<runtime::Ranks> ranks, int device)
      : ranks_(std::move(ranks)), device_(device) {}

  /// Empty when the events of all could be opened, otherwise why not.
  std::string connect() {
    const std::vector<std::string> hosts = ranks_->hosts();
    for (const std::string& other : hosts) {
      if (other != hosts[0]) return "ranks on several hosts (" + hosts[0] + ", " + other + ")";
    }
    std::array<cudaIpcEventHandle_t, 2 * kSlices> handles{};
    std::string problem = problem_of([&] {
      for (std::size_t e = 0; e < handles.size(); ++e) own_.emplace_back(&handles[e]);
    });
    std::vector<decltype(handles)> all(size());
    ranks_->gather(&handles, all.data(), sizeof handles);
    problem = first_problem(*ranks_, problem);
    if (!problem.empty()) return problem;
    others_.resize(size());
    problem = problem_of([&] {
      for (std::size_t r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        for (const auto& handle : all[r]) others_[r].emplace_back(handle);
      }
    });
    return first_problem(*ranks_, problem);
  }

  /// The memory of every rank, where `mine` is this one's.
  std::vector<void*> open(void* mine) {
    cudaIpcMemHandle_t handle{};
    std::vector<cudaIpcMemHandle_t> all(size());
    std::string problem = problem_of([&] {
      rc::check(rc::driver().share_memory(&handle, mine), "share memory with other processes");
    });
    ranks_->gather(&handle, all.data(), sizeof handle);
    fail(first_problem(*ranks_, problem));
    std::vector<void*> memory(size(), nullptr);
    memory[rank()] = mine;
    problem = problem_of([&] {
      for (std::size_t r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        rc::check(rc::driver().open_shared(&memory[r], all[r]),
                  "reach the memory of another process");
      }
    });
    problem = first_problem(*ranks_, problem);
    if (!problem.empty()) close(memory);
    fail(problem);
    return memory;
  }
  /// Not collective.
  void close(const std::vector<void*>& memory) noexcept {
    (void)rc::driver().set_device(device_);
    for (std::size_t r = 0; r < memory.size(); ++r) {
      if (r != rank() && memory[r]) (void)rc::driver().close_shared(memory[r]);
    }
  }

  /// Event e of this process: [0, kSlices) passes of a slice, the next as many its exchange.
  void record(std::size_t e, const rc::Stream& stream) { own_[e].record(stream); }
  /// Lets a stream wait for event e of all; they have been recorded and the processes have met.
  void hold(std::size_t e, const rc::Stream& stream) const {
    for (std::size_t r = 0; r < size(); ++r) (r == rank() ? own_[e] : others_[r][e]).hold(stream);
  }

  int device() const { return device_; }
  std::size_t size() const { return static_cast<std::size_t>(ranks_->size()); }
  std::size_t rank() const { return static_cast<std::size_t>(ranks_->rank()); }

 private:
  static void fail(const std::string& problem) {
    if (problem.empty()) return;
    throw Error(ExitCode::kResources, problem + ": TILEWAVE_TRANSPORT=nccl does without");
  }
  std::shared_ptr<runtime::Ranks> ranks_;
  int device_;
  std::vector<rc::Event> own_;
  std::vector<std::vector<rc::Event>> others_;
};

template <class T>
class IpcTransport final : public ProcessTransport {
 public:
  IpcTransport(std::shared_ptr<IpcGroup> group, const ProcessGroup& process)
      : ProcessTransport(process), group_(std::move(group)) {
    for (std::size_t p = 1; p < group_->size(); ++p)
      streams_.push_back(std::make_unique<rc::Stream>(rc::Stream::Urgent{}));
  }
  ~IpcTransport() override {
    for (const auto& [mine, memory] : opened_) group_->close(memory);
  }

  const char* name() const override { return "processes over CUDA IPC"; }
  double bandwidth() const override { return kLinkBandwidth; }
  std::uint64_t ring_bytes() const override { return 0; }

  Overlap overlap() const override {
    int shared = 0;  // local qubits
    while (!is_shared(shared)) ++shared;
    return {kSliceBits, std::max(min_sliced_qubits(), shared), kHiddenShare};
  }

  void exchange(distributed::Shards shards, const distributed::ShardSwap& swap) override {
    if (!is_shared(swap.local_qubits)) return numbers().exchange(shards, swap);
    exchange_in(memory_of(shards), swap);
  }

  // Every rank gives its device the passes of a slice and the exchange that waits for those of all
  // ranks; then the passes after the exchanges of all.
  void exchange_sliced(distributed::Shards shards,
                       const distributed::SlicedExchange& sliced) override {
    const std::vector<Complex<T>*> memory = memory_of(shards);
    CudaState<T>& shard = shard_of(shards);
    const int rank = ranks().rank();
    const auto own = static_cast<std::size_t>(rank);
    const std::size_t slices = sliced.values.size();
    TW_CHECK(slices <= kSlices, "more slices than shared events");
    const int blocks =
        overlapped_blocks(static_cast<int>(bit(sliced.swap.num_bits())) - 1, sliced.flops_per_byte);
    for (std::size_t s = 0; s < slices; ++s) {
      if (sliced.before && !sliced.idle_before[own])
        shard.start_passes(sliced.before(rank, s), sliced.values[s], s > 0);
      group_->record(s, shard.stream());
      ranks().meet();
      for (const auto& stream : streams_) group_->hold(s, *stream);
      start_peer_swap<T>(sliced.swap, rank, memory, {sliced.mask, sliced.values[s]}, blocks,
                         streams_);
      for (std::size_t e = 1; e < streams_.size(); ++e) {
        joined_.record(*streams_[e]);
        joined_.hold(*streams_[0]);
      }
      group_->record(kSlices + s, *streams_[0]);
    }
    ranks().meet();
    for (std::size_t s = 0; sliced.after && s < slices; ++s) {
      group_->hold(kSlices + s, shard.stream());
      if (!sliced.idle_after[own])
        shard.start_passes(sliced.after(rank, s), sliced.values[s], true);
    }
    finish(&shard.stream());
  }

  void swap_shards(distributed::Shards shards, const std::function<int(int)>& partner) override {
    const int local_qubits = shards[0]->num_qubits(), rank = ranks().rank();
    if (!is_shared(local_qubits)) return numbers().swap_shards(shards, partner);
    const std::vector<Complex<T>*> memory = memory_of(shards);
    ranks().meet();
    if (const int peer = partner(rank); peer != rank) {
      SwapJob job;
      job.mine = memory[static_cast<std::size_t>(rank)];
      job.theirs = memory[static_cast<std::size_t>(peer)];
      start_half_swap(job, bit(local_qubits) * sizeof(Complex<T>) / 16, 16, rank < peer,
                      exchange_blocks(1), *streams_[0]);
    }
    finish(nullptr);
  }

  void release(distributed::Shards shards) noexcept override {
    const auto found = opened_.find(shard_of(shards).open_memory());
    if (found == opened_.end()) return;
    group_->close(found->second);
    opened_.erase(found);
    if (ranks().is_finished() || std::uncaught_exceptions() > 0) return;
    try {
      ranks().meet();
    } catch (const Error&) {
      // another process has failed: what comes next finds out
    }
  }

  /// Empty when an exchange of known numbers between all ranks came out right.
  std::string try_exchange() {
    const int bits = std::countr_zero(static_cast<unsigned>(num_ranks()));
    const int local_qubits = 18 + (sizeof(T) == 4);  // 4 MiB
    const int rest = local_qubits - bits;
    const auto rank = static_cast<std::uint64_t>(ranks().rank());
    const auto number = [&](std::uint64_t r, std::uint64_t part, std::uint64_t k) {
      const std::uint64_t i = part << rest | k;
      return Complex<T>{static_cast<T>(i), static_cast<T>(r * 8191 + i % 127)};
    };
    std::vector<Complex<T>> numbers(bit(local_qubits));
    for (std::uint64_t i = 0; i < numbers.size(); ++i)
      numbers[i] = number(rank, i >> rest, i & low_mask(rest));
    rc::DeviceArena arena;
    Complex<T>* mine = nullptr;
    const std::size_t bytes = numbers.size() * sizeof(Complex<T>);
    std::string problem = problem_of([&] {
      arena = rc::DeviceArena(bytes, "the memory of a start-up exchange");
      mine = arena.take<Complex<T>>(numbers.size());
      rc::copy(mine, numbers.data(), bytes, *streams_[0]);
      streams_[0]->synchronize();
    });
    problem = first_problem(ranks(), problem);
    if (!problem.empty()) return problem;
    std::vector<void*> opened;
    problem = problem_of([&] { opened = group_->open(mine); });
    if (!problem.empty()) return problem;  // the same on all ranks
    distributed::ShardSwap swap;
    swap.local_qubits = local_qubits;
    for (int j = 0; j < bits; ++j) {
      swap.local_bits.push_back(rest + j);
      swap.rank_bits.push_back(j);
    }
    swap.idle.assign(group_->size(), false);
    // a rank that fails must not keep the others waiting
    problem = problem_of([&] {
      start_peer_swap<T>(swap, ranks().rank(), typed(opened), {}, exchange_blocks(1), streams_);
      for (const auto& stream : streams_) stream->synchronize();
    });
    problem = first_problem(ranks(), problem);
    if (!problem.empty()) return problem;
    problem = problem_of([&] {
      rc::copy(numbers.data(), mine, bytes, *streams_[0]);
      streams_[0]->synchronize();
      for (std::uint64_t i = 0; i < numbers.size(); ++i) {
        const Complex<T> wanted = number(i >> rest, rank, i & low_mask(rest));
        if (numbers[i].re != wanted.re || numbers[i].im != wanted.im) {
          throw Error(ExitCode::kCommunication, "the start-up exchange brought wrong numbers");
        }
      }
    });
    group_->close(opened);
    return first_problem(ranks(), problem);  // all have closed it
  }

 private:
  static bool is_shared(int local_qubits) {
    return bit(local_qubits) * sizeof(Complex<T>) >= kMinSharedBytes;
  }
  static CudaState<T>& shard_of(distributed::Shards shards) {
    return static_cast<CudaState<T>&>(*shards[0]);
  }
  static std::vector<Complex<T>*> typed(const std::vector<void*>& memory) {
    std::vector<Complex<T>*> out;
    for (void* of_rank : memory) out.push_back(static_cast<Complex<T>*>(of_rank));
    return out;
  }
  /// The shards of all ranks; this one's device is current and idle.
  std::vector<Complex<T>*> memory_of(distributed::Shards shards) {
    rc::use_device(group_->device());
    CudaState<T>& shard = shard_of(shards);
    shard.stream().synchronize();
    void* mine = shard.open_memory();
    auto found = opened_.find(mine);
    if (found == opened_.end()) found = opened_.emplace(mine, group_->open(mine)).first;
    return typed(found->second);
  }
  void exchange_in(const std::vector<Complex<T>*>& memory, const distributed::ShardSwap& swap) {
    ranks().meet();  // the passes of all are done
    const int blocks = exchange_blocks(static_cast<int>(bit(swap.num_bits())) - 1);
    start_peer_swap<T>(swap, ranks().rank(), memory, {}, blocks, streams_);
    finish(nullptr);
  }
  /// Waits for the exchange, and for `passes`, on all ranks.
  void finish(const rc::Stream* passes) {
    ranks().wait_for([&] {
      for (const auto& stream : streams_) {
        if (!stream->is_done()) return false;
      }
      return !passes || passes->is_done();
    });
    ranks().meet();
  }

  std::shared_ptr<IpcGroup> group_;
  std::vector<std::unique_ptr<rc::Stream>> streams_;  // one a peer
  rc::Event joined_;
  std::map<void*, std::vector<void*>> opened_;  // by this process's shard: those of all
};

template <class T>
std::shared_ptr<distributed::Transport> make(const ProcessGroup& process, std::string* problem) {
  struct Joined {
    int device = -1;
    std::shared_ptr<IpcGroup> group;  // null: it does not work
    std::string problem;
  };
  static auto* joined = new Joined;  // once a process: all states share it
  if (joined->device != process.device) {
    joined->device = process.device;
    joined->group = std::make_shared<IpcGroup>(process.ranks, process.device);
    joined->problem = joined->group->connect();
    if (joined->problem.empty())
      joined->problem = IpcTransport<T>(joined->group, process).try_exchange();
    if (!joined->problem.empty()) joined->group = nullptr;
  }
  *problem = joined->problem;
  if (!joined->group) return nullptr;
  return std::make_shared<IpcTransport<T>>(joined->group, process);
}

}  // namespace

std::shared_ptr<distributed::Transport> make_ipc_transport(const ProcessGroup& group,
                                                           Precision precision,
                                                           std::string* problem) {
  return precision == Precision::kDouble ? make<double>(group, problem)
                                         : make<float>(group, problem);
}

}  // namespace tilewave::statevec::cuda
