// The exchange of a qubit that chooses the GPU with one inside it: part b of shard a and part a of
// shard b change places, where a part is the amplitudes whose chosen bits have one value. From a
// second copy of the part, over rings of buffers filled by copy engines, to kernels that swap in
// place. Each version runs on fresh numbers and is checked element by element before it is timed.
//
// Memory: shards of 2^qubits amplitudes of 16 bytes. Floor: half of every shard out and in over the
// link of two GPUs; README.md has what was measured.
#include <cuda_runtime.h>

#include <chrono>
#include <memory>

#include "common/ladder.cuh"

namespace {

using ladder::check;
using Index = unsigned long long;

constexpr int kThreads = 512;

struct Shard {
  int device = 0;
  double2* amps = nullptr;
};

/// The chosen bits of a local index, ascending; those of the shard's number are 0, 1, ...
struct Bits {
  int count = 0;
  int at[2] = {};

  __host__ __device__ Index spread(Index x) const {
    for (int k = 0; k < count; ++k) {
      const Index low = x & ((Index{1} << at[k]) - 1);
      x = ((x ^ low) << 1) | low;
    }
    return x;
  }
  __host__ __device__ Index part(int value) const {
    Index x = 0;
    for (int k = 0; k < count; ++k) x |= static_cast<Index>(value >> k & 1) << at[k];
    return x;
  }
  __host__ __device__ int value(Index index) const {
    int v = 0;
    for (int k = 0; k < count; ++k) v |= static_cast<int>(index >> at[k] & 1) << k;
    return v;
  }
};

__device__ double2 number(int shard, Index index) {
  return {static_cast<double>(index * 5 + static_cast<Index>(shard)),
          static_cast<double>(index ^ (Index{0x9E3779B9} * static_cast<Index>(shard + 1)))};
}

__global__ void fill(double2* amps, int shard, Index size) {
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < size;
       i += Index{gridDim.x} * blockDim.x)
    amps[i] = number(shard, i);
}

__global__ void count_wrong(const double2* amps, int shard, Index size, Bits bits, Index* wrong) {
  Index mine = 0;
  for (Index i = blockIdx.x * Index{blockDim.x} + threadIdx.x; i < size;
       i += Index{gridDim.x} * blockDim.x) {
    const int from = bits.value(i);
    const double2 wanted = number(from, (i & ~bits.part(3)) | bits.part(shard));
    mine += amps[i].x != wanted.x || amps[i].y != wanted.y;
  }
  if (mine) atomicAdd(wrong, mine);
}

// ---- kernels in place: elements [begin, end) of a part, F of them under way a thread ----
template <int F>
__global__ void __launch_bounds__(kThreads)
    swap(double2* mine, double2* theirs, Bits bits, Index begin, Index end) {
  const Index stride = Index{gridDim.x} * blockDim.x;
  Index e = begin + blockIdx.x * Index{blockDim.x} + threadIdx.x;
  for (; e + (F - 1) * stride < end; e += F * stride) {
    Index at[F];
    double2 a[F], b[F];
#pragma unroll
    for (int k = 0; k < F; ++k) {
      at[k] = bits.spread(e + static_cast<Index>(k) * stride);
      b[k] = theirs[at[k]];
      a[k] = mine[at[k]];
    }
#pragma unroll
    for (int k = 0; k < F; ++k) {
      theirs[at[k]] = a[k];
      mine[at[k]] = b[k];
    }
  }
  for (; e < end; e += stride) {
    const Index at = bits.spread(e);
    const double2 a = mine[at], b = theirs[at];
    theirs[at] = a;
    mine[at] = b;
  }
}

class Machine {
 public:
  Machine(int num_shards, int qubits, std::vector<int> at) : qubits_(qubits) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "counting devices");
    if (devices < 2)
      throw std::runtime_error("two GPUs are needed, there are " + std::to_string(devices));
    num_devices_ = 2;
    for (int d = 0; d < num_devices_; ++d) {
      check(cudaSetDevice(d), "device");
      const cudaError_t status = cudaDeviceEnablePeerAccess(1 - d, 0);
      if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "peer access");
      (void)cudaGetLastError();
      streams_.emplace_back(kMostStreams);
      for (auto& s : streams_.back())
        check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
    }
    bits_.count = static_cast<int>(at.size());
    for (int k = 0; k < bits_.count; ++k) bits_.at[k] = at[static_cast<std::size_t>(k)];
    for (int s = 0; s < num_shards; ++s) {
      Shard shard;
      shard.device = s * num_devices_ / num_shards;
      check(cudaSetDevice(shard.device), "device");
      check(cudaMalloc(&shard.amps, size() * sizeof(double2)), "memory of a shard");
      shards_.push_back(shard);
    }
  }
  ~Machine() {
    for (const Shard& s : shards_) cudaFree(s.amps);
    for (auto& of_device : streams_)
      for (auto& s : of_device) cudaStreamDestroy(s);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Index size() const { return Index{1} << qubits_; }
  Index part_size() const { return size() >> bits_.count; }
  const Bits& bits() const { return bits_; }
  int num_shards() const { return static_cast<int>(shards_.size()); }
  const Shard& shard(int s) const { return shards_[static_cast<std::size_t>(s)]; }
  cudaStream_t stream(int device, int k) const {
    return streams_[static_cast<std::size_t>(device)][static_cast<std::size_t>(k)];
  }
  void finish() const {
    for (int d = 0; d < num_devices_; ++d) {
      check(cudaSetDevice(d), "device");
      check(cudaDeviceSynchronize(), "running");
    }
  }

  /// Median milliseconds of body(), after it proved right on fresh numbers.
  template <class Body>
  double time(const char* name, int samples, const Bits& whole, Body&& body) const {
    for (int s = 0; s < num_shards(); ++s) {
      check(cudaSetDevice(shard(s).device), "device");
      fill<<<1056, kThreads>>>(shard(s).amps, s, size());
    }
    finish();
    body();
    finish();
    for (int s = 0; s < num_shards(); ++s) {
      check(cudaSetDevice(shard(s).device), "device");
      ladder::Device<Index> wrong(std::vector<Index>{0});
      count_wrong<<<1056, kThreads>>>(shard(s).amps, s, size(), whole, wrong.get());
      if (const Index count = wrong.take()[0])
        throw std::runtime_error(std::string(name) + ": " + std::to_string(count) +
                                 " wrong amplitudes in shard " + std::to_string(s));
    }
    std::vector<double> ms;
    for (int k = 0; k < samples; ++k) {
      finish();
      const auto before = std::chrono::steady_clock::now();
      body();
      finish();
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
              .count());
    }
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
  }

  static constexpr int kMostStreams = 16;

 private:
  int qubits_, num_devices_ = 0;
  Bits bits_;
  std::vector<Shard> shards_;
  std::vector<std::vector<cudaStream_t>> streams_;
};

// Every shard and its partner s ^ d, by kernels. Each works on half of their pairs, or the lower
// one on all.
template <int F>
void swap_all(const Machine& m, int d, int blocks, bool halves, const Bits& bits, int parts) {
  const Index count = m.size() >> bits.count;
  for (int s = 0; s < m.num_shards(); ++s) {
    const int peer = s ^ d;
    if (!halves && peer < s) continue;
    check(cudaSetDevice(m.shard(s).device), "device");
    // which part leaves: the peer's values of the chosen bits
    double2* mine = m.shard(s).amps + bits.part((peer & parts) >> (parts == 2));
    double2* theirs = m.shard(peer).amps + bits.part((s & parts) >> (parts == 2));
    const Index begin = halves && s > peer ? count / 2 : 0;
    const Index end = halves && s < peer ? count / 2 : count;
    swap<F><<<static_cast<unsigned>(blocks), kThreads, 0,
              m.stream(m.shard(s).device, 4 * (s & 1) + d)>>>(mine, theirs, bits, begin, end);
    check(cudaGetLastError(), "launch");
  }
}

/// A ring of buffers between two shards, on the receiving device or in host memory, filled and
/// emptied by copies: buffer k % buffers, stream k % streams. Contiguous parts.
class Ring {
 public:
  Ring(const Machine& m, int buffers, int streams, std::size_t chunk_bytes, bool on_host)
      : m_(m), buffers_(buffers), streams_(streams), chunk_(chunk_bytes), on_host_(on_host) {
    for (int s = 0; s < 2; ++s) {
      check(cudaSetDevice(m.shard(s).device), "device");
      const std::size_t bytes = chunk_ * static_cast<std::size_t>(buffers);
      if (on_host) {
        check(cudaMallocHost(&memory_[s], bytes), "pinned memory");
      } else {
        check(cudaMalloc(&memory_[s], bytes), "memory of a ring");
      }
      for (auto* events : {&sent_[s], &emptied_[s]}) {
        events->resize(static_cast<std::size_t>(buffers));
        for (auto& e : *events)
          check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "event");
      }
    }
  }
  ~Ring() {
    for (int s = 0; s < 2; ++s) {
      on_host_ ? cudaFreeHost(memory_[s]) : cudaFree(memory_[s]);
      for (auto* events : {&sent_[s], &emptied_[s]})
        for (auto& e : *events) cudaEventDestroy(e);
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void exchange() {
    const std::size_t bytes = m_.part_size() * sizeof(double2);
    const std::size_t chunks = bytes / chunk_;
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t k = c % static_cast<std::size_t>(buffers_);
      const int on = static_cast<int>(c % static_cast<std::size_t>(streams_));
      for (int s = 0; s < 2; ++s) {  // into the other's buffer, once that is empty
        check(cudaSetDevice(m_.shard(s).device), "device");
        const cudaStream_t stream = m_.stream(m_.shard(s).device, on);
        if (c >= static_cast<std::size_t>(buffers_))
          check(cudaStreamWaitEvent(stream, emptied_[1 - s][k]), "wait");
        check(cudaMemcpyAsync(memory_[1 - s] + k * chunk_, place(s) + c * chunk_, chunk_,
                              cudaMemcpyDefault, stream),
              "copy");
        check(cudaEventRecord(sent_[s][k], stream), "event");
      }
      for (int s = 0; s < 2; ++s) {  // what came goes where that was
        check(cudaSetDevice(m_.shard(s).device), "device");
        const cudaStream_t stream = m_.stream(m_.shard(s).device, on);
        check(cudaStreamWaitEvent(stream, sent_[1 - s][k]), "wait");
        check(cudaMemcpyAsync(place(s) + c * chunk_, memory_[s] + k * chunk_, chunk_,
                              cudaMemcpyDefault, stream),
              "copy");
        check(cudaEventRecord(emptied_[s][k], stream), "event");
      }
    }
  }

 private:
  char* place(int s) const {
    return reinterpret_cast<char*>(m_.shard(s).amps + m_.bits().part(1 - s));
  }
  const Machine& m_;
  int buffers_, streams_;
  std::size_t chunk_;
  bool on_host_;
  char* memory_[2] = {};
  std::vector<cudaEvent_t> sent_[2], emptied_[2];
};

int run(int argc, char** argv) {
  long long qubits = 29, samples = 5;
  ladder::Arguments arguments(
      "The exchange of a qubit between two GPUs, each step checked and timed.");
  arguments.flag("--qubits", &qubits, 24, 31, "of a shard, one a GPU")
      .flag("--samples", &samples, 1, 100, "times of which the median counts");
  if (!arguments.parse(argc, argv)) return 0;
  const int n = static_cast<int>(qubits), times = static_cast<int>(samples);
  const double half_gb = std::ldexp(16e-9, n - 1);
  const auto rate = [&](double ms) { return half_gb / (1e-3 * ms); };

  ladder::Report copies(
      "copies through buffers, the top bit",
      {"version", "buffers", "streams", "chunk_MiB", "extra_MiB", "ms", "GBs_out"});
  ladder::Report kernels("kernels in place",
                         {"version", "blocks", "in_flight", "local_bit", "ms", "GBs_out"});
  {
    const Machine m(2, n, {n - 1});
    const auto with_ring = [&](const char* name, int buffers, int streams, std::size_t chunk,
                               bool on_host) {
      Ring ring(m, buffers, streams, chunk, on_host);
      const double ms = m.time(name, times, m.bits(), [&] { ring.exchange(); });
      copies.row({std::string(name), static_cast<long long>(buffers),
                  static_cast<long long>(streams), static_cast<long long>(chunk >> 20),
                  static_cast<long long>(chunk * static_cast<std::size_t>(buffers) >> 20), ms,
                  rate(ms)});
    };
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    with_ring("second copy of what leaves", 1, 1, m.part_size() * sizeof(double2), false);
    with_ring("through host memory", 4, 4, 64 * kMiB, true);
    for (const std::size_t chunk : {4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}) {
      for (const int buffers : {1, 2, 4, 8, 16}) {
        if (chunk * static_cast<std::size_t>(buffers) > 1024 * kMiB) continue;
        for (const int streams : {1, buffers}) {
          if (buffers == 1 && streams == 1 && chunk != 64 * kMiB) continue;
          with_ring("ring", buffers, streams, chunk, false);
          if (buffers == 1) break;
        }
      }
      if (chunk <= 64 * kMiB) with_ring("ring, as in the study", 16, 15, chunk, false);
    }
    const auto with_kernel = [&](const char* name, auto in_flight, int blocks, bool halves) {
      constexpr int kFlight = decltype(in_flight)::value;
      const double ms = m.time(name, times, m.bits(),
                               [&] { swap_all<kFlight>(m, 1, blocks, halves, m.bits(), 1); });
      kernels.row({std::string(name), static_cast<long long>(blocks),
                   static_cast<long long>(kFlight), static_cast<long long>(n - 1), ms, rate(ms)});
    };
    with_kernel("one GPU swaps all", std::integral_constant<int, 1>{}, 264, false);
    with_kernel("one GPU swaps all", std::integral_constant<int, 4>{}, 264, false);
    with_kernel("each swaps half", std::integral_constant<int, 1>{}, 264, true);
    with_kernel("each swaps half", std::integral_constant<int, 2>{}, 264, true);
    with_kernel("each swaps half", std::integral_constant<int, 8>{}, 264, true);
    for (const int blocks : {8, 16, 24, 48, 96, 132, 264, 528, 1056})
      with_kernel("each swaps half", std::integral_constant<int, 4>{}, blocks, true);
  }
  for (const int local_bit : {0, 1, 2, 3, 5, 12}) {
    const Machine m(2, n, {local_bit});
    const double ms =
        m.time("kernel", times, m.bits(), [&] { swap_all<4>(m, 1, 264, true, m.bits(), 1); });
    kernels.row({std::string("each swaps half"), 264LL, 4LL, static_cast<long long>(local_bit), ms,
                 rate(ms)});
  }
  ladder::Report two("two bits between four shards, two a GPU",
                     {"version", "blocks", "ms", "GBs_out_over_the_link"});
  {
    const Machine m(4, n - 1, {n - 3, n - 2});
    const double link_gb = std::ldexp(16e-9, n - 1);  // half of every shard crosses the link
    Bits low, high;
    low.count = high.count = 1;
    low.at[0] = n - 3, high.at[0] = n - 2;
    for (const int blocks : {44, 132, 264}) {
      const double at_once = m.time("all-to-all", times, m.bits(), [&] {
        for (int d = 1; d < 4; ++d) swap_all<4>(m, d, blocks, true, m.bits(), 3);
      });
      two.row({std::string("all-to-all"), static_cast<long long>(blocks), at_once,
               link_gb / (1e-3 * at_once)});
      const double in_turn = m.time("in turn", times, m.bits(), [&] {
        swap_all<4>(m, 1, blocks, true, low, 1);
        m.finish();
        swap_all<4>(m, 2, blocks, true, high, 2);
      });
      two.row({std::string("one bit after the other"), static_cast<long long>(blocks), in_turn,
               link_gb / (1e-3 * in_turn)});
    }
  }
  ladder::write_json(
      arguments.json,
      "ladder_exchange --qubits " + std::to_string(n) + " --samples " + std::to_string(times),
      {&copies, &kernels, &two});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ladder::guarded([&] { return run(argc, argv); });
}
