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
// 64 rows alone, then all columns go through them chunk by chunk, in products of bit matrices with
// tables of the sums of eight columns (four Russians): n^3 / (8 x 512) vector operations in all.
#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::stabilizer {
namespace {

// The tableau by columns: column c of x and of z has a bit for each of the 2n rows.
struct Columns {
  std::uint32_t n;
  std::size_t words;  // u64 a column
  runtime::HostBuffer x, z;
  std::vector<std::uint64_t> low, high;  // bit planes of the phases
  std::uint64_t* xc(std::uint32_t c) const { return x.as<std::uint64_t>() + c * words; }
  std::uint64_t* zc(std::uint32_t c) const { return z.as<std::uint64_t>() + c * words; }
};

bool get(const std::uint64_t* bits, std::size_t i) { return (bits[i / 64] >> (i % 64)) & 1; }

constexpr std::size_t kBlock = 64;     // measurements made together
constexpr std::size_t kTableBits = 8;  // columns of one table of sums
constexpr std::size_t kChunk = 64;     // u64 of a column at a time: tables of 128 KiB

// One step of a block: CX from `pivot` to the columns in `targets`, S perhaps, H, X perhaps.
struct Step {
  std::uint32_t pivot;
  bool phase_gate;
  std::size_t row;
  std::vector<std::uint64_t> targets;  // bit c: column c
};

bool parity(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < a.size(); ++w) sum ^= a[w] & b[w];
  return __builtin_parityll(sum);
}
void toggle(std::vector<std::uint64_t>& bits, std::size_t i) {
  bits[i / 64] ^= std::uint64_t{1} << (i % 64);
}

// Which steps the rows of a block need: the elimination on these rows alone.
std::vector<Step> plan_block(const Columns& t, std::span<const std::uint32_t> qubits) {
  const std::size_t k = qubits.size(), words = (t.n + 63) / 64;
  std::vector<std::vector<std::uint64_t>> x(k, std::vector<std::uint64_t>(words)), z = x;
  for (std::uint32_t c = 0; c < t.n; ++c) {
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t row = 2 * std::size_t{qubits[j]} + 1;
      x[j][c / 64] |= static_cast<std::uint64_t>(get(t.xc(c), row)) << (c % 64);
      z[j][c / 64] |= static_cast<std::uint64_t>(get(t.zc(c), row)) << (c % 64);
    }
  }
  std::vector<Step> steps;
  std::vector<std::uint64_t> used(words);
  for (std::size_t i = 0; i < k; ++i) {
    // A fresh pivot: earlier rows keep their Z on their own pivots, where signs are set at the end.
    // There is one, as a row of X on used pivots alone would not commute with all earlier rows.
    std::size_t w = 0;
    while (w < words && !(x[i][w] & ~used[w])) ++w;
    if (w == words) continue;  // determined by now
    Step step;
    step.pivot = static_cast<std::uint32_t>(
        w * 64 + static_cast<std::size_t>(__builtin_ctzll(x[i][w] & ~used[w])));
    step.row = 2 * std::size_t{qubits[i]} + 1;
    step.targets = x[i];
    toggle(step.targets, step.pivot);
    toggle(used, step.pivot);
    const std::size_t p = step.pivot;
    for (std::size_t j = 0; j < k; ++j) {
      if (parity(z[j], step.targets)) toggle(z[j], p);
      if (get(x[j].data(), p)) {
        for (std::size_t v = 0; v < words; ++v) x[j][v] ^= step.targets[v];
      }
    }
    step.phase_gate = get(z[i].data(), p);
    for (std::size_t j = 0; j < k; ++j) {
      if (step.phase_gate && get(x[j].data(), p)) toggle(z[j], p);
      if (get(x[j].data(), p) != get(z[j].data(), p)) toggle(x[j], p), toggle(z[j], p);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

// One chunk of all columns through the steps of a block. Columns that are no pivot of the block
// keep their Z and only gain pivots' X, so their part is two products of bit matrices, made with
// tables of the sums of eight columns; the pivots go through the steps one by one.
[[gnu::always_inline]] inline void run_chunk(Columns& t, const std::vector<Step>& steps,
                                             const std::vector<std::uint64_t>& member,
                                             const std::vector<std::uint32_t>& pivots,
                                             std::size_t first, std::size_t words,
                                             std::uint64_t* tables, std::uint64_t* sums) {
  const std::size_t k = steps.size(), groups = (k + kTableBits - 1) / kTableBits;
  const auto add = [&](std::uint64_t * to, const std::uint64_t* from)
      __attribute__((always_inline)) {
    for (std::size_t w = 0; w < words; ++w) to[w] ^= from[w];
  };
  const auto table = [&](std::size_t g, std::size_t pattern) __attribute__((always_inline)) {
    return tables + ((g << kTableBits) + pattern) * kChunk;
  };
  // Z of the other columns, gathered by pattern, then summed for every step.
  std::memset(tables, 0, (groups << kTableBits) * kChunk * 8);
  for (std::uint32_t c = 0; c < t.n; ++c) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t pattern = (member[c] >> (g * kTableBits)) & 0xFF;
      if (pattern) add(table(g, pattern), t.zc(c) + first);
    }
  }
  std::memset(sums, 0, k * kChunk * 8);
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t g = i / kTableBits, bit = std::size_t{1} << (i % kTableBits);
    for (std::size_t pattern = 0; pattern < 256; ++pattern) {
      if (pattern & bit) add(sums + i * kChunk, table(g, pattern));
    }
  }
  for (std::size_t i = 0; i < k; ++i) {
    const Step& step = steps[i];
    std::uint64_t *px = t.xc(step.pivot) + first, *pz = t.zc(step.pivot) + first;
    add(pz, sums + i * kChunk);
    for (std::uint32_t c : pivots) {
      if (c == step.pivot || !get(step.targets.data(), c)) continue;
      add(t.xc(c) + first, px);
      add(pz, t.zc(c) + first);
    }
    std::memcpy(sums + i * kChunk, px, words * 8);  // what the other columns gain
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t &low = t.low[first + w], &high = t.high[first + w];
      if (step.phase_gate) {
        high ^= low & px[w];
        low ^= px[w];
        pz[w] ^= px[w];
      }
      high ^= px[w] & pz[w];
      std::swap(px[w], pz[w]);
    }
  }
  // X of the other columns.
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t pattern = 1; pattern < 256; ++pattern) {
      const std::size_t lowest = static_cast<std::size_t>(__builtin_ctzll(pattern));
      std::memcpy(table(g, pattern), table(g, pattern & (pattern - 1)), words * 8);
      if (g * kTableBits + lowest < k)
        add(table(g, pattern), sums + (g * kTableBits + lowest) * kChunk);
    }
    std::memset(table(g, 0), 0, kChunk * 8);
  }
  for (std::uint32_t c = 0; c < t.n; ++c) {
    if (!member[c]) continue;
    for (std::size_t g = 0; g < groups; ++g)
      add(t.xc(c) + first, table(g, (member[c] >> (g * kTableBits)) & 0xFF));
  }
}

[[gnu::always_inline]] inline void collapse_body(Columns& t, std::span<const std::uint32_t> qubits,
                                                 std::uint64_t* tables, std::uint64_t* sums) {
  const std::vector<Step> steps = plan_block(t, qubits);
  if (steps.empty()) return;
  std::vector<std::uint32_t> pivots;
  for (const Step& s : steps) pivots.push_back(s.pivot);
  std::vector<std::uint64_t> member(t.n);  // bit i of column c: step i adds its pivot to c
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::uint32_t c = 0; c < t.n; ++c)
      member[c] |= static_cast<std::uint64_t>(get(steps[i].targets.data(), c)) << i;
  }
  for (std::uint32_t c : pivots) member[c] = 0;
  for (std::size_t first = 0; first < t.words; first += kChunk)
    run_chunk(t, steps, member, pivots, first, std::min(kChunk, t.words - first), tables, sums);
  // The outcomes shall be 0: an X on a pivot's start changes the signs of rows with Z on it, which
  // are its own and perhaps later ones.
  for (const Step& s : steps) {
    if (!get(t.high.data(), s.row)) continue;
    for (std::size_t w = 0; w < t.words; ++w) t.high[w] ^= t.zc(s.pivot)[w];
  }
}
TW_TARGET_AVX512 void collapse_avx512(Columns& t, std::span<const std::uint32_t> q,
                                      std::uint64_t* tables, std::uint64_t* sums) {
  collapse_body(t, q, tables, sums);
}
TW_TARGET_AVX2 void collapse_avx2(Columns& t, std::span<const std::uint32_t> q,
                                  std::uint64_t* tables, std::uint64_t* sums) {
  collapse_body(t, q, tables, sums);
}
void collapse_base(Columns& t, std::span<const std::uint32_t> q, std::uint64_t* tables,
                   std::uint64_t* sums) {
  collapse_body(t, q, tables, sums);
}

}  // namespace

void Tableau::collapse_z(std::span<const std::uint32_t> qubits) {
  std::vector<std::uint32_t> random;
  for (std::uint32_t q : qubits) {
    if (!is_determined_z(q)) random.push_back(q);
  }
  if (random.empty()) return;
  const std::size_t rows = 2 * std::size_t{n_};
  Columns t{n_, (rows + 511) / 512 * 8, {}, {}, {}, {}};
  t.x = runtime::HostBuffer(n_ * t.words * 8);
  t.z = runtime::HostBuffer(n_ * t.words * 8);
  t.low.resize(t.words);
  t.high.resize(t.words);
  for (std::size_t r = 0; r < rows; ++r) {
    t.low[r / 64] |= static_cast<std::uint64_t>(phase_[r] & 1) << (r % 64);
    t.high[r / 64] |= static_cast<std::uint64_t>(phase_[r] >> 1) << (r % 64);
  }
  transpose_rows(x_.as<std::uint64_t>(), rows, words_, n_, t.x.as<std::uint8_t>(), t.words * 8);
  transpose_rows(z_.as<std::uint64_t>(), rows, words_, n_, t.z.as<std::uint8_t>(), t.words * 8);
  const runtime::HostBuffer tables((kBlock / kTableBits << kTableBits) * kChunk * 8),
      sums(kBlock * kChunk * 8);
  for (std::size_t k = 0; k < random.size(); k += kBlock) {
    const auto part =
        std::span<const std::uint32_t>(random).subspan(k, std::min(kBlock, random.size() - k));
    switch (cpu_level()) {
      case CpuLevel::kAvx512:
        collapse_avx512(t, part, tables.as<std::uint64_t>(), sums.as<std::uint64_t>());
        break;
      case CpuLevel::kAvx2:
        collapse_avx2(t, part, tables.as<std::uint64_t>(), sums.as<std::uint64_t>());
        break;
      case CpuLevel::kBase:
        collapse_base(t, part, tables.as<std::uint64_t>(), sums.as<std::uint64_t>());
        break;
    }
  }
  transpose_rows(t.x.as<std::uint64_t>(), n_, t.words, rows, x_.as<std::uint8_t>(), words_ * 8);
  transpose_rows(t.z.as<std::uint64_t>(), n_, t.words, rows, z_.as<std::uint8_t>(), words_ * 8);
  for (std::size_t r = 0; r < rows; ++r) {
    phase_[r] = static_cast<std::uint8_t>(get(t.low.data(), r) | (get(t.high.data(), r) << 1));
  }
}

}  // namespace tilewave::stabilizer
