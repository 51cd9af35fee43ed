// Device memory and the handles of a device, owned: one reservation handed out as a stack, pinned
// host memory, streams, events, launches. Every call is checked.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewave/runtime/cuda/driver.h"

namespace tilewave::runtime::cuda {

class Stream {
 public:
  Stream() { check(driver().create_stream(&stream_), "create a stream"); }
  struct Urgent {};
  explicit Stream(Urgent) { check(driver().create_urgent_stream(&stream_), "create a stream"); }
  ~Stream() {
    if (stream_) (void)driver().destroy_stream(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const {
    check(driver().synchronize(stream_), "finish the work on the device");
  }
  bool is_done() const {
    const cudaError_t status = driver().query(stream_);
    if (status == cudaErrorNotReady) return false;
    check(status, "finish the work on the device");
    return true;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(driver().create_event(&event_), "create an event"); }
  /// One that other processes can wait for, once they have opened its handle.
  explicit Event(cudaIpcEventHandle_t* handle) {
    check(driver().create_shared_event(&event_, handle), "create an event for other processes");
  }
  /// The event of another process.
  explicit Event(const cudaIpcEventHandle_t& handle) {
    check(driver().open_shared_event(&event_, handle), "open the event of another process");
  }
  ~Event() {
    if (event_) (void)driver().destroy_event(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// Work given to the stream from now on waits for what was recorded.
  void hold(const Stream& s) const {
    check(driver().wait_event(s.get(), event_), "make a stream wait");
  }
  void record(const Stream& s) { check(driver().record(event_, s.get()), "record an event"); }
  /// Seconds on the device from `from` to this event; waits for this event.
  double seconds_since(const Event& from) const {
    check(driver().synchronize_event(event_), "finish the work on the device");
    float ms = 0;
    check(driver().elapsed_ms(&ms, from.event_, event_), "read a device timer");
    return ms * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Host memory the device can read by itself.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t num_bytes) : num_bytes_(num_bytes) {
    if (num_bytes) check(driver().allocate_host(&data_, num_bytes), "reserve pinned host memory");
  }
  ~PinnedBuffer() {
    if (data_) (void)driver().release_host(data_);
  }
  PinnedBuffer(PinnedBuffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), num_bytes_(std::exchange(o.num_bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(num_bytes_, o.num_bytes_);
    return *this;
  }
  void* data() const { return data_; }
  std::size_t num_bytes() const { return num_bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t num_bytes_ = 0;
};

/// Memory that `owner` keeps on a device between calls and can do without: from now on any thread that
/// finds too little memory there may call `release`, until the owner withdraws.
void offer_idle(const void* owner, int device, std::function<void()> release);
/// Waits for a release that has begun.
void withdraw_idle(const void* owner);
/// Memory of the current device; where there is too little, once more when idle memory is given back.
cudaError_t allocate(void** pointer, std::size_t num_bytes);

/// A share of a device's memory reserved once, from which the arenas of several owners are cut as a
/// stack: what is given back is free again once nothing above it is in use.
class DeviceReservation {
 public:
  /// The device must be current. Throws Error(kResources) when less is free.
  DeviceReservation(const CudaDevice& device, double fraction);
  ~DeviceReservation();
  DeviceReservation(const DeviceReservation&) = delete;
  DeviceReservation& operator=(const DeviceReservation&) = delete;

  /// Null where it does not fit.
  void* take(std::size_t num_bytes);
  void give(void* block);
  std::size_t num_bytes() const { return num_bytes_; }
  std::size_t free_bytes() const { return num_bytes_ - top(); }

 private:
  struct Block {
    std::size_t begin, end;
    bool used;
  };
  std::size_t top() const { return blocks_.empty() ? 0 : blocks_.back().end; }
  void* base_ = nullptr;
  std::size_t num_bytes_ = 0;
  std::vector<Block> blocks_;
};

/// All device memory of an owner: reserved once, handed out as a stack (a move of the top).
class DeviceArena {
 public:
  DeviceArena() = default;
  /// From the reservation, if any, or from the device. Throws Error(kResources) that names `what`,
  /// the bytes needed and free, and three ways out.
  DeviceArena(std::size_t num_bytes, const std::string& what,
              std::shared_ptr<DeviceReservation> reservation = nullptr);
  ~DeviceArena();
  DeviceArena(DeviceArena&& o) noexcept
      : base_(std::exchange(o.base_, nullptr)),
        num_bytes_(std::exchange(o.num_bytes_, 0)),
        top_(std::exchange(o.top_, 0)),
        reservation_(std::move(o.reservation_)) {}
  DeviceArena& operator=(DeviceArena&& o) noexcept {
    std::swap(base_, o.base_);
    std::swap(num_bytes_, o.num_bytes_);
    std::swap(top_, o.top_);
    std::swap(reservation_, o.reservation_);
    return *this;
  }

  /// `count` elements, 256-byte aligned. Throws Error(kInternal) when the reservation is too small.
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }
  std::size_t num_bytes() const { return num_bytes_; }
  std::size_t free_bytes() const { return num_bytes_ - top_; }

  /// Gives back what was taken since the mark was made.
  class Mark {
   public:
    explicit Mark(DeviceArena& arena) : arena_(arena), top_(arena.top_) {}
    ~Mark() { arena_.top_ = top_; }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    DeviceArena& arena_;
    std::size_t top_;
  };

 private:
  void* take_bytes(std::size_t num_bytes);
  void* base_ = nullptr;
  std::size_t num_bytes_ = 0, top_ = 0;
  std::shared_ptr<DeviceReservation> reservation_;
};

inline void copy(void* to, const void* from, std::size_t num_bytes, const Stream& stream) {
  check(driver().copy(to, from, num_bytes, stream.get()), "copy to or from the device");
}

/// Rows and planes of rows.
inline void copy(const cudaMemcpy3DParms& parms, const Stream& stream) {
  check(driver().copy_rows(parms, stream.get()), "copy to or from the device");
}

/// Starts a kernel; its arguments are passed by value.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            const Stream& stream, Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&value))...};
        check(driver().launch(reinterpret_cast<const void*>(kernel), grid, block, pointers,
                              shared_bytes, stream.get()),
              "start a kernel on the device");
      },
      values);
}

}  // namespace tilewave::runtime::cuda
