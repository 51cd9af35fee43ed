#include "tilewave/runtime/cuda/jit_cache.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/runtime/background.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/file_cache.h"

namespace tilewave::runtime::cuda {

namespace {

/// Of the toolkit this program was built with, or NVIDIA's Python package of the same version.
const Nvrtc* load_compiler(std::string* why) { return Nvrtc::load({CUDART_VERSION / 1000}, why); }
/// For those who know that it is there.
const Nvrtc& compiler() {
  static const Nvrtc* const loaded = [] {
    std::string why;
    return load_compiler(&why);
  }();
  return *loaded;
}

std::vector<std::string> options_for(const std::string& architecture) {
  return {"--gpu-architecture=" + architecture, "--std=c++20", "-default-device"};
}

/// Everything that machine code depends on but the source.
std::string identity_of(const KernelKind& kind, const std::string& architecture) {
  std::string headers;
  for (const SourceFile& file : kind.files) headers += std::string(file.name) + file.text;
  std::string identity = "NVRTC " + compiler().version() + ", headers " +
                         std::to_string(hash_of(headers)) + ", at most " +
                         std::to_string(kind.most_code_bytes) + " bytes";
  for (const std::string& option : options_for(architecture)) identity += ", " + option;
  return identity + "\n";
}

/// Bytes of machine code of the kernel in a cubin, 0 where it is none.
std::size_t code_bytes_of(const std::string& binary, const char* kernel) {
  const std::string wanted = std::string(".text.") + kernel;
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

/// Kernels of earlier runs; an empty one is known to be too long. Never destroyed: threads keep
/// what they compile as the process ends.
const FileCache& kept_kernels() {
  static const auto* const cache = new FileCache(cache_folder("kernels"));
  return *cache;
}

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

std::vector<SourceFile> with_standard_headers(std::span<const SourceFile> headers) {
  std::vector<SourceFile> all(headers.begin(), headers.end());
  const char* standard = "";
  for (const SourceFile& file : headers) {
    if (std::string_view(file.name).ends_with("/jit_std.cuh")) standard = file.text;
  }
  for (const char* name : {"bit", "cmath", "complex", "cstddef", "cstdint", "cstring", "numbers",
                           "type_traits", "utility", "cuda_runtime.h"})
    all.push_back({name, standard});
  return all;
}

void JitCache::set_use(const std::string& name) { use() = use_named(name); }

bool JitCache::serves(double pass_s) {
  const Use now = use();
  return now == Use::kAll || (now == Use::kAuto && pass_s >= kJitShortestPass_s);
}

namespace {

std::atomic<JitCache*>& made_cache() {
  static std::atomic<JitCache*> cache{nullptr};
  return cache;
}

}  // namespace

JitCache* JitCache::if_made() {
  JitCache* const cache = made_cache().load(std::memory_order_acquire);
  return cache && cache->process_ == getpid() ? cache : nullptr;  // a fork may not take its lock
}

JitCache* JitCache::of_process(std::string* why) {
  if (use() == Use::kOff) {
    if (why) *why = "TILEWAVE_JIT is off";
    return nullptr;
  }
  /// Never destroyed: the fork of a process has its memory but not its threads, nor can the lock
  /// and what they waited for be destroyed there.
  struct Owned {
    JitCache* cache = nullptr;
    const pid_t process = getpid();
    std::string reason;
    Owned() {
      if (load_compiler(&reason)) cache = new JitCache;
      made_cache().store(cache, std::memory_order_release);
    }
  };
  static Owned owned;
  if (getpid() != owned.process) {
    if (why) *why = "the process is the fork of one that compiles";
    return nullptr;
  }
  if (why) *why = owned.reason;
  return owned.cache;
}

/// NVRTC has objects that it makes when it first compiles, some when it first finds an error, and
/// destroys as the process ends: what is being compiled then would crash. The main thread's own objects
/// are destroyed before all others, so what waits for the compiling is one of those. A process that
/// another thread ends has none: NVRTC compiles something at once, and a function that waits is
/// registered behind that, which lets it run before.
void JitCache::end_before_the_compiler(const std::string& architecture) {
  struct Finish {
    ~Finish() {
      if (Background* const background = Background::of_process()) background->finish();
    }
  };
  if (gettid() == getpid()) {
    [[maybe_unused]] static thread_local const Finish at_end_of_main;
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    (void)compiler().compile("extern \"C\" __global__ void first() {}\n", {},
                             options_for(architecture));
    if (std::atexit([] { (void)Finish(); }) != 0)
      throw Error(ExitCode::kInternal, "no function can be registered for the end of the process");
  });
}

std::shared_ptr<JitCache::Entry> JitCache::entry(const KernelKind& kind, std::string_view source,
                                                 const CudaDevice& device) {
  const std::string architecture =
      "sm_" + std::to_string(device.major) + std::to_string(device.minor);
  auto made = std::make_shared<Entry>(kind, architecture, source);
  const auto known = [&] {
    const auto found = entries_.find(made->text_);
    return found == entries_.end() ? nullptr : found->second;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto entry = known()) return entry;
  }
  if (auto kept = kept_kernels().find(identity_of(*made))) take(*made, std::move(*kept));
  const std::lock_guard lock(mutex_);
  if (auto entry = known()) return entry;
  if (entries_.size() >= kJitMostEntries) {
    std::erase_if(entries_, [](const auto& other) {
      return other.second.use_count() == 1 && other.second->stage_ == Entry::Stage::kNew;
    });
  }
  entries_.emplace(made->text_, made);
  return made;
}

std::size_t JitCache::num_entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
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
      driver().load_kernel(&function, entry.binary_.data(), entry.kind_.name);
  entry.binary_ = {};  // the driver has a copy
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
  end_before_the_compiler(entry.architecture());
  {
    const std::lock_guard lock(mutex_);
    if (entry.stage_ != Entry::Stage::kNew) return;
    entry.stage_ = Entry::Stage::kQueued;
  }
  Background* const background = Background::of_process();
  const bool begins = background && background->add([this, &entry] {
    try {
      make(entry);
    } catch (const std::exception& e) {  // no memory, say: the interpreter goes on
      give_up(entry, e.what());
    }
  });
  if (!begins) give_up(entry, "no thread compiles it");
}

void JitCache::give_up(Entry& entry, std::string why) {
  entry.why_ = std::move(why);
  entry.stage_.store(Entry::Stage::kNone, std::memory_order_release);
}

std::string JitCache::why_not(const Entry& entry) const {
  return entry.stage_.load(std::memory_order_acquire) == Entry::Stage::kNone ? entry.why_ : "";
}

bool JitCache::is_too_long(const Entry& entry) {
  return entry.stage_.load(std::memory_order_acquire) == Entry::Stage::kNone && entry.is_too_long_;
}

std::string JitCache::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void JitCache::wait() {
  if (Background* const background = Background::of_process()) background->wait();
}

std::string JitCache::identity_of(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  std::string& kind = kinds_[{&entry.kind_, entry.architecture()}];
  if (kind.empty()) kind = cuda::identity_of(entry.kind_, entry.architecture());
  return kind + entry.source();
}

/// Compiles it, or finds what another process has compiled since.
void JitCache::make(Entry& entry) {
  const std::string identity = identity_of(entry);
  std::optional<std::string> kept = kept_kernels().find(identity);
  if (!kept) {
    Nvrtc::Program program =
        compiler().compile(entry.source(), entry.kind_.files, options_for(entry.architecture()));
    if (program.binary.empty()) {
      {
        const std::lock_guard lock(mutex_);
        if (refusal_.empty()) refusal_ = program.log;
      }
      return give_up(entry, std::move(program.log));
    }
    kept = std::move(program.binary);
    if (code_bytes_of(*kept, entry.kind_.name) > entry.kind_.most_code_bytes) kept->clear();
    kept_kernels().keep(identity, *kept);
  }
  take(entry, std::move(*kept));
}

void JitCache::take(Entry& entry, std::string binary) {
  using Stage = Entry::Stage;
  if (binary.empty()) {
    entry.why_ = "the code is longer than the instruction cache";
    entry.is_too_long_ = true;
  }
  entry.binary_ = std::move(binary);
  entry.stage_.store(entry.binary_.empty() ? Stage::kNone : Stage::kMade,
                     std::memory_order_release);
}

std::string JitCache::description() const {
  const std::string folder = kept_kernels().folder().string();
  return "NVRTC " + compiler().version() +
         (folder.empty() ? ", kernels are not kept" : ", kernels kept in " + folder);
}

}  // namespace tilewave::runtime::cuda
