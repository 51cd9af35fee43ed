// The fixture of tests of functions on CUDA devices: both precisions, with and without compiled kernels.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "tilewave/parametric/function.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::parametric {

inline FunctionOptions on_device(Precision precision) {
  FunctionOptions options;
  options.precision = precision;
  options.cuda_device = 0;
  return options;
}

/// Whether a block of threads has room for a tile of 2^12 amplitudes, sums and what is beside them.
inline bool fits(Precision precision) {
  const std::uint64_t tile = (precision == Precision::kDouble ? 16 : 8) << 12;
  return tile + (18 << 10) <= runtime::cuda_devices().front().shared_bytes;
}

/// By the interpreter, and by kernels that are compiled for each function.
class Devices : public testing::TestWithParam<std::tuple<Precision, bool>> {
 protected:
  using JitCache = runtime::cuda::JitCache;

  void SetUp() override {
    if (runtime::cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
    if (!fits(precision())) GTEST_SKIP() << "too little shared memory, which another test looks at";
    JitCache::set_use(compiles() ? "all" : "off");
    std::string why;
    if (compiles() && !JitCache::of_process(&why)) GTEST_SKIP() << "NO COMPILER: " << why;
  }
  void TearDown() override {
    if (const JitCache* const cache = JitCache::if_made()) {
      EXPECT_EQ(cache->refusal(), "");
    }
    JitCache::set_use("auto");
  }
  static Precision precision() { return std::get<0>(GetParam()); }
  static bool compiles() { return std::get<1>(GetParam()); }
  static double tolerance() { return precision() == Precision::kDouble ? 2e-12 : 2e-4; }

  /// Runs `call` until it is run as it is to be tested.
  static void settle(const std::function<void()>& call) {
    if (!compiles()) return;
    call();
    JitCache::of_process()->wait();
  }
};

}  // namespace tilewave::parametric
