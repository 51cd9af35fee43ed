// TIFF and BigTIFF in plain strips, with the tags of the input that still hold.
#include <tiffio.h>

#include <algorithm>
#include <cerrno>

#include "tilewave/formats/raster/file.h"
#include "tilewave/formats/raster/tiff.h"

namespace tilewave::formats::detail {
namespace {

class TiffWriter final : public RasterWriter {
 public:
  TiffWriter(const std::string& path, const RasterInfo& info) : file_(path), info_(info) {
    if (info.width > 0x7fffffff || info.height > 0x7fffffff)
      file_.fail("TIFF holds at most 2^31 - 1 rows and columns");
    const bool big = info.row_bytes() * info.height > 3'900'000'000;
    errno = 0;
    tiff_ = open_tiff_handle(path, big ? "w8" : "w", &report_, file_.descriptor());
    if (!tiff_) fail();
    TIFF* t = tiff_.get();
    const bool is_float = info.type == SampleType::kFloat16 || info.type == SampleType::kFloat32 ||
                          info.type == SampleType::kFloat64;
    const bool is_signed = info.type == SampleType::kInt8 || info.type == SampleType::kInt16 ||
                           info.type == SampleType::kInt32 || info.type == SampleType::kInt64;
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(info.width));
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(info.height));
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, info.channels);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * sample_bytes(info.type)));
    TIFFSetField(t, TIFFTAG_SAMPLEFORMAT,
                 is_float    ? SAMPLEFORMAT_IEEEFP
                 : is_signed ? SAMPLEFORMAT_INT
                             : SAMPLEFORMAT_UINT);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC,
                 info.channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    const std::int64_t rows = std::max<std::int64_t>(1, (1 << 18) / info.row_bytes());
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(std::min(rows, info.height)));
    write_tags(t, info);
  }

  void write_rows(const void* from, std::int64_t rows) override {
    errno = 0;
    const auto* row = static_cast<const unsigned char*>(from);
    for (std::int64_t i = 0; i < rows; ++i, ++next_, row += info_.row_bytes()) {
      // libtiff swaps bytes in place where the order differs, so it wants to be able to write
      if (TIFFWriteScanline(tiff_.get(), const_cast<unsigned char*>(row),
                            static_cast<std::uint32_t>(next_), 0) < 0)
        fail();
    }
  }

  void close() override {
    errno = 0;
    if (TIFFFlush(tiff_.get()) != 1) fail();
    tiff_.reset();
    file_.commit();
  }

 private:
  // libtiff says at which row, the system why.
  [[noreturn]] void fail() const {
    if (report_.error != 0) file_.fail(report_.error);
    file_.fail(report_.message.empty() ? "the TIFF library gave up" : report_.message);
  }

  WholeFile file_;
  RasterInfo info_;
  TiffReport report_;
  TiffHandle tiff_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RasterWriter> create_tiff(const std::string& path, const RasterInfo& info) {
  return std::make_unique<TiffWriter>(path, info);
}

}  // namespace tilewave::formats::detail
