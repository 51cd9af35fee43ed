// Ranks as CUDA devices of one process that reach each other's memory. An exchange needs no buffer:
// a thread loads an amplitude of its own device and the peer's that changes places with it, and
// stores both. Each of two devices works on half of their pairs, and a device deals with all its
// peers at the same time. Every link carries each amplitude once in each direction.
#include <algorithm>
#include <exception>
#include <thread>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/cuda/cuda_state.h"
#include "tilewave/statevec/cuda/exchange_tuning.h"
#include "tilewave/statevec/distributed/distributed_state.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

namespace {

constexpr int kMaxHoles = 48;

/// Spreads a number over the index bits that are no holes.
struct Holes {
  int count = 0;
  std::uint8_t at[kMaxHoles] = {};  // ascending

  __host__ __device__ std::uint64_t spread(std::uint64_t x) const {
    for (int k = 0; k < count; ++k) {
      const std::uint64_t low = x & ((std::uint64_t{1} << at[k]) - 1);
      x = ((x ^ low) << 1) | low;
    }
    return x;
  }
};

enum class Way : std::uint8_t { kBoth, kOut, kIn };

// V: 16 bytes, or one amplitude where runs are shorter. Elements [begin, end) of a part.
template <class V, Way way>
__global__ void __launch_bounds__(kExchangeThreads)
    swap_kernel(V* mine, V* theirs, Holes holes, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint64_t e = begin + static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; e + (kExchangeInFlight - 1) * stride < end; e += kExchangeInFlight * stride) {
    std::uint64_t at[kExchangeInFlight];
    V a[kExchangeInFlight], b[kExchangeInFlight];
#pragma unroll
    for (int k = 0; k < kExchangeInFlight; ++k) {
      at[k] = holes.spread(e + static_cast<std::uint64_t>(k) * stride);
      if (way != Way::kOut) b[k] = theirs[at[k]];
      if (way != Way::kIn) a[k] = mine[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kExchangeInFlight; ++k) {
      if (way != Way::kIn) theirs[at[k]] = a[k];
      if (way != Way::kOut) mine[at[k]] = b[k];
    }
  }
  for (; e < end; e += stride) {
    const std::uint64_t at = holes.spread(e);
    V a{}, b{};
    if (way != Way::kOut) b = theirs[at];
    if (way != Way::kIn) a = mine[at];
    if (way != Way::kIn) theirs[at] = a;
    if (way != Way::kOut) mine[at] = b;
  }
}

/// Parts that change places between two devices, as one of them works on them.
struct Job {
  void* mine = nullptr;    // where the part begins
  void* theirs = nullptr;  // the same on the peer
  Holes holes;             // over elements of V
  std::uint64_t begin = 0, end = 0;
  Way way = Way::kBoth;
  int blocks = 1;
};

template <class V>
void start(const Job& job, const rc::Stream& stream) {
  const auto kernel = job.way == Way::kBoth  ? swap_kernel<V, Way::kBoth>
                      : job.way == Way::kOut ? swap_kernel<V, Way::kOut>
                                             : swap_kernel<V, Way::kIn>;
  rc::launch(kernel, dim3(static_cast<unsigned>(job.blocks)), dim3(kExchangeThreads), 0, stream,
             static_cast<V*>(job.mine), static_cast<V*>(job.theirs), job.holes, job.begin, job.end);
}

template <class T>
class PeerTransport final : public distributed::Transport {
 public:
  explicit PeerTransport(std::vector<int> devices) : devices_(std::move(devices)) {
    rc::connect(devices_);
    streams_.resize(devices_.size());
    for (std::size_t k = 0; k < devices_.size(); ++k) {
      rc::use_device(devices_[k]);
      for (std::size_t p = 1; p < devices_.size(); ++p)
        streams_[k].push_back(std::make_unique<rc::Stream>());
    }
  }

  int num_ranks() const override { return static_cast<int>(devices_.size()); }
  int first_rank() const override { return 0; }
  int num_local() const override { return num_ranks(); }
  const char* name() const override { return "devices"; }
  int num_at_once() const override { return num_ranks(); }
  double bandwidth() const override { return kLinkBandwidth; }
  std::uint64_t ring_bytes() const override { return 0; }

  void for_each_shard(const std::function<void(int)>& f) const override {
    std::vector<std::exception_ptr> failures(devices_.size());
    const auto guarded = [&](int k) {
      try {
        f(k);
      } catch (...) {
        failures[static_cast<std::size_t>(k)] = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    for (int k = 1; k < num_ranks(); ++k) threads.emplace_back(guarded, k);
    guarded(0);
    for (auto& thread : threads) thread.join();
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
  std::vector<double> gather(std::span<const double> mine, std::size_t) const override {
    return {mine.begin(), mine.end()};
  }
  void broadcast(int, void*, std::size_t) const override {}

  void exchange(distributed::Shards shards, const distributed::ShardSwap& swap) override {
    std::uint64_t holes_mask = swap.known_zero, exchanged = 0;
    for (const int p : swap.local_bits) exchanged |= bit(p);
    holes_mask |= exchanged;
    // two amplitudes of FP32 at once where they lie together
    const bool paired = sizeof(T) == 4 && !(holes_mask & 1);
    const int shift = paired ? 1 : 0;
    Holes holes;
    for_each_bit(holes_mask,
                 [&](int p) { holes.at[holes.count++] = static_cast<std::uint8_t>(p - shift); });
    const std::uint64_t count = bit(swap.local_qubits - std::popcount(holes_mask) - shift);
    const auto part_begin = [&](std::uint64_t part) {
      std::uint64_t at = 0;
      for (int j = 0; j < swap.num_bits(); ++j) at |= (part >> j & 1) << swap.local_bits[j];
      return at;
    };
    const std::uint64_t rounds = bit(swap.num_bits());
    for (int rank = 0; rank < num_ranks(); ++rank) {
      rc::use_device(devices_[static_cast<std::size_t>(rank)]);
      for (std::uint64_t d = 1; d < rounds; ++d) {
        const int peer = swap.partner(rank, d);
        const std::uint64_t theirs = swap.value(peer), mine = swap.value(rank);
        const bool there = swap.holds(rank, theirs), back = swap.holds(peer, mine);
        if (!there && !back) continue;
        Job job;
        job.mine = memory(shards, rank) + part_begin(theirs);
        job.theirs = memory(shards, peer) + part_begin(mine);
        job.holes = holes;
        job.begin = rank < peer ? 0 : count / 2;
        job.end = rank < peer ? count / 2 : count;
        job.way = there && back ? Way::kBoth : there ? Way::kOut : Way::kIn;
        if (job.begin == job.end) continue;
        const auto needed = (job.end - job.begin + kExchangeThreads - 1) / kExchangeThreads;
        job.blocks = static_cast<int>(std::min<std::uint64_t>(
            needed, static_cast<std::uint64_t>(exchange_blocks(static_cast<int>(rounds) - 1))));
        const rc::Stream& stream = *streams_[static_cast<std::size_t>(rank)][d - 1];
        if (sizeof(T) == 8 || paired) {
          start<float4>(job, stream);
        } else {
          start<float2>(job, stream);
        }
      }
    }
    for (int rank = 0; rank < num_ranks(); ++rank) {
      rc::use_device(devices_[static_cast<std::size_t>(rank)]);
      for (const auto& stream : streams_[static_cast<std::size_t>(rank)]) stream->synchronize();
    }
  }

  void fetch(distributed::Shards shards, int, int peer, std::span<const std::uint64_t>,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    shards[static_cast<std::size_t>(peer)]->read_runs(theirs, run_bits, to);
  }

 private:
  static Complex<T>* memory(distributed::Shards shards, int rank) {
    return static_cast<CudaState<T>&>(*shards[static_cast<std::size_t>(rank)]).open_memory();
  }

  std::vector<int> devices_;
  std::vector<std::vector<std::unique_ptr<rc::Stream>>> streams_;  // of a device, one a peer
};

}  // namespace

template <class T>
void CudaState<T>::read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const {
  use_device();
  auto* out = static_cast<Complex<T>*>(to);
  for (const std::uint64_t first : firsts) {
    rc::copy(out, amps_ + first, sizeof(Complex<T>) << run_bits, stream_);
    out += bit(run_bits);
  }
  stream_.synchronize();
}

template <class T>
void CudaState<T>::write_runs(std::span<const std::uint64_t> firsts, int run_bits,
                              const void* from) {
  use_device();
  marginals_.clear();
  const auto* in = static_cast<const Complex<T>*>(from);
  for (const std::uint64_t first : firsts) {
    rc::copy(amps_ + first, in, sizeof(Complex<T>) << run_bits, stream_);
    in += bit(run_bits);
  }
  stream_.synchronize();
}

template void CudaState<float>::read_runs(std::span<const std::uint64_t>, int, void*) const;
template void CudaState<double>::read_runs(std::span<const std::uint64_t>, int, void*) const;
template void CudaState<float>::write_runs(std::span<const std::uint64_t>, int, const void*);
template void CudaState<double>::write_runs(std::span<const std::uint64_t>, int, const void*);

}  // namespace cuda

std::unique_ptr<State> make_multi_cuda_state(int num_qubits, Precision precision,
                                             const std::vector<int>& devices) {
  const int bits = checked_shard_bits(static_cast<int>(devices.size()), num_qubits);
  std::shared_ptr<distributed::Transport> transport;
  if (precision == Precision::kDouble) {
    transport = std::make_shared<cuda::PeerTransport<double>>(devices);
  } else {
    transport = std::make_shared<cuda::PeerTransport<float>>(devices);
  }
  std::vector<std::unique_ptr<State>> shards;
  for (const int device : devices)
    shards.push_back(make_cuda_state(num_qubits - bits, precision, device));
  return std::make_unique<distributed::DistributedState>(num_qubits, precision,
                                                         std::move(transport), std::move(shards));
}

}  // namespace tilewave::statevec
