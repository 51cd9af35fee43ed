// Blocks that several threads write into one file: where they are, and what is left of them when
// there is no room for all.
#include "tilewave/runtime/write_pieces.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tilewave::runtime {
namespace {

std::vector<char> numbered(std::size_t count) {
  std::vector<char> bytes(count);
  for (std::size_t k = 0; k < count; ++k) bytes[k] = static_cast<char>(k * 2654435761u >> 13);
  return bytes;
}

std::vector<char> read_back(std::FILE* file, std::uint64_t offset, std::size_t count) {
  std::vector<char> bytes(count);
  const ssize_t n = ::pread(fileno(file), bytes.data(), count, static_cast<off_t>(offset));
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return bytes;
}

TEST(WritePieces, bytes_are_where_they_belong) {
  std::FILE* const file = std::tmpfile();
  ASSERT_TRUE(file && takes_pieces(fileno(file)));
  std::uint64_t at = 5;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{3} << 20, (std::size_t{17} << 20) + 3}) {
    const std::vector<char> bytes = numbered(count);
    const WrittenPieces done = write_pieces(fileno(file), at, bytes.data(), count);
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.num_bytes, count);
    EXPECT_EQ(read_back(file, at, count), bytes) << count;
    at += count;
  }
  std::fclose(file);
}

TEST(WritePieces, a_full_file_keeps_what_is_in_front) {
  std::FILE* const file = std::tmpfile();
  ASSERT_TRUE(file);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const std::size_t room = (std::size_t{9} << 20) + 77, count = std::size_t{16} << 20;
  const rlimit limit{room, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::vector<char> bytes = numbered(count);
  const WrittenPieces done = write_pieces(fileno(file), 0, bytes.data(), count);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(done.error, EFBIG);
  EXPECT_EQ(done.num_bytes, room);
  EXPECT_EQ(read_back(file, 0, room),
            std::vector<char>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(room)));
  std::fclose(file);
}

TEST(WritePieces, only_files_with_places_take_them) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(takes_pieces(ends[1]));
  ::close(ends[0]), ::close(ends[1]);
  const int device = ::open("/dev/null", O_WRONLY);
  EXPECT_FALSE(takes_pieces(device));
  ::close(device);
  std::FILE* const file = std::tmpfile();
  ::fcntl(fileno(file), F_SETFL, O_APPEND);
  EXPECT_FALSE(takes_pieces(fileno(file)));
  std::fclose(file);
}

}  // namespace
}  // namespace tilewave::runtime
