#include "tilewave/runtime/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace tilewave::runtime {
namespace {

TEST(HostBuffer, is_zero_aligned_and_moves_at_every_size) {
  for (const std::size_t size : {1ul, 4096ul, 131072ul, 131073ul, 3ul << 20}) {
    for (int round = 0; round < 2; ++round) {  // the second one may get memory that was written
      HostBuffer a(size);
      EXPECT_EQ(a.num_bytes(), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 4096, 0u);
      const auto* bytes = a.as<std::uint8_t>();
      for (std::size_t k = 0; k < size; ++k) ASSERT_EQ(bytes[k], 0) << size;
      std::memset(a.data(), 0xEE, size);
      HostBuffer b(16);
      b = std::move(a);
      HostBuffer c(std::move(b));
      EXPECT_EQ(c.data(), bytes);
    }
  }
  EXPECT_EQ(HostBuffer(0).data(), nullptr);
}

}  // namespace
}  // namespace tilewave::runtime
