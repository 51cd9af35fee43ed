// The formats shots are written in: Stim's six and two of our own. Bits come as shot-major rows,
// bit b of a row at byte b / 8, lowest bit first (that is b8 itself).
//
//   01      a line of characters a shot
//   b8      the rows
//   r8      runs of zeros, 255 continues
//   ptb64   64 shots at a time, one u64 a bit
//   hits    the numbers of the ones, separated by commas
//   dets    `shot M0 D2 L0`
//   sparse  u32 count, then u32 numbers, a shot
//   counts, pairs  a summary of all shots, see ShotSummary
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/formats/shots/byte_buffer.h"
#include "tilewave/formats/shots/lists.h"

namespace tilewave::formats {

enum class ShotFormat : std::uint8_t {
  k01,
  kB8,
  kR8,
  kPtb64,
  kHits,
  kDets,
  kSparse,
  kCounts,
  kPairs
};

/// Throws Error(kUsage) naming the formats when there is none of this name.
ShotFormat parse_shot_format(std::string_view name);

/// The bits of a shot that flags may ask for: 128 GiB.
constexpr std::uint64_t kMostShotBits = std::uint64_t{1} << 40;

/// What the bits of a shot are, in this order.
struct ShotLayout {
  std::uint64_t measurements = 0, detectors = 0, observables = 0;
  bool observables_first = false;  ///< written before the detectors; in the rows they are behind
  /// All of them; 2^64 - 1 where there are more.
  std::uint64_t bits() const {
    return saturating_add(saturating_add(measurements, detectors), observables);
  }
  std::uint64_t bytes() const { return bits() / 8 + (bits() % 8 != 0); }
};

/// Shots to be turned from one format into another at a time: 1024, fewer where they are large, a
/// multiple of 64 where one of the formats is ptb64. Throws Error(kResources) where memory does not
/// hold them.
std::size_t shots_at_once(const ShotLayout& layout, std::initializer_list<ShotFormat> formats);

/// The bits [first, first + count) of rows as rows of their own; what is left of a last byte is 0.
void cut_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
              std::uint64_t first, std::uint64_t count, std::vector<std::uint8_t>& out);

/// One byte (0 or 1) a bit: num_shots x num_bits bytes without gaps.
void unpack_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, std::uint8_t* out);

/// Turns rows into the bytes of a format.
class ShotFormatter {
 public:
  ShotFormatter(ShotFormat format, const ShotLayout& layout);
  /// Appends `num_shots` rows, `stride` bytes apart; bits behind the layout's are ignored. ptb64
  /// takes multiples of 64.
  void append(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
              ByteBuffer& out) const;

 private:
  ShotFormat format_;
  ShotLayout layout_;
  std::optional<LabelWriter> labels_;  // of hits and dets
};

/// The whole shots at the front of bytes that a ShotFormatter made.
struct WholeShots {
  std::uint64_t shots = 0, bytes = 0;
};
WholeShots whole_shots(ShotFormat format, const ShotLayout& layout, std::span<const char> bytes);

/// Brings rows, `stride` bytes apart, together in place: bits behind the layout's become 0, bytes
/// behind them go.
void pack_rows(std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
               const ShotLayout& layout);

/// Reads shots of a format back, some at a time. Throws Error(kInput) where the data are malformed.
class ShotReader {
 public:
  /// `file` stays the caller's.
  ShotReader(std::FILE* file, std::string name, ShotFormat format, const ShotLayout& layout);
  /// Appends up to `max_shots` (a multiple of 64) rows of layout.bytes() to `rows`; 0 at the end.
  std::size_t read(std::size_t max_shots, std::vector<std::uint8_t>& rows);

 private:
  bool read_one(std::uint8_t* row);
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... problem) const {
    tilewave::fail(ExitCode::kInput, name_, ": shot ", shot_, ": ", problem...);
  }
  void check_read() const;  ///< throws where the file could not be read
  /// The digits from c on, as much as 64 bits hold; c becomes what follows them.
  std::uint64_t read_number(int& c);
  int get() { return std::getc(file_); }

  std::FILE* file_;
  std::string name_;
  ShotFormat format_;
  ShotLayout layout_;
  std::uint64_t shot_ = 0;
};

/// counts and pairs tell of all shots together.
inline bool is_summary(ShotFormat format) {
  return format == ShotFormat::kCounts || format == ShotFormat::kPairs;
}

/// How often each bit is set, and for pairs how often both bits of a pair are.
class ShotSummary {
 public:
  /// Throws Error(kResources) for pairs of more bits than memory has room for.
  ShotSummary(ShotFormat format, const ShotLayout& layout);
  void add(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots);

  bool pairs() const { return pairs_; }
  /// counts: entry b; pairs: entry b (b + 1) / 2 + a for a <= b, a single bit where a = b.
  std::vector<std::uint64_t>& table() { return table_; }
  void add_shots(std::uint64_t count) { shots_ += count; }
  std::uint64_t shots() const { return shots_; }

  /// `shots N`, a line `D3 120` for every bit, then `D1 D3 7` for every pair that occurred.
  std::string text() const;

 private:
  ShotLayout layout_;
  bool pairs_;
  std::uint64_t shots_ = 0;
  std::vector<std::uint64_t> table_;
  std::vector<std::uint32_t> ones_;
};

}  // namespace tilewave::formats
