#include "tilewave/parametric/cuda/compiled_files.h"

#include <vector>

#include "tilewave/parametric/plan/source_text.h"

namespace tilewave::parametric::device {

namespace {

using runtime::cuda::SourceFile;

constexpr SourceFile kHeaders[] = {
#include "compiled_files.inc"
};
constexpr std::size_t kMostCodeBytes = std::size_t{192} << 10;

}  // namespace

const runtime::cuda::KernelKind& compiled_kernels() {
  static const auto* const files =
      new std::vector<SourceFile>(runtime::cuda::with_standard_headers(kHeaders));
  static const runtime::cuda::KernelKind kind{*files, kCompiledName, kMostCodeBytes};
  return kind;
}

}  // namespace tilewave::parametric::device
