#include "tilewave/statevec/tile/pass_ways.h"

#include <sstream>

namespace tilewave::statevec::tile {

namespace {

constexpr std::size_t kMostKnown = 10'000;  // plans, of some hundred bytes each

void print_way(std::ostream& out, const Way& way) {
  out << ' ' << way.seed << ' ' << way.fold << way.through_shared << way.tables;
}

std::optional<Way> read_way(std::istream& in) {
  Way way;
  std::string flags;
  if (!(in >> way.seed >> flags) || flags.size() != 3 ||
      flags.find_first_not_of("01") != flags.npos)
    return std::nullopt;
  way.fold = flags[0] == '1', way.through_shared = flags[1] == '1', way.tables = flags[2] == '1';
  return way;
}

/// A line a pass: its way for the interpreter, and that for its kernel, if any.
std::string print_ways(const std::vector<PassWays::Pass>& passes) {
  std::ostringstream out;
  for (const PassWays::Pass& pass : passes) {
    out << (pass.compiled ? "compiled" : "interpreted");
    print_way(out, pass.interpreted);
    if (pass.compiled) print_way(out, *pass.compiled);
    out << '\n';
  }
  return out.str();
}

std::optional<std::vector<PassWays::Pass>> read_ways(const std::string& text) {
  std::vector<PassWays::Pass> passes;
  std::istringstream in(text);
  for (std::string kind; in >> kind;) {
    const bool has_kernel = kind == "compiled";
    const auto interpreted = read_way(in);
    const auto compiled = has_kernel ? read_way(in) : std::nullopt;
    if (!interpreted || has_kernel != compiled.has_value() ||
        !(has_kernel || kind == "interpreted"))
      return std::nullopt;
    passes.push_back({*interpreted, compiled});
  }
  return passes;
}

}  // namespace

std::optional<std::vector<PassWays::Pass>> PassWays::find(const std::string& key,
                                                          std::size_t num_passes) {
  const auto whole = [&](std::optional<std::vector<Pass>> passes) {
    return passes && passes->size() == num_passes ? passes : std::nullopt;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return whole(found->second);
  }
  const std::optional<std::string> text = files_.find(key);
  auto passes = whole(text ? read_ways(*text) : std::nullopt);
  if (!passes) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[key] = *passes;
  return passes;
}

void PassWays::keep(const std::string& key, const std::vector<Pass>& passes) {
  {
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMostKnown) known_.clear();
    known_[key] = passes;
  }
  files_.keep(key, print_ways(passes));
}

}  // namespace tilewave::statevec::tile
