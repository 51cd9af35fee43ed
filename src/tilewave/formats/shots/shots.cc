#include "tilewave/formats/shots/shots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "tilewave/base/memory_error.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::formats {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"01",   "b8",     "r8",     "ptb64", "hits",
                                                    "dets", "sparse", "counts", "pairs"};

constexpr std::uint64_t kMostPairBits = 32768;  // 4 GiB of counters

constexpr bool is_digit(int c) { return c >= '0' && c <= '9'; }

// Calls f(bit) for the ones of a row, lowest first.
template <class F>
void for_each_one(const std::uint8_t* row, std::uint64_t num_bits, F f) {
  const std::uint64_t bytes = (num_bits + 7) / 8;
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, row + at, std::min<std::uint64_t>(8, bytes - at));
    if (at + 8 >= bytes && num_bits - at * 8 < 64) {
      word &= (std::uint64_t{1} << (num_bits - at * 8)) - 1;
    }
    for (; word; word &= word - 1) f(at * 8 + static_cast<std::uint64_t>(std::countr_zero(word)));
  }
}

// Eight characters for the eight bits of a byte.
const std::array<std::uint64_t, 256>& characters() {
  static const auto kTable = [] {
    std::array<std::uint64_t, 256> t{};
    for (int b = 0; b < 256; ++b) {
      char c[8];
      for (int k = 0; k < 8; ++k) c[k] = static_cast<char>('0' + ((b >> k) & 1));
      std::memcpy(&t[static_cast<std::size_t>(b)], c, 8);
    }
    return t;
  }();
  return kTable;
}

char kind_of(const ShotLayout& l, std::uint64_t bit, std::uint64_t* index) {
  if (bit < l.measurements) return *index = bit, 'M';
  if (bit < l.measurements + l.detectors) return *index = bit - l.measurements, 'D';
  return *index = bit - l.measurements - l.detectors, 'L';
}

}  // namespace

void cut_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
              std::uint64_t first, std::uint64_t count, std::vector<std::uint8_t>& out) {
  const std::size_t bytes = (count + 7) / 8, shift = first % 8;
  out.assign(num_shots * bytes, 0);
  for (std::size_t s = 0; s < num_shots; ++s) {
    const std::uint8_t* from = rows + s * stride + first / 8;
    for (std::size_t k = 0; k < bytes; ++k) {
      unsigned v = from[k] >> shift;
      if (shift && first / 8 + k + 1 < stride)
        v |= static_cast<unsigned>(from[k + 1]) << (8 - shift);
      out[s * bytes + k] = static_cast<std::uint8_t>(v);
    }
    if (count % 8) out[(s + 1) * bytes - 1] &= static_cast<std::uint8_t>((1U << (count % 8)) - 1);
  }
}

void unpack_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, std::uint8_t* out) {
  static const auto kTable = [] {
    std::array<std::uint64_t, 256> t = characters();
    for (std::uint64_t& eight : t) eight -= 0x3030303030303030;  // '0' becomes 0
    return t;
  }();
  for (std::size_t s = 0; s < num_shots; ++s) {
    const std::uint8_t* from = rows + s * stride;
    for (std::uint64_t b = 0; b + 8 <= num_bits; b += 8, out += 8) {
      std::memcpy(out, &kTable[*from++], 8);
    }
    if (num_bits % 8) std::memcpy(out, &kTable[*from], num_bits % 8);
    out += num_bits % 8;
  }
}

std::size_t shots_at_once(const ShotLayout& layout, std::initializer_list<ShotFormat> formats) {
  constexpr std::uint64_t kMost = 1024, kRows = std::uint64_t{64} << 20;
  const std::uint64_t group =
      std::count(formats.begin(), formats.end(), ShotFormat::kPtb64) ? 64 : 1;
  const std::uint64_t bytes = std::max<std::uint64_t>(1, layout.bytes());
  // As much again for what they are turned into.
  const std::uint64_t available = runtime::available_host_bytes() / 2;
  if (bytes > available / group) {
    fail_memory(group, group > 1 ? " shots of " : " shot of ", layout.bits(),
                " bits, read and written, do not fit the ", available >> 19,
                " MiB of memory that are left", group > 1 ? ": use another format than ptb64" : "");
  }
  return std::clamp<std::uint64_t>(kRows / bytes / group * group, group, kMost);
}

ShotFormat parse_shot_format(std::string_view name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) {
    fail(ExitCode::kUsage, "unknown format '", name,
         "': use 01, b8, r8, ptb64, hits, dets, sparse, counts or pairs");
  }
  return static_cast<ShotFormat>(it - kNames.begin());
}

ShotFormatter::ShotFormatter(ShotFormat format, const ShotLayout& layout)
    : format_(format), layout_(layout) {
  if (format == ShotFormat::kHits || format == ShotFormat::kDets) {
    labels_.emplace(format == ShotFormat::kDets, layout.measurements, layout.detectors,
                    layout.observables, format == ShotFormat::kDets && layout.observables_first);
  }
}

namespace {
// Rows with the observables before the detectors.
std::vector<std::uint8_t> observables_first(const std::uint8_t* rows, std::size_t stride,
                                            std::size_t num_shots, const ShotLayout& l) {
  const std::uint64_t bytes = l.bytes();
  std::vector<std::uint8_t> detectors, observables, out(num_shots * bytes);
  cut_rows(rows, stride, num_shots, 0, l.detectors, detectors);
  cut_rows(rows, stride, num_shots, l.detectors, l.observables, observables);
  const std::size_t d = (l.detectors + 7) / 8, o = (l.observables + 7) / 8;
  for (std::size_t s = 0; s < num_shots; ++s) {
    std::uint8_t* row = out.data() + s * bytes;
    std::copy_n(observables.data() + s * o, o, row);
    for (std::size_t k = 0; k < d; ++k) {
      const unsigned wide = unsigned{detectors[s * d + k]} << (l.observables % 8);
      const std::uint64_t at = l.observables / 8 + k;
      row[at] |= static_cast<std::uint8_t>(wide);
      if (at + 1 < bytes) row[at + 1] |= static_cast<std::uint8_t>(wide >> 8);
    }
  }
  return out;
}
}  // namespace

void ShotFormatter::append(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                           ByteBuffer& out) const {
  const std::uint64_t bits = layout_.bits(), bytes = layout_.bytes();
  std::vector<std::uint8_t> reordered;
  if (layout_.observables_first && format_ != ShotFormat::kDets) {
    TW_CHECK(layout_.measurements == 0, "only detectors have observables before them");
    reordered = observables_first(rows, stride, num_shots, layout_);
    rows = reordered.data(), stride = bytes;
  }
  switch (format_) {
    case ShotFormat::kB8: {
      auto* to = reinterpret_cast<std::uint8_t*>(out.extend(num_shots * bytes));
      for (std::size_t s = 0; s < num_shots; ++s)
        std::memcpy(to + s * bytes, rows + s * stride, bytes);
      return pack_rows(to, bytes, num_shots, layout_);
    }
    case ShotFormat::k01: {
      const auto& table = characters();
      for (std::size_t s = 0; s < num_shots; ++s) {
        const std::uint8_t* row = rows + s * stride;
        char* to = out.reserve(bits + 8);  // the last group may write past its bits
        for (std::uint64_t b = 0; b < bytes; ++b) std::memcpy(to + 8 * b, &table[row[b]], 8);
        to[bits] = '\n';
        out.add(bits + 1);
      }
      return;
    }
    case ShotFormat::kHits:
    case ShotFormat::kDets:
      return labels_->append(rows, stride, num_shots, out);
    case ShotFormat::kR8:
      return append_runs(rows, stride, num_shots, bits, out);
    case ShotFormat::kSparse:
      return append_numbers(rows, stride, num_shots, bits, out);
    case ShotFormat::kPtb64: {
      if (num_shots % 64) {
        fail(ExitCode::kUsage,
             "ptb64 holds 64 shots at a time, and their number is no multiple of 64: use another "
             "format");
      }
      for (std::size_t s = 0; s < num_shots; s += 64) {
        auto* to = reinterpret_cast<std::uint8_t*>(out.extend(bits * 8));
        std::memset(to, 0, bits * 8);
        for (std::size_t k = 0; k < 64; ++k) {
          for_each_one(rows + (s + k) * stride, bits, [&](std::uint64_t b) {
            to[b * 8 + k / 8] |= static_cast<std::uint8_t>(1u << (k % 8));
          });
        }
      }
      return;
    }
    case ShotFormat::kCounts:
    case ShotFormat::kPairs:
      TW_CHECK(false, "a summary is no stream of shots");
  }
}

WholeShots whole_shots(ShotFormat format, const ShotLayout& layout, std::span<const char> bytes) {
  WholeShots out;
  const std::uint64_t bits = layout.bits(), size = bytes.size();
  const auto groups_of = [&](std::uint64_t group, std::uint64_t shots) {
    if (group) out = {size / group * shots, size / group * group};
  };
  switch (format) {
    case ShotFormat::kB8:
      groups_of(layout.bytes(), 1);
      break;
    case ShotFormat::kPtb64:
      groups_of(bits * 8, 64);
      break;
    case ShotFormat::k01:
    case ShotFormat::kHits:
    case ShotFormat::kDets:
      for (std::uint64_t k = 0; k < size; ++k) {
        if (bytes[k] == '\n') out = {out.shots + 1, k + 1};
      }
      break;
    case ShotFormat::kR8:
      for (std::uint64_t k = 0, at = 0; k < size; ++k) {
        const auto run = static_cast<std::uint8_t>(bytes[k]);
        at += run;
        if (run == 255) continue;
        if (at == bits) {
          out = {out.shots + 1, k + 1};
          at = 0;
        } else {
          ++at;
        }
      }
      break;
    case ShotFormat::kSparse:
      for (std::uint32_t count; out.bytes + 4 <= size; ++out.shots) {
        std::memcpy(&count, bytes.data() + out.bytes, 4);
        if (size - out.bytes < 4 + 4 * std::uint64_t{count}) break;
        out.bytes += 4 + 4 * std::uint64_t{count};
      }
      break;
    case ShotFormat::kCounts:
    case ShotFormat::kPairs:
      break;
  }
  return out;
}

void pack_rows(std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
               const ShotLayout& layout) {
  const std::size_t bytes = layout.bytes();
  const std::uint64_t used = layout.bits() % 8;
  const std::uint8_t mask = used ? static_cast<std::uint8_t>((1u << used) - 1) : 0xFF;
  if (bytes == 0 || (bytes == stride && mask == 0xFF)) return;
  for (std::size_t s = 0; s < num_shots; ++s) {
    if (bytes != stride) std::memmove(rows + s * bytes, rows + s * stride, bytes);
    rows[(s + 1) * bytes - 1] &= mask;
  }
}

ShotReader::ShotReader(std::FILE* file, std::string name, ShotFormat format,
                       const ShotLayout& layout)
    : file_(file), name_(std::move(name)), format_(format), layout_(layout) {
  if (format == ShotFormat::kSparse || is_summary(format)) {
    tilewave::fail(ExitCode::kUsage, "shots are read from 01, b8, r8, ptb64, hits or dets only");
  }
  if (layout.bits() == 0 && (format == ShotFormat::kB8 || format == ShotFormat::kPtb64)) {
    tilewave::fail(
        ExitCode::kUsage,
        "shots of no bits take no bytes in b8 and ptb64, so how many there are cannot be "
        "told: read them in 01, r8, hits or dets");
  }
}

void ShotReader::check_read() const {
  if (std::ferror(file_))
    tilewave::fail(ExitCode::kInput, name_, ": cannot read: ", std::strerror(errno));
}

std::uint64_t ShotReader::read_number(int& c) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  std::uint64_t value = 0;
  for (; is_digit(c); c = get()) {
    value = value > kMost / 10 - 1 ? kMost : value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::size_t ShotReader::read(std::size_t max_shots, std::vector<std::uint8_t>& rows) {
  const std::uint64_t bytes = layout_.bytes();
  std::size_t count = 0;
  if (format_ == ShotFormat::kPtb64) {
    std::vector<std::uint64_t> group(layout_.bits());
    while (count + 64 <= max_shots) {
      const std::size_t got = std::fread(group.data(), 1, 8 * group.size(), file_);
      check_read();
      if (got == 0) break;
      if (got != 8 * group.size()) fail("the file ends inside a group of 64 shots");
      const std::size_t at = rows.size();
      rows.resize(at + 64 * bytes);
      for (std::uint64_t b = 0; b < layout_.bits(); ++b) {
        for (std::size_t k = 0; k < 64; ++k) {
          if ((group[b] >> k) & 1)
            rows[at + k * bytes + b / 8] |= static_cast<std::uint8_t>(1u << (b % 8));
        }
      }
      count += 64, shot_ += 64;
    }
    return count;
  }
  while (count < max_shots) {
    const std::size_t at = rows.size();
    rows.resize(at + bytes);
    const bool found = read_one(rows.data() + at);
    check_read();
    if (!found) {
      rows.resize(at);
      break;
    }
    ++count, ++shot_;
  }
  return count;
}

bool ShotReader::read_one(std::uint8_t* row) {
  const std::uint64_t bits = layout_.bits(), bytes = layout_.bytes();
  const auto set = [&](std::uint64_t b) { row[b / 8] |= static_cast<std::uint8_t>(1u << (b % 8)); };
  const auto toggle = [&](std::uint64_t b) {
    row[b / 8] ^= static_cast<std::uint8_t>(1u << (b % 8));
  };
  int c;
  switch (format_) {
    case ShotFormat::kB8: {
      const std::size_t got = std::fread(row, 1, bytes, file_);
      if (got == 0) return false;
      if (got != bytes) fail("the file ends inside a shot");
      return true;
    }
    case ShotFormat::k01:
      for (std::uint64_t b = 0; b < bits; ++b) {
        c = get();
        if (c == EOF && b == 0) return false;
        if (c == '1') {
          set(b);
        } else if (c != '0') {
          fail("expected ", bits, " characters 0 or 1, found ",
               c == '\n'  ? "the end of the line after " + std::to_string(b)
               : c == EOF ? "the end of the file"
                          : "another character");
        }
      }
      c = get();
      if (c == EOF && bits == 0) return false;
      if (c == '\r') c = get();
      if (c != '\n' && c != EOF) fail("the line is longer than ", bits, " characters");
      return true;
    case ShotFormat::kR8: {
      c = get();
      if (c == EOF) return false;
      std::uint64_t at = 0;
      while (true) {
        if (c == EOF) fail("the file ends inside a shot");
        at += static_cast<std::uint64_t>(c);
        if (c < 255) {
          if (at > bits) fail("a run of zeros goes past the last bit");
          if (at == bits) return true;
          set(at++);
        }
        c = get();
      }
    }
    case ShotFormat::kHits:
      c = get();
      if (c == EOF) return false;
      while (c != '\n') {
        if (!is_digit(c)) {
          if (c == '\r' && (c = get()) == '\n') break;
          fail("expected numbers separated by commas, and the end of the line");
        }
        const std::uint64_t b = read_number(c);
        if (b >= bits) fail("bit ", b, " is out of range: a shot has ", bits);
        toggle(b);
        if (c == EOF) fail("the file ends inside a shot");
        if (c == ',' && !is_digit(c = get())) fail("expected a number behind the comma");
      }
      return true;
    case ShotFormat::kDets: {
      do {
        c = get();
      } while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
      if (c == EOF) return false;
      for (const char* want = "shot"; *want; ++want, c = get()) {
        if (c != *want) fail("expected 'shot'");
      }
      while (c != '\n' && c != EOF) {
        const bool apart = c == ' ' || c == '\r';
        while (c == ' ' || c == '\r') c = get();
        if (c == '\n' || c == EOF) break;
        const int kind = c;
        c = get();
        if (!apart || !is_digit(c)) fail("expected M, D or L and a number, with a space before");
        const std::uint64_t index = read_number(c);
        std::uint64_t offset = 0, size = 0;
        if (kind == 'M')
          size = layout_.measurements;
        else if (kind == 'D')
          offset = layout_.measurements, size = layout_.detectors;
        else if (kind == 'L')
          offset = layout_.measurements + layout_.detectors, size = layout_.observables;
        else
          fail("expected M, D or L and a number, with a space before");
        if (index >= size) fail(std::string(1, static_cast<char>(kind)), index, " is out of range");
        set(offset + index);
      }
      return true;
    }
    default:
      return false;
  }
}

ShotSummary::ShotSummary(ShotFormat format, const ShotLayout& layout)
    : layout_(layout), pairs_(format == ShotFormat::kPairs) {
  const std::uint64_t bits = layout.bits();
  if (pairs_ && bits > kMostPairBits) {
    fail(ExitCode::kResources, "pairs of ", bits, " bits do not fit memory: at most ",
         kMostPairBits, " bits, or use counts");
  }
  table_.resize(pairs_ ? bits * (bits + 1) / 2 : bits);
}

void ShotSummary::add(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots) {
  for (std::size_t s = 0; s < num_shots; ++s) {
    const std::uint8_t* row = rows + s * stride;
    if (!pairs_) {
      for_each_one(row, layout_.bits(), [&](std::uint64_t b) { ++table_[b]; });
      continue;
    }
    ones_.clear();
    for_each_one(row, layout_.bits(), [&](std::uint64_t b) {
      ones_.push_back(static_cast<std::uint32_t>(b));
      std::uint64_t* line = table_.data() + b * (b + 1) / 2;
      for (std::uint32_t a : ones_) ++line[a];
    });
  }
  shots_ += num_shots;
}

std::string ShotSummary::text() const {
  std::string out = "shots ";
  out.append(std::to_string(shots_)).append("\n");
  const auto name = [&](std::uint64_t b) {
    std::uint64_t index;
    out += kind_of(layout_, b, &index);
    out.append(std::to_string(index)).append(" ");
  };
  const std::uint64_t bits = layout_.bits();
  for (std::uint64_t b = 0; b < bits; ++b) {
    name(b);
    out.append(std::to_string(table_[pairs_ ? b * (b + 1) / 2 + b : b])).append("\n");
  }
  for (std::uint64_t a = 0; pairs_ && a < bits; ++a) {
    for (std::uint64_t b = a + 1; b < bits; ++b) {
      const std::uint64_t both = table_[b * (b + 1) / 2 + a];
      if (both == 0) continue;
      name(a);
      name(b);
      out.append(std::to_string(both)).append("\n");
    }
  }
  return out;
}

}  // namespace tilewave::formats
