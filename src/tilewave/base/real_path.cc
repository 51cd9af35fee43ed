#include "tilewave/base/real_path.h"

#include <system_error>
#include <vector>

namespace tilewave {

namespace fs = std::filesystem;

fs::path real_path(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code none;
  const fs::path absolute = fs::absolute(path, none), whole = none ? fs::path(path) : absolute;
  fs::path out = whole.root_path();
  std::vector<fs::path> left;  // the next part last
  const auto go_along = [&](const fs::path& parts) {
    const std::vector<fs::path> in_order(parts.begin(), parts.end());
    left.insert(left.end(), in_order.rbegin(), in_order.rend());
  };
  go_along(whole.relative_path());
  for (int links = 0; !left.empty();) {
    const fs::path part = std::move(left.back());
    left.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out = out.parent_path();
      continue;
    }
    const fs::path next = out / part, target = fs::read_symlink(next, none);
    if (none || ++links > kMostLinks) {
      out = next;
      continue;
    }
    if (target.is_absolute()) out = target.root_path();
    go_along(target.relative_path());
  }
  return out;
}

}  // namespace tilewave
