// Kernels compiled for single tile programs (jit_kernel.cuh), made in the background while the
// interpreter runs, and kept on disk. A process compiles what has run for kJitAfter_s in it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tilewave/runtime/machine.h"

namespace tilewave::statevec::cuda {

/// A pass that has taken so many seconds in all is worth the two that compiling it takes.
inline constexpr double kJitAfter_s = 0.3;
/// Passes shorter than this are left to the interpreter.
inline constexpr double kJitShortestPass_s = 3e-4;

class JitCache {
 public:
  /// One kernel of the process.
  class Entry {
   public:
    Entry(std::string source, std::string architecture)
        : source_(std::move(source)), architecture_(std::move(architecture)) {}

   private:
    friend class JitCache;
    enum class Stage { kNew, kQueued, kMade, kLoaded, kNone };
    const std::string source_, architecture_;
    std::atomic<Stage> stage_ = Stage::kNew;
    double spent_s_ = 0;
    std::string binary_;                           // while kMade
    std::atomic<const void*> function_ = nullptr;  // once kLoaded
    std::string why_;                              // kNone
  };

  /// The one of the process, which waits at its end for kernels that are being compiled. Null where
  /// none can be: no compiler library (`why` says so), or it is off.
  static JitCache* of_process(std::string* why = nullptr);
  /// What TILEWAVE_JIT says: "off", "auto" (the default) or "all", which compiles short passes too.
  /// Throws Error(kUsage) for anything else.
  static void set_use(const std::string& use);
  /// Whether passes that take so long get kernels.
  static bool serves(double pass_s);
  ~JitCache();
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;

  /// The entry of a source (jit_source.h) and a device; lives as long as the cache.
  Entry& entry(std::string source, const runtime::CudaDevice& device);
  /// The kernel, for launches; null as long as there is none. Loads it on first use.
  const void* function(Entry& entry);
  /// It takes the device so long now; enough of that, and its kernel is compiled.
  void note(Entry& entry, double seconds);
  /// Compiles now, in the background.
  void request(Entry& entry);
  /// Why there is none and will be none; empty otherwise.
  std::string why_not(const Entry& entry) const;
  /// Until nothing is left to compile.
  void wait();

  /// "NVRTC 13.0, kernels in /home/ada/.cache/tilewave/kernels"
  std::string description() const;

 private:
  JitCache();
  void work();
  void make(Entry& entry) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;  // by architecture and source
  std::deque<Entry*> queue_;
  int busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tilewave::statevec::cuda
