// How often equal rows of shots came, in a table keyed by their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tilewave/simulate/checkpoint/bytes.h"

namespace tilewave::simulate {

class RowCounts {
 public:
  /// All rows have as many bytes.
  explicit RowCounts(std::size_t bytes) : bytes_(bytes) {}

  void add(const std::uint8_t* row, std::uint64_t times = 1) {
    const std::string_view key(reinterpret_cast<const char*>(row), bytes_);
    if (!last_ || last_->first != key) last_ = &*counts_.try_emplace(std::string(key)).first;
    last_->second += times;
  }
  const std::unordered_map<std::string, std::uint64_t>& counts() const { return counts_; }

  /// For a checkpoint, and from one.
  void save(ByteWriter& out) const {
    out.put(std::uint64_t{counts_.size()});
    for (const auto& [row, times] : counts_) {
      out.put_text(row);
      out.put(times);
    }
  }
  void load(ByteReader& in) {
    for (std::size_t left = in.get_count(2 * sizeof(std::uint64_t) + bytes_); left > 0; --left) {
      const std::string row = in.get_text();
      if (row.size() != bytes_) in.fail();
      add(reinterpret_cast<const std::uint8_t*>(row.data()), in.get<std::uint64_t>());
    }
  }

 private:
  std::size_t bytes_;
  std::unordered_map<std::string, std::uint64_t> counts_;
  std::pair<const std::string, std::uint64_t>* last_ = nullptr;
};

}  // namespace tilewave::simulate
