#include "tilewave/statevec/plan/pair_factors.h"

#include <algorithm>
#include <cmath>

namespace tilewave::statevec {

namespace {

using Matrix2x2 = std::array<cplx, 4>;

constexpr double kMostTangent = 1 << 10;
constexpr double kLeastPairWeight = 0x1p-32;  // what amplitudes are divided by meanwhile
constexpr double kTolerance = 1e-13;          // of entries, against their factors

double phase_of(cplx z) { return std::atan2(z.imag(), z.real()); }
cplx turn(double angle) { return std::polar(1.0, angle); }

bool is_unitary(std::span<const cplx, 16> m) {
  for (int i = 0; i < 4; ++i) {
    for (int j = i; j < 4; ++j) {
      cplx sum = i == j ? -1.0 : 0.0;
      for (int k = 0; k < 4; ++k) sum += std::conj(m[k * 4 + i]) * m[k * 4 + j];
      if (!(std::abs(sum) <= 1e-12)) return false;  // also where it is not a number
    }
  }
  return true;
}

// Rotations by angles in [0, pi/2], as cosines and sines, and the phases between them:
//   diag(phase) R(0,1; c) R(2,3; d) diag(1, e^{i p1}, 1, e^{i p3}) R(1,3; b) R(2,3; a) diag(1, e^{i z0},
//   e^{i z1}, e^{i (z0 + z1)})
struct Angles {
  double cos_a, sin_a, cos_b, sin_b, cos_c, sin_c, cos_d, sin_d;
  double p1, p3, z0, z1;
  std::array<double, 4> phase;
};

// Of a matrix whose column 0 is zero in rows 2 and 3.
Angles angles_of(const Matrix4& m) {
  Angles x{};
  const auto at = [&](int i, int j) { return m[i * 4 + j]; };
  x.cos_c = std::abs(at(0, 0)), x.sin_c = std::abs(at(1, 0));
  x.phase[0] = phase_of(at(0, 0)), x.phase[1] = phase_of(at(1, 0));
  // row 1 of what stands to the right of R(0,1; c): rows 0 and 1 turned back
  std::array<cplx, 4> row{};
  for (int j = 1; j < 4; ++j)
    row[j] = x.cos_c * turn(-x.phase[1]) * at(1, j) - x.sin_c * turn(-x.phase[0]) * at(0, j);
  const double rest = std::hypot(std::abs(row[2]), std::abs(row[3]));
  x.cos_b = std::abs(row[1]), x.sin_b = rest;
  x.sin_a = rest > 0 ? std::abs(row[2]) / rest : 0;
  x.cos_a = rest > 0 ? std::abs(row[3]) / rest : 1;
  // row = e^{i p1} (0, cos_b e^{i z0}, -sin_b sin_a e^{i z1}, -sin_b cos_a e^{i (z0 + z1)})
  const double of1 = phase_of(row[1]), of2 = phase_of(-row[2]), of3 = phase_of(-row[3]);
  x.z0 = of3 - of2, x.z1 = of3 - of1, x.p1 = of1 - x.z0;
  // rows 2 and 3, with the columns' rotations undone: diag(phase) R(d) diag(1, e^{i p3}) on (2, 3)
  const auto undone = [&](int i) {
    const cplx m1 = turn(-x.z0) * at(i, 1), m2 = turn(-x.z1) * at(i, 2),
               m3 = turn(-x.z0 - x.z1) * at(i, 3);
    // times R(2,3; a)^-1, then R(1,3; b)^-1, from the right
    const cplx n2 = x.cos_a * m2 - x.sin_a * m3, n3 = x.sin_a * m2 + x.cos_a * m3;
    return std::array<cplx, 2>{n2, x.sin_b * m1 + x.cos_b * n3};
  };
  const auto row2 = undone(2), row3 = undone(3);
  x.cos_d = std::abs(row2[0]), x.sin_d = std::abs(row3[0]);
  x.phase[2] = phase_of(row2[0]), x.phase[3] = phase_of(row3[0]);
  x.p3 = std::abs(row3[1]) > std::abs(row2[1]) ? phase_of(row3[1]) - x.phase[3]
                                               : phase_of(-row2[1]) - x.phase[2];
  return x;
}

// Every amplitude is held divided by its weight, which the steps change and D takes back.
std::optional<PairFactors> made_of(const Angles& x) {
  PairFactors f;
  std::array<double, 4> weight{1, 1, 1, 1};
  bool fits = true;
  const auto check = [&](double tangent, double new_weight) {
    fits &= std::abs(tangent) <= kMostTangent && std::abs(new_weight) >= kLeastPairWeight;
  };
  const auto rotate = [&](std::array<double, 4>& step, int i, int j, double cosine, double sine) {
    const double t = sine / cosine;
    step[i] = -t * weight[j] / weight[i];
    step[j] = t * weight[i] / weight[j];
    weight[i] *= cosine, weight[j] *= cosine;
    check(t, weight[i]);
    check(t, weight[j]);
  };
  const auto multiply = [&](int j, double angle) {
    f.tangent[j] = std::tan(angle);
    weight[j] *= std::cos(angle);
    check(f.tangent[j], weight[j]);
  };
  rotate(f.first, 2, 3, x.cos_a, x.sin_a);
  rotate(f.second, 1, 3, x.cos_b, x.sin_b);
  multiply(1, x.p1);
  multiply(3, x.p3);
  rotate(f.third, 0, 1, x.cos_c, x.sin_c);
  rotate(f.third, 2, 3, x.cos_d, x.sin_d);
  if (!fits) return std::nullopt;
  f.scale = weight[0];
  f.weight[0] = 1;
  for (int j = 1; j < 4; ++j) f.weight[j] = weight[j] / f.scale * turn(x.phase[j] - x.phase[0]);
  return f;
}

// The matrix of the factors, in their own numbering.
Matrix4 product_of(const PairFactors& f) {
  Matrix4 out{};
  for (int column = 0; column < 4; ++column) {
    std::array<cplx, 4> h{};
    h[column] = 1;
    const auto add = [&](const std::array<double, 4>& step, int other) {
      const auto before = h;
      for (int j = 0; j < 4; ++j) h[j] += step[j] * before[j ^ other];
    };
    add(f.first, 1);
    add(f.second, 2);
    for (int j = 0; j < 4; ++j) h[j] *= cplx(1, f.tangent[j]);
    add(f.third, 1);
    for (int j = 0; j < 4; ++j) out[j * 4 + column] = f.scale * f.weight[j] * h[j];
  }
  return out;
}

Matrix4 renumbered(std::span<const cplx, 16> m, const PairFactors& numbering) {
  Matrix4 out{};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) out[i * 4 + j] = m[numbering.number(i) * 4 + numbering.number(j)];
  }
  return out;
}

// m * (high (x) low)
Matrix4 times_bits(std::span<const cplx, 16> m, const Matrix2x2& low, const Matrix2x2& high) {
  Matrix4 out{};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 4; ++k)
        out[i * 4 + j] += m[i * 4 + k] * low[(k & 1) * 2 + (j & 1)] * high[(k >> 1) * 2 + (j >> 1)];
    }
  }
  return out;
}

// Unitary, with this first column.
Matrix2x2 with_first(cplx a, cplx b) {
  const double norm = std::hypot(std::abs(a), std::abs(b));
  a /= norm, b /= norm;
  return {a, -std::conj(b), b, std::conj(a)};
}

// Vectors h with determinant(h[0] * rows[0] + h[1] * rows[1]) = 0, where rows[k] is the 2x2 matrix
// of the entries of rows 2 and 3 whose column has bit 1 = k.
std::array<Matrix2x2, 2> high_bits(const Matrix2x2& r0, const Matrix2x2& r1) {
  const cplx a = r0[0] * r0[3] - r0[1] * r0[2], c = r1[0] * r1[3] - r1[1] * r1[2],
             b = r0[0] * r1[3] + r1[0] * r0[3] - r0[1] * r1[2] - r1[1] * r0[2];
  // a h0^2 + b h0 h1 + c h1^2 = 0, without cancellation
  const cplx root = std::sqrt(b * b - 4.0 * a * c);
  const cplx q = -0.5 * (std::abs(b + root) > std::abs(b - root) ? b + root : b - root);
  // where both are 0 every vector is one
  const auto vector = [](cplx h0, cplx h1) {
    return std::abs(h0) + std::abs(h1) > 0 ? with_first(h0, h1) : with_first(1, 0);
  };
  return {vector(q, a), vector(c, q)};
}

}  // namespace

void PairFactors::take_scales(const std::array<double, 2>& bits) {
  const std::array<double, 4> of{1, bits[0], bits[1], bits[0] * bits[1]};
  for (int j = 0; j < 4; ++j) {
    first[j] *= of[j ^ 1] / of[j];
    second[j] *= of[j ^ 2] / of[j];
    third[j] *= of[j ^ 1] / of[j];
    weight[j] *= of[j];
  }
}

double PairFactors::leave_scale(int b, double most) {
  const int j = 1 << b;
  const double left = weight[j].real(), t = weight[j].imag() / left;
  if (!(std::abs(left) <= most && std::abs(left) * most >= 1 && std::abs(t) <= kMostTangent))
    return 1;
  weight[j] = {1, t};
  weight[3] /= left;
  return left;
}

std::optional<PairFactors> factor_pair(std::span<const cplx, 16> m) {
  for (int numbering = 0; numbering < 8; ++numbering) {
    PairFactors order;
    order.exchanged = numbering & 1;
    order.flips = numbering >> 1;
    const Matrix4 own = renumbered(m, order);
    if (own[8] != cplx{} || own[12] != cplx{} || !is_unitary(own)) continue;
    const auto factors = made_of(angles_of(own));
    if (!factors) continue;
    const Matrix4 product = product_of(*factors);
    bool same = true;
    for (int e = 0; e < 16; ++e) same &= std::abs(product[e] - own[e]) < kTolerance;
    if (!same) continue;
    PairFactors out = *factors;
    out.exchanged = order.exchanged;
    out.flips = order.flips;
    return out;
  }
  return std::nullopt;
}

std::optional<PairFactors> pair_factors_of(const Action& action, std::span<const cplx> matrices) {
  if (action.kind != ActionKind::kMatrix || action.num_targets != 2 || action.control_mask)
    return std::nullopt;
  return factor_pair(matrices.subspan(action.first).first<16>());
}

std::optional<ReducedPair> reduce_pair(std::span<const cplx, 16> m) {
  if (!is_unitary(m)) return std::nullopt;
  const Matrix2x2 r0{m[8], m[9], m[12], m[13]}, r1{m[10], m[11], m[14], m[15]};
  std::optional<ReducedPair> best;
  double least = 0;
  for (const Matrix2x2& high : high_bits(r0, r1)) {
    // the bit 0 that both rows of this combination map to nothing; from the larger of them
    const cplx h0 = high[0], h1 = high[2];
    const cplx x0 = h0 * r0[0] + h1 * r1[0], x1 = h0 * r0[1] + h1 * r1[1],
               y0 = h0 * r0[2] + h1 * r1[2], y1 = h0 * r0[3] + h1 * r1[3];
    const bool first = std::norm(x0) + std::norm(x1) > std::norm(y0) + std::norm(y1);
    const cplx u0 = first ? x0 : y0, u1 = first ? x1 : y1;
    if (std::abs(u0) + std::abs(u1) == 0) continue;
    Matrix2x2 low = with_first(u1, -u0), top = high;
    // phases of the bits, for which the factors have no place
    const Angles x = angles_of(times_bits(m, low, top));
    low[1] *= turn(-x.z0), low[3] *= turn(-x.z0);
    top[1] *= turn(-x.z1), top[3] *= turn(-x.z1);
    for (cplx& e : low) e *= turn(-x.phase[0]);
    Matrix4 reduced = times_bits(m, low, top);
    reduced[8] = reduced[12] = 0;
    const auto factors = factor_pair(reduced);
    if (!factors) continue;
    double most = 0;
    for (const auto* step :
         {&factors->first, &factors->second, &factors->tangent, &factors->third}) {
      for (const double t : *step) most = std::max(most, std::abs(t));
    }
    if (best && most >= least) continue;
    least = most;
    best = ReducedPair{reduced, {low, top}};
  }
  return best;
}

}  // namespace tilewave::statevec
