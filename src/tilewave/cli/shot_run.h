// A sampler's run that is kept, with the three flags of `tilewave run` and in the same kind of
// folder (simulate/checkpoint/folder.h). What a checkpoint knows of it: what was asked, the seed and
// the engine, how many shots are done, where the files of shots ended then, and the counts so far.
// A run that goes on cuts its files there and appends, so that they become what they would have been
// undisturbed, to the byte. Checkpoints are kept between stretches of shots of about half a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewave/cli/stim_files.h"
#include "tilewave/simulate/checkpoint/folder.h"
#include "tilewave/simulate/checkpoint/keeper.h"
#include "tilewave/stabilizer/sample/post_select.h"

namespace tilewave::cli {

/// Shots before a checkpoint.
struct ShotsDone {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> ends;   ///< of every file, in bytes
  std::vector<std::uint64_t> tails;  ///< fingerprints of what is before them
  std::vector<std::uint64_t> table;  ///< of a summary, and of how many shots
  std::uint64_t table_shots = 0;
  stabilizer::KeptShots kept;
};

class ShotRun {
 public:
  /// `input` and `outputs` are fingerprints of what the shots are of and of how they are written.
  /// Sets the seed and the engine of a run that goes on. Throws Error(kUsage) for flags that do not go
  /// together and for a checkpoint of another run, Error(kInput) for one that is damaged or not there.
  ShotRun(const SampleFlags& flags, std::uint64_t input, std::uint64_t outputs,
          stabilizer::SampleOptions& options);

  bool goes_on() const { return saved_ != nullptr; }
  bool is_kept() const { return keeper_ != nullptr; }
  const std::string& folder() const { return folder_; }
  /// How output files are opened; the ends of those that are kept are read.
  const char* mode() const { return goes_on() ? "r+b" : is_kept() ? "w+b" : "wb"; }
  ShotsDone& done() { return done_; }

  /// Before the first shot: files of a run that goes on are cut to where they were. Throws
  /// Error(kUsage) where they are no files, Error(kInput) where they are others than they were.
  void begin(const std::vector<ShotSinkSpec>& sinks, const std::string& engine);
  /// Makes the shots of `options` that are not done: all at once, or, where the run is kept, in
  /// stretches behind which nothing is under way and `keep` may be called.
  void in_stretches(const stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
                    const std::function<void(const stabilizer::SampleOptions&)>& make,
                    const std::function<void(simulate::Asked)>& keep,
                    const std::function<bool()>& is_stopped);
  /// Writes a checkpoint of done(), with where the files end now.
  void keep(const std::vector<ShotSinkSpec>& sinks, simulate::Asked why);
  /// All is written.
  void end();

 private:
  std::string folder_, engine_;
  std::vector<std::uint64_t> asked_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<simulate::SavedRun> saved_;
  std::unique_ptr<simulate::Keeper> keeper_;
  ShotsDone done_;
};

}  // namespace tilewave::cli
