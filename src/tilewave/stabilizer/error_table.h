// The errors of a stretch of an error model: what each flips and how likely. Equal errors are
// found by the linear hash of their sets, so a set is made and stored once only. Layout: errors in
// the order of their first occurrence, their symptoms one after the other in blocks; an open hash
// table of (32 bits of hash, number of the error). About 80 bytes an error.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "tilewave/stabilizer/symptom_set.h"

namespace tilewave::stabilizer {

class ErrorTable {
 public:
  struct Error {
    SetHash hash;
    double probability = 0;
    Symptom* first = nullptr;
    std::uint32_t size = 0;
    std::uint32_t num_parts = 0;
    Symptom* parts = nullptr;  // each: its size, then its symptoms
    std::span<const Symptom> set() const { return {first, size}; }
  };

  /// The error of this hash; a new one gets the set that `make` returns.
  template <class Make>
  Error& at(const SetHash& hash, Make make) {
    if (4 * errors_.size() >= 3 * index_.size()) grow();
    std::size_t slot = find(hash);
    if (index_[slot] == kNone) {
      index_[slot] = (hash.b << 32) | errors_.size();
      Error& e = errors_.emplace_back();
      e.hash = hash;
      const SymptomSet set = make();
      e.size = static_cast<std::uint32_t>(set.size());
      e.first = put(set);
    }
    return errors_[index_[slot] & 0xFFFFFFFFu];
  }
  /// Notes one way to split an error.
  template <class Sets>
  void set_parts(Error& e, const Sets& parts) {
    SymptomSet all;
    for (const SymptomSet& part : parts) {
      all.push_back(part.size());
      for (Symptom s : part) all.push_back(s);
    }
    e.num_parts = static_cast<std::uint32_t>(parts.size());
    e.parts = put(all);
  }
  std::vector<SymptomSet> parts(const Error& e) const;

  /// Moves all detectors down. Nothing may be added afterwards.
  void shift(std::uint64_t by);

  std::size_t size() const { return errors_.size(); }
  auto begin() const { return errors_.begin(); }
  auto end() const { return errors_.end(); }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::size_t kBlock = 4096;  // symptoms

  std::size_t find(const SetHash& hash) const;
  void grow();
  Symptom* put(const SymptomSet& set);

  std::deque<Error> errors_;
  std::vector<std::uint64_t> index_;
  std::vector<std::unique_ptr<Symptom[]>> blocks_;
  Symptom* next_ = nullptr;
  std::size_t left_ = 0;  // of the last block
};

}  // namespace tilewave::stabilizer
