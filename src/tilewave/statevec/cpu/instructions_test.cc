// Runs the tests of the CPU engine with another instruction set than the machine's best one: that
// of TILEWAVE_TEST_INSTRUCTIONS: avx2 (the program skips where the machine has it not), or base,
// what every machine of its kind has.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "tilewave/statevec/cpu/block.h"

namespace tilewave::statevec::cpu {
namespace {

// Before the first test: kernels are chosen once.
const std::string& chosen() {
  static const std::string name = [] {
    const char* const wanted = std::getenv("TILEWAVE_TEST_INSTRUCTIONS");
    if (!wanted) return std::string();
    for (const auto& [known, target] : {std::pair{"avx2", std::int64_t{HWY_AVX2}},
                                        std::pair{"base", std::int64_t{HWY_STATIC_TARGET}}}) {
      if (std::string(wanted) != known) continue;
      if (!((hwy::SupportedTargets() | HWY_STATIC_TARGET) & target)) {
        std::printf("this machine has no %s\n", known);
        std::exit(77);
      }
      hwy::SetSupportedTargetsForTest(target);
      return std::string(hwy::TargetName(target));
    }
    std::printf("TILEWAVE_TEST_INSTRUCTIONS is '%s': use avx2 or base\n", wanted);
    std::exit(2);
  }();
  return name;
}
const bool is_chosen = !chosen().empty();  // as the program starts

TEST(Instructions, kernels_are_of_the_set_asked_for) {
  const std::string target = block_kernels(double{}).target;
  EXPECT_EQ(block_kernels(float{}).target, target);
  if (is_chosen) {
    EXPECT_EQ(target, chosen());
  }
}

}  // namespace
}  // namespace tilewave::statevec::cpu
