// TIFF and BigTIFF, strips or tiles, 8 to 64 bits, whole numbers and floats. The tags that carry a
// georeference are copied as they are, so a map stays in its place without a geographic library.
#include <tiffio.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "tilewave/base/error.h"
#include "tilewave/io/raster_file.h"

namespace tilewave::io::detail {
namespace {

constexpr std::uint32_t kNodataTag = 42113;

// Tags of a georeference (pixel scale, tie points, transformation, keys, metadata, no-data value).
const TIFFFieldInfo kGeoFields[] = {
    {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelPixelScale")},
    {33922, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelTiepoint")},
    {34264, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelTransformation")},
    {34735, -1, -1, TIFF_SHORT, FIELD_CUSTOM, 1, 1, const_cast<char*>("GeoKeyDirectory")},
    {34736, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("GeoDoubleParams")},
    {34737, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GeoAsciiParams")},
    {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("RasterMetadata")},
    {kNodataTag, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("RasterNodata")},
};

// libtiff asks every new file for extra tags through one process-wide hook; ours passes on to the
// one before.
TIFFExtendProc previous_extender = nullptr;
void add_geo_fields(TIFF* tiff) {
  TIFFMergeFieldInfo(tiff, kGeoFields, sizeof kGeoFields / sizeof kGeoFields[0]);
  if (previous_extender != nullptr) previous_extender(tiff);
}
void register_geo_fields() {
  static std::once_flag once;
  std::call_once(once, [] { previous_extender = TIFFSetTagExtender(add_geo_fields); });
}

struct TiffReport {
  std::string message;
};

int keep_message(TIFF*, void* report, const char*, const char* format, std::va_list arguments) {
  char text[300];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<TiffReport*>(report)->message = text;
  return 1;
}
int drop_message(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, CloseTiff>;

TiffHandle open_handle(const std::string& path, const char* mode, TiffReport* report) {
  register_geo_fields();
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, report);
  TIFFOpenOptionsSetWarningHandlerExtR(options, drop_message, nullptr);
  TiffHandle tiff(TIFFOpenExt(path.c_str(), mode, options));
  TIFFOpenOptionsFree(options);
  return tiff;
}

SampleType sample_type(const std::string& path, unsigned bits, unsigned format) {
  if (format == SAMPLEFORMAT_UINT && bits == 8) return SampleType::kUint8;
  if (format == SAMPLEFORMAT_UINT && bits == 16) return SampleType::kUint16;
  if (format == SAMPLEFORMAT_INT && bits == 16) return SampleType::kInt16;
  if (format == SAMPLEFORMAT_UINT && bits == 32) return SampleType::kUint32;
  if (format == SAMPLEFORMAT_INT && bits == 32) return SampleType::kInt32;
  if (format == SAMPLEFORMAT_IEEEFP && bits == 16) return SampleType::kFloat16;
  if (format == SAMPLEFORMAT_IEEEFP && bits == 32) return SampleType::kFloat32;
  if (format == SAMPLEFORMAT_IEEEFP && bits == 64) return SampleType::kFloat64;
  raster_input_error(path, std::to_string(bits) + "-bit samples of TIFF format " +
                               std::to_string(format) +
                               " are not read: convert to 8, 16 or 32-bit integers or floats");
}

class TiffReader final : public RasterReader {
 public:
  explicit TiffReader(const std::string& path) : path_(path) {
    {
      FileHandle probe = open_for_reading(path);
      if (std::fgetc(probe.get()) == EOF) raster_input_error(path, "the file is empty");
    }
    tiff_ = open_handle(path, "r", &report_);
    if (!tiff_) fail("it is no TIFF file");
    std::uint32_t width = 0, height = 0;
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height);
    std::uint16_t channels = 1, bits = 1, format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_SAMPLESPERPIXEL, &channels);
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_PLANARCONFIG, &planar);
    if (planar != PLANARCONFIG_CONTIG && channels > 1) {
      raster_input_error(path, "its channels lie in separate planes: convert it to one channel");
    }
    info_.width = width;
    info_.height = height;
    info_.channels = channels;
    info_.type = sample_type(path, bits, format);
    read_tags();
    count_pages();
    if (TIFFIsTiled(tiff_.get())) {
      TIFFGetField(tiff_.get(), TIFFTAG_TILEWIDTH, &tile_width_);
      TIFFGetField(tiff_.get(), TIFFTAG_TILELENGTH, &tile_height_);
      tile_.resize(static_cast<std::size_t>(TIFFTileSize(tiff_.get())));
      band_.resize(static_cast<std::size_t>(info_.row_bytes()) * tile_height_);
    } else if (TIFFScanlineSize(tiff_.get()) != info_.row_bytes()) {
      raster_input_error(path, "its rows have an unexpected size (packed or subsampled colours)");
    }
  }

  void read_rows(void* to, std::int64_t rows) override {
    auto* out = static_cast<unsigned char*>(to);
    for (std::int64_t i = 0; i < rows; ++i, ++next_, out += info_.row_bytes()) {
      if (tile_height_ == 0) {
        if (TIFFReadScanline(tiff_.get(), out, static_cast<std::uint32_t>(next_), 0) < 0)
          fail("it is damaged or truncated");
        continue;
      }
      const std::int64_t in_band = next_ % tile_height_;
      if (in_band == 0) read_band();
      std::memcpy(out, band_.data() + in_band * info_.row_bytes(),
                  static_cast<std::size_t>(info_.row_bytes()));
    }
  }

 private:
  // One row of tiles as plain rows.
  void read_band() {
    const std::int64_t pixel_bytes = info_.row_bytes() / info_.width;
    for (std::int64_t x = 0; x < info_.width; x += tile_width_) {
      if (TIFFReadTile(tiff_.get(), tile_.data(), static_cast<std::uint32_t>(x),
                       static_cast<std::uint32_t>(next_), 0, 0) < 0) {
        fail("it is damaged or truncated");
      }
      const std::int64_t columns = std::min<std::int64_t>(tile_width_, info_.width - x);
      for (std::int64_t y = 0; y < tile_height_; ++y) {
        std::memcpy(band_.data() + y * info_.row_bytes() + x * pixel_bytes,
                    tile_.data() + y * tile_width_ * pixel_bytes,
                    static_cast<std::size_t>(columns * pixel_bytes));
      }
    }
  }

  // Overviews and masks of the first image are none.
  void count_pages() {
    while (TIFFReadDirectory(tiff_.get()) == 1) {
      std::uint32_t kind = 0;
      TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_SUBFILETYPE, &kind);
      if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0) ++info_.pages;
    }
    if (TIFFCurrentDirectory(tiff_.get()) != 0 && TIFFSetDirectory(tiff_.get(), 0) != 1)
      fail("it is damaged or truncated");
  }

  void read_tags() {
    for (const TIFFFieldInfo& field : kGeoFields) {
      RasterTag tag;
      tag.tag = field.field_tag;
      if (field.field_type == TIFF_ASCII) {
        const char* text = nullptr;
        if (TIFFGetField(tiff_.get(), field.field_tag, &text) != 1 || text == nullptr) continue;
        tag.text = text;
        if (tag.tag == kNodataTag) {
          char* end = nullptr;
          const double value = std::strtod(text, &end);
          if (end != text) info_.nodata = value;
        }
      } else {
        std::uint16_t count = 0;
        const void* data = nullptr;
        if (TIFFGetField(tiff_.get(), field.field_tag, &count, &data) != 1 || data == nullptr)
          continue;
        for (int k = 0; k < count; ++k) {
          tag.numbers.push_back(field.field_type == TIFF_DOUBLE
                                    ? static_cast<const double*>(data)[k]
                                    : static_cast<const std::uint16_t*>(data)[k]);
        }
      }
      info_.geo_tags.push_back(std::move(tag));
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    raster_input_error(path_, what + (report_.message.empty() ? "" : " (" + report_.message + ")"));
  }

  std::string path_;
  TiffReport report_;
  TiffHandle tiff_;
  std::uint32_t tile_width_ = 0, tile_height_ = 0;
  std::vector<unsigned char> tile_, band_;
  std::int64_t next_ = 0;
};

class TiffWriter final : public RasterWriter {
 public:
  TiffWriter(const std::string& path, const RasterInfo& info) : file_(path), info_(info) {
    if (info.width > 0x7fffffff || info.height > 0x7fffffff)
      file_.fail("TIFF holds at most 2^31 - 1 rows and columns");
    const bool big = info.row_bytes() * info.height > 3'900'000'000;
    tiff_ = open_handle(file_.part_path(), big ? "w8" : "w", &report_);
    if (!tiff_) fail();
    TIFF* t = tiff_.get();
    const bool is_float = info.type == SampleType::kFloat16 || info.type == SampleType::kFloat32 ||
                          info.type == SampleType::kFloat64;
    const bool is_signed = info.type == SampleType::kInt16 || info.type == SampleType::kInt32;
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
    for (const RasterTag& tag : info.geo_tags) write_tag(tag);
  }

  void write_rows(const void* from, std::int64_t rows) override {
    const auto* row = static_cast<const unsigned char*>(from);
    for (std::int64_t i = 0; i < rows; ++i, ++next_, row += info_.row_bytes()) {
      // libtiff swaps bytes in place where the order differs, so it wants to be able to write
      if (TIFFWriteScanline(tiff_.get(), const_cast<unsigned char*>(row),
                            static_cast<std::uint32_t>(next_), 0) < 0)
        fail();
    }
  }

  void close() override {
    if (TIFFFlush(tiff_.get()) != 1) fail();
    tiff_.reset();
    file_.commit();
  }

 private:
  void write_tag(const RasterTag& tag) {
    TIFF* t = tiff_.get();
    if (!tag.text.empty()) {
      TIFFSetField(t, tag.tag, tag.text.c_str());
    } else if (tag.tag == 34735) {
      std::vector<std::uint16_t> keys(tag.numbers.begin(), tag.numbers.end());
      TIFFSetField(t, tag.tag, static_cast<int>(keys.size()), keys.data());
    } else if (!tag.numbers.empty()) {
      TIFFSetField(t, tag.tag, static_cast<int>(tag.numbers.size()), tag.numbers.data());
    }
  }
  [[noreturn]] void fail() const {
    file_.fail(report_.message.empty() ? "the TIFF library gave up" : report_.message);
  }

  PartFile file_;
  RasterInfo info_;
  TiffReport report_;
  TiffHandle tiff_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RasterReader> open_tiff(const std::string& path) {
  return std::make_unique<TiffReader>(path);
}
std::unique_ptr<RasterWriter> create_tiff(const std::string& path, const RasterInfo& info) {
  return std::make_unique<TiffWriter>(path, info);
}

}  // namespace tilewave::io::detail

namespace tilewave::io {

void declare_nodata(RasterInfo& info, const std::string& text) {
  if (info.geo_tags.empty()) return;
  std::erase_if(info.geo_tags, [](const RasterTag& tag) { return tag.tag == detail::kNodataTag; });
  if (!text.empty()) info.geo_tags.push_back({detail::kNodataTag, {}, text});
}

}  // namespace tilewave::io
