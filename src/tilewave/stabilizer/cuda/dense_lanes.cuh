// The amplitudes of near-Clifford shots on a GPU: a shot a thread, or a warp. The operations are those
// of near_clifford/dense_state.h in the same order of arithmetic up to sums over lanes.
//
// A shot a thread: the amplitude b of a block's shots lies side by side, so the threads, which all
// run the same operation, read and write stretches of memory. A shot a warp: its amplitudes lie side
// by side and the lanes share them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/stabilizer/near_clifford/program.h"

namespace tilewave::stabilizer {

template <bool kWarp>
class DenseLanes {
 public:
  /// `memory` of 2^(most_k + 1) doubles, `stride` apart.
  __device__ DenseLanes(double* memory, std::uint32_t stride, std::uint32_t most_k)
      : re_(memory), im_(memory + (std::size_t{stride} << most_k)), stride_(stride) {}

  __device__ void reset() {
    k_ = 0;
    if (lane() == 0) re(0) = 1, im(0) = 0;
    meet();
  }

  __device__ void promote(double c, double s) {
    const std::uint32_t n = 1u << k_;
    for (std::uint32_t b = lane(); b < n; b += kLanes) {
      const double r = re(b), i = im(b);
      re(n + b) = s * i, im(n + b) = -s * r;
      re(b) = c * r, im(b) = c * i;
    }
    ++k_;
    meet();
  }

  __device__ void rotate(const DensePauli& p, double c, double s) {
    const std::uint32_t n = 1u << k_;
    if (p.x == 0) {  // c -+ i s on either parity
      const double plus = p.phase == 0 ? s : -s;
      for (std::uint32_t b = lane(); b < n; b += kLanes) {
        const double t = parity(b & p.z) ? -plus : plus;
        const double r = re(b), i = im(b);
        re(b) = c * r + t * i;
        im(b) = c * i - t * r;
      }
    } else {
      // Pairs b, b ^ x: the factor of the partner's amplitude is -i s i^phase (-1)^(partner . z).
      const auto pivot = static_cast<std::uint32_t>(31 - __clz(static_cast<int>(p.x)));
      const unsigned turn = (p.phase + 3) & 3;
      const bool swapped = parity(p.x & p.z);
#pragma unroll 2
      for (std::uint32_t i = lane(); i < n / 2; i += kLanes) {
        const std::uint32_t a = with_zero(i, pivot), b = a ^ p.x;
        double to_b = turn & 2 ? -s : s;  // of a, into b
        if (parity(a & p.z)) to_b = -to_b;
        const double to_a = swapped ? -to_b : to_b;
        const double ra = re(a), ia = im(a), rb = re(b), ib = im(b);
        if (turn & 1) {  // imaginary factors
          re(a) = c * ra - to_a * ib;
          im(a) = c * ia + to_a * rb;
          re(b) = c * rb - to_b * ia;
          im(b) = c * ib + to_b * ra;
        } else {
          re(a) = c * ra + to_a * rb;
          im(a) = c * ia + to_a * ib;
          re(b) = c * rb + to_b * ra;
          im(b) = c * ib + to_b * ia;
        }
      }
    }
    meet();
  }

  /// The probability of outcome 1; 0 and 1 where it is so near.
  __device__ double chance(const DensePauli& p, std::uint32_t pivot) const {
    const std::uint32_t n = 1u << k_;
    double zeros = 0, ones = 0;
    if (p.x == 0) {
      for (std::uint32_t b = lane(); b < n; b += kLanes) {
        const double weight = re(b) * re(b) + im(b) * im(b);
        (parity(b & p.z) != (p.phase == 2) ? ones : zeros) += weight;
      }
    } else {
      for (std::uint32_t i = lane(); i < n / 2; i += kLanes) {
        const std::uint32_t b = with_zero(i, pivot);
        const double2 image = image_at(p, b);
        const double r0 = re(b) + image.x, i0 = im(b) + image.y;
        const double r1 = re(b) - image.x, i1 = im(b) - image.y;
        zeros += r0 * r0 + i0 * i0;
        ones += r1 * r1 + i1 * i1;
      }
    }
    zeros = sum(zeros), ones = sum(ones);
    const double q = ones / (zeros + ones);
    return q < kSmallestChance ? 0 : q > 1 - kSmallestChance ? 1 : q;
  }

  /// In place: the pivot is the highest bit of x, or any of z where x is 0, so what is read never
  /// lies before what is written.
  __device__ void project(const DensePauli& p, std::uint32_t pivot, bool outcome) {
    const std::uint32_t half = 1u << (k_ - 1);
    const std::uint32_t rest = p.z & ~(1u << pivot);
    double norm = 0;
    for (std::uint32_t first = 0; first < half; first += kLanes) {
      const std::uint32_t i = first + lane();
      double r = 0, m = 0;
      if (i < half) {
        std::uint32_t b = with_zero(i, pivot);
        if (p.x == 0) {
          const bool one = parity(b & rest) != (p.phase == 2);
          if (one != outcome) b |= 1u << pivot;
          r = re(b), m = im(b);
        } else {
          const double2 image = image_at(p, b);
          r = outcome ? re(b) - image.x : re(b) + image.x;
          m = outcome ? im(b) - image.y : im(b) + image.y;
        }
      }
      meet();  // all have read
      if (i < half) re(i) = r, im(i) = m;
      norm += r * r + m * m;
    }
    meet();
    --k_;
    norm = sum(norm);
    if (norm > 0x1p-200 && norm < 0x1p200) return;
    const double scale = ldexp(1.0, -ilogb(norm) / 2);
    for (std::uint32_t b = lane(); b < half; b += kLanes) re(b) *= scale, im(b) *= scale;
    meet();
  }

  static __device__ std::uint32_t lane() { return kWarp ? threadIdx.x % 32 : 0; }
  static __device__ void meet() {
    if constexpr (kWarp) __syncwarp();
  }

 private:
  static constexpr std::uint32_t kLanes = kWarp ? 32 : 1;

  __device__ double& re(std::uint32_t b) const { return re_[std::size_t{b} * stride_]; }
  __device__ double& im(std::uint32_t b) const { return im_[std::size_t{b} * stride_]; }
  static __device__ bool parity(std::uint32_t bits) { return __popc(bits) & 1; }
  static __device__ std::uint32_t with_zero(std::uint32_t i, std::uint32_t at) {
    const std::uint32_t low = (1u << at) - 1;
    return ((i & ~low) << 1) | (i & low);
  }
  static __device__ double sum(double v) {
    if constexpr (kWarp) {
#pragma unroll
      for (int apart = 16; apart; apart >>= 1) v += __shfl_xor_sync(0xFFFFFFFFu, v, apart);
    }
    return v;
  }
  // (P phi)_b for P = i^phase X^x Z^z.
  __device__ double2 image_at(const DensePauli& p, std::uint32_t b) const {
    const std::uint32_t from = b ^ p.x;
    const double r = re(from), i = im(from);
    switch ((p.phase + (parity(from & p.z) ? 2u : 0u)) & 3) {
      case 0:
        return {r, i};
      case 1:
        return {-i, r};
      case 2:
        return {-r, -i};
      default:
        return {i, -r};
    }
  }

  double *re_, *im_;
  std::uint32_t stride_, k_ = 0;
};

}  // namespace tilewave::stabilizer
