// Ranks as processes with a device each, on one host or on many, over NCCL: from device memory to
// device memory, where every rank can load it and has a device of its own.
//
// An exchange runs a chunk of all parts at a time over a ring of kChunks chunks in the workspace of
// the device: a kernel gathers what leaves into the ring, all peers' sends and receives start
// together, a kernel puts what came where that was. A chunk is gathered before it is overwritten,
// so nothing else is needed to work in place. Cost: the links; 4 more accesses of device memory an
// amplitude.
#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/cuda/nccl.h"
#include "tilewave/statevec/cuda/cuda_state.h"
#include "tilewave/statevec/cuda/exchange_tuning.h"
#include "tilewave/statevec/cuda/holes.cuh"
#include "tilewave/statevec/cuda/process_transports.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

namespace {

// Elements [begin, end) of a part, to or from a buffer.
template <class V, bool to_buffer>
__global__ void __launch_bounds__(kExchangeThreads)
    chunk_kernel(V* part, V* buffer, Holes holes, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint64_t e = begin + static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; e < end; e += stride) {
    V& amplitude = part[holes.spread(e)];
    if (to_buffer) {
      buffer[e - begin] = amplitude;
    } else {
      amplitude = buffer[e - begin];
    }
  }
}

template <bool to_buffer>
void start_chunk(const Part& part, void* amplitudes, void* buffer, std::uint64_t begin,
                 std::uint64_t end, const rc::Stream& stream) {
  const auto start = [&](auto element) {
    using V = decltype(element);
    const std::uint64_t needed = (end - begin + kExchangeThreads - 1) / kExchangeThreads;
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(needed, kChunkBlocks));
    rc::launch(chunk_kernel<V, to_buffer>, dim3(blocks), dim3(kExchangeThreads), 0, stream,
               static_cast<V*>(amplitudes), static_cast<V*>(buffer), part.holes, begin, end);
  };
  if (part.element_bytes == 16) {
    start(float4{});
  } else {
    start(float2{});
  }
}

template <class T>
class NcclTransport final : public ProcessTransport {
 public:
  NcclTransport(const ProcessGroup& group, std::shared_ptr<rc::Nccl> nccl)
      : ProcessTransport(group), nccl_(std::move(nccl)) {}

  const char* name() const override { return "processes over NCCL"; }
  double bandwidth() const override { return kNcclBandwidth; }
  std::uint64_t ring_bytes() const override { return 0; }  // it is in the workspace

  Overlap overlap() const override { return {kSliceBits, min_sliced_qubits(), kHiddenShare}; }

  void exchange(distributed::Shards shards, const distributed::ShardSwap& swap) override {
    rc::use_device(device());
    CudaState<T>& shard = shard_of(shards);
    Workspace::Lease lease = shard.lease();
    take_ring(shard, lease);
    start_exchange(shard.open_memory(), swap, 0, 0);
    finish();
  }

  // Passes of a slice, its exchange, the passes after it: each waits for the one before by events,
  // and the passes over one slice run beside the exchange of another.
  void exchange_sliced(distributed::Shards shards,
                       const distributed::SlicedExchange& sliced) override {
    rc::use_device(device());
    CudaState<T>& shard = shard_of(shards);
    Workspace::Lease lease = shard.lease();
    take_ring(shard, lease);
    const auto rank = static_cast<std::size_t>(ranks().rank());
    const std::size_t slices = sliced.values.size();
    std::vector<rc::Event> passed(slices), exchanged(slices);
    Complex<T>* amplitudes = shard.open_memory();
    for (std::size_t s = 0; s < slices; ++s) {
      if (sliced.before && !sliced.idle_before[rank])
        shard.start_passes(sliced.before(ranks().rank(), s), sliced.values[s], s > 0);
      passed[s].record(shard.stream());
    }
    for (std::size_t s = 0; s < slices; ++s) {
      passed[s].hold(packing_);
      start_exchange(amplitudes, sliced.swap, sliced.mask, sliced.values[s]);
      exchanged[s].record(packing_);
    }
    for (std::size_t s = 0; sliced.after && s < slices; ++s) {
      exchanged[s].hold(shard.stream());
      if (!sliced.idle_after[rank])
        shard.start_passes(sliced.after(ranks().rank(), s), sliced.values[s], true);
    }
    finish();
    shard.stream().synchronize();
  }

 private:
  struct Slot {
    char* out = nullptr;
    char* in = nullptr;
    rc::Event packed, received;
  };

  static CudaState<T>& shard_of(distributed::Shards shards) {
    return static_cast<CudaState<T>&>(*shards[0]);
  }
  /// Parts that leave at the same time, at most.
  std::size_t parts() const { return static_cast<std::size_t>(num_ranks() - 1); }
  /// The ring for a shard: the same on all ranks, whatever else their devices hold.
  void take_ring(const CudaState<T>& shard, Workspace::Lease& lease) {
    const std::uint64_t shard_bytes = shard.num_amplitudes() * sizeof(Complex<T>);
    const std::size_t most = Workspace::scratch_for(shard_bytes) / (2 * kChunks * parts());
    chunk_bytes_ = std::min(ring_chunk_bytes(num_ranks() - 1), most / 4096 * 4096);
    TW_CHECK(chunk_bytes_ > 0, "more ranks than an exchange has memory for");
    for (Slot& slot : slots_) {
      slot.out = lease.take<char>(parts() * chunk_bytes_);
      slot.in = lease.take<char>(parts() * chunk_bytes_);
    }
  }

  /// Gives the whole exchange to the streams, for the indices whose bits `slice` have the value.
  void start_exchange(Complex<T>* amplitudes, const distributed::ShardSwap& swap,
                      std::uint64_t slice, std::uint64_t value) {
    const Part part = part_of(swap, slice, sizeof(T));
    const int rank = ranks().rank();
    struct Peer {
      int rank = 0;
      Complex<T>* part = nullptr;  // the same leaves and comes
      bool there = false, back = false;
    };
    std::vector<Peer> peers;
    for (std::uint64_t d = 1; d < bit(swap.num_bits()); ++d) {
      Peer peer;
      peer.rank = swap.partner(rank, d);
      peer.part = amplitudes + part_begin(swap, swap.value(peer.rank), value);
      peer.there = swap.holds(rank, swap.value(peer.rank));
      peer.back = swap.holds(peer.rank, swap.value(rank));
      if (peer.there || peer.back) peers.push_back(peer);
    }
    if (peers.empty()) return;
    const std::uint64_t per_chunk = chunk_bytes_ / part.element_bytes;
    const std::uint64_t chunks = (part.count + per_chunk - 1) / per_chunk;
    const auto begin = [&](std::uint64_t c) { return c * per_chunk; };
    const auto end = [&](std::uint64_t c) { return std::min((c + 1) * per_chunk, part.count); };
    const auto unpack = [&](std::uint64_t c) {
      Slot& slot = slots_[c % kChunks];
      slot.received.hold(packing_);
      for (std::size_t p = 0; p < peers.size(); ++p) {
        if (peers[p].back)
          start_chunk<false>(part, peers[p].part, slot.in + p * chunk_bytes_, begin(c), end(c),
                             packing_);
      }
    };
    for (std::uint64_t c = 0; c < chunks; ++c) {
      Slot& slot = slots_[c % kChunks];
      if (c >= kChunks) unpack(c - kChunks);
      for (std::size_t p = 0; p < peers.size(); ++p) {
        if (peers[p].there)
          start_chunk<true>(part, peers[p].part, slot.out + p * chunk_bytes_, begin(c), end(c),
                            packing_);
      }
      slot.packed.record(packing_);
      slot.packed.hold(travel_);
      const std::size_t bytes = (end(c) - begin(c)) * part.element_bytes;
      nccl_->start_group();
      for (std::size_t p = 0; p < peers.size(); ++p) {
        if (peers[p].there) nccl_->send(slot.out + p * chunk_bytes_, bytes, peers[p].rank, travel_);
        if (peers[p].back)
          nccl_->receive(slot.in + p * chunk_bytes_, bytes, peers[p].rank, travel_);
      }
      nccl_->end_group();
      slot.received.record(travel_);
    }
    for (std::uint64_t c = chunks > kChunks ? chunks - kChunks : 0; c < chunks; ++c) unpack(c);
  }

  void finish() {
    ranks().wait_for([&] {
      nccl_->check_transfers();
      return packing_.is_done();
    });
  }

  std::size_t chunk_bytes_ = 0;  // of the exchange that runs
  Slot slots_[kChunks];
  rc::Stream packing_{rc::Stream::Urgent{}}, travel_{rc::Stream::Urgent{}};
  std::shared_ptr<rc::Nccl> nccl_;
};

}  // namespace

std::shared_ptr<distributed::Transport> make_nccl_transport(const ProcessGroup& group,
                                                            Precision precision,
                                                            std::string* problem) {
  auto library = rc::Nccl::joined(group.ranks, group.device, problem);
  if (!library) return nullptr;
  if (precision == Precision::kDouble)
    return std::make_shared<NcclTransport<double>>(group, std::move(library));
  return std::make_shared<NcclTransport<float>>(group, std::move(library));
}

}  // namespace cuda

}  // namespace tilewave::statevec
