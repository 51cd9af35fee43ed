// When a run keeps a checkpoint: every so many seconds, and when it is asked to by a signal.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/checkpoint/folder.h"

namespace tilewave::simulate {

enum class Asked : std::uint8_t { kNothing, kKeep, kKeepAndStop };

struct CheckpointOptions {
  std::string folder;    ///< empty: nothing is kept
  double every_s = 600;  ///< between the end of a checkpoint and the next
  std::string resume;    ///< folder of the checkpoint to go on with; empty: from the start
  /// Asked between steps of a run, also while nothing is due.
  std::function<Asked()> asked;
};

/// Thrown on all processes when a run was asked to stop and its checkpoint is kept.
class Stopped : public std::exception {
 public:
  explicit Stopped(const std::string& folder)
      : message_("stopped by a signal: " + folder + " has the run, go on with --resume " + folder) {
  }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

class Keeper {
 public:
  Keeper(const CheckpointOptions& options, std::shared_ptr<runtime::Ranks> processes,
         const SavedRun* resumed);

  /// Whether to write now. All processes ask at the same places and get one answer; most questions
  /// cost no message.
  Asked due();
  /// As CheckpointFolder::write(). Not being able to write ends the run the first time, and where it
  /// is to stop; later it is a warning, for the checkpoint before is still there.
  void write(const std::string& record, std::span<statevec::State* const> states, Asked why);
  bool has_checkpoint() const { return folder_.has_checkpoint(); }
  const std::string& warning() const { return warning_; }
  void remove() noexcept { folder_.remove(); }

 private:
  CheckpointOptions options_;
  std::shared_ptr<runtime::Ranks> processes_;
  CheckpointFolder folder_;
  runtime::Timer since_written_, since_asked_;
  std::uint32_t until_asked_ = 0, between_ = 1;  // questions
  std::string warning_;
};

}  // namespace tilewave::simulate
