// Readers around readers: one channel of several, and a mask from a file beside the image.
#include <cstring>
#include <type_traits>
#include <utility>

#include "tilewave/formats/raster/file.h"
#include "tilewave/formats/raster/sample_types.h"

namespace tilewave::formats::detail {
namespace {

// Sample `channel` of every pixel; both places lie on the boundaries of samples.
template <class T, int kChannels = 0>
void pick(const std::byte* row, std::int64_t width, int channels, int channel, std::byte* to) {
  const T* __restrict__ const from = reinterpret_cast<const T*>(row) + channel;
  T* __restrict__ const out = reinterpret_cast<T*>(to);
  const std::int64_t step = kChannels > 0 ? kChannels : channels;
#pragma GCC unroll 8
  for (std::int64_t x = 0; x < width; ++x) out[x] = from[x * step];
}

void pick(std::size_t sample, const std::vector<std::byte>& bytes, std::int64_t width, int channels,
          int channel, std::byte* to) {
  const std::byte* const row = bytes.data();
  switch (sample) {
    case 1:
      if (channels == 3) return pick<std::uint8_t, 3>(row, width, channels, channel, to);
      return pick<std::uint8_t>(row, width, channels, channel, to);
    case 2:
      return pick<std::uint16_t>(row, width, channels, channel, to);
    case 4:
      return pick<std::uint32_t>(row, width, channels, channel, to);
    default:
      return pick<std::uint64_t>(row, width, channels, channel, to);
  }
}

class ChannelReader final : public RasterReader {
 public:
  ChannelReader(std::unique_ptr<RasterReader> all, int channel)
      : all_(std::move(all)), channel_(channel) {
    info_ = all_->info();
    // an alpha channel that is asked for is a channel as any other
    alpha_ = info_.alpha == channel ? -1 : info_.alpha;
    info_.masked = info_.masked || alpha_ >= 0;
    info_.channels = 1;
    info_.alpha = -1;
    row_.resize(static_cast<std::size_t>(all_->info().row_bytes()));
    opacity_.resize(alpha_ >= 0 ? static_cast<std::size_t>(info_.row_bytes()) : 0);
    all_->want(alpha_ >= 0 ? std::vector{channel, alpha_} : std::vector{channel});
  }

  void read_rows(void* to, std::int64_t rows) override {
    auto* out = static_cast<std::byte*>(to);
    const std::size_t sample = sample_bytes(info_.type);
    const auto width = static_cast<std::size_t>(info_.width);
    if (info_.masked) valid_.assign(width * static_cast<std::size_t>(rows), 1);
    for (std::int64_t y = 0; y < rows; ++y, out += info_.row_bytes()) {
      all_->read_rows(row_.data(), 1);
      pick(sample, row_, info_.width, all_->info().channels, channel_, out);
      if (!info_.masked) continue;
      std::uint8_t* const valid = valid_.data() + static_cast<std::size_t>(y) * width;
      if (all_->valid() != nullptr) std::memcpy(valid, all_->valid(), width);
      if (alpha_ < 0) continue;
      pick(sample, row_, info_.width, all_->info().channels, alpha_, opacity_.data());
      hide_zeros(opacity_.data(), info_.type, width, valid);
    }
  }
  const std::uint8_t* valid() const override { return info_.masked ? valid_.data() : nullptr; }

 private:
  std::unique_ptr<RasterReader> all_;
  int channel_, alpha_;
  std::vector<std::byte> row_, opacity_;
  std::vector<std::uint8_t> valid_;
};

class MaskFileReader final : public RasterReader {
 public:
  MaskFileReader(std::unique_ptr<RasterReader> image, const std::string& mask_path)
      : image_(std::move(image)), mask_(open_tiff(mask_path)) {
    info_ = image_->info();
    const RasterInfo& mask = mask_->info();
    if (mask.width != info_.width || mask.height != info_.height || mask.channels != 1) {
      raster_input_error(mask_path, "it masks an image of ", mask.width, " x ", mask.height,
                         " pixels and ", mask.channels, " channels, not one of ", info_.width,
                         " x ", info_.height, ": make one mask for all channels, or take it away");
    }
    info_.masked = true;
    row_.resize(static_cast<std::size_t>(mask.row_bytes()));
  }
  void read_rows(void* to, std::int64_t rows) override {
    image_->read_rows(to, rows);
    const auto width = static_cast<std::size_t>(info_.width);
    valid_.assign(width * static_cast<std::size_t>(rows), 1);
    if (image_->valid() != nullptr) std::memcpy(valid_.data(), image_->valid(), valid_.size());
    for (std::size_t y = 0; y < static_cast<std::size_t>(rows); ++y) {
      mask_->read_rows(row_.data(), 1);
      hide_zeros(row_.data(), mask_->info().type, width, valid_.data() + y * width);
    }
  }
  const std::uint8_t* valid() const override { return valid_.data(); }
  void want(const std::vector<int>& channels) override { image_->want(channels); }

 private:
  std::unique_ptr<RasterReader> image_, mask_;
  std::vector<std::byte> row_;
  std::vector<std::uint8_t> valid_;
};

}  // namespace

void hide_zeros(const void* samples, SampleType type, std::size_t n, std::uint8_t* valid) {
  with_type(type, samples, [&](const auto* of_type) {
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<decltype(of_type), const Half*>) {
        if (to_float(of_type[i]) == 0) valid[i] = 0;
      } else {
        if (of_type[i] == 0) valid[i] = 0;
      }
    }
  });
}

std::unique_ptr<RasterReader> take_channel(std::unique_ptr<RasterReader> all, int channel) {
  return std::make_unique<ChannelReader>(std::move(all), channel);
}

std::unique_ptr<RasterReader> with_mask_file(std::unique_ptr<RasterReader> image,
                                             const std::string& mask_path) {
  return std::make_unique<MaskFileReader>(std::move(image), mask_path);
}

}  // namespace tilewave::formats::detail
