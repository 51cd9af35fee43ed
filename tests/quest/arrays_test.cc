// The arrays of a register as programs use them: read and written in place, from threads, by file
// calls, after fork, beside handlers of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "dense.h"

using namespace dense;

namespace {

// Amplitudes that are all different, not yet looked at.
struct Ramp {
  explicit Ramp(int n) : q(createQureg(n, environment())) { fill(); }
  ~Ramp() { destroyQureg(q, environment()); }
  Ramp(const Ramp&) = delete;
  Ramp& operator=(const Ramp&) = delete;
  void fill() { initDebugState(q); }
  static qreal re(long long k) { return static_cast<qreal>(2.0 * static_cast<double>(k) / 10); }
  static qreal im(long long k) {
    return static_cast<qreal>((2.0 * static_cast<double>(k) + 1) / 10);
  }
  std::size_t count() const { return static_cast<std::size_t>(q.numAmpsTotal); }
  Qureg q;
};

void expect_ramp(const std::vector<qreal>& values, const std::string& what) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    ASSERT_EQ(values[k], Ramp::re(static_cast<long long>(k))) << what << " " << k;
  }
}

std::string temporary(const char* name) { return testing::TempDir() + name; }

std::vector<qreal> read_back(const std::string& path, std::size_t count) {
  std::vector<qreal> out(count, -1);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(out.data()),
            static_cast<std::streamsize>(count * sizeof(qreal)));
  EXPECT_TRUE(file) << path;
  return out;
}

sigjmp_buf g_back;
volatile sig_atomic_t g_own_faults = 0;

void own_handler(int, siginfo_t*, void*) {
  g_own_faults = g_own_faults + 1;
  siglongjmp(g_back, 1);
}

// A page nobody may read.
volatile char* forbidden_page() {
  return static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

}  // namespace

TEST(Arrays, AreTheState) {
  on_both("arrays", [](Pair& s) {
    const double r = 1 / std::sqrt(2.0);
    hadamard(s.q, 1);
    s.ref.both({1}, {r, r, r, -r});
    for (std::size_t k = 0; k < s.ref.a.size(); ++k) {
      EXPECT_NEAR(s.q.stateVec.real[k], s.ref.a[k].real(), kTolerance);
      EXPECT_NEAR(s.q.stateVec.imag[k], s.ref.a[k].imag(), kTolerance);
    }
    s.q.stateVec.real[6] = qreal(0.25);  // after a read
    s.ref.a[6] = {0.25, s.ref.a[6].imag()};
    s.check("write after read");
    hadamard(s.q, 2);
    s.ref.both({2}, {r, r, r, -r});
    s.q.stateVec.imag[9] = qreal(-0.5);  // without a read
    s.ref.a[9] = {s.ref.a[9].real(), -0.5};
    hadamard(s.q, 0);
    s.ref.both({0}, {r, r, r, -r});
    copyStateFromGPU(s.q);
    EXPECT_NEAR(s.q.stateVec.real[9], s.ref.a[9].real(), kTolerance);
    s.q.stateVec.real[9] = 1;
    s.ref.a[9] = {1, s.ref.a[9].imag()};
    copyStateToGPU(s.q);
    copySubstateFromGPU(s.q, 0, 4);
    copySubstateToGPU(s.q, 0, 4);
    // an array given back to its own register
    if (!s.ref.is_density) initStateFromAmps(s.q, s.q.stateVec.real, s.q.stateVec.imag);
  });
}

TEST(Arrays, AreReadByManyThreads) {
  const Ramp s(14);
  for (int round = 0; round < 20; ++round) {
    initDebugState(s.q);
    double sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum) schedule(static, 64)
    for (long long k = 0; k < s.q.numAmpsTotal; ++k) {
      sum += s.q.stateVec.real[k] == Ramp::re(k) && s.q.stateVec.imag[k] == Ramp::im(k);
    }
    EXPECT_EQ(sum, static_cast<double>(s.q.numAmpsTotal));
  }
}

TEST(Arrays, AreWrittenByManyThreads) {
  const Ramp s(12);
  for (int round = 1; round <= 20; ++round) {
    pauliX(s.q, 0);
#pragma omp parallel for num_threads(4) schedule(static, 64)
    for (long long k = 0; k < s.q.numAmpsTotal; ++k) {
      s.q.stateVec.real[k] = static_cast<qreal>(round);
      s.q.stateVec.imag[k] = static_cast<qreal>(k);
    }
    pauliX(s.q, 1);
    EXPECT_EQ(getRealAmp(s.q, 5), static_cast<qreal>(round));
    EXPECT_EQ(getImagAmp(s.q, 5), static_cast<qreal>(7));
  }
}

TEST(Arrays, RegistersOfTwoThreads) {
  const auto work = [](int seed) {
    for (int round = 0; round < 30; ++round) {
      const Ramp s(9);
      pauliX(s.q, seed);
      const long long flip = 1LL << seed;
      for (long long k = 0; k < 512; ++k) {
        ASSERT_EQ(s.q.stateVec.real[k], Ramp::re(k ^ flip));
      }
    }
  };
  environment();
  std::thread a(work, 1), b(work, 2);
  a.join();
  b.join();
}

TEST(Arrays, AreWrittenToFilesUntouched) {
  Ramp s(13);
  const std::size_t bytes = s.count() * sizeof(qreal);
  const std::string path = temporary("quest_arrays.bin");
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_EQ(std::fwrite(s.q.stateVec.real, sizeof(qreal), s.count(), file), s.count());
  std::fclose(file);
  expect_ramp(read_back(path, s.count()), "fwrite");

  s.fill();
  {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(s.q.stateVec.real),
              static_cast<std::streamsize>(bytes));
    ASSERT_TRUE(out);
  }
  expect_ramp(read_back(path, s.count()), "ofstream");

  s.fill();
  int fd = ::open(path.c_str(), O_WRONLY | O_TRUNC);
  ASSERT_EQ(::write(fd, s.q.stateVec.real, bytes), static_cast<ssize_t>(bytes));
  s.fill();
  ASSERT_EQ(::pwrite(fd, s.q.stateVec.real, bytes, 0), static_cast<ssize_t>(bytes));
  s.fill();
  const iovec parts[2] = {{s.q.stateVec.real, bytes / 2},
                          {s.q.stateVec.real + s.count() / 2, bytes / 2}};
  ::lseek(fd, 0, SEEK_SET);
  ASSERT_EQ(::writev(fd, parts, 2), static_cast<ssize_t>(bytes));
  ::close(fd);
  expect_ramp(read_back(path, s.count()), "writev");

  s.fill();
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ASSERT_EQ(::send(ends[0], s.q.stateVec.real, 1024, 0), 1024);
  s.fill();  // closes the arrays again
  ASSERT_EQ(::recv(ends[1], s.q.stateVec.imag, 1024, MSG_WAITALL), 1024);
  EXPECT_EQ(getImagAmp(s.q, 100), Ramp::re(100));
  EXPECT_EQ(getRealAmp(s.q, 100), Ramp::re(100));
  ::close(ends[0]);
  ::close(ends[1]);
  std::remove(path.c_str());
}

TEST(Arrays, AreSetFromFilesUntouched) {
  Ramp source(13), s(13);
  const std::string path = temporary("quest_arrays_in.bin");
  FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(source.q.stateVec.imag, sizeof(qreal), source.count(), file);
  std::fclose(file);
  const std::size_t bytes = s.count() * sizeof(qreal);
  const auto check = [&](const char* how) {
    for (long long k : {0, 1, 4097, 8191}) EXPECT_EQ(getRealAmp(s.q, k), Ramp::im(k)) << how;
    for (long long k : {0, 1, 4097, 8191}) EXPECT_EQ(getImagAmp(s.q, k), Ramp::im(k)) << how;
    initDebugState(s.q);
  };
  file = std::fopen(path.c_str(), "rb");
  ASSERT_EQ(std::fread(s.q.stateVec.real, sizeof(qreal), s.count(), file), s.count());
  std::fclose(file);
  check("fread");
  int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_EQ(::read(fd, s.q.stateVec.real, bytes), static_cast<ssize_t>(bytes));
  check("read");
  ASSERT_EQ(::pread(fd, s.q.stateVec.real, bytes, 0), static_cast<ssize_t>(bytes));
  check("pread");
  ::close(fd);
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(s.q.stateVec.real), static_cast<std::streamsize>(bytes));
  ASSERT_TRUE(in);
  check("ifstream");
  std::remove(path.c_str());
}

TEST(Arrays, BelongToEachProcessAfterFork) {
  const char* device = std::getenv("TILEWAVE_DEVICE");
  if (device && std::string(device).rfind("cuda", 0) == 0) {
    GTEST_SKIP() << "CUDA does not work in a forked process";
  }
  const Ramp s(8);
  ASSERT_EQ(s.q.stateVec.real[3], Ramp::re(3));
  const pid_t child = fork();
  if (child == 0) {  // one thread: nothing but this register
    s.q.stateVec.real[3] = 77;
    pauliX(s.q, 0);
    _exit(getRealAmp(s.q, 2) == 77 && s.q.stateVec.real[2] == 77 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(s.q.stateVec.real[3], Ramp::re(3));
  EXPECT_EQ(getRealAmp(s.q, 3), Ramp::re(3));
}

// The others need a program of their own: what is there before the first register counts.
TEST(ArraysDeathTest, OwnHandlerStillServesOtherFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        struct sigaction action {};
        action.sa_sigaction = own_handler;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        const Ramp s(6);
        volatile char* page = forbidden_page();
        for (int k = 0; k < 3; ++k) {
          if (sigsetjmp(g_back, 1) == 0) (void)*page;
        }
        std::exit(g_own_faults == 3 && s.q.stateVec.real[9] == Ramp::re(9) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// Test frameworks put a handler in for every test and the one of before back.
TEST(ArraysDeathTest, HandlersInstalledLaterTakeNothingAway) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Ramp first(6);
        static bool good = true;  // as it was before a jump
        static int round;
        for (round = 0; round < 3; ++round) {
          struct sigaction action {};
          struct sigaction before {};
          struct sigaction seen {};
          action.sa_sigaction = own_handler;
          action.sa_flags = SA_SIGINFO;
          sigaction(SIGSEGV, &action, &before);
          sigaction(SIGSEGV, nullptr, &seen);
          good = good && seen.sa_sigaction == own_handler;
          const Ramp s(6);
          good = good && s.q.stateVec.real[9] == Ramp::re(9) && g_own_faults == 2 * round;
          volatile char* page = forbidden_page();
          if (sigsetjmp(g_back, 1) == 0) (void)*page;
          sigaction(SIGSEGV, &before, nullptr);
          const Ramp t(6);
          good = good && t.q.stateVec.imag[9] == Ramp::im(9);
          const auto earlier = signal(SIGSEGV, [](int) { own_handler(0, nullptr, nullptr); });
          if (sigsetjmp(g_back, 1) == 0) (void)*page;
          pauliX(t.q, 0);
          good = good && t.q.stateVec.real[8] == Ramp::re(9);
          signal(SIGSEGV, earlier);
        }
        std::exit(good && g_own_faults == 6 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

#if !defined(__SANITIZE_ADDRESS__)  // a sanitizer reports these in its own way
TEST(ArraysDeathTest, OtherFaultsEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Ramp s(6);
        (void)*forbidden_page();
      },
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        const Ramp s(6);
        raise(SIGSEGV);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST(ArraysDeathTest, ArraysOfADestroyedRegisterAreGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Qureg q = createQureg(20, environment());
        const volatile qreal* real = q.stateVec.real;
        destroyQureg(q, environment());
        (void)*real;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST(ArraysDeathTest, NoMemoryIsOneMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        g_exit_on_misuse = true;
        const Ramp s(12);
        rlimit limit{};  // no further address space
        setrlimit(RLIMIT_AS, &limit);
        const volatile qreal value = s.q.stateVec.real[5];
        std::exit(value == Ramp::re(5) ? 0 : 2);
      },
      testing::ExitedWithCode(3), "stateVec: no memory for the arrays of a register");
}
#endif

// A register comes back from a folder as it was, in the middle of what waits, and over an older one.
TEST(Folders, KeepRegisters) {
  const std::string folder = temporary("kept_register");
  for (const bool is_density : {false, true}) {
    const int n = is_density ? 4 : 8;
    const auto make = [&] {
      return is_density ? createDensityQureg(n, environment()) : createQureg(n, environment());
    };
    const auto work = [&](Qureg q, int from, int to) {
      for (int k = from; k < to; ++k) {
        hadamard(q, k % n);
        rotateX(q, (k * 3 + 1) % n, static_cast<qreal>(0.1 * k));
        controlledNot(q, k % n, (k + 1) % n);
        if (is_density) mixDamping(q, k % n, static_cast<qreal>(0.01));
      }
    };
    Qureg one = make(), other = make();
    for (const int at : {0, 5, 20}) {
      initZeroState(one);
      work(one, 0, at);
      tilewave_saveQureg(one, folder.c_str());
      work(one, at, 30);
      initDebugState(other);
      tilewave_loadQureg(other, folder.c_str());
      work(other, at, 30);
      copyStateFromGPU(one);
      copyStateFromGPU(other);
      for (long long k = 0; k < one.numAmpsTotal; ++k) {
        ASSERT_NEAR(one.stateVec.real[k], other.stateVec.real[k], 100 * REAL_EPS) << at << " " << k;
        ASSERT_NEAR(one.stateVec.imag[k], other.stateVec.imag[k], 100 * REAL_EPS) << at << " " << k;
      }
    }
    const Qureg smaller = createQureg(n - 1, environment());
    EXPECT_ANY_THROW(tilewave_loadQureg(smaller, folder.c_str()));
    EXPECT_ANY_THROW(tilewave_loadQureg(other, "/nowhere"));
    EXPECT_ANY_THROW(tilewave_saveQureg(one, "/proc/nowhere"));
    EXPECT_ANY_THROW(tilewave_saveQureg(one, nullptr));
    destroyQureg(smaller, environment());
    destroyQureg(one, environment());
    destroyQureg(other, environment());
  }
}
