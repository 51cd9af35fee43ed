#include "tilewave/base/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tilewave/base/error.h"

namespace tilewave {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("whole_file" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "other");
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string get(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t num_files() const {
    const fs::directory_iterator files(folder_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  fs::path folder_;
};

TEST_F(WholeFileTest, appears_when_whole_and_otherwise_leaves_the_old_file) {
  const fs::path path = folder_ / "a.npy";
  put(path, "old");
  {
    WholeFile file(path);
    file.write("new");
    EXPECT_EQ(get(path), "old");
    EXPECT_EQ(num_files(), 3u);
  }
  EXPECT_EQ(get(path), "old");
  EXPECT_EQ(num_files(), 2u);
  WholeFile file(path);
  std::string all;
  for (const std::size_t size : {3u, 65535u, 65536u, 1u, 200000u, 0u, 7u}) {  // gathered or not
    all += std::string(size, static_cast<char>('a' + all.size() % 26));
    file.write(std::string_view(all).substr(all.size() - size));
  }
  file.commit();
  EXPECT_EQ(get(path), all);
  EXPECT_EQ(num_files(), 2u);
  EXPECT_THROW(file.commit(), Error);
}

TEST_F(WholeFileTest, touches_no_file_beside_it) {
  for (const char* name : {"a.part", "b"}) put(folder_ / name, "precious");
  fs::create_symlink(folder_ / "b", folder_ / "c.part");
  for (const char* name : {"a", "c"}) write_whole_file(folder_ / name, "text");
  EXPECT_EQ(get(folder_ / "a.part"), "precious");
  EXPECT_EQ(get(folder_ / "b"), "precious");
  EXPECT_TRUE(fs::is_symlink(folder_ / "c.part"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "c"));
}

TEST_F(WholeFileTest, a_link_is_followed_to_its_target) {
  put(folder_ / "other" / "there", "old");
  fs::create_symlink("other/there", folder_ / "one");
  fs::create_symlink(folder_ / "one", folder_ / "two");
  fs::create_symlink("other/not_yet", folder_ / "three");
  for (const char* name : {"two", "three"}) {
    write_whole_file(folder_ / name, name);
    EXPECT_TRUE(fs::is_symlink(folder_ / name));
    EXPECT_EQ(get(folder_ / name), name);
  }
  EXPECT_EQ(get(folder_ / "other" / "there"), "two");
  EXPECT_TRUE(fs::is_symlink(folder_ / "one"));
  EXPECT_TRUE(fs::is_regular_file(folder_ / "other" / "not_yet"));
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_NO_THROW(write_whole_file(folder_ / "circle", "a link to itself is replaced"));
}

TEST_F(WholeFileTest, the_mode_is_the_users) {
  const mode_t before = ::umask(027);
  write_whole_file(folder_ / "a", "text");
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
}

TEST_F(WholeFileTest, the_last_of_two_writers_wins_whole) {
  const fs::path path = folder_ / "a";
  const auto write = [&](char letter) {
    for (int k = 0; k < 50; ++k) write_whole_file(path, std::string(100000, letter));
  };
  std::thread one(write, 'x'), two(write, 'y');
  one.join();
  two.join();
  const std::string text = get(path);
  EXPECT_EQ(text, std::string(100000, text.at(0)));
  EXPECT_EQ(num_files(), 2u);
}

TEST_F(WholeFileTest, pipes_and_devices_are_written_directly) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = get(pipe); });
  write_whole_file(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_NO_THROW(write_whole_file("/dev/null", "text"));
}

TEST_F(WholeFileTest, what_cannot_be_written_is_a_resource_error) {
  for (const std::string& path : {std::string("/dev/full"), (folder_ / "no/where").string(),
                                  folder_.string(), folder_.string() + "/"}) {
    try {
      write_whole_file(path, "text");
      ADD_FAILURE() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::kResources);
      EXPECT_TRUE(std::string(e.what()).starts_with(path + ": cannot write: ")) << e.what();
    }
  }
  EXPECT_NO_THROW(check_writable(folder_ / "a", 1000));
  EXPECT_NO_THROW(check_writable("/dev/full", 1000));
  EXPECT_THROW(check_writable(folder_ / "a", std::uint64_t{1} << 62), Error);
  EXPECT_EQ(num_files(), 1u);
}

// In a process of its own: what is done when a signal ends it, and a limit of file sizes.
TEST_F(WholeFileTest, a_signal_and_a_limit_leave_nothing) {
  put(folder_ / "a", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGTERM, [](int) {
      remove_unfinished_files();
      ::_exit(7);
    });
    const struct rlimit limit { 1000, 1000 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      write_whole_file(folder_ / "a", std::string(2000, 'x'));
    } catch (const Error& e) {
      code = std::string(e.what()).find("ulimit -f") != std::string::npos ? 0 : 2;
    }
    try {
      check_writable(folder_ / "a", 2000);
      code = 3;
    } catch (const Error&) {
    }
    const WholeFile one(folder_ / "a"), two(folder_ / "other" / "b");
    if (code != 0) ::_exit(code);
    ::raise(SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(get(folder_ / "a"), "old");
  EXPECT_EQ(num_files(), 2u);
  EXPECT_TRUE(fs::is_empty(folder_ / "other"));
}

}  // namespace
}  // namespace tilewave
