#include "tilewave/runtime/cost_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/base/whole_file.h"

namespace tilewave::runtime {

namespace fs = std::filesystem;

std::string cost_key(const CudaDevice& device, const std::string& what) {
  std::string key =
      device.name + "/" + std::to_string(device.driver_version) + "/" TW_VERSION "/" + what;
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

std::optional<std::vector<double>> find_costs(const std::string& text, const std::string& key,
                                              std::size_t count) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != key) continue;
    std::vector<double> costs;
    for (std::string word; words >> word;) costs.push_back(whole_double(word).value_or(0));
    const bool sound = costs.size() == count &&
                       std::all_of(costs.begin(), costs.end(), [](double c) { return c > 0; });
    if (sound) return costs;
  }
  return std::nullopt;
}

std::string print_costs(const std::string& key, std::span<const double> costs) {
  std::string line = key;
  for (double c : costs) line += " " + write_double(c, std::chars_format::general, 4);
  return line + "\n";
}

std::string cost_file() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "tilewave" / "cuda_costs";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "tilewave" / "cuda_costs";
  return {};
}

std::string cache_folder(const std::string& name) {
  const std::string file = cost_file();
  return file.empty() ? "" : (fs::path(file).parent_path() / name).string();
}

std::vector<double> cached_costs(const std::string& key, std::size_t count,
                                 const std::function<std::vector<double>()>& measure) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<double>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const fs::path path = cost_file();
  std::ostringstream text;
  if (std::ifstream in(path); in) text << in.rdbuf();
  std::optional<std::vector<double>> costs = find_costs(text.str(), key, count);
  if (!costs) {
    costs = measure();
    if (!path.empty()) {
      std::error_code ignored;
      fs::create_directories(path.parent_path(), ignored);
      std::ostringstream others;  // as they are now: measuring took a while
      if (std::ifstream in(path); in) others << in.rdbuf();
      try {
        write_whole_file(path.string(), others.str() + print_costs(key, *costs));
      } catch (const Error&) {  // measured again next time
      }
    }
  }
  return known[key] = *costs;
}

}  // namespace tilewave::runtime
