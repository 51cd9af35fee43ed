// Tile programs of plans that ran on a device, kept on the host: a plan that comes again, or its
// part between two exchanges or over one slice, is not lowered again. A plan is known by a number
// that stands for everything its programs depend on. What was used longest ago goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::cuda {

class ProgramStore {
 public:
  /// Of every pass; a long one has several.
  using Programs = std::vector<std::vector<tile::TilePass>>;
  struct Plan {
    Programs programs;
    Programs compiled;  ///< those for kernels of their own; none of a pass that has no kernel
  };

  explicit ProgramStore(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  static std::size_t bytes_of(const tile::TilePass& program) {
    return sizeof program + program.code.size() + program.tables.size();
  }
  static std::size_t bytes_of(const Programs& programs) {
    std::size_t bytes = 0;
    for (const auto& pass : programs) {
      for (const tile::TilePass& program : pass) bytes += bytes_of(program);
    }
    return bytes;
  }
  /// Null where they are not kept.
  std::shared_ptr<const Plan> find(std::uint64_t key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }
  /// How many of the passes, from the first, nothing better is looked for.
  std::size_t num_final(std::uint64_t key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? 0 : found->second->num_final;
  }
  /// Whether they were kept as prepared: all final, their kernels compiled.
  bool is_prepared(std::uint64_t key) const {
    const auto found = by_key_.find(key);
    return found != by_key_.end() && found->second->is_prepared;
  }
  /// Without those for compiled kernels where both are too much; does nothing where the others
  /// alone are.
  void keep(std::uint64_t key, Plan plan, std::size_t num_final = 0, bool is_prepared = false) {
    std::size_t bytes = sizeof(Entry) + bytes_of(plan.programs);
    if (bytes + bytes_of(plan.compiled) > most_bytes_) plan.compiled.clear();
    bytes += bytes_of(plan.compiled);
    if (bytes > most_bytes_) return;
    if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
    while (bytes_ + bytes > most_bytes_) drop(std::prev(entries_.end()));
    bytes_ += bytes;
    entries_.push_front(
        {key, bytes, std::make_shared<const Plan>(std::move(plan)), num_final, is_prepared});
    by_key_[key] = entries_.begin();
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
    std::size_t num_final = 0;
    bool is_prepared = false;
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
