// Picking an instruction set at run time. A function body is written once as an inline function and
// compiled under several targets; the caller asks which one this machine runs.
#pragma once

namespace tilewave {

enum class CpuLevel { kBase, kAvx2, kAvx512 };

/// The best level this machine runs (AVX-512 means F, BW, DQ and VL).
inline CpuLevel cpu_level() {
#if defined(__x86_64__)
  static const CpuLevel kLevel = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("bmi2")) {
      return CpuLevel::kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return CpuLevel::kAvx2;
    return CpuLevel::kBase;
  }();
  return kLevel;
#else
  return CpuLevel::kBase;
#endif
}

}  // namespace tilewave

#if defined(__x86_64__)
#define TW_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,lzcnt,popcnt")))
#define TW_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#else
#define TW_TARGET_AVX512
#define TW_TARGET_AVX2
#endif

namespace tilewave {

/// `Body`, an inline function that is always inlined, compiled under every target.
template <auto Body>
struct ForThisCpu;
template <class... P, void (*Body)(P...)>
struct ForThisCpu<Body> {
  TW_TARGET_AVX512 static void avx512(P... args) { Body(args...); }
  TW_TARGET_AVX2 static void avx2(P... args) { Body(args...); }
  static void base(P... args) { Body(args...); }
  /// Calls the one for this machine.
  static void call(P... args) {
    switch (cpu_level()) {
      case CpuLevel::kAvx512:
        return avx512(args...);
      case CpuLevel::kAvx2:
        return avx2(args...);
      case CpuLevel::kBase:
        return base(args...);
    }
  }
};

}  // namespace tilewave
