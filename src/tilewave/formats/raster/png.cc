// PNG: 1 to 16 bits, grey, palette (the index is the class) and colour, interlaced or not. A colour
// or an index that is declared transparent holds no data.
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <new>

#include "tilewave/base/error.h"
#include "tilewave/formats/raster/file.h"

namespace tilewave::formats::detail {
namespace {

// libpng reports by calling these; the message is kept and thrown from our own frame.
struct Report {
  std::string message;
  int error = 0;  ///< errno: the library's own words do not tell memory from damage
};

void on_error(png_structp png, png_const_charp message) {
  auto& report = *static_cast<Report*>(png_get_error_ptr(png));
  report.error = errno;
  report.message = message;
  longjmp(png_jmpbuf(png), 1);
}
void on_warning(png_structp, png_const_charp) {}

// What libpng allocates; a member of its own, since a constructor that throws runs no destructor.
template <bool kReads>
struct Structs {
  Structs() = default;
  Structs(const Structs&) = delete;
  Structs& operator=(const Structs&) = delete;
  ~Structs() {
    if constexpr (kReads) {
      png_destroy_read_struct(&png, &info, nullptr);
    } else {
      png_destroy_write_struct(&png, &info);
    }
  }
  png_structp png = nullptr;
  png_infop info = nullptr;
};

class PngReader final : public RasterReader {
 public:
  explicit PngReader(const std::string& path) : path_(path), file_(open_for_reading(path)) {
    unsigned char signature[8];
    const std::size_t got = std::fread(signature, 1, sizeof signature, file_.get());
    if (got == 0) raster_input_error(path, "the file is empty");
    if (got < sizeof signature || png_sig_cmp(signature, 0, sizeof signature) != 0) {
      raster_input_error(path, "it is no PNG file (wrong signature)");
    }
    errno = 0;
    structs_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    structs_.info = png_create_info_struct(structs_.png);
    if (!structs_.png || !structs_.info) throw std::bad_alloc();
    if (!read_header()) fail();
    check_size();
    if (!start()) fail();
    if (info_.masked) find_transparent();
    if (png_get_interlace_type(structs_.png, structs_.info) != PNG_INTERLACE_NONE) {
      whole_.resize(static_cast<std::size_t>(info_.row_bytes() * info_.height));
      rows_.resize(static_cast<std::size_t>(info_.height));
      for (std::int64_t y = 0; y < info_.height; ++y)
        rows_[y] = whole_.data() + y * info_.row_bytes();
      if (!read_whole()) fail();
    }
  }

  void read_rows(void* to, std::int64_t rows) override {
    auto* out = static_cast<unsigned char*>(to);
    if (!whole_.empty()) {
      std::memcpy(out, whole_.data() + next_ * info_.row_bytes(),
                  static_cast<std::size_t>(rows * info_.row_bytes()));
    } else if (!read_some(out, rows)) {
      fail();
    }
    next_ += rows;
    if (!info_.masked) return;
    valid_.resize(static_cast<std::size_t>(info_.width * rows));
    if (info_.type == SampleType::kUint8) {
      mark_valid<std::uint8_t>(out);
    } else {
      mark_valid<std::uint16_t>(out);
    }
  }
  const std::uint8_t* valid() const override { return info_.masked ? valid_.data() : nullptr; }

 private:
  // Deflate makes at most 1032 bytes of one: a header that claims more is believed no further.
  void check_size() const {
    const std::int64_t held = bytes_left(file_.get());
    const double bits = static_cast<double>(info_.width) * static_cast<double>(info_.height) *
                        info_.channels * png_get_bit_depth(structs_.png, structs_.info);
    if (held < 0 || bits / 8 / 1032 <= static_cast<double>(held) + 64) return;
    raster_input_error(path_, "it is truncated: ", info_.width, " x ", info_.height,
                       " pixels cannot come from ", held, " bytes");
  }

  // The indices of a palette, or the samples of a colour, that hold no data.
  void find_transparent() {
    png_bytep alphas = nullptr;
    int count = 0;
    png_color_16p colour = nullptr;
    png_get_tRNS(structs_.png, structs_.info, &alphas, &count, &colour);
    if (png_get_color_type(structs_.png, structs_.info) == PNG_COLOR_TYPE_PALETTE) {
      hidden_.resize(256);
      for (int k = 0; k < count; ++k) hidden_[static_cast<std::size_t>(k)] = alphas[k] == 0;
      info_.masked = std::find(hidden_.begin(), hidden_.end(), true) != hidden_.end();
    } else if (info_.channels == 1) {
      colour_[0] = colour->gray;
    } else {
      colour_[0] = colour->red;
      colour_[1] = colour->green;
      colour_[2] = colour->blue;
    }
  }

  template <class T>
  void mark_valid(const unsigned char* rows) {
    for (std::size_t i = 0; i < valid_.size(); ++i) {
      bool same = true;
      for (int c = 0; c < info_.channels; ++c) {
        T sample;
        std::memcpy(
            &sample,
            rows + (i * static_cast<std::size_t>(info_.channels) + static_cast<std::size_t>(c)) *
                       sizeof sample,
            sizeof sample);
        same = same && (hidden_.empty() ? sample == colour_[c] : hidden_[sample % 256]);
      }
      valid_[i] = !same;
    }
  }

  // The functions with setjmp own nothing that needs a destructor.
  bool read_header() {
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    png_init_io(structs_.png, file_.get());
    png_set_sig_bytes(structs_.png, 8);
    png_set_user_limits(structs_.png, 0x7fffffff, 0x7fffffff);  // check_size() knows better
    png_read_info(structs_.png, structs_.info);
    info_.masked = png_get_valid(structs_.png, structs_.info, PNG_INFO_tRNS) != 0;
    info_.width = png_get_image_width(structs_.png, structs_.info);
    info_.height = png_get_image_height(structs_.png, structs_.info);
    info_.channels = png_get_channels(structs_.png, structs_.info);
    return true;
  }
  bool start() {  // takes memory for a row
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    const int depth = png_get_bit_depth(structs_.png, structs_.info);
    if (depth < 8) png_set_packing(structs_.png);  // one byte a pixel, values as they are
    if (depth == 16) png_set_swap(structs_.png);
    png_set_interlace_handling(structs_.png);
    png_read_update_info(structs_.png, structs_.info);
    info_.type = depth == 16 ? SampleType::kUint16 : SampleType::kUint8;
    if ((png_get_color_type(structs_.png, structs_.info) & PNG_COLOR_MASK_ALPHA) != 0)
      info_.alpha = info_.channels - 1;
    return true;
  }
  bool read_some(unsigned char* out, std::int64_t rows) {
    errno = 0;
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    for (std::int64_t y = 0; y < rows; ++y)
      png_read_row(structs_.png, out + y * info_.row_bytes(), nullptr);
    return true;
  }
  bool read_whole() {
    errno = 0;
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    png_read_image(structs_.png, rows_.data());
    return true;
  }
  [[noreturn]] void fail() const {
    if (report_.error == ENOMEM) throw std::bad_alloc();
    raster_input_error(path_, report_.message, " (damaged or truncated PNG)");
  }

  std::string path_;
  FileHandle file_;
  Report report_;
  Structs<true> structs_;
  std::vector<unsigned char> whole_;
  std::vector<png_bytep> rows_;
  std::int64_t next_ = 0;
  std::vector<bool> hidden_;        // of a palette: the indices without data
  unsigned colour_[3] = {0, 0, 0};  // otherwise the samples without data
  std::vector<std::uint8_t> valid_;
};

class PngWriter final : public RasterWriter {
 public:
  PngWriter(const std::string& path, const RasterInfo& info)
      : file_(path), row_bytes_(info.row_bytes()) {
    if (info.width > 0x7fffffff || info.height > 0x7fffffff)
      file_.fail("PNG holds at most 2^31 - 1 rows and columns");
    structs_.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    structs_.info = png_create_info_struct(structs_.png);
    if (!structs_.png || !structs_.info) throw std::bad_alloc();
    if (!start(info)) fail();
  }

  void write_rows(const void* from, std::int64_t rows) override {
    if (!write_some(static_cast<const unsigned char*>(from), rows)) fail();
  }
  void close() override {
    if (!finish()) fail();
    file_.commit();
  }

 private:
  bool start(const RasterInfo& info) {
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    png_set_write_fn(structs_.png, this, write_bytes, nullptr);
    png_set_user_limits(structs_.png, 0x7fffffff, 0x7fffffff);
    png_set_compression_level(structs_.png, 3);
    png_set_IHDR(structs_.png, structs_.info, static_cast<png_uint_32>(info.width),
                 static_cast<png_uint_32>(info.height), info.type == SampleType::kUint16 ? 16 : 8,
                 info.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(structs_.png, structs_.info);
    if (info.type == SampleType::kUint16) png_set_swap(structs_.png);
    return true;
  }
  bool write_some(const unsigned char* from, std::int64_t rows) {
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    for (std::int64_t y = 0; y < rows; ++y) png_write_row(structs_.png, from + y * row_bytes_);
    return true;
  }
  bool finish() {
    if (setjmp(png_jmpbuf(structs_.png))) return false;
    png_write_end(structs_.png, nullptr);
    return true;
  }
  static void write_bytes(png_structp png, png_bytep bytes, png_size_t count) {
    auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
    self->error_ = self->file_.try_write(bytes, count);
    if (self->error_ != 0) png_error(png, "the disk failed");
  }
  [[noreturn]] void fail() const {
    if (error_ != 0) file_.fail(error_);
    file_.fail(report_.message);
  }

  WholeFile file_;
  int error_ = 0;  // of the system
  std::int64_t row_bytes_;
  Report report_;
  Structs<false> structs_;
};

}  // namespace

std::unique_ptr<RasterReader> open_png(const std::string& path) {
  return std::make_unique<PngReader>(path);
}
std::unique_ptr<RasterWriter> create_png(const std::string& path, const RasterInfo& info) {
  return std::make_unique<PngWriter>(path, info);
}

}  // namespace tilewave::formats::detail
