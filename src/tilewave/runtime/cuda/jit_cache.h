// Kernels whose source is made at run time, for one program each, compiled in the background while an
// interpreter runs, and kept on disk, where later processes find them at once. A process compiles
// what has run for kJitAfter_s in it, by prediction.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/nvrtc.h"

namespace tilewave::runtime::cuda {

/// A pass that has taken so many seconds in all is worth the two that compiling it takes.
inline constexpr double kJitAfter_s = 0.3;
/// Passes shorter than this are left to the interpreter.
inline constexpr double kJitShortestPass_s = 3e-4;
/// From so many programs on, those that nobody holds and nobody asked a kernel for are forgotten.
inline constexpr std::size_t kJitMostEntries = 1000;

/// What sources of one kind have in common.
struct KernelKind {
  std::span<const SourceFile> files;  ///< what they may include
  const char* name;                   ///< of the kernel in each
  std::size_t most_code_bytes;        ///< longer machine code is not used
};

/// Headers of this program as a source may include them, and those of the standard library, of which
/// the one among them called jit_std.cuh has what is needed. For a static, which outlives all kernels.
std::vector<SourceFile> with_standard_headers(std::span<const SourceFile> headers);

class JitCache {
 public:
  /// One kernel of the process.
  class Entry {
   public:
    Entry(const KernelKind& kind, const std::string& architecture, std::string_view source)
        : kind_(kind), text_(architecture + "\n"), source_at_(text_.size()) {
      text_ += source;
    }

   private:
    friend class JitCache;
    enum class Stage { kNew, kQueued, kMade, kLoaded, kNone };
    std::string architecture() const { return text_.substr(0, source_at_ - 1); }
    std::string source() const { return text_.substr(source_at_); }

    const KernelKind& kind_;
    std::string text_;  // architecture and source
    const std::size_t source_at_;
    std::atomic<Stage> stage_ = Stage::kNew;
    double spent_s_ = 0;
    std::string binary_;                           // while kMade
    std::atomic<const void*> function_ = nullptr;  // once kLoaded
    std::string why_;                              // kNone
    bool is_too_long_ = false;                     // kNone
  };

  /// The one of the process. Null where none can be: no compiler library (`why` says so), it is off,
  /// or this process is the fork of one that has it.
  static JitCache* of_process(std::string* why = nullptr);
  /// The same where somebody has asked for it already; null otherwise.
  static JitCache* if_made();
  /// What TILEWAVE_JIT says: "off", "auto" (the default) or "all", which compiles short passes too.
  /// Throws Error(kUsage) for anything else.
  static void set_use(const std::string& use);
  /// Whether passes that take so long get kernels.
  static bool serves(double pass_s);
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;

  /// The entry of a source and a device, with its kernel where a process before has compiled it.
  /// `kind` is a static.
  std::shared_ptr<Entry> entry(const KernelKind& kind, std::string_view source,
                               const CudaDevice& device);
  std::size_t num_entries() const;
  /// The kernel, for launches; null as long as there is none. Loads it on first use.
  const void* function(Entry& entry);
  /// It takes the device so long now; enough of that, and its kernel is compiled.
  void note(Entry& entry, double seconds);
  /// Compiles now, in the background.
  void request(Entry& entry);
  /// Why there is none and will be none; empty otherwise.
  std::string why_not(const Entry& entry) const;
  /// There is none because its machine code came out too long: another source may do.
  static bool is_too_long(const Entry& entry);
  /// What the compiler said of the first source that it refused, which is a defect of this program;
  /// empty where it took all.
  std::string refusal() const;
  /// Until nothing is left to compile, nor anything else to do in the background.
  static void wait();

  /// "NVRTC 13.0, kernels in /home/ada/.cache/tilewave/kernels"
  std::string description() const;

 private:
  JitCache() = default;
  static void end_before_the_compiler(const std::string& architecture);
  /// Everything that the machine code of an entry depends on.
  std::string identity_of(const Entry& entry);
  void make(Entry& entry);
  static void give_up(Entry& entry, std::string why);
  /// Machine code from the compiler or from disk; an empty one came out too long.
  static void take(Entry& entry, std::string binary);

  const int process_ = getpid();
  mutable std::mutex mutex_;
  std::unordered_map<std::string_view, std::shared_ptr<Entry>> entries_;  // by their texts
  /// Identities but for the source, of kinds and architectures.
  std::map<std::pair<const KernelKind*, std::string>, std::string> kinds_;
  std::string refusal_;
};

}  // namespace tilewave::runtime::cuda
