#include "tilewave/runtime/cuda/memory.h"

#include <map>
#include <mutex>

#include "tilewave/base/error.h"

namespace tilewave::runtime::cuda {

namespace {

constexpr std::size_t kAlignment = 256;

// What is kept between calls and not needed, by owner.
struct Idle {
  std::mutex mutex;
  std::map<const void*, std::pair<int, std::function<void()>>> offers;
};
Idle& idle() {
  static auto* const one = new Idle;  // owners may outlive other statics
  return *one;
}

}  // namespace

cudaError_t allocate(void** pointer, std::size_t num_bytes) {
  const cudaError_t status = driver().allocate(pointer, num_bytes);
  int device = 0;
  if (status != cudaErrorMemoryAllocation || driver().current_device(&device) != cudaSuccess)
    return status;
  {
    const std::lock_guard lock(idle().mutex);
    const auto released = std::erase_if(idle().offers, [&](const auto& offer) {
      if (offer.second.first != device) return false;
      offer.second.second();
      return true;
    });
    if (!released) return status;
  }
  return driver().allocate(pointer, num_bytes);
}

void offer_idle(const void* owner, int device, std::function<void()> release) {
  const std::lock_guard lock(idle().mutex);
  idle().offers[owner] = {device, std::move(release)};
}
void withdraw_idle(const void* owner) {
  const std::lock_guard lock(idle().mutex);
  idle().offers.erase(owner);
}

DeviceReservation::DeviceReservation(const CudaDevice& device, double fraction)
    : num_bytes_(
          static_cast<std::size_t>(fraction * static_cast<double>(device.total_memory_bytes)) /
          kAlignment * kAlignment) {
  const cudaError_t status = allocate(&base_, num_bytes_);
  if (status == cudaErrorMemoryAllocation) {
    base_ = nullptr;
    std::size_t free_bytes = 0, total_bytes = 0;
    (void)driver().memory_info(&free_bytes, &total_bytes);
    fail(ExitCode::kResources, "cannot reserve ", gib_text(num_bytes_), " of device memory (",
         gib_text(free_bytes),
         " are free): use a smaller --memory-fraction, leave it out, or end the other programs on "
         "the device");
  }
  check(status, "reserve device memory");
}

DeviceReservation::~DeviceReservation() {
  if (base_) (void)driver().release(base_);
}

void* DeviceReservation::take(std::size_t num_bytes) {
  const std::size_t begin = (top() + kAlignment - 1) / kAlignment * kAlignment;
  if (begin > num_bytes_ || num_bytes > num_bytes_ - begin) return nullptr;
  blocks_.push_back({begin, begin + num_bytes, true});
  return static_cast<char*>(base_) + begin;
}

void DeviceReservation::give(void* block) {
  const auto begin =
      static_cast<std::size_t>(static_cast<char*>(block) - static_cast<char*>(base_));
  for (Block& b : blocks_) {
    if (b.begin == begin) b.used = false;
  }
  while (!blocks_.empty() && !blocks_.back().used) blocks_.pop_back();
}

DeviceArena::DeviceArena(std::size_t num_bytes, const std::string& what,
                         std::shared_ptr<DeviceReservation> reservation)
    : num_bytes_(num_bytes), reservation_(std::move(reservation)) {
  if (reservation_) {
    base_ = reservation_->take(num_bytes);
    if (base_) return;
    fail(
        ExitCode::kResources, "cannot place ", what, " (needs ", gib_text(num_bytes), ", ",
        gib_text(reservation_->free_bytes()), " of the ", gib_text(reservation_->num_bytes()),
        " reserved are free): use a larger --memory-fraction, --precision single, or fewer qubits");
  }
  const cudaError_t status = allocate(&base_, num_bytes);
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free_bytes = 0, total_bytes = 0;
    (void)driver().memory_info(&free_bytes, &total_bytes);
    base_ = nullptr;
    fail(ExitCode::kResources, out_of_memory_message(num_bytes, free_bytes, what));
  }
  check(status, "reserve device memory");
}

DeviceArena::~DeviceArena() {
  if (base_ && reservation_) {
    reservation_->give(base_);
  } else if (base_) {
    (void)driver().release(base_);
  }
}

void* DeviceArena::take_bytes(std::size_t num_bytes) {
  const std::size_t start = (top_ + kAlignment - 1) / kAlignment * kAlignment;
  TW_CHECK(start <= num_bytes_ && num_bytes <= num_bytes_ - start,
           "the device arena is too small: " + std::to_string(num_bytes) + " bytes asked, " +
               std::to_string(num_bytes_ - top_) + " left");
  top_ = start + num_bytes;
  return static_cast<char*>(base_) + start;
}

}  // namespace tilewave::runtime::cuda
