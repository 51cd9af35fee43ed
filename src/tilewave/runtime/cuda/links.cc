// How fast the devices of this process reach each other.
#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::runtime {

namespace cuda {

void connect(const std::vector<int>& devices) {
  for (const int device : devices) {
    use_device(device);
    for (const int peer : devices) {
      if (peer == device) continue;
      int yes = 0;
      check(driver().can_reach(&yes, device, peer), "ask which devices reach each other");
      if (!yes) {
        fail(ExitCode::kResources, "CUDA devices ", device, " and ", peer,
             " cannot reach each other's memory: use devices of one NVLink or PCIe group, or one "
             "process a device under mpirun");
      }
      check(driver().reach(peer), "let two devices reach each other");
    }
  }
}

}  // namespace cuda

std::vector<std::vector<double>> measure_links() {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  constexpr int kRounds = 4;  // the first warms up
  const std::size_t count = cuda_devices().size();
  if (count < 2) return {};
  std::vector<std::vector<double>> rates(count, std::vector<double>(count, 0.0));
  const auto index = [](std::size_t k) { return static_cast<int>(k); };
  std::vector<cuda::DeviceArena> arenas;
  for (std::size_t k = 0; k < count; ++k) {
    cuda::use_device(index(k));
    arenas.emplace_back(kBytes + 256, "the buffer of a link measurement");
  }
  std::vector<void*> memory;
  for (auto& arena : arenas) memory.push_back(arena.take<char>(kBytes));
  for (std::size_t from = 0; from < count; ++from) {
    cuda::use_device(index(from));
    const cuda::Stream stream;
    for (std::size_t to = 0; to < count; ++to) {
      int yes = 0;
      if (from == to) continue;
      cuda::check(cuda::driver().can_reach(&yes, index(from), index(to)), "ask about a link");
      if (!yes) continue;
      cuda::check(cuda::driver().reach(index(to)), "let two devices reach each other");
      for (int round = 0; round < kRounds; ++round) {
        cuda::Event before, after;
        before.record(stream);
        cuda::copy(memory[to], memory[from], kBytes, stream);
        after.record(stream);
        const double s = after.seconds_since(before);
        if (round) rates[from][to] = std::max(rates[from][to], static_cast<double>(kBytes) / s);
      }
    }
  }
  return rates;
}

}  // namespace tilewave::runtime
