#include "tilewave/quest/core/mirror.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/quest/core/faults.h"
#include "tilewave/quest/core/wait_lock.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::quest {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

int rights(Access access) {
  return access == Access::kNone   ? PROT_NONE
         : access == Access::kRead ? PROT_READ
                                   : PROT_READ | PROT_WRITE;
}

// Pages at a multiple of the huge page size where that many are asked for: huge pages stay whole
// when they are moved from one such place to another. Null where the system refuses.
void* map_pages(std::size_t bytes, int protection) {
  const std::size_t extra = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  void* map = mmap(nullptr, bytes + extra, protection, kPrivate, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  if (extra == 0) return map;
  char* const begin = static_cast<char*>(map);
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(map) % kHugePageBytes;
  if (head) munmap(begin, head);
  if (head < extra) munmap(begin + head + bytes, extra - head);
  madvise(begin + head, bytes, MADV_HUGEPAGE);
  return begin + head;
}

// Closed views of a page of registers that are gone, for those of later ones: programs make and
// destroy registers of a few qubits in loops, where mapping pages would be most of the time.
class SpareViews {
 public:
  static SpareViews& of_process() {
    static SpareViews* const instance = new SpareViews;  // outlives every register
    return *instance;
  }
  /// Null where there is none.
  void* take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return nullptr;
    void* const view = spare_.back();
    spare_.pop_back();
    return view;
  }
  bool keep(void* view) {
    constexpr std::size_t kMost = 256;
    const std::lock_guard lock(mutex_);
    if (spare_.size() >= kMost) return false;
    spare_.push_back(view);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<void*> spare_;
};

// Memory is handed out without a promise, so a large copy is refused before it is begun.
void check_room(std::size_t bytes) {
  runtime::need_host_bytes(bytes, "the arrays of a register do not fit memory",
                           "read single amplitudes with getAmp, or use fewer qubits");
}

}  // namespace

Mirror::Mirror(std::uint64_t num_amplitudes, std::size_t real_bytes,
               std::function<void(void*, void*)> fill)
    : half_bytes_(num_amplitudes * real_bytes), fill_(std::move(fill)) {
  const std::size_t page = page_bytes();
  bytes_ = (2 * half_bytes_ + page - 1) / page * page;
  if (bytes_ == page) view_ = SpareViews::of_process().take();
  if (!view_) view_ = map_pages(bytes_, PROT_NONE);
  if (!view_) {
    fail(ExitCode::kResources,
         "no address space for the arrays of a register: destroy registers that are not needed, or "
         "raise the limits on memory maps");
  }
  watch(this);
}

Mirror::~Mirror() {
  unwatch(this);
  const auto shut = [&] {
    return is_closed() || mmap(view_, bytes_, PROT_NONE, kPrivate | MAP_FIXED, -1, 0) == view_;
  };
  if (bytes_ == page_bytes() && shut() && SpareViews::of_process().keep(view_)) return;
  munmap(view_, bytes_);
}

bool Mirror::overlaps(const void* address, std::size_t bytes) const {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(view_);
  return a < first + bytes_ && (a >= first || bytes > first - a);
}

void Mirror::fill_arrays(Access access) {
  check_room(bytes_);
  void* const fresh = map_pages(bytes_, PROT_READ | PROT_WRITE);
  if (!fresh) fail(ExitCode::kResources, "no memory for the arrays of a register");
  try {
    fill_(fresh, static_cast<char*>(fresh) + half_bytes_);
  } catch (...) {
    munmap(fresh, bytes_);
    throw;
  }
  if (mprotect(fresh, bytes_, rights(access)) != 0 ||
      mremap(fresh, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, view_) == MAP_FAILED) {
    munmap(fresh, bytes_);
    fail(ExitCode::kResources,
         "the arrays of a register cannot be moved: raise the limits on memory maps");
  }
}

void Mirror::open(Access wanted) {
  const WaitLock lock(busy_);
  const Access access = access_.load();
  if (access >= wanted) return;
  if (access == Access::kNone) {
    fill_arrays(wanted);
  } else {
    TW_CHECK(mprotect(view_, bytes_, rights(wanted)) == 0, "a register's arrays open");
  }
  access_.store(wanted, std::memory_order_release);
}

void Mirror::clean() {
  const WaitLock lock(busy_);
  if (access_.load() != Access::kWrite) return;
  TW_CHECK(mprotect(view_, bytes_, PROT_READ) == 0, "a register's arrays become read-only");
  access_.store(Access::kRead, std::memory_order_release);
}

void Mirror::close() {
  const WaitLock lock(busy_);
  if (access_.load() == Access::kNone) return;
  TW_CHECK(mmap(view_, bytes_, PROT_NONE, kPrivate | MAP_FIXED, -1, 0) == view_,
           "a register's arrays close");
  access_.store(Access::kNone, std::memory_order_release);
}

}  // namespace tilewave::quest
