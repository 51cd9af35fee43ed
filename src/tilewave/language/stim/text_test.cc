#include "tilewave/language/stim/text.h"

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/dem_text.h"

namespace tilewave::language {
namespace {

TEST(StimText, prints_what_it_reads) {
  const std::string text =
      "QUBIT_COORDS(1.5, -2) 0\nR 0 1 2\nH[a tag\\C] 0\nM 2\nCX 0 1 rec[-1] 2 sweep[3] "
      "2\nMPP(0.125) "
      "!X0*Z1 Y2\n"
      "SPP X0*!Y1\nE(0.1) X0 Z1\nELSE_CORRELATED_ERROR(0.2) Y2\nREPEAT 1000000000000 {\n    TICK\n "
      "   REPEAT[in] 2 {\n"
      "        M(0.001) !0 1\n    }\n    SHIFT_COORDS(0, 0, 1)\n}\nDETECTOR(1, 2.5) rec[-1] "
      "rec[-2]\nDETECTOR\n"
      "OBSERVABLE_INCLUDE(3) rec[-1] X2\nMPAD 0 1\nMXX 0 !1\n"
      "PAULI_CHANNEL_2(0.01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5) 0 1\nI_ERROR(0.1, 0.2) "
      "0\nHERALDED_ERASE(0.1) !0 1\nHERALDED_PAULI_CHANNEL_1(0, 0, 0, 0.5) 2 !0\n";
  EXPECT_EQ(print_stim(parse_stim(text)), text);
}

TEST(StimText, reads_aliases_cases_comments_and_fuses) {
  EXPECT_EQ(print_stim(parse_stim("cnot 0 1 # hello\r\n\n\tzcx 2 3\nMZ 0\nh_xz 1\nH 2\n"
                                  "CORRELATED_ERROR(.5) X1 # x\nSQRT_Z 0")),
            "CX 0 1 2 3\nM 0\nH 1 2\nE(0.5) X1\nS 0\n");
}

TEST(StimText, reads_files_of_other_editors_and_suggests_names) {
  EXPECT_EQ(print_stim(parse_stim("\xEF\xBB\xBFH 0\r\nM 0\r\n")), "H 0\nM 0\n");
  EXPECT_EQ(parse_dem("\xEF\xBB\xBF"
                      "error(0.1) D0\r\n",
                      "f")
                .instructions.size(),
            1u);
  const auto error_of = [](const char* text) {
    return tilewave::error_of([&] { parse_stim(text, "f"); });
  };
  EXPECT_TRUE(error_of("CNOTT 0 1")
                  .starts_with("f:1:1: unknown instruction 'CNOTT': did you mean "
                               "'CNOT'?"));
  EXPECT_TRUE(error_of("DEPOLARIZE 0")
                  .starts_with("f:1:1: unknown instruction 'DEPOLARIZE': did "
                               "you mean 'DEPOLARIZE1'?"));
  EXPECT_TRUE(error_of("X_ERROR(1.5) 0").starts_with("f:1:1: X_ERROR: argument 1.5 is not"));
  EXPECT_TRUE(error_of("X_ERROR 0").starts_with("f:1:1: X_ERROR takes 1 argument, not 0"));
}

TEST(StimText, every_instruction_has_a_name_that_reads_back) {
  int count = 0;
  for (const auto& op : circuit::stabilizer_ops()) {
    if (op.name.empty()) continue;
    EXPECT_TRUE(circuit::find_stabilizer_op(op.name).found) << op.name;
    ++count;
  }
  for (const auto& gate : circuit::gate_table()) {
    if (!gate.stim.empty()) ++count;
  }
  EXPECT_EQ(count, 81 + 15 + 16);  // Stim's, what is no Clifford gate, and leakage
}

struct Bad {
  const char* text;
  const char* where;
};
constexpr Bad kBad[] = {
    {"H 0\nFOO 1", "2:1"},
    {"H 0 x", "1:6"},
    {"M 0\nM rec[-1]", "2:1"},
    {"DETECTOR rec[-0]", "1:10"},
    {"DETECTOR rec[1]", "1:10"},
    {"REPEAT 3 {\nH 0\n", "1:10"},
    {"REPEAT 0 {\n}", "1:8"},
    {"}", "1:1"},
    {"H 0 {", "1:5"},
    {"X_ERROR(1.5) 0", "1:1"},
    {"X_ERROR(0.1 0", "1:13"},
    {"X_ERROR(+-0.1) 0", "1:9"},
    {"X_ERROR(++0.1) 0", "1:9"},
    {"X_ERROR 0", "1:1"},
    {"CX 0", "1:1"},
    {"CX 1 1", "1:1"},
    {"M 0\nCX 0 rec[-1]", "2:1"},
    {"M 0,1", "1:4"},
    {"H[tag 0", "1:2"},
    {"S[T](0.1) 0", "1:1"},
    {"MPP X0*", "1:1"},
    {"MPP *X0", "1:1"},
    {"H 99999999999", "1:3"},
    {"MPAD 2", "1:1"},
    {"PAULI_CHANNEL_1(0.5,0.5,0.5) 0", "1:1"},
    {"M 0\nOBSERVABLE_INCLUDE(0.5) rec[-1]", "2:1"},
    {"CX !0 1", "1:1"},
    {"M 0\nDETECTOR rec[-1] rec[-2]", "2:18"},
    {"REPEAT 2 {\nDETECTOR rec[-1]\nM 0\n}", "2:10"},
    {"CX rec[-1] 0", "1:4"},
    {"H 0\nMPP X0*X1 X0*Y0", "2:1"},
    {"SPP X0*Y1*Z0", "1:1"},
    {"R_X 0", "1:1"},
    {"R_X(0.1, 0.2) 0", "1:1"},
    {"R_X(inf) 0", "1:1"},
    {"T(0.5) 0", "1:1"},
    {"T rec[-1]", "1:3"},
    {"CCX 0 1", "1:1"},
    {"CCZ 0 1 0", "1:1"},
    {"CH 1 1", "1:1"},
    {"R_PAULI(0.1) !X0", "1:1"},
    {"U3(0.1, 0.2) 0", "1:1"},
    {"I[R_Z(theta=0.25)] 0", "1:2"},
    {"S[R_Z(theta=0.25*pi)] 0", "1:2"},
    {"I[U3(theta=0.1*pi, phi=0.2*pi)] 0", "1:2"},
};

// Tags with which tsim writes gates are those gates; other tags stay tags.
TEST(StimText, gates_in_tags) {
  const auto read = [](const char* text) { return print_stim(parse_stim(text)); };
  EXPECT_EQ(read("S[T] 0 1\nS_DAG[T] 0\nSPP[T] X0*!Y1\nSPP_DAG[T] Z0\n"),
            "T 0 1\nT_DAG 0\nTPP X0*!Y1\nTPP_DAG Z0\n");
  EXPECT_EQ(read("S[T:mine] 0\nI[T] 1\n"), "T[mine] 0\nT 1\n");
  EXPECT_EQ(read("I[R_Z(theta=0.25*pi)] 0\nI[R_X(theta=-1e-1*pi):a] 1\n"),
            "R_Z(0.25) 0\nR_X[a](-0.1) 1\n");
  EXPECT_EQ(read("SPP[R_PAULI(theta=0.5*pi)] X0*X1\n"), "R_PAULI(0.5) X0*X1\n");
  EXPECT_EQ(read("I[U3(theta=0.1*pi, phi=0*pi, lambda=1*pi)] 3\n"), "U3(0.1, 0, 1) 3\n");
  EXPECT_EQ(read("S[t] 0\nS[Tee] 1\nH[T] 0\nM[T] 0\n"), "S[t] 0\nS[Tee] 1\nH[T] 0\nM[T] 0\n");
  const std::string all =
      "T 0\nT_DAG 1\nTPP X0*Y1\nTPP_DAG !Z0\nR_X(0.1) 0\nR_Y(0.2) 0\nR_Z(-0.3) 0\n"
      "R_XX(0.4) 0 1\nR_YY(0.5) 0 1\nR_ZZ(0.6) 0 1 2 3\nR_PAULI(0.7) X0*Y1*Z2\n"
      "U3(0.1, 0.2, 0.3) 0\nCCX 0 1 2\nCCZ 0 1 2 3 4 5\nCH 0 1\n";
  EXPECT_EQ(read(all.c_str()), all);
  EXPECT_EQ(read("U(0.1, 0.2, 0.3) 0\n"), "U3(0.1, 0.2, 0.3) 0\n");
}

// Files that were named by mistake, or are another's, are refused without a word of them.
TEST(StimText, other_files_are_not_shown) {
  const auto message_of = [](auto parse, const char* text, const char* name) {
    const std::string message = error_of([&] { parse(text, name); }, ExitCode::kInput);
    EXPECT_NE(message, "no error") << text;
    return message;
  };
  for (const char* text :
       {"secret:x:0:0::/root:/bin/sh\n", "password secret\n", "{\"key\": \"secret\"}",
        "-----BEGIN secret KEY-----\n", "M secret", "# note\n\nsecret = 5"}) {
    for (const std::string& message :
         {message_of([](auto t, auto n) { parse_stim(t, n); }, text, "f"),
          message_of([](auto t, auto n) { parse_dem(t, n); }, text, "f")}) {
      EXPECT_EQ(message.find("secret"), std::string::npos) << message;
      EXPECT_TRUE(has(message, "does not start like"));
    }
    // who typed it may see it
    EXPECT_TRUE(has(message_of([](auto t, auto n) { parse_stim(t, n); }, text, "<circuit>"), "^"));
  }
  // mistakes in files that are what they should be are shown
  for (const char* text : {"HH 0", "M 0,1", "DETECTOR(1) rec[-1", "}"}) {
    EXPECT_TRUE(has(message_of([](auto t, auto n) { parse_stim(t, n); }, text, "f"), "^")) << text;
  }
}

TEST(StimText, errors_say_where) {
  for (const Bad& bad : kBad) {
    const std::string message = error_of([&] { parse_stim(bad.text, "f"); }, ExitCode::kInput);
    EXPECT_TRUE(message.starts_with("f:" + std::string(bad.where) + ":"))
        << bad.text << " -> " << message;
    EXPECT_TRUE(has(message, "^"));
  }
}

TEST(DemText, prints_what_it_reads) {
  const std::string text =
      "error(0.125) D0 D1 ^ D2 L0\nerror[t](0.1)\ndetector(1, 2) D5\nlogical_observable "
      "L3\nshift_detectors(0, 1) 4\n"
      "repeat 1000000000000 {\n    error(0.5) D0\n    shift_detectors 1\n}\n";
  EXPECT_EQ(print_dem(parse_dem(text)), text);
  EXPECT_THROW(parse_dem("error(2) D0"), Error);
  EXPECT_THROW(parse_dem("detector L0"), Error);
  EXPECT_THROW(parse_dem("repeat 2 {"), Error);
  for (const char* wrong :
       {"detector", "detector D1 D2", "logical_observable", "logical_observable L0 L1",
        "logical_observable(1) L0", "error(0.1) ^", "error(0.1) ^ D0", "error(0.1) D0 ^",
        "error(0.1) D0 ^ ^ D1", "error(0.1) D0L1", "error(0.1) D0^D1", "error(0.1)D0",
        "shift_detectors 1 D0"}) {
    EXPECT_THROW(parse_dem(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace tilewave::language
