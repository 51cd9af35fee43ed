// Times single tile passes on a device: exchanges alone, then 16 and 64 actions of one kind.
//   tile_timing [qubits [64|32|0 [kernel [kind]]]]     prints milliseconds a
//   pass and GB/s for every compiled kernel
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/tile_launch.h"

namespace {

using namespace tilewave;
using namespace tilewave::statevec;
namespace rc = tilewave::runtime::cuda;

enum class Kind { kLift, kLiftPre, kLinear, kFlip, kFlipFar, kRotate, kDense1, kDense2, kChain };
constexpr const char* kNames[] = {"lift",      "lift+pre",  "linear+lift",
                                  "flip near", "flip far",  "controlled rotation",
                                  "dense 2x2", "dense 4x4", "zz chain+lift"};

/// A pass whose active positions are the rows and a run from `start`; `rounds` of actions on every
/// slot.
Plan make_pass(int n, const tile::Shape& shape, int start, Kind kind, int num_actions) {
  Plan plan;
  plan.num_qubits = n;
  plan.precision = shape.precision;
  Pass pass;
  const int k = shape.tile_qubits, rows = shape.row_bits;
  for (int i = 0; i < k; ++i) {
    pass.active.push_back(
        static_cast<std::uint8_t>(i < rows ? i : std::max(start, rows) + i - rows));
  }
  pass.dest = pass.active;
  std::rotate(pass.dest.begin(), pass.dest.begin() + rows, pass.dest.end());
  std::mt19937_64 rng(1);
  const auto phases = [&](auto add) {
    Action a;
    a.kind = ActionKind::kPhase;
    a.first = static_cast<std::uint32_t>(plan.terms.size());
    add();
    a.count = static_cast<std::uint32_t>(plan.terms.size()) - a.first;
    pass.actions.push_back(a);
  };
  for (int i = 0; i < num_actions; ++i) {
    const int slot = (i + rows) % k, other = (i + rows + 1) % k;
    Action a;
    a.targets[0] = pass.active[static_cast<std::size_t>(slot)];
    a.num_targets = 1;
    if (kind == Kind::kChain && i % k == 0) {
      phases([&] {
        for (int p = 0; p < n; ++p) plan.terms.push_back({bit(p) | bit((p + 1) % n), rng()});
      });
    }
    if (kind == Kind::kLinear) {
      phases([&] {
        for (int p = 0; p < n; ++p) {
          if (p != a.targets[0]) plan.terms.push_back({bit(p) | bit(a.targets[0]), rng()});
        }
      });
    }
    switch (kind) {
      case Kind::kLift:
      case Kind::kLiftPre:
      case Kind::kLinear:
      case Kind::kChain:
        a.kind = ActionKind::kLift;
        a.m[0] = 0.5;
        a.pre_turns = kind == Kind::kLiftPre ? rng() : 0;
        break;
      case Kind::kFlip:
      case Kind::kFlipFar:
        a.kind = ActionKind::kFlip;
        a.control_mask = a.control_value = kind == Kind::kFlip
                                               ? bit(pass.active[static_cast<std::size_t>(other)])
                                               : bit(n - 1 - i % 4);
        if (a.control_mask & a.target_mask()) continue;
        break;
      case Kind::kRotate:
        a.kind = ActionKind::kRotate;
        a.m = {0.6, -0.8, 0.8, 0.6};
        a.control_mask = a.control_value = bit(pass.active[static_cast<std::size_t>(other)]);
        break;
      default: {
        a.kind = ActionKind::kMatrix;
        a.first = static_cast<std::uint32_t>(plan.matrices.size());
        a.num_targets = kind == Kind::kDense1 ? 1 : 2;
        a.targets[1] = pass.active[static_cast<std::size_t>(other)];
        const int dim = 1 << a.num_targets;
        for (int e = 0; e < dim * dim; ++e) {
          plan.matrices.push_back(cplx(0.3 + 0.1 * (e % 3), e % 2 ? 0.3 : -0.3));
        }
      }
    }
    pass.actions.push_back(a);
  }
  plan.passes.push_back(pass);
  return plan;
}

template <class T>
void time_kernels(int n, int only_kernel, int only_kind) {
  rc::use_device(0);
  rc::Stream stream;
  const std::uint64_t state_bytes = bit(n) * sizeof(Complex<T>);
  rc::DeviceArena arena(state_bytes + (64u << 20), "a state");
  auto* state = arena.take<Complex<T>>(bit(n));
  auto* code = arena.take<std::byte>(48u << 20);
  for (std::size_t kernel = 0; kernel < cuda::tile_kernels<T>().size(); ++kernel) {
    if (only_kernel >= 0 && only_kernel != static_cast<int>(kernel)) continue;
    cuda::TileLauncher<T> launcher(kernel);
    std::printf("== %s, %d qubits\n", launcher.name(), n);
    const auto time = [&](Kind kind, int start, int num_actions) {
      rc::check(rc::driver().fill(state, 0x3c, state_bytes, stream.get()), "fill");
      const Plan plan = make_pass(n, launcher.shape(), start, kind, num_actions);
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
      std::printf(" %7.2f ms (%4.0f GB/s, %d ops, %d exchanges, %u chunks)", ms[ms.size() / 2],
                  2e-6 * static_cast<double>(state_bytes) / ms[ms.size() / 2], pass.num_operations,
                  pass.num_exchanges, pass.frame.num_chunks);
    };
    const int k = launcher.shape().tile_qubits, rows = launcher.shape().row_bits;
    for (int start : {0, n / 2 - 5, n - k + rows}) {
      std::printf("%-22s from %2d:", "no action", start);
      time(Kind::kLift, start, 0);
      std::puts("");
    }
    for (int kind = 0; kind <= static_cast<int>(Kind::kChain); ++kind) {
      if (only_kind >= 0 && only_kind != kind) continue;
      std::printf("%-22s 12, 48:  ", kNames[kind]);
      time(static_cast<Kind>(kind), n / 2 - 5, 12);
      time(static_cast<Kind>(kind), n / 2 - 5, 48);
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
