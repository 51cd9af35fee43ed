// Collapses of a tableau: random measurements, as operations on the columns of the transposed
// tableau.
//
// A random Z_q has a row with X part. Operations on the start that fix |0...0> are free: a CX from
// a pivot column k to every other column in the X part leaves X only on k; S makes its Y an X; then
// a Hadamard on k makes the row's X part empty, and the new start |0> of qubit k means outcome 0
// (an X on k when the sign was minus). In the form i^phase X^x Z^z a CX changes no phase, H adds 2
// (x & z), S adds x.
#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::stabilizer {
namespace {

typedef std::uint64_t Vec __attribute__((vector_size(64)));

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

[[gnu::always_inline]] inline void collapse_body(Columns& t, std::uint32_t q) {
  const std::size_t row = 2 * std::size_t{q} + 1, vecs = t.words / 8;
  std::uint32_t pivot = 0;
  while (pivot < t.n && !get(t.xc(pivot), row)) ++pivot;
  if (pivot == t.n) return;
  auto* px = reinterpret_cast<Vec*>(t.xc(pivot));
  auto* pz = reinterpret_cast<Vec*>(t.zc(pivot));
  for (std::uint32_t c = pivot + 1; c < t.n; ++c) {
    if (!get(t.xc(c), row)) continue;
    auto* cx = reinterpret_cast<Vec*>(t.xc(c));
    const auto* cz = reinterpret_cast<const Vec*>(t.zc(c));
    for (std::size_t i = 0; i < vecs; ++i) {
      cx[i] ^= px[i];
      pz[i] ^= cz[i];
    }
  }
  auto* low = reinterpret_cast<std::uint64_t*>(t.low.data());
  auto* high = t.high.data();
  std::uint64_t *x = t.xc(pivot), *z = t.zc(pivot);
  if (get(z, row)) {  // S
    for (std::size_t i = 0; i < t.words; ++i) {
      high[i] ^= low[i] & x[i];
      low[i] ^= x[i];
      z[i] ^= x[i];
    }
  }
  for (std::size_t i = 0; i < t.words; ++i) {  // H
    high[i] ^= x[i] & z[i];
    std::swap(x[i], z[i]);
  }
  if (get(high, row)) {  // X: the outcome shall be 0
    for (std::size_t i = 0; i < t.words; ++i) high[i] ^= z[i];
  }
}
TW_TARGET_AVX512 void collapse_avx512(Columns& t, std::uint32_t q) { collapse_body(t, q); }
TW_TARGET_AVX2 void collapse_avx2(Columns& t, std::uint32_t q) { collapse_body(t, q); }
void collapse_base(Columns& t, std::uint32_t q) { collapse_body(t, q); }

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
  for (std::uint32_t q : random) {
    switch (cpu_level()) {
      case CpuLevel::kAvx512:
        collapse_avx512(t, q);
        break;
      case CpuLevel::kAvx2:
        collapse_avx2(t, q);
        break;
      case CpuLevel::kBase:
        collapse_base(t, q);
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
