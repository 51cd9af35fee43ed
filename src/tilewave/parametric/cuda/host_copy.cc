// See host_copy.h.
#include "tilewave/parametric/cuda/host_copy.h"

#include <algorithm>
#include <cstdint>

#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {

void copy_on_threads(double* to, const double* from, std::size_t count) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const auto pieces = static_cast<std::int64_t>((count + kPiece - 1) / kPiece);
  const int threads =
      pieces > 1 ? static_cast<int>(std::min<std::int64_t>(runtime::resolve_num_threads(0), pieces))
                 : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::size_t first = static_cast<std::size_t>(k) * kPiece;
    std::copy_n(from + first, std::min(kPiece, count - first), to + first);
  }
}

}  // namespace tilewave::parametric
