#include "tilewave/statevec/cuda/jit_files.h"

#include <vector>

#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::cuda {

namespace {

using runtime::cuda::SourceFile;

constexpr SourceFile kHeaders[] = {
#include "jit_files.inc"
};

}  // namespace

const runtime::cuda::KernelKind& pass_kernels() {
  static const auto* const files =
      new std::vector<SourceFile>(runtime::cuda::with_standard_headers(kHeaders));
  static const runtime::cuda::KernelKind kind{*files, tile::kJitKernelName,
                                              tile::kJitMostCodeBytes};
  return kind;
}

}  // namespace tilewave::statevec::cuda
