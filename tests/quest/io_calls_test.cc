// The file calls that the QuEST API puts in front of the C library's, alone: each passes its memory
// to open_arrays and does what it did. Linked with shared libraries and statically; in threads, in
// a child, with a function of the program's own in the place of one. Exits with the number of wrong
// results.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "tilewave/quest/core/faults.h"

namespace {

char
    g_array[16384];  // longer than the buffer of a stream; what stands for the arrays of a register
std::atomic<int> g_reads, g_writes;
int g_wrong = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++g_wrong;
}

// Runs f, which must open the array once for the access.
template <class F>
void opens(const char* what, tilewave::quest::Access access, F f) {
  g_reads = g_writes = 0;
  const bool good = f();
  expect(good, what);
  const bool is_read = access == tilewave::quest::Access::kRead;
  expect((is_read ? g_reads : g_writes) >= 1 && (is_read ? g_writes : g_reads) == 0, what);
}

bool is_filled(char c) { return g_array[0] == c && g_array[sizeof g_array - 1] == c; }

void fill(char c) { std::memset(g_array, c, sizeof g_array); }

}  // namespace

void tilewave::quest::open_arrays(std::uintptr_t address, std::size_t bytes, Access wanted) {
  const auto first = reinterpret_cast<std::uintptr_t>(g_array);
  if (address >= first + sizeof g_array || address + bytes <= first) return;
  ++(wanted == Access::kRead ? g_reads : g_writes);
}

// A program's own function goes before the one in front of the C library's.
extern "C" ssize_t send(int socket, const void* data, size_t bytes, int) {
  return ::write(socket, data, bytes);
}

int main() {
  using tilewave::quest::Access;
  tilewave::quest::link_file_calls();
  char name[] = "/tmp/tilewave_io_calls_XXXXXX";
  const int fd = mkstemp(name);
  const auto size = static_cast<ssize_t>(sizeof g_array);
  iovec parts[2] = {{g_array, 100}, {g_array + 100, sizeof g_array - 100}};

  fill('a');
  opens("write", Access::kRead, [&] { return write(fd, g_array, sizeof g_array) == size; });
  fill('b');
  opens("pwrite", Access::kRead, [&] { return pwrite(fd, g_array, sizeof g_array, size) == size; });
  fill('c');
  lseek(fd, 2 * size, SEEK_SET);
  opens("writev", Access::kRead, [&] { return writev(fd, parts, 2) == size; });
  lseek(fd, 0, SEEK_SET);
  opens("read", Access::kWrite, [&] { return read(fd, g_array, sizeof g_array) == size; });
  expect(is_filled('a'), "read: content");
  opens("readv", Access::kWrite, [&] { return readv(fd, parts, 2) == size; });
  expect(is_filled('b'), "readv: content");
  opens("pread", Access::kWrite,
        [&] { return pread(fd, g_array, sizeof g_array, 2 * size) == size; });
  expect(is_filled('c'), "pread: content");
  opens("pread64", Access::kWrite, [&] { return pread64(fd, g_array, sizeof g_array, 0) == size; });
  expect(is_filled('a'), "pread64: content");

  std::FILE* file = std::fopen(name, "w+b");
  fill('d');
  opens("fwrite", Access::kRead, [&] { return std::fwrite(g_array, 16, 1024, file) == 1024; });
  std::rewind(file);
  fill('e');
  opens("fread", Access::kWrite, [&] { return std::fread(g_array, 16, 1024, file) == 1024; });
  expect(is_filled('d'), "fread: content");
  expect(std::fread(g_array, 1, 1, file) == 0 && std::feof(file), "fread: end of file");
  std::fclose(file);
  opens("ifstream", Access::kWrite, [&] {
    std::ifstream in(name, std::ios::binary);
    fill('f');
    in.read(g_array, sizeof g_array);
    return in.good() && is_filled('d');
  });

  int ends[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  opens("send, which is the program's", Access::kRead,
        [&] { return send(ends[0], g_array, sizeof g_array, 0) == size; });
  opens("recv", Access::kWrite,
        [&] { return recv(ends[1], g_array, sizeof g_array, MSG_WAITALL) == size; });

  errno = 0;
  expect(read(-1, g_array, 1) == -1 && errno == EBADF, "read: error");
  expect(write(fd, nullptr, 0) == 0, "write of nothing");
  char other[64] = {};
  g_writes = 0;
  expect(pread(fd, other, sizeof other, 0) == 64 && g_writes == 0, "other memory");

  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      char own[64];
      for (int k = 0; k < 1000; ++k) done += pread(fd, own, sizeof own, 64 * (k % 64)) == 64;
    });
  }
  for (std::thread& t : threads) t.join();
  expect(done == 4000, "threads");

  const pid_t child = fork();
  if (child == 0) _exit(pread(fd, g_array, sizeof g_array, 0) == size ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "a child");
  close(fd);
  std::remove(name);
  return g_wrong;
}
