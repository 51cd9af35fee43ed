// Which operations of a list may run before others that stand in front of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tilewave::parametric {

/// What an operation changes, and what it reads or changes: wires, or bits of a row.
struct Touch {
  std::uint64_t moved = 0, touched = 0;
};

/// What a set of operations that wait stands in the way of. Operations that only read a wire, such as
/// phases and controls, pass each other.
struct Waiting {
  std::uint64_t moved = 0, touched = 0;

  bool lets(const Touch& a) const {
    return !(a.moved & touched) && !(a.touched & ~a.moved & moved);
  }
  void add(const Touch& a) {
    moved |= a.moved;
    touched |= a.touched;
  }
};

/// Operations in their order, of which some run before others.
template <class E>
class Queue {
 public:
  Queue() = default;
  explicit Queue(std::vector<E> all) : all_(std::move(all)) {}
  void push_back(const E& e) { all_.push_back(e); }
  bool empty() const { return first_ == all_.size(); }
  std::size_t size() const { return all_.size() - first_; }
  const E& front() const { return all_[first_]; }
  void pop_front() { ++first_; }
  auto begin() const { return all_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return all_.end(); }

  /// Takes out those for which `wanted` holds and that nothing in front of them holds back, and calls
  /// `run` with each. `touch_of` says what each touches, `wires` are all that there are: behind what
  /// waits for all of them nothing runs, and the list is not looked at any further.
  template <class TouchOf, class Wanted, class Run>
  void take(std::uint64_t wires, TouchOf touch_of, Wanted wanted, Run run) {
    Waiting waiting;
    std::vector<E> kept;
    std::size_t next = first_;
    for (; next < all_.size() && (wires & ~waiting.moved); ++next) {
      const Touch touch = touch_of(all_[next]);
      if (wanted(all_[next]) && waiting.lets(touch)) {
        run(all_[next]);
      } else {
        waiting.add(touch);
        kept.push_back(all_[next]);
      }
    }
    first_ = next - kept.size();
    std::copy(kept.begin(), kept.end(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
  }

 private:
  std::vector<E> all_;
  std::size_t first_ = 0;
};

}  // namespace tilewave::parametric
