#include <algorithm>
#include <bit>
#include <chrono>

#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

// Counters of 32 columns bit by bit: plane k has bit k of each. Sixteen rows are added by fifteen full
// adders of three words, of which the last carries into the planes above.
constexpr int kCountShots = 512;  // shots a thread of the count kernel goes through
constexpr int kPlanes = 10;       // of numbers up to kCountShots
static_assert(kCountShots < 1 << kPlanes && kCountShots % 16 == 0);

struct Added {
  std::uint32_t sum, carry;
};
__device__ Added add(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return {a ^ b ^ c, (a & b) | (c & (a | b))};
}
// Adds the words, of the weight of plane k, to the planes k to 3; what the last of them carries.
template <int kPlane>
__device__ std::uint32_t add_words(const std::uint32_t* words, std::uint32_t* plane) {
  if constexpr (kPlane == 3) {
    const Added r = add(plane[3], words[0], words[1]);
    plane[3] = r.sum;
    return r.carry;
  } else {
    constexpr int kPairs = 8 >> kPlane;
    std::uint32_t carries[kPairs];
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const Added r = add(plane[kPlane], words[2 * k], words[2 * k + 1]);
      plane[kPlane] = r.sum;
      carries[k] = r.carry;
    }
    return add_words<kPlane + 1>(carries, plane);
  }
}

// Adds the ones of column b of `shots` words `stride_words` apart to totals[b * step].
__device__ void count_words(const std::uint32_t* from, std::uint32_t stride_words,
                            std::uint32_t shots, std::uint32_t* totals, std::uint32_t step) {
  std::uint32_t plane[kPlanes] = {};
  const auto add_sixteen = [&](const std::uint32_t* words) {
    std::uint32_t carry = add_words<0>(words, plane);
#pragma unroll
    for (int k = 4; k < kPlanes; ++k) {
      const std::uint32_t next = plane[k] & carry;
      plane[k] ^= carry;
      carry = next;
    }
  };
  std::uint32_t words[16];
  std::uint32_t s = 0;
  for (; s + 16 <= shots; s += 16) {
#pragma unroll
    for (int k = 0; k < 16; ++k, from += stride_words) words[k] = *from;
    add_sixteen(words);
  }
  if (s < shots) {
#pragma unroll
    for (std::uint32_t k = 0; k < 16; ++k, from += stride_words)
      words[k] = s + k < shots ? *from : 0;
    add_sixteen(words);
  }
#pragma unroll
  for (std::uint32_t b = 0; b < 32; ++b) {
    std::uint32_t total = 0;
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) total |= ((plane[k] >> b) & 1u) << k;
    if (total) atomicAdd(totals + b * step, total);
  }
}

constexpr unsigned kCountThreads = 256, kCountWords = 32;

// A thread: one u32 of kCountShots rows. The threads of a block that have the same word (those of one
// threadIdx.x) add up what they counted before it goes to `counts`: many additions to one place of
// device memory would wait for each other.
__global__ void __launch_bounds__(kCountThreads)
    count_rows(const std::uint32_t* rows, std::uint32_t stride_words, std::uint64_t num_shots,
               std::uint64_t num_bits, unsigned long long* counts) {
  __shared__ std::uint32_t totals[32 * kCountWords];  // of bit b of the block's word x at [b][x]
  const std::uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (std::uint32_t k = thread; k < 32 * blockDim.x; k += kCountThreads) totals[k] = 0;
  __syncthreads();
  const std::uint32_t first_word = blockIdx.x * blockDim.x, word = first_word + threadIdx.x;
  const std::uint64_t first = (std::uint64_t{blockIdx.y} * blockDim.y + threadIdx.y) * kCountShots;
  if (word < stride_words && first < num_shots)
    count_words(rows + first * stride_words + word, stride_words,
                static_cast<std::uint32_t>(min(num_shots - first, std::uint64_t{kCountShots})),
                totals + threadIdx.x, blockDim.x);
  __syncthreads();
  for (std::uint32_t k = thread; k < 32 * blockDim.x; k += kCountThreads) {
    const std::uint64_t b = std::uint64_t{first_word + k % blockDim.x} * 32 + k / blockDim.x;
    if (totals[k] && b < num_bits)
      atomicAdd(counts + b, static_cast<unsigned long long>(totals[k]));
  }
}

}  // namespace

void GpuRows::reserve(std::uint64_t num_bits, std::uint64_t block_shots,
                      std::uint64_t blocks_at_once, std::uint64_t blocks_to_copy) {
  device_ = current_gpu();
  num_bits_ = num_bits;
  shots_ = block_shots;
  stride_ = std::max<std::uint64_t>(4, (num_bits + 31) / 32 * 4);
  at_once_ = blocks_at_once;
  to_copy_ = blocks_to_copy ? std::min(blocks_to_copy, at_once_) : at_once_;
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "ask for the free memory");
  pool_ = std::make_shared<DevicePool>(device_, total_bytes / kGpuIdleShare);
  for (auto& r : rows_) r = DeviceBuffer<std::uint32_t>(at_once_ * shots_ * stride_ / 4);
}

void GpuRows::synchronize() {
  for (const cudaStream_t s : {streams_[0].stream, streams_[1].stream, out_.stream})
    check_cuda(cudaStreamSynchronize(s), "finish the shots on the device");
}

GpuTimes GpuRows::run(
    std::uint64_t num_blocks, std::uint64_t at_once,
    const std::function<void(std::uint64_t, std::uint64_t, int, cudaStream_t)>& step) {
  const auto start = std::chrono::steady_clock::now();
  int buffer = 0;
  for (std::uint64_t done = 0; done < num_blocks; buffer ^= 1) {
    const std::uint64_t n = std::min(at_once, num_blocks - done);
    step(done, n, buffer, streams_[buffer].stream);
    check_cuda(cudaGetLastError(), "start a kernel on the device");
    done += n;
  }
  synchronize();
  GpuTimes t;
  t.total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return t;
}

namespace {

// Thread w: the word w of rows of `row_bytes` bytes without gaps, from rows `stride` bytes apart.
__global__ void pack_rows(const std::uint8_t* rows, std::uint64_t stride, std::uint32_t row_bytes,
                          std::uint8_t last_byte, std::uint32_t* out, std::uint64_t num_words) {
  const std::uint64_t w = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (w >= num_words) return;
  const std::uint64_t row = 4 * w / row_bytes;
  auto at = static_cast<std::uint32_t>(4 * w - row * row_bytes);
  const std::uint8_t* from = rows + row * stride;
  std::uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    std::uint32_t byte = from[at];
    if (++at == row_bytes) {
      byte &= last_byte;
      at = 0;
      from += stride;
    }
    word |= byte << 8 * k;
  }
  out[w] = word;
}

}  // namespace

void GpuRows::pack(std::uint64_t num_bits) {
  TW_CHECK(num_bits > 0 && num_bits <= num_bits_, "there are fewer bits");
  use_gpu(device_);
  packed_bits_ = num_bits;
  for (auto& p : packed_)  // 32 shots or more: whole words
    p = DeviceBuffer<std::uint32_t>(to_copy_ * shots_ * packed_bytes() / 4);
}

void GpuRows::start_packing(const std::uint32_t* rows, std::uint64_t num_shots, int buffer,
                            cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const std::uint64_t num_words = num_shots * packed_bytes() / 4;
  const auto last_byte =
      static_cast<std::uint8_t>(packed_bits_ % 8 ? (1 << packed_bits_ % 8) - 1 : 255);
  pack_rows<<<static_cast<unsigned>((num_words + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<const std::uint8_t*>(rows), stride_,
      static_cast<std::uint32_t>(packed_bytes()), last_byte, packed_[buffer].get(), num_words);
  check_cuda(cudaGetLastError(), "start to pack rows");
}

GpuTimes GpuRows::fill(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                       std::uint8_t* rows) {
  use_gpu(device_);
  return run(num_blocks, to_copy_,
             [&](std::uint64_t done, std::uint64_t n, int buffer, cudaStream_t stream) {
               launch(seed, first_block + done, n, rows_[buffer].get(), buffer, stream);
               if (packed_bits_) start_packing(rows_[buffer].get(), n * shots_, buffer, stream);
               const auto& made = packed_bits_ ? packed_[buffer] : rows_[buffer];
               check_cuda(
                   cudaMemcpyAsync(rows + done * shots_ * row_stride(), made.get(),
                                   n * shots_ * row_stride(), cudaMemcpyDeviceToHost, stream),
                   "copy shots from the device");
             });
}

namespace {

// A table of counters on the device, added to one of the host at the end.
struct Table {
  explicit Table(std::uint64_t size)
      : device(std::max<std::uint64_t>(1, size)), host(device.count()) {
    check_cuda(cudaMemset(device.get(), 0, device.count() * 8), "clear counts");
  }
  void add_to(std::vector<std::uint64_t>& sum) {
    check_cuda(cudaMemcpy(host.data(), device.get(), host.size() * 8, cudaMemcpyDeviceToHost),
               "copy counts from the device");
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += host[k];
  }
  DeviceBuffer<unsigned long long> device;
  std::vector<unsigned long long> host;
};

constexpr int kPairThreads = 256;

// A warp a shot: the ones of the row go through a window of 32 lanes; every one meets all ones
// before it, which the warp reads again word by word.
__global__ void count_pairs(const std::uint32_t* rows, std::uint64_t stride_words,
                            std::uint64_t num_shots, std::uint64_t num_bits,
                            unsigned long long* table) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kPairThreads / 32);
  std::uint64_t shot = std::uint64_t{blockIdx.x} * (kPairThreads / 32) + threadIdx.x / 32;
  const std::uint64_t words = (num_bits + 31) / 32;
  for (; shot < num_shots; shot += warps) {
    const std::uint32_t* row = rows + shot * stride_words;
    const auto word = [&](std::uint64_t w) {
      const std::uint32_t bits = row[w];
      return w + 1 == words && num_bits % 32 ? bits & ((1u << (num_bits % 32)) - 1) : bits;
    };
    for (std::uint64_t w = 0; w < words; ++w) {
      for (std::uint32_t left = word(w); left; left &= left - 1) {  // the same in all lanes
        const std::uint64_t b =
            w * 32 + static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
        unsigned long long* line = table + b * (b + 1) / 2;
        for (std::uint64_t v = lane; v <= w; v += 32) {
          std::uint32_t before = word(v);
          if (v == w) before &= (left & (0u - left)) | ((left & (0u - left)) - 1);
          for (; before; before &= before - 1)
            atomicAdd(
                line + v * 32 + static_cast<std::uint32_t>(__ffs(static_cast<int>(before)) - 1),
                1ull);
        }
      }
    }
  }
}

}  // namespace

void GpuRows::start_count(std::uint64_t shots, std::uint64_t num_bits, unsigned long long* counts,
                          int buffer, cudaStream_t stream) {
  const std::uint64_t words = stride_ / 4;
  const auto across =
      static_cast<unsigned>(std::min<std::uint64_t>(kCountWords, std::bit_ceil(words)));
  const dim3 block(across, kCountThreads / across);
  const std::uint64_t block_shots = std::uint64_t{kCountShots} * block.y;
  const dim3 grid(static_cast<unsigned>((words + across - 1) / across),
                  static_cast<unsigned>((shots + block_shots - 1) / block_shots));
  count_rows<<<grid, block, 0, stream>>>(rows_[buffer].get(), static_cast<std::uint32_t>(words),
                                         shots, num_bits, counts);
  check_cuda(cudaGetLastError(), "start a count");
}

GpuTimes GpuRows::count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                        std::uint64_t num_bits, std::vector<std::uint64_t>& counts) {
  TW_CHECK(num_bits <= num_bits_, "there are fewer bits");
  counts.resize(num_bits);
  use_gpu(device_);
  Table table(num_bits);
  const GpuTimes t = run(
      num_blocks, at_once_,
      [&](std::uint64_t done, std::uint64_t n, int buffer, cudaStream_t stream) {
        if (launch_count(seed, first_block + done, n, num_bits, table.device.get(), buffer, stream))
          return;
        launch(seed, first_block + done, n, rows_[buffer].get(), buffer, stream);
        start_count(n * shots_, num_bits, table.device.get(), buffer, stream);
      });
  table.add_to(counts);
  return t;
}

GpuTimes GpuRows::pairs(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                        std::uint64_t num_bits, std::vector<std::uint64_t>& sum) {
  TW_CHECK(num_bits <= num_bits_, "there are fewer bits");
  sum.resize(num_bits * (num_bits + 1) / 2);
  use_gpu(device_);
  Table table(sum.size());
  const GpuTimes t =
      run(num_blocks, at_once_,
          [&](std::uint64_t done, std::uint64_t n, int buffer, cudaStream_t stream) {
            launch(seed, first_block + done, n, rows_[buffer].get(), buffer, stream);
            const std::uint64_t shots = n * shots_;
            const auto blocks = static_cast<unsigned>(
                std::min<std::uint64_t>(8192, (shots * 32 + kPairThreads - 1) / kPairThreads));
            count_pairs<<<blocks, kPairThreads, 0, stream>>>(rows_[buffer].get(), stride_ / 4,
                                                             shots, num_bits, table.device.get());
            check_cuda(cudaGetLastError(), "start a count of pairs");
          });
  table.add_to(sum);
  return t;
}

std::uint64_t GpuRows::count_kept(const ShotRange& shots, std::vector<std::uint64_t>& ones) {
  use_gpu(device_);
  need_kept();
  Table table(num_bits_ + 1);  // the last: how many are kept
  int buffer = 0;
  for (const KeptStretch& s : stretches(shots, at_once_)) {
    const cudaStream_t stream = streams_[buffer].stream;
    std::uint32_t* const kept = kept_[buffer].get();
    launch_kept(s, rows_[buffer].get(), kept, buffer, stream);
    check_cuda(cudaGetLastError(), "start a kernel on the device");
    start_count(s.num_blocks * shots_, num_bits_, table.device.get(), buffer, stream);
    count_kept_rows(kept, s.num_blocks * shots_ / 32, table.device.get() + num_bits_, stream);
    buffer ^= 1;
  }
  synchronize();
  std::vector<std::uint64_t> sums(num_bits_ + 1);
  table.add_to(sums);
  if (ones.size() < num_bits_) ones.resize(num_bits_);
  for (std::uint64_t b = 0; b < num_bits_; ++b) ones[b] += sums[b];
  return sums[num_bits_];
}

PinnedBuffer::PinnedBuffer(int device, std::size_t num_bytes) : num_bytes_(num_bytes) {
  use_gpu(device);
  void* data = nullptr;
  check_cuda(runtime::cuda::driver().allocate_host(&data, num_bytes), "reserve page-locked memory");
  data_ = static_cast<std::uint8_t*>(data);
}
PinnedBuffer::~PinnedBuffer() {
  if (data_) (void)runtime::cuda::driver().release_host(data_);
}

}  // namespace tilewave::stabilizer
