// What the commands of Stim's language share: input and output files, the flags of sampling, and
// writing shots so that an interrupt or a full disk loses none that are finished.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewave/base/whole_file.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace CLI {
class App;
}

namespace tilewave::cli {

/// A file, or a standard stream for an empty path or "-".
class StimFile {
 public:
  /// "rb" reads. "whole" writes a file that appears under its name when done() is called, beside
  /// what was there before (base/whole_file.h): for what is worth nothing in parts. "wb", and "w+b"
  /// to read it as well, write in place, for shots, of which the first are worth keeping: what was
  /// there before goes with the first write or flush, so that a command that fails before leaves
  /// it. "r+b" goes on with a file.
  StimFile(const std::string& path, const char* mode);
  ~StimFile();
  StimFile(const StimFile&) = delete;
  StimFile& operator=(const StimFile&) = delete;

  std::FILE* get() const { return file_; }
  const std::string& name() const { return name_; }
  std::string read_all();
  /// Throws Error(kResources) when the bytes cannot be written.
  void write(const char* bytes, std::size_t count);
  void write(const std::string& text) { write(text.data(), text.size()); }
  void flush();
  /// All is written: a file of mode "whole" gets its name.
  void done();
  /// Bytes in front of the next one in a regular file; none in a pipe or a device.
  std::optional<std::uint64_t> position();
  /// Ends a regular file here.
  void cut(std::uint64_t position);
  /// The same, and the next byte follows there. Throws Error(kResources).
  void go_on_at(std::uint64_t position);

 private:
  void write_pieces(std::uint64_t at, const char* bytes, std::size_t count);
  void open_for_shots(const std::string& path, bool also_read);
  void begin();  // empties a file that is written in place

  std::unique_ptr<WholeFile> whole_;
  std::FILE* file_ = nullptr;
  std::string name_;
  bool owned_;
  bool has_begun_ = true;    // nothing is left of what was in the file before
  bool is_created_ = false;  // there was none before
};

/// Flags common to the sampling commands.
struct SampleFlags {
  std::string in, out, out_format = "01", engine = "auto", device = "cpu";
  std::string checkpoint, checkpoint_every, resume;
  std::uint64_t shots = 1, first_shot = 0;
  std::uint64_t seed = 0;
  bool seed_given = false, explain = false, quiet = false;
  std::optional<int> threads;
  std::optional<stabilizer::FaultRange> faults;
};
/// `engines`: what --engine may be.
void add_sample_flags(CLI::App& command, SampleFlags& flags,
                      const std::vector<std::string>& engines = {"auto", "frame", "sparse"});
/// Says on the standard error how probable the number of faults is, where --faults gave one.
void say_fault_weight(stabilizer::ShotSource& source, bool quiet);
/// The options the flags mean; a seed is drawn when none is given.
stabilizer::SampleOptions sample_options(const SampleFlags& flags, stabilizer::ShotOutput output);

/// Where a part of each row goes.
struct ShotSinkSpec {
  formats::ShotLayout layout;
  std::uint64_t first_bit = 0;  ///< of the row
  StimFile* file = nullptr;
  formats::ShotFormat format = formats::ShotFormat::k01;
};
class ShotRun;  // shot_run.h

/// Samples into one or two files, with a progress line unless `quiet`; keeps the run, and goes on with
/// it, as `run` says. Says where it stopped when interrupted (exit code 130).
void write_shots(stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
                 const std::vector<ShotSinkSpec>& sinks, bool quiet, ShotRun& run);

/// Samples shots with post-selection (options.must_be_zero), as write_shots(): `counts` as the format
/// of the only sink counts them, and nothing else is written; otherwise shots that are kept are
/// written, and the counts go to the standard error unless `quiet`.
void write_kept_shots(stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
                      const circuit::StabCounts& counts, const std::vector<ShotSinkSpec>& sinks,
                      bool quiet, ShotRun& run);

/// Reads and lowers a circuit from a file or the standard input; the fingerprint is of its text.
stabilizer::StabProgram read_program(
    const std::string& path, stabilizer::Rotations rotations = stabilizer::Rotations::kRefuse,
    stabilizer::Leakage leakage = stabilizer::Leakage::kRefuse,
    std::uint64_t* fingerprint = nullptr);

/// Takes what is behind their last whole shot off files that are being written. For signal handlers
/// of a process that is about to end.
void cut_growing_files() noexcept;

}  // namespace tilewave::cli
