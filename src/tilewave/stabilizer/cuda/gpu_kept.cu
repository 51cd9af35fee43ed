// GpuRows where shots are discarded, or stay on the device.
#include <algorithm>

#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/cuda/gpu_rows.cuh"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

void copy_on_device(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  if (bytes > 0)
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copy rows");
}

// Whether parts are all bits, one behind the other, whose rows in one array begin where arrays do.
bool in_one_array(const std::vector<BitRange>& parts, std::uint64_t num_bits,
                  std::uint64_t stride) {
  std::uint64_t end = 0;
  for (const auto& [first, count] : parts) {
    if (first != end || first * stride % kArrayAlign != 0) return false;
    end += count;
  }
  return end == num_bits;
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

std::uint64_t GpuRows::blocks_to_keep() const {
  const std::uint64_t blocks = std::max<std::uint64_t>(1, kGpuKeepBytes / (shots_ * stride_));
  // Where to_copy_ blocks fill the device, a multiple of them.
  const std::uint64_t wave = to_copy_ < at_once_ ? to_copy_ : 1;
  return std::min(at_once_, (blocks + wave - 1) / wave * wave);
}

void GpuRows::need_kept() {
  for (auto& k : kept_) {
    if (!k.get()) k = DeviceBuffer<std::uint32_t>(kept_words());
  }
}

std::uint64_t GpuRows::each_kept(const ShotRange& shots, std::uint64_t at_once,
                                 const Takers& take) {
  use_gpu(device_);
  const std::vector<KeptStretch> all = stretches(shots, at_once);
  const bool some = !must_be_zero_.empty();
  if (some) {
    need_kept();
    const std::uint64_t words = at_once * shots_ * row_words();
    if (!take.all && closed_.count() < words) closed_ = DeviceBuffer<std::uint32_t>(words);
  }
  std::uint64_t sum = 0;
  finish_all([&] { sum = work_on(all, take); });
  return sum;
}

void GpuRows::finish_all(const std::function<void()>& work) {
  try {
    work();
    synchronize();
  } catch (...) {
    // Nothing may be written any more to what the caller frees.
    for (const cudaStream_t s : {streams_[0].stream, streams_[1].stream, out_.stream})
      (void)cudaStreamSynchronize(s);
    throw;
  }
}

bool GpuRows::make_arrays(const ShotRange& shots, DeviceLayout layout,
                          std::vector<ArrayPart> parts) {
  std::erase_if(parts, [](const ArrayPart& p) { return p.bits.count == 0; });
  if (!must_be_zero_.empty() || parts.empty() || shots.count == 0 ||
      !makes_arrays(layout, shots, parts))
    return false;
  finish_all([&] {
    int buffer = 0;
    for (const KeptStretch& s : stretches(shots, at_once_)) {
      check_interrupt();
      const auto offset = static_cast<std::int64_t>(s.first_block * shots_ - shots.first);
      launch_arrays(s, layout, offset, parts, buffer, streams_[buffer].stream);
      check_cuda(cudaGetLastError(), "start a kernel on the device");
      buffer ^= 1;
    }
  });
  return true;
}

std::uint64_t GpuRows::work_on(const std::vector<KeptStretch>& all, const Takers& take) {
  const bool some = !must_be_zero_.empty();
  const std::uint64_t words = row_words();
  std::uint64_t sum = 0;
  // Where the rows of stretch j are made, if not in a buffer.
  const auto place = [&](const KeptStretch& s) {
    return take.all + (s.first_block - all.front().first_block) * shots_ * words;
  };
  const auto start = [&](std::size_t j) {
    const KeptStretch& s = all[j];
    const int b = j % 2;
    if (j > 1) streams_[b].wait_for(taken_[b].event);
    const cudaStream_t stream = streams_[b].stream;
    if (some) {
      launch_kept(s, rows_[b].get(), kept_[b].get(), b, stream);
      offsets_[b].start(kept_[b].get(), s.num_blocks * shots_ / 32, stream);
    } else if (take.all) {
      launch(s.seed, s.first_block, s.num_blocks, place(s), b, stream);
    } else {
      launch_unread(s.seed, s.first_block, s.num_blocks, b, stream);
    }
    check_cuda(cudaGetLastError(), "start a kernel on the device");
    made_[b].record(streams_[b]);
  };
  const auto read = [&](const KeptStretch& s, int b) {
    const std::uint64_t at_once = blocks_to_read();
    for (std::uint64_t block = s.from / shots_; block * shots_ < s.to; block += at_once) {
      const std::uint64_t n = std::min(at_once, s.num_blocks - block), first = block * shots_;
      const std::uint32_t* const rows = read_rows(block, n, b, rows_[0].get(), out_.stream);
      check_cuda(cudaGetLastError(), "start to read rows");
      const std::uint64_t from = std::max(s.from, first), to = std::min(s.to, first + n * shots_);
      take.rows(rows + (from - first) * words, to - from, out_.stream);
    }
  };
  const auto finish = [&](std::size_t j) {
    const KeptStretch& s = all[j];
    const int b = j % 2;
    std::uint64_t count = s.to - s.from;
    if (some) count = offsets_[b].total(streams_[b].stream);
    out_.wait_for(made_[b].event);
    if (some) {
      std::uint32_t* const closed = take.all ? take.all + sum * words : closed_.get();
      close_rows({rows_[b].get(), s.num_blocks * shots_, words}, kept_[b].get(), offsets_[b].sums(),
                 closed, out_.stream);
      take.rows(closed, count, out_.stream);
    } else if (take.all) {
      take.rows(place(s) + s.from * words, count, out_.stream);
    } else if (!take.unread || !take.unread(s, b, out_.stream)) {
      read(s, b);
    }
    taken_[b].record(out_);
    sum += count;
  };
  for (std::size_t j = 0; j < all.size(); ++j) {
    check_interrupt();
    start(j);
    if (j > 0) finish(j - 1);
  }
  if (!all.empty()) finish(all.size() - 1);
  return sum;
}

std::uint64_t GpuRows::fill_kept(const ShotRange& shots, std::uint8_t* rows) {
  TW_CHECK(packed_bits_ == 0, "kept rows are not packed");
  Takers take;
  take.rows = [&](const std::uint32_t* from, std::uint64_t count, cudaStream_t stream) {
    if (count == 0) return;
    check_cuda(cudaMemcpyAsync(rows, from, count * stride_, cudaMemcpyDeviceToHost, stream),
               "copying shots");
    rows += count * stride_;
  };
  return each_kept(shots, to_copy_, take);
}

std::vector<DeviceShots> GpuRows::keep_on_device(const ShotRange& shots,
                                                 const std::vector<BitRange>& parts,
                                                 DeviceLayout layout) {
  use_gpu(device_);
  for (const auto& [first, bits] : parts)
    TW_CHECK(first + bits <= num_bits_, "a part leaves the row");
  std::vector<DeviceShots> out;
  switch (layout) {
    case DeviceLayout::kPacked:
      out = keep_rows(shots, parts, false);
      break;
    case DeviceLayout::kBytes:
      out = keep_rows(shots, parts, true);
      break;
    case DeviceLayout::kBitRows:
      out = keep_bit_rows(shots, parts);
      break;
    case DeviceLayout::kLists:
      out = keep_lists(shots, parts);
      break;
  }
  synchronize();
  for (DeviceShots& o : out) o.device = device_;
  return out;
}

std::vector<DeviceShots> GpuRows::keep_rows(const ShotRange& shots,
                                            const std::vector<BitRange>& parts, bool bytes) {
  std::vector<DeviceShots> out(parts.size());
  std::vector<ArrayPart> arrays;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    out[k].row_bytes = bytes ? parts[k].count : (parts[k].count + 7) / 8;
    out[k].memory = pool_->take(shots.count * out[k].row_bytes);
    arrays.push_back({parts[k], static_cast<std::uint8_t*>(out[k].memory.get()), out[k].row_bytes});
  }
  if (make_arrays(shots, bytes ? DeviceLayout::kBytes : DeviceLayout::kPacked, arrays)) {
    for (DeviceShots& o : out) o.rows = o.shots = shots.count;
    return out;
  }
  std::uint64_t done = 0;
  Takers take;
  if (!bytes) {
    take.unread = [&](const KeptStretch& s, int buffer, cudaStream_t stream) {
      const auto offset = static_cast<std::int64_t>(done - s.from);
      for (const ArrayPart& a : arrays) {
        if (!read_packed(a, s.from, s.to - s.from, offset, buffer, stream)) return false;
      }
      check_cuda(cudaGetLastError(), "start to pack rows");
      done += s.to - s.from;
      return true;
    };
  }
  take.rows = [&](const std::uint32_t* rows, std::uint64_t count, cudaStream_t stream) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      cut_rows({rows, count, row_words()}, parts[k].first, parts[k].count, bytes,
               static_cast<std::uint8_t*>(out[k].memory.get()) + done * out[k].row_bytes, stream);
    }
    done += count;
  };
  const std::uint64_t kept = each_kept(shots, blocks_to_keep(), take);
  for (DeviceShots& o : out) {
    o.rows = o.shots = kept;
    if (kept >= shots.count / 2) continue;
    const std::shared_ptr<void> all = std::exchange(o.memory, pool_->take(kept * o.row_bytes));
    copy_on_device(o.memory.get(), all.get(), kept * o.row_bytes, out_.stream);
    synchronize();  // before the memory of all goes back
  }
  return out;
}

std::vector<DeviceShots> GpuRows::keep_bit_rows(const ShotRange& shots,
                                                const std::vector<BitRange>& parts) {
  std::vector<DeviceShots> out(parts.size());
  const std::uint64_t stride = (shots.count + 7) / 8;
  std::vector<ArrayPart> arrays;
  // Parts that are all bits are rows of one array, which an engine may write as it makes them.
  const bool is_whole = in_one_array(parts, num_bits_, stride);
  std::shared_ptr<void> all;
  if (is_whole) all = pool_->take(num_bits_ * stride);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [first, count] = parts[k];
    if (!is_whole) {
      out[k].memory = pool_->take(count * stride);
    } else if (count > 0) {
      out[k].memory = {all, static_cast<std::uint8_t*>(all.get()) + first * stride};
    }
    arrays.push_back({parts[k], static_cast<std::uint8_t*>(out[k].memory.get()), stride});
  }
  if (make_arrays(shots, DeviceLayout::kBitRows, arrays)) {
    for (std::size_t k = 0; k < parts.size(); ++k)
      out[k].shots = shots.count, out[k].rows = parts[k].count, out[k].row_bytes = stride;
    return out;
  }
  std::uint64_t done = 0;
  const auto place = [&](std::size_t k) {
    return BitRowsOut{static_cast<std::uint8_t*>(out[k].memory.get()), stride, done};
  };
  Takers take;
  take.unread = [&](const KeptStretch& s, int buffer, cudaStream_t stream) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!read_bits(parts[k], s.from, s.to - s.from, place(k), buffer, stream)) return false;
    }
    check_cuda(cudaGetLastError(), "start to copy bits");
    done += s.to - s.from;
    return true;
  };
  take.rows = [&](const std::uint32_t* rows, std::uint64_t count, cudaStream_t stream) {
    for (std::size_t k = 0; k < parts.size(); ++k)
      turn_rows({rows, count, row_words()}, parts[k].first, parts[k].count, place(k), stream);
    done += count;
  };
  const std::uint64_t kept = each_kept(shots, blocks_to_keep(), take);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    DeviceShots& o = out[k];
    o.shots = kept, o.rows = parts[k].count, o.row_bytes = (kept + 7) / 8;
    if (o.row_bytes == stride) continue;
    const std::shared_ptr<void> wide = std::exchange(o.memory, pool_->take(o.rows * o.row_bytes));
    if (o.rows > 0 && o.row_bytes > 0)
      check_cuda(cudaMemcpy2DAsync(o.memory.get(), o.row_bytes, wide.get(), stride, o.row_bytes,
                                   o.rows, cudaMemcpyDeviceToDevice, out_.stream),
                 "copy rows");
    synchronize();
  }
  return out;
}

std::vector<DeviceShots> GpuRows::keep_lists(const ShotRange& shots,
                                             const std::vector<BitRange>& parts) {
  std::vector<DeviceShots> out(parts.size());
  const std::uint64_t first = shots.first / shots_,
                      blocks = shots.count == 0
                                   ? 0
                                   : (shots.first + shots.count - 1) / shots_ + 1 - first;
  const std::shared_ptr<void> memory = pool_->take(blocks * shots_ * stride_);
  for (DeviceShots& o : out) o.offsets = pool_->take((shots.count + 1) * sizeof(std::int64_t));
  const auto offsets_of = [&](std::size_t k) {
    return static_cast<std::int64_t*>(out[k].offsets.get());
  };
  Takers take;
  const std::uint32_t* begin = nullptr;
  std::uint64_t done = 0;
  take.all = static_cast<std::uint32_t*>(memory.get());
  take.rows = [&](const std::uint32_t* rows, std::uint64_t count, cudaStream_t stream) {
    if (!begin) begin = rows;
    for (std::size_t k = 0; k < parts.size(); ++k)
      count_ones({rows, count, row_words()}, parts[k].first, parts[k].count,
                 offsets_of(k) + 1 + done, stream);
    done += count;
  };
  const std::uint64_t kept = each_kept(shots, blocks_to_keep(), take);
  const ShotRows rows{begin, kept, row_words()};
  const std::shared_ptr<void> scratch = pool_->take(list_scratch_bytes(kept));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [bit, bits] = parts[k];
    DeviceShots& o = out[k];
    o.shots = kept;
    std::int64_t* const offsets = offsets_of(k);
    sum_offsets(kept, offsets, scratch.get(), out_.stream);
    std::int64_t ones = 0;
    check_cuda(
        cudaMemcpyAsync(&ones, offsets + kept, sizeof ones, cudaMemcpyDeviceToHost, out_.stream),
        "copying a sum");
    check_cuda(cudaStreamSynchronize(out_.stream), "list ones");
    o.rows = static_cast<std::uint64_t>(ones), o.row_bytes = 4;
    o.memory = pool_->take(o.rows * 4);
    list_ones(rows, bit, bits, offsets, static_cast<std::uint32_t*>(o.memory.get()), out_.stream);
  }
  synchronize();  // before the memory of all rows goes back
  return out;
}

}  // namespace tilewave::stabilizer
