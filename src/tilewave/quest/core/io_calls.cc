// The calls of the C library that hand memory to the system, replaced in programs of the API: each
// opens the arrays of a register it is given (a system call does not fault on them, it fails) and
// goes on to the call it replaces. fwrite(qureg.stateVec.real, ...) on arrays that were not touched
// before then writes the state, and fread into them sets it. Weak, so that a program may have
// functions of these names. Cost: two comparisons a call.
//
// The call it replaces is the next one in the order of shared libraries: that of a sanitizer or a
// preloaded library where there is one, otherwise the C library's with all it does (cancellation,
// locks of files). Programs linked statically have no next one: there the system is called
// directly. Nothing here allocates or locks, so that signal handlers and the children of a fork may
// write as ever.
#undef _FORTIFY_SOURCE  // its inline versions of these functions would get in the way
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "tilewave/quest/core/faults.h"

namespace {

using tilewave::quest::Access;
using tilewave::quest::open_arrays;

// Without a next call.
template <long kNumber, class Result, class... Arguments>
Result system_call(Arguments... arguments) {
  return static_cast<Result>(syscall(kNumber, arguments...));
}
ssize_t system_send(int socket, const void* data, size_t bytes, int flags) {
  return syscall(SYS_sendto, socket, data, bytes, flags, nullptr, 0);
}
ssize_t system_recv(int socket, void* data, size_t bytes, int flags) {
  return syscall(SYS_recvfrom, socket, data, bytes, flags, nullptr, nullptr);
}
size_t locked_fread(void* data, size_t size, size_t count, FILE* file) {
  flockfile(file);
  const size_t done = fread_unlocked(data, size, count, file);
  funlockfile(file);
  return done;
}
size_t locked_fwrite(const void* data, size_t size, size_t count, FILE* file) {
  flockfile(file);
  const size_t done = fwrite_unlocked(data, size, count, file);
  funlockfile(file);
  return done;
}

template <class F>
F* next_call(const char* name, F* mine, F* direct) {
  auto* const found = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  return found && found != mine ? found : direct;
}

struct Calls {
  decltype(&::read) read =
      next_call("read", &::read, &system_call<SYS_read, ssize_t, int, void*, size_t>);
  decltype(&::write) write =
      next_call("write", &::write, &system_call<SYS_write, ssize_t, int, const void*, size_t>);
  decltype(&::pread) pread =
      next_call("pread", &::pread, &system_call<SYS_pread64, ssize_t, int, void*, size_t, off_t>);
  decltype(&::pwrite) pwrite = next_call(
      "pwrite", &::pwrite, &system_call<SYS_pwrite64, ssize_t, int, const void*, size_t, off_t>);
  decltype(&::readv) readv =
      next_call("readv", &::readv, &system_call<SYS_readv, ssize_t, int, const iovec*, int>);
  decltype(&::writev) writev =
      next_call("writev", &::writev, &system_call<SYS_writev, ssize_t, int, const iovec*, int>);
  decltype(&::send) send = next_call("send", &::send, &system_send);
  decltype(&::recv) recv = next_call("recv", &::recv, &system_recv);
  decltype(&::fread) fread = next_call("fread", &::fread, &locked_fread);
  decltype(&::fwrite) fwrite = next_call("fwrite", &::fwrite, &locked_fwrite);
};

const Calls& next() {
  static const Calls calls;
  return calls;
}

// Found before main, so that no signal handler that writes finds the work half done.
[[maybe_unused]] const Calls& g_found_early = next();

std::uintptr_t at(const volatile void* data) { return reinterpret_cast<std::uintptr_t>(data); }

void open_all(const iovec* parts, int count, Access wanted) {
  for (int k = 0; parts && k < count; ++k)
    open_arrays(at(parts[k].iov_base), parts[k].iov_len, wanted);
}

}  // namespace

void tilewave::quest::link_file_calls() {}

extern "C" {

__attribute__((weak)) ssize_t read(int fd, void* data, size_t bytes) {
  open_arrays(at(data), bytes, Access::kWrite);
  return next().read(fd, data, bytes);
}

__attribute__((weak)) ssize_t write(int fd, const void* data, size_t bytes) {
  open_arrays(at(data), bytes, Access::kRead);
  return next().write(fd, data, bytes);
}

__attribute__((weak)) ssize_t pread(int fd, void* data, size_t bytes, off_t offset) {
  open_arrays(at(data), bytes, Access::kWrite);
  return next().pread(fd, data, bytes, offset);
}

__attribute__((weak)) ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  open_arrays(at(data), bytes, Access::kRead);
  return next().pwrite(fd, data, bytes, offset);
}

__attribute__((weak)) ssize_t pread64(int fd, void* data, size_t bytes, off64_t offset) {
  return pread(fd, data, bytes, offset);
}

__attribute__((weak)) ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return pwrite(fd, data, bytes, offset);
}

__attribute__((weak)) ssize_t readv(int fd, const iovec* parts, int count) {
  open_all(parts, count, Access::kWrite);
  return next().readv(fd, parts, count);
}

__attribute__((weak)) ssize_t writev(int fd, const iovec* parts, int count) {
  open_all(parts, count, Access::kRead);
  return next().writev(fd, parts, count);
}

__attribute__((weak)) ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  open_arrays(at(data), bytes, Access::kRead);
  return next().send(socket, data, bytes, flags);
}

__attribute__((weak)) ssize_t recv(int socket, void* data, size_t bytes, int flags) {
  open_arrays(at(data), bytes, Access::kWrite);
  return next().recv(socket, data, bytes, flags);
}

__attribute__((weak)) size_t fread(void* data, size_t size, size_t count, FILE* file) {
  open_arrays(at(data), size * count, Access::kWrite);
  return next().fread(data, size, count, file);
}

__attribute__((weak)) size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  open_arrays(at(data), size * count, Access::kRead);
  return next().fwrite(data, size, count, file);
}
}
