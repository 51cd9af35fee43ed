// What is said of a circuit travels with it, and a circuit that cannot be appended changes nothing.
#include "tilewave/formats/circuit_bytes.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/circuit/append_circuit.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/language/qasm3/qasm3.h"

namespace tilewave::formats {
namespace {

using circuit::Circuit;
using circuit::GateId;
using Names = std::vector<std::string>;

Names list(std::span<const std::string> names) { return {names.begin(), names.end()}; }

TEST(CircuitBytes, notes_and_names_of_replaced_instructions_travel) {
  Circuit c(2);
  c.add_gate(GateId::kH, {0});
  c.add_note("line 1: a note");
  c.add_note("line 2: another");
  for (const char* name : {"b", "a", "b"}) c.add_replaced(name);
  const Names notes{"line 1: a note", "line 2: another"}, replaced{"a", "b"};
  Circuit appended(2), controlled(3);
  appended.add_note("line 2: another");
  appended.add_replaced("c");
  append_circuit(appended, c, std::vector<circuit::Qubit>{0, 1}, {});
  append_controlled(controlled, c, std::vector<circuit::Qubit>{1, 2},
                    std::vector<circuit::Qubit>{0}, 1);
  for (const Circuit& copy : {c, circuit_from_bytes(circuit_to_bytes(c)), inverse(c), controlled}) {
    EXPECT_EQ(list(copy.notes()), notes);
    EXPECT_EQ(list(copy.replaced()), replaced);
  }
  EXPECT_EQ(list(appended.notes()), (Names{"line 2: another", "line 1: a note"}));
  EXPECT_EQ(list(appended.replaced()), (Names{"a", "b", "c"}));
  Circuit silent(2);
  silent.add_gate(GateId::kH, {0});
  EXPECT_TRUE(has_same_operations(silent, c));
  EXPECT_NE(circuit_to_bytes(silent), circuit_to_bytes(c));
  silent.add_gate(GateId::kX, {1});
  EXPECT_FALSE(has_same_operations(silent, c));
}

// Every kind of operation, then one that cannot be appended.
TEST(CircuitBytes, a_circuit_that_cannot_be_appended_changes_nothing) {
  const std::string body =
      "OPENQASM 3.0; include \"stdgates.inc\"; qubit[3] q; bit[4] c; gate g a { h a; } g q[0]; "
      "ctrl @ rx(0.25) q[0], q[1]; c[0:2] = measure q; if (c[0]) { x q[1]; } reset q[2]; "
      "barrier q; while (c[0]) { g q[0]; c[0] = measure q[0]; } c[3] = c[0] ^ c[1]; "
      "if (c == 5) { x q[2]; }";
  Circuit from = language::parse_qasm3(body, "test");
  from.add_note("a note");
  from.add_replaced("parts");
  const std::vector<cplx> matrix{0, 1, 1, 0};
  from.add_matrix({}, 0, std::vector<circuit::Qubit>{0}, matrix);
  from.set_label(from.ops().size() - 1, from.add_label("mine"));
  from.set_label(0, from.add_label("first"));  // in front of what cannot be appended
  std::vector<circuit::Clbit> rows(from.num_clbits()), reversed(rows.size());
  for (std::uint32_t k = 0; k < rows.size(); ++k) {
    rows[k] = k;
    reversed[k] = static_cast<std::uint32_t>(rows.size()) - 1 - k;
  }
  const std::vector<circuit::Qubit> places{0, 1, 2}, absent{0, 1, 7};
  Circuit to(3, from.num_clbits());
  to.add_creg("d", 2);
  to.add_gate(GateId::kRx, {0}, {0.5});
  to.add_label("yours");
  to.add_note("what was there");
  const std::string before = circuit_to_bytes(to);
  Circuit once = to;
  EXPECT_THROW(append_circuit(to, from, places, reversed), Error);
  EXPECT_TRUE(circuit_to_bytes(to) == before);
  EXPECT_THROW(append_circuit(to, from, absent, rows), Error);
  EXPECT_TRUE(circuit_to_bytes(to) == before);
  EXPECT_THROW(append_controlled(to, from, places, {}, 0), Error);
  EXPECT_TRUE(circuit_to_bytes(to) == before);
  EXPECT_FALSE(to.has_control_flow());
  for (const char* label : {"other", "first", "yours"}) {  // numbers as if nothing had failed
    Circuit a = to, b = once;
    EXPECT_EQ(a.add_label(label), b.add_label(label)) << label;
    EXPECT_EQ(a.add_label("another"), b.add_label("another")) << label;
  }
  append_circuit(to, from, places, rows);  // works as if nothing had failed before
  append_circuit(once, from, places, rows);
  EXPECT_TRUE(circuit_to_bytes(to) == circuit_to_bytes(once));
  EXPECT_EQ(to.label(to.ops().back()), "mine");
  EXPECT_TRUE(to.has_control_flow());
}

}  // namespace
}  // namespace tilewave::formats
