// Writes the passes of plans as well as they become, in the background of the runs that use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "tilewave/statevec/cuda/pass_writer.h"

namespace tilewave::statevec::cuda {

/// Of one workspace, which takes what was written when it is used next. Safe to use from several
/// threads.
class BackgroundWriter : public std::enable_shared_from_this<BackgroundWriter> {
 public:
  struct Written {
    std::uint64_t key = 0;
    ProgramStore::Plan programs;
    bool wants_kernels = false;
  };

  explicit BackgroundWriter(std::string folder) : ways_(std::move(folder)) {}

  /// Starts with a plan, unless its programs are being written, or were before. Plans that differ in
  /// their numbers alone: the first of them, and the others once its ways are known. Where
  /// `wants_kernels`, in any case.
  void begin(const Plan& plan, std::uint64_t key, const PassWriter& writer, bool wants_kernels);
  /// What was written since.
  std::vector<Written> take();
  tile::PassWays& ways() { return ways_; }

 private:
  struct Task;
  void finish(Task& task);

  tile::PassWays ways_;
  std::mutex mutex_;
  std::map<std::uint64_t, bool> in_work_;        // keys; whether kernels are wanted
  std::unordered_set<std::string> begun_plans_;  // ways_key(), or with the key where they are known
  std::vector<Written> written_;
};

}  // namespace tilewave::statevec::cuda
