// Device memory that operations need beside the amplitudes. States of one device share one
// workspace and use it in turn, so that a state holds its amplitudes and nothing else, and a loop
// of calls or of registers reserves nothing.
//
// In it: the programs of the passes last run, which stay as long as nobody else runs one (those of
// earlier plans are kept on the host, 64 MiB at most), and scratch memory, handed out as a stack
// for one operation at a time. Its size follows the largest state it serves: 4 MiB, and a fortieth
// of that state in whole 2 MiB (what a driver reserves), at most 208 MiB. Operations work in parts
// that fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/cuda/background_writer.h"
#include "tilewave/statevec/stream_layout.h"

namespace tilewave::statevec::cuda {

class Workspace {
 public:
  /// The one of a device, which lives as long as states use it.
  static std::shared_ptr<Workspace> of_device(int device);
  /// ... or as long as the process.
  static void keep(const std::shared_ptr<Workspace>& workspace);
  /// In the reservation, if any, as the states it serves.
  explicit Workspace(int device,
                     std::shared_ptr<runtime::cuda::DeviceReservation> reservation = nullptr)
      : device_(device), reservation_(std::move(reservation)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  static constexpr std::size_t kBaseBytes = kWorkspaceBaseBytes;
  /// Bytes that go with a largest state of so many.
  static constexpr std::size_t bytes_for(std::uint64_t state_bytes) {
    return workspace_bytes(state_bytes);
  }
  static constexpr std::size_t program_bytes_of(std::size_t num_bytes) {
    return std::min(std::size_t{16} << 20, kBaseBytes / 2 + (num_bytes - kBaseBytes) / 8);
  }
  /// Scratch memory that every workspace has which serves a state of so many bytes.
  static constexpr std::size_t scratch_for(std::uint64_t state_bytes) {
    return bytes_for(state_bytes) - program_bytes_of(bytes_for(state_bytes));
  }

  /// One state more, or less, of so many bytes. May move the workspace: its device is current and
  /// nobody uses it then.
  void serve(std::uint64_t state_bytes);
  void leave(std::uint64_t state_bytes, const runtime::cuda::Stream& stream) noexcept;
  std::uint64_t num_bytes() const { return memory_.num_bytes(); }
  const std::shared_ptr<runtime::cuda::DeviceReservation>& reservation() const {
    return reservation_;
  }

  /// The right to use the workspace from a stream: waits for what other streams do in it. Scratch
  /// memory goes back with it. A thread may hold several, one inside the other.
  class Lease {
   public:
    Lease(Workspace& workspace, const runtime::cuda::Stream& stream)
        : lock_(workspace.mutex_), workspace_(workspace), mark_(workspace.handed_to(stream)) {}
    /// `count` elements, 256-byte aligned.
    template <class V>
    V* take(std::size_t count) {
      return workspace_.memory_.take<V>(count);
    }
    std::size_t free_bytes() const { return workspace_.memory_.free_bytes(); }
    /// How many items of so many bytes fit, where `kept` bytes stay free: at least one.
    std::size_t num_fitting(std::size_t item_bytes, std::size_t kept = 4096) const {
      return std::max<std::size_t>(1, (free_bytes() - std::min(free_bytes(), kept)) / item_bytes);
    }

   private:
    std::lock_guard<std::recursive_mutex> lock_;
    Workspace& workspace_;
    runtime::cuda::DeviceArena::Mark mark_;
  };

  // ---- programs, under a lease ----
  /// Changes whenever programs that were there may be gone.
  std::uint64_t epoch() const { return epoch_; }
  std::size_t program_bytes() const { return program_bytes_; }
  std::byte* programs() const { return programs_; }
  /// Room for a program: its offset. Waits for all programs before where it begins anew.
  std::size_t place(std::size_t num_bytes, const runtime::cuda::Stream& stream);
  /// Begins anew: the stream has run all programs.
  void forget_programs(const runtime::cuda::Stream& stream);
  /// Programs on the host. They stay when all states have gone: some may need a larger workspace.
  ProgramStore& store() { return store_; }
  /// Those of a plan, each of which has a place here; null where they are not kept.
  std::shared_ptr<const ProgramStore::Plan> kept_programs(std::uint64_t key) {
    return store_.find(key, program_bytes_);
  }
  /// What writes them better, for the store.
  BackgroundWriter& background() { return *background_; }
  /// Takes over what it has written. Those whose kernels are wanted.
  std::vector<std::shared_ptr<const ProgramStore::Plan>> take_written();
  /// Where on the host a program is put together, as long as it has its place on the device.
  std::byte* staged(std::size_t offset) const {
    return static_cast<std::byte*>(staging_.data()) + offset;
  }

 private:
  void resize();
  runtime::cuda::DeviceArena& handed_to(const runtime::cuda::Stream& stream);

  int device_;
  std::shared_ptr<runtime::cuda::DeviceReservation> reservation_;
  std::recursive_mutex mutex_;
  std::multiset<std::uint64_t> served_;  // bytes of the states
  runtime::cuda::DeviceArena memory_;
  std::byte* programs_ = nullptr;
  std::size_t program_bytes_ = 0, used_ = 0;
  runtime::cuda::PinnedBuffer staging_;  // mirrors the programs
  std::uint64_t epoch_ = 0;
  ProgramStore store_{std::size_t{64} << 20};
  const std::shared_ptr<BackgroundWriter> background_ =
      std::make_shared<BackgroundWriter>(runtime::cache_folder("passes"));
  const runtime::cuda::Stream* last_ = nullptr;  // has used it since it was idle
};

}  // namespace tilewave::statevec::cuda
