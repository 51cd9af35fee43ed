#include "tilewave/stabilizer/sample/fill_shots.h"

#include <algorithm>
#include <atomic>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/device.h"

namespace tilewave::stabilizer {

std::vector<int> shot_gpus(const std::string& device) {
  const DeviceSet devices = DeviceSet::parse(device);
  need_one_kind(devices);
  return {devices.cuda().begin(), devices.cuda().end()};
}

void check_shot_numbers(std::uint64_t first, std::uint64_t count, const char* advice) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  if (first < kMost && count < kMost - first) return;
  throw Error(ExitCode::kUsage, std::string("shots are numbered below 2^52: ") + advice);
}

void fill_shots(ShotSource& source, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                int num_threads, const std::function<void(const FilledRows&)>& take,
                const std::vector<std::uint64_t>& must_be_zero) {
  check_shot_numbers(first, count, "ask for fewer shots");
  if (count == 0) return;
  const std::uint64_t block = source.block_shots(), stride = source.row_stride();
  const std::uint64_t end = first + count;
  const std::uint64_t first_block = first / block, end_block = (end - 1) / block + 1;
  const auto threads = static_cast<int>(std::min<std::uint64_t>(
      static_cast<std::uint64_t>(threads_for(source, num_threads)), end_block - first_block));
  std::atomic<std::uint64_t> next = first_block;
  std::atomic<bool> has_failed = false;
  StopFlag stop;
  const auto work = [&](int thread) {
    const StopFlag::Scope scope(stop);
    try {
      const std::shared_ptr<std::uint8_t[]> rows = source.row_memory(block * stride + 64);
      for (std::uint64_t b = next++; b < end_block && !has_failed && !stop.wanted(); b = next++) {
        const std::uint64_t from = std::max(first, b * block), to = std::min(end, (b + 1) * block);
        if (!must_be_zero.empty()) {
          const std::uint64_t kept = source.fill_kept(seed, b, from - b * block, to - b * block,
                                                      thread, must_be_zero, rows.get());
          take({rows.get(), from - first, kept, thread});
          continue;
        }
        source.fill_part(seed, b, from - b * block, to - b * block, thread, rows.get());
        take({rows.get() + (from - b * block) * stride, from - first, to - from, thread});
      }
    } catch (...) {
      has_failed = true;  // the others need not go on
      throw;
    }
  };
  try {
    runtime::run_on_threads(threads, work);
  } catch (...) {
    stop.rethrow();  // rather than that a thread was stopped
    throw;
  }
  stop.rethrow();
}

}  // namespace tilewave::stabilizer
