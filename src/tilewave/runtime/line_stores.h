// Bulk bytes to memory in whole lines of a cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::runtime {

constexpr std::size_t kLine = 64;

/// Writes whole lines, both ends aligned to a line, without reading them from memory first and
/// without leaving them in the caches: half the traffic, for arrays that no cache keeps. Call
/// finish_lines before another thread reads them.
void write_lines(const std::uint8_t* from, std::size_t num_bytes, std::uint8_t* to);
void finish_lines();

/// The first `bytes` bytes of rows that lie `stride` bytes apart, side by side. Up to kLine - 1
/// bytes behind a row are read, and as many behind the result are overwritten.
void pack_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
               std::size_t bytes, std::uint8_t* to);

}  // namespace tilewave::runtime
