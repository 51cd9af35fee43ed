#include "tilewave/formats/npy/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "tilewave/base/concat.h"
#include "tilewave/base/open_error.h"

namespace tilewave::formats {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy bytes are written as they lie");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 1 << 16;
constexpr std::size_t kChunkBytes = 1 << 30;  // one call of the system takes less than 2 GiB

struct TypeRow {
  NpyType type;
  std::string_view code;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {{NpyType::kUint8, "|u1", 1},        {NpyType::kFloat32, "<f4", 4},
                              {NpyType::kFloat64, "<f8", 8},      {NpyType::kComplex64, "<c8", 8},
                              {NpyType::kComplex128, "<c16", 16}, {NpyType::kUint16, "<u2", 2},
                              {NpyType::kInt16, "<i2", 2},        {NpyType::kUint32, "<u4", 4},
                              {NpyType::kInt32, "<i4", 4},        {NpyType::kFloat16, "<f2", 2},
                              {NpyType::kInt8, "|i1", 1},         {NpyType::kUint64, "<u8", 8},
                              {NpyType::kInt64, "<i8", 8}};

const TypeRow& row_of(NpyType type) { return kTypes[static_cast<std::size_t>(type)]; }

// The other order of the bytes of each number; a complex number is two.
void swap_bytes(std::span<std::byte> bytes, NpyType type) {
  const std::size_t parts = type == NpyType::kComplex64 || type == NpyType::kComplex128 ? 2 : 1;
  const std::size_t size = npy_element_bytes(type) / parts;
  for (std::size_t k = 0; k < bytes.size(); k += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(k),
                 bytes.begin() + static_cast<std::ptrdiff_t>(k + size));
  }
}

// The preamble of a file: padded so that the numbers start at a multiple of 64 bytes.
std::string preamble(const NpyHeader& header) {
  std::string shape;
  for (const std::uint64_t n : header.shape) shape += std::to_string(n) + ", ";
  if (header.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string text = concat("{'descr': '", row_of(header.type).code,
                            "', 'fortran_order': False, 'shape': (", shape, "), }");
  const bool wide = text.size() + 128 > 0xFFFF;
  const std::size_t before = kMagic.size() + (wide ? 6 : 4);
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string out(kMagic);
  out += static_cast<char>(wide ? 2 : 1);
  out += '\0';
  for (int k = 0; k < (wide ? 4 : 2); ++k) out += static_cast<char>(text.size() >> (8 * k));
  return out + text;
}

}  // namespace

std::size_t npy_element_bytes(NpyType type) { return row_of(type).bytes; }

std::uint64_t NpyHeader::num_elements() const {
  std::uint64_t count = 1;
  for (const std::uint64_t n : shape) count *= n;
  return count;
}

// ---- writing ----
NpyWriter::NpyWriter(const std::string& path, NpyHeader header)
    : remaining_(header.num_bytes()), file_(path, header.num_bytes()) {
  file_.write(preamble(header));
}

void NpyWriter::write(std::span<const std::byte> bytes) {
  TW_CHECK(bytes.size() <= remaining_, file_.path() + ": more elements than the shape holds");
  file_.write(bytes.data(), bytes.size());
  remaining_ -= bytes.size();
}

void NpyWriter::close() {
  TW_CHECK(remaining_ == 0, file_.path() + ": fewer elements than the shape holds");
  file_.commit(WholeFile::Sync::kYes);
}

void write_npy(const std::string& path, const NpyHeader& header, std::span<const std::byte> bytes) {
  NpyWriter writer(path, header);
  writer.write(bytes);
  writer.close();
}

// ---- reading ----
NpyReader::NpyReader(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    const int error = errno;
    tilewave::fail(code_of_open(error), path_, ": cannot read the array: ", std::strerror(error));
  }
  try {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail(std::strerror(errno));
    if (S_ISDIR(info.st_mode)) fail("it is a directory");
    remaining_ = kMaxHeaderBytes;
    unsigned char start[12] = {};
    read_bytes(std::as_writable_bytes(std::span(start)).first(10));
    if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) fail("it is no .npy file");
    if (start[6] < 1 || start[6] > 3) fail("its format version is not 1, 2 or 3");
    std::size_t length = start[8] + 256u * start[9], before = 10;
    if (start[6] > 1) {
      read_bytes(std::as_writable_bytes(std::span(start)).subspan(10));
      length += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
      before = 12;
    }
    if (length > kMaxHeaderBytes - before) fail("its header is longer than 64 KiB");
    std::string text(length, '\0');
    read_bytes(std::as_writable_bytes(std::span(text)));
    parse_header(text);
    begin_ = before + length;
    remaining_ = header_.num_bytes();
    if (S_ISREG(info.st_mode) &&
        static_cast<std::uint64_t>(info.st_size) - before - length < remaining_) {
      fail("it is truncated: its shape needs ", remaining_, " bytes, it holds ",
           static_cast<std::uint64_t>(info.st_size) - before - length);
    }
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

NpyReader::~NpyReader() { ::close(fd_); }

void NpyReader::read(std::span<std::byte> bytes) {
  TW_CHECK(bytes.size() % npy_element_bytes(header_.type) == 0, path_ + ": half a number is read");
  read_bytes(bytes);
  if (big_endian_) swap_bytes(bytes, header_.type);
}

void NpyReader::read_at(std::uint64_t first, std::span<std::byte> bytes) const {
  const std::size_t each = npy_element_bytes(header_.type);
  TW_CHECK(bytes.size() % each == 0 && bytes.size() <= header_.num_bytes() &&
               first <= (header_.num_bytes() - bytes.size()) / each,
           path_ + ": read beyond the end of the array");
  std::uint64_t at = begin_ + first * each;
  std::span<std::byte> left = bytes;
  while (!left.empty()) {
    const ssize_t got =
        ::pread(fd_, left.data(), std::min(left.size(), kChunkBytes), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno));
    if (got == 0) fail("it is truncated");
    left = left.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  if (big_endian_) swap_bytes(bytes, header_.type);
}

void NpyReader::read_bytes(std::span<std::byte> bytes) {
  TW_CHECK(bytes.size() <= remaining_, path_ + ": read beyond the end of the array");
  remaining_ -= bytes.size();
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd_, bytes.data(), std::min(bytes.size(), kChunkBytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno));
    if (got == 0) fail("it is truncated");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

// The values of the three keys, wherever they stand in the dictionary.
void NpyReader::parse_header(const std::string& text) {
  const auto value_of = [&](const char* key) {
    std::size_t at = text.find(concat("'", key, "'"));
    if (at == std::string::npos) at = text.find(concat("\"", key, "\""));
    if (at == std::string::npos) fail("its header has no '", key, "'");
    at = text.find(':', at);
    if (at != std::string::npos) at = text.find_first_not_of(' ', at + 1);
    if (at == std::string::npos) fail("its header is cut short");
    return std::string_view(text).substr(at);
  };

  std::string_view code = value_of("descr");
  const char quote = code[0];
  const std::size_t close = code.find(quote, 1);
  if ((quote != '\'' && quote != '"') || close == std::string_view::npos) {
    fail("its elements are records: only plain numbers are read");
  }
  code = code.substr(1, close - 1);
  const bool has_order = code.find_first_of("<>|=") == 0;
  const std::string_view kind = code.substr(has_order ? 1 : 0);
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) {
    return r.code.substr(1) == (kind == "b1" ? "u1" : kind);
  });
  if (row == std::end(kTypes)) {
    fail("element type '", code.substr(0, 20),
         "' is not read: bool, integers of 8 to 64 bits, float16, float32, float64, "
         "complex64 and complex128 are: convert it with astype");
  }
  header_.type = row->type;
  big_endian_ = code[0] == '>';

  if (!value_of("fortran_order").starts_with("False")) {
    fail("it is in Fortran order: save it with numpy.ascontiguousarray");
  }

  std::string_view shape = value_of("shape");
  if (shape[0] != '(') fail("its shape is no tuple");
  std::uint64_t total = npy_element_bytes(header_.type);
  for (shape.remove_prefix(1); !shape.starts_with(')');) {
    if (shape.empty()) fail("its shape is cut short");
    if (shape[0] == ' ' || shape[0] == ',' || shape[0] == 'L') {
      shape.remove_prefix(1);
      continue;
    }
    std::uint64_t n = 0;
    std::size_t digits = 0;
    for (; digits < shape.size() && shape[digits] >= '0' && shape[digits] <= '9'; ++digits) {
      const auto d = static_cast<std::uint64_t>(shape[digits] - '0');
      if (n > (std::numeric_limits<std::uint64_t>::max() - d) / 10) fail("its shape is too large");
      n = 10 * n + d;
    }
    if (digits == 0) fail("its shape holds something that is no number");
    if (n != 0 && total > std::numeric_limits<std::uint64_t>::max() / n) {
      fail("its shape is too large");
    }
    total *= n;
    header_.shape.push_back(n);
    shape.remove_prefix(digits);
  }
}

NpyArray read_npy(const std::string& path) {
  NpyReader reader(path);
  NpyArray array{reader.header(), {}};
  array.bytes.resize(array.header.num_bytes());
  reader.read(array.bytes);
  return array;
}

}  // namespace tilewave::formats
