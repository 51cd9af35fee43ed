// See cgroup.h. /proc/self/cgroup names the process's groups, a line "number:controllers:path" for
// each hierarchy of version 1 and "0::path" for version 2; /proc/self/mountinfo tells where a
// hierarchy is to be found, and which of its groups is the topmost that this process can see.
#include "tilewave/runtime/cgroup.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace tilewave::runtime {
namespace {

struct Hierarchy {
  bool is_v2 = false;
  bool has_memory = false, has_cpu = false;
  std::string top, folder;  // the topmost group and the folder it is mounted at
};

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// "36 35 98:0 /top /folder options... - cgroup source rw,memory"
std::optional<Hierarchy> hierarchy_of(const std::string& line) {
  std::istringstream words(line);
  std::string number, parent, device, word, source, options;
  Hierarchy h;
  words >> number >> parent >> device >> h.top >> h.folder;
  while (words >> word && word != "-") {
  }
  words >> word >> source >> options;
  h.is_v2 = word == "cgroup2";
  if (!h.is_v2 && word != "cgroup") return std::nullopt;
  h.has_memory = h.is_v2 || has_word(options, "memory");
  h.has_cpu = h.is_v2 || has_word(options, "cpu");
  return h;
}

template <class Number>
std::optional<Number> read_number(const std::string& path) {
  std::ifstream file(path);
  Number value{};
  if (file >> value) return value;
  return std::nullopt;  // "max", or no such file
}

// Of a file of lines "key value"; 0 where the key is missing.
std::uint64_t read_key(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

void take_memory(const std::string& folder, bool is_v2, GroupLimits& limits) {
  const auto limit =
      read_number<std::uint64_t>(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit) return;
  std::uint64_t used =
      read_number<std::uint64_t>(folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes"))
          .value_or(0);
  used -= std::min(
      used, read_key(folder + "/memory.stat", is_v2 ? "inactive_file" : "total_inactive_file"));
  limits.memory_bytes = std::min(limits.memory_bytes, *limit - std::min(*limit, used));
}

void take_cpus(const std::string& folder, bool is_v2, GroupLimits& limits) {
  double quota = 0, period = 0;
  if (is_v2) {
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return;
  } else {
    quota = read_number<double>(folder + "/cpu.cfs_quota_us").value_or(-1);
    period = read_number<double>(folder + "/cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return;
  limits.cpus = limits.cpus > 0 ? std::min(limits.cpus, quota / period) : quota / period;
}

struct Group {
  std::string folder;
  bool is_v2 = false, has_memory = false, has_cpu = false;
};

// Every group from `path` up to the topmost.
void add_groups(const std::string& root, const Hierarchy& h, std::string path,
                std::vector<Group>& groups) {
  if (h.top != "/") {  // the folder shows a part of the hierarchy, and the path may begin above it
    const bool is_below = path == h.top || path.starts_with(h.top + "/");
    path = is_below ? path.substr(h.top.size()) : "";
  }
  if (path.find("/..") != std::string::npos || path == "/") path.clear();
  while (true) {
    groups.push_back({root + h.folder + path, h.is_v2, h.has_memory, h.has_cpu});
    if (path.empty()) return;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

std::vector<Group> groups_of_process(const std::string& root) {
  std::vector<Hierarchy> hierarchies;
  std::string line;
  for (std::ifstream mounts(root + "/proc/self/mountinfo"); std::getline(mounts, line);) {
    if (const auto h = hierarchy_of(line)) hierarchies.push_back(*h);
  }
  std::vector<Group> groups;
  for (std::ifstream lines(root + "/proc/self/cgroup"); std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_v2 = controllers.empty();
    for (Hierarchy h : hierarchies) {
      if (h.is_v2 != is_v2) continue;
      h.has_memory = h.has_memory && (is_v2 || has_word(controllers, "memory"));
      h.has_cpu = h.has_cpu && (is_v2 || has_word(controllers, "cpu"));
      if (h.has_memory || h.has_cpu) add_groups(root, h, line.substr(second + 1), groups);
    }
  }
  return groups;
}

GroupLimits limits_of(const std::vector<Group>& groups) {
  GroupLimits limits;
  for (const Group& g : groups) {
    if (g.has_memory) take_memory(g.folder, g.is_v2, limits);
    if (g.has_cpu) take_cpus(g.folder, g.is_v2, limits);
  }
  return limits;
}

}  // namespace

GroupLimits read_group_limits(const std::string& root) {
  if (!root.empty()) return limits_of(groups_of_process(root));
  static const std::vector<Group> own = groups_of_process("");  // processes stay where they are
  return limits_of(own);
}

}  // namespace tilewave::runtime
