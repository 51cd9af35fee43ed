#include "tilewave/simulate/dry_run.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {
namespace {

TEST(DryRun, PlansWithoutAState) {
  Options o;
  o.dry_run = true;
  const Result r = simulate(
      language::parse_qasm2(
          "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[40]; h q; cx q[0],q[39];", "test"),
      o);
  EXPECT_GT(r.plan.passes, 0u);
  EXPECT_GT(r.memory_bytes, std::uint64_t{1} << 44);
  EXPECT_FALSE(r.plan.text.empty());
}

}  // namespace
}  // namespace tilewave::simulate
