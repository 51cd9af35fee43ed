#include "tilewave/stabilizer/sample/shot_layouts.h"

#include <algorithm>
#include <cstring>

#include "tilewave/formats/shots/byte_buffer.h"
#include "tilewave/formats/shots/lists.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/sample/fill_shots.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kBytesAtOnce = std::uint64_t{8} << 20;

// Shots looked at together: whole blocks, and whole bytes of bit rows.
std::uint64_t shots_at_once(const ShotSource& source, std::uint64_t row_bytes) {
  const std::uint64_t block = std::max<std::uint64_t>(64, source.block_shots());
  return std::max<std::uint64_t>(1, kBytesAtOnce / (row_bytes + 1) / block) * block;
}

}  // namespace

std::vector<std::uint8_t> sample_bit_rows(ShotSource& source, const ShotStretch& shots) {
  const std::uint64_t num_bits = source.num_bits(), words = (num_bits + 63) / 64;
  const std::uint64_t bytes = source.row_bytes(), stride = source.row_stride();
  const std::uint64_t out_stride = (shots.count + 7) / 8;
  std::vector<std::uint8_t> out(num_bits * out_stride);
  if (num_bits == 0) return out;
  const std::uint64_t at_once = shots_at_once(source, words * 8);
  std::vector<std::uint64_t> rows(std::min(at_once, shots.count) * words);
  for (std::uint64_t done = 0; done < shots.count; done += at_once) {
    const std::uint64_t now = std::min(at_once, shots.count - done);
    fill_shots(source, shots.seed, shots.first + done, now, shots.num_threads,
               [&](const FilledRows& part) {
                 for (std::uint64_t s = 0; s < part.count; ++s)
                   std::memcpy(rows.data() + (part.first + s) * words, part.rows + s * stride,
                               bytes);
               });
    // what are rows here are the bits there
    transpose_rows(rows.data(), now, words, num_bits, out.data() + done / 8, out_stride);
  }
  return out;
}

ShotLists sample_lists(ShotSource& source, const ShotStretch& shots, std::uint64_t num_bits) {
  ShotLists out;
  out.offsets.reserve(shots.count + 1);
  out.offsets.push_back(0);
  const std::uint64_t at_once = shots_at_once(source, source.row_bytes());
  const std::uint64_t block = source.block_shots(), stride = source.row_stride();
  std::vector<formats::ByteBuffer> parts;  // of blocks: a count, then the numbers, for every shot
  for (std::uint64_t done = 0; done < shots.count; done += at_once) {
    const std::uint64_t now = std::min(at_once, shots.count - done), start = shots.first + done;
    const std::uint64_t first_block = start / block;
    parts.resize((start + now - 1) / block - first_block + 1);
    for (formats::ByteBuffer& part : parts) part.clear();
    fill_shots(source, shots.seed, start, now, shots.num_threads, [&](const FilledRows& part) {
      formats::append_numbers(part.rows, stride, part.count, num_bits,
                              parts[(start + part.first) / block - first_block]);
    });
    for (const formats::ByteBuffer& part : parts) {
      for (std::size_t at = 0; at < part.size();) {
        std::uint32_t count;
        std::memcpy(&count, part.data() + at, 4);
        const std::size_t before = out.hits.size();
        out.hits.resize(before + count);
        if (count > 0) std::memcpy(out.hits.data() + before, part.data() + at + 4, 4ULL * count);
        out.offsets.push_back(static_cast<std::int64_t>(out.hits.size()));
        at += 4 + 4ULL * count;
      }
    }
  }
  return out;
}

}  // namespace tilewave::stabilizer
