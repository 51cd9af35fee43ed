// Collapses of a tableau: random measurements, as operations on the columns of the transposed
// tableau.
//
// A random Z_q has a row with X part. Operations on the start that fix |0...0> are free: a CX from
// a pivot column k to every other column in the X part leaves X only on k; S makes its Y an X; then
// a Hadamard on k makes the row's X part empty, and the new start |0> of qubit k means outcome 0
// (an X on k when the sign was minus). In the form i^phase X^x Z^z a CX changes no phase, H adds 2
// (x & z), S adds x.
//
// One measurement at a time reads n columns; 64 are made together. Their steps are found on their
// 64 rows alone, then all columns go through them in products of bit matrices with tables of the
// sums of five columns (four Russians): n^3 / (5 x 512) vector operations in all. Layout: chunks of
// 512 rows, [chunk][column] of 64 bytes, the rows to be measured first. The eight blocks of a chunk
// are found on the chunk itself; every other chunk then goes through all eight while it lies in the
// second-level cache, and the tables in the first. Where nothing follows, only the rows to be
// measured are kept, and those that have been are dropped.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/frame_ops.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::stabilizer {
namespace {

using Column = PauliLanes;  // 512 rows of a column
using Signs = PauliLanes;

constexpr std::size_t kBlock = 64;     // measurements made together
constexpr std::size_t kTableBits = 5;  // columns of one table of sums
constexpr std::size_t kTables = (kBlock + kTableBits - 1) / kTableBits;
constexpr std::size_t kPatterns = std::size_t{1} << kTableBits;
constexpr std::size_t kChunkRows = 512;

// The tableau by columns: chunk c of x and of z has kChunkRows rows of all columns, in memory of
// its own, which is given back as soon as the chunk is read back into rows.
struct Columns {
  std::size_t n;  // a multiple of 256
  std::size_t rows, chunks;
  std::vector<runtime::HostBuffer> x, z;
  std::vector<std::uint64_t> low, high;  // bit planes of the phases
  Column* xc(std::size_t chunk) const { return x[chunk].as<Column>(); }
  Column* zc(std::size_t chunk) const { return z[chunk].as<Column>(); }
};

bool get(const std::uint64_t* bits, std::size_t i) { return (bits[i / 64] >> (i % 64)) & 1; }
void toggle_bit(std::uint64_t* bits, std::size_t i) {
  bits[i / 64] ^= std::uint64_t{1} << (i % 64);
}

// The steps of a block: CX from a pivot to its targets, S perhaps, H, and X perhaps.
struct Steps {
  std::size_t count = 0;
  std::uint32_t pivot[kBlock];
  std::uint64_t among[kBlock];  // bit j: pivot j is a target of this step
  bool phase_gate[kBlock], flip[kBlock];
  std::size_t row[kBlock];
  std::vector<std::uint64_t> member;  // bit i of column c: step i adds its pivot to c
};

// What plan_block works on: 64 rows of n bits each, in vectors.
struct BlockRows {
  explicit BlockRows(std::size_t n)
      : words((n + 511) / 512 * 8),
        x(kBlock * words * 8),
        z(kBlock * words * 8),
        targets(kBlock * words * 8),
        gathered(n),
        used(words) {}
  std::size_t words;
  runtime::HostBuffer x, z, targets;
  std::vector<std::uint64_t> gathered, used;
};

// Which steps the `count` rows from `first` on need: the elimination on these rows alone.
[[gnu::always_inline]] inline void plan_block(const Columns& t, std::size_t first,
                                              std::size_t count, BlockRows& b, Steps& steps) {
  const std::size_t words = b.words, vecs = words / 8;
  const std::size_t chunk = first / kChunkRows, word = first % kChunkRows / 64;
  const auto rows_of = [&](const Column* columns, std::uint64_t* to) {
    for (std::size_t c = 0; c < t.n; ++c) b.gathered[c] = columns[c][word];
    transpose_rows(b.gathered.data(), t.n, 1, kBlock, reinterpret_cast<std::uint8_t*>(to),
                   words * 8);
  };
  rows_of(t.xc(chunk), b.x.as<std::uint64_t>());
  rows_of(t.zc(chunk), b.z.as<std::uint64_t>());
  const auto x = [&](std::size_t j) { return b.x.as<std::uint64_t>() + j * words; };
  const auto z = [&](std::size_t j) { return b.z.as<std::uint64_t>() + j * words; };
  std::memset(b.targets.data(), 0, kBlock * words * 8);
  std::fill(b.used.begin(), b.used.end(), 0);
  steps.count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // A fresh pivot: earlier rows keep their Z on their own pivots, where signs are set at the end.
    // There is one, as a row of X on used pivots alone would not commute with all earlier rows.
    std::size_t w = 0;
    while (w < words && !(x(i)[w] & ~b.used[w])) ++w;
    if (w == words) continue;  // determined by now
    const std::size_t k = steps.count++;
    const std::size_t p = w * 64 + static_cast<std::size_t>(__builtin_ctzll(x(i)[w] & ~b.used[w]));
    steps.pivot[k] = static_cast<std::uint32_t>(p);
    steps.row[k] = first + i;
    std::uint64_t* targets = b.targets.as<std::uint64_t>() + k * words;
    std::memcpy(targets, x(i), words * 8);
    toggle_bit(targets, p);
    toggle_bit(b.used.data(), p);
    const auto* mask = reinterpret_cast<const Column*>(targets);
    for (std::size_t j = i; j < count; ++j) {  // rows above are not looked at again
      auto* xj = reinterpret_cast<Column*>(x(j));
      const auto* zj = reinterpret_cast<const Column*>(z(j));
      Column sum{};
      for (std::size_t v = 0; v < vecs; ++v) sum ^= zj[v] & mask[v];
      std::uint64_t folded = 0;
      for (int lane = 0; lane < 8; ++lane) folded ^= sum[lane];
      if (__builtin_parityll(folded)) toggle_bit(z(j), p);
      if (!get(x(j), p)) continue;
      for (std::size_t v = 0; v < vecs; ++v) xj[v] ^= mask[v];
    }
    steps.phase_gate[k] = get(z(i), p);
    for (std::size_t j = i; j < count; ++j) {
      if (steps.phase_gate[k] && get(x(j), p)) toggle_bit(z(j), p);
      if (get(x(j), p) != get(z(j), p)) toggle_bit(x(j), p), toggle_bit(z(j), p);
    }
  }
  steps.member.resize(t.n);
  transpose_rows(b.targets.as<std::uint64_t>(), kBlock, words, t.n,
                 reinterpret_cast<std::uint8_t*>(steps.member.data()), 8);
  for (std::size_t i = 0; i < steps.count; ++i) steps.among[i] = 0;
  for (std::size_t j = 0; j < steps.count; ++j) {
    const std::uint64_t member = steps.member[steps.pivot[j]];
    for (std::size_t i = 0; i < steps.count; ++i)
      steps.among[i] |= static_cast<std::uint64_t>((member >> i) & 1) << j;
  }
  for (std::size_t j = 0; j < steps.count; ++j) steps.member[steps.pivot[j]] = 0;
}

// One chunk of all columns through the steps of a block. Columns that are no pivot of the block
// keep their Z and only gain pivots' X, so their part is two products of bit matrices, made with
// tables of the sums of five columns; the pivots go through the steps one by one.
[[gnu::always_inline]] inline void run_block(Columns& t, std::size_t chunk, const Steps& steps) {
  Column table[kTables][kPatterns];
  Column sums[kTables * kTableBits];
  Column px[kBlock], pz[kBlock];
  Column *const x = t.xc(chunk), *const z = t.zc(chunk);
  const std::uint64_t* const member = steps.member.data();
  const std::size_t n = t.n, count = steps.count;
  // Z of the other columns, gathered by pattern, then summed for every step.
  std::memset(table, 0, sizeof table);
  for (std::size_t c = 0; c < n; ++c) {
    const Column zc = z[c];
    std::uint64_t m = member[c];
    for (std::size_t g = 0; g < kTables; ++g, m >>= kTableBits) table[g][m % kPatterns] ^= zc;
  }
  for (std::size_t g = 0; g < kTables; ++g) {
    for (std::size_t bit = 0; bit < kTableBits; ++bit) {
      Column sum{};
      for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
        if ((pattern >> bit) & 1) sum ^= table[g][pattern];
      }
      sums[g * kTableBits + bit] = sum;
    }
  }
  for (std::size_t i = 0; i < count; ++i) px[i] = x[steps.pivot[i]], pz[i] = z[steps.pivot[i]];
  Signs low, high;
  std::memcpy(&low, t.low.data() + chunk * 8, 64);
  std::memcpy(&high, t.high.data() + chunk * 8, 64);
  const LanePhase<Column> phase{low, high};
  for (std::size_t i = 0; i < count; ++i) {
    pz[i] ^= sums[i];
    sums[i] = px[i];  // what the other columns gain
    for (std::uint64_t left = steps.among[i]; left; left &= left - 1) {
      const auto j = static_cast<std::size_t>(__builtin_ctzll(left));
      px[j] ^= px[i];  // a CX, which changes no phase of X^x Z^z
      pz[i] ^= pz[j];
    }
    if (steps.phase_gate[i]) apply_s(px[i], pz[i], phase);
    apply_h(px[i], pz[i], phase);
  }
  for (std::size_t i = 0; i < count; ++i) x[steps.pivot[i]] = px[i], z[steps.pivot[i]] = pz[i];
  std::memcpy(t.low.data() + chunk * 8, &low, 64);
  std::memcpy(t.high.data() + chunk * 8, &high, 64);
  // X of the other columns.
  for (std::size_t i = count; i < kTables * kTableBits; ++i) sums[i] = Column{};
  for (std::size_t g = 0; g < kTables; ++g) {
    table[g][0] = Column{};
    for (std::size_t pattern = 1; pattern < kPatterns; ++pattern) {
      table[g][pattern] = table[g][pattern & (pattern - 1)] ^
                          sums[g * kTableBits + static_cast<std::size_t>(__builtin_ctzll(pattern))];
    }
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::uint64_t m = member[c];
    Column sum = x[c];
    for (std::size_t g = 0; g < kTables; ++g, m >>= kTableBits) sum ^= table[g][m % kPatterns];
    x[c] = sum;
  }
}

// The outcomes shall be 0: an X on a pivot's start changes the signs of rows with Z on it, which
// are its own and perhaps later ones. Which steps need it is known from the block's own chunk.
[[gnu::always_inline]] inline void set_signs(Columns& t, std::size_t chunk, Steps& steps,
                                             bool own) {
  Signs high;
  std::memcpy(&high, t.high.data() + chunk * 8, 64);
  for (std::size_t i = 0; i < steps.count; ++i) {
    if (own) {
      const std::size_t row = steps.row[i] % kChunkRows;
      steps.flip[i] = (high[row / 64] >> (row % 64)) & 1;
    }
    if (steps.flip[i]) high ^= t.zc(chunk)[steps.pivot[i]];
  }
  std::memcpy(t.high.data() + chunk * 8, &high, 64);
}

// Measures the first `num` rows. With `last` the chunks behind are not brought up to date.
[[gnu::always_inline]] inline void collapse_body(Columns& t, std::size_t num, bool last) {
  BlockRows rows(t.n);
  std::vector<Steps> steps(kChunkRows / kBlock);
  for (std::size_t chunk = 0; chunk * kChunkRows < num; ++chunk) {
    std::size_t blocks = 0;
    for (std::size_t first = chunk * kChunkRows; first < std::min(num, (chunk + 1) * kChunkRows);
         first += kBlock) {
      Steps& s = steps[blocks++];
      plan_block(t, first, std::min(kBlock, num - first), rows, s);
      if (s.count == 0) continue;
      run_block(t, chunk, s);
      set_signs(t, chunk, s, true);
    }
    for (std::size_t other = last ? chunk + 1 : 0; other < t.chunks; ++other) {
      for (std::size_t b = 0; b < blocks && other != chunk; ++b) {
        if (steps[b].count == 0) continue;
        run_block(t, other, steps[b]);
        set_signs(t, other, steps[b], false);
      }
    }
  }
}
// The rows `rows` of U^dagger P U, P = X_q for 2q and Z_q for 2q + 1.
void rows_of_gates(std::span<const TableauGate> gates, std::span<const std::uint32_t> rows,
                   Columns& t) {
  const std::vector<TableauGate> back = inverse(gates);
  for (std::size_t chunk = 0; chunk < t.chunks; ++chunk) {
    std::memset(t.xc(chunk), 0, t.n * 64);
    std::memset(t.zc(chunk), 0, t.n * 64);
    for (std::size_t r = chunk * kChunkRows; r < std::min(t.rows, (chunk + 1) * kChunkRows); ++r) {
      Column* const of = rows[r] % 2 ? t.zc(chunk) : t.xc(chunk);
      toggle_bit(reinterpret_cast<std::uint64_t*>(of + rows[r] / 2), r % kChunkRows);
    }
    Column low{}, high{};
    conjugate(back, t.xc(chunk), t.zc(chunk), low, high);
    std::memcpy(t.low.data() + chunk * 8, &low, 64);
    std::memcpy(t.high.data() + chunk * 8, &high, 64);
  }
}

}  // namespace

void Tableau::collapse_z(std::span<const std::uint32_t> qubits, bool last) {
  if (fresh_ && gates_.empty()) return;  // all is |0>
  flush();
  // The rows with X part (before there are rows, all that may have one).
  std::vector<std::uint64_t> any(qubits.size(), fresh_);
  for (std::size_t p = 0; p < panels_ && !fresh_; ++p) {
    for (std::size_t k = 0; k < qubits.size(); ++k) {
      const std::uint64_t* x = panel(p) + place_[2 * qubits[k] + 1] * kPanelWords;
      any[k] |= x[0] | x[1] | x[2] | x[3];
    }
  }
  std::vector<std::uint32_t> places;  // of the rows in the order of the columns' bits
  std::vector<bool> taken(place_.size());
  for (std::size_t k = 0; k < qubits.size(); ++k) {
    const std::uint32_t place = place_[2 * qubits[k] + 1];
    if (any[k] && !taken[place]) places.push_back(place), taken[place] = true;
  }
  if (places.empty()) return;
  const std::size_t num = places.size();
  for (std::uint32_t place = 0; place < place_.size() && !last; ++place) {
    if (!taken[place]) places.push_back(place);
  }
  Columns t{
      panels_ * 256, places.size(), (places.size() + kChunkRows - 1) / kChunkRows, {}, {}, {}, {}};
  need_memory(t.chunks * t.n * 128);
  for (std::size_t chunk = 0; chunk < t.chunks; ++chunk) {
    t.x.emplace_back(t.n * 64);
    t.z.emplace_back(t.n * 64);
  }
  t.low.resize(t.chunks * 8);
  t.high.resize(t.chunks * 8);
  // Squares of 512 rows and 256 columns go through a buffer.
  std::vector<std::uint64_t> square(kChunkRows * 4);
  const auto squares = [&](bool is_done, auto&& f) {
    for (std::size_t chunk = 0; chunk < t.chunks; ++chunk) {
      const std::size_t rows = std::min(kChunkRows, t.rows - chunk * kChunkRows);
      for (std::size_t p = 0; p < panels_; ++p) {
        for (std::size_t half = 0; half < 2; ++half) {
          f((half ? t.zc(chunk) : t.xc(chunk)) + p * 256, rows, [&](std::size_t r) {
            return panel(p) + places[chunk * kChunkRows + r] * kPanelWords + 4 * half;
          });
        }
      }
      if (is_done) t.x[chunk] = {}, t.z[chunk] = {};
    }
  };
  if (fresh_) {
    rows_of_gates(gates_, places, t);
    gates_ = {};
  } else {
    for (std::size_t r = 0; r < t.rows; ++r) {
      t.low[r / 64] |= static_cast<std::uint64_t>(phase_[places[r]] & 1) << (r % 64);
      t.high[r / 64] |= static_cast<std::uint64_t>(phase_[places[r]] >> 1) << (r % 64);
    }
    squares(false, [&](Column* to, std::size_t rows, auto&& row) {
      for (std::size_t r = 0; r < rows; ++r) std::memcpy(square.data() + 4 * r, row(r), 32);
      std::memset(square.data() + 4 * rows, 0, (kChunkRows - rows) * 32);
      transpose_rows(square.data(), kChunkRows, 4, 256, reinterpret_cast<std::uint8_t*>(to), 64);
    });
  }
  ForThisCpu<collapse_body>::call(t, num, last);
  for (std::size_t r = 0; r < t.rows; ++r) {
    phase_[places[r]] =
        static_cast<std::uint8_t>(get(t.low.data(), r) | (get(t.high.data(), r) << 1));
  }
  if (std::exchange(fresh_, false)) make_rows();
  if (last) return;
  squares(true, [&](const Column* from, std::size_t rows, auto&& row) {
    transpose_rows(reinterpret_cast<const std::uint64_t*>(from), 256, 8, kChunkRows,
                   reinterpret_cast<std::uint8_t*>(square.data()), 32);
    for (std::size_t r = 0; r < rows; ++r) std::memcpy(row(r), square.data() + 4 * r, 32);
  });
}

}  // namespace tilewave::stabilizer
