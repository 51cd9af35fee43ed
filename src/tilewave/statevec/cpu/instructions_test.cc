// Runs the tests of the CPU engine with another instruction set than the machine's best one: that
// of TILEWAVE_TEST_INSTRUCTIONS: avx2 (the program skips where the machine has it not), or base,
// what every machine of its kind has.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tilewave/statevec/cpu/block.h"

namespace tilewave::statevec::cpu {
namespace {

// Before the first test: kernels are chosen once.
std::string choose() {
  const char* const wanted = std::getenv("TILEWAVE_TEST_INSTRUCTIONS");
  if (!wanted) return {};
  const std::string name = wanted;
  if (name != "avx2" && name != "base") {
    std::printf("TILEWAVE_TEST_INSTRUCTIONS is '%s': use avx2 or base\n", wanted);
    std::exit(2);
  }
  const std::int64_t target = name == "avx2" ? HWY_AVX2 : HWY_STATIC_TARGET;
  if (!((hwy::SupportedTargets() | HWY_STATIC_TARGET) & target)) {
    std::printf("this machine has no %s\n", wanted);
    std::exit(77);
  }
  hwy::SetSupportedTargetsForTest(target);
  return hwy::TargetName(target);
}
const std::string chosen = choose();

TEST(Instructions, kernels_are_of_the_set_asked_for) {
  const std::string target = block_kernels(double{}).target;
  EXPECT_EQ(block_kernels(float{}).target, target);
  if (!chosen.empty()) {
    EXPECT_EQ(target, chosen);
  }
}

}  // namespace
}  // namespace tilewave::statevec::cpu
