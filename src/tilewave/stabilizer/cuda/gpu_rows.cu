#include <algorithm>
#include <chrono>

#include "tilewave/stabilizer/cuda/gpu_rows.cuh"

namespace tilewave::stabilizer {
namespace {

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

constexpr int kCountShots = 1024;  // shots a block of the count kernel goes through

// Thread x: one u32 of the rows; adds the ones of its 32 columns over kCountShots rows. Columns are
// added bit-sliced: five planes hold up to 31, then they are emptied into counters.
__global__ void count_rows(const std::uint32_t* rows, std::uint64_t stride_words,
                           std::uint64_t num_shots, std::uint64_t num_bits,
                           unsigned long long* counts) {
  const std::uint64_t word = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (word >= stride_words) return;
  const std::uint64_t first = std::uint64_t{blockIdx.y} * kCountShots;
  const std::uint64_t last = min(num_shots, first + kCountShots);
  std::uint32_t total[32] = {};
  for (std::uint64_t s = first; s < last;) {
    std::uint32_t plane[5] = {};
    const std::uint64_t end = min(last, s + 31);
    for (; s < end; ++s) {
      std::uint32_t carry = rows[s * stride_words + word];
#pragma unroll
      for (int k = 0; k < 5; ++k) {
        const std::uint32_t next = plane[k] & carry;
        plane[k] ^= carry;
        carry = next;
      }
    }
#pragma unroll
    for (int b = 0; b < 32; ++b) {
#pragma unroll
      for (int k = 0; k < 5; ++k) total[b] += ((plane[k] >> b) & 1u) << k;
    }
  }
#pragma unroll
  for (int b = 0; b < 32; ++b) {
    if (total[b] && word * 32 + b < num_bits)
      atomicAdd(counts + word * 32 + b, static_cast<unsigned long long>(total[b]));
  }
}

}  // namespace

void GpuRows::reserve(std::uint64_t num_bits, std::uint64_t block_shots,
                      std::uint64_t blocks_at_once) {
  num_bits_ = num_bits;
  shots_ = block_shots;
  stride_ = std::max<std::uint64_t>(4, (num_bits + 31) / 32 * 4);
  at_once_ = blocks_at_once;
  for (auto& r : rows_) r = DeviceBuffer<std::uint32_t>(at_once_ * shots_ * stride_ / 4);
}

GpuTimes GpuRows::run(
    std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
    const std::function<void(std::uint64_t, std::uint64_t, int, cudaStream_t)>& finish) {
  const auto start = std::chrono::steady_clock::now();
  Stream streams[2];
  int buffer = 0;
  for (std::uint64_t done = 0; done < num_blocks; buffer ^= 1) {
    const std::uint64_t n = std::min(at_once_, num_blocks - done);
    launch(seed, first_block + done, n, rows_[buffer].get(), buffer, streams[buffer].stream);
    check_cuda(cudaGetLastError(), "starting a kernel");
    finish(done, n, buffer, streams[buffer].stream);
    done += n;
  }
  for (auto& s : streams) check_cuda(cudaStreamSynchronize(s.stream), "sampling");
  GpuTimes t;
  t.total_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return t;
}

GpuTimes GpuRows::fill(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                       std::uint8_t* rows) {
  return run(seed, first_block, num_blocks,
             [&](std::uint64_t done, std::uint64_t n, int buffer, cudaStream_t stream) {
               check_cuda(cudaMemcpyAsync(rows + done * shots_ * stride_, rows_[buffer].get(),
                                          n * shots_ * stride_, cudaMemcpyDeviceToHost, stream),
                          "copying shots");
             });
}

GpuTimes GpuRows::count(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                        std::vector<std::uint64_t>& counts) {
  DeviceBuffer<unsigned long long> device(std::max<std::uint64_t>(1, num_bits_));
  check_cuda(cudaMemset(device.get(), 0, device.count() * 8), "clearing counts");
  const GpuTimes t =
      run(seed, first_block, num_blocks,
          [&](std::uint64_t, std::uint64_t n, int buffer, cudaStream_t stream) {
            const std::uint64_t words = stride_ / 4, shots = n * shots_;
            const dim3 grid(static_cast<unsigned>((words + 63) / 64),
                            static_cast<unsigned>((shots + kCountShots - 1) / kCountShots));
            count_rows<<<grid, 64, 0, stream>>>(rows_[buffer].get(), words, shots, num_bits_,
                                                device.get());
            check_cuda(cudaGetLastError(), "starting a count");
          });
  std::vector<unsigned long long> host(num_bits_);
  check_cuda(cudaMemcpy(host.data(), device.get(), num_bits_ * 8, cudaMemcpyDeviceToHost),
             "copying counts");
  counts.resize(num_bits_);
  for (std::uint64_t b = 0; b < num_bits_; ++b) counts[b] += host[b];
  return t;
}

PinnedBuffer::PinnedBuffer(std::size_t num_bytes) {
  check_cuda(cudaMallocHost(reinterpret_cast<void**>(&data_), num_bytes),
             "allocating page-locked memory");
}
PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

}  // namespace tilewave::stabilizer
