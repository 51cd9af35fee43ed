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

// The outcome that is left of a fault's random word, of a place: what it adds up.
std::uint32_t outcome_of(const FaultProgram& p, const FaultChannel& channel, std::uint64_t left) {
  return p
      .selectors[channel.first + mechanism_of(p.alias.data() + channel.first, channel.count, left)];
}

struct PackedFaults {
  const FaultProgram& p;
  std::uint8_t* rows;
  std::size_t stride;

  void fault(std::uint32_t c, std::uint64_t place, std::uint64_t left, std::size_t shot) const {
    std::uint32_t first = p.first_span[c], end = p.first_span[c + 1];
    if (first == end) return;
    while (end - first > 1) {
      const std::uint32_t middle = (first + end) / 2;
      (p.spans[middle].start <= place ? first : end) = middle;
    }
    const FaultSpan& span = p.spans[first];
    const std::uint64_t within = place - span.start, repeat = within / span.num_sites;
    if (repeat >= span.repeats) return;  // it flips nothing
    const std::uint64_t shift = span.shift + repeat * span.stride;
    const FaultSite& site = p.sites[span.first_site + within % span.num_sites];
    const FaultChannel& channel = p.channels[site.channel];
    const std::uint32_t selector = outcome_of(p, channel, left);
    if (channel.one_each) return flip(site.first_generator + selector, shift, shot);
    for (std::uint32_t bits = selector; bits; bits &= bits - 1)
      flip(site.first_generator + static_cast<std::uint32_t>(__builtin_ctz(bits)), shift, shot);
  }

 private:
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
  const WidePlace* places;
  const std::uint64_t* first_of_class;
  const AliasEntry* alias;
  const std::uint64_t* masks;
  std::uint64_t* rows;

  void fault(std::uint32_t c, std::uint64_t place, std::uint64_t left, std::size_t shot) const {
    const WidePlace& at = places[first_of_class[c] + place];
    const std::uint32_t outcome = mechanism_of(alias + at.first, at.count, left);
    const std::uint64_t* mask = masks + std::size_t{at.mask + outcome} * W;
    for (std::uint32_t k = 0; k < W; ++k) rows[shot * W + k] ^= mask[k];
  }
};

}  // namespace

FaultRows::FaultRows(FaultProgram program, FaultRange range) : program_(std::move(program)) {
  set_range(range);
  make_masks();
}

void FaultRows::make_masks() {
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
  if (program_.moves || !has_wide_rows(program_.coins)) return;
  const std::uint32_t words = wide_tables(program_.coins).words;
  std::uint64_t outcomes = 1;
  for (const FaultSpan& span : program_.spans) {
    for (std::uint32_t k = 0; k < span.num_sites; ++k)
      outcomes += program_.channels[program_.sites[span.first_site + k].channel].count;
  }
  if (outcomes * words * sizeof(std::uint64_t) + program_.num_places() * sizeof(WidePlace) >
      kMostBytes)
    return;
  mask_words_ = words;
  masks_.resize(words, 0);
  alias_ = {{~std::uint32_t{0}, 0}};
  alias_.insert(alias_.end(), program_.alias.begin(), program_.alias.end());
  const auto add = [&](std::uint32_t generator) {
    std::uint64_t* mask = masks_.data() + masks_.size() - words;
    const SparseList list = program_.generators[generator];
    for (std::uint32_t k = 0; k < list.count; ++k) {
      const std::uint32_t bit = program_.far[list.first + k] & ~kFixedBit;
      mask[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    }
  };
  for (std::size_t c = 0; c < program_.classes.size(); ++c) {
    first_of_class_.push_back(places_.size());
    for (std::uint32_t i = program_.first_span[c]; i < program_.first_span[c + 1]; ++i) {
      const FaultSpan& span = program_.spans[i];
      const std::size_t first = places_.size();
      for (std::uint32_t k = 0; k < span.num_sites; ++k) {
        const FaultSite& site = program_.sites[span.first_site + k];
        const FaultChannel& channel = program_.channels[site.channel];
        places_.push_back(
            {channel.first + 1, channel.count, static_cast<std::uint32_t>(masks_.size() / words)});
        for (std::uint32_t o = 0; o < channel.count; ++o) {
          masks_.resize(masks_.size() + words, 0);
          const std::uint32_t selector = program_.selectors[channel.first + o];
          if (channel.one_each) add(site.first_generator + selector);
          for (std::uint32_t bits = channel.one_each ? 0 : selector; bits; bits &= bits - 1)
            add(site.first_generator + static_cast<std::uint32_t>(__builtin_ctz(bits)));
        }
      }
      for (std::uint64_t r = 1; r < span.repeats; ++r) {
        for (std::uint32_t k = 0; k < span.num_sites; ++k) places_.push_back(places_[first + k]);
      }
    }
    places_.resize(first_of_class_.back() + program_.classes[c].count);
  }
}

void FaultRows::set_range(FaultRange range) {
  numbers_ = std::make_shared<const FaultNumbers>(program_.classes, range);
}

std::uint64_t FaultRows::seed_of(std::uint64_t seed) const {
  const FaultRange& r = numbers_->asked();
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
        rows.fault(c, place, static_cast<std::uint64_t>(product), shot);
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
  const auto add = [&]<std::uint32_t W>() {
    const WideFaults<W> wide{places_.data(), first_of_class_.data(), alias_.data(), masks_.data(),
                             rows};
    add_faults(seed, unit, log2_unit, wide, scratch);
  };
  switch (words) {
    case 1:
      return add.template operator()<1>();
    case 2:
      return add.template operator()<2>();
    case 4:
      return add.template operator()<4>();
    default:
      return add.template operator()<8>();
  }
}

}  // namespace tilewave::stabilizer
