// The calls of the C library that hand memory to the system, replaced in programs of the API: each
// opens the arrays of a register it is given (a system call does not fault on them, it fails) and
// goes on to the call it replaces. fwrite(qureg.stateVec.real, ...) on arrays that were not touched
// before then writes the state, and fread into them sets it. Weak, so that a program may have
// functions of these names. Cost: two comparisons a call.
#undef _FORTIFY_SOURCE  // its inline versions of these functions would get in the way
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "tilewave/quest/core/faults.h"

namespace {

using tilewave::quest::Access;
using tilewave::quest::open_arrays;

struct Calls {
  decltype(&::read) read;
  decltype(&::write) write;
  decltype(&::pread) pread;
  decltype(&::pwrite) pwrite;
  decltype(&::readv) readv;
  decltype(&::writev) writev;
  decltype(&::send) send;
  decltype(&::recv) recv;
  decltype(&::fread) fread;
  decltype(&::fwrite) fwrite;
};

template <class F>
void resolve(F& f, const char* name) {
  f = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

Calls resolve_all() {
  Calls c;
  resolve(c.read, "read");
  resolve(c.write, "write");
  resolve(c.pread, "pread");
  resolve(c.pwrite, "pwrite");
  resolve(c.readv, "readv");
  resolve(c.writev, "writev");
  resolve(c.send, "send");
  resolve(c.recv, "recv");
  resolve(c.fread, "fread");
  resolve(c.fwrite, "fwrite");
  return c;
}

const Calls& next() {
  static const Calls calls = resolve_all();
  return calls;
}

// Resolved before main, so that no signal handler that writes finds the work half done.
[[maybe_unused]] const Calls& g_resolved_early = next();

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
