// Finds out whether a launcher started this process among others, and joins them through a module
// (tilewave_mpi.so) that is loaded only then: the program itself needs no MPI.
#include "tilewave/runtime/ranks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::runtime {

namespace {

constexpr const char* kModule = "tilewave_mpi.so";

int number(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end || value < 0 || value > 1'000'000 ? fallback : static_cast<int>(value);
}

std::shared_ptr<Ranks>& joined() {
  static std::shared_ptr<Ranks> ranks;  // a process belongs to one run
  return ranks;
}

std::shared_ptr<Ranks> join() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("TILEWAVE_MPI")) {
    places = {named};
  } else {
    std::error_code ignored;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    places = {folder / kModule, folder.parent_path() / "lib" / "tilewave" / kModule, kModule};
  }
  std::string problem;
  void* module = nullptr;
  for (const std::string& place : places) {
    std::error_code ignored;
    const bool last = &place == &places.back();
    if (!last && !std::filesystem::exists(place, ignored)) continue;
    module = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI's plugins look for its symbols
    if (module) break;
    problem = dlerror();
  }
  const auto size = std::to_string(launch().size);
  if (!module) {
    throw Error(ExitCode::kCommunication,
                "started as " + size + " processes, but MPI cannot be loaded (" + problem +
                    "): build with TW_MPI=ON (libopenmpi-dev), or use one process with --ranks " +
                    size);
  }
  const auto entry = reinterpret_cast<JoinRanks>(dlsym(module, kJoinRanksName));
  std::shared_ptr<Ranks> ranks(entry ? entry(&problem) : nullptr);
  if (!ranks) {
    throw Error(ExitCode::kCommunication, "cannot join the " + size + " processes of this run: " +
                                              (problem.empty() ? "not a module" : problem));
  }
  return ranks;
}

}  // namespace

Launch launch() {
  Launch l;
  if (const int size = number("OMPI_COMM_WORLD_SIZE", 0)) {
    l = {number("OMPI_COMM_WORLD_RANK", 0), size};
  } else if (std::getenv("PMIX_RANK")) {  // srun --mpi=pmix
    l = {number("PMIX_RANK", 0), number("SLURM_STEP_NUM_TASKS", 1)};
  }
  return l;
}

std::shared_ptr<Ranks> launched_ranks() {
  if (launch().size <= 1) return nullptr;
  if (!joined()) joined() = join();
  return joined();
}

std::shared_ptr<Ranks> joined_ranks() { return joined(); }

}  // namespace tilewave::runtime
