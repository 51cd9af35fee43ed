// The container of the 2020 entropy study: see raster.h.
#include <charconv>

#include "tilewave/base/error.h"
#include "tilewave/formats/raster/file.h"

namespace tilewave::formats {

struct StudyReader::File {
  std::string path;
  detail::FileHandle handle;
  std::int64_t unread = 0;  // bytes of the current record
  int records = 0;
};

namespace {
class RecordReader final : public RasterReader {
 public:
  RecordReader(const std::string& path, std::FILE* file, std::int64_t* unread,
               std::shared_ptr<void> keep, const RasterInfo& info)
      : path_(path), file_(file), unread_(unread), keep_(std::move(keep)) {
    info_ = info;
  }
  void read_rows(void* to, std::int64_t rows) override {
    const std::int64_t bytes = rows * info_.row_bytes();
    if (std::fread(to, 1, static_cast<std::size_t>(bytes), file_) !=
        static_cast<std::size_t>(bytes)) {
      detail::raster_input_error(path_, "a record of ", info_.width, " x ", info_.height,
                                 " bytes is truncated");
    }
    *unread_ -= bytes;
  }

 private:
  std::string path_;
  std::FILE* file_;
  std::int64_t* unread_;
  std::shared_ptr<void> keep_;
};
}  // namespace

StudyReader::StudyReader(const std::string& path) : file_(std::make_shared<File>()) {
  file_->path = path;
  file_->handle = detail::open_for_reading(path);
}
StudyReader::~StudyReader() = default;

std::unique_ptr<RasterReader> StudyReader::next() {
  TW_CHECK(file_->unread == 0, "the previous record was not read whole");
  std::int32_t size[2];
  const std::size_t got = std::fread(size, 1, sizeof size, file_->handle.get());
  if (got == 0) {
    if (file_->records == 0) detail::raster_input_error(file_->path, "the file is empty");
    return nullptr;
  }
  ++file_->records;
  if (got < sizeof size) {
    detail::raster_input_error(file_->path, "the size of record ", file_->records, " is truncated");
  }
  if (size[0] < 1 || size[1] < 1) {
    detail::raster_input_error(file_->path, "record ", file_->records, " has the size ", size[0],
                               " x ", size[1], ": it is no container of width, height and bytes");
  }
  RasterInfo info;
  info.width = size[0];
  info.height = size[1];
  file_->unread = info.width * info.height;
  const std::int64_t held = detail::bytes_left(file_->handle.get());
  if (held >= 0 && held < file_->unread) {
    detail::raster_input_error(file_->path, "record ", file_->records, " of ", info.width, " x ",
                               info.height, " bytes is truncated: ", held, " are left");
  }
  return std::make_unique<RecordReader>(file_->path, file_->handle.get(), &file_->unread, file_,
                                        info);
}

struct StudyWriter::File {
  explicit File(const std::string& path) : whole(path) {}
  WholeFile whole;
};

namespace {
class RecordWriter final : public RasterWriter {
 public:
  RecordWriter(WholeFile* whole, std::shared_ptr<void> keep, std::int64_t width)
      : whole_(whole), keep_(std::move(keep)), width_(width) {}
  void write_rows(const void* from, std::int64_t rows) override {
    const auto* values = static_cast<const float*>(from);
    text_.resize(static_cast<std::size_t>(width_) * 48);
    for (std::int64_t y = 0; y < rows; ++y) {
      std::size_t used = 0;
      for (std::int64_t x = 0; x < width_; ++x) {
        const char* const end =
            std::to_chars(text_.data() + used, text_.data() + used + 47,
                          static_cast<double>(values[y * width_ + x]), std::chars_format::fixed, 5)
                .ptr;
        used = static_cast<std::size_t>(end - text_.data());
        text_[used++] = ',';
      }
      whole_->write(text_.data(), used);
    }
  }
  void close() override { whole_->write("\n"); }

 private:
  WholeFile* whole_;
  std::shared_ptr<void> keep_;
  std::int64_t width_;
  std::vector<char> text_;
};
}  // namespace

StudyWriter::StudyWriter(const std::string& path) : file_(std::make_shared<File>(path)) {}
StudyWriter::~StudyWriter() = default;

std::unique_ptr<RasterWriter> StudyWriter::begin(std::int64_t width, std::int64_t height) {
  file_->whole.write(std::to_string(width) + "," + std::to_string(height) + ",");
  return std::make_unique<RecordWriter>(&file_->whole, file_, width);
}

void StudyWriter::close() { file_->whole.commit(); }

}  // namespace tilewave::formats
