// Sizes of a core's data caches.
#pragma once

#include <cstddef>

namespace tilewave::runtime {

struct CacheSizes {
  std::size_t first_level_bytes = 0;   ///< data; 0 where the system does not say
  std::size_t second_level_bytes = 0;  ///< 0 where the system does not say
};

/// As the operating system reports them.
CacheSizes cache_sizes();

}  // namespace tilewave::runtime
