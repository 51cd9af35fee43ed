// Files that a command is about to write: looked at before it works, so that no run ends in a
// message about its output, and none destroys what it reads.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace tilewave::cli {

/// A flag such as "--out" and the path given with it; an empty path stands for none.
struct OutputFile {
  const char* flag;
  const std::string& path;
};

/// Throws Error(kUsage) where an output is one of the inputs or two outputs are one file. Devices
/// and pipes may be named twice, and so may "-". `role` says in the message what an input is.
void need_distinct_files(const std::vector<std::string>& inputs,
                         std::initializer_list<OutputFile> outputs,
                         const std::string& role = "the input");

/// Throws Error(kUsage) where an output has the name of a checkpoint in one of the folders, those of
/// --checkpoint and --resume (empty: none).
void need_no_checkpoints(std::initializer_list<std::string> folders,
                         std::initializer_list<OutputFile> outputs);

/// Throws Error(kResources) where the path cannot be written; creates and changes nothing.
void need_writable(const OutputFile& output);

/// Why the system did not write to a file or stream: the text of errno; for a stream that was
/// closed before the program began, that.
std::string why_not_written(int error);

/// Throws Error(kUsage) where the name says that the file holds something else than `ending`, such
/// as ".npy", which is written whatever the name. A name without an ending and a device or pipe are
/// as good.
void need_ending(const OutputFile& output, const std::string& ending);

}  // namespace tilewave::cli
