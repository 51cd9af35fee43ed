#include "tilewave/statevec/cuda/jit_files.h"

#include <string_view>
#include <vector>

namespace tilewave::statevec::cuda {

namespace {

using runtime::cuda::SourceFile;

constexpr SourceFile kHeaders[] = {
#include "jit_files.inc"
};
/// Headers of the standard library, of which jit_std.cuh has what is needed.
constexpr const char* kStandard[] = {"bit",     "cmath",         "complex", "cstddef",
                                     "cstdint", "cstring",       "numbers", "type_traits",
                                     "utility", "cuda_runtime.h"};

}  // namespace

std::span<const SourceFile> jit_files() {
  static const auto* const files = [] {
    auto* all = new std::vector<SourceFile>(std::begin(kHeaders), std::end(kHeaders));
    const char* standard = "";
    for (const SourceFile& file : kHeaders) {
      if (std::string_view(file.name).ends_with("/jit_std.cuh")) standard = file.text;
    }
    for (const char* name : kStandard) all->push_back({name, standard});
    return all;
  }();
  return *files;
}

}  // namespace tilewave::statevec::cuda
