// TIFF and BigTIFF in strips or tiles, channels together or in planes, 1 to 64 bits, whole numbers
// and floats.
#include <tiffio.h>

#include <cerrno>
#include <new>

#include "tilewave/base/error.h"
#include "tilewave/formats/raster/file.h"
#include "tilewave/formats/raster/sample_types.h"
#include "tilewave/formats/raster/tiff.h"
#include "tilewave/formats/raster/tiff_rows.h"

namespace tilewave::formats::detail {
namespace {

class TiffReader final : public RasterReader {
 public:
  explicit TiffReader(const std::string& path) : path_(path) {
    {
      FileHandle probe = open_for_reading(path);
      if (std::fgetc(probe.get()) == EOF) raster_input_error(path, "the file is empty");
    }
    TiffReport report;
    errno = 0;
    const TiffHandle tiff = open_tiff_handle(path, "r", &report);
    if (!tiff) {
      if (errno == ENOMEM) throw std::bad_alloc();
      raster_input_error(path, "it is no TIFF file",
                         report.message.empty() ? "" : " (" + report.message + ")");
    }
    const TiffShape shape(tiff.get());
    info_.width = shape.width;
    info_.height = shape.height;
    info_.channels = shape.channels;
    info_.type = tiff_sample_type(path, shape.bits, shape.format);
    if (info_.width == 0 || info_.height == 0) return;  // refused by whoever opens it
    find_alpha(tiff.get(), shape);
    read_tags(tiff.get(), info_);
    rows_ = std::make_unique<TiffRows>(path, 0, shape, info_.nodata);
    look_at_pages(tiff.get());
  }

  void read_rows(void* to, std::int64_t rows) override {
    auto* out = static_cast<unsigned char*>(to);
    const auto width = static_cast<std::size_t>(info_.width);
    if (mask_) {
      valid_.assign(width * static_cast<std::size_t>(rows), 1);
      mask_row_.resize(width * sample_bytes(mask_type_));
    }
    for (std::int64_t y = 0; y < rows; ++y, out += info_.row_bytes()) {
      rows_->read_row(out);
      if (!mask_) continue;
      mask_->read_row(mask_row_.data());
      hide_zeros(mask_row_.data(), mask_type_, width,
                 valid_.data() + static_cast<std::size_t>(y) * width);
    }
  }
  const std::uint8_t* valid() const override { return mask_ ? valid_.data() : nullptr; }
  void want(const std::vector<int>& channels) override { rows_->want(channels); }

 private:
  void find_alpha(TIFF* tiff, const TiffShape& shape) {
    std::uint16_t count = 0;
    const std::uint16_t* kinds = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || kinds == nullptr) return;
    for (int k = 0; k < count; ++k) {
      if (kinds[k] == EXTRASAMPLE_ASSOCALPHA || kinds[k] == EXTRASAMPLE_UNASSALPHA)
        info_.alpha = shape.channels - count + k;
    }
  }

  // Counts the images; overviews and masks of the first one are none. The first mask of the full
  // size is the first image's.
  void look_at_pages(TIFF* tiff) {
    while (TIFFReadDirectory(tiff) == 1) {
      std::uint32_t kind = 0;
      TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind);
      if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0) {
        ++info_.pages;
        continue;
      }
      const TiffShape shape(tiff);
      if (mask_ || (kind & FILETYPE_REDUCEDIMAGE) != 0 || shape.channels != 1 ||
          shape.width != info_.width || shape.height != info_.height)
        continue;
      mask_ = std::make_unique<TiffRows>(path_, TIFFCurrentDirectory(tiff), shape, std::nullopt);
      mask_type_ = tiff_sample_type(path_, shape.bits, shape.format);
      info_.masked = true;
    }
  }

  std::string path_;
  std::unique_ptr<TiffRows> rows_, mask_;
  std::vector<unsigned char> mask_row_;
  SampleType mask_type_ = SampleType::kUint8;
  std::vector<std::uint8_t> valid_;
};

}  // namespace

std::unique_ptr<RasterReader> open_tiff(const std::string& path) {
  return std::make_unique<TiffReader>(path);
}

}  // namespace tilewave::formats::detail
