#include "tilewave/io/text_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tilewave/base/error.h"

namespace tilewave::io {
namespace {

std::string error_at(std::string_view text, std::size_t offset) {
  try {
    fail_at({"f", text}, offset, "problem");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kInput);
    return e.what();
  }
}

TEST(TextSource, points_at_lines_and_columns) {
  EXPECT_EQ(error_at("abc", 0), "f:1:1: problem\nabc\n^");
  EXPECT_EQ(error_at("abc\ndef\n", 5), "f:2:2: problem\ndef\n ^");
  EXPECT_EQ(error_at("abc\n", 4), "f:2:1: problem\n\n^");
  EXPECT_EQ(error_at("abc", 99), "f:1:4: problem\nabc\n   ^");
  EXPECT_EQ(error_at("", 0), "f:1:1: problem\n\n^");
  EXPECT_EQ(error_at("a\tb\r\n", 2), "f:1:3: problem\na b\n  ^");
  EXPECT_EQ(error_at("a\nb", 1), "f:1:2: problem\na\n ^");
}

TEST(TextSource, counts_characters_not_bytes) {
  EXPECT_EQ(error_at("\xC3\xA9\xE2\x82\xAC x", 6), "f:1:4: problem\n\xC3\xA9\xE2\x82\xAC x\n   ^");
}

TEST(TextSource, shows_a_window_of_a_long_line) {
  const std::string line = std::string(500, 'a') + "X" + std::string(500, 'b');
  EXPECT_EQ(error_at(line, 500), "f:1:501: problem\n..." + std::string(60, 'a') + "X" +
                                     std::string(59, 'b') + "...\n" + std::string(63, ' ') + "^");
}

TEST(TextSource, reads_files_and_pipes_whole) {
  const std::string path = testing::TempDir() + "tilewave_text_source_test";
  std::string text;
  for (int k = 0; k < 300000; ++k) text += static_cast<char>('a' + k % 26);
  std::ofstream(path) << text;
  EXPECT_EQ(read_text_file(path), text);
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(read_text_file(path), "");
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << text; });
  EXPECT_EQ(read_text_file(path), text);
  writer.join();
  ::unlink(path.c_str());
}

TEST(TextSource, suggests_only_near_names) {
  const std::string_view names[] = {"cx", "cz", "measure", "barrier", "u3", "h"};
  EXPECT_EQ(nearest_name("measur", names), "measure");
  EXPECT_EQ(nearest_name("mesaure", names), "measure");
  EXPECT_EQ(nearest_name("u4", names), "u3");
  EXPECT_EQ(nearest_name("hh", names), "h");
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("q", names), "");
  EXPECT_EQ(nearest_name(std::string(100, 'x'), names), "");
  EXPECT_EQ(nearest_name("H", names), "h");
  EXPECT_EQ(nearest_name("MEASURE", names), "measure");
  EXPECT_EQ(did_you_mean_gate("CNOT", names), ": did you mean 'cx'?");
  EXPECT_EQ(did_you_mean_gate("toffoli", names), "");  // there is no ccx
  EXPECT_EQ(did_you_mean_gate("hh", names), ": did you mean 'h'?");
  EXPECT_EQ(did_you_mean("cxx", names), ": did you mean 'cx'?");
  EXPECT_EQ(did_you_mean("zzz", names), "");
}

}  // namespace
}  // namespace tilewave::io
