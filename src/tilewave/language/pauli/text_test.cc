#include "tilewave/language/pauli/text.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::language {
namespace {

using circuit::PauliOrder;
using circuit::PauliSum;
using circuit::WidePauliSum;

PauliSum pauli_sum(std::string_view text, PauliOrder order = PauliOrder::kLastIsQubit0,
                   std::uint32_t n = 4) {
  PauliSum sum;
  for (const auto& term : parse_pauli_sum(text, "sum", order, n)) {
    sum.push_back(circuit::narrow(term));
  }
  return sum;
}

std::string pauli_error(std::string_view text) {
  return first_line(error_of([&] { pauli_sum(text); }, ExitCode::kInput));
}

TEST(PauliText, reads_dense_and_sparse_strings_in_one_sum) {
  const PauliSum s = pauli_sum("0.5 ZZI + 0.2 X0 Y3 - Z1*X_2 -1e-3*I");
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[0].coefficient, 0.5);
  EXPECT_EQ(s[0].z, 0b110u);
  EXPECT_EQ(s[0].x, 0u);
  EXPECT_EQ(s[1].x, 0b1001u);
  EXPECT_EQ(s[1].z, 0b1000u);
  EXPECT_EQ(s[2].coefficient, -1);
  EXPECT_EQ(s[2].x, 0b100u);
  EXPECT_EQ(s[2].z, 0b010u);
  EXPECT_EQ(s[3].coefficient, -1e-3);
  EXPECT_EQ(s[3].x | s[3].z, 0u);
}

TEST(PauliText, a_sum_as_programs_print_it) {
  const PauliSum s = pauli_sum("0.5 ZZI + -0.2 X0 - -3 Y0 +\n -1e-3 I");
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[1].coefficient, -0.2);
  EXPECT_EQ(s[2].coefficient, 3);
  EXPECT_EQ(s[3].coefficient, -1e-3);
}

TEST(PauliText, the_order_says_which_end_is_qubit_0) {
  EXPECT_EQ(pauli_sum("XIZ", PauliOrder::kLastIsQubit0)[0].x, 0b100u);
  EXPECT_EQ(pauli_sum("XIZ", PauliOrder::kFirstIsQubit0)[0].x, 0b001u);
  EXPECT_EQ(pauli_sum("XIZ", PauliOrder::kFirstIsQubit0)[0].z, 0b100u);
  EXPECT_EQ(pauli_sum("X2", PauliOrder::kFirstIsQubit0)[0].x, 0b100u);
}

TEST(PauliText, reads_a_term_a_line) {
  const PauliSum s =
      pauli_sum("-13.6598368288419731\tIIII\r\n  0.19 IIIZ # z\n\n# only words\n X0 Y1 +\n ZZ\n");
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[0].coefficient, -13.6598368288419731);
  EXPECT_EQ(s[1].z, 1u);
  EXPECT_EQ(s[2].x, 3u);
  EXPECT_EQ(s[3].z, 3u);
}

TEST(PauliText, reads_files_that_an_editor_has_marked) {
  const std::string path = ::testing::TempDir() + "/tilewave_marked_pauli.txt";
  std::ofstream(path) << "\xEF\xBB\xBF# a sum\n0.5 ZZI\n";
  const auto sum = read_pauli_file(path, PauliOrder::kLastIsQubit0, 3);
  std::filesystem::remove(path);
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum[0].coefficient, 0.5);
}

TEST(PauliText, prints_what_it_reads) {
  for (const auto order : {PauliOrder::kLastIsQubit0, PauliOrder::kFirstIsQubit0}) {
    for (const char* text : {"0.5 ZZIX", "-0.1 YIXI", "1e-30 IIII"}) {
      EXPECT_EQ(to_text(pauli_sum(text, order)[0], order, 4), text);
    }
  }
}

TEST(PauliText, strings_reach_as_far_as_the_register) {
  const std::string dense = "X" + std::string(126, 'I') + "Y";
  const WidePauliSum last = parse_pauli_sum(dense, "sum", PauliOrder::kLastIsQubit0, 128);
  EXPECT_TRUE(last[0].has_x(127) && !last[0].has_z(127));
  EXPECT_TRUE(last[0].has_x(0) && last[0].has_z(0) && !last[0].has_x(63) && !last[0].has_x(64));
  EXPECT_EQ(to_text(last[0], PauliOrder::kLastIsQubit0, 128), "1 " + dense);
  const WidePauliSum first =
      parse_pauli_sum("2 Z100 Z3 + Y64", "sum", PauliOrder::kFirstIsQubit0, 101);
  for (std::size_t q = 0; q < 200; ++q) {
    EXPECT_EQ(first[0].has_z(q), q == 100 || q == 3) << q;
    EXPECT_EQ(first[1].has_x(q), q == 64) << q;
    EXPECT_EQ(first[1].has_z(q), q == 64) << q;
  }
  EXPECT_THROW(parse_pauli_sum("Z101", "sum", PauliOrder::kLastIsQubit0, 101), Error);
  EXPECT_THROW(parse_pauli_sum("Z100 Z3 X100", "sum", PauliOrder::kLastIsQubit0, 101), Error);
}

TEST(PauliText, errors_point_at_their_place) {
  EXPECT_EQ(pauli_error(""), "sum:1:1: no Pauli string: write a sum such as '0.5 ZZI + 0.2 X0 Y3'");
  EXPECT_EQ(pauli_error("0.5 ZZQ"),
            "sum:1:5: expected a qubit after 'Z': write a string dense (ZZI) or sparse (Z0 Z1), "
            "not both");
  EXPECT_EQ(pauli_error("ZZIII"), "sum:1:1: this string is for 5 qubits, the circuit has 4");
  EXPECT_EQ(pauli_error("Z0 X4"), "sum:1:4: this qubit is out of range: the circuit has 4 qubits");
  EXPECT_EQ(pauli_error("Z0 X99999999999999999999"),
            "sum:1:4: this qubit is out of range: the circuit has 4 qubits");
  EXPECT_EQ(pauli_error("Z0 X0"), "sum:1:4: qubit 0 is named twice");
  EXPECT_EQ(pauli_error("Z0\n0.5"),
            "sum:2:4: expected a Pauli string such as 'ZZI' or 'X0 Y3' ('I' for a constant)");
  EXPECT_EQ(pauli_error("1e999 Z"), "sum:1:1: a coefficient must be a finite number");
  EXPECT_EQ(pauli_error("nan Z"),
            "sum:1:1: expected a Pauli string such as 'ZZI' or 'X0 Y3' ('I' for a constant)");
  EXPECT_EQ(pauli_error("ZZ - --2 XX"),
            "sum:1:7: expected a Pauli string such as 'ZZI' or 'X0 Y3' ('I' for a constant)");
  EXPECT_EQ(pauli_error("ZZ XX"), "sum:1:4: expected '+' or '-' between terms");
  EXPECT_EQ(pauli_error("1e308 ZZ + 1e308 XX"),
            "sum:1:12: the coefficients add up to more than a double holds");
  EXPECT_EQ(pauli_error("1e308 ZZ - 1e308 ZZ"),
            "sum:1:12: the coefficients add up to more than a double holds");
  EXPECT_EQ(pauli_error("-1e308 ZZ\n-1e308 ZZ"),
            "sum:2:2: the coefficients add up to more than a double holds");
  EXPECT_EQ(pauli_sum("1e-400 ZZ + 0.5*XX + .5 * Y0")[0].coefficient, 0);
  EXPECT_EQ(pauli_error("X0 + "),
            "sum:1:6: expected a Pauli string such as 'ZZI' or 'X0 Y3' ('I' for a constant)");
}

}  // namespace
}  // namespace tilewave::language
