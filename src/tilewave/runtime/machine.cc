// Reads /proc and /sys; what a system does not tell stays "unknown" or 0.
#include "tilewave/runtime/machine.h"

#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include <sched.h>
#include <unistd.h>

#include "tilewave/runtime/memory.h"

namespace tilewave::runtime {
namespace {

// The text after "key :" of the first such line of /proc/cpuinfo.
std::string cpuinfo_field(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return {};
}

std::vector<std::string> simd_features() {
  // x86 lists "flags", Arm lists "Features".
  std::istringstream words(cpuinfo_field("flags") + " " + cpuinfo_field("Features"));
  std::unordered_set<std::string> present;
  for (std::string word; words >> word;) present.insert(word);
  constexpr std::array kKnown = {"sse4_2",   "avx2",  "fma", "avx512f", "avx512dq",
                                 "avx512bw", "asimd", "sve", "sve2"};
  std::vector<std::string> found;
  for (const char* name : kKnown) {
    if (present.count(name)) found.emplace_back(name);
  }
  return found;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

// "always [madvise] never" -> "madvise"
std::string huge_page_mode() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  if (!std::getline(file, line)) return "unknown";
  const auto open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "unknown";
  return line.substr(open + 1, close - open - 1);
}

[[maybe_unused]] std::size_t size_of(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace

std::string cpu_model() {
  const std::string model = cpuinfo_field("model name");
  return model.empty() ? "unknown" : model;
}

Machine describe_machine() {
  Machine m;
  m.cpu_model = cpu_model();
  m.num_cores = usable_cores();
  m.simd_features = simd_features();
  m.total_memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  m.available_memory_bytes = available_host_bytes();
  m.huge_pages = huge_page_mode();
  return m;
}

CacheSizes cache_sizes() {
  CacheSizes sizes;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  sizes.first_level_bytes = size_of(_SC_LEVEL1_DCACHE_SIZE);
  sizes.second_level_bytes = size_of(_SC_LEVEL2_CACHE_SIZE);
#endif
  return sizes;
}

}  // namespace tilewave::runtime
