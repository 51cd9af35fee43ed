#include "tilewave/runtime/cache_sizes.h"

#include <unistd.h>

namespace tilewave::runtime {

namespace {

[[maybe_unused]] std::size_t size_of(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace

CacheSizes cache_sizes() {
  CacheSizes sizes;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  sizes.first_level_bytes = size_of(_SC_LEVEL1_DCACHE_SIZE);
  sizes.second_level_bytes = size_of(_SC_LEVEL2_CACHE_SIZE);
#endif
  return sizes;
}

}  // namespace tilewave::runtime
