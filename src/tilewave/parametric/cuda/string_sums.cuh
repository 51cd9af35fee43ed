// Sums of Pauli strings on tiles of a state, and what they are between the state and itself. With f
// the bits that a string flips and z those with Z or Y, (P psi)_x = i^{number of Y}
// (-1)^{parity((x ^ f) & z)} psi_{x ^ f}. Strings of one f stand together, sorted by their z among
// the register's bits: a thread adds each weight once, with the sign of its other bits, into the sum
// of its class, and a Walsh-Hadamard transform of the few classes gives the factor of every register.
#pragma once

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

#include "tilewave/parametric/cuda/tile_machine.cuh"
#include "tilewave/parametric/plan/strings.h"

namespace tilewave::parametric::device {

/// Strings with one mask of X and Y, of one observable.
template <int kHeld>
struct StringSegment {
  std::uint32_t first[2][kHeld + 1];  ///< of real strings and of imaginary ones, by class
  std::uint32_t flip;                 ///< bits of the row
  std::uint32_t sum;                  ///< where <psi|P|psi> is added
};

template <class T>
struct DeviceString {
  std::uint64_t outer;  ///< Z or Y on wires that choose the tile
  T weight;             ///< with the sign of what it flips
  std::uint32_t row;    ///< Z or Y on the row's other bits
};

template <class T, int kReg>
struct StringView {
  const StringSegment<(1 << kReg)>* segments;
  const DeviceString<T>* strings;
  std::uint32_t num_segments;
};

struct StringWeight {
  std::uint32_t sum;
  double weight;

  bool operator==(const StringWeight&) const = default;
};
using StringWeights = std::vector<std::vector<StringWeight>>;  ///< the sums each string is part of

template <class T, int kReg>
struct Segments {
  std::vector<StringSegment<(1 << kReg)>> segments;
  std::vector<DeviceString<T>> strings;
};

/// A sweep's strings by what they flip and whose they are.
template <class T, int kReg>
Segments<T, kReg> segments_of(const StringSweep& sweep, const StringWeights& of_string,
                              int thread_bits) {
  struct Entry {
    std::uint32_t sum, kind, held;
    DeviceString<T> string;
  };
  Segments<T, kReg> out;
  for (const SweepGroup& g : sweep.groups) {
    std::vector<Entry> entries;
    for (std::size_t j = g.first; j < g.first + g.count; ++j) {
      const Bits& z = sweep.z[j];
      const int ones = std::popcount(g.flip.row & z.row) + std::popcount(g.flip.outer & z.outer);
      const bool minus = (ones & 1) != (sweep.y[j] >= 2);
      for (const StringWeight& w : of_string[sweep.string[j]]) {
        entries.push_back({w.sum,
                           sweep.y[j] & 1u,
                           z.row >> thread_bits,
                           {z.outer, static_cast<T>(minus ? -w.weight : w.weight),
                            z.row & ((1u << thread_bits) - 1)}});
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tuple(a.sum, a.kind, a.held) < std::tuple(b.sum, b.kind, b.held);
    });
    for (std::size_t k = 0; k < entries.size();) {
      StringSegment<(1 << kReg)> segment{};
      segment.flip = g.flip.row;
      segment.sum = entries[k].sum;
      for (std::uint32_t kind = 0; kind < 2; ++kind) {
        for (std::uint32_t m = 0; m <= 1u << kReg; ++m) {
          segment.first[kind][m] = static_cast<std::uint32_t>(out.strings.size());
          for (; k < entries.size() && entries[k].sum == segment.sum && entries[k].kind == kind &&
                 entries[k].held == m;
               ++k)
            out.strings.push_back(entries[k].string);
        }
      }
      out.segments.push_back(segment);
    }
  }
  return out;
}

/// `psi`: the thread's amplitudes, rows row + k 2^kThreadBits; `source`: the tile that strings come
/// from, in shared memory; `lam`, where kLam: added to. sums[2 s], sums[2 s + 1] of the warp: Re and Im
/// of <psi|P|psi>. `factors`: what each sum's strings are multiplied with for lam, or null.
template <class T, int kRow, int kReg, bool kLam>
__device__ void add_strings(const StringView<T, kReg>& view, std::uint64_t outer, std::uint32_t row,
                            const Amplitude<T>* psi, const Amplitude<T>* source, Amplitude<T>* lam,
                            double* sums, const double* factors = nullptr) {
  using A = Amplitude<T>;
  constexpr int kHeld = 1 << kReg, kThreadBits = kRow - kReg;
  constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;
  for (std::uint32_t s = 0; s < view.num_segments; ++s) {
    const auto& segment = view.segments[s];
    [[maybe_unused]] const T factor = factors ? static_cast<T>(factors[segment.sum]) : T(1);
    T re = 0, im = 0;
#pragma unroll
    for (int kind = 0; kind < 2; ++kind) {
      if (segment.first[kind][0] == segment.first[kind][kHeld]) continue;
      T d[kHeld];
#pragma unroll
      for (int m = 0; m < kHeld; ++m) {
        d[m] = 0;
        const std::uint32_t end = segment.first[kind][m + 1];
        for (std::uint32_t j = segment.first[kind][m]; j < end; ++j) {
          const DeviceString<T> z = view.strings[j];
          const int ones = __popc(row & z.row) + __popcll(outer & z.outer);
          d[m] += ones & 1 ? -z.weight : z.weight;
        }
      }
#pragma unroll
      for (int b = 0; b < kReg; ++b) {
#pragma unroll
        for (int k = 0; k < kHeld; ++k) {
          if (k >> b & 1) continue;
          const T x = d[k], y = d[k | 1 << b];
          d[k] = x + y;
          d[k | 1 << b] = x - y;
        }
      }
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const std::uint32_t from = (row | k << kThreadBits) ^ segment.flip;
        const A v = source[swizzle(from, kBankBits)];
        const A part = kind == 0 ? A{d[k] * v.re, d[k] * v.im} : A{-d[k] * v.im, d[k] * v.re};
        re += psi[k].re * part.re + psi[k].im * part.im;
        im += psi[k].re * part.im - psi[k].im * part.re;
        if constexpr (kLam) lam[k].re += factor * part.re, lam[k].im += factor * part.im;
      }
    }
    re = sum_of_warp(re);
    im = sum_of_warp(im);
    if ((threadIdx.x & 31) == 0) {
      sums[2 * segment.sum] += static_cast<double>(re);
      sums[2 * segment.sum + 1] += static_cast<double>(im);
    }
  }
}

}  // namespace tilewave::parametric::device
