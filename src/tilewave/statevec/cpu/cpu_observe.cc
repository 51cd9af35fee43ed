// Amplitudes, shots and expectations of a state in host memory; probabilities are in
// cpu_probabilities.cc. Sums run over fixed chunks in a fixed order, so that results do not depend
// on the number of threads: chunk sums first, then a pairwise tree over chunks.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <map>

#include "tilewave/base/bits.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/multiversion.h"
#include "tilewave/runtime/team.h"
#include "tilewave/runtime/waiting.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_state.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/observe_kernels.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr int kChunkBits = 12;

void cross_chunk(const Complex<float>* a, const Complex<float>* b, std::uint32_t x,
                 std::size_t count, double* re, double* im) {
  observe_kernels().cross_f32(a, b, x, count, re, im);
}
void cross_chunk(const Complex<double>* a, const Complex<double>* b, std::uint32_t x,
                 std::size_t count, double* re, double* im) {
  observe_kernels().cross_f64(a, b, x, count, re, im);
}

// The sums of |a|^2 of the rows of a chunk, whose first basis state is `first`. Plain loops: what
// is called from a clone is not compiled for its instructions.
template <class T>
[[gnu::always_inline]] inline void add_rows(const Complex<T>* a, std::uint64_t first, int row_bits,
                                            std::uint64_t num_rows, double* sums) {
  constexpr int kLanes = 8;
  const std::size_t count = std::size_t{2} << row_bits;
  for (std::uint64_t r = 0; r < num_rows; ++r) {
    const T* const v = reinterpret_cast<const T*>(a + Address<T>::of(first | r << row_bits));
    double s[kLanes] = {};
    for (std::size_t k = 0; k + kLanes <= count; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const double x = v[k + l];
        s[l] += x * x;
      }
    }
    for (std::size_t k = 0; k < count % kLanes; ++k) {
      const double x = v[k];
      s[k] += x * x;
    }
    sums[r] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
}
TW_MULTIVERSION void sum_rows(const Complex<float>* a, std::uint64_t first, int row_bits,
                              std::uint64_t num_rows, double* sums) {
  add_rows(a, first, row_bits, num_rows, sums);
}
TW_MULTIVERSION void sum_rows(const Complex<double>* a, std::uint64_t first, int row_bits,
                              std::uint64_t num_rows, double* sums) {
  add_rows(a, first, row_bits, num_rows, sums);
}

}  // namespace

template <class T>
std::vector<cplx> CpuState<T>::amplitudes(std::span<const std::uint64_t> indices) {
  std::vector<cplx> out;
  out.reserve(indices.size());
  const bool plain = layout_.is_identity(num_qubits_);
  for (std::uint64_t x : indices) {
    check_index(x);
    const std::uint64_t p = plain ? x : layout_.physical(x, num_qubits_);
    const Complex<T> z = p & known_zero_ ? Complex<T>{} : amps()[Address<T>::of(p)];
    out.push_back({static_cast<double>(z.re), static_cast<double>(z.im)});
  }
  return out;
}

template <class T>
std::vector<std::uint64_t> CpuState<T>::sample_sorted(std::span<const double> sorted_u) {
  restore_layout();
  const int row_bits = std::min(num_qubits_, Address<T>::kRowBits);
  const int bits = std::min(num_qubits_, kChunkBits), rows_bits = bits - row_bits;
  const std::uint64_t chunks = num_amplitudes() >> bits;
  std::vector<double> before(chunks + 1, 0.0);
  const Complex<T>* a = amps();
  const std::uint64_t num_rows = bit(rows_bits);
  StopFlag stop;
  runtime::in_shares(team(), chunks, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<double> sums(num_rows);
    for (std::uint64_t c = begin; c < end; ++c) {
      if (stop.wanted()) continue;
      sum_rows(a, c << bits, row_bits, num_rows, sums.data());
      double sum = 0;
      for (const double of_row : sums) sum += of_row;
      before[c + 1] = sum;
    }
  });
  stop.rethrow();
  for (std::uint64_t c = 0; c < chunks; ++c) before[c + 1] += before[c];
  const double norm = before[chunks];
  check_drawable(norm);
  // shots of one chunk are a run of the sorted numbers
  std::vector<std::uint64_t> out(sorted_u.size());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;  // chunk, first shot
  std::uint64_t chunk = 0;
  InterruptCounter now_and_then(65536);
  for (std::uint64_t s = 0; s < sorted_u.size(); ++s) {
    now_and_then.step();
    const double target = sorted_u[s] * norm;
    if (target >= before[chunk + 1] || runs.empty()) {
      chunk = static_cast<std::uint64_t>(
          std::upper_bound(before.begin() + 1, before.end(), target) - (before.begin() + 1));
      if (chunk >= chunks) chunk = chunks - 1;
      runs.push_back({chunk, s});
    }
  }
#pragma omp parallel num_threads(team())
  {
    std::vector<double> sums(num_rows);
#pragma omp for schedule(dynamic, 16)
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (stop.wanted()) continue;
      const auto [c, first] = runs[run];
      const std::uint64_t last = run + 1 < runs.size() ? runs[run + 1].second : sorted_u.size();
      sum_rows(a, c << bits, row_bits, num_rows, sums.data());
      // the first basis state of a row at which the running sum exceeds a target, or, where
      // rounding leaves none, the last one that can be
      const auto in_row = [&](std::uint64_t row, double sum, double target) {
        std::uint64_t possible = row;
        for (std::uint64_t x = row; x < row + bit(row_bits); ++x) {
          const Complex<T> z = a[Address<T>::of(x)];
          const double p = static_cast<double>(z.re) * z.re + static_cast<double>(z.im) * z.im;
          if (p > 0) possible = x;
          if (p > 0 && target < (sum += p)) break;
        }
        return possible;
      };
      std::uint64_t s = first, last_row = 0;  // with anything in it
      double sum = before[c], last_sum = sum;
      for (std::uint64_t r = 0; r < num_rows && s < last; sum += sums[r++]) {
        if (!(sums[r] > 0)) continue;
        last_row = c << bits | r << row_bits;
        last_sum = sum;
        for (; s < last && sorted_u[s] * norm < sum + sums[r]; ++s)
          out[s] = in_row(last_row, sum, sorted_u[s] * norm);
      }
      for (; s < last; ++s) out[s] = in_row(last_row, last_sum, sorted_u[s] * norm);
    }
  }
  stop.rethrow();
  return out;
}

template <class T>
std::vector<double> CpuState<T>::expectations(const circuit::PauliSum& sum) {
  check_strings(sum);
  materialize();
  std::vector<double> result(sum.size(), 0.0);
  std::map<std::uint64_t, std::vector<std::size_t>> by_flips;
  for (std::size_t k = 0; k < sum.size(); ++k) by_flips[sum[k].x].push_back(k);
  const int bits = std::min(num_qubits_, 10);
  const std::uint64_t chunks = num_amplitudes() >> bits;
  const std::uint64_t groups = std::min<std::uint64_t>(chunks, 64), each = chunks / groups;
  // flips and signs are linear in the index, so they carry over to memory
  const auto to_memory_flips = [&](std::uint64_t qubits) {
    return Address<T>::of(layout_.positions(qubits));
  };
  const auto to_memory_signs = [&](std::uint64_t qubits) {
    return Address<T>::transpose(layout_.positions(qubits)) & low_mask(num_qubits_);
  };
  if (num_qubits_ < 6) {  // fewer than a row of amplitudes: directly
    for (std::size_t k = 0; k < sum.size(); ++k) {
      const std::uint64_t x = layout_.positions(sum[k].x), z = layout_.positions(sum[k].z);
      const int num_y = std::popcount(sum[k].x & sum[k].z);
      cplx total = 0;
      for (std::uint64_t i = 0; i < num_amplitudes(); ++i) {
        const Complex<T> a = amps()[i], b = amps()[i ^ x];
        const cplx c = cplx(a.re, -a.im) * cplx(b.re, b.im);
        total += std::popcount((i ^ x) & z) & 1 ? -c : c;
      }
      static const cplx kPowers[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      const double value = (total * kPowers[num_y & 3]).real();
      result[k] = std::popcount(sum[k].z & layout_.flips) & 1 ? -value : value;
    }
    return result;
  }
  // Strings with one flip mask x share the products conj(a_i) a_{i^x}; masks that flip the same
  // tiles share two tiles while those lie in the second-level cache.
  struct String {
    std::size_t index;
    std::uint64_t z_high;
    std::uint32_t z_rows;
    const double* signs;  // of a row of 64 amplitudes
    bool imaginary;
    double factor;
  };
  struct Flips {
    std::uint64_t x;
    std::vector<String> strings;
  };
  std::vector<double> row_signs(64 * 64);
  for (std::uint32_t k = 0; k < row_signs.size(); ++k)
    row_signs[k] = std::popcount(k >> 6 & k) & 1 ? -1 : 1;
  const int tile_chunk_bits = std::min(std::countr_zero(each), kObserveTileBits<T> - bits);
  // by tiles flipped, at most some 2^16 strings at once, for their partial sums take 512 bytes each
  std::map<std::uint64_t, std::size_t> seen;
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<Flips>> by_tiles;
  for (const auto& [flips, terms] : by_flips) {
    Flips f{to_memory_flips(flips), {}};
    // i and i^x give the same real contribution: with flips of chunks, half of the chunks suffice
    const double twice = f.x >> bits ? 2.0 : 1.0;
    for (std::size_t index : terms) {
      const circuit::PauliTerm& term = sum[index];
      const std::uint64_t z = to_memory_signs(term.z);
      const int num_y = std::popcount(term.x & term.z);
      // sum over i of conj(a_i) i^num_y (-1)^{z.(i^x)} a_{i^x}; its real part
      const bool minus =
          (std::popcount(z & f.x) ^ std::popcount(term.z & layout_.flips) ^ ((num_y + 1) >> 1)) & 1;
      f.strings.push_back(
          {index, z >> bits, static_cast<std::uint32_t>(z & low_mask(bits) & ~std::uint64_t{63}),
           row_signs.data() + (z & 63) * 64, (num_y & 1) != 0, minus ? -twice : twice});
    }
    const std::uint64_t tiles = f.x >> (bits + tile_chunk_bits);
    std::size_t& count = seen[tiles];
    const std::size_t batch = count >> 16;
    count += f.strings.size();
    by_tiles[{tiles, batch}].push_back(std::move(f));
  }
  for (const auto& entry : by_tiles) {
    const auto& masks = entry.second;
    std::size_t m = 0;
    for (const Flips& f : masks) m += f.strings.size();
    std::vector<double> partial(groups * m, 0.0);
    StopFlag stop;
    {
      const int threads = team();
      runtime::TeamTimer timer(threads);
#pragma omp parallel num_threads(threads)
      {
        const ObserveKernels& kernels = observe_kernels();
        std::vector<double> re(bit(bits)), im(bit(bits));
        const auto add_chunk = [&](std::uint64_t c, const Flips& f, double* out) {
          cross_chunk(amps() + (c << bits), amps() + ((c ^ f.x >> bits) << bits),
                      static_cast<std::uint32_t>(f.x & low_mask(bits)), bit(bits), re.data(),
                      im.data());
          for (const String& s : f.strings) {
            const double value = kernels.signed_sum(s.imaginary ? im.data() : re.data(), bit(bits),
                                                    s.signs, s.z_rows);
            *out++ += std::popcount(c & s.z_high) & 1 ? -value : value;
          }
        };
#pragma omp for schedule(dynamic) nowait
        for (std::uint64_t g = 0; g < groups; ++g) {
          for (std::uint64_t tile = g * each; tile < (g + 1) * each; tile += bit(tile_chunk_bits)) {
            if (stop.wanted()) break;
            double* out = partial.data() + g * m;
            for (const Flips& f : masks) {
              const std::uint64_t half_bit = std::bit_floor(f.x >> bits);
              for (std::uint64_t c = tile; c < tile + bit(tile_chunk_bits); ++c)
                if (!(c & half_bit)) add_chunk(c, f, out);
              out += f.strings.size();
            }
          }
        }
        timer.done(omp_get_thread_num());
      }
    }
    stop.rethrow();
    std::size_t t = 0;
    for (const Flips& f : masks) {
      for (const String& s : f.strings) {
        std::vector<double> column(groups);
        for (std::uint64_t g = 0; g < groups; ++g) column[g] = partial[g * m + t];
        result[s.index] = tree_sum(column.data(), groups) * s.factor;
        ++t;
      }
    }
  }
  return result;
}

namespace {

// x <- c x + a y, n numbers that are pairs of real and imaginary parts.
template <class T>
inline __attribute__((always_inline)) void add_pairs(T* x, const T* y, std::uint64_t n, cplx c,
                                                     cplx a) {
  const double cr = c.real(), ci = c.imag(), ar = a.real(), ai = a.imag();
  for (std::uint64_t k = 0; k < n; k += 2) {
    const double xr = x[k], xi = x[k + 1], yr = y[k], yi = y[k + 1];
    x[k] = static_cast<T>(cr * xr - ci * xi + (ar * yr - ai * yi));
    x[k + 1] = static_cast<T>(cr * xi + ci * xr + (ar * yi + ai * yr));
  }
}
TW_MULTIVERSION void scale_and_add(float* x, const float* y, std::uint64_t n, cplx c, cplx a) {
  add_pairs(x, y, n, c, a);
}
TW_MULTIVERSION void scale_and_add(double* x, const double* y, std::uint64_t n, cplx c, cplx a) {
  add_pairs(x, y, n, c, a);
}

}  // namespace

// Two states in the order of basis states lie in memory in the same order.
template <class T>
void CpuState<T>::add_scaled(const State& other, cplx a, cplx c) {
  restore_layout();
  const auto* same = dynamic_cast<const CpuState<T>*>(&other);
  if (!same || !same->layout_.is_identity(num_qubits_) || same->layout_.flips ||
      same->known_zero_) {
    State::add_scaled(other, a, c);
    return;
  }
  forget_answers();
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 12;
  T* const x = reinterpret_cast<T*>(amps());
  const T* const y = reinterpret_cast<const T*>(same->amps());
  const std::uint64_t piece = std::min(kPiece, num_amplitudes());
#pragma omp parallel for num_threads(team()) schedule(static)
  for (std::uint64_t at = 0; at < num_amplitudes(); at += piece)
    scale_and_add(x + 2 * at, y + 2 * at, 2 * piece, c, a);
}

template <class T>
void CpuState<T>::update_blocks(const std::function<void(std::uint64_t, std::span<cplx>)>& f) {
  restore_layout();
  forget_answers();
  const int bits = std::min(num_qubits_, 12);
  std::exception_ptr failure;
#pragma omp parallel num_threads(team())
  {
    std::vector<cplx> block(bit(bits));
#pragma omp for schedule(static)
    for (std::uint64_t c = 0; c < num_amplitudes() >> bits; ++c) {
      const std::uint64_t first = c << bits;
      for (std::uint64_t k = 0; k < block.size(); ++k) {
        const Complex<T> z = amps()[Address<T>::of(first + k)];
        block[k] = {static_cast<double>(z.re), static_cast<double>(z.im)};
      }
      try {
        f(first, block);
      } catch (...) {
#pragma omp critical(tw_update_blocks)
        failure = std::current_exception();
      }
      for (std::uint64_t k = 0; k < block.size(); ++k) {
        amps()[Address<T>::of(first + k)] = {static_cast<T>(block[k].real()),
                                             static_cast<T>(block[k].imag())};
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

template class CpuState<float>;
template class CpuState<double>;

}  // namespace tilewave::statevec::cpu
