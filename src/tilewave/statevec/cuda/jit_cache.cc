#include "tilewave/statevec/cuda/jit_cache.h"

#include <elf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/nvrtc.h"
#include "tilewave/statevec/cuda/jit_files.h"
#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;
namespace fs = std::filesystem;

namespace {

std::uint64_t hash_of(std::string_view bytes) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex(std::uint64_t x) {
  std::ostringstream out;
  out << std::hex << x;
  return out.str();
}

std::vector<std::string> options_for(const std::string& architecture) {
  return {"--gpu-architecture=" + architecture, "--std=c++20", "-default-device"};
}

/// Everything that machine code depends on.
std::string identity_of(const std::string& source, const std::string& architecture) {
  static const std::string headers = [] {
    std::string all;
    for (const rc::SourceFile& file : jit_files()) all += std::string(file.name) + file.text;
    return hex(hash_of(all));
  }();
  std::string identity = "NVRTC " + rc::Nvrtc::load()->version() + ", headers " + headers;
  for (const std::string& option : options_for(architecture)) identity += ", " + option;
  return identity + "\n" + source;
}

/// Bytes of machine code of the kernel in a cubin, 0 where it is none.
std::size_t code_bytes_of(const std::string& binary) {
  const std::string wanted = std::string(".text.") + tile::kJitKernelName;
  const auto read = [&](auto& to, std::size_t at) {
    if (at > binary.size() || binary.size() - at < sizeof to) return false;
    std::memcpy(&to, binary.data() + at, sizeof to);
    return true;
  };
  Elf64_Ehdr header;
  if (!read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  Elf64_Shdr names;
  if (!read(names, header.e_shoff + std::size_t{header.e_shstrndx} * sizeof names)) return 0;
  for (std::size_t k = 0; k < header.e_shnum; ++k) {
    Elf64_Shdr section;
    if (!read(section, header.e_shoff + k * sizeof section)) return 0;
    const std::size_t name = names.sh_offset + section.sh_name;
    if (name < binary.size() &&
        binary.compare(name, wanted.size() + 1, wanted.c_str(), wanted.size() + 1) == 0) {
      return section.sh_size;
    }
  }
  return 0;
}

// ---- the folder: a file a kernel, named by the hash of its identity ----

constexpr char kMagic[] = "tilewave kernel 1";
constexpr std::size_t kMostFiles = 400;

fs::path folder() {
  const std::string costs = runtime::cost_file();
  return costs.empty() ? fs::path() : fs::path(costs).parent_path() / "kernels";
}

fs::path file_of(const std::string& identity) {
  const fs::path in = folder();
  return in.empty() ? in : in / (hex(hash_of(identity)) + ".cubin");
}

/// What was kept for exactly this identity and is whole; an empty one for code that is too long.
bool read_kept(const std::string& identity, std::string& binary) {
  std::ifstream in(file_of(identity), std::ios::binary);
  std::string magic;
  std::size_t identity_size = 0, binary_size = 0;
  std::uint64_t check = 0;
  if (!std::getline(in, magic) || magic != kMagic) return false;
  if (!(in >> identity_size >> binary_size >> check) || in.get() != '\n') return false;
  if (identity_size != identity.size() || binary_size > std::size_t{64} << 20) return false;
  std::string kept(identity_size, '\0');
  binary.resize(binary_size);
  in.read(kept.data(), static_cast<std::streamsize>(identity_size));
  in.read(binary.data(), static_cast<std::streamsize>(binary_size));
  return in && kept == identity && hash_of(binary) == check;
}

/// A folder that cannot be written is none.
void keep(const std::string& identity, const std::string& binary) {
  const fs::path to = file_of(identity);
  if (to.empty()) return;
  std::error_code ignored;
  fs::create_directories(to.parent_path(), ignored);
  // the oldest make room
  std::vector<fs::path> files;
  for (const fs::directory_entry& file : fs::directory_iterator(to.parent_path(), ignored))
    if (file.path().extension() == ".cubin") files.push_back(file.path());
  if (files.size() >= kMostFiles) {
    const auto age = [&](const fs::path& file) { return fs::last_write_time(file, ignored); };
    std::sort(files.begin(), files.end(),
              [&](const fs::path& a, const fs::path& b) { return age(a) < age(b); });
    for (std::size_t k = 0; k < kMostFiles / 4; ++k) fs::remove(files[k], ignored);
  }
  fs::path part = to;
  part += "." + std::to_string(getpid());
  {
    std::ofstream out(part, std::ios::binary);
    out << kMagic << '\n'
        << identity.size() << ' ' << binary.size() << ' ' << hash_of(binary) << '\n'
        << identity << binary;
    if (!out.flush()) {
      fs::remove(part, ignored);
      return;
    }
  }
  fs::rename(part, to, ignored);
}

}  // namespace

namespace {

enum class Use { kOff, kAuto, kAll };

Use use_named(const std::string& name) {
  if (name == "off") return Use::kOff;
  if (name == "auto" || name.empty()) return Use::kAuto;
  if (name == "all") return Use::kAll;
  throw Error(ExitCode::kUsage, "TILEWAVE_JIT is '" + name + "': use off, auto or all");
}

std::atomic<Use>& use() {
  static std::atomic<Use> value = [] {
    const char* name = std::getenv("TILEWAVE_JIT");
    return use_named(name ? name : "");
  }();
  return value;
}

}  // namespace

void JitCache::set_use(const std::string& name) { use() = use_named(name); }

bool JitCache::serves(double pass_s) {
  const Use now = use();
  return now == Use::kAll || (now == Use::kAuto && pass_s >= kJitShortestPass_s);
}

JitCache* JitCache::of_process(std::string* why) {
  if (use() == Use::kOff) {
    if (why) *why = "TILEWAVE_JIT is off";
    return nullptr;
  }
  static std::string reason;
  static const std::unique_ptr<JitCache> cache = []() -> std::unique_ptr<JitCache> {
    // loaded before this object is made, so that it is still there when this one ends
    if (!rc::Nvrtc::load(&reason)) return nullptr;
    return std::unique_ptr<JitCache>(new JitCache);
  }();
  if (why) *why = reason;
  return cache.get();
}

JitCache::JitCache() = default;

JitCache::~JitCache() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

JitCache::Entry& JitCache::entry(std::string source, const runtime::CudaDevice& device) {
  std::string architecture = "sm_" + std::to_string(device.major) + std::to_string(device.minor);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Entry>& found = entries_[architecture + source];
  if (!found) found = std::make_unique<Entry>(std::move(source), std::move(architecture));
  return *found;
}

const void* JitCache::function(Entry& entry) {
  using Stage = Entry::Stage;
  const Stage stage = entry.stage_.load(std::memory_order_acquire);
  if (stage == Stage::kLoaded) return entry.function_.load(std::memory_order_relaxed);
  if (stage != Stage::kMade) return nullptr;
  const std::lock_guard lock(mutex_);
  if (entry.stage_ != Stage::kMade) return entry.function_;
  const void* function = nullptr;
  const cudaError_t status =
      rc::driver().load_kernel(&function, entry.binary_.data(), tile::kJitKernelName);
  if (status == cudaSuccess) {
    entry.function_ = function;
    entry.stage_.store(Stage::kLoaded, std::memory_order_release);
    return function;
  }
  entry.why_ = cudaGetErrorString(status);
  entry.stage_ = Stage::kNone;
  return nullptr;
}

void JitCache::note(Entry& entry, double seconds) {
  if (entry.stage_.load(std::memory_order_relaxed) != Entry::Stage::kNew) return;
  {
    const std::lock_guard lock(mutex_);
    entry.spent_s_ += seconds;
    if (entry.spent_s_ < kJitAfter_s) return;
  }
  request(entry);
}

void JitCache::request(Entry& entry) {
  {
    const std::lock_guard lock(mutex_);
    if (entry.stage_ != Entry::Stage::kNew || ending_) return;
    entry.stage_ = Entry::Stage::kQueued;
    queue_.push_back(&entry);
    const std::size_t most =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 17) - 1;
    if (workers_.size() < most && workers_.size() < queue_.size() + static_cast<std::size_t>(busy_))
      workers_.emplace_back([this] { work(); });
  }
  changed_.notify_all();
}

std::string JitCache::why_not(const Entry& entry) const {
  return entry.stage_.load(std::memory_order_acquire) == Entry::Stage::kNone ? entry.why_ : "";
}

void JitCache::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && busy_ == 0; });
}

void JitCache::work() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);  // others first
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    Entry& entry = *queue_.front();
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    make(entry);
    lock.lock();
    --busy_;
    changed_.notify_all();
  }
}

/// Compiles it, or finds it on disk.
void JitCache::make(Entry& entry) const {
  using Stage = Entry::Stage;
  const std::string identity = identity_of(entry.source_, entry.architecture_);
  std::string binary;
  if (!read_kept(identity, binary)) {
    rc::Nvrtc::Program program =
        rc::Nvrtc::load()->compile(entry.source_, jit_files(), options_for(entry.architecture_));
    if (program.binary.empty()) {
      entry.why_ = program.log;
      entry.stage_.store(Stage::kNone, std::memory_order_release);
      return;
    }
    binary = std::move(program.binary);
    if (code_bytes_of(binary) > tile::kJitMostCodeBytes) binary.clear();
    keep(identity, binary);
  }
  if (binary.empty()) entry.why_ = "the code is longer than the instruction cache";
  entry.binary_ = std::move(binary);
  entry.stage_.store(entry.binary_.empty() ? Stage::kNone : Stage::kMade,
                     std::memory_order_release);
}

std::string JitCache::description() const {
  const fs::path in = folder();
  return "NVRTC " + rc::Nvrtc::load()->version() +
         (in.empty() ? ", kernels are not kept" : ", kernels in " + in.string());
}

}  // namespace tilewave::statevec::cuda
