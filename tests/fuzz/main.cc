// fuzz --target=NAME [what libFuzzer takes]: one program for all targets, so that it is linked once.
// `fuzz --list` prints their names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "target.h"
#include "tilewave/base/error.h"

namespace tilewave::fuzz {
namespace {

const Target* chosen = nullptr;

// A message that repeats the input without bound is one, too.
constexpr std::size_t kMostMessage = 4096;

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto targets : {language_targets(), file_targets(), run_targets()})
    all.insert(all.end(), targets.begin(), targets.end());
  return all;
}

}  // namespace

void found(const std::string& what) {
  std::fprintf(stderr, "FOUND by %s: %s\n", chosen ? chosen->name : "?", what.c_str());
  std::abort();
}

NamelessFile::NamelessFile(std::span<const std::uint8_t> bytes)
    : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::lseek(fd_, 0, SEEK_SET) != 0)
    std::abort();
}

NamelessFile::~NamelessFile() { ::close(fd_); }

}  // namespace tilewave::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace tilewave::fuzz;
  for (int k = 1; k < *argc; ++k) {
    const char* word = (*argv)[k];
    if (std::strcmp(word, "--list") == 0) {
      for (const Target& target : all_targets()) std::puts(target.name);
      std::exit(0);
    }
    if (std::strncmp(word, "--target=", 9) != 0) continue;
    static const std::vector<Target> targets = all_targets();
    for (const Target& target : targets) {
      if (std::strcmp(target.name, word + 9) == 0) chosen = &target;
    }
  }
  if (!chosen) {
    std::fputs("use --target=NAME; --list prints the names\n", stderr);
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewave;
  using namespace tilewave::fuzz;
  try {
    chosen->run({data, size});
  } catch (const Error& e) {
    const std::string_view message = e.what();
    if (e.code() != ExitCode::kInput && e.code() != ExitCode::kUsage &&
        e.code() != ExitCode::kResources)
      found("exit code " + std::to_string(static_cast<int>(e.code())) + ": " + e.what());
    if (message.empty() || message.size() > kMostMessage)
      found("a message of " + std::to_string(message.size()) + " characters");
  } catch (const std::bad_alloc&) {  // more than the limit that the fuzzer was given
  } catch (const std::exception& e) {
    found(std::string("an exception that no user understands: ") + e.what());
  }
  return 0;
}
