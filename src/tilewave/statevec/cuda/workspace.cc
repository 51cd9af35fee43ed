// See workspace.h.
#include "tilewave/statevec/cuda/workspace.h"

#include <map>

#include "tilewave/base/error.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

std::shared_ptr<Workspace> Workspace::of_device(int device) {
  static std::mutex mutex;
  static auto* const all = new std::map<int, std::weak_ptr<Workspace>>;  // states may end late
  const std::lock_guard lock(mutex);
  std::weak_ptr<Workspace>& known = (*all)[device];
  std::shared_ptr<Workspace> workspace = known.lock();
  if (!workspace) known = workspace = std::make_shared<Workspace>(device);
  return workspace;
}

void Workspace::keep(const std::shared_ptr<Workspace>& workspace) {
  static std::mutex mutex;
  static auto* const kept = new std::set<std::shared_ptr<Workspace>>;  // never given back
  const std::lock_guard lock(mutex);
  kept->insert(workspace);
}

void Workspace::resize() {
  const std::size_t wanted = bytes_for(served_.empty() ? 0 : *served_.rbegin());
  if (memory_.num_bytes() == wanted) return;
  if (last_) last_->synchronize();
  last_ = nullptr;
  memory_ = {};  // first, so that both are never there
  programs_ = nullptr;
  program_bytes_ = used_ = 0;
  ++epoch_;
  memory_ = rc::DeviceArena(wanted, "the memory that operations share", reservation_);
  program_bytes_ = program_bytes_of(wanted);
  programs_ = memory_.take<std::byte>(program_bytes_);
  if (staging_.num_bytes() != program_bytes_) {
    staging_ = {};
    staging_ = rc::PinnedBuffer(program_bytes_);
  }
}

void Workspace::serve(std::uint64_t state_bytes) {
  const std::lock_guard lock(mutex_);
  const auto mine = served_.insert(state_bytes);
  try {
    resize();
  } catch (...) {
    served_.erase(mine);
    throw;
  }
}

void Workspace::leave(std::uint64_t state_bytes, const rc::Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  (void)rc::driver().synchronize(stream.get());
  if (last_ == &stream) last_ = nullptr;
  served_.erase(served_.find(state_bytes));
  try {
    resize();
  } catch (const Error&) {
    // the device is lost or full: what comes next finds out
  }
}

std::vector<std::shared_ptr<const ProgramStore::Plan>> Workspace::take_written() {
  std::vector<std::shared_ptr<const ProgramStore::Plan>> wanted;
  for (BackgroundWriter::Written& w : background_->take()) {
    auto kept = store_.keep(w.key, std::move(w.programs));
    if (kept && w.wants_kernels) wanted.push_back(std::move(kept));
  }
  return wanted;
}

rc::DeviceArena& Workspace::handed_to(const rc::Stream& stream) {
  if (memory_.num_bytes() == 0) resize();
  if (last_ != &stream) {
    if (last_) last_->synchronize();
    last_ = &stream;
    used_ = 0;
    ++epoch_;
  }
  return memory_;
}

void Workspace::forget_programs(const rc::Stream& stream) {
  stream.synchronize();
  used_ = 0;
  ++epoch_;
}

std::size_t Workspace::place(std::size_t num_bytes, const rc::Stream& stream) {
  TW_CHECK(num_bytes <= program_bytes_, "the program of one pass is larger than its memory");
  if (used_ + num_bytes > program_bytes_) forget_programs(stream);
  const std::size_t at = used_;
  used_ += num_bytes;
  return at;
}

}  // namespace tilewave::statevec::cuda
