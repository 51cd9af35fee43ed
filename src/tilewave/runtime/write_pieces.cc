#include "tilewave/runtime/write_pieces.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::runtime {

namespace {

constexpr std::size_t kLeastPiece = std::size_t{2} << 20;  // less is not worth a thread
constexpr int kMostThreads = 8;

WrittenPieces write_all(int descriptor, std::uint64_t offset, const char* bytes,
                        std::size_t num_bytes) {
  WrittenPieces done;
  while (done.num_bytes < num_bytes) {
    const ssize_t n = ::pwrite(descriptor, bytes + done.num_bytes, num_bytes - done.num_bytes,
                               static_cast<off_t>(offset + done.num_bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      done.error = n < 0 ? errno : ENOSPC;
      break;
    }
    done.num_bytes += static_cast<std::uint64_t>(n);
  }
  return done;
}

}  // namespace

bool takes_pieces(int descriptor) {
  struct stat status;
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && !(flags & O_APPEND) && ::fstat(descriptor, &status) == 0 &&
         S_ISREG(status.st_mode);
}

WrittenPieces write_pieces(int descriptor, std::uint64_t offset, const char* bytes,
                           std::size_t num_bytes) {
  const std::size_t most = std::min<std::size_t>(num_bytes / kLeastPiece, kMostThreads);
  const std::size_t count =
      std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(default_num_threads()));
  std::vector<WrittenPieces> pieces(count);
  const auto begin = [&](std::size_t k) { return num_bytes / count * k; };
  const auto end = [&](std::size_t k) { return k + 1 == count ? num_bytes : begin(k + 1); };
  try {
    run_on_threads(static_cast<int>(count), [&](int t) {
      const auto k = static_cast<std::size_t>(t);
      pieces[k] = write_all(descriptor, offset + begin(k), bytes + begin(k), end(k) - begin(k));
    });
  } catch (const Error&) {  // no threads are to be had, and none has written
    return write_all(descriptor, offset, bytes, num_bytes);
  }
  WrittenPieces all;
  for (const WrittenPieces& piece : pieces) {
    all.num_bytes += piece.num_bytes;
    all.error = piece.error;
    if (piece.error) break;
  }
  return all;
}

}  // namespace tilewave::runtime
