#include "tilewave/stabilizer/near_clifford/dense_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint32_t kVectorBits = 4;  // states of so many qubits are worked on by vectors,
constexpr std::uint32_t kOrbitBits = 6;   // and several rotations at a time

bool parity(std::uint32_t bits) { return std::popcount(bits) & 1; }

// Index `i` with a 0 put in at bit `at`.
std::size_t with_zero(std::size_t i, std::uint32_t at) {
  const std::size_t low = (std::size_t{1} << at) - 1;
  return ((i & ~low) << 1) | (i & low);
}

// (P phi)_b for P = i^phase X^x Z^z.
struct Image {
  double re, im;
};
Image image_at(const DensePauli& p, const std::vector<double>& re, const std::vector<double>& im,
               std::size_t b) {
  const std::size_t from = b ^ p.x;
  const unsigned turn = (p.phase + (parity(static_cast<std::uint32_t>(from) & p.z) ? 2u : 0u)) & 3;
  switch (turn) {
    case 0:
      return {re[from], im[from]};
    case 1:
      return {-im[from], re[from]};
    case 2:
      return {-re[from], -im[from]};
    default:
      return {im[from], -re[from]};
  }
}

double rounded_chance(double ones, double zeros) {
  const double p = ones / (zeros + ones);
  return p < kSmallestChance ? 0 : p > 1 - kSmallestChance ? 1 : p;
}

}  // namespace

bool DenseState::by_vectors(std::uint32_t pivot) const {
  return stored_k() >= kVectorBits && pivot >= 3 && cpu_level() == CpuLevel::kAvx512;
}

void DenseState::reset() {
  k_ = 0;
  waits_ = false;
  factors_.reset();
  lost_bits_ = 0;
  if (re_.empty()) re_.resize(1), im_.resize(1);
  re_[0] = 1, im_[0] = 0;
}

DenseState& DenseState::operator=(const DenseState& other) {
  if (this == &other) return *this;
  k_ = other.k_;
  factors_ = other.factors_;
  lost_bits_ = other.lost_bits_;
  waits_ = other.waits_;
  waiting_c_ = other.waiting_c_, waiting_s_ = other.waiting_s_;
  if (re_.size() < size()) re_.resize(size()), im_.resize(size());
  std::copy_n(other.re_.begin(), size(), re_.begin());
  std::copy_n(other.im_.begin(), size(), im_.begin());
  return *this;
}

void DenseState::settle_factors() {
  if (!factors_) return;
  const auto [z, flips, c, s] = *std::exchange(factors_, std::nullopt);
  double norm = 0;
  if (stored_k() >= kVectorBits && cpu_level() == CpuLevel::kAvx512) {
    norm = avx512::multiply({z, flips, c, s}, stored_k(), re_.data(), im_.data());
  } else {
    for (std::size_t b = 0; b < size(); ++b) {
      const double re = re_[b], im = im_[b];
      const bool turned = parity(static_cast<std::uint32_t>(b) & z) != flips;
      re_[b] = turned ? s * im : c * re;
      im_[b] = turned ? -s * re : c * im;
      norm += re_[b] * re_[b] + im_[b] * im_[b];
    }
  }
  keep_in_range(norm);
}

// Chances are ratios, so the norm is free; it is brought back, by a power of two, before it leaves the
// range of numbers.
void DenseState::keep_in_range(double norm) {
  lost_bits_ = 0;
  if (norm > 0x1p-200 && norm < 0x1p200) return;
  const double scale = std::ldexp(1.0, -std::ilogb(norm) / 2);
  for (std::size_t i = 0; i < size(); ++i) re_[i] *= scale, im_[i] *= scale;
}

void DenseState::settle() {
  settle_factors();
  if (!waits_) return;
  const std::size_t n = size();
  const double c = waiting_c_, s = waiting_s_;
  if (re_.size() < 2 * n) re_.resize(2 * n), im_.resize(2 * n);
  if (stored_k() >= kVectorBits && cpu_level() == CpuLevel::kAvx512) {
    avx512::promote(c, s, stored_k(), re_.data(), im_.data());
  } else {
    for (std::size_t b = 0; b < n; ++b) {
      re_[n + b] = s * im_[b];
      im_[n + b] = -s * re_[b];
      re_[b] *= c;
      im_[b] *= c;
    }
  }
  waits_ = false;
}

void DenseState::apply(const DenseOp& op, bool sign) {
  if (op.kind == DenseKind::kPromote) {
    if (waits_) settle();
    ++k_;
    waits_ = true;
    waiting_c_ = op.c, waiting_s_ = op.s;
    return;
  }
  settle();
  const std::size_t n = size();
  const double c = op.c, s = sign ? -op.s : op.s;
  const DensePauli& p = op.p;
  if (k_ >= kVectorBits && cpu_level() == CpuLevel::kAvx512)
    return avx512::rotate(p, c, s, k_, re_.data(), im_.data());
  if (p.x == 0) {  // c -+ i s on either parity
    const double plus = p.phase == 0 ? s : -s;
    for (std::size_t b = 0; b < n; ++b) {
      const double t = parity(static_cast<std::uint32_t>(b) & p.z) ? -plus : plus;
      const double re = re_[b], im = im_[b];
      re_[b] = c * re + t * im;
      im_[b] = c * im - t * re;
    }
    return;
  }
  // Pairs b, b ^ x: the factor of the partner's amplitude is -i s i^phase (-1)^(partner . z).
  const auto pivot = static_cast<std::uint32_t>(std::bit_width(p.x) - 1);
  const unsigned turn = (p.phase + 3) & 3;
  const bool swapped = parity(p.x & p.z);
  for (std::size_t i = 0; i < n / 2; ++i) {
    const std::size_t a = with_zero(i, pivot), b = a ^ p.x;
    const bool odd = parity(static_cast<std::uint32_t>(a) & p.z);
    double to_b = turn & 2 ? -s : s;  // of a, into b
    if (odd) to_b = -to_b;
    const double to_a = swapped ? -to_b : to_b;
    const double ra = re_[a], ia = im_[a], rb = re_[b], ib = im_[b];
    if (turn & 1) {  // imaginary factors
      re_[a] = c * ra - to_a * ib;
      im_[a] = c * ia + to_a * rb;
      re_[b] = c * rb - to_b * ia;
      im_[b] = c * ib + to_b * ra;
    } else {
      re_[a] = c * ra + to_a * rb;
      im_[a] = c * ia + to_a * ib;
      re_[b] = c * rb + to_b * ra;
      im_[b] = c * ib + to_b * ia;
    }
  }
}

void DenseState::run(std::span<const DenseOp> ops, const std::uint64_t* signs) {
  std::size_t sign = 0;
  const auto next_sign = [&] {
    const bool set = (signs[sign / 64] >> (sign % 64)) & 1;
    ++sign;
    return set;
  };
  const auto fits = [](const DenseOp& op) {
    return op.kind == DenseKind::kRotate && std::abs(op.c) >= avx512::kSmallestCosine;
  };
  std::array<avx512::Rotation, 64> list;
  for (std::size_t i = 0; i < ops.size();) {
    if (waits_ && fits(ops[i])) settle();
    if (k_ < kOrbitBits || cpu_level() != CpuLevel::kAvx512 || !fits(ops[i])) {
      apply(ops[i], ops[i].kind == DenseKind::kRotate && next_sign());
      ++i;
      continue;
    }
    std::size_t count = 0;
    for (; i < ops.size() && count < list.size() && fits(ops[i]); ++i)
      list[count++] = {ops[i].p, ops[i].c, next_sign() ? -ops[i].s : ops[i].s};
    for (std::size_t done = 0; done < count;) {
      done += avx512::rotate(std::exchange(factors_, std::nullopt), list.data() + done,
                             count - done, k_, re_.data(), im_.data());
    }
  }
}

bool DenseState::ends_waiting(const DenseOp& op) const {
  return waits_ && op.p.x == 0 && op.pivot == k_ - 1;
}

double DenseState::chance(const DenseOp& op) {
  settle_factors();
  if (ends_waiting(op)) {
    // c^2 of the amplitudes that Z^rest alone would send to 1, and s^2 of the others
    DensePauli rest = op.p;
    rest.z &= ~(std::uint32_t{1} << op.pivot);
    const Weights w = weights(rest, op.pivot);
    const double c2 = waiting_c_ * waiting_c_, s2 = waiting_s_ * waiting_s_;
    return rounded_chance(c2 * w.ones + s2 * w.zeros, c2 * w.zeros + s2 * w.ones);
  }
  settle();
  const Weights w = weights(op.p, op.pivot);
  return rounded_chance(w.ones, w.zeros);
}

// Of both outcomes, of what is stored.
DenseState::Weights DenseState::weights(const DensePauli& p, std::uint32_t pivot) const {
  const std::size_t n = size();
  double zeros = 0, ones = 0;
  if (by_vectors(pivot)) return avx512::weights(p, pivot, stored_k(), re_.data(), im_.data());
  if (p.x == 0) {
    for (std::size_t b = 0; b < n; ++b) {
      const bool one = parity(static_cast<std::uint32_t>(b) & p.z) != (p.phase == 2);
      (one ? ones : zeros) += re_[b] * re_[b] + im_[b] * im_[b];
    }
    return {zeros, ones};
  }
  for (std::size_t i = 0; i < n / 2; ++i) {
    const std::size_t b = with_zero(i, pivot);
    const Image image = image_at(p, re_, im_, b);
    const double r0 = re_[b] + image.re, i0 = im_[b] + image.im;
    const double r1 = re_[b] - image.re, i1 = im_[b] - image.im;
    zeros += r0 * r0 + i0 * i0;
    ones += r1 * r1 + i1 * i1;
  }
  return {zeros, ones};
}

void DenseState::project(const DenseOp& op, bool outcome) {
  settle_factors();
  if (!ends_waiting(op)) {
    settle();
    const double norm = project_stored(op, outcome);
    --k_;
    keep_in_range(norm);
    return;
  }
  const double c = waiting_c_, s = waiting_s_;
  factors_ = {op.p.z & ~(std::uint32_t{1} << op.pivot), (op.p.phase == 2) != outcome, c, s};
  waits_ = false;
  --k_;
  lost_bits_ -= std::log2(std::min(c * c, s * s));
  constexpr double kMostLost = 200;
  if (k_ < kOrbitBits || lost_bits_ > kMostLost) settle_factors();
}

// In place: the pivot is the highest bit of x, or any of z where x is 0, so what is read never lies
// before what is written.
double DenseState::project_stored(const DenseOp& op, bool outcome) {
  const std::size_t half = size() / 2;
  const DensePauli& p = op.p;
  if (by_vectors(op.pivot))
    return avx512::project(p, op.pivot, outcome, k_, re_.data(), im_.data());
  double norm = 0;
  const std::uint32_t rest = p.z & ~(std::uint32_t{1} << op.pivot);
  for (std::size_t i = 0; i < half; ++i) {
    std::size_t b = with_zero(i, op.pivot);
    double re, im;
    if (p.x == 0) {
      const bool one = parity(static_cast<std::uint32_t>(b) & rest) != (p.phase == 2);
      if (one != outcome) b |= std::size_t{1} << op.pivot;
      re = re_[b], im = im_[b];
    } else {
      const Image image = image_at(p, re_, im_, b);
      re = outcome ? re_[b] - image.re : re_[b] + image.re;
      im = outcome ? im_[b] - image.im : im_[b] + image.im;
    }
    re_[i] = re, im_[i] = im;
    norm += re * re + im * im;
  }
  return norm;
}

}  // namespace tilewave::stabilizer
