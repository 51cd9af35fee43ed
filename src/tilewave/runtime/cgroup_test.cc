#include "tilewave/runtime/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tilewave::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr const char* kV2 = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kV1 =
    "24 1 0:22 / /sys rw - sysfs sysfs rw\n"
    "31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
    "32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

struct Case {
  const char* what;
  std::string mounts, groups;
  std::vector<std::pair<const char*, const char*>> files;  // below /sys/fs/cgroup
  std::uint64_t memory_bytes;
  double cpus;
};

// Fake systems: the files the kernel would show, and what they leave.
const Case kCases[] = {
    {"no groups at all", "", "", {}, kNone, 0},
    {"version 2 without limits",
     kV2,
     "0::/a/b\n",
     {{"a/memory.max", "max\n"}, {"a/b/memory.max", "max\n"}, {"a/cpu.max", "max 100000\n"}},
     kNone,
     0},
    {"version 2, at the top",
     kV2,
     "0::/\n",
     {{"memory.max", "1000\n"}, {"memory.current", "300\n"}, {"cpu.max", "150000 100000\n"}},
     700,
     1.5},
    {"version 2, the process's own group",
     kV2,
     "0::/slurm/job_7/step_0\n",
     {{"slurm/job_7/step_0/memory.max", "1000"}, {"slurm/job_7/step_0/memory.current", "100"}},
     900,
     0},
    {"version 2, groups above are tighter",
     kV2,
     "0::/slurm/job_7/step_0\n",
     {{"slurm/job_7/step_0/memory.max", "1000"},
      {"slurm/job_7/memory.max", "800"},
      {"slurm/job_7/memory.current", "600"},
      {"slurm/memory.max", "max"},
      {"slurm/job_7/step_0/cpu.max", "400000 100000"},
      {"slurm/cpu.max", "50000 20000"}},
     200,
     2.5},
    {"files that may be dropped are not used memory",
     kV2,
     "0::/a\n",
     {{"a/memory.max", "1000"},
      {"a/memory.current", "900"},
      {"a/memory.stat", "anon 100\nfile 800\ninactive_file 650\n"}},
     750,
     0},
    {"more used than allowed",
     kV2,
     "0::/a\n",
     {{"a/memory.max", "1000"}, {"a/memory.current", "1200"}},
     0,
     0},
    {"a sibling's limit is not ours", kV2, "0::/a\n", {{"ab/memory.max", "5"}}, kNone, 0},
    {"version 1",
     kV1,
     "11:memory:/job\n4:cpu,cpuacct:/job\n0::/user.slice\n",
     {{"memory/job/memory.limit_in_bytes", "5000"},
      {"memory/job/memory.usage_in_bytes", "1500"},
      {"memory/job/memory.stat", "cache 700\ntotal_inactive_file 500\n"},
      {"memory/memory.limit_in_bytes", "9223372036854771712"},
      {"cpu,cpuacct/job/cpu.cfs_quota_us", "300000"},
      {"cpu,cpuacct/job/cpu.cfs_period_us", "100000"},
      {"cpu,cpuacct/cpu.cfs_quota_us", "-1"},
      {"cpu,cpuacct/cpu.cfs_period_us", "100000"}},
     4000,
     3},
    {"a container of version 1 that sees its own group as the top",
     "31 24 0:27 /docker/12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
     "11:memory:/docker/12/inner\n",
     {{"memory/memory.limit_in_bytes", "2000"}, {"memory/inner/memory.limit_in_bytes", "3000"}},
     2000,
     0},
    {"a group outside of what is mounted",
     "31 24 0:27 /docker/12 /sys/fs/cgroup rw - cgroup2 c rw\n",
     "0::/../other\n",
     {{"memory.max", "2000"}},
     2000,
     0},
    {"both versions side by side",
     std::string(kV1) + "33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     "11:memory:/job\n0::/job\n",
     {{"memory/job/memory.limit_in_bytes", "5000"}, {"unified/job/cpu.max", "25000 100000"}},
     5000,
     0.25},
    {"nonsense limits nothing",
     kV2,
     "0::/a\nx\n:\n",
     {{"a/memory.max", "many"}, {"a/cpu.max", "0 0"}},
     kNone,
     0},
};

TEST(GroupLimits, of_fake_systems) {
  const fs::path root = fs::path(::testing::TempDir()) / ("cgroup" + std::to_string(::getpid()));
  for (const Case& c : kCases) {
    fs::remove_all(root);
    fs::create_directories(root / "proc/self");
    std::ofstream(root / "proc/self/mountinfo") << c.mounts;
    std::ofstream(root / "proc/self/cgroup") << c.groups;
    for (const auto& [name, text] : c.files) {
      const fs::path file = root / "sys/fs/cgroup" / name;
      fs::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
    const GroupLimits limits = read_group_limits(root.string());
    EXPECT_EQ(limits.memory_bytes, c.memory_bytes) << c.what;
    EXPECT_DOUBLE_EQ(limits.cpus, c.cpus) << c.what;
  }
  fs::remove_all(root);
  EXPECT_EQ(read_group_limits(root.string()).memory_bytes, kNone);
}

}  // namespace
}  // namespace tilewave::runtime
