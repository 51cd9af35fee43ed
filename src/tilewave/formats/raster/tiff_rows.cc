#include "tilewave/formats/raster/tiff_rows.h"

#include <tiffio.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "tilewave/base/error.h"
#include "tilewave/formats/raster/file.h"
#include "tilewave/formats/raster/half.h"
#include "tilewave/formats/raster/sample_types.h"
#include "tilewave/formats/raster/tiff.h"

namespace tilewave::formats::detail {

TiffShape::TiffShape(tiff* handle)
    : format(SAMPLEFORMAT_UINT),
      compression(COMPRESSION_NONE),
      photometric(PHOTOMETRIC_MINISBLACK) {
  std::uint16_t planar = PLANARCONFIG_CONTIG;
  TIFFGetField(handle, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(handle, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetFieldDefaulted(handle, TIFFTAG_SAMPLESPERPIXEL, &channels);
  TIFFGetFieldDefaulted(handle, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(handle, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(handle, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(handle, TIFFTAG_COMPRESSION, &compression);
  TIFFGetField(handle, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetField(handle, TIFFTAG_IMAGEDEPTH, &depth);
  in_planes = planar != PLANARCONFIG_CONTIG && channels > 1;
}

SampleType tiff_sample_type(const std::string& path, unsigned bits, unsigned format) {
  struct Row {
    unsigned format, bits;
    SampleType type;
  };
  constexpr Row kRows[] = {{SAMPLEFORMAT_UINT, 8, SampleType::kUint8},
                           {SAMPLEFORMAT_INT, 8, SampleType::kInt8},
                           {SAMPLEFORMAT_UINT, 16, SampleType::kUint16},
                           {SAMPLEFORMAT_INT, 16, SampleType::kInt16},
                           {SAMPLEFORMAT_UINT, 32, SampleType::kUint32},
                           {SAMPLEFORMAT_INT, 32, SampleType::kInt32},
                           {SAMPLEFORMAT_UINT, 64, SampleType::kUint64},
                           {SAMPLEFORMAT_INT, 64, SampleType::kInt64},
                           {SAMPLEFORMAT_IEEEFP, 16, SampleType::kFloat16},
                           {SAMPLEFORMAT_IEEEFP, 32, SampleType::kFloat32},
                           {SAMPLEFORMAT_IEEEFP, 64, SampleType::kFloat64}};
  if (format == SAMPLEFORMAT_UINT && bits > 0 && bits < 16 && bits != 8)  // packed
    return bits < 8 ? SampleType::kUint8 : SampleType::kUint16;
  for (const Row& row : kRows) {
    if (row.bits == bits && row.format == format) return row.type;
  }
  raster_input_error(path, bits, "-bit samples of TIFF format ", format,
                     " are not read: convert it (gdal_translate -ot Float32 IN OUT.tif)");
}

namespace {

// `value` as one sample, at the nearest end where it is beyond the type's range.
template <class T>
T to_sample(double value) {
  using Limits = std::numeric_limits<T>;
  const auto least = static_cast<double>(Limits::lowest());
  const auto most = static_cast<double>(Limits::max());
  if constexpr (Limits::is_integer) {
    if (std::isnan(value)) return 0;
    return value <= least  ? Limits::lowest()
           : value >= most ? Limits::max()
                           : static_cast<T>(std::nearbyint(value));
  } else {
    return static_cast<T>(std::isfinite(value) ? std::clamp(value, least, most) : value);
  }
}
template <>
Half to_sample<Half>(double value) {
  return to_half(to_sample<float>(value));
}

// A pixel of a block that the file leaves out: what it declares as no data, or 0.
std::vector<unsigned char> absent_sample(SampleType type, std::optional<double> nodata) {
  std::vector<unsigned char> bytes(sample_bytes(type));
  with_type(type, nullptr, [&](const auto* of_type) {
    const auto sample = to_sample<std::remove_cvref_t<decltype(*of_type)>>(nodata.value_or(0));
    std::memcpy(bytes.data(), &sample, sizeof sample);
  });
  return bytes;
}

// How many bytes a stored one can become, at most. Those of the later codecs have no bound; so many
// are enough for any real block.
std::int64_t most_expansion(unsigned compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_JPEG:
      return 1500;
    default:
      return 1 << 20;
  }
}

// The 16-bit integer of a tag in the directory at `offset`, for tags that the library passes over;
// `otherwise` where the directory has none.
std::uint16_t short_tag(const std::string& path, std::uint64_t offset, std::uint16_t tag,
                        std::uint16_t otherwise) {
  const FileHandle file = open_for_reading(path);
  unsigned char bytes[20] = {};
  const auto read = [&](std::uint64_t at, std::size_t n) {
    return ::fseeko(file.get(), static_cast<off_t>(at), SEEK_SET) == 0 &&
           std::fread(bytes, 1, n, file.get()) == n;
  };
  if (!read(0, 4)) return otherwise;
  const bool big_end_first = bytes[0] == 'M';
  const auto number = [&](std::size_t at, std::size_t n) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < n; ++k)
      value = value << 8 | bytes[at + (big_end_first ? k : n - 1 - k)];
    return value;
  };
  const bool is_big = number(2, 2) == 43;  // BigTIFF
  const std::size_t count_bytes = is_big ? 8 : 2, entry_bytes = is_big ? 20 : 12;
  if (!read(offset, count_bytes)) return otherwise;
  const std::uint64_t entries = number(0, count_bytes);
  for (std::uint64_t k = 0; k < entries; ++k) {
    if (!read(offset + count_bytes + k * entry_bytes, entry_bytes)) return otherwise;
    if (number(0, 2) == tag) return static_cast<std::uint16_t>(number(is_big ? 12 : 8, 2));
  }
  return otherwise;
}

constexpr const char* kDamaged = "it is damaged or truncated";
// A strip that is read in whole has at most so many bytes.
constexpr std::int64_t kMostStrip = std::int64_t{256} << 20;

}  // namespace

// The rows of one plane.
class TiffPlane {
 public:
  TiffPlane(const std::string& path, std::uint32_t directory, int sample,
            std::optional<double> nodata)
      : path_(path), sample_(static_cast<std::uint16_t>(sample)) {
    tiff_ = open_tiff_handle(path, "r", report_.get());
    if (!tiff_ || TIFFSetDirectory(tiff_.get(), directory) != 1) fail("it is no TIFF file");
    const TiffShape shape(tiff_.get());
    channels_ = shape.plane_channels();
    width_ = shape.width;
    height_ = shape.height;
    bits_ = shape.bits;
    compression_ = shape.compression;
    type_ = tiff_sample_type(path, shape.bits, shape.format);
    absent_ = absent_sample(type_, nodata);
    if (shape.compression == COMPRESSION_JBIG) {  // of whole strips only, and not in a wheel
      raster_input_error(
          path,
          "it is compressed with JBIG, which is not read: convert it (tiffcp -c zip IN OUT.tif)");
    }
    if (shape.depth > 1) {
      raster_input_error(path, "it holds ", shape.depth,
                         " slices of a volume in one image (ImageDepth), which are not read: write "
                         "each as an image of its own");
    }
    refuse_ignored_predictors();
    take_colours_as_they_are(shape);
    check_sizes(shape);
    if (TIFFIsCODECConfigured(static_cast<std::uint16_t>(compression_)) == 0) {
      raster_input_error(path, "its compression (scheme ", compression_,
                         ") is none that the TIFF library here reads: convert it where one does "
                         "(gdal_translate -co COMPRESS=DEFLATE IN OUT.tif)");
    }
  }

  /// The next row, bytes of whole samples.
  void read_row(unsigned char* to) {
    const auto row = static_cast<std::uint32_t>(next_++);
    errno = 0;  // what fail() looks at is of this row
    if (tile_height_ > 0) return read_row_of_tiles(row, to);
    const std::uint32_t in_strip = row % rows_per_strip_;
    if (in_strip == 0) {
      is_strip_absent_ = is_absent(TIFFComputeStrip(tiff_.get(), row, sample_));
      if (by_strips_ && !is_strip_absent_) read_strip(row);
    }
    if (is_strip_absent_) return fill(to, width_);
    // taken where a block has pixels: a file may claim any width
    if (is_packed() && !by_strips_) held_.resize(static_cast<std::size_t>(packed(width_)));
    const unsigned char* stored = is_packed() ? held_.data() : to;
    if (by_strips_) {
      stored = strip_.data() + in_strip * packed(width_);
    } else if (TIFFReadScanline(tiff_.get(), is_packed() ? held_.data() : to, row, sample_) < 0) {
      fail(compression_ == COMPRESSION_PACKBITS
               ? "it is damaged or truncated, or runs of its PackBits cross rows in strips of more "
                 "than 256 MiB, which are read row by row: convert it (tiffcp -c zip IN OUT.tif)"
               : kDamaged);
    }
    if (is_packed()) {
      unpack(stored, width_ * channels_, to);
    } else if (by_strips_) {
      std::memcpy(to, stored, static_cast<std::size_t>(packed(width_)));
    }
  }

 private:
  // The library undoes the differences between neighbours that a predictor stores for some codecs,
  // and hands them out as pixels for others.
  void refuse_ignored_predictors() const {
    if (compression_ != COMPRESSION_PACKBITS && compression_ != COMPRESSION_LERC) return;
    const std::uint16_t predictor =
        short_tag(path_, TIFFCurrentDirOffset(tiff_.get()), TIFFTAG_PREDICTOR, PREDICTOR_NONE);
    if (predictor == PREDICTOR_NONE) return;
    raster_input_error(path_, "it stores differences (predictor ", predictor, ") compressed with ",
                       compression_ == COMPRESSION_LERC ? "LERC" : "PackBits",
                       ", which are not read: write it without a predictor, or with LZW, Deflate "
                       "or Zstandard");
  }

  // A strip in whole: runs may cross its rows, which the library's reading by rows cuts off.
  void read_strip(std::uint32_t row) {
    const std::uint32_t strip = TIFFComputeStrip(tiff_.get(), row, sample_);
    const std::int64_t rows = std::min<std::int64_t>(rows_per_strip_, height_ - row);
    const std::int64_t bytes = packed(width_) * rows;
    const std::uint64_t stored = TIFFGetStrileByteCount(tiff_.get(), strip);
    const std::uint64_t held = file_bytes_ < 0 ? stored : static_cast<std::uint64_t>(file_bytes_);
    constexpr std::uint64_t kMostOfARun = 64;  // two bytes become 128
    if (static_cast<std::uint64_t>(bytes) > kMostOfARun * std::min(stored, held)) fail(kDamaged);
    strip_.resize(static_cast<std::size_t>(bytes));
    if (TIFFReadEncodedStrip(tiff_.get(), strip, strip_.data(), bytes) != bytes) fail(kDamaged);
  }

  // JPEG hands out luma and chroma unless it is asked for colours.
  void take_colours_as_they_are(const TiffShape& shape) {
    if (shape.photometric == PHOTOMETRIC_LOGL || shape.photometric == PHOTOMETRIC_LOGLUV)
      refuse_colours("in SGI's logarithmic encoding");
    if (shape.photometric == PHOTOMETRIC_SEPARATED) refuse_colours("amounts of ink (CMYK)");
    if (shape.photometric == PHOTOMETRIC_CIELAB || shape.photometric == PHOTOMETRIC_ICCLAB ||
        shape.photometric == PHOTOMETRIC_ITULAB)
      refuse_colours("lightness and two axes of colour (L*a*b*)");
    if (shape.photometric != PHOTOMETRIC_YCBCR) return;
    if (shape.compression != COMPRESSION_JPEG || shape.in_planes)
      refuse_colours("luma and chroma (YCbCr) without JPEG, or in planes");
    TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  [[noreturn]] void refuse_colours(const std::string& what) const {
    raster_input_error(path_, "its colours are ", what,
                       ", which are not read: convert it to red, green and blue "
                       "(gdal_translate -expand rgb, or an image program)");
  }

  // Bytes of n pixels as the library hands them out.
  std::int64_t packed(std::int64_t n) const { return (n * channels_ * bits_ + 7) / 8; }

  void check_sizes(const TiffShape& shape) {
    TIFF* const t = tiff_.get();
    std::int64_t got = 0, wanted = 0;
    if (TIFFIsTiled(t)) {
      TIFFGetField(t, TIFFTAG_TILEWIDTH, &tile_width_);
      TIFFGetField(t, TIFFTAG_TILELENGTH, &tile_height_);
      if (tile_width_ == 0 || tile_height_ == 0) fail("its tiles are empty");
      got = TIFFTileSize(t);
      if (__builtin_mul_overflow(packed(tile_width_), std::int64_t{tile_height_}, &wanted))
        wanted = -1;  // no size
    } else {
      TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &rows_per_strip_);
      if (rows_per_strip_ == 0) fail("its strips are empty");
      rows_per_strip_ = std::min(rows_per_strip_, std::max<std::uint32_t>(shape.height, 1));
      got = TIFFScanlineSize(t);
      wanted = packed(width_);
      by_strips_ = compression_ == COMPRESSION_PACKBITS && wanted <= kMostStrip / rows_per_strip_;
    }
    if (got != wanted) {
      raster_input_error(path_,
                         "its blocks have an unexpected size (packed or subsampled colours): "
                         "convert it (gdal_translate IN OUT.tif)");
    }
    check_blocks(shape, wanted);
  }

  // The tiles of a row that are there are in memory together. Some codecs need a hundred bytes for any
  // tile of one value, and tiles may share bytes, so that what a few bytes may stand for has no bound
  // per tile.
  void check_row_of_tiles(double bytes) const {
    constexpr double kFree = 512 << 20, kMostOfAByte = 2000;
    if (bytes <= kFree + kMostOfAByte * static_cast<double>(file_bytes_)) return;
    raster_input_error(path_, "it is truncated or damaged: a row of its tiles has ",
                       static_cast<std::int64_t>(bytes / (1 << 20)), " MiB, the file ", file_bytes_,
                       " bytes");
  }

  // Every block must lie in the file, and hold enough for a tile, or for a row of a strip.
  void check_blocks(const TiffShape& shape, std::int64_t wanted) {
    TIFF* const t = tiff_.get();
    const FileHandle file = open_for_reading(path_);
    const std::int64_t size = bytes_left(file.get());
    file_bytes_ = size;
    if (size < 0) return;
    const std::uint32_t all = tile_height_ > 0 ? TIFFNumberOfTiles(t) : TIFFNumberOfStrips(t);
    const std::uint32_t in_plane = shape.in_planes ? all / shape.channels : all;
    const auto held = static_cast<std::uint64_t>(size);
    const auto least = static_cast<std::uint64_t>(wanted / most_expansion(shape.compression));
    const auto across =
        static_cast<std::uint32_t>(tile_height_ > 0 ? (width_ + tile_width_ - 1) / tile_width_ : 1);
    std::uint32_t in_row = 0;  // tiles that are there
    for (std::uint32_t k = sample_ * in_plane; k < (sample_ + 1) * in_plane; ++k) {
      if ((k - sample_ * in_plane) % across == 0) in_row = 0;
      if (is_absent(k)) continue;
      if (tile_height_ > 0) check_row_of_tiles(static_cast<double>(wanted) * ++in_row);
      const std::uint64_t offset = TIFFGetStrileOffset(t, k);
      const std::uint64_t bytes =
          offset < held ? std::min(TIFFGetStrileByteCount(t, k), held - offset) : 0;
      if (bytes > 0 && bytes + 1024 >= least) continue;
      raster_input_error(path_, "it is truncated or damaged: block ", k, " of ", width_, " x ",
                         shape.height, " pixels has ", bytes, " bytes");
    }
  }

  bool is_absent(std::uint32_t block) const {
    return TIFFGetStrileByteCount(tiff_.get(), block) == 0;
  }
  void fill(unsigned char* to, std::int64_t pixels) const {
    const auto all = static_cast<std::size_t>(pixels * channels_) * absent_.size();
    std::size_t done = std::min(all, absent_.size());
    std::memcpy(to, absent_.data(), done);
    for (std::size_t more; done < all; done += more) {  // what is there, again
      more = std::min(done, all - done);
      std::memcpy(to + done, to, more);
    }
  }

  // Samples that are no whole bytes lie bit after bit, the first in the highest ones.
  bool is_packed() const { return bits_ % 8 != 0; }
  void unpack(const unsigned char* from, std::int64_t samples, unsigned char* to) const {
    unsigned held = 0;
    int num_held = 0;
    for (std::int64_t k = 0; k < samples; ++k) {
      for (; num_held < bits_; num_held += 8) held = held << 8 | *from++;
      num_held -= bits_;
      const auto sample = static_cast<std::uint16_t>(held >> num_held & ((1u << bits_) - 1));
      if (bits_ < 8) {
        to[k] = static_cast<unsigned char>(sample);
      } else {
        std::memcpy(to + 2 * k, &sample, sizeof sample);
      }
    }
  }

  void read_row_of_tiles(std::uint32_t row, unsigned char* to) {
    const std::uint32_t y = row % tile_height_;
    if (y == 0) read_tiles(row);
    const std::int64_t stored_row = packed(tile_width_);
    std::int64_t left = width_;
    for (const std::vector<unsigned char>& tile : tiles_) {
      const std::int64_t columns = std::min<std::int64_t>(tile_width_, left);
      const auto bytes = static_cast<std::size_t>(columns * channels_) * absent_.size();
      const unsigned char* const from = tile.empty() ? nullptr : tile.data() + y * stored_row;
      if (tile.empty()) {
        fill(to, columns);
      } else if (is_packed()) {
        unpack(from, columns * channels_, to);
      } else {
        std::memcpy(to, from, bytes);
      }
      to += bytes;
      left -= columns;
    }
  }

  // The tiles of a row; absent ones stay empty.
  void read_tiles(std::uint32_t row) {
    tiles_.resize(static_cast<std::size_t>((width_ + tile_width_ - 1) / tile_width_));
    for (std::size_t k = 0; k < tiles_.size(); ++k) {
      const auto x = static_cast<std::uint32_t>(k) * tile_width_;
      if (is_absent(TIFFComputeTile(tiff_.get(), x, row, 0, sample_))) {
        tiles_[k].clear();
        continue;
      }
      tiles_[k].resize(static_cast<std::size_t>(packed(tile_width_) * tile_height_));
      if (TIFFReadTile(tiff_.get(), tiles_[k].data(), x, row, 0, sample_) < 0) fail(kDamaged);
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    if (report_->error == ENOMEM) throw std::bad_alloc();
    if (compression_ == COMPRESSION_JPEG && bits_ != 8) {
      raster_input_error(path_, "it is JPEG with samples of ", bits_,
                         " bits, which the TIFF library here does not read: convert it where one "
                         "does (gdal_translate -co COMPRESS=DEFLATE IN OUT.tif)");
    }
    raster_input_error(path_,
                       what + (report_->message.empty() ? "" : " (" + report_->message + ")"));
  }

  std::string path_;
  std::unique_ptr<TiffReport> report_ = std::make_unique<TiffReport>();  // stays where it is
  TiffHandle tiff_;
  std::uint16_t sample_, compression_ = COMPRESSION_NONE;
  int channels_ = 1, bits_ = 8;
  SampleType type_ = SampleType::kUint8;
  std::int64_t width_ = 0, height_ = 0, next_ = 0, file_bytes_ = -1;
  std::uint32_t tile_width_ = 0, tile_height_ = 0;  // 0: strips
  std::uint32_t rows_per_strip_ = 1;
  bool is_strip_absent_ = false, by_strips_ = false;
  std::vector<unsigned char> absent_, held_, strip_;
  std::vector<std::vector<unsigned char>> tiles_;
};

TiffRows::TiffRows(const std::string& path, std::uint32_t directory, const TiffShape& shape,
                   std::optional<double> nodata)
    : path_(path), directory_(directory), nodata_(nodata) {
  const SampleType type = tiff_sample_type(path, shape.bits, shape.format);
  sample_ = sample_bytes(type);
  width_ = shape.width;
  channels_ = shape.channels;
  in_planes_ = shape.in_planes;
  for (int c = 0; c < channels_; ++c) wanted_.push_back(c);
  if (!in_planes_) open_planes({0});
}

TiffRows::~TiffRows() = default;

void TiffRows::read_row(unsigned char* to) {
  if (planes_.empty()) open_planes(wanted_);
  if (!in_planes_) return planes_[0].second->read_row(to);
  for (const auto& [c, plane] : planes_) {
    plane->read_row(row_.data());
    for (std::int64_t x = 0; x < width_; ++x) {
      std::memcpy(to + static_cast<std::size_t>(x * channels_ + c) * sample_,
                  row_.data() + static_cast<std::size_t>(x) * sample_, sample_);
    }
  }
}

void TiffRows::open_planes(const std::vector<int>& planes) {
  for (const int c : planes)
    planes_.emplace_back(c, std::make_unique<TiffPlane>(path_, directory_, c, nodata_));
  row_.resize(in_planes_ ? static_cast<std::size_t>(width_) * sample_ : 0);
}

}  // namespace tilewave::formats::detail
