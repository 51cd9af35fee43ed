#include "tilewave/language/text/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::language {
namespace {

std::string error_at(std::string_view text, std::size_t offset) {
  return error_of([&] { fail_at({"f", text}, offset, "problem"); }, ExitCode::kInput);
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

TEST(TextSource, messages_hold_nothing_that_a_terminal_acts_on) {
  const struct {
    std::string text, shown;
  } cases[] = {
      {"a\x1b[31mb", "a [31mb"},     // colours
      {"a\tb\r\nc\x7f", "a b  c "},  // C0 and DEL
      {"a\xC2\x9B"
       "31m\xC2\xA0",
       "a 31m\xC2\xA0"},  // C1, but no-break space stays
      {"\xE2\x80\xAE"
       "abc\xE2\x81\xA6"
       "d",
       " abc d"},  // marks of the direction of writing
      {"\xE2\x80\xA8\xE2\x82\xAC\xCF\x80", " \xE2\x82\xAC\xCF\x80"},
      {"a\xC3", "a?"},  // half a character
      {"\x80\xFF\xC0\x80", "????"},
      {"\xED\xA0\x80", "???"},  // a surrogate
      {"\xF0\x9F\x99\x82", "\xF0\x9F\x99\x82"},
      {std::string("a\0b", 3), "a b"},
  };
  for (const auto& c : cases) EXPECT_EQ(without_controls(c.text), c.shown);
  EXPECT_EQ(error_at("a\x1b[1mb\xC3 c", 4), "f:1:5: problem\na [1mb? c\n    ^");
  EXPECT_EQ(error_of([] {
              fail_at({"n\x1bq", "x"}, 0, "unknown '\x1b[0m\n\xFF'");
            }),
            "n q:1:1: unknown ' [0m ?'\nx\n^");
}

TEST(TextSource, messages_are_short_however_long_their_parts_are) {
  const std::string name(1 << 20, 'a');
  const std::string shown = printable("unknown name '" + name + "' here");
  EXPECT_EQ(shown,
            "unknown name '" + std::string(59, 'a') + "..." + std::string(11, 'a') + "' here");
  std::string words;
  for (int k = 0; k < 100000; ++k) words += "ab ";
  EXPECT_LT(printable(words).size(), 1000u);
  EXPECT_EQ(printable("as it is, up to eighty letters: " + std::string(80, 'x')),
            "as it is, up to eighty letters: " + std::string(80, 'x'));
  std::string umlauts;
  for (int k = 0; k < 1000; ++k) umlauts += "\xC3\xA4";
  for (std::size_t k = 0; k < 5; ++k) {  // cut between characters wherever they lie
    const std::string cut = printable(std::string(k, 'x') + umlauts);
    EXPECT_EQ(cut.find('?'), std::string::npos) << cut;
    EXPECT_LT(cut.size(), 100u);
  }
}

TEST(TextSource, what_never_ends_is_read_up_to_its_first_NUL) {
  const std::string text = read_text_file("/dev/zero");
  EXPECT_LT(text.size(), 1u << 20);
  EXPECT_EQ(text.find_first_not_of('\0'), std::string::npos);
  const std::string path = testing::TempDir() + "tilewave_text_source_pipe";
  ::unlink(path.c_str());
  std::signal(SIGPIPE, SIG_IGN);  // the reader may be gone before all is written
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "abc" << std::string(100000, '\0'); });
  EXPECT_EQ(read_text_file(path).substr(0, 4), std::string("abc\0", 4));
  writer.join();
  ::unlink(path.c_str());
}

TEST(TextSource, a_file_beyond_memory_is_refused_with_its_size) {
  const std::string path = testing::TempDir() + "tilewave_text_source_large";
  std::ofstream(path) << "OPENQASM 3.0;";
  std::error_code problem;
  for (int bits = 42; bits <= 46; ++bits) {  // 4 TiB and more, of which nothing is on the disk
    std::filesystem::resize_file(path, std::uintmax_t{1} << bits, problem);
    if (problem) break;  // the largest file of this file system was tried
    expect_error([&] { read_text_file(path); },
                 "a text of " + std::to_string(1 << (bits - 40)) + " TiB or more",
                 ExitCode::kResources);
  }
  std::filesystem::remove(path);
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
  EXPECT_EQ(did_you_mean("cx", names), "");  // the name itself is no advice
}

}  // namespace
}  // namespace tilewave::language
