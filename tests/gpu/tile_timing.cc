// Times single tile passes on a device: exchanges alone, then 16 and 64 actions of one kind.
//   tile_timing [qubits [64|32|0 [kernel [kind]]]]     prints milliseconds per pass and GB/s for
//                                                      every compiled kernel
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/tile_launch.h"
#include "tilewave/statevec/tile/probe_pass.h"
#include "tilewave/statevec/tile/program.h"

namespace {

using namespace tilewave;
using namespace tilewave::statevec;
namespace rc = tilewave::runtime::cuda;

template <class T>
void time_kernels(int n, int only_kernel, int only_kind) {
  rc::use_device(0);
  rc::Stream stream;
  const std::uint64_t state_bytes = bit(n) * sizeof(Complex<T>);
  rc::DeviceArena arena(state_bytes + (64u << 20), "a state");
  auto* state = arena.take<Complex<T>>(bit(n));
  auto* code = arena.take<std::byte>(48u << 20);
  int kernel = -1;
  for (cuda::TileLauncher<T>& launcher : cuda::tile_launchers<T>(runtime::cuda_devices().front())) {
    if (++kernel != only_kernel && only_kernel >= 0) continue;
    std::printf("== %s, %d qubits\n", launcher.name(), n);
    const auto time = [&](tile::ProbeKind kind, int start, int num_actions) {
      rc::check(rc::driver().fill(state, 0x3c, state_bytes, stream.get()), "fill");
      const Plan plan = tile::probe_pass(n, launcher.shape(), start, kind, num_actions);
      const tile::TilePass pass = tile::lower_pass(plan, 0, launcher.shape());
      std::byte* tables = code + (pass.code.size() + 255) / 256 * 256;
      rc::copy(code, pass.code.data(), pass.code.size(), stream);
      rc::copy(tables, pass.tables.data(), pass.tables.size(), stream);
      stream.synchronize();
      std::vector<double> ms;
      for (int repeat = 0; repeat < 6; ++repeat) {
        rc::Event before, after;
        before.record(stream);
        launcher.launch(pass.frame, state, code, tables, stream);
        after.record(stream);
        const double s = after.seconds_since(before);
        if (repeat) ms.push_back(s * 1e3);
      }
      std::sort(ms.begin(), ms.end());
      std::printf(" %7.2f ms (%4.0f GB/s, %d ops, %d exchanges, %d crossings, %u chunks)",
                  ms[ms.size() / 2], 2e-6 * static_cast<double>(state_bytes) / ms[ms.size() / 2],
                  pass.num_operations, pass.num_exchanges, pass.num_crossings,
                  pass.frame.num_chunks);
    };
    const int k = launcher.shape().tile_qubits, rows = launcher.shape().row_bits;
    for (int start : {0, n / 2 - 5, n - k + rows}) {
      std::printf("%-22s from %2d:", "no action", start);
      time(tile::ProbeKind::kLift, start, 0);
      std::puts("");
    }
    for (int kind = 0; kind <= static_cast<int>(tile::ProbeKind::kChain); ++kind) {
      if (only_kind >= 0 && only_kind != kind) continue;
      std::printf("%-22s 12, 48:  ", tile::kProbeNames[kind]);
      time(static_cast<tile::ProbeKind>(kind), n / 2 - 5, 12);
      time(static_cast<tile::ProbeKind>(kind), n / 2 - 5, 48);
      std::puts("");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int n = argc > 1 ? std::atoi(argv[1]) : 30;
    const int precision = argc > 2 ? std::atoi(argv[2]) : 0;  // 64, 32 or 0 for both
    const int kernel = argc > 3 ? std::atoi(argv[3]) : -1,
              kind = argc > 4 ? std::atoi(argv[4]) : -1;
    if (precision != 32) time_kernels<double>(n, kernel, kind);
    if (precision != 64) time_kernels<float>(n, kernel, kind);
  } catch (const tilewave::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return static_cast<int>(e.code());
  }
}
