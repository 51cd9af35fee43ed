// Tile programs of plans that ran on a device, kept on the host: a plan that comes again, or its
// part between two exchanges or over one slice, is not lowered again. A plan is known by a number
// that stands for everything its programs depend on. What was used longest ago goes first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::cuda {

using runtime::cuda::JitCache;

/// A program takes so many bytes more on a device, for the alignment of its code and its tables.
inline constexpr std::size_t kProgramPadding = 512;

/// What runs a program other than the interpreter.
struct PassKernel {
  std::shared_ptr<JitCache::Entry> entry;  ///< null: there is none and will be none
  std::vector<std::byte> numbers;          ///< see JitSource
  bool is_wanted = false;                  ///< a longer one was worth it, and came out too long
};

/// A program for a kernel of its own.
struct CompiledPass {
  tile::TilePass program;
  PassKernel kernel;
};

class ProgramStore {
 public:
  struct Plan {
    /// Of every pass; a long one has several.
    std::vector<std::vector<tile::TilePass>> programs;
    /// Those for kernels of their own; none of a pass that has no kernel.
    std::vector<std::vector<CompiledPass>> compiled;
    bool is_final = false;    ///< nothing better is looked for
    std::size_t longest = 0;  ///< room that one of them takes at most, set as it is kept
  };

  static constexpr std::size_t kAnyRoom = std::numeric_limits<std::size_t>::max();

  explicit ProgramStore(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  static std::size_t bytes_of(const tile::TilePass& program) {
    return sizeof program + program.code.size() + program.tables.size();
  }
  static std::size_t bytes_of(const CompiledPass& pass) {
    return bytes_of(pass.program) + pass.kernel.numbers.size();
  }
  template <class Program>
  static std::size_t bytes_of(const std::vector<std::vector<Program>>& programs) {
    std::size_t bytes = 0;
    for (const auto& pass : programs) {
      for (const Program& program : pass) bytes += bytes_of(program);
    }
    return bytes;
  }
  /// Null where they are not kept, or one is longer than there is room for.
  std::shared_ptr<const Plan> find(std::uint64_t key, std::size_t room = kAnyRoom) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second->plan->longest > room) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }
  /// Without those for compiled kernels where both are too much; does nothing where the others
  /// alone are. What is kept.
  std::shared_ptr<const Plan> keep(std::uint64_t key, Plan plan) {
    std::size_t bytes = sizeof(Entry) + bytes_of(plan.programs);
    if (bytes + bytes_of(plan.compiled) > most_bytes_) plan.compiled.clear();
    bytes += bytes_of(plan.compiled);
    if (bytes > most_bytes_) return nullptr;
    const auto note = [&](const tile::TilePass& program) {
      plan.longest =
          std::max(plan.longest, program.code.size() + program.tables.size() + kProgramPadding);
    };
    for (const auto& pass : plan.programs) std::ranges::for_each(pass, note);
    for (const auto& pass : plan.compiled)
      std::ranges::for_each(pass, note, &CompiledPass::program);
    if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
    while (bytes_ + bytes > most_bytes_) drop(std::prev(entries_.end()));
    bytes_ += bytes;
    entries_.push_front({key, bytes, std::make_shared<const Plan>(std::move(plan))});
    by_key_[key] = entries_.begin();
    return entries_.front().plan;
  }
  void clear() {
    by_key_.clear();
    entries_.clear();
    bytes_ = 0;
  }
  std::size_t num_bytes() const { return bytes_; }
  std::size_t most_bytes() const { return most_bytes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::size_t bytes = 0;
    std::shared_ptr<const Plan> plan;
  };
  using Place = std::list<Entry>::iterator;
  void drop(Place entry) {
    bytes_ -= entry->bytes;
    by_key_.erase(entry->key);
    entries_.erase(entry);
  }

  std::size_t most_bytes_, bytes_ = 0;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_map<std::uint64_t, Place> by_key_;
};

}  // namespace tilewave::statevec::cuda
