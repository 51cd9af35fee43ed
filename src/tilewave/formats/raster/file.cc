// Formats by name.
#include "tilewave/formats/raster/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tilewave/base/open_error.h"
#include "tilewave/base/units.h"

namespace tilewave::formats {
namespace detail {

FileHandle open_for_reading(const std::string& path) {
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    const int error = errno;
    fail(code_of_open(error), path + ": cannot read the raster: " + std::strerror(error));
  }
  return file;
}

std::int64_t bytes_left(std::FILE* file) {
  struct stat about {};
  if (::fstat(::fileno(file), &about) != 0 || !S_ISREG(about.st_mode)) return -1;
  return std::max<std::int64_t>(about.st_size - ::ftello(file), 0);
}

}  // namespace detail

namespace {
struct SampleRow {
  const char* name;
  std::size_t bytes;
};
constexpr SampleRow kSamples[] = {{"uint8", 1}, {"uint16", 2},  {"int16", 2},   {"uint32", 4},
                                  {"int32", 4}, {"float16", 2}, {"float32", 4}, {"float64", 8},
                                  {"int8", 1},  {"int64", 8},   {"uint64", 8}};

// Beside an older file of a name lie its mask, statistics and overviews, in every format: they
// would be taken for those of the new file.
class ReplacingWriter final : public RasterWriter {
 public:
  ReplacingWriter(std::string path, std::unique_ptr<RasterWriter> writer)
      : path_(std::move(path)), writer_(std::move(writer)) {}
  void write_rows(const void* from, std::int64_t rows) override { writer_->write_rows(from, rows); }
  void close() override {
    writer_->close();
    for (const char* ending : {".aux.xml", ".ovr", ".msk"}) {
      const std::string old = path_ + ending;
      // Of a name that is too long there is no file, or none that a reader of `path_` could open.
      if (::unlink(old.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR ||
          errno == ENAMETOOLONG) {
        continue;
      }
      fail(ExitCode::kResources, old, ": cannot be removed, it belongs to an older ", path_, ": ",
           std::strerror(errno));
    }
  }

 private:
  std::string path_;
  std::unique_ptr<RasterWriter> writer_;
};

std::unique_ptr<RasterWriter> create(RasterFormat format, const std::string& path,
                                     const RasterInfo& info) {
  switch (format) {
    case RasterFormat::kPng:
      return detail::create_png(path, info);
    case RasterFormat::kTiff:
      return detail::create_tiff(path, info);
    case RasterFormat::kNpy:
      return detail::create_npy(path, info);
    case RasterFormat::kPgm:
      return detail::create_pgm(path, info);
    case RasterFormat::kRaw:
      return detail::create_raw(path, info);
    default:
      throw Error(ExitCode::kUsage, path + ": this format is written from a .bin container only");
  }
}
}  // namespace

std::size_t sample_bytes(SampleType type) { return kSamples[static_cast<std::size_t>(type)].bytes; }
const char* sample_name(SampleType type) { return kSamples[static_cast<std::size_t>(type)].name; }

RasterFormat raster_format_of(const std::string& path, bool is_input) {
  if (path.empty()) fail(ExitCode::kUsage, "a file name is empty: name a raster");
  struct Row {
    const char* ending;
    RasterFormat format;
  };
  constexpr Row kRows[] = {{".png", RasterFormat::kPng},   {".tif", RasterFormat::kTiff},
                           {".tiff", RasterFormat::kTiff}, {".npy", RasterFormat::kNpy},
                           {".pgm", RasterFormat::kPgm},   {".raw", RasterFormat::kRaw},
                           {".bin", RasterFormat::kStudy}, {".csv", RasterFormat::kStudy}};
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const Row& row : kRows) {
    if (lower.ends_with(row.ending)) return row.format;
  }
  fail(ExitCode::kUsage, path,
       ": the format is not known by this name: use .png, .tif, .npy, .pgm, .raw, or .bin and "
       ".csv",
       is_input ? "; GDAL makes a .tif of others (gdal_translate IN OUT.tif)" : "");
}

std::unique_ptr<RasterReader> open_raster(const std::string& path, const RasterInfo* raw,
                                          int channel) {
  std::unique_ptr<RasterReader> reader;
  const RasterFormat format = raster_format_of(path, true);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    detail::raster_input_error(path, "it is a directory: name a file");
  switch (format) {
    case RasterFormat::kPng:
      reader = detail::open_png(path);
      break;
    case RasterFormat::kTiff:
      reader = detail::open_tiff(path);
      break;
    case RasterFormat::kNpy:
      reader = detail::open_npy(path);
      break;
    case RasterFormat::kPgm:
      reader = detail::open_pgm(path);
      break;
    case RasterFormat::kRaw:
      if (raw == nullptr) {
        fail(ExitCode::kUsage, path,
             ": bare numbers do not say their size: give --size WxH and --type");
      }
      reader = detail::open_raw(path, *raw);
      break;
    case RasterFormat::kStudy:
      throw Error(ExitCode::kUsage,
                  path + ": a container of several records cannot be read as one raster");
  }
  if (reader->info().width < 1 || reader->info().height < 1)
    detail::raster_input_error(path, "the image is empty");
  if (std::filesystem::exists(path + ".msk", ignored))
    reader = detail::with_mask_file(std::move(reader), path + ".msk");
  const RasterInfo& info = reader->info();
  if (channel >= info.channels) {
    fail(ExitCode::kUsage, path, ": the image has ",
         counted(static_cast<std::uint64_t>(info.channels), "channel"), ": --channel ", channel,
         " is not one of 0..", info.channels - 1);
  }
  if (channel < 0 && info.channels == 2 && info.alpha >= 0) channel = 1 - info.alpha;
  if (channel < 0 || info.channels == 1) return reader;
  return detail::take_channel(std::move(reader), channel);
}

std::unique_ptr<RasterWriter> create_raster(const std::string& path, const RasterInfo& info) {
  const RasterFormat format = raster_format_of(path);
  const bool picture = format == RasterFormat::kPng || format == RasterFormat::kPgm;
  if (picture && info.type != SampleType::kUint8 && info.type != SampleType::kUint16) {
    fail(ExitCode::kUsage, path, ": this format holds whole numbers, not ", sample_name(info.type),
         ": use --dtype u8, or a .tif or .npy file");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))  // now, not when all is computed
    fail(ExitCode::kResources, path, ": cannot write: it is a directory: name a file");
  return std::make_unique<ReplacingWriter>(path, create(format, path, info));
}

}  // namespace tilewave::formats
