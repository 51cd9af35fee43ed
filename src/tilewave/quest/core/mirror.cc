// See mirror.h. One handler for SIGSEGV serves all mirrors and passes other faults on.
#include "tilewave/quest/core/mirror.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::quest {
namespace {

class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

struct Faults {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::vector<Mirror*> mirrors;
  struct sigaction previous {};
  bool installed = false;
};

Faults& faults() {
  static Faults* const instance = new Faults;  // outlives every register
  return *instance;
}

void on_fault(int signal_number, siginfo_t* info, void* context) {
  Faults& f = faults();
  bool served = false;
  {
    const SpinLock lock(f.lock);
    for (Mirror* m : f.mirrors) {
      if (m->touch(info->si_addr)) {
        served = true;
        break;
      }
    }
  }
  if (served) return;
  if (f.previous.sa_flags & SA_SIGINFO) {
    f.previous.sa_sigaction(signal_number, info, context);
  } else if (f.previous.sa_handler != SIG_DFL && f.previous.sa_handler != SIG_IGN) {
    f.previous.sa_handler(signal_number);
  } else {
    signal(SIGSEGV, SIG_DFL);  // the fault repeats and ends the program as it would have
  }
}

void add(Mirror* mirror) {
  Faults& f = faults();
  const SpinLock lock(f.lock);
  f.mirrors.push_back(mirror);
  if (f.installed) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &f.previous);
  f.installed = true;
}

void remove(Mirror* mirror) {
  Faults& f = faults();
  const SpinLock lock(f.lock);
  f.mirrors.erase(std::remove(f.mirrors.begin(), f.mirrors.end(), mirror), f.mirrors.end());
}

}  // namespace

Mirror::Mirror(std::uint64_t num_amplitudes, std::size_t real_bytes,
               std::function<void(void*, void*)> fill)
    : half_bytes_(num_amplitudes * real_bytes), fill_(std::move(fill)) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (2 * half_bytes_ + page - 1) / page * page;
  const int file = memfd_create("tilewave-amplitudes", 0);
  const bool sized = file >= 0 && ftruncate(file, static_cast<off_t>(bytes_)) == 0;
  if (sized) {
    view_ = mmap(nullptr, bytes_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    alias_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (file >= 0) ::close(file);
  if (!sized || view_ == MAP_FAILED || alias_ == MAP_FAILED) {
    if (sized && view_ != MAP_FAILED) munmap(view_, bytes_);
    if (sized && alias_ != MAP_FAILED) munmap(alias_, bytes_);
    throw Error(ExitCode::kResources,
                "no address space for the arrays of a register: destroy registers that are not "
                "needed, or raise the limits on memory maps");
  }
  add(this);
}

Mirror::~Mirror() {
  remove(this);
  munmap(view_, bytes_);
  munmap(alias_, bytes_);
}

void Mirror::protect(Access access) {
  const int rights = access == Access::kNone   ? PROT_NONE
                     : access == Access::kRead ? PROT_READ
                                               : PROT_READ | PROT_WRITE;
  TW_CHECK(mprotect(view_, bytes_, rights) == 0, "the access to a register's arrays is fixed");
  access_.store(access, std::memory_order_release);
}

void Mirror::fill_arrays() { fill_(alias_, static_cast<char*>(alias_) + half_bytes_); }

void Mirror::open() {
  const SpinLock lock(busy_);
  if (access_.load() != Access::kNone) return;
  fill_arrays();
  protect(Access::kRead);
}

void Mirror::clean() {
  const SpinLock lock(busy_);
  protect(Access::kRead);
}

void Mirror::close() {
  const SpinLock lock(busy_);
  if (access_.load() == Access::kNone) return;
  protect(Access::kNone);
  madvise(alias_, bytes_, MADV_REMOVE);
}

bool Mirror::touch(void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(view_);
  if (a < first || a >= first + bytes_) return false;
  const SpinLock lock(busy_);
  try {
    if (access_.load() == Access::kNone) {
      fill_arrays();
      protect(Access::kRead);
    } else {
      protect(Access::kWrite);
    }
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace tilewave::quest
