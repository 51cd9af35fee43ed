// Rotations, flips and matrices on a tile, forward on one state, backward on two with their reads:
// dE/da of exp(-i a/2 Y) is the sum over pairs of Re(conj(lam_1) psi_0) - Re(conj(lam_0) psi_1).
#if defined(TILEWAVE_PARAMETRIC_ROTATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_PARAMETRIC_ROTATIONS_INL_H_
#undef TILEWAVE_PARAMETRIC_ROTATIONS_INL_H_
#else
#define TILEWAVE_PARAMETRIC_ROTATIONS_INL_H_
#endif

#include <bit>
#include <cstring>

#include "tilewave/parametric/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::parametric::cpu {
namespace HWY_NAMESPACE {

// Calls f(row) for every row whose bits outside `free` are those of `fixed`.
template <class F>
HWY_INLINE void for_rows(std::uint32_t free, std::uint32_t fixed, F f) {
  std::uint32_t sub = 0;
  do {
    f(static_cast<std::size_t>(sub | fixed));
    sub = (sub - free) & free;
  } while (sub);
}

template <class T>
HWY_INLINE double* reads_of(const TileWork<T>& work, std::int32_t read) {
  return work.reads + (static_cast<std::uint32_t>(read) - work.pass->first_read) * kLanes<T>;
}

template <class T>
HWY_INLINE void rotate_pair(V<T>& x, V<T>& y, const V<T>& c, const V<T>& s) {
  const V<T> first = c * x - s * y;
  y = c * y + s * x;
  x = first;
}

// kBits rotations side by side on rows; `s` of the angle that is applied.
template <class T, int kBits, bool kBack, bool kRead>
HWY_INLINE void rotate_rows(V<T>* psi, V<T>* lam, std::uint32_t free, std::uint32_t fixed,
                            const std::uint32_t* bits, const V<T>* cos, const V<T>* sin,
                            V<T>* sums) {
  constexpr int kRows = 1 << kBits;
  std::size_t offsets[kRows];
  for (int k = 0; k < kRows; ++k) {
    offsets[k] = 0;
    for (int j = 0; j < kBits; ++j) offsets[k] += (k >> j & 1) ? 2 * std::size_t{bits[j]} : 0;
  }
  V<T> c[kBits], s[kBits], acc[kBits];
  for (int j = 0; j < kBits; ++j) c[j] = cos[j], s[j] = sin[j], acc[j] = V<T>{};
  const auto turn = [&](V<T>(&x)[kRows]) HWY_ATTR {
    for (int j = 0; j < kBits; ++j) {
      for (int k = 0; k < kRows; ++k) {
        if (!(k >> j & 1)) rotate_pair<T>(x[k], x[k | 1 << j], c[j], s[j]);
      }
    }
  };
  for_rows(free, fixed, [&](std::size_t row) HWY_ATTR {
    for (int part = 0; part < 2; ++part) {
      V<T>* const p = psi + 2 * row + part;
      V<T> x[kRows];
      for (int k = 0; k < kRows; ++k) x[k] = p[offsets[k]];
      if constexpr (kBack) {
        V<T>* const l = lam + 2 * row + part;
        V<T> y[kRows];
        for (int k = 0; k < kRows; ++k) y[k] = l[offsets[k]];
        if constexpr (kRead) {
          for (int j = 0; j < kBits; ++j) {
            for (int k = 0; k < kRows; ++k) {
              if (!(k >> j & 1)) acc[j] = acc[j] + y[k | 1 << j] * x[k] - y[k] * x[k | 1 << j];
            }
          }
        }
        turn(y);
        for (int k = 0; k < kRows; ++k) l[offsets[k]] = y[k];
      }
      turn(x);
      for (int k = 0; k < kRows; ++k) p[offsets[k]] = x[k];
    }
  });
  if constexpr (kRead) {
    for (int j = 0; j < kBits; ++j) sums[j] = acc[j];
  }
}

template <class T, int kBit, bool kBack>
HWY_INLINE void rotate_lanes(V<T>* psi, V<T>* lam, std::uint32_t free, std::uint32_t fixed,
                             const V<T>& c, const V<T>& s, V<T>& sum) {
  const V<T> sign = -lane_signs<T>(1u << kBit), turned = s * sign;
  V<T> acc{};
  for_rows(free, fixed, [&](std::size_t row) HWY_ATTR {
    for (int part = 0; part < 2; ++part) {
      V<T>& x = psi[2 * row + part];
      const V<T> other = exchange<kBit>(x);
      if constexpr (kBack) {
        V<T>& y = lam[2 * row + part];
        acc = acc + y * other;
        y = c * y + turned * exchange<kBit>(y);
      }
      x = c * x + turned * other;
    }
  });
  if constexpr (kBack) sum = acc * sign;
}

template <class T>
struct RotationRun {  // rotations side by side
  const TileOp* ops[3];
  int count = 0;
};

template <class T, bool kBack>
HWY_INLINE void rotate_lanes_at(int bit, V<T>* psi, V<T>* lam, std::uint32_t free,
                                std::uint32_t fixed, const V<T>& c, const V<T>& s, V<T>& sum) {
  switch (bit) {
    case 0:
      return rotate_lanes<T, 0, kBack>(psi, lam, free, fixed, c, s, sum);
    case 1:
      return rotate_lanes<T, 1, kBack>(psi, lam, free, fixed, c, s, sum);
    case 2:
      return rotate_lanes<T, 2, kBack>(psi, lam, free, fixed, c, s, sum);
    default:
      if constexpr (kLanes<T> == 16) rotate_lanes<T, 3, kBack>(psi, lam, free, fixed, c, s, sum);
  }
}

template <class T>
HWY_INLINE bool is_plain_rotation(const TileOp& op) {
  return op.kind == TileOpKind::kRotate && !op.on_lanes && op.controls == Bits{};
}

// One rotation, under controls or on lanes.
template <class T, bool kBack>
void rotate(const TileWork<T>& work, const TileOp& op) {
  if ((work.outer & op.controls.outer) != op.values.outer) return;
  const auto* factors = reinterpret_cast<const V<T>*>(work.factors) + 2 * op.angle;
  V<T> c = factors[0], s = kBack ? -factors[1] : factors[1], sum{};
  const M<T> on = lanes_where<T>(op.controls.lane, op.values.lane);
  if (op.controls.lane) {
    c = on ? c : fill<T>(1);
    s = on ? s : V<T>{};
  }
  const std::uint32_t bit = op.on_lanes ? 0 : 1u << op.target;
  const std::uint32_t free = ((1u << work.passes->row_bits) - 1) & ~op.controls.row & ~bit;
  auto* psi = reinterpret_cast<V<T>*>(work.psi);
  auto* lam = reinterpret_cast<V<T>*>(work.lam);
  if (op.on_lanes) {
    rotate_lanes_at<T, kBack>(op.target, psi, lam, free, op.values.row, c, s, sum);
  } else {
    rotate_rows<T, 1, kBack, kBack>(psi, lam, free, op.values.row, &bit, &c, &s, &sum);
  }
  if (!kBack || op.read < 0) return;
  if (op.controls.lane) sum = on ? sum : V<T>{};
  add_lanes<T>(sum, reads_of<T>(work, op.read));
}

// What the change of a rotation's angle adds to the derivative: lam += rate (-iY) psi, behind it.
template <class T>
void add_rotation_tangent(const TileWork<T>& work, const TileOp& op) {
  if ((work.outer & op.controls.outer) != op.values.outer) return;
  V<T> rate = reinterpret_cast<const V<T>*>(work.rates)[op.angle];
  if (op.controls.lane) rate = lanes_where<T>(op.controls.lane, op.values.lane) ? rate : V<T>{};
  const std::uint32_t bit = op.on_lanes ? 0 : 1u << op.target;
  const std::uint32_t free = ((1u << work.passes->row_bits) - 1) & ~op.controls.row & ~bit;
  const auto* psi = reinterpret_cast<const V<T>*>(work.psi);
  auto* lam = reinterpret_cast<V<T>*>(work.lam);
  if (op.on_lanes) {
    rate = -lane_signs<T>(1u << op.target) * rate;
    for_rows(free, op.values.row, [&](std::size_t row) HWY_ATTR {
      for (std::size_t k = 2 * row; k < 2 * row + 2; ++k)
        lam[k] = lam[k] + rate * exchange_all<T>(psi[k], 1u << op.target);
    });
    return;
  }
  const std::size_t step = std::size_t{2} * bit;
  for_rows(free, op.values.row, [&](std::size_t row) HWY_ATTR {
    for (std::size_t k = 2 * row; k < 2 * row + 2; ++k) {
      lam[k] = lam[k] - rate * psi[k + step];
      lam[k + step] = lam[k + step] + rate * psi[k];
    }
  });
}

// Two or three rotations of rows, without controls.
template <class T, int kBits, bool kBack>
void rotate_several(const TileWork<T>& work, const TileOp* const* ops) {
  V<T> c[kBits], s[kBits], sums[kBits] = {};
  std::uint32_t bits[kBits], free = (1u << work.passes->row_bits) - 1;
  bool reads = false;
  for (int j = 0; j < kBits; ++j) {
    const auto* factors = reinterpret_cast<const V<T>*>(work.factors) + 2 * ops[j]->angle;
    c[j] = factors[0];
    s[j] = kBack ? -factors[1] : factors[1];
    bits[j] = 1u << ops[j]->target;
    free &= ~bits[j];
    reads |= ops[j]->read >= 0;
  }
  auto* psi = reinterpret_cast<V<T>*>(work.psi);
  auto* lam = reinterpret_cast<V<T>*>(work.lam);
  if (kBack && reads) {
    rotate_rows<T, kBits, kBack, kBack>(psi, lam, free, 0, bits, c, s, sums);
    for (int j = 0; j < kBits; ++j) {
      if (ops[j]->read >= 0) add_lanes<T>(sums[j], reads_of<T>(work, ops[j]->read));
    }
  } else {
    rotate_rows<T, kBits, kBack, false>(psi, lam, free, 0, bits, c, s, sums);
  }
}

template <class T>
void flip(const TileWork<T>& work, const TileOp& op, T* of) {
  if ((work.outer & op.controls.outer) != op.values.outer) return;
  auto* state = reinterpret_cast<V<T>*>(of);
  const std::uint32_t all = (1u << work.passes->row_bits) - 1;
  const M<T> on = lanes_where<T>(op.controls.lane, op.values.lane);
  if (op.on_lanes) {
    for_rows(all & ~op.controls.row, op.values.row, [&](std::size_t row) HWY_ATTR {
      for (int part = 0; part < 2; ++part) {
        V<T>& x = state[2 * row + part];
        const V<T> other = exchange_all<T>(x, 1u << op.target);
        x = on ? other : x;
      }
    });
    return;
  }
  const std::size_t step = std::size_t{2} << op.target;
  for_rows(all & ~op.controls.row & ~(1u << op.target), op.values.row,
           [&](std::size_t row) HWY_ATTR {
             for (int part = 0; part < 2; ++part) {
               V<T>&x = state[2 * row + part], &y = state[2 * row + step + part];
               const V<T> first = x, second = y;
               if (op.controls.lane) {
                 x = on ? second : first;
                 y = on ? first : second;
               } else {
                 x = second;
                 y = first;
               }
             }
           });
}

// A flip of rows that no lane decides: rows move as wholes.
HWY_INLINE bool moves_rows(const TileOp& op) {
  return op.kind == TileOpKind::kFlip && !op.on_lanes && op.controls.lane == 0 &&
         std::popcount(op.controls.row) <= 1;
}

// Flips in a row as one movement of rows: with at most one control each they are an affine map of
// row numbers over bits, r -> L r + k. Rows go to the scratch memory and come back in order.
template <class T>
void move_rows(const TileWork<T>& work, const TileOp* const* ops, std::size_t count, T* of) {
  const int bits = work.passes->row_bits;
  std::uint32_t columns[32], k = 0;
  for (int b = 0; b < bits; ++b) columns[b] = 1u << b;
  for (std::size_t j = 0; j < count; ++j) {
    const TileOp& op = *ops[j];
    if ((work.outer & op.controls.outer) != op.values.outer) continue;
    const std::uint32_t target = 1u << op.target, control = op.controls.row;
    for (int b = 0; b < bits; ++b) columns[b] ^= columns[b] & control ? target : 0;
    k ^= (k & control) ? target : 0;
    if (op.values.row == 0) k ^= target;  // no control, or one that acts on 0
  }
  constexpr int kLow = 5;
  const int low = bits < kLow ? bits : kLow;
  std::uint32_t near[1 << kLow] = {0};
  for (int b = 0; b < low; ++b) {
    for (std::uint32_t r = 0; r < 1u << b; ++r) near[1u << b | r] = near[r] ^ columns[b];
  }
  auto* state = reinterpret_cast<V<T>*>(of);
  auto* moved = reinterpret_cast<V<T>*>(work.scratch);
  for (std::uint32_t first = 0; first < 1u << bits; first += 1u << low) {
    std::uint32_t base = k;
    for (std::uint32_t rest = first; rest; rest &= rest - 1)
      base ^= columns[std::countr_zero(rest)];
    for (std::uint32_t r = 0; r < 1u << low; ++r) {
      const std::size_t to = 2 * std::size_t{base ^ near[r]}, from = 2 * std::size_t{first | r};
      moved[to] = state[from];
      moved[to + 1] = state[from + 1];
    }
  }
  std::memcpy(static_cast<void*>(state), moved, (2 * sizeof(V<T>)) << bits);
}

// A fixed matrix (or its inverse) on rows and lanes. Lanes one by one where it acts on some.
template <class T>
void multiply(const TileWork<T>& work, const TileOp& op, T* of, bool inverse) {
  if ((work.outer & op.controls.outer) != op.values.outer) return;
  const TileMatrix& m = work.passes->matrices[op.first];
  const std::size_t dim = m.at.size();
  const std::uint32_t all = (1u << work.passes->row_bits) - 1;
  const auto entry = [&](std::size_t i, std::size_t j) {
    return inverse ? std::conj(m.entries[j * dim + i]) : m.entries[i * dim + j];
  };
  if (m.all.lane == 0) {
    auto* state = reinterpret_cast<V<T>*>(of);
    auto* in = reinterpret_cast<V<T>*>(work.scratch);
    const M<T> on = lanes_where<T>(op.controls.lane, op.values.lane);
    for_rows(all & ~op.controls.row & ~m.all.row, op.values.row, [&](std::size_t row) HWY_ATTR {
      for (std::size_t j = 0; j < dim; ++j) {
        in[2 * j] = state[2 * (row | m.at[j].row)];
        in[2 * j + 1] = state[2 * (row | m.at[j].row) + 1];
      }
      for (std::size_t i = 0; i < dim; ++i) {
        V<T> re{}, im{};
        for (std::size_t j = 0; j < dim; ++j) {
          const T a = static_cast<T>(entry(i, j).real()), b = static_cast<T>(entry(i, j).imag());
          re = re + a * in[2 * j] - b * in[2 * j + 1];
          im = im + a * in[2 * j + 1] + b * in[2 * j];
        }
        state[2 * (row | m.at[i].row)] = on ? re : in[2 * i];
        state[2 * (row | m.at[i].row) + 1] = on ? im : in[2 * i + 1];
      }
    });
    return;
  }
  constexpr std::size_t kL = kLanes<T>;
  T* const in = work.scratch;
  const std::uint32_t free_lanes = (kL - 1) & ~op.controls.lane & ~m.all.lane;
  for_rows(all & ~op.controls.row & ~m.all.row, op.values.row, [&](std::size_t row) {
    for_rows(free_lanes, op.values.lane, [&](std::size_t lane) {
      const auto place = [&](std::size_t j) {
        return 2 * kL * (row | m.at[j].row) + (lane | m.at[j].lane);
      };
      for (std::size_t j = 0; j < dim; ++j) {
        in[2 * j] = of[place(j)];
        in[2 * j + 1] = of[place(j) + kL];
      }
      for (std::size_t i = 0; i < dim; ++i) {
        T re = 0, im = 0;
        for (std::size_t j = 0; j < dim; ++j) {
          const T a = static_cast<T>(entry(i, j).real()), b = static_cast<T>(entry(i, j).imag());
          re += a * in[2 * j] - b * in[2 * j + 1];
          im += a * in[2 * j + 1] + b * in[2 * j];
        }
        of[place(i)] = re;
        of[place(i) + kL] = im;
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::parametric::cpu
HWY_AFTER_NAMESPACE();
#endif
