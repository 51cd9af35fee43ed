#include "tilewave/language/qsim/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"

namespace tilewave::language {
namespace {

using circuit::Circuit;
using circuit::GateId;
using circuit::OpKind;

std::string qsim_error(std::string_view text) {
  return first_line(error_of([&] { parse_qsim_text(text, "f"); }, ExitCode::kInput));
}

TEST(QsimText, reads_every_gate) {
  const char* lines[] = {"id1 0",    "h 0",      "t 0",      "x 0",          "y 0",
                         "z 0",      "x_1_2 0",  "y_1_2 0",  "hz_1_2 0",     "s 0",
                         "rx 0 0.5", "ry 0 0.5", "rz 0 0.5", "rxy 0 1 2",    "cz 0 1",
                         "cnot 0 1", "sw 0 1",   "is 0 1",   "fs 0 1 .1 .2", "cp 0 1 0.7",
                         "p 0.25",   "id2 0 1"};
  const GateId ids[] = {
      GateId::kId,   GateId::kH,  GateId::kT,           GateId::kX,  GateId::kY,    GateId::kZ,
      GateId::kSx,   GateId::kSy, GateId::kSw,          GateId::kS,  GateId::kRx,   GateId::kRy,
      GateId::kRz,   GateId::kR,  GateId::kCz,          GateId::kCx, GateId::kSwap, GateId::kIswap,
      GateId::kFsim, GateId::kCp, GateId::kGlobalPhase, GateId::kId};
  std::string text = "2\n";
  for (std::size_t k = 0; k < std::size(lines); ++k)
    text += std::to_string(k) + " " + lines[k] + "\n";
  const Circuit c = parse_qsim_text(text, "f");
  ASSERT_EQ(c.ops().size(), std::size(ids));
  for (std::size_t k = 0; k < std::size(ids); ++k) EXPECT_EQ(c.ops()[k].gate, ids[k]) << lines[k];
  EXPECT_EQ(c.params(c.ops()[13])[0], 2);  // rxy: axis first, angle second
  EXPECT_EQ(c.params(c.ops()[13])[1], 1);
  EXPECT_EQ(c.params(c.ops()[19])[0], -0.7);  // cp: e^{-i phi}
  EXPECT_EQ(c.ops()[1].line, 3u);
}

TEST(QsimText, controls_and_measurements) {
  const Circuit c =
      parse_qsim_text("4\r\n0 c 1 x 0\r\n1 c 1 2 x 0\n\n2 c 3 1 h 0\n3 m 2 0\n3 m 1\n", "f");
  ASSERT_EQ(c.ops().size(), 6u);
  EXPECT_EQ(c.ops()[0].gate, GateId::kCx);
  EXPECT_EQ(c.ops()[1].gate, GateId::kCcx);
  EXPECT_EQ(c.ops()[2].gate, GateId::kH);
  EXPECT_EQ(c.ops()[2].num_controls, 2);
  EXPECT_EQ(c.qubits(c.ops()[2])[0], 3u);
  EXPECT_EQ(c.qubits(c.ops()[2])[2], 0u);
  EXPECT_EQ(c.ops()[3].kind, OpKind::kMeasure);
  EXPECT_EQ(c.qubits(c.ops()[3])[0], 2u);
  EXPECT_EQ(c.ops()[4].clbit, 1u);
  EXPECT_EQ(c.num_clbits(), 3u);
}

TEST(QsimText, errors_point_at_their_place) {
  EXPECT_EQ(qsim_error("  \n"),
            "f:1:1: the file holds no circuit: its first line is a qubit count");
  EXPECT_EQ(qsim_error("0\n"), "f:1:1: the first line is the number of qubits, 1 to 1048576");
  EXPECT_EQ(qsim_error("9223372036854775808\n"),
            "f:1:1: the first line is the number of qubits, 1 to 1048576");
  EXPECT_EQ(qsim_error("2 3\n"), "f:1:3: the first line is one qubit count");
  EXPECT_EQ(qsim_error("2\n0 hh 0"), "f:2:3: unknown gate 'hh': did you mean 'h'?");
  EXPECT_EQ(qsim_error("2\n0 h 2"), "f:2:5: qubit 2 is out of range: the circuit has 2 qubits");
  EXPECT_EQ(qsim_error("2\n0 cz 1 1"), "f:2:8: qubit 1 is named twice");
  EXPECT_EQ(qsim_error("2\n0 c 1 x 1"), "f:2:9: qubit 1 is named twice");
  EXPECT_EQ(qsim_error("2\n0 rx 0"),
            "f:2:3: gate 'rx' takes 1 qubit and 1 parameter, found 1 value");
  EXPECT_EQ(qsim_error("2\n0 rx 0 nan"), "f:2:8: 'nan' is not a finite double");
  EXPECT_EQ(qsim_error("2\n0 rx 0 1e400"), "f:2:8: '1e400' is not a finite double");
  EXPECT_EQ(qsim_error("2\n0 rx 0 1e-400"), "no error");  // it is 0
  EXPECT_EQ(qsim_error("3\n0 c 0 c 1 x 2"),
            "f:2:7: 'c' stands once: all control qubits follow the first");
  EXPECT_EQ(qsim_error("3\n0 c 0 m 1"), "f:2:7: a measurement has no control qubits");
  EXPECT_EQ(qsim_error("1\n0 h 1"), "f:2:5: qubit 1 is out of range: the circuit has 1 qubit");
  EXPECT_EQ(qsim_error("2\n0 cx 0"),
            "f:2:3: gate 'cx' takes 2 qubits and 0 parameters, found 1 value");
  EXPECT_LT(qsim_error("2\n0 " + std::string(1 << 20, 'a')).size(), 200u);
  EXPECT_EQ(qsim_error("2\n0 rx 0 1x"), "f:2:8: expected a number, found '1x'");
  EXPECT_EQ(qsim_error("2\nh 0"), "f:2:1: a line starts with the time of its gate");
  EXPECT_EQ(qsim_error("2\n0"), "f:2:2: the name of a gate is missing");
  EXPECT_EQ(qsim_error("2\n0 c 1"), "f:2:6: the name of a gate is missing");
  EXPECT_EQ(qsim_error("2\n0 c x 1"), "f:2:5: c needs at least one control qubit");
  EXPECT_EQ(qsim_error("2\n0 m"), "f:2:4: m needs at least one qubit");
  EXPECT_EQ(qsim_error("2\n3 h 0\n3 x 0\n"),
            "f:3:5: qubit 0 already has a gate at time 3: times must grow");
}

TEST(QsimText, files_are_told_apart_by_content) {
  const std::string path = testing::TempDir() + "tilewave_qsim_test";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return read_circuit_file(path);
  };
  EXPECT_EQ(read("\n2\n0 h 0\n").num_qubits(), 2u);
  EXPECT_EQ(read("// c\nqreg q[3];").num_qubits(), 3u);
  std::remove(path.c_str());
}

TEST(QsimText, mutated_files_parse_or_give_one_positioned_error) {
  const std::string good =
      "3\n0 h 0\n0 cp 1 2 0.5\n1 c 0 1 rx 2 -1e-3\n2 fs 0 1 3.14 1.57\n3 m 0 2\n";
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 3);
      } else {
        text[at] = "0123456789 .-\nchmrxsp"[random() % 21];
      }
    }
    const std::string what = qsim_error(text);
    unsigned line = 0, column = 0;
    if (what == "no error") continue;
    ++refused;
    ASSERT_EQ(std::sscanf(what.c_str(), "f:%u:%u: ", &line, &column), 2) << what;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tilewave::language
