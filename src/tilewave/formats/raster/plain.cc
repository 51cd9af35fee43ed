// The formats of bare numbers: NPY (through npy/npy.h), PGM (P5, 8 or 16 bits), raw.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/formats/npy/npy.h"
#include "tilewave/formats/raster/file.h"

namespace tilewave::formats::detail {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;  // of an image

struct NpyRow {
  NpyType npy;
  SampleType sample;
};
constexpr NpyRow kNpyTypes[] = {
    {NpyType::kUint8, SampleType::kUint8},     {NpyType::kUint16, SampleType::kUint16},
    {NpyType::kInt16, SampleType::kInt16},     {NpyType::kUint32, SampleType::kUint32},
    {NpyType::kInt32, SampleType::kInt32},     {NpyType::kFloat16, SampleType::kFloat16},
    {NpyType::kFloat32, SampleType::kFloat32}, {NpyType::kFloat64, SampleType::kFloat64},
    {NpyType::kInt8, SampleType::kInt8},       {NpyType::kInt64, SampleType::kInt64},
    {NpyType::kUint64, SampleType::kUint64}};

class NpyRasterReader final : public RasterReader {
 public:
  explicit NpyRasterReader(const std::string& path) : reader_(path) {
    const NpyHeader& header = reader_.header();
    const std::size_t rank = header.shape.size();
    if (rank < 1 || rank > 3)
      raster_input_error(path, "an image has 1 to 3 dimensions, this array has ", rank);
    for (const std::uint64_t n : header.shape) {
      if (n > (std::uint64_t{1} << 48)) raster_input_error(path, "its shape is too large");
    }
    info_.height = rank == 1 ? 1 : static_cast<std::int64_t>(header.shape[0]);
    info_.width = static_cast<std::int64_t>(header.shape[rank == 1 ? 0 : 1]);
    if (rank == 3 && (header.shape[2] < 1 || header.shape[2] > 64)) {
      raster_input_error(path, "its third dimension (channels) is not 1..64");
    }
    info_.channels = rank == 3 ? static_cast<int>(header.shape[2]) : 1;
    for (const NpyRow& row : kNpyTypes) {
      if (row.npy != header.type) continue;
      info_.type = row.sample;
      if (header.num_bytes() > static_cast<std::uint64_t>(kMostBytes))
        raster_input_error(path, "its shape is too large");
      return;
    }
    raster_input_error(path, "complex numbers are no image");
  }
  void read_rows(void* to, std::int64_t rows) override {
    reader_.read({static_cast<std::byte*>(to), static_cast<std::size_t>(rows * info_.row_bytes())});
  }

 private:
  NpyReader reader_;
};

NpyHeader npy_header(const RasterInfo& info) {
  NpyHeader header;
  header.shape = {static_cast<std::uint64_t>(info.height), static_cast<std::uint64_t>(info.width)};
  if (info.channels > 1) header.shape.push_back(static_cast<std::uint64_t>(info.channels));
  for (const NpyRow& row : kNpyTypes) {
    if (row.sample == info.type) header.type = row.npy;
  }
  return header;
}

class NpyRasterWriter final : public RasterWriter {
 public:
  NpyRasterWriter(const std::string& path, const RasterInfo& info)
      : writer_(path, npy_header(info)), row_bytes_(info.row_bytes()) {}
  void write_rows(const void* from, std::int64_t rows) override {
    writer_.write(std::span(static_cast<const std::byte*>(from),
                            static_cast<std::size_t>(rows * row_bytes_)));
  }
  void close() override { writer_.close(); }

 private:
  NpyWriter writer_;
  std::int64_t row_bytes_;
};

void swap_bytes(std::uint16_t* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    values[i] = static_cast<std::uint16_t>(values[i] << 8 | values[i] >> 8);
}

class PlainReader final : public RasterReader {
 public:
  /// `exact`: nothing may follow the pixels.
  PlainReader(const std::string& path, FileHandle file, const RasterInfo& info, bool big_endian,
              bool exact)
      : path_(path), file_(std::move(file)), big_endian_(big_endian) {
    info_ = info;
    const std::int64_t held = bytes_left(file_.get());
    if (held < 0) return;
    if (info_.height > kMostBytes / std::max<std::int64_t>(info_.row_bytes(), 1)) {
      raster_input_error(path_, info_.width, " x ", info_.height,
                         " pixels are more than any file holds");
    }
    const std::int64_t wanted = info_.row_bytes() * info_.height;
    if (held < wanted) truncated();
    if (exact && held > wanted) {
      raster_input_error(path_, "it holds ", held, " bytes, and ", needs(),
                         ": give the size and type it has");
    }
  }
  void read_rows(void* to, std::int64_t rows) override {
    const auto bytes = static_cast<std::size_t>(rows * info_.row_bytes());
    if (std::fread(to, 1, bytes, file_.get()) != bytes) truncated();
    if (big_endian_)
      swap_bytes(static_cast<std::uint16_t*>(to), rows * info_.width * info_.channels);
  }

 private:
  std::string needs() const {
    return std::to_string(info_.width) + " x " + std::to_string(info_.height) + " pixels of " +
           sample_name(info_.type) + " need " + std::to_string(info_.row_bytes() * info_.height);
  }
  [[noreturn]] void truncated() const {
    raster_input_error(path_, "it is truncated: ", needs(), " bytes");
  }

  std::string path_;
  FileHandle file_;
  bool big_endian_;
};

class PlainWriter final : public RasterWriter {
 public:
  PlainWriter(const std::string& path, const RasterInfo& info, const std::string& header,
              bool big_endian)
      : file_(path), row_bytes_(info.row_bytes()), big_endian_(big_endian) {
    file_.write(header);
  }
  void write_rows(const void* from, std::int64_t rows) override {
    if (!big_endian_) return file_.write(from, static_cast<std::size_t>(rows * row_bytes_));
    swapped_.resize(static_cast<std::size_t>(rows * row_bytes_ / 2));
    std::memcpy(swapped_.data(), from, static_cast<std::size_t>(rows * row_bytes_));
    swap_bytes(swapped_.data(), static_cast<std::int64_t>(swapped_.size()));
    file_.write(swapped_.data(), static_cast<std::size_t>(rows * row_bytes_));
  }
  void close() override { file_.commit(); }

 private:
  WholeFile file_;
  std::int64_t row_bytes_;
  bool big_endian_;
  std::vector<std::uint16_t> swapped_;
};

// The next number of a PGM header; comments run from # to the end of the line.
long pgm_number(const std::string& path, std::FILE* file) {
  int c = std::fgetc(file);
  while (c == '#' || std::isspace(c)) {
    if (c == '#') {
      while (c != '\n' && c != EOF) c = std::fgetc(file);
    }
    c = std::fgetc(file);
  }
  long value = 0;
  int digits = 0;
  for (; std::isdigit(c) && digits < 10; ++digits, c = std::fgetc(file))
    value = 10 * value + (c - '0');
  if (digits == 0 || digits == 10)
    raster_input_error(path, "its PGM header holds no sensible size");
  return value;  // the one white space after the number has been taken
}

}  // namespace

std::unique_ptr<RasterReader> open_npy(const std::string& path) {
  return std::make_unique<NpyRasterReader>(path);
}

std::unique_ptr<RasterWriter> create_npy(const std::string& path, const RasterInfo& info) {
  return std::make_unique<NpyRasterWriter>(path, info);
}

std::unique_ptr<RasterReader> open_pgm(const std::string& path) {
  FileHandle file = open_for_reading(path);
  char magic[2];
  const std::size_t got = std::fread(magic, 1, 2, file.get());
  if (got == 0) raster_input_error(path, "the file is empty");
  if (got < 2 || magic[0] != 'P' || magic[1] != '5')
    raster_input_error(path, "it is no binary PGM file (it must start with P5)");
  RasterInfo info;
  info.width = pgm_number(path, file.get());
  info.height = pgm_number(path, file.get());
  const long most = pgm_number(path, file.get());
  if (most < 1 || most > 65535) raster_input_error(path, "its greatest value is not 1..65535");
  info.type = most > 255 ? SampleType::kUint16 : SampleType::kUint8;
  return std::make_unique<PlainReader>(path, std::move(file), info, most > 255, false);
}

std::unique_ptr<RasterWriter> create_pgm(const std::string& path, const RasterInfo& info) {
  const bool wide = info.type == SampleType::kUint16;
  const std::string header = "P5\n" + std::to_string(info.width) + " " +
                             std::to_string(info.height) + "\n" + (wide ? "65535" : "255") + "\n";
  return std::make_unique<PlainWriter>(path, info, header, wide);
}

std::unique_ptr<RasterReader> open_raw(const std::string& path, const RasterInfo& info) {
  return std::make_unique<PlainReader>(path, open_for_reading(path), info, false, true);
}

std::unique_ptr<RasterWriter> create_raw(const std::string& path, const RasterInfo& info) {
  return std::make_unique<PlainWriter>(path, info, "", false);
}

}  // namespace tilewave::formats::detail
