// Where a path leads, whether there is a file yet or not.
#pragma once

#include <filesystem>
#include <string>

namespace tilewave {

/// The absolute path without symbolic links, `.` and `..`. Links may lead to what does not exist yet,
/// for which std::filesystem::weakly_canonical leaves them as they are. Relative where the current
/// folder is gone.
std::filesystem::path real_path(const std::string& path);

}  // namespace tilewave
