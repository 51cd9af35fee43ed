// Which way of writing each pass of a circuit was the best, known by what the passes are made of but
// not by their numbers: with other angles, and in later processes (a folder of small files), passes
// are written at once as they were written best after many tries.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewave/runtime/file_cache.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// Safe to use from several threads.
class PassWays {
 public:
  struct Pass {
    Way interpreted;
    std::optional<Way> compiled;  ///< none: it has no kernel of its own
  };

  explicit PassWays(std::string folder) : files_(std::move(folder), 2000) {}

  /// Those of the passes of a plan: exactly `num_passes`. `key` stands for all that they depend on.
  std::optional<std::vector<Pass>> find(const std::string& key, std::size_t num_passes);
  void keep(const std::string& key, const std::vector<Pass>& passes);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<Pass>> known_;
  const runtime::FileCache files_;
};

}  // namespace tilewave::statevec::tile
