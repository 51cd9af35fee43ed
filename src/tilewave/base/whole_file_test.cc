#include "tilewave/base/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

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

TEST_F(WholeFileTest, the_permissions_are_those_of_the_file_replaced) {
  const mode_t before = ::umask(022);
  for (const mode_t mode : {0600u, 0664u, 0755u, 0222u}) {
    const std::string path = folder_ / "a";
    put(path, "old");
    ::chmod(path.c_str(), mode);
    if (::geteuid() == 0) {
      EXPECT_EQ(::chown(path.c_str(), 65534, 65533), 0);
    }
    fs::remove(folder_ / "link");
    fs::create_symlink(path, folder_ / "link");
    struct stat want {
    }, got{};
    ::stat(path.c_str(), &want);
    write_whole_file(mode == 0664u ? (folder_ / "link").string() : path, "new");
    ::stat(path.c_str(), &got);
    EXPECT_EQ(got.st_mode, want.st_mode);
    EXPECT_EQ(got.st_uid, want.st_uid);
    EXPECT_EQ(got.st_gid, want.st_gid);
    ::chmod(path.c_str(), 0666);
    EXPECT_EQ(get(path), "new");
    fs::remove(path);
  }
  ::umask(before);
}

// In a process of its own, that of no administrator.
TEST_F(WholeFileTest, what_the_user_may_not_write_stays) {
  put(folder_ / "other" / "a", "old");
  put(folder_ / "b", "old");
  ::chmod((folder_ / "other" / "a").c_str(), 0666);
  ::chmod((folder_ / "b").c_str(), 0444);
  ::chmod((folder_ / "other").c_str(), 0555);
  ::chmod(folder_.c_str(), 0777);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    const auto refusal = [](const fs::path& path) -> std::string {
      try {
        write_whole_file(path, "new");
      } catch (const Error& e) {
        return e.code() == ExitCode::kResources ? e.what() : "";
      }
      return "";
    };
    const fs::path a = folder_ / "other" / "a", b = folder_ / "b";
    if (!refusal(a).starts_with(a.string() + ": cannot write: Permission denied in its folder"))
      ::_exit(2);
    if (refusal(b) != b.string() + ": cannot write: Permission denied") ::_exit(3);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::chmod((folder_ / "other").c_str(), 0755);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(get(folder_ / "other" / "a"), "old");
  EXPECT_EQ(get(folder_ / "b"), "old");
}

TEST_F(WholeFileTest, descriptors_are_written_from_where_they_stand) {
  const std::string path = folder_ / "a";
  const std::string big(200'000, 'x');
  for (const bool has_name : {true, false}) {
    for (const int how : {O_APPEND, 0}) {
      put(path, "first, ");
      const int fd = ::open(path.c_str(), O_RDWR | how);
      ASSERT_GE(fd, 0);
      if (!has_name) fs::remove(path);
      if (!how) ::lseek(fd, 0, SEEK_END);
      const std::string number = std::to_string(fd);
      fs::remove(folder_ / "link");
      fs::create_symlink("/dev/fd/" + number, folder_ / "link");
      std::string want = "first, ";
      for (const std::string& name :
           {"/dev/fd/" + number, "/proc/self/fd/" + number,
            "/proc/" + std::to_string(::getpid()) + "/fd/" + number, (folder_ / "link").string()}) {
        check_writable(name, 10);
        { WholeFile file(name); }
        write_whole_file(name, name + big);
        want += name + big;
      }
      std::string got(want.size() + 1, '\0');
      const ssize_t size = ::pread(fd, got.data(), got.size(), 0);
      got.resize(static_cast<std::size_t>(size));
      EXPECT_TRUE(got == want) << has_name << " " << how;
      ::close(fd);
      EXPECT_EQ(num_files(), has_name ? 3u : 2u);
    }
  }
  put(path, "old");
  const int fd = ::open(path.c_str(), O_RDONLY);
  EXPECT_THROW(write_whole_file("/dev/fd/" + std::to_string(fd), "new"), Error);
  ::close(fd);
  EXPECT_THROW(write_whole_file("/dev/fd/" + std::to_string(fd), "new"), Error);
  EXPECT_EQ(get(path), "old");
  // a pipe whose reader is slow, and which does not wait by itself
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  std::string got;
  std::thread reader([&] {
    char part[1000];
    for (;;) {
      const ssize_t came = ::read(ends[0], part, sizeof part);
      if (came == 0) return;
      if (came > 0) got.append(part, static_cast<std::size_t>(came));
    }
  });
  write_whole_file("/dev/fd/" + std::to_string(ends[1]), big);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_TRUE(got == big);
}

// What another process has open under no name is not written over.
TEST_F(WholeFileTest, files_without_a_name_are_refused) {
  const std::string path = folder_ / "a";
  put(path, "old");
  const int fd = ::open(path.c_str(), O_RDWR);
  fs::remove(path);
  const std::string of_parent = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      write_whole_file(of_parent, "new");
    } catch (const Error& e) {
      ::_exit(std::string(e.what()).ends_with("without a name: name a file") ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  char got[10];
  EXPECT_EQ(std::string(got, static_cast<std::size_t>(::pread(fd, got, 10, 0))), "old");
  ::close(fd);
}

TEST_F(WholeFileTest, the_last_of_two_writers_wins_whole) {
  const fs::path path = folder_ / "a";
  const auto write = [&](char letter) {
    for (int k = 0; k < 200; ++k) write_whole_file(path, std::string(30000, letter));
  };
  std::thread one(write, 'x'), two(write, 'y');
  one.join();
  two.join();
  const std::string text = get(path);
  EXPECT_EQ(text, std::string(30000, text.at(0)));
  EXPECT_EQ(num_files(), 2u);
}

TEST_F(WholeFileTest, a_file_that_another_process_removes_is_a_new_one) {
  const std::string path = folder_ / "comes_and_goes";
  std::atomic<bool> done = false;
  std::jthread other([&] {
    while (!done) {
      ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0666));
      ::unlink(path.c_str());
    }
  });
  for (int k = 0; k < 20000; ++k) EXPECT_NO_THROW(WholeFile file(path)) << k;
  done = true;
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
    const auto message = error_of([&] { write_whole_file(path, "text"); }, ExitCode::kResources);
    EXPECT_TRUE(message.starts_with(path + ": cannot write: ")) << message;
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
