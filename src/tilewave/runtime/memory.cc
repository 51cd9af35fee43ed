#include "tilewave/runtime/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/cgroup.h"

namespace tilewave::runtime {

namespace {
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kPageBytes = 4096;
// Below, a mapping of its own (some 10 us with its page faults) costs more than the work on it.
constexpr std::size_t kHeapBytes = std::size_t{128} << 10;
}  // namespace

HostBuffer::HostBuffer(std::size_t num_bytes) : num_bytes_(num_bytes) {
  if (num_bytes == 0) return;
  if (num_bytes <= kHeapBytes) {
    const std::size_t whole = (num_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    data_ = std::aligned_alloc(kPageBytes, whole);
    if (!data_) fail_memory("cannot reserve memory: the system refused");
    std::memset(data_, 0, whole);
    return;
  }
  map_bytes_ = num_bytes + kHugePageBytes;
  map_ = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    fail_memory("cannot reserve ", num_bytes >> 20,
                " MiB of memory: the system refused; free memory or use fewer qubits");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(map_);
  const std::uintptr_t aligned = (address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  data_ = static_cast<char*>(map_) + (aligned - address);
  if (num_bytes >= kHugePageBytes) madvise(data_, num_bytes, MADV_HUGEPAGE);
}

HostBuffer::~HostBuffer() {
  if (map_) {
    munmap(map_, map_bytes_);
  } else {
    std::free(data_);
  }
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      num_bytes_(std::exchange(other.num_bytes_, 0)),
      map_bytes_(std::exchange(other.map_bytes_, 0)),
      map_(std::exchange(other.map_, nullptr)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(num_bytes_, other.num_bytes_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(map_, other.map_);
  return *this;
}

namespace {

// What the limits of the process (ulimit -v and -d, --max-memory) leave of its address space and data.
std::uint64_t left_of_limits() {
  std::uint64_t left = ~std::uint64_t{0};
  std::uint64_t pages[6] = {};  // size, resident, shared, text, unused, data
  std::ifstream statm("/proc/self/statm");
  for (std::uint64_t& count : pages) statm >> count;
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto look = [&](auto kind, std::uint64_t used_pages) {
    struct rlimit limit {};
    if (::getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const std::uint64_t used = used_pages * page_bytes;
    left = std::min<std::uint64_t>(left, limit.rlim_cur > used ? limit.rlim_cur - used : 0);
  };
  look(RLIMIT_AS, pages[0]);
  look(RLIMIT_DATA, pages[5]);
  return left;
}

}  // namespace

std::uint64_t available_host_bytes() {
  std::uint64_t available = ~std::uint64_t{0};
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (meminfo >> key >> kib && std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") available = kib * 1024;
  }
  return std::min({available, read_group_limits().memory_bytes, left_of_limits()});
}

void need_host_bytes(std::uint64_t bytes, std::string_view what, std::string_view remedy) {
  constexpr std::uint64_t kSurelyThere = std::uint64_t{64} << 20;
  if (bytes <= kSurelyThere) return;
  const std::uint64_t available = available_host_bytes();
  constexpr std::uint64_t kBeyondAll = ~std::uint64_t{0};  // what a product that saturated is
  if (bytes <= available && bytes != kBeyondAll) return;
  const std::string message =
      concat(what, " (needs ", in_bytes(bytes), ", ", in_bytes(available), " available): ", remedy);
  if (bytes == kBeyondAll) fail(ExitCode::kResources, message);
  fail_memory(message);
}

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tilewave::runtime
