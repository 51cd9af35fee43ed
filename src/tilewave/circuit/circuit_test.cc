// What a circuit keeps beside its operations.
#include "tilewave/circuit/circuit.h"

#include <gtest/gtest.h>

#include <string>

#include "tilewave/base/error.h"

namespace tilewave::circuit {
namespace {

TEST(Labels, are_counted_once_each) {
  Circuit c(1);
  for (int k = 0; k < 100'000; ++k) {
    const Qubit q = 0;
    c.add_gate(GateId::kX, {&q, 1}, {});
    c.set_label(c.ops().size() - 1, c.add_label("delay " + std::to_string(k % 3)));
  }
  for (const std::size_t k : {0, 1, 2, 99'999})
    EXPECT_EQ(c.label(c.ops()[k]), "delay " + std::to_string(k % 3));
  EXPECT_EQ(c.add_label(""), 0);
  for (int k = 3; k < 65'535; ++k) EXPECT_EQ(c.add_label(std::to_string(k)), k + 1);
  EXPECT_THROW(c.add_label("one more"), Error);
  EXPECT_EQ(c.add_label("delay 1"), 2);
  Circuit copy = c;
  EXPECT_EQ(copy.add_label("delay 2"), 3);
}

}  // namespace
}  // namespace tilewave::circuit
