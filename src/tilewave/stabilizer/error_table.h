// The errors of a stretch of an error model: what each flips, how likely, and under which tag. An
// error is a list of parts (decompose.h), most have one. Equal errors are found by the hash of
// their lists, so a list is made and stored once only. Layout: errors in the order of their first
// occurrence, their symptoms one after the other in blocks; an open hash table of (32 bits of hash,
// number of the error). About 70 bytes an error.
#pragma once

#include <algorithm>
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
    SetHash key;
    double probability = 0;  ///< 0: none, as of two certain errors, which cancel
    Symptom* first = nullptr;
    std::uint32_t size = 0;
    std::uint32_t tag = 0;
    std::span<const Symptom> list() const { return {first, size}; }
  };

  /// Adds an error to those of the same list (hash_of_parts) and tag, independent of them; `make`
  /// returns the list of a new one.
  template <class Make>
  void add(double probability, const SetHash& hash, std::uint32_t tag, Make make) {
    if (4 * errors_.size() >= 3 * index_.size()) grow();
    const SetHash key = key_of(hash, tag);
    const std::size_t slot = find(key);
    if (index_[slot] == kNone) {
      index_[slot] = (key.b << 32) | errors_.size();
      Error& e = errors_.emplace_back();
      e.key = key, e.tag = tag;
      const auto& list = make();
      e.size = static_cast<std::uint32_t>(list.size());
      e.first = room_for(list.size());
      std::copy(list.begin(), list.end(), e.first);
    }
    double& p = errors_[index_[slot] & 0xFFFFFFFFu].probability;
    p = p * (1 - probability) + probability * (1 - p);
  }

  /// Adds the errors of another table.
  void add(const ErrorTable& other);
  /// Moves all detectors down.
  void shift(std::uint64_t by);
  /// Takes an error out, by its number.
  void remove(std::size_t number) { errors_[number].probability = 0; }

  std::size_t size() const { return errors_.size(); }
  const Error& operator[](std::size_t number) const { return errors_[number]; }
  /// Calls f(error) for those that can happen.
  template <class F>
  void each(F f) const {
    for (const Error& e : errors_) {
      if (e.probability > 0) f(e);
    }
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::size_t kBlock = 4096;  // symptoms

  static SetHash key_of(const SetHash& hash, std::uint32_t tag) {
    return tag ? hash ^ hash_at({tag, tag}, 2) : hash;
  }
  std::size_t find(const SetHash& key) const;
  void grow();
  void make_index(std::size_t size);
  Symptom* room_for(std::size_t count);

  std::deque<Error> errors_;
  std::vector<std::uint64_t> index_;
  std::vector<std::unique_ptr<Symptom[]>> blocks_;
  Symptom* next_ = nullptr;
  std::size_t left_ = 0;  // of the last block
};

}  // namespace tilewave::stabilizer
