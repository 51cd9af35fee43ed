// Host memory for bulk data: aligned, on 2 MiB pages where the system gives them, zero when fresh,
// never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewave::runtime {

/// An owned block of zeroed host memory. Alignment 2 MiB, pages touched only when used; blocks of
/// at most 128 KiB lie in the heap, aligned to 4 KiB.
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Reserves `num_bytes`; throws Error(kResources) when the system refuses.
  explicit HostBuffer(std::size_t num_bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t num_bytes() const { return num_bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t num_bytes_ = 0;  // asked for
  std::size_t map_bytes_ = 0;  // mapped
  void* map_ = nullptr;
};

/// Bytes this process may still allocate: the smaller of MemAvailable and what its control groups
/// leave (cgroup.h).
std::uint64_t available_host_bytes();

/// Throws Error(kResources), "<what> (needs 1.5 TiB, 12 GiB available): <remedy>", where so many
/// bytes are not available. For memory that is taken at once and in pages that only their use takes;
/// up to 64 MiB nothing is looked up.
void need_host_bytes(std::uint64_t bytes, std::string_view what, std::string_view remedy);

/// Peak resident memory of this process in bytes, as the operating system counts it.
std::uint64_t peak_resident_bytes();

}  // namespace tilewave::runtime
