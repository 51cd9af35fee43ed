// PNG: 1 to 16 bits, grey, palette (the index is the class) and colour, interlaced or not.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/io/raster_file.h"

namespace tilewave::io::detail {
namespace {

// libpng reports by calling these; the message is kept and thrown from our own frame.
struct Report {
  std::string message;
};

void on_error(png_structp png, png_const_charp message) {
  static_cast<Report*>(png_get_error_ptr(png))->message = message;
  longjmp(png_jmpbuf(png), 1);
}
void on_warning(png_structp, png_const_charp) {}

class PngReader final : public RasterReader {
 public:
  explicit PngReader(const std::string& path) : path_(path), file_(open_for_reading(path)) {
    unsigned char signature[8];
    const std::size_t got = std::fread(signature, 1, sizeof signature, file_.get());
    if (got == 0) raster_input_error(path, "the file is empty");
    if (got < sizeof signature || png_sig_cmp(signature, 0, sizeof signature) != 0) {
      raster_input_error(path, "it is no PNG file (wrong signature)");
    }
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    png_info_ = png_create_info_struct(png_);
    if (!read_header()) fail();
    if (png_get_interlace_type(png_, png_info_) != PNG_INTERLACE_NONE) {
      whole_.resize(static_cast<std::size_t>(info_.row_bytes() * info_.height));
      rows_.resize(static_cast<std::size_t>(info_.height));
      for (std::int64_t y = 0; y < info_.height; ++y)
        rows_[y] = whole_.data() + y * info_.row_bytes();
      if (!read_whole()) fail();
    }
  }
  ~PngReader() override { png_destroy_read_struct(&png_, &png_info_, nullptr); }

  void read_rows(void* to, std::int64_t rows) override {
    auto* out = static_cast<unsigned char*>(to);
    if (!whole_.empty()) {
      std::memcpy(out, whole_.data() + next_ * info_.row_bytes(),
                  static_cast<std::size_t>(rows * info_.row_bytes()));
    } else if (!read_some(out, rows)) {
      fail();
    }
    next_ += rows;
  }

 private:
  // The functions with setjmp own nothing that needs a destructor.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_init_io(png_, file_.get());
    png_set_sig_bytes(png_, 8);
    png_read_info(png_, png_info_);
    const int depth = png_get_bit_depth(png_, png_info_);
    if (depth < 8) png_set_packing(png_);  // one byte a pixel, values as they are
    if (depth == 16) png_set_swap(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, png_info_);
    info_.width = png_get_image_width(png_, png_info_);
    info_.height = png_get_image_height(png_, png_info_);
    info_.channels = png_get_channels(png_, png_info_);
    info_.type = depth == 16 ? SampleType::kUint16 : SampleType::kUint8;
    return true;
  }
  bool read_some(unsigned char* out, std::int64_t rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (std::int64_t y = 0; y < rows; ++y)
      png_read_row(png_, out + y * info_.row_bytes(), nullptr);
    return true;
  }
  bool read_whole() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows_.data());
    return true;
  }
  [[noreturn]] void fail() const {
    raster_input_error(path_, report_.message + " (damaged or truncated PNG)");
  }

  std::string path_;
  FileHandle file_;
  Report report_;
  png_structp png_ = nullptr;
  png_infop png_info_ = nullptr;
  std::vector<unsigned char> whole_;
  std::vector<png_bytep> rows_;
  std::int64_t next_ = 0;
};

class PngWriter final : public RasterWriter {
 public:
  PngWriter(const std::string& path, const RasterInfo& info)
      : file_(path), row_bytes_(info.row_bytes()) {
    if (info.width > 0x7fffffff || info.height > 0x7fffffff)
      file_.fail("PNG holds at most 2^31 - 1 rows and columns");
    file_.open();
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    png_info_ = png_create_info_struct(png_);
    if (!start(info)) fail();
  }
  ~PngWriter() override { png_destroy_write_struct(&png_, &png_info_); }

  void write_rows(const void* from, std::int64_t rows) override {
    if (!write_some(static_cast<const unsigned char*>(from), rows)) fail();
  }
  void close() override {
    if (!finish()) fail();
    file_.commit();
  }

 private:
  bool start(const RasterInfo& info) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_init_io(png_, file_.file());
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
    png_set_compression_level(png_, 3);
    png_set_IHDR(png_, png_info_, static_cast<png_uint_32>(info.width),
                 static_cast<png_uint_32>(info.height), info.type == SampleType::kUint16 ? 16 : 8,
                 info.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, png_info_);
    if (info.type == SampleType::kUint16) png_set_swap(png_);
    return true;
  }
  bool write_some(const unsigned char* from, std::int64_t rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (std::int64_t y = 0; y < rows; ++y) png_write_row(png_, from + y * row_bytes_);
    return true;
  }
  bool finish() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_write_end(png_, nullptr);
    return true;
  }
  [[noreturn]] void fail() const { file_.fail(report_.message); }

  PartFile file_;
  std::int64_t row_bytes_;
  Report report_;
  png_structp png_ = nullptr;
  png_infop png_info_ = nullptr;
};

}  // namespace

std::unique_ptr<RasterReader> open_png(const std::string& path) {
  return std::make_unique<PngReader>(path);
}
std::unique_ptr<RasterWriter> create_png(const std::string& path, const RasterInfo& info) {
  return std::make_unique<PngWriter>(path, info);
}

}  // namespace tilewave::io::detail
