#include "tilewave/cli/output_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/base/real_path.h"
#include "tilewave/simulate/checkpoint/folder.h"

namespace tilewave::cli {
namespace {

namespace fs = std::filesystem;

// Paths of one file, whether it exists yet or not.
bool is_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  std::error_code problem;
  const fs::file_status status = fs::status(a, problem);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  if (fs::exists(status)) return fs::equivalent(a, b, problem) && !problem;
  return real_path(a) == real_path(b);
}

[[noreturn]] void fail(const OutputFile& output, const std::string& why) {
  tilewave::fail(ExitCode::kResources, output.flag, " ", output.path,
                 ": cannot write the file: ", why);
}

}  // namespace

void need_distinct_files(const std::vector<std::string>& inputs,
                         std::initializer_list<OutputFile> outputs, const std::string& role) {
  for (const OutputFile* output = outputs.begin(); output != outputs.end(); ++output) {
    const auto refuse = [&](const std::string& what) {
      tilewave::fail(ExitCode::kUsage, std::string(output->flag) + " " + output->path +
                                           ": it would replace " + what + ": name another file");
    };
    for (const std::string& input : inputs) {
      if (is_same_file(output->path, input)) refuse(role);
    }
    for (const OutputFile* other = outputs.begin(); other != output; ++other) {
      if (is_same_file(output->path, other->path)) {
        refuse(std::string("what ") + other->flag + " writes");
      }
    }
  }
}

void need_no_checkpoints(std::initializer_list<std::string> folders,
                         std::initializer_list<OutputFile> outputs) {
  for (const OutputFile& output : outputs) {
    if (output.path == "-") continue;
    for (const std::string& folder : folders)
      simulate::need_no_checkpoint(folder, output.path, output.flag);
  }
}

void need_writable(const OutputFile& output) {
  if (output.path.empty() || output.path == "-") return;
  std::error_code ignored;
  if (fs::is_directory(output.path, ignored)) fail(output, "it is a directory: name a file");
  if (fs::exists(output.path, ignored)) {
    if (access(output.path.c_str(), W_OK) != 0) fail(output, std::strerror(errno));
    return;
  }
  const std::string parent = fs::path(output.path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (!fs::is_directory(folder, ignored)) fail(output, "there is no folder '" + folder + "'");
  if (access(folder.c_str(), W_OK | X_OK) != 0) fail(output, std::strerror(errno));
}

std::string why_not_written(int error) {
  return error == EBADF ? "it is closed" : std::strerror(error);
}

void need_ending(const OutputFile& output, const std::string& ending) {
  const fs::path path = output.path;
  std::error_code ignored;
  if (!path.has_extension() || path.extension() == ending) return;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return;
  tilewave::fail(ExitCode::kUsage, output.flag, " ", output.path, ": a ", ending,
                 " file is written: name it ", fs::path(path).replace_extension(ending).string());
}

}  // namespace tilewave::cli
