// What crosses the link between host and GPU, of any program that uses CUDA:
//   CUDA_INJECTION64_PATH=build/cuda/bench/liblink_bytes.so PROGRAM ARGUMENTS
// The driver loads this library, CUPTI records every copy, memset and kernel, and at the end of the
// process a table of numbers, bytes and times is printed to standard error. A loop whose data stay on
// the device has the same bytes from host to device and back for any number of turns. What a kernel
// reads and writes by itself in page-locked memory of the host is no copy and not in the table.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupti.h>
#include <cxxabi.h>

namespace {

struct Sum {
  std::uint64_t count = 0, bytes = 0, ns = 0;
  void add(std::uint64_t num_bytes, std::uint64_t start_ns, std::uint64_t end_ns) {
    ++count;
    bytes += num_bytes;
    ns += end_ns - start_ns;
  }
};

// CUPTI calls back on threads of its own.
struct Sums {
  std::mutex mutex;
  std::map<std::string, Sum> copies, kernels;
  std::uint64_t dropped = 0;
};
Sums& sums() {
  static auto* const one = new Sums;  // is read at the end of the process
  return *one;
}

// Stops the program: a table with gaps would be a wrong one.
void check(CUptiResult result, const char* doing) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "link_bytes: cannot %s: %s\n", doing, text ? text : "unknown error");
  std::_Exit(1);
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "within a device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "between devices";
    default:
      return "other copies";
  }
}

// The name of a kernel without the types of its arguments and its namespaces.
std::string kernel_name(const char* mangled) {
  int status = 0;
  char* const words = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = words ? words : mangled;
  std::free(words);
  for (const std::string_view part : {"(anonymous namespace)::", "void "}) {
    for (auto at = name.find(part); at != name.npos; at = name.find(part))
      name.erase(at, part.size());
  }
  if (words) name = name.substr(0, name.find('('));
  const auto arguments = name.find('<'), space = name.rfind("::", arguments);
  return space == name.npos ? name : name.substr(space + 2);
}

void note(const CUpti_Activity* record) {
  Sums& s = sums();
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* const r = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      s.copies[copy_name(r->copyKind)].add(r->bytes, r->start, r->end);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto* const r = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      s.copies["between devices"].add(r->bytes, r->start, r->end);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* const r = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      s.copies["memsets"].add(r->bytes, r->start, r->end);
      break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* const r = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      s.kernels[r->name ? r->name : "?"].add(0, r->start, r->end);
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t kBytes = std::size_t{4} << 20, kAlignment = 8;
  *size = kBytes;
  *most_records = 0;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBytes));
  if (!*buffer) *size = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t used) {
  const std::lock_guard lock(sums().mutex);
  CUpti_Activity* record = nullptr;
  while (used > 0 && cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
    note(record);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
    sums().dropped += dropped;
  std::free(buffer);
}

void print() {
  check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "read the last records");
  Sums& s = sums();
  const std::lock_guard lock(s.mutex);
  std::fprintf(stderr, "%-16s %10s %18s %12s\n", "copies", "number", "bytes", "ms");
  for (const char* name : {"host to device", "device to host", "within a device", "between devices",
                           "other copies", "memsets"}) {
    const Sum& sum = s.copies[name];
    std::fprintf(stderr, "%-16s %10llu %18llu %12.3f\n", name,
                 static_cast<unsigned long long>(sum.count),
                 static_cast<unsigned long long>(sum.bytes), static_cast<double>(sum.ns) * 1e-6);
  }
  std::vector<std::pair<std::string, Sum>> kernels(s.kernels.begin(), s.kernels.end());
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  constexpr std::size_t kMostKernels = 12, kMostLetters = 70;
  std::fprintf(stderr, "%-16s %10s %18s %12s\n", "kernels", "number", "", "ms");
  for (std::size_t k = 0; k < std::min(kernels.size(), kMostKernels); ++k) {
    const auto& [name, sum] = kernels[k];
    std::fprintf(stderr, "%-16s %10llu %18s %12.3f  %s\n", "",
                 static_cast<unsigned long long>(sum.count), "", static_cast<double>(sum.ns) * 1e-6,
                 kernel_name(name.c_str()).substr(0, kMostLetters).c_str());
  }
  if (s.dropped > 0)
    std::fprintf(stderr, "link_bytes: %llu records were lost: the sums are too small\n",
                 static_cast<unsigned long long>(s.dropped));
}

}  // namespace

/// What the CUDA driver calls when it starts.
extern "C" int InitializeInjection() {
  check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "give buffers");
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
    check(cuptiActivityEnable(kind), "record copies and kernels");
  std::atexit(print);
  return 1;
}
