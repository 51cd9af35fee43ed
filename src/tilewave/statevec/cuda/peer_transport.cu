// Ranks as CUDA devices of one process that reach each other's memory (peer_swap.cuh).
#include <barrier>
#include <exception>
#include <thread>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/statevec/cuda/cuda_state.h"
#include "tilewave/statevec/cuda/exchange_tuning.h"
#include "tilewave/statevec/cuda/peer_swap.cuh"
#include "tilewave/statevec/distributed/distributed_state.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

namespace {

template <class T>
class PeerTransport final : public distributed::Transport {
 public:
  PeerTransport(std::vector<int> devices, int min_sliced_qubits)
      : devices_(std::move(devices)), min_sliced_qubits_(min_sliced_qubits) {
    rc::connect(devices_);
    streams_.resize(devices_.size());
    for (std::size_t k = 0; k < devices_.size(); ++k) {
      rc::use_device(devices_[k]);
      for (std::size_t p = 1; p < devices_.size(); ++p)
        streams_[k].push_back(std::make_unique<rc::Stream>(rc::Stream::Urgent{}));
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
    runtime::run_on_threads(num_ranks(), f);
  }
  std::vector<double> gather(std::span<const double> mine, std::size_t) const override {
    return {mine.begin(), mine.end()};
  }
  void broadcast(int, void*, std::size_t) const override {}

  Overlap overlap() const override { return {kSliceBits, min_sliced_qubits_, kHiddenShare}; }

  void exchange(distributed::Shards shards, const distributed::ShardSwap& swap) override {
    open_memory(shards);
    const int blocks = exchange_blocks(static_cast<int>(bit(swap.num_bits())) - 1);
    for (int rank = 0; rank < num_ranks(); ++rank) start_exchange(swap, rank, 0, 0, blocks);
    for (int rank = 0; rank < num_ranks(); ++rank) finish(rank);
  }

  // Every device has a thread that gives it work. Passes of all slices are given first, each with
  // an event; the exchange of a slice waits for that slice's events of all devices, and the pass
  // after it for the exchanges of all devices.
  void exchange_sliced(distributed::Shards shards,
                       const distributed::SlicedExchange& sliced) override {
    const std::size_t slices = sliced.values.size(), ranks = devices_.size();
    open_memory(shards);
    const int blocks =
        overlapped_blocks(static_cast<int>(bit(sliced.swap.num_bits())) - 1, sliced.flops_per_byte);
    using Events = std::vector<std::unique_ptr<rc::Event>>;
    // by rank, of full size: threads read one another's
    const std::size_t each = ranks - 1;
    std::vector<Events> passed, exchanged;  // a slice; a slice and stream
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      passed.emplace_back(slices);
      exchanged.emplace_back(slices * each);
    }
    std::barrier meet(static_cast<std::ptrdiff_t>(ranks));
    std::vector<std::exception_ptr> failures(ranks);
    for_each_shard([&](int k) {
      const auto rank = static_cast<std::size_t>(k);
      auto& shard = static_cast<CudaState<T>&>(*shards[rank]);
      // a failure on one device must not keep the others waiting
      const auto guarded = [&](auto f) {
        if (failures[rank]) return;
        try {
          f();
        } catch (...) {
          failures[rank] = std::current_exception();
        }
      };
      guarded([&] { rc::use_device(devices_[rank]); });
      for (std::size_t s = 0; s < slices; ++s) {
        guarded([&] {
          if (sliced.before && !sliced.idle_before[rank])
            shard.start_passes(sliced.before(k, s), sliced.values[s], s > 0);
          auto event = std::make_unique<rc::Event>();
          event->record(shard.stream());
          passed[rank][s] = std::move(event);
        });
        meet.arrive_and_wait();
        guarded([&] {
          for (const auto& stream : streams_[rank]) {
            for (const Events& events : passed) {
              if (events[s]) events[s]->hold(*stream);
            }
          }
          start_exchange(sliced.swap, k, sliced.mask, sliced.values[s], blocks);
          for (std::size_t e = 0; e < each; ++e) {
            auto event = std::make_unique<rc::Event>();
            event->record(*streams_[rank][e]);
            exchanged[rank][s * each + e] = std::move(event);
          }
        });
      }
      meet.arrive_and_wait();
      for (std::size_t s = 0; sliced.after && s < slices; ++s) {
        guarded([&] {
          for (const Events& events : exchanged) {
            for (std::size_t e = s * each; e < (s + 1) * each; ++e) {
              if (events[e]) events[e]->hold(shard.stream());
            }
          }
          if (!sliced.idle_after[rank])
            shard.start_passes(sliced.after(k, s), sliced.values[s], true);
        });
      }
      guarded([&] {
        finish(k);
        shard.stream().synchronize();
      });
    });
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  void fetch(distributed::Shards shards, int, int peer, std::span<const std::uint64_t>,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    shards[static_cast<std::size_t>(peer)]->read_runs(theirs, run_bits, to);
  }

 private:
  /// One device's share of an exchange, for the indices whose bits `slice` have the value; one
  /// stream a peer.
  void start_exchange(const distributed::ShardSwap& swap, int rank, std::uint64_t slice,
                      std::uint64_t value, int blocks) {
    rc::use_device(devices_[static_cast<std::size_t>(rank)]);
    start_peer_swap<T>(swap, rank, memory_, {slice, value}, blocks,
                       streams_[static_cast<std::size_t>(rank)]);
  }

  void finish(int rank) const {
    rc::use_device(devices_[static_cast<std::size_t>(rank)]);
    for (const auto& stream : streams_[static_cast<std::size_t>(rank)]) stream->synchronize();
  }

  void open_memory(distributed::Shards shards) {
    memory_.clear();
    for (const auto& shard : shards)
      memory_.push_back(static_cast<CudaState<T>&>(*shard).open_memory());
  }

  std::vector<int> devices_;
  int min_sliced_qubits_;
  std::vector<Complex<T>*> memory_;  // of every device, during an exchange
  std::vector<std::vector<std::unique_ptr<rc::Stream>>> streams_;  // of a device, one a peer
};

}  // namespace

}  // namespace cuda

std::unique_ptr<State> make_multi_cuda_state(int num_qubits, Precision precision,
                                             const std::vector<int>& devices, int min_sliced_qubits,
                                             double memory_fraction, const std::string& remark) {
  if (min_sliced_qubits < 0) min_sliced_qubits = cuda::kMinSlicedQubits;
  const int bits = checked_shard_bits(static_cast<int>(devices.size()), num_qubits);
  std::shared_ptr<distributed::Transport> transport;
  if (precision == Precision::kDouble) {
    transport = std::make_shared<cuda::PeerTransport<double>>(devices, min_sliced_qubits);
  } else {
    transport = std::make_shared<cuda::PeerTransport<float>>(devices, min_sliced_qubits);
  }
  transport->set_remark(remark);
  std::vector<std::unique_ptr<State>> shards;
  for (const int device : devices)
    shards.push_back(make_cuda_state(num_qubits - bits, precision, device, memory_fraction));
  return std::make_unique<distributed::DistributedState>(num_qubits, precision,
                                                         std::move(transport), std::move(shards));
}

}  // namespace tilewave::statevec
