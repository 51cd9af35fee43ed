// Sweeps over Pauli strings: what the interpreter needs of them on the device, and each as a kernel of
// its own from when the compiler is done with it.
#pragma once

#include <memory>
#include <vector>

#include "tilewave/parametric/cuda/compiled_files.h"
#include "tilewave/parametric/cuda/compiled_strings.cuh"
#include "tilewave/parametric/cuda/pass_kernels.cuh"
#include "tilewave/parametric/plan/pass_source.h"

namespace tilewave::parametric::device {

template <class T>
class CompiledSweep {
 public:
  static constexpr int kReg = 3, kThreads = 1 << (kRow - kReg);
  static constexpr std::size_t kSharedBytes = 2 * (sizeof(Amplitude<T>) << kRow);  // two tiles

  /// Asks for the kernel. Nothing comes of it where there is no compiler, too little memory, or the
  /// strings flip wires that choose the tile.
  CompiledSweep(const StringSweep& sweep, const StringWeights& of_string, std::uint32_t num_sums,
                bool lam, const runtime::CudaDevice& device, const cudaDeviceProp& properties) {
    cuda::JitCache* const cache = cuda::JitCache::of_process();
    if (!cache || sweep.flip_outer || properties.major < 8 ||
        properties.sharedMemPerBlockOptin < kSharedBytes)
      return;
    const Segments<T, kReg> all = segments_of<T, kReg>(sweep, of_string, kRow - kReg);
    std::vector<SourceSegment> segments;
    for (const auto& segment : all.segments) {
      SourceSegment& to = segments.emplace_back(SourceSegment{segment.flip, segment.sum, {}});
      for (const bool imaginary : {false, true}) {
        const auto& first = segment.first[imaginary];
        for (std::uint32_t held = 0; held < 1u << kReg; ++held) {
          for (std::uint32_t k = first[held]; k < first[held + 1]; ++k)
            to.strings.push_back({all.strings[k].outer, all.strings[k].row, held, imaginary});
        }
      }
    }
    const auto source =
        string_source(segments, {sizeof(T) == 4, lam, kRow, kReg, sweep.active, num_sums});
    if (!source) return;
    for (const auto& string : all.strings) weights_.push_back(string.weight);
    entry_ = cache->entry(compiled_kernels(), *source, device);
    cache->request(*entry_);
  }

  /// Null as long as there is none.
  const void* kernel() const {
    return entry_ ? cuda::JitCache::of_process()->function(*entry_) : nullptr;
  }
  template <class Arguments>
  void launch(const void* kernel, std::uint32_t blocks, const Arguments& a,
              const cuda::Stream& stream) {
    CompiledStringArguments<T> arguments{
        a.psi, a.lam, a.sums, a.tiles.outer, a.tiles.shard, a.tiles.stride, a.tiles.count, a.adds};
    void* pointers[] = {&arguments, weights_.data()};
    cuda::check(cuda::driver().launch(kernel, dim3(blocks), dim3(kThreads), pointers, kSharedBytes,
                                      stream.get()),
                "start a kernel on the device");
  }

 private:
  std::shared_ptr<cuda::JitCache::Entry> entry_;
  std::vector<T> weights_;
};

/// The sweeps' strings with their weights, on the device for as long as the weights stay: those of
/// expectations always do, those of lam where there is one observable.
template <class T>
struct KeptSweeps {
  static constexpr int kReg = Shape<T, true>::kReg;

  StringWeights weights;
  std::vector<Array<StringSegment<(1 << kReg)>>> segments;
  std::vector<Array<DeviceString<T>>> strings;
  Array<double> totals;
  std::vector<CompiledSweep<T>> compiled;

  void keep(const std::vector<StringSweep>& sweeps, const StringWeights& wanted,
            std::uint32_t num_sums, const cuda::Stream& stream) {
    if (totals.count() && weights == wanted) return;
    *this = {};
    for (const StringSweep& sweep : sweeps) {
      const auto own = segments_of<T, kReg>(sweep, wanted, kRow - kReg);
      segments.emplace_back(own.segments, stream);
      strings.emplace_back(own.strings, stream);
      stream.synchronize();  // before `own` goes
    }
    totals = Array<double>(std::max<std::size_t>(2 * std::size_t{num_sums}, 1), "expectations");
    weights = wanted;
  }
};

}  // namespace tilewave::parametric::device
