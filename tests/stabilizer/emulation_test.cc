// The engines' code for GPUs on the host (device_emulation.h), bit for bit against the CPU's engines, threads in
// many orders. Frames: every operation, with rows in shared memory and spilled. The sparse engine: arrays of every
// layout, rows that begin at any byte, windows that move, ranges of shots that begin and end anywhere.
#include <gtest/gtest.h>

#include <cstring>

#include "stabilizer/device_emulation.h"
// behind it
#include "stabilizer/frame_circuits.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/cuda/frame_layout.h"
#include "tilewave/stabilizer/cuda/frame_machine.cuh"
#include "tilewave/stabilizer/cuda/pack_tiles.cuh"
#include "tilewave/stabilizer/cuda/sparse_machine.cuh"

namespace tilewave::stabilizer {
namespace {

struct Shape {
  std::uint32_t lanes, threads, most_events;
  bool spills;
};

// Rows of `units` words: what one launch with blocks of this shape writes.
template <bool Spills, bool Records, bool Leaks>
std::vector<std::uint32_t> run_blocks(const FrameProgram& p, const Shape& shape, std::uint64_t seed,
                                      std::uint64_t first_unit, std::uint32_t units) {
  const FrameLayout layout(p, shape.lanes, shape.most_events);
  const FrameRows rows(p);
  FrameView v{layout.ops.data(),
              p.operands.data(),
              p.channels.data(),
              layout.loops.data(),
              layout.detector_at.data(),
              layout.streams.data(),
              layout.windows.data(),
              p.sites.data(),
              p.site_ends.data(),
              p.site_rates.data(),
              p.site_streams.data(),
              p.site_channels.data(),
              p.leak_thresholds.data(),
              rows.marks,
              rows.leaked,
              static_cast<std::uint32_t>(layout.ops.size()),
              p.num_slots,
              static_cast<std::uint32_t>(__builtin_ctz(shape.lanes)),
              layout.list_room,
              p.ring_rows,
              p.num_detectors,
              p.num_rows_out(),
              units};
  struct alignas(16) Quad {
    std::uint32_t words[4];
  };
  const std::uint64_t state_words = rows.end * shape.lanes;
  // what a block before has left
  std::vector<Quad> out(p.num_rows_out() * units / 4, Quad{{~0u, ~0u, ~0u, ~0u}}),
      spill((state_words + rows.leaked * shape.lanes) / 4 + 1, Quad{{1, 2, 3, 4}}),
      shared((words_beside(shape.lanes, layout.list_room, layout.ops.size()) +
              (Spills ? 0 : state_words)) /
                     4 +
                 1,
             Quad{{5, 6, 7, 8}});
  for (std::uint32_t first = 0; first < units; first += shape.lanes) {
    emulation::block.run(shape.threads, first + 1, [&] {
      run_block<Spills, Records, Leaks>(v, seed, first_unit + first, out.data()->words + first,
                                        spill.data()->words, state_words, shared.data()->words);
    });
  }
  std::vector<std::uint32_t> flat(out.size() * 4);
  std::memcpy(flat.data(), out.data(), flat.size() * 4);
  return flat;
}

template <bool Spills, bool Records>
std::vector<std::uint32_t> run_blocks(const FrameProgram& p, const Shape& shape, std::uint64_t seed,
                                      std::uint64_t first_unit, std::uint32_t units) {
  return p.has_leakage ? run_blocks<Spills, Records, true>(p, shape, seed, first_unit, units)
                       : run_blocks<Spills, Records, false>(p, shape, seed, first_unit, units);
}

void expect_equal(const FrameProgram& p, const Shape& shape, const std::string& text) {
  constexpr std::uint32_t kUnits = 32;
  constexpr std::uint64_t kSeed = 0x1234567890, kFirst = 7 * kUnits;
  const bool records = p.output == FrameOutput::kRecords;
  const auto got = shape.spills ? records ? run_blocks<true, true>(p, shape, kSeed, kFirst, kUnits)
                                          : run_blocks<true, false>(p, shape, kSeed, kFirst, kUnits)
                   : records ? run_blocks<false, true>(p, shape, kSeed, kFirst, kUnits)
                                : run_blocks<false, false>(p, shape, kSeed, kFirst, kUnits);
  FrameBatch batch(p, 32 * kUnits);
  batch.run(kSeed, kFirst);
  std::uint64_t wrong = 0, ones = 0;
  for (std::uint64_t r = 0; r < p.num_rows_out(); ++r) {
    const auto* want =
        reinterpret_cast<const std::uint32_t*>(batch.output() + r * batch.row_words());
    for (std::uint32_t u = 0; u < kUnits; ++u) {
      wrong += got[r * kUnits + u] != want[u];
      ones += want[u] != 0;
    }
  }
  EXPECT_EQ(wrong, 0u) << "words that differ of " << p.num_rows_out() * kUnits << ", "
                       << (records ? "records" : "detectors") << ", " << shape.lanes << " lanes, "
                       << shape.threads << " threads, room for " << shape.most_events
                       << " events, of\n"
                       << text.substr(0, 800);
  EXPECT_TRUE(ones > 0 || p.num_rows_out() == 0) << text.substr(0, 800);
}

void expect_equal(const std::vector<std::string>& texts) {
  const Shape shapes[] = {{32, 64, 4096, false},
                          {16, 160, 1400, false},
                          {4, 64, 200, false},
                          {8, 32, 1000, true},
                          {32, 256, 20000, true}};
  std::size_t k = 0;
  for (const std::string& text : texts) {
    const StabProgram program =
        lower(language::parse_stim(text), "<circuit>", Rotations::kRefuse, Leakage::kKeep);
    for (FrameOutput output : {FrameOutput::kDetectors, FrameOutput::kRecords}) {
      const FrameProgram frames = compile_frames(program, output);
      // large circuits take long: each in one shape
      if (frames.num_slots > 300) {
        expect_equal(frames, shapes[k++ % std::size(shapes)], text);
        continue;
      }
      for (const Shape& shape : shapes) expect_equal(frames, shape, text);
    }
  }
}

TEST(Emulation, frames_have_the_bits_of_the_cpu) { expect_equal(circuits()); }
TEST(Emulation, leakage_has_the_bits_of_the_cpu) { expect_equal(leaky_circuits()); }

// A program as the host of a device has it, its windows for some bytes of shared memory.
class SparseBlocks {
 public:
  SparseBlocks(const SparseProgram& p, std::uint64_t bytes)
      : p_(p),
        words_(sparse_windows(p, bytes, kSparseThreads)),
        shifted_(sparse_windows(p, bytes, kSparseThreads, kMostShift)) {
    for (const PoissonTable& t : p.poissons) {
      tables_.insert(tables_.end(), t.upto.begin(), t.upto.end());
      at_.push_back(static_cast<std::uint32_t>(tables_.size()));
      first_.push_back(t.first);
    }
  }
  bool has_windows() const { return words_ && shifted_; }
  std::size_t steps() const { return shifted_->steps.size(); }
  std::uint32_t first_fixed() const { return shifted_->first_fixed; }
  std::uint64_t block_shots() const {
    return (std::uint64_t{1} << p_.log2_unit) >> words_->log2_parts;
  }

  template <SparseLayout kLayout>
  void launch(std::uint64_t seed, std::uint64_t first_unit, std::uint64_t units,
              const SparseOut& out) const {
    const SparseWindows& w = kLayout == SparseLayout::kPacked ? *shifted_ : *words_;
    // one buffer of tiles serves all windows on a device
    for (std::size_t k = 0; k < w.tiles.size(); ++k)
      TW_CHECK(w.tiles[k].stream == words_->tiles[k].stream, "tiles in another order");
    const SparseView v{
        words_->tiles.data(), w.steps.data(),  p_.groups.data(),      tables_.data(),
        at_.data(),           first_.data(),   p_.alias.data(),       p_.bits.data(),
        p_.lists.data(),      p_.far.data(),   p_.site_groups.data(), p_.sites.data(),
        p_.branches.data(),   p_.coins.data(), p_.always.data(),      size(w.steps),
        size(p_.site_groups), size(p_.coins),  size(p_.always),       p_.log2_unit,
        w.log2_parts,         w.words,         w.first_fixed,         w.fixed_words};
    std::vector<std::uint32_t> window(((w.words + w.fixed_words) << p_.log2_unit) >> w.log2_parts,
                                      0x12345678u),
        counts(kSparseThreads);
    for (std::uint32_t block = 0; block < units << w.log2_parts; ++block) {
      emulation::block.run(kSparseThreads, block + 1, [&] {
        run_sparse_block<true, kLayout>(v, seed, first_unit, out, block, window.data(),
                                        counts.data());
      });
    }
  }

 private:
  template <class T>
  static std::uint32_t size(const std::vector<T>& v) {
    return static_cast<std::uint32_t>(v.size());
  }
  const SparseProgram& p_;
  std::optional<SparseWindows> words_, shifted_;
  std::vector<double> tables_;
  std::vector<std::uint32_t> at_{0};
  std::vector<std::uint64_t> first_;
};

bool bit(const std::uint8_t* row, std::uint64_t b) { return (row[b / 8] >> (b % 8)) & 1; }

// Shots [first, first + count) of a seed in the arrays of two launches, with what stood around them.
template <SparseLayout kLayout>
void expect_arrays(const SparseProgram& p, const SparseBlocks& blocks,
                   const std::vector<std::pair<std::uint64_t, std::uint64_t>>& parts,
                   std::uint64_t first, std::uint64_t count, const std::vector<std::uint8_t>& rows,
                   std::uint64_t units, const std::string& what) {
  constexpr std::uint64_t kSeed = 0x1234567890, kAround = 64;
  constexpr std::uint8_t kBefore = 0xA5;
  const std::uint64_t unit = std::uint64_t{1} << p.log2_unit;
  std::vector<std::vector<std::uint8_t>> arrays;
  SparseOut out;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [from, bits] = parts[k];
    const std::uint64_t stride = kLayout == SparseLayout::kBits ? (count + 7) / 8 : (bits + 7) / 8;
    const std::uint64_t lines = kLayout == SparseLayout::kBits ? bits : count;
    arrays.emplace_back(lines * stride + 2 * kAround, kBefore);
    out.parts[k] = {arrays.back().data() + kAround, stride, static_cast<std::uint32_t>(from),
                    static_cast<std::uint32_t>(from + bits)};
  }
  for (std::uint64_t u = first / unit, n = 1; u * unit < first + count; u += n, n = units) {
    n = std::min(n, units - u);
    out.from = std::max(first, u * unit) - u * unit;
    out.to = std::min(first + count, (u + n) * unit) - u * unit;
    out.offset = static_cast<std::int64_t>(u * unit - first);
    blocks.launch<kLayout>(kSeed, u, n, out);
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [from, bits] = parts[k];
    const std::uint64_t stride = out.parts[k].stride;
    std::vector<std::uint8_t> want(arrays[k].size(), kBefore);
    std::fill(want.begin() + kAround, want.end() - kAround, 0);
    for (std::uint64_t s = 0; s < count; ++s) {
      for (std::uint64_t b = 0; b < bits; ++b) {
        if (!bit(rows.data() + (first + s) * p.row_bytes(), from + b)) continue;
        if constexpr (kLayout == SparseLayout::kBits) {
          want[kAround + b * stride + s / 8] |= static_cast<std::uint8_t>(1u << s % 8);
        } else {
          want[kAround + s * stride + b / 8] |= static_cast<std::uint8_t>(1u << b % 8);
        }
      }
    }
    EXPECT_TRUE(arrays[k] == want)
        << what << ", part " << k << ", shots from " << first << ", " << count;
  }
}

// Returns how many steps the windows for packed rows have.
std::size_t expect_sparse(SparseProgram p, std::uint32_t log2_unit, std::uint64_t window_words,
                          const std::string& what) {
  constexpr std::uint64_t kSeed = 0x1234567890, kUnits = 3;
  set_unit(p, log2_unit);
  const std::uint64_t unit = std::uint64_t{1} << log2_unit;
  std::vector<std::uint8_t> rows(kUnits * unit * p.row_bytes());
  std::vector<std::uint64_t> scratch;
  for (std::uint64_t u = 0; u < kUnits; ++u)
    run_sparse_unit(p, kSeed, u, rows.data() + u * unit * p.row_bytes(), scratch);
  const SparseBlocks blocks(p, 4 * unit * window_words);
  if (!blocks.has_windows()) return 0;
  const std::uint64_t dets = p.num_detectors, obs = p.num_bits - dets, all = kUnits * unit;
  using Parts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  std::vector<Parts> packed{{{0, p.num_bits}}}, lines{{{0, p.num_bits}}};
  if (obs > 0 && dets > 0) {
    packed.push_back({{0, dets}, {dets, obs}});
    lines.push_back({{0, dets}, {dets, obs}});
    packed.push_back({{0, dets}});
  }
  if (dets > 2) lines.push_back({{1, dets / 2}, {dets - 1, 1}});
  for (const Parts& parts : packed) {
    for (const auto& [first, count] : {std::pair<std::uint64_t, std::uint64_t>{0, all},
                                       {unit - 3, 7},
                                       {5, all - 11},
                                       {unit + 1, 1}})
      expect_arrays<SparseLayout::kPacked>(p, blocks, parts, first, count, rows, kUnits, what);
  }
  if (blocks.block_shots() % kBitStore == 0) {
    for (const Parts& parts : lines) {
      for (const auto& [first, count] : {std::pair<std::uint64_t, std::uint64_t>{0, all},
                                         {kBitStore, all - kBitStore - 5},
                                         {unit - kBitStore, 2 * kBitStore}})
        expect_arrays<SparseLayout::kBits>(p, blocks, parts, first, count, rows, kUnits, what);
    }
  }
  return blocks.steps();
}

// Rows of random bits to packed rows, parts and ranges of all kinds, beside a loop over bits.
TEST(Emulation, tiles_of_bits_are_packed_to_rows_of_any_length) {
  std::mt19937 random(7);
  constexpr std::uint64_t kUnits = 32, kShots = 32 * kUnits, kAround = 64;
  for (std::uint32_t num_bits : {1u,  7u,  8u,  9u,   17u,  31u,   32u,   33u,   40u,   47u,  56u,
                                 63u, 64u, 65u, 128u, 135u, 1000u, 1016u, 1024u, 1321u, 2600u}) {
    const std::uint32_t rows = num_bits + 5, first = num_bits % 3;
    std::vector<std::uint32_t> bits(rows * kUnits), flips((rows + 31) / 32);
    for (auto& w : bits) w = static_cast<std::uint32_t>(random());
    for (auto& w : flips) w = static_cast<std::uint32_t>(random());
    const std::uint64_t stride = (num_bits + 7) / 8;
    for (const bool has_flips : {false, true}) {
      for (const auto& [from, to] : {std::pair<std::uint64_t, std::uint64_t>{0, kShots},
                                     {3, kShots - 7},
                                     {300, 301},
                                     {256, 511}}) {
        for (const std::uint64_t before : {0, 1, 6}) {  // rows that stand before
          std::vector<std::uint8_t> got((before + to - from) * stride + 2 * kAround, 0xA5),
              want = got;
          PackView v{bits.data(),
                     has_flips ? flips.data() : nullptr,
                     kUnits,
                     first,
                     from,
                     to,
                     got.data() + kAround,
                     stride,
                     static_cast<std::int64_t>(before) - static_cast<std::int64_t>(from)};
          v.num_bits = num_bits;
          v = with_tiles(v);
          std::vector<std::uint32_t> shared(pack_shared_words(v), 0x12345678u);
          for (std::uint64_t block = 0; block < pack_blocks(v); ++block)
            emulation::block.run(kPackThreads, static_cast<std::uint32_t>(block + 1),
                                 [&] { pack_tile(v, block, shared.data()); });
          for (std::uint64_t s = from; s < to; ++s) {
            std::uint8_t* const row = want.data() + kAround + (before + s - from) * stride;
            std::fill_n(row, stride, 0);
            for (std::uint32_t b = 0; b < num_bits; ++b) {
              const std::uint32_t r = first + b;
              const bool inverse = has_flips && ((flips[r / 32] >> r % 32) & 1);
              if (((bits[r * kUnits + s / 32] >> s % 32) & 1) != inverse)
                row[b / 8] |= static_cast<std::uint8_t>(1u << b % 8);
            }
          }
          EXPECT_TRUE(got == want)
              << num_bits << " bits, shots " << from << " to " << to << ", behind " << before;
        }
      }
    }
  }
}

// Errors that flip neighbouring detectors and now and then an observable.
SparseProgram chain_of(std::uint64_t dets, std::uint64_t obs) {
  std::vector<IndependentError> errors;
  for (std::uint32_t k = 0; k < dets; ++k) {
    IndependentError e{0.05, {k}};
    if (k + 1 < dets) e.bits.push_back(k + 1);
    if (obs > 0 && k % 3 == 0) e.bits.push_back(static_cast<std::uint32_t>(dets + k % obs));
    errors.push_back(e);
  }
  return build_sparse(errors, dets, obs);
}

TEST(Emulation, sparse_rows_of_any_length_have_the_bits_of_the_cpu) {
  for (std::uint64_t bytes = 1; bytes <= 17; ++bytes) {
    for (const auto& [dets, obs] : {std::pair{8 * bytes, std::uint64_t{0}},
                                    {8 * bytes - 7, std::uint64_t{0}},
                                    {8 * bytes - 1, std::uint64_t{1}},
                                    {8 * bytes - 5, std::uint64_t{4}},
                                    {8 * bytes, std::uint64_t{9}}})
      EXPECT_GT(expect_sparse(
                    chain_of(dets, obs), 8, 7,
                    std::to_string(dets) + " detectors, " + std::to_string(obs) + " observables"),
                0u);
  }
}

TEST(Emulation, sparse_windows_that_move_have_the_bits_of_the_cpu) {
  std::size_t most = 0;
  for (const auto& [rounds, words] : {std::pair{40u, 9u}, {11u, 12u}, {30u, 30u}}) {
    circuit::CodeOptions o;
    o.distance = 5, o.rounds = rounds;
    o.after_clifford_depolarization = o.before_measure_flip_probability = 0.01;
    const SparseProgram p =
        build_sparse(lower(circuit::code_circuit("surface_code", "rotated_memory_z", o)),
                     SymptomKind::kDetectors);
    most = std::max(most, expect_sparse(p, 9, words, std::to_string(rounds) + " rounds"));
  }
  EXPECT_GT(most, 3u);
  circuit::CodeOptions o;  // rows of 166 bytes
  o.distance = o.rounds = 11;
  o.after_clifford_depolarization = 0.01;
  const SparseProgram p = build_sparse(
      lower(circuit::code_circuit("surface_code", "rotated_memory_z", o)), SymptomKind::kDetectors);
  EXPECT_EQ(p.row_bytes(), 166u);
  EXPECT_GT(expect_sparse(p, 8, 27, "d=11"), 1u);
}

// Heralds, chains and coins are flipped where the rows are already in the arrays.
TEST(Emulation, sparse_arrays_of_every_channel_have_the_bits_of_the_cpu) {
  std::size_t done = 0;
  for (const std::string& text : circuits()) {
    const SparseProgram p =
        build_sparse(lower(language::parse_stim(text)), SymptomKind::kDetectors);
    if (p.num_bits == 0 || p.num_bits > 5000) continue;
    done += expect_sparse(p, 7, (p.num_bits + 31) / 32 + 2, text.substr(0, 200)) > 0;
  }
  EXPECT_GT(done, 3u);
}

}  // namespace
}  // namespace tilewave::stabilizer
