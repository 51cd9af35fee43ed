// The arrays a program sees as stateVec.real and stateVec.imag, kept equal to a state on demand.
//
// The program's view is address space without memory and without access. Its first touch faults
// (faults.h); the arrays are then filled in fresh memory, which is moved under the view in one
// step, so that no thread ever sees them half filled. A write marks the arrays as the newer copy,
// which the next call on the register takes over. A change of the state gives the memory back and
// closes the view. The memory is private: after fork both processes have their own. Cost: nothing
// until touched, then one copy of the state in the program's precision. Arrays [0, 2^n) real, then
// imaginary.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tilewave::quest {

enum class Access : std::uint8_t { kNone, kRead, kWrite };

class Mirror {
 public:
  /// `fill` writes the current state to the two arrays it is given.
  Mirror(std::uint64_t num_amplitudes, std::size_t real_bytes,
         std::function<void(void* real, void* imag)> fill);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  void* real() const { return view_; }
  void* imag() const { return static_cast<char*>(view_) + half_bytes_; }
  /// True when some of [address, address + bytes) lies in the arrays.
  bool overlaps(const void* address, std::size_t bytes) const;

  /// True when the program has written since the last clean().
  bool is_dirty() const { return access_.load(std::memory_order_acquire) == Access::kWrite; }
  bool is_closed() const { return access_.load(std::memory_order_acquire) == Access::kNone; }
  /// Fills the arrays where they are closed and allows at least `wanted`. Throws
  /// Error(kResources) when there is no memory for them.
  void open(Access wanted);
  /// The state is now what the arrays hold: further writes count anew.
  void clean();
  /// The state changed: forgets the arrays and gives their memory back.
  void close();

 private:
  void fill_arrays(Access access);

  std::size_t half_bytes_ = 0, bytes_ = 0;
  void* view_ = nullptr;
  std::function<void(void*, void*)> fill_;
  std::atomic<Access> access_{Access::kNone};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace tilewave::quest
