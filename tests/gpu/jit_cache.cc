// What is around the compiler of passes: threads, processes, files, memory. The compiler is a fake
// one, and so is the device.
#include "tilewave/runtime/cuda/jit_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "fake_compiler.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::runtime::cuda {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const auto* const surroundings = testing::AddGlobalTestEnvironment(new Surroundings);

/// What the fake compiler takes as a source.
const KernelKind kKind{{}, "kernel", 1 << 20};

class Device : public Driver {
 public:
  cudaError_t status = cudaSuccess;
  int num_loaded = 0;
  std::string last;
  cudaError_t load_kernel(const void** kernel, const void* binary, const char*) override {
    last = std::string(static_cast<const char*>(binary), 4);
    *kernel = this;
    ++num_loaded;
    return status;
  }
};

CudaDevice hopper() {
  CudaDevice device;
  device.major = 9;
  return device;
}

std::size_t num_kept() {
  std::size_t count = 0;
  std::error_code none;
  for (const auto& file : fs::recursive_directory_iterator(Surroundings::folder, none))
    count += file.path().extension() == ".kept";
  return count;
}

TEST(JitCache, compiles_loads_and_finds_again) {
  std::string why;
  JitCache* const cache = JitCache::of_process(&why);
  ASSERT_TRUE(cache) << why;
  const std::size_t kept_before = num_kept();
  EXPECT_NE(cache->description().find("NVRTC 13.99"), std::string::npos);
  EXPECT_NE(cache->description().find(Surroundings::folder.string()), std::string::npos);
  Device device;
  const ScopedDriver scope(&device);
  const auto one = cache->entry(kKind, "good source", hopper());
  EXPECT_EQ(cache->entry(kKind, "good source", hopper()), one);
  CudaDevice other = hopper();
  other.major = 10;
  EXPECT_NE(cache->entry(kKind, "good source", other), one);
  EXPECT_EQ(cache->function(*one), nullptr);
  cache->note(*one, 0.9 * kJitAfter_s);
  cache->wait();
  EXPECT_EQ(cache->function(*one), nullptr) << "not worth it yet";
  cache->note(*one, 0.2 * kJitAfter_s);
  cache->wait();
  EXPECT_EQ(cache->function(*one), &device);
  EXPECT_EQ(device.last, "good");
  EXPECT_EQ(cache->function(*one), &device);
  EXPECT_EQ(device.num_loaded, 1);
  EXPECT_EQ(cache->why_not(*one), "");
  EXPECT_EQ(num_kept(), kept_before + 1);
}

TEST(JitCache, says_why_there_is_none) {
  JitCache* const cache = JitCache::of_process();
  ASSERT_TRUE(cache);
  Device device;
  device.status = cudaErrorInvalidKernelImage;
  const ScopedDriver scope(&device);
  const auto wrong = cache->entry(kKind, "wrong source", hopper());
  const auto refused = cache->entry(kKind, "a source that no device takes", hopper());
  for (const auto& entry : {wrong, refused}) cache->request(*entry);
  cache->wait();
  for (const auto& entry : {wrong, refused}) EXPECT_EQ(cache->function(*entry), nullptr);
  for (const auto& entry : {wrong, refused}) EXPECT_EQ(cache->function(*entry), nullptr);
  EXPECT_EQ(device.num_loaded, 1);
  EXPECT_EQ(cache->why_not(*wrong), "a word that does not belong here");
  EXPECT_EQ(cache->refusal(), "a word that does not belong here");
  EXPECT_NE(statevec::refused_passes().find("(a word that does not belong here)"),
            std::string::npos);
  EXPECT_NE(cache->why_not(*refused), "");
}

// So that whoever asked may write it again; the next process knows it from the folder.
TEST(JitCache, tells_code_that_is_too_long_from_what_does_not_compile) {
  JitCache* const cache = JitCache::of_process();
  ASSERT_TRUE(cache);
  Device device;
  const ScopedDriver scope(&device);
  static const KernelKind wide{{}, "kernel", 2 << 20}, other_name{{}, "another", 1 << 20};
  const auto longer = cache->entry(kKind, "a long source", hopper());
  EXPECT_FALSE(JitCache::is_too_long(*longer)) << "not known yet";
  const auto fits = cache->entry(wide, "a long source of a kind that may be", hopper());
  const auto nameless = cache->entry(other_name, "a long source of another name", hopper());
  const auto wrong = cache->entry(kKind, "wrong all over", hopper());
  for (const auto& entry : {longer, fits, nameless, wrong}) cache->request(*entry);
  cache->wait();
  EXPECT_TRUE(JitCache::is_too_long(*longer));
  EXPECT_NE(cache->why_not(*longer).find("longer than the instruction cache"), std::string::npos);
  EXPECT_EQ(cache->function(*longer), nullptr);
  for (const auto& entry : {fits, nameless, wrong}) EXPECT_FALSE(JitCache::is_too_long(*entry));
  EXPECT_EQ(cache->function(*fits), &device);
  EXPECT_NE(cache->why_not(*wrong), "");
}

// A loop over angles may write a new program in every round.
TEST(JitCache, programs_that_nobody_asks_for_are_forgotten) {
  JitCache* const cache = JitCache::of_process();
  ASSERT_TRUE(cache);
  const auto held = cache->entry(kKind, "held", hopper());
  const auto made = cache->entry(kKind, "made", hopper());
  cache->request(*made);
  cache->wait();
  const JitCache::Entry* const address = made.get();
  for (int k = 0; k < 5000; ++k) cache->entry(kKind, "source " + std::to_string(k), hopper());
  EXPECT_LE(cache->num_entries(), kJitMostEntries);
  EXPECT_EQ(cache->entry(kKind, "held", hopper()), held);
  EXPECT_EQ(cache->entry(kKind, "made", hopper()).get(), address);
}

// exit() while threads compile: they finish, and what they made is kept.
TEST(JitCacheDeathTest, a_process_that_ends_keeps_what_it_is_compiling) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::size_t before = num_kept();
  EXPECT_EXIT(
      {
        JitCache* const cache = JitCache::of_process();
        // after its first error the compiler has more that must not go before what it compiles
        cache->request(*cache->entry(kKind, "wrong at the end", hopper()));
        cache->wait();
        for (const char* source : {"slow one", "slow two", "slow three"})
          cache->request(*cache->entry(kKind, source, hopper()));
        std::this_thread::sleep_for(300ms);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_GT(num_kept(), before);
}

// Not only once it is worth compiling: by then a short process has ended.
TEST(JitCacheDeathTest, what_another_process_has_compiled_is_there_at_once) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string source = "compiled elsewhere", too_long = "a long source from elsewhere";
  EXPECT_EXIT(
      {
        JitCache* const cache = JitCache::of_process();
        for (const std::string& text : {source, too_long})
          cache->request(*cache->entry(kKind, text, hopper()));
        cache->wait();
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
  JitCache* const cache = JitCache::of_process();
  ASSERT_TRUE(cache);
  Device device;
  const ScopedDriver scope(&device);
  EXPECT_EQ(cache->function(*cache->entry(kKind, source, hopper())), &device);
  EXPECT_TRUE(JitCache::is_too_long(*cache->entry(kKind, too_long, hopper())));
  EXPECT_EQ(cache->function(*cache->entry(kKind, "compiled nowhere", hopper())), nullptr);
}

// The threads stay with the parent: the child has no kernels, and does not wait for any.
TEST(JitCache, a_forked_process_ends) {
  JitCache* const cache = JitCache::of_process();
  ASSERT_TRUE(cache);
  cache->request(*cache->entry(kKind, "before the fork", hopper()));
  cache->wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string why;
    std::exit(!JitCache::of_process(&why) && why.find("fork") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  pid_t ended = 0;
  for (int k = 0; k < 200 && ended == 0; ++k) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(50ms);
  }
  if (ended == 0) (void)kill(child, SIGKILL), (void)waitpid(child, &status, 0);
  EXPECT_EQ(ended, child) << "the child hangs";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace tilewave::runtime::cuda
