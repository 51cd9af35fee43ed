// Where a run keeps its checkpoints. The folder holds one whole checkpoint at any time:
//
//   checkpoint                 what the run knows beside amplitudes, and which files belong to it
//   checkpoint-<16 hex digits>/rank-<k>   amplitudes of process k, slice by slice with checksums
//
// A new one is written by all processes at once into a folder of its own, synced, and becomes the
// checkpoint when `checkpoint` is renamed over the old one; the old files go only then. A run that
// is killed at any moment leaves the old one or the new one. All processes see the same folder.
//
// A file of amplitudes is slices, then a table of them (Slice), then a Footer. Numbers are as the
// machine has them (little-endian).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/runtime/ranks.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// Throws Error(kUsage) where an output is to be written under a name that checkpoints in the folder
/// have: one would replace the other. An empty path stands for none. `flag` begins the message.
void need_no_checkpoint(const std::string& folder, const std::string& output,
                        const std::string& flag = {});

/// Amplitudes of a state that a file holds.
struct Slice {
  std::uint32_t slot = 0;  ///< which state of the checkpoint
  std::uint32_t file = 0;
  std::uint64_t first = 0;  ///< physical index, as the next in amplitudes
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t hash = 0;
};

/// A checkpoint that was read: all processes may look at all of it.
class SavedRun {
 public:
  /// Throws Error(kInput) where the folder holds no checkpoint, or one that is not whole.
  explicit SavedRun(const std::string& folder);
  SavedRun(const SavedRun&) = delete;
  SavedRun& operator=(const SavedRun&) = delete;

  const std::string& folder() const { return folder_; }
  const std::string& record() const { return record_; }
  /// Which checkpoint this is.
  const std::string& id() const { return id_; }
  /// Fills a state of any number of ranks with the amplitudes of a slot. Throws Error(kInput) for
  /// slices whose checksums are wrong.
  void load(std::uint32_t slot, const statevec::Layout& layout, std::uint64_t known_zero,
            statevec::State& state) const;

 private:
  void fill(std::uint32_t slot, std::size_t amplitude_bytes, std::uint64_t first,
            std::span<std::byte> to) const;
  void read_table(std::uint32_t number, std::uint64_t size, std::uint64_t index_hash);
  std::string path_of(std::uint32_t number) const;

  std::string folder_, id_, record_;
  std::vector<Slice> slices_;  // by slot and first amplitude
};

/// Writes checkpoints; all processes of a run have one and make the same calls.
class CheckpointFolder {
 public:
  /// What becomes of a checkpoint that is there.
  enum class Old : std::uint8_t { kRefused, kReplaced };
  /// Makes the folder where it is missing and locks it. Throws Error(kUsage) where another run
  /// writes there, or where it holds a checkpoint that is to be refused and is not the `resumed` one,
  /// Error(kResources) where it cannot be written. `processes` and `resumed` may be null.
  CheckpointFolder(std::string folder, std::shared_ptr<runtime::Ranks> processes,
                   const SavedRun* resumed, Old old = Old::kRefused);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  /// Whether it holds a checkpoint: the one that was there, or one that was written.
  bool has_checkpoint() const { return !id_.empty(); }
  /// Throws Error(kResources) on all processes where one cannot write; the old checkpoint stays.
  void write(const std::string& record, std::span<statevec::State* const> states);
  /// The run is over: what it kept is removed.
  void remove() noexcept;

 private:
  struct Part;  // what a process tells of its file
  bool is_root() const { return !processes_ || processes_->rank() == 0; }
  std::string folder_of(const std::string& id) const;
  std::vector<Part> gathered(const Part& mine) const;
  void check_parts(const std::vector<Part>& parts, const std::string& id);
  Part write_file(const std::string& id, std::span<statevec::State* const> states) const;
  Part commit(const std::string& id, const std::string& record, const std::vector<Part>& parts,
              bool& is_named) const;
  std::string agreed(const std::string& id) const;
  void lock();
  void unlock() noexcept;
  void find_checkpoint(const SavedRun* resumed, Old old);
  void remove_leftovers(const std::string& kept);

  std::string folder_, id_;  // of the checkpoint that is there; empty: none
  std::shared_ptr<runtime::Ranks> processes_;
  int lock_ = -1;
};

}  // namespace tilewave::simulate
