#include "tilewave/simulate/resumed_run.h"

#include <filesystem>

#include "tilewave/base/error.h"
#include "tilewave/simulate/agreement.h"

namespace tilewave::simulate {

std::unique_ptr<ResumedRun> open_resumed(const circuit::Circuit& circuit, const Options& options) {
  const std::string& folder = options.checkpoint.resume;
  if (folder.empty()) return nullptr;
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(folder + "/checkpoint", ignored);
  if (!options.distribution.agreed(is_there) && folder == options.checkpoint.folder) return nullptr;
  auto run = std::make_unique<ResumedRun>(folder);
  const auto& processes = options.distribution.processes;
  std::string id = run->saved.id();
  if (processes) processes->broadcast(id.data(), id.size(), 0);
  if (id != run->saved.id()) {
    throw Error(ExitCode::kInput,
                folder + ": rank " + std::to_string(processes->rank()) +
                    " sees another checkpoint there than rank 0: all processes need one folder");
  }
  const std::string difference = difference_of(run->header.asked, asked_of(circuit, options));
  if (!difference.empty()) {
    throw Error(
        ExitCode::kUsage,
        folder + ": the checkpoint is of another " + difference +
            " (what is left of its run would not fit): start it with the same files and flags");
  }
  return run;
}

}  // namespace tilewave::simulate
