#include "tilewave/stabilizer/cpu/fault_rows.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/cpu/sparse_walk-inl.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

__extension__ typedef unsigned __int128 Wide;

// The words of one stream, one after the other.
class WordReader {
 public:
  WordReader(const UnitStream& stream, std::uint64_t* words) : stream_(stream), words_(words) {}
  std::uint64_t next() {
    if (at_ == kSparseChunk) refill();
    return words_[at_++];
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  [[gnu::noinline]] void refill() {
    random_words(stream_, block_, kSparseChunk / 2, words_);
    block_ += kSparseChunk / 2;
    at_ = 0;
  }
  UnitStream stream_;
  std::uint64_t* words_;
  std::size_t at_ = kSparseChunk;
  std::uint32_t block_ = 0;
};

struct PackedFaults {
  const FaultProgram& p;
  std::uint8_t* rows;
  std::size_t stride;

  void flip(std::uint32_t generator, std::uint64_t shift, std::size_t shot) const {
    const SparseList list = p.generators[generator];
    std::uint8_t* row = rows + shot * stride;
    for (std::uint32_t k = 0; k < list.count; ++k) {
      std::uint32_t b = p.far[list.first + k];
      b = b & kFixedBit ? b & ~kFixedBit : b - static_cast<std::uint32_t>(shift);
      row[b >> 3] ^= static_cast<std::uint8_t>(1u << (b & 7));
    }
  }
};

template <std::uint32_t W>
struct WideFaults {
  const std::uint64_t* masks;
  std::uint64_t* rows;

  void flip(std::uint32_t generator, std::uint64_t, std::size_t shot) const {
    for (std::uint32_t k = 0; k < W; ++k)
      rows[shot * W + k] ^= masks[std::size_t{generator} * W + k];
  }
};

// A fault of a class; `left` is what its random word has left.
template <class Rows>
void fault(const FaultProgram& p, std::uint32_t c, std::uint64_t place, std::uint64_t left,
           std::size_t shot, const Rows& rows) {
  std::uint32_t first = p.first_span[c], end = p.first_span[c + 1];
  if (first == end) return;
  while (end - first > 1) {
    const std::uint32_t middle = (first + end) / 2;
    (p.spans[middle].start <= place ? first : end) = middle;
  }
  const FaultSpan& span = p.spans[first];
  const std::uint64_t within = place - span.start;
  std::uint64_t repeat = 0, number = within;
  if (within >= span.num_sites) {
    repeat = within / span.num_sites, number = within % span.num_sites;
    if (repeat >= span.repeats) return;  // it flips nothing
  }
  const std::uint64_t shift = span.shift + repeat * span.stride;
  const FaultSite& site = p.sites[span.first_site + number];
  const FaultChannel& channel = p.channels[site.channel];
  const std::uint32_t outcome = mechanism_of(p.alias.data() + channel.first, channel.count, left);
  const std::uint32_t selector = p.selectors[channel.first + outcome];
  if (channel.one_each) return rows.flip(site.first_generator + selector, shift, shot);
  for (std::uint32_t bits = selector; bits; bits &= bits - 1) {
    rows.flip(site.first_generator + static_cast<std::uint32_t>(__builtin_ctz(bits)), shift, shot);
  }
}

}  // namespace

FaultRows::FaultRows(FaultProgram program, FaultRange range) : program_(std::move(program)) {
  set_range(range);
  if (program_.moves || !has_wide_rows(program_.coins)) return;
  mask_words_ = wide_tables(program_.coins).words;
  masks_.resize(std::max<std::size_t>(1, program_.generators.size()) * mask_words_);
  for (std::size_t g = 0; g < program_.generators.size(); ++g) {
    const SparseList list = program_.generators[g];
    for (std::uint32_t k = 0; k < list.count; ++k) {
      const std::uint32_t bit = program_.far[list.first + k] & ~kFixedBit;
      masks_[g * mask_words_ + bit / 64] ^= std::uint64_t{1} << (bit % 64);
    }
  }
}

void FaultRows::set_range(FaultRange range) {
  numbers_ = std::make_unique<const FaultNumbers>(program_.classes, range);
}

std::uint64_t FaultRows::seed_of(std::uint64_t seed) const {
  const FaultRange& r = numbers_->range();
  return random_bits(random_bits(seed, 0x6661756c74ull, r.first), 0x6661756c74ull, r.last);
}

template <class Rows>
void FaultRows::add_faults(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit,
                           const Rows& rows, Scratch& scratch) const {
  constexpr std::uint64_t kListed = 16;  // so many are looked for one by one
  scratch.words.resize(kSparseScratch);
  std::vector<std::uint64_t>& bits = scratch.taken.bits;
  std::vector<std::uint64_t>& list = scratch.taken.list;
  WordReader words({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), unit,
                    kFaultStream},
                   scratch.words.data());
  const FaultRange range = numbers_->range();
  const std::size_t shots = std::size_t{1} << log2_unit;
  for (std::size_t shot = 0; shot < shots; ++shot) {
    const std::uint64_t number =
        range.first == range.last ? range.first : numbers_->draw_number(words.uniform());
    const auto uniform = [&] { return words.uniform(); };
    numbers_->draw_counts(number, uniform, [&](std::uint32_t c, std::uint64_t count) {
      const std::uint64_t n = program_.classes[c].count;
      if (list.size() < count) list.resize(count);
      const bool listed = count <= kListed;
      if (!listed && bits.size() < n / 64 + 1) bits.resize(n / 64 + 1, 0);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t j = n - count + i;
        const Wide product = static_cast<Wide>(words.next()) * (j + 1);
        auto place = static_cast<std::uint64_t>(product >> 64);
        if (listed) {
          if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), place) !=
              list.begin() + static_cast<std::ptrdiff_t>(i))
            place = j;
        } else {
          if ((bits[place / 64] >> (place % 64)) & 1) place = j;
          bits[place / 64] |= std::uint64_t{1} << (place % 64);
        }
        list[i] = place;
        fault(program_, c, place, static_cast<std::uint64_t>(product), shot, rows);
      }
      if (listed) return;
      for (std::uint64_t i = 0; i < count; ++i) bits[list[i] / 64] = 0;
    });
  }
}

void FaultRows::add(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit,
                    std::size_t stride, std::uint8_t* rows, Scratch& scratch) const {
  add_faults(seed, unit, log2_unit, PackedFaults{program_, rows, stride}, scratch);
}

void FaultRows::add_wide(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit,
                         std::uint32_t words, std::uint64_t* rows, Scratch& scratch) const {
  TW_CHECK(words == mask_words_, "masks are as wide as rows");
  switch (words) {
    case 1:
      return add_faults(seed, unit, log2_unit, WideFaults<1>{masks_.data(), rows}, scratch);
    case 2:
      return add_faults(seed, unit, log2_unit, WideFaults<2>{masks_.data(), rows}, scratch);
    case 4:
      return add_faults(seed, unit, log2_unit, WideFaults<4>{masks_.data(), rows}, scratch);
    default:
      return add_faults(seed, unit, log2_unit, WideFaults<8>{masks_.data(), rows}, scratch);
  }
}

}  // namespace tilewave::stabilizer
