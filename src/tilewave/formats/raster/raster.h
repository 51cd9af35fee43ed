// Pictures and rasters as streams of rows, whatever the file format: PNG, TIFF (strips, tiles,
// BigTIFF; the tags of a georeference are carried along), NPY, PGM, raw numbers, and the container
// of the 2020 entropy study. Readers give rows in order from the top, so an image never has to fit
// in memory; what a header says is compared with the file's size before memory is taken for it. A
// written file appears under its name only when it is whole.
//
// Pixels without data are those of the declared value (RasterInfo::nodata), and those that a mask
// or an alpha channel hides (RasterReader::valid).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewave::formats {

enum class SampleType : std::uint8_t {
  kUint8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt64,
  kUint64
};

std::size_t sample_bytes(SampleType type);
const char* sample_name(SampleType type);

/// One TIFF tag copied as it is.
struct RasterTag {
  std::uint32_t tag = 0;
  std::vector<double> numbers;  ///< 16-bit integers, floats or doubles
  std::string text;             ///< or a string
};

struct RasterInfo {
  std::int64_t width = 0, height = 0;
  int channels = 1;  ///< interleaved
  int alpha = -1;    ///< the channel that is 0 where a pixel holds no data; -1: none
  SampleType type = SampleType::kUint8;
  std::optional<double> nodata;  ///< as the file declares it
  bool masked = false;           ///< RasterReader::valid() knows pixels without data
  std::vector<RasterTag> tags;   ///< TIFF only: those that are carried along
  int pages = 1;                 ///< images in a TIFF, of which the first is read
  std::int64_t row_bytes() const {
    return width * channels * static_cast<std::int64_t>(sample_bytes(type));
  }
};

/// Makes `info` that of an output whose values are new ones on the same place: the tags of the
/// georeference and the file's own metadata stay; statistics, scale, offset, unit and names of
/// bands go, and descriptions by which programs find several images in one file. `nodata` ("": nothing) is declared where the input told of missing pixels, or has such
/// tags.
void describe_new_values(RasterInfo& info, const std::string& nodata);

class RasterReader {
 public:
  virtual ~RasterReader() = default;
  const RasterInfo& info() const { return info_; }
  /// The next `rows` rows, row after row without gaps. Throws Error(kInput) where the file is
  /// damaged or ends.
  virtual void read_rows(void* to, std::int64_t rows) = 0;
  /// A byte for each pixel of the rows read last, 0 where it holds no data; null unless
  /// info().masked.
  virtual const std::uint8_t* valid() const { return nullptr; }
  /// Only these channels will be looked at; the others may be left as they are in `to`.
  virtual void want(const std::vector<int>& channels) { static_cast<void>(channels); }

 protected:
  RasterInfo info_;
};

class RasterWriter {
 public:
  virtual ~RasterWriter() = default;
  /// Appends rows. Throws Error(kResources) where the disk fails.
  virtual void write_rows(const void* from, std::int64_t rows) = 0;
  /// Puts the file in place; without it nothing is left behind.
  virtual void close() = 0;
};

enum class RasterFormat : std::uint8_t { kPng, kTiff, kNpy, kPgm, kRaw, kStudy };

/// By the ending of the name: png, tif, tiff, npy, pgm, raw, bin and csv (the study's). Throws
/// Error(kUsage).
RasterFormat raster_format_of(const std::string& path, bool is_input = false);

/// Reads `path`; `raw` gives what a file of bare numbers cannot say. `channel`: only that one of
/// several is read, with what an alpha channel says of it; -1: all, or the one beside an alpha
/// channel. A mask in `path`.msk is used. Throws Error(kInput): missing, empty, truncated, not of
/// its format; Error(kUsage): no such channel.
std::unique_ptr<RasterReader> open_raster(const std::string& path, const RasterInfo* raw = nullptr,
                                          int channel = -1);

/// Writes `path` in the format of its name. Throws Error(kUsage) where that format cannot hold the
/// samples.
std::unique_ptr<RasterWriter> create_raster(const std::string& path, const RasterInfo& info);

/// The study's container: records of int32 width, int32 height, width * height bytes, until the end
/// of the file.
class StudyReader {
 public:
  explicit StudyReader(const std::string& path);
  ~StudyReader();
  /// The next record, or null at the end. The previous record must have been read whole.
  std::unique_ptr<RasterReader> next();

 private:
  struct File;
  std::shared_ptr<File> file_;
};

/// The study's results: a line "width,height,v,v,...," a record, numbers as %.5f.
class StudyWriter {
 public:
  explicit StudyWriter(const std::string& path);
  ~StudyWriter();
  /// A writer of one record of 32-bit floats; call its close() before the next.
  std::unique_ptr<RasterWriter> begin(std::int64_t width, std::int64_t height);
  void close();

 private:
  struct File;
  std::shared_ptr<File> file_;
};

}  // namespace tilewave::formats
