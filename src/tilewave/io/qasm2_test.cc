#include "tilewave/io/qasm2.h"

#include <gtest/gtest.h>

#include "tilewave/base/error.h"

namespace tilewave::io {
namespace {

using circuit::GateId;
using circuit::OpKind;

TEST(Qasm2, reads_gates_measurements_and_conditions) {
  const auto c = parse_qasm2(
      "OPENQASM 2.0;\r\ninclude \"qelib1.inc\"; // \xC3\xA9\r\nqreg q[2]; creg c[2];\r\n"
      "h q; cx q[0],q[1]; measure q->c; if(c==3) rz(-pi/2) q[1];\n",
      "bell.qasm");
  ASSERT_EQ(c.ops().size(), 6u);
  EXPECT_EQ(c.ops()[0].gate, GateId::kH);
  EXPECT_EQ(c.ops()[3].kind, OpKind::kMeasure);
  EXPECT_EQ(c.ops()[5].condition, 0);
  EXPECT_DOUBLE_EQ(c.params(c.ops()[5])[0], -1.5707963267948966);
  EXPECT_EQ(c.ops()[5].line, 4u);
}

}  // namespace
}  // namespace tilewave::io
