// The arrays a program sees as stateVec.real and stateVec.imag, kept equal to a state on demand.
//
// The program's view is address space without memory and without access. Its first read faults; the
// handler fills the arrays from the state and allows reading. The first write faults too and marks
// the arrays as the newer copy, which the next call on the register takes over. A change of the
// state gives the memory back and closes the view. Cost: nothing until touched, then one copy of
// the state in the program's precision. Arrays [0, 2^n) real, then imaginary.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tilewave::quest {

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

  /// True when the program has written since the last clean().
  bool is_dirty() const { return access_.load(std::memory_order_acquire) == Access::kWrite; }
  bool is_closed() const { return access_.load(std::memory_order_acquire) == Access::kNone; }
  /// The arrays as the library reads them.
  const void* written_real() const { return alias_; }
  const void* written_imag() const { return static_cast<char*>(alias_) + half_bytes_; }
  /// Fills the arrays now.
  void open();
  /// The state is now what the arrays hold: further writes count anew.
  void clean();
  /// The state changed: forgets the arrays and gives their memory back.
  void close();

  /// Called by the fault handler; true when the address is in this view and access was widened.
  bool touch(void* address);

 private:
  enum class Access : std::uint8_t { kNone, kRead, kWrite };
  void protect(Access access);
  void fill_arrays();

  std::size_t half_bytes_ = 0, bytes_ = 0;
  void* view_ = nullptr;   // the program's
  void* alias_ = nullptr;  // the same memory, always accessible
  std::function<void(void*, void*)> fill_;
  std::atomic<Access> access_{Access::kNone};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace tilewave::quest
