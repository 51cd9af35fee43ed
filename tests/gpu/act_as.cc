// Tests as on a smaller device: TILEWAVE_TEST_CUDA=86 lets this one have no more shared memory than
// those of compute capability 8.6, nor clusters where they have none. What device code does by
// capability is another build's: -DCMAKE_CUDA_ARCHITECTURES=80-virtual.
#include <cstdio>
#include <cstdlib>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"

namespace {

[[maybe_unused]] const bool acts = [] {
  const char* const wanted = std::getenv("TILEWAVE_TEST_CUDA");
  if (!wanted || !*wanted) return false;
  try {
    tilewave::runtime::act_as_gpu(std::atoi(wanted));
  } catch (const tilewave::Error& e) {
    std::printf("TILEWAVE_TEST_CUDA: %s\n", e.what());
    std::exit(1);
  }
  std::printf("limits of compute capability %s\n", wanted);
  return true;
}();

}  // namespace
