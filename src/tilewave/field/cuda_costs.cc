#include "tilewave/field/cuda_costs.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilewave::field {
namespace {

namespace fs = std::filesystem;

fs::path cache_file() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "tilewave" / "cuda_costs";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "tilewave" / "cuda_costs";
  return {};
}

}  // namespace

bool find_cuda_costs(const std::string& text, const std::string& key, CudaCosts& costs) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    CudaCosts c;
    if (!(words >> name >> c.start_s >> c.call_s >> c.in_bytes_per_s >> c.out_bytes_per_s >>
          c.packed_s >> c.update_s)) {
      continue;
    }
    const bool sound = c.start_s >= 0 && c.call_s > 0 && c.in_bytes_per_s > 0 &&
                       c.out_bytes_per_s > 0 && c.packed_s > 0 && c.update_s > 0;
    if (name != key || !sound) continue;
    costs = c;
    return true;
  }
  return false;
}

std::string print_cuda_costs(const std::string& key, const CudaCosts& c) {
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, " %.4g %.4g %.4g %.4g %.4g %.4g\n", c.start_s, c.call_s,
                c.in_bytes_per_s, c.out_bytes_per_s, c.packed_s, c.update_s);
  return key + numbers;
}

CudaCosts cached_cuda_costs(int device) {
  const std::string key = cuda_device_key(device);
  const fs::path path = cache_file();
  CudaCosts costs;
  std::ostringstream text;
  if (std::ifstream in(path); in) text << in.rdbuf();
  if (find_cuda_costs(text.str(), key, costs)) return costs;
  costs = measure_cuda_costs(device);
  if (path.empty()) return costs;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream(path, std::ios::app) << print_cuda_costs(key, costs);
  return costs;
}

}  // namespace tilewave::field
