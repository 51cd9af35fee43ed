// GpuRows where shots are discarded, or stay on the device.
#include <algorithm>

#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"

namespace tilewave::stabilizer {
namespace {

std::shared_ptr<void> device_memory(std::uint64_t num_bytes) {
  void* data = nullptr;
  if (num_bytes > 0)
    check_cuda(runtime::cuda::allocate(&data, num_bytes), "reserve memory for shots on the device");
  // Freeing waits for all work of the device: who read the memory last is done.
  return {data, [device = current_gpu()](void* p) {
            int before = 0;
            cudaGetDevice(&before);
            cudaSetDevice(device);
            (void)runtime::cuda::driver().release(p);
            cudaSetDevice(before);
          }};
}
void copy_on_device(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  if (bytes > 0)
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copy rows");
}

}  // namespace

void GpuRows::discard(const std::vector<std::uint64_t>& must_be_zero) {
  if (must_be_zero == must_be_zero_) return;
  use_gpu(device_);
  set_mask(must_be_zero);
  must_be_zero_ = must_be_zero;
}

void GpuRows::set_mask(const std::vector<std::uint64_t>& must_be_zero) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t w : must_be_zero) {
    words.push_back(static_cast<std::uint32_t>(w));
    words.push_back(static_cast<std::uint32_t>(w >> 32));
  }
  if (words.size() > row_words()) words.resize(row_words());
  while (!words.empty() && words.back() == 0) words.pop_back();
  mask_ = DeviceBuffer<std::uint32_t>(words);
}

void GpuRows::launch_kept(const KeptStretch& s, std::uint32_t* rows, std::uint32_t* kept,
                          int buffer, cudaStream_t stream) {
  launch(s.seed, s.first_block, s.num_blocks, rows, buffer, stream);
  flag_kept_rows(rows, s.num_blocks * shots_, row_words(), mask_.get(),
                 static_cast<std::uint32_t>(mask_.count()), s.from, s.to, kept, stream);
}

std::vector<KeptStretch> GpuRows::stretches(const ShotRange& shots, std::uint64_t at_once) const {
  std::vector<KeptStretch> out;
  if (shots.count == 0) return out;
  const std::uint64_t end = shots.first + shots.count, end_block = (end - 1) / shots_ + 1;
  for (std::uint64_t b = shots.first / shots_; b < end_block; b += at_once) {
    const std::uint64_t n = std::min(at_once, end_block - b), first = b * shots_;
    out.push_back({shots.seed, b, n, std::max(shots.first, first) - first,
                   std::min(end, first + n * shots_) - first});
  }
  return out;
}

void GpuRows::need_kept() {
  for (auto& k : kept_) {
    if (!k.get()) k = DeviceBuffer<std::uint32_t>(kept_words());
  }
}

std::uint64_t GpuRows::each_kept(
    const ShotRange& shots, std::uint64_t at_once,
    const std::function<void(const std::uint32_t*, std::uint64_t, int, cudaStream_t)>& take) {
  use_gpu(device_);
  const std::vector<KeptStretch> all = stretches(shots, at_once);
  const bool some = !must_be_zero_.empty();
  const std::uint64_t words = row_words();
  if (some) {
    need_kept();
    for (auto& c : closed_) {
      if (c.count() < at_once * shots_ * words)
        c = DeviceBuffer<std::uint32_t>(at_once * shots_ * words);
    }
  }
  DeviceStream streams[2];
  std::uint64_t sum = 0;
  const auto start = [&](std::size_t j) {
    const KeptStretch& s = all[j];
    const int b = j % 2;
    if (some) {
      launch_kept(s, rows_[b].get(), kept_[b].get(), b, streams[b].stream);
      offsets_[b].start(kept_[b].get(), s.num_blocks * shots_ / 32, streams[b].stream);
    } else {
      launch(s.seed, s.first_block, s.num_blocks, rows_[b].get(), b, streams[b].stream);
    }
    check_cuda(cudaGetLastError(), "start a kernel on the device");
  };
  const auto finish = [&](std::size_t j) {
    const KeptStretch& s = all[j];
    const int b = j % 2;
    const std::uint32_t* rows = rows_[b].get() + s.from * words;
    std::uint64_t count = s.to - s.from;
    if (some) {
      count = offsets_[b].total(streams[b].stream);
      close_rows({rows_[b].get(), s.num_blocks * shots_, words}, kept_[b].get(), offsets_[b].sums(),
                 closed_[b].get(), streams[b].stream);
      rows = closed_[b].get();
    }
    take(rows, count, b, streams[b].stream);
    sum += count;
  };
  for (std::size_t j = 0; j < all.size(); ++j) {
    check_interrupt();
    start(j);
    if (j > 0) finish(j - 1);
  }
  if (!all.empty()) finish(all.size() - 1);
  for (auto& s : streams)
    check_cuda(cudaStreamSynchronize(s.stream), "finish the shots on the device");
  return sum;
}

std::uint64_t GpuRows::fill_kept(const ShotRange& shots, std::uint8_t* rows) {
  TW_CHECK(packed_bits_ == 0, "kept rows are not packed");
  return each_kept(
      shots, to_copy_,
      [&](const std::uint32_t* from, std::uint64_t count, int, cudaStream_t stream) {
        if (count == 0) return;
        check_cuda(cudaMemcpyAsync(rows, from, count * stride_, cudaMemcpyDeviceToHost, stream),
                   "copying shots");
        rows += count * stride_;
      });
}

std::vector<DeviceShots> GpuRows::keep_on_device(const ShotRange& shots,
                                                 const std::vector<BitRange>& parts,
                                                 DeviceLayout layout) {
  use_gpu(device_);
  for (const auto& [first, bits] : parts)
    TW_CHECK(first + bits <= num_bits_, "a part leaves the row");
  const bool bytes = layout == DeviceLayout::kBytes;
  std::vector<DeviceShots> out(parts.size());
  if (bytes || layout == DeviceLayout::kPacked) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      out[k].row_bytes = bytes ? parts[k].count : (parts[k].count + 7) / 8;
      out[k].memory = device_memory(shots.count * out[k].row_bytes);
    }
    std::uint64_t done = 0;
    const std::uint64_t kept = each_kept(
        shots, at_once_,
        [&](const std::uint32_t* rows, std::uint64_t count, int, cudaStream_t stream) {
          for (std::size_t k = 0; k < parts.size(); ++k) {
            cut_rows({rows, count, row_words()}, parts[k].first, parts[k].count, bytes,
                     static_cast<std::uint8_t*>(out[k].memory.get()) + done * out[k].row_bytes,
                     stream);
          }
          done += count;
        });
    for (DeviceShots& o : out) {
      o.device = device_, o.rows = o.shots = kept;
      if (kept >= shots.count / 2) continue;
      const std::shared_ptr<void> all = std::exchange(o.memory, device_memory(kept * o.row_bytes));
      copy_on_device(o.memory.get(), all.get(), kept * o.row_bytes, nullptr);
      check_cuda(cudaStreamSynchronize(nullptr), "copy rows");
    }
    return out;
  }
  // The rows of all shots first.
  const std::shared_ptr<void> memory = device_memory(shots.count * stride_);
  std::uint64_t done = 0;
  const std::uint64_t kept =
      each_kept(shots, at_once_,
                [&](const std::uint32_t* rows, std::uint64_t count, int, cudaStream_t stream) {
                  copy_on_device(static_cast<std::uint8_t*>(memory.get()) + done * stride_, rows,
                                 count * stride_, stream);
                  done += count;
                });
  const ShotRows rows{static_cast<const std::uint32_t*>(memory.get()), kept, row_words()};
  const DeviceStream stream;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [first, bits] = parts[k];
    DeviceShots& o = out[k];
    o.device = device_, o.shots = kept;
    if (layout == DeviceLayout::kBitRows) {
      o.rows = bits, o.row_bytes = (kept + 7) / 8;
      o.memory = device_memory(bits * o.row_bytes);
      turn_rows(rows, first, bits, static_cast<std::uint8_t*>(o.memory.get()), o.row_bytes,
                stream.stream);
      continue;
    }
    o.offsets = device_memory((kept + 1) * sizeof(std::int64_t));
    auto* offsets = static_cast<std::int64_t*>(o.offsets.get());
    list_offsets(rows, first, bits, offsets, stream.stream);
    std::int64_t ones = 0;
    check_cuda(
        cudaMemcpyAsync(&ones, offsets + kept, sizeof ones, cudaMemcpyDeviceToHost, stream.stream),
        "copying a sum");
    check_cuda(cudaStreamSynchronize(stream.stream), "list ones");
    o.rows = static_cast<std::uint64_t>(ones), o.row_bytes = 4;
    o.memory = device_memory(o.rows * 4);
    list_ones(rows, first, bits, offsets, static_cast<std::uint32_t*>(o.memory.get()),
              stream.stream);
  }
  check_cuda(cudaStreamSynchronize(stream.stream), "write shots");
  return out;
}

}  // namespace tilewave::stabilizer
