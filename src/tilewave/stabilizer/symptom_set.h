// Sets of symptoms, what an error flips: detectors or records, and observables. Nearly all sets of
// error-correction circuits have a handful of members, so these are kept in place and a walk
// through a circuit allocates nothing; larger sets go to the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tilewave::stabilizer {

/// A symptom: a detector or record number, or an observable with the highest bit set.
using Symptom = std::uint64_t;
constexpr Symptom kObservableBit = Symptom{1} << 63;

/// A sorted set of symptoms, in the manner of a vector. A large set keeps room on both sides: a
/// walk backwards meets ever lower symptoms, which go in front.
class SymptomSet {
 public:
  using value_type = Symptom;

  SymptomSet() = default;
  SymptomSet(std::initializer_list<Symptom> list) : SymptomSet(list.begin(), list.end()) {}
  template <class It>
  SymptomSet(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  SymptomSet(const SymptomSet& o) { assign(o); }
  SymptomSet(SymptomSet&& o) noexcept { take(o); }
  SymptomSet& operator=(const SymptomSet& o) {
    if (this != &o) assign(o);
    return *this;
  }
  SymptomSet& operator=(SymptomSet&& o) noexcept {
    if (this == &o) return *this;
    if (capacity_ > kInPlace) delete[] far_.memory;
    take(o);
    return *this;
  }
  ~SymptomSet() {
    if (capacity_ > kInPlace) delete[] far_.memory;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Symptom* data() { return capacity_ > kInPlace ? far_.first : near_; }
  const Symptom* data() const { return capacity_ > kInPlace ? far_.first : near_; }
  Symptom* begin() { return data(); }
  Symptom* end() { return data() + size_; }
  const Symptom* begin() const { return data(); }
  const Symptom* end() const { return data() + size_; }
  Symptom& operator[](std::size_t k) { return data()[k]; }
  Symptom operator[](std::size_t k) const { return data()[k]; }
  Symptom back() const { return data()[size_ - 1]; }
  void clear() { size_ = 0; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_ - front_room()) grow(0, capacity);
  }
  void push_back(Symptom s) {
    if (size_ == capacity_ - front_room()) grow(front_room(), 2 * std::size_t{size_});
    data()[size_++] = s;
  }
  /// Takes the first `size` of what was written to data().
  void set_size(std::size_t size) { size_ = static_cast<std::uint32_t>(size); }
  /// Puts a symptom in, or takes it out where it is in already, moving the shorter side.
  void toggle_one(Symptom s);
  void swap(SymptomSet& o) noexcept { std::swap(*this, o); }
  bool operator==(const SymptomSet& o) const {
    return std::equal(begin(), end(), o.begin(), o.end());
  }
  bool operator<(const SymptomSet& o) const {
    return std::lexicographical_compare(begin(), end(), o.begin(), o.end());
  }

 private:
  static constexpr std::uint32_t kInPlace = 6;
  struct Far {
    Symptom *memory, *first;
  };

  std::size_t front_room() const {
    return capacity_ > kInPlace ? static_cast<std::size_t>(far_.first - far_.memory) : 0;
  }
  void assign(const SymptomSet& o) {
    reserve(o.size_);
    std::copy(o.begin(), o.end(), data());
    size_ = o.size_;
  }
  void take(SymptomSet& o) {
    size_ = o.size_, capacity_ = o.capacity_;
    if (capacity_ > kInPlace) {
      far_ = o.far_;
    } else {
      std::copy_n(o.near_, size_, near_);
    }
    o.size_ = 0, o.capacity_ = kInPlace;
  }
  // New memory with `room` symptoms in front and `capacity` from the first on.
  void grow(std::size_t room, std::size_t capacity) {
    capacity = std::max<std::size_t>(capacity, 2 * kInPlace);
    auto* larger = new Symptom[room + capacity];
    std::copy(begin(), end(), larger + room);
    if (capacity_ > kInPlace) delete[] far_.memory;
    far_ = {larger, larger + room};
    capacity_ = static_cast<std::uint32_t>(room + capacity);
  }

  std::uint32_t size_ = 0, capacity_ = kInPlace;
  union {
    Symptom near_[kInPlace];
    Far far_;
  };
};

/// a ^= b (the symmetric difference).
void toggle(SymptomSet& a, const SymptomSet& b);

/// "D3 D5 L0"; no more than eight are named.
std::string names_of(const SymptomSet& set);

/// 128 bits that stand for a set, linear: the hash of a symmetric difference is the XOR of the
/// hashes, so the branches of a channel are told apart before their sets are made.
struct SetHash {
  std::uint64_t a = 0, b = 0;
  bool operator==(const SetHash&) const = default;
  SetHash operator^(const SetHash& o) const { return {a ^ o.a, b ^ o.b}; }
  /// For unordered containers.
  struct Slot {
    std::size_t operator()(const SetHash& h) const { return h.a; }
  };
};
/// Of the set with `shift` subtracted from what is no observable.
SetHash hash_of(std::span<const Symptom> set, std::uint64_t shift = 0);
inline SetHash hash_of(const SymptomSet& set, std::uint64_t shift = 0) {
  return hash_of(std::span<const Symptom>(set.begin(), set.end()), shift);
}
/// Not linear any more: stands for "the set of hash h at place `place`".
SetHash hash_at(const SetHash& h, std::uint64_t place);

/// The branches of a channel on one or two qubits. Bit g of a branch's number selects generator g:
/// the flips of X and of Z of each qubit, and of a record.
class BranchSets {
 public:
  BranchSets(std::initializer_list<const SymptomSet*> generators);
  std::size_t num_generators() const { return num_; }
  const SymptomSet& generator(std::size_t g) const { return *generators_[g]; }
  SetHash hash(std::size_t branch) const { return hashes_[branch]; }
  SymptomSet set(std::size_t branch) const;

 private:
  std::size_t num_ = 0;
  const SymptomSet* generators_[4];
  SetHash hashes_[16];
};

}  // namespace tilewave::stabilizer
