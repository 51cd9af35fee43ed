// Phase blocks on a tile: e^{i f(x)} with f a sum of angles times products of bits.
//
// The factor of every row is built by doubling: with F of the rows below 2^b, row 2^b + i has F_i G_i,
// where G_i is the product of the factors of terms whose highest bit is b (one number where each of
// them has no other bit). In a state by itself factors are numbers, unless a term has bits of the row
// and of the lane; otherwise they are vectors of lanes.
//
// Backward, dE/d(angle) of a term is -2 sum of w over the rows that have its bits, with w = Im(conj(lam)
// psi): sums over supersets, for which the upper half of w is folded onto the lower half, bit by bit.
#if defined(TILEWAVE_PARAMETRIC_PHASES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_PARAMETRIC_PHASES_INL_H_
#undef TILEWAVE_PARAMETRIC_PHASES_INL_H_
#else
#define TILEWAVE_PARAMETRIC_PHASES_INL_H_
#endif

#include <bit>
#include <cstring>
#include <span>

#include "tilewave/parametric/cpu/rotations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::parametric::cpu {
namespace HWY_NAMESPACE {

// A complex number, or one for each lane.
template <class E>
struct Factor {
  E re, im;
};
template <class E>
HWY_INLINE Factor<E> times(const Factor<E>& a, const Factor<E>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T, class E>
struct TermFactor;
template <class T>
struct TermFactor<T, T> {
  static HWY_INLINE Factor<T> get(const TileWork<T>& work, const PhaseTerm& t) {
    const T* f = work.factors + std::size_t{2} * kLanes<T> * t.angle;
    return {f[0], f[kLanes<T>]};
  }
  static HWY_INLINE T one() { return 1; }
};
template <class T>
struct TermFactor<T, V<T>> {
  static HWY_INLINE Factor<V<T>> get(const TileWork<T>& work, const PhaseTerm& t) {
    const auto* f = reinterpret_cast<const V<T>*>(work.factors) + std::size_t{2} * t.angle;
    if (!t.on.lane) return {f[0], f[1]};
    const M<T> on = lanes_where<T>(t.on.lane, t.on.lane);
    return {on ? f[0] : fill<T>(1), on ? f[1] : V<T>{}};
  }
  static HWY_INLINE V<T> one() { return fill<T>(1); }
};

// to[i] = from[i] * g
template <class E>
HWY_INLINE void scale(const E* re, const E* im, Factor<E> g, std::size_t count, E* to_re,
                      E* to_im) {
  for (std::size_t i = 0; i < count; ++i) {
    const E r = re[i] * g.re - im[i] * g.im;
    to_im[i] = re[i] * g.im + im[i] * g.re;
    to_re[i] = r;
  }
}

// The product over the terms that hold in this tile.
template <class T, class E>
HWY_INLINE Factor<E> product(const TileWork<T>& work, std::span<const PhaseTerm> terms,
                             std::uint32_t row, bool& any) {
  Factor<E> g{TermFactor<T, E>::one(), E{}};
  any = false;
  for (const PhaseTerm& t : terms) {
    if (t.on.row != row || (work.outer & t.on.outer) != t.on.outer) continue;
    const Factor<E> f = TermFactor<T, E>::get(work, t);
    g = any ? times(g, f) : f;
    any = true;
  }
  return g;
}

// Factors of all rows, from that of row 0. `other` holds half as many.
template <class T, class E>
void build(const TileWork<T>& work, std::span<const PhaseTerm> terms, Factor<E> first, E* re, E* im,
           E* other_re, E* other_im) {
  re[0] = first.re;
  im[0] = first.im;
  std::size_t at = 0;
  while (at < terms.size() && terms[at].on.row == 0) ++at;
  for (int b = 0; b < work.passes->row_bits; ++b) {
    const std::size_t half = std::size_t{1} << b;
    std::size_t end = at;
    bool is_linear = true;
    while (end < terms.size() && terms[end].on.row >> (b + 1) == 0) {
      is_linear &= terms[end].on.row == half;
      ++end;
    }
    const auto own = terms.subspan(at, end - at);
    at = end;
    if (own.empty()) {
      std::memcpy(static_cast<void*>(re + half), re, half * sizeof(E));
      std::memcpy(static_cast<void*>(im + half), im, half * sizeof(E));
      continue;
    }
    bool any;
    const Factor<E> g = product<T, E>(work, own, static_cast<std::uint32_t>(half), any);
    if (is_linear) {
      scale<E>(re, im, g, half, re + half, im + half);
      continue;
    }
    other_re[0] = g.re;
    other_im[0] = g.im;
    for (int c = 0; c < b; ++c) {
      const std::size_t quarter = std::size_t{1} << c;
      const Factor<E> q = product<T, E>(work, own, static_cast<std::uint32_t>(half | quarter), any);
      if (any) {
        scale<E>(other_re, other_im, q, quarter, other_re + quarter, other_im + quarter);
      } else {
        std::memcpy(static_cast<void*>(other_re + quarter), other_re, quarter * sizeof(E));
        std::memcpy(static_cast<void*>(other_im + quarter), other_im, quarter * sizeof(E));
      }
    }
    for (const PhaseTerm& t : own) {  // of more than two bits
      const auto rest = t.on.row ^ static_cast<std::uint32_t>(half);
      if (std::popcount(rest) < 2 || (work.outer & t.on.outer) != t.on.outer) continue;
      const Factor<E> f = TermFactor<T, E>::get(work, t);
      for_rows(static_cast<std::uint32_t>(half - 1) & ~rest, rest, [&](std::size_t i) HWY_ATTR {
        const Factor<E> p = times(Factor<E>{other_re[i], other_im[i]}, f);
        other_re[i] = p.re;
        other_im[i] = p.im;
      });
    }
    for (std::size_t i = 0; i < half; ++i) {
      re[half + i] = re[i] * other_re[i] - im[i] * other_im[i];
      im[half + i] = re[i] * other_im[i] + im[i] * other_re[i];
    }
  }
}

template <class T>
HWY_INLINE V<T> broadcast(const T& x) {
  return fill<T>(x);
}
template <class T>
HWY_INLINE const V<T>& broadcast(const V<T>& x) {
  return x;
}

// psi_r *= F_r L, or both states by the conjugate; w of every row where it is read.
template <class T, class E, bool kBack, bool kRead, bool kLaneFactor>
HWY_INLINE void apply(const TileWork<T>& work, const E* re, const E* im, Factor<V<T>> lanes,
                      V<T>* w) {
  auto* psi = reinterpret_cast<V<T>*>(work.psi);
  auto* lam = reinterpret_cast<V<T>*>(work.lam);
  const std::size_t rows = std::size_t{1} << work.passes->row_bits;
  for (std::size_t r = 0; r < rows; ++r) {
    V<T> fr = broadcast<T>(re[r]), fi = broadcast<T>(im[r]);
    if constexpr (kLaneFactor) {
      const Factor<V<T>> f = times(Factor<V<T>>{fr, fi}, lanes);
      fr = f.re;
      fi = f.im;
    }
    if constexpr (kBack) fi = -fi;
    const V<T> a = psi[2 * r], b = psi[2 * r + 1];
    if constexpr (kBack) {
      const V<T> c = lam[2 * r], d = lam[2 * r + 1];
      if constexpr (kRead) w[r] = c * b - d * a;
      lam[2 * r] = c * fr - d * fi;
      lam[2 * r + 1] = c * fi + d * fr;
    }
    psi[2 * r] = a * fr - b * fi;
    psi[2 * r + 1] = a * fi + b * fr;
  }
}

template <class T>
HWY_INLINE V<T> sum_of(const V<T>* w, std::size_t count) {
  V<T> sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int k = 0; k < 4; ++k) sums[k] = sums[k] + w[i + std::size_t(k)];
  }
  for (; i < count; ++i) sums[0] = sums[0] + w[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
void add_read(const TileWork<T>& work, const PhaseTerm& t, const V<T>& sum) {
  if (t.read < 0 || (work.outer & t.on.outer) != t.on.outer) return;
  V<T> own = -2 * sum;
  if (t.on.lane) own = lanes_where<T>(t.on.lane, t.on.lane) ? own : V<T>{};
  add_lanes<T>(own, reads_of<T>(work, t.read));
}

// Sums of w over the rows that have all bits of a term, for terms sorted by their bits below 2^bits.
// Destroys w; `scratch` holds as many rows.
template <class T>
void fold(const TileWork<T>& work, V<T>* w, int bits, std::span<const PhaseTerm> terms,
          V<T>* scratch) {
  while (!terms.empty()) {
    const auto mask = [&](const PhaseTerm& t) { return t.on.row & ((1u << bits) - 1); };
    if (bits == 0 || mask(terms.back()) == 0) {
      const V<T> sum = sum_of<T>(w, std::size_t{1} << bits);
      for (const PhaseTerm& t : terms) add_read<T>(work, t, sum);
      return;
    }
    const int b = bits - 1;
    const std::size_t half = std::size_t{1} << b;
    std::size_t first = terms.size();
    while (first > 0 && mask(terms[first - 1]) >> b) --first;
    const auto upper = terms.subspan(first);
    if (!upper.empty()) {
      if ((upper.back().on.row & (half - 1)) == 0) {
        const V<T> sum = sum_of<T>(w + half, half);
        for (const PhaseTerm& t : upper) add_read<T>(work, t, sum);
      } else {
        std::memcpy(static_cast<void*>(scratch), w + half, half * sizeof(V<T>));
        fold<T>(work, scratch, b, upper, scratch + half);
      }
    }
    terms = terms.first(first);
    if (terms.empty()) return;
    for (std::size_t i = 0; i < half; ++i) w[i] = w[i] + w[i + half];
    --bits;
  }
}

template <class T, class E, bool kBack, bool kRead>
HWY_INLINE void apply_built(const TileWork<T>& work, std::span<const PhaseTerm> terms, V<T>* w) {
  bool any = false;
  const Factor<V<T>> lanes = product<T, V<T>>(work, terms, 0, any);
  const std::size_t rows = std::size_t{1} << work.passes->row_bits;
  E* re = reinterpret_cast<E*>(work.scratch) + rows * sizeof(V<T>) / sizeof(E);
  E *im = re + rows, *other = im + rows;
  if constexpr (sizeof(E) == sizeof(T)) {
    build<T, E>(work, terms, {1, 0}, re, im, other, other + rows / 2);
    if (any) {
      apply<T, E, kBack, kRead, true>(work, re, im, lanes, w);
    } else {
      apply<T, E, kBack, kRead, false>(work, re, im, lanes, w);
    }
  } else {
    build<T, E>(work, terms, lanes, re, im, other, other + rows / 2);
    apply<T, E, kBack, kRead, false>(work, re, im, lanes, w);
  }
}

// What the change of the angles of phases adds to the derivative: lam += i f' psi, behind them, where
// f'(x) is the sum of the rates of the terms whose bits x has: sums over subsets, bit by bit.
template <class T>
void add_phase_tangents(const TileWork<T>& work, const TileOp& op) {
  const std::span<const PhaseTerm> terms(work.passes->terms.data() + op.first, op.count);
  const std::size_t rows = std::size_t{1} << work.passes->row_bits;
  auto* f = reinterpret_cast<V<T>*>(work.scratch);
  std::memset(static_cast<void*>(f), 0, rows * sizeof(V<T>));
  for (const PhaseTerm& t : terms) {
    if (!work.moves[t.angle] || (work.outer & t.on.outer) != t.on.outer) continue;
    const V<T> rate = reinterpret_cast<const V<T>*>(work.rates)[t.angle];
    f[t.on.row] = f[t.on.row] + (lanes_where<T>(t.on.lane, t.on.lane) ? rate : V<T>{});
  }
  for (std::size_t b = 1; b < rows; b *= 2) {
    for (std::size_t r = b; r < rows; r = (r + 1) | b) f[r] = f[r] + f[r ^ b];
  }
  const auto* psi = reinterpret_cast<const V<T>*>(work.psi);
  auto* lam = reinterpret_cast<V<T>*>(work.lam);
  for (std::size_t r = 0; r < rows; ++r) {
    lam[2 * r] = lam[2 * r] - f[r] * psi[2 * r + 1];
    lam[2 * r + 1] = lam[2 * r + 1] + f[r] * psi[2 * r];
  }
}

template <class T, bool kBack>
void phases(const TileWork<T>& work, const TileOp& op) {
  const std::span<const PhaseTerm> terms(work.passes->terms.data() + op.first, op.count);
  bool is_uniform = work.passes->lane_bits > 0, reads = false;
  for (const PhaseTerm& t : terms) {
    is_uniform &= !(t.on.row && t.on.lane);
    reads |= t.read >= 0;
  }
  auto* w = reinterpret_cast<V<T>*>(work.scratch);
  if (kBack && reads) {
    if (is_uniform) {
      apply_built<T, T, kBack, kBack>(work, terms, w);
    } else {
      apply_built<T, V<T>, kBack, kBack>(work, terms, w);
    }
    fold<T>(work, w, work.passes->row_bits, terms, w + (std::size_t{1} << work.passes->row_bits));
  } else if (is_uniform) {
    apply_built<T, T, kBack, false>(work, terms, w);
  } else {
    apply_built<T, V<T>, kBack, false>(work, terms, w);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::parametric::cpu
HWY_AFTER_NAMESPACE();
#endif
