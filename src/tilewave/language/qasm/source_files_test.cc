// Included files, of both languages: what may be one, how deep and how many.
#include "tilewave/language/qasm/source_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/circuit_file.h"

namespace tilewave::language {
namespace {

const std::string kHeads[] = {"OPENQASM 2.0;\n", "OPENQASM 3.0;\n"};

class SourceFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "tilewave_includes_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }

  // Of a main file with this text.
  std::string error(const std::string& text) const {
    write("main.qasm", text);
    return first_line(
        error_of([&] { read_circuit_file(folder_ + "/main.qasm"); }, ExitCode::kInput));
  }

  std::string folder_;
};

TEST_F(SourceFilesTest, files_lie_beside_the_one_that_includes_them) {
  std::filesystem::create_directories(folder_ + "/sub");
  write("sub/a.inc", "include \"b.inc\";\nqreg r[2];");
  write("sub/b.inc", "gate mine a { x a; }");
  write("empty.inc", "");
  for (const std::string& head : kHeads) {
    EXPECT_EQ(error(head +
                    "qreg q[1]; include \"empty.inc\"; include \"sub/a.inc\"; mine r[1]; "
                    "include \"" +
                    folder_ + "/empty.inc\";"),
              "no error");
    std::vector<std::string> included;
    read_circuit_file(folder_ + "/main.qasm", {}, &included);
    std::sort(included.begin(), included.end());
    EXPECT_EQ(included, (std::vector<std::string>{folder_ + "/empty.inc", folder_ + "/empty.inc",
                                                  folder_ + "/sub/a.inc", folder_ + "/sub/b.inc"}));
    write("sub/c.inc", "qreg s[2];\nx s[7];");
    const std::string found = error(head + "include \"sub/c.inc\";");
    EXPECT_TRUE(has(found, "/sub/c.inc:2:5: index 7 is out of range"));
  }
}

TEST_F(SourceFilesTest, only_files_can_be_included) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  for (const std::string& head : kHeads) {
    for (const std::string name : {"/dev/zero", "/dev/stdin", "pipe", "/dev/null"}) {
      EXPECT_TRUE(has(error(head + "include \"" + name + "\"; qreg q[1];"),
                      ": only a file can be included, not a device or the standard input"))
          << name;
    }
    EXPECT_TRUE(has(error(head + "include \"/tmp\";"), "it is a directory"));
    EXPECT_TRUE(has(error(head + "include \"nowhere\";"), "No such file"));
  }
  for (const std::string& head : kHeads) {
    expect_error([&] { parse_circuit(head + "include \"-\"; qreg q[1];", "<stdin>"); },
                 "-: only a file can be included", ExitCode::kInput);
  }
}

TEST_F(SourceFilesTest, a_library_is_read_once) {
  for (const std::string& head : kHeads) {
    write("lib.inc", "include \"hqslib1.inc\"; include \"qelib1.inc\"; gate mine q { Rz(0.5) q; }");
    EXPECT_EQ(
        error(head +
              "include \"hqslib1.inc\"; include \"lib.inc\"; include \"hqslib1.inc\"; "
              "include \"qelib1.inc\"; qreg q[2]; mine q[0]; ZZ q[0], q[1]; U1q(0.1, 0.2) q[0];"),
        "no error");
    // what a program defines itself is defined twice in any case
    EXPECT_TRUE(
        has(error(head + "include \"hqslib1.inc\"; gate ZZ a, b { cx a, b; } qreg q[2];"), "ZZ"));
  }
  const circuit::Circuit c = parse_circuit(
      kHeads[0] + "include \"hqslib1.inc\"; include \"hqslib1.inc\"; qreg q[2]; ZZ q[0], q[1];",
      "test");
  EXPECT_EQ(c.ops().size(), 1u);
  EXPECT_TRUE(c.notes().empty());
}

TEST_F(SourceFilesTest, what_does_not_fit_memory_is_no_fault_of_the_input) {
  write("large.inc", "// text\n");
  std::error_code problem;
  std::filesystem::resize_file(folder_ + "/large.inc", std::uintmax_t{1} << 43, problem);
  if (problem) std::filesystem::resize_file(folder_ + "/large.inc", std::uintmax_t{1} << 42);
  for (const std::string& head : kHeads) {
    write("main.qasm", head + "\ninclude \"large.inc\"; qreg q[1];");
    const std::string message =
        error_of([&] { read_circuit_file(folder_ + "/main.qasm"); }, ExitCode::kResources);
    EXPECT_TRUE(has(message, "/main.qasm:3:9: ")) << head;
    EXPECT_TRUE(has(message, "does not fit this machine's memory"));
  }
}

TEST_F(SourceFilesTest, end_in_an_included_file_ends_the_program) {
  write("stop.inc", "x q[0]; end; x q[0];");
  write("main.qasm", "OPENQASM 3.0; qubit[1] q; include \"stop.inc\"; x q[0];");
  EXPECT_EQ(read_circuit_file(folder_ + "/main.qasm").ops().size(), 1u);
}

TEST_F(SourceFilesTest, includes_that_multiply_are_refused_at_once) {
  for (const std::string& head : kHeads) {
    for (int depth = 0; depth < 15; ++depth) {
      std::string text;
      for (int k = 0; k < 10; ++k) text += "include \"f" + std::to_string(depth + 1) + ".inc\";\n";
      write("f" + std::to_string(depth) + ".inc", text);
    }
    write("f15.inc", "// nothing\n");
    const std::string found = error(head + "include \"f0.inc\"; qreg q[1];");
    EXPECT_TRUE(has(found, "the program includes more than 4096 files"));
    write("own.inc", "include \"own.inc\";");
    EXPECT_TRUE(has(error(head + "include \"own.inc\";"), "include each other more than 16 deep"));
  }
}

}  // namespace
}  // namespace tilewave::language
