// The passes of a program as kernels of their own: asked for once they have run for long enough, and
// launched from when the compiler in the background is done with them.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tilewave/parametric/cuda/compiled_files.h"
#include "tilewave/parametric/cuda/compiled_pass.cuh"
#include "tilewave/parametric/cuda/device_program.cuh"
#include "tilewave/parametric/cuda/pass_kernels.cuh"
#include "tilewave/parametric/plan/pass_source.h"

namespace tilewave::parametric::device {

/// How a compiled pass uses a multiprocessor: the bits of the registers' number, blocks, and how many
/// of a thread's amplitudes of the next tile are copied ahead, as shared memory has room beside the
/// addresses of exchanges.
struct CompiledShape {
  int reg, blocks, ahead;

  int threads() const { return 1 << (kRow - reg); }
  template <class T>
  std::size_t bytes() const {
    return (sizeof(Amplitude<T>) << kRow) +
           static_cast<std::size_t>(ahead * threads()) * sizeof(Amplitude<T>);
  }
};
template <class T, bool kBack>
CompiledShape compiled_shape() {
  if constexpr (kBack) {
    return {4, sizeof(T) == 8 ? 1 : 2, 32};
  } else {
    return sizeof(T) == 8 ? CompiledShape{4, 2, 10} : CompiledShape{4, 3, 16};
  }
}

template <class T, bool kBack>
class CompiledRun {
 public:
  /// Asks for the kernels. Nothing comes of it where there is no compiler, or too little memory.
  CompiledRun(const Passes& planned, const runtime::CudaDevice& device,
              const cudaDeviceProp& properties, const cuda::Stream& stream) {
    cuda::JitCache* const cache = cuda::JitCache::of_process();
    const std::size_t own = shape_.bytes<T>() + (std::size_t{1} << 10);
    const std::size_t share = std::min(properties.sharedMemPerBlockOptin,
                                       properties.sharedMemPerMultiprocessor / shape_.blocks -
                                           properties.reservedSharedMemPerBlock);
    if (!cache || share < own || properties.major < 8) return;
    const StageProgram program =
        make_stages(planned, {shape_.reg, kBankBits<T>, share - own, kBack, true, true});
    there_.emplace(program, stream);
    steps_.resize(program.passes.size());
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      auto source = pass_source(program, k, {sizeof(T) == 4, kBack, shape_.ahead, shape_.blocks});
      if (!source) continue;
      Step& step = steps_[k];
      const StagePass& pass = program.passes[k];
      step.shared = shape_.bytes<T>() +
                    static_cast<unsigned>(shape_.threads()) *
                        (pass.num_kept * kAddressBytes + pass.num_accumulators * kAccumulatorBytes);
      step.first_accumulated = pass.first_accumulated;
      step.entry = cache->entry(compiled_kernels(), source->text, device);
      step.source = *std::move(source);
      step.source.text = {};
      cache->request(*step.entry);
    }
  }

  /// The kernel of a pass; null as long as there is none.
  const void* kernel(std::size_t pass) {
    if (pass >= steps_.size() || !steps_[pass].entry) return nullptr;
    return cuda::JitCache::of_process()->function(*steps_[pass].entry);
  }
  std::size_t shared_bytes(std::size_t pass) const { return steps_[pass].shared; }
  int threads() const { return shape_.threads(); }

  /// The values of a set: `factors` there and here.
  void bind(const Amplitude<T>* factors, const cuda::Stream& stream) {
    if (there_) there_->bind_tables(factors, stream);
  }

  void launch(const void* kernel, std::size_t pass, std::uint32_t blocks, const PassArguments<T>& a,
              const std::vector<std::pair<T, T>>& factors, const cuda::Stream& stream) {
    const Step& step = steps_[pass];
    std::vector<std::byte> numbers = fill_numbers(step.source, factors);
    CompiledArguments<T> arguments{
        a.psi,         a.lam,         there_->table(),
        a.sums,        a.start,       there_->view().reads + step.first_accumulated,
        a.tiles.outer, a.tiles.shard, a.tiles.stride,
        a.tiles.count, a.load_zeros,  a.store_zeros,
        a.stores};
    void* pointers[] = {&arguments, numbers.data()};
    cuda::check(
        cuda::driver().launch(kernel, dim3(blocks), dim3(static_cast<unsigned>(shape_.threads())),
                              pointers, step.shared, stream.get()),
        "start a kernel on the device");
  }

 private:
  struct Step {
    std::shared_ptr<cuda::JitCache::Entry> entry;
    std::size_t shared = 0;
    std::uint32_t first_accumulated = 0;
    PassSource source;  // without its text
  };
  const CompiledShape shape_ = compiled_shape<T, kBack>();
  std::vector<Step> steps_;
  std::optional<DeviceProgram<T>> there_;
};

}  // namespace tilewave::parametric::device
