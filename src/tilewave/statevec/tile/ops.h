// The arithmetic of tile programs on one thread's amplitudes, written once for host and device:
// each operation is a function of the 2^R amplitudes in registers; array indices are compile-time
// constants, so they stay in registers. Multiply-adds an amplitude (complex amplitudes, real
// operations / 2):
//   lift 2, constant phase on one bit 1, phase on one bit 2 (with pairs 3.75), phase on all 4, real
//   2x2 4; phases with factors of their own are in phase_ops.h, matrices in matrix_ops.h.
#pragma once

#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "tilewave/statevec/tile/format.h"

#if defined(__CUDA_ARCH__)
#define TW_UNROLL _Pragma("unroll")
#else
#define TW_UNROLL
#endif

namespace tilewave::statevec::tile {

/// e^{2 pi i turns / 2^64}.
template <class T>
TW_HD Complex<T> turn(std::uint64_t turns) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    double s, c;
    sincospi(static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63, &s, &c);
    return {c, s};
  } else {
    float s, c;
    sincospif(static_cast<float>(static_cast<std::int32_t>(turns >> 32)) * 0x1p-31f, &s, &c);
    return {c, s};
  }
#else
  const double angle = static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63;
  return {static_cast<T>(std::cos(std::numbers::pi * angle)),
          static_cast<T>(std::sin(std::numbers::pi * angle))};
#endif
}

/// What all threads of a warp hold equally, so that the compiler knows: tests of it are plain
/// jumps.
TW_HD std::uint32_t same_in_warp(std::uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return __shfl_sync(0xffffffffu, x, 0);
#elif defined(__CUDA_ARCH__)
  return __reduce_or_sync(0xffffffffu, x);
#else
  return x;
#endif
}

/// The k-th index with bit R clear.
template <int R>
TW_HD constexpr int without_bit(int k) {
  return ((k >> R) << (R + 1)) | (k & ((1 << R) - 1));
}

/// Whether operations are written so that a device moves no register, at the price of some more
/// while they run: in single precision. In double precision those are spilled, and moves cost
/// nothing beside arithmetic.
template <class T>
constexpr bool kFewMoves = sizeof(T) == 4;

template <class T>
TW_HD void multiply(Complex<T>& a, Complex<T> f) {
  if constexpr (kFewMoves<T>) {
    const T cross = a.im * f.im;
    a.im = a.im * f.re;
    a.im += a.re * f.im;
    a.re = a.re * f.re - cross;
  } else {
    a = {a.re * f.re - a.im * f.im, a.re * f.im + a.im * f.re};
  }
}

/// x += f y on the real and imaginary parts of all pairs, where x is the half of bit R equal to
/// Half.
template <int R, int Half, int RB, class T>
TW_HD void shear(Complex<T> (&a)[1 << RB], T f) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    Complex<T>& x = a[without_bit<R>(k) | Half << R];
    const Complex<T>& y = a[without_bit<R>(k) | (1 - Half) << R];
    x = {x.re + f * y.re, x.im + f * y.im};
  }
}

template <class T>
struct LiftNumbers {
  T up, down;
};

/// The two numbers of a lift, read before the arithmetic that comes first: a read takes as long as
/// half a lift. On a device they are in shared memory, and the compiler would move the read behind
/// the test for the lift.
template <class T>
TW_HD LiftNumbers<T> lift_numbers(const std::byte* payload) {
  LiftNumbers<T> f;
#if defined(__CUDA_ARCH__)
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(payload));
  if constexpr (sizeof(T) == 8) {
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(f.up), "=d"(f.down) : "r"(at));
  } else {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(f.up), "=f"(f.down) : "r"(at));
  }
#else
  f.up = reinterpret_cast<const T*>(payload)[0];
  f.down = reinterpret_cast<const T*>(payload)[1];
#endif
  return f;
}

/// A lift without its real factor on the 1-half.
template <int R, int RB, class T>
TW_HD void lift(Complex<T> (&a)[1 << RB], const LiftNumbers<T>& f) {
  shear<R, 1, RB>(a, f.up);
  shear<R, 0, RB>(a, -f.down);
}

/// The numbers of one lift are on their way while the one before runs.
template <int R, int RB, class T>
TW_HD void lifts(Complex<T> (&a)[1 << RB], std::uint32_t bits, const std::byte* payload,
                 const LiftNumbers<T>& now) {
  if constexpr (R + 1 < RB) {
    const LiftNumbers<T> next = lift_numbers<T>(payload + 16 * (R + 1));
    if (bits >> R & 1) lift<R, RB>(a, now);
    lifts<R + 1, RB>(a, bits, payload, next);
  } else if (bits >> R & 1) {
    lift<R, RB>(a, now);
  }
}

template <class T>
TW_HD void turn_by(Complex<T>& a, Complex<T> shears) {
  a.re += shears.re * a.im;
  a.im += shears.im * a.re;
  a.re += shears.re * a.im;
}

/// Phases of single amplitudes: as factors, and as rotations.
template <int RB, class T>
TW_HD void factors(Complex<T> (&a)[1 << RB], const Complex<T>* entry) {
  TW_UNROLL
  for (int j = 1; j < 1 << RB; ++j) multiply(a[j], entry[j]);
}
template <int RB, class T>
TW_HD void rotations(Complex<T> (&a)[1 << RB], const Complex<T>* entry) {
  TW_UNROLL
  for (int j = 0; j < 1 << RB; ++j) turn_by(a[j], entry[j]);
}

/// Maps the 1-half: x = f(x).
template <int R, int RB, class T, class F>
TW_HD void map_upper(Complex<T> (&a)[1 << RB], const F& f) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    Complex<T>& x = a[without_bit<R>(k) | 1 << R];
    x = f(x);
  }
}

template <int R, int RB, class T>
TW_HD void phase_bit(Complex<T> (&a)[1 << RB], Complex<T> w) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) multiply(a[without_bit<R>(k) | 1 << R], w);
}

/// Calls f(j, factor) for the amplitudes j of the 1-half of bit R: w times the product of pair[b]
/// over the other bits b >= Low that are 1.
template <int R, int B, int Low, int At, class T, class F>
TW_HD void phase_tree(Complex<T> w, const Complex<T>* pair, const F& f) {
  if constexpr (B < Low) {
    TW_UNROLL
    for (int k = 0; k < 1 << Low; ++k) f(without_bit<R>(At | k) | 1 << R, w);
  } else {
    phase_tree<R, B - 1, Low, At>(w, pair, f);
    phase_tree<R, B - 1, Low, (At | 1 << B)>(w * pair[B], pair, f);
  }
}

template <int RB, class T>
TW_HD void phase_all(Complex<T> (&a)[1 << RB], Complex<T> w) {
  TW_UNROLL
  for (int j = 0; j < 1 << RB; ++j) multiply(a[j], w);
}

template <int RB, class T>
TW_HD void phase_set(Complex<T> (&a)[1 << RB], Complex<T> w, std::uint32_t set) {
  TW_UNROLL
  for (int j = 0; j < 1 << RB; ++j) {
    if ((static_cast<std::uint32_t>(j) & set) == set) multiply(a[j], w);
  }
}

/// Exchanges two numbers where mask is all ones, in place: a select would need both twice.
template <class T>
TW_HD void swap_masked(T& x, T& y, bool on) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const Bits mask = on ? ~Bits{0} : Bits{0};
  const Bits p = std::bit_cast<Bits>(x), q = std::bit_cast<Bits>(y), m = (p ^ q) & mask;
  x = std::bit_cast<T>(p ^ m);
  y = std::bit_cast<T>(q ^ m);
}

template <int R, int RB, class T>
TW_HD void flip(Complex<T> (&a)[1 << RB], std::uint32_t pairs) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    Complex<T>&x = a[without_bit<R>(k)], &y = a[without_bit<R>(k) | 1 << R];
    const bool on = pairs >> without_bit<R>(k) & 1;
    swap_masked(x.re, y.re, on);
    swap_masked(x.im, y.im, on);
  }
}

/// The same on some pairs.
template <int R, int Half, int RB, class T>
TW_HD void shear_some(Complex<T> (&a)[1 << RB], T f, std::uint32_t pairs) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    Complex<T>& x = a[without_bit<R>(k) | Half << R];
    const Complex<T>& y = a[without_bit<R>(k) | (1 - Half) << R];
    if constexpr (!kFewMoves<T>) {
      const T g = pairs >> without_bit<R>(k) & 1 ? f : T{0};
      x = {x.re + g * y.re, x.im + g * y.im};
    } else if (pairs >> without_bit<R>(k) & 1) {
      x = {x.re + f * y.re, x.im + f * y.im};
    }
  }
}

/// A real rotation by three shears.
template <int R, int RB, class T>
TW_HD void rotate(Complex<T> (&a)[1 << RB], T p, T q, std::uint32_t pairs) {
  constexpr std::uint32_t kAll = ~0u >> (32 - (1 << RB));
  if ((pairs & kAll) == kAll) {
    shear<R, 0, RB>(a, p);
    shear<R, 1, RB>(a, q);
    shear<R, 0, RB>(a, p);
  } else {
    shear_some<R, 0, RB>(a, p, pairs);
    shear_some<R, 1, RB>(a, q, pairs);
    shear_some<R, 0, RB>(a, p, pairs);
  }
}

/// y = x + w y, each number where it was as soon as nothing needs the one before.
template <class T>
TW_HD void add_product(const Complex<T>& x, Complex<T> w, Complex<T>& y) {
  const T cross = x.im + w.im * y.re;
  y.re = x.re + w.re * y.re;
  y.re -= w.im * y.im;
  y.im = cross + w.re * y.im;
}

/// See ChoiceLift. factor(c): w of number c.
template <int R, int RB, class T, class F>
TW_HD void choice_lift(Complex<T> (&a)[1 << RB], std::uint32_t pairs, bool is_signed,
                       bool is_reversed, bool is_imaginary, T s, T g, const F& factor) {
  TW_UNROLL
  for (std::uint32_t c = 0; c < ChoiceLift::kFactors; ++c) {
    const bool is_power = c == 0 && !is_signed;
    const Complex<T> w = is_power || !ChoiceLift::count(pairs, c) ? Complex<T>{} : factor(c);
    TW_UNROLL
    for (int k = 0; k < 1 << (RB - 1); ++k) {
      if (ChoiceLift::of_pair(pairs, k) != c) continue;
      const int lower = without_bit<R>(k), upper = lower | 1 << R;
      Complex<T>&x = a[is_reversed ? upper : lower], &y = a[is_reversed ? lower : upper];
      if (is_power && is_imaginary) {
        const T other = x.im + g * y.re;
        y = {x.re - g * y.im, other};
      } else if (is_power) {
        y = {x.re + g * y.re, x.im + g * y.im};
      } else {
        add_product(x, w, y);
      }
      x = {x.re - s * y.re, x.im - s * y.im};
    }
  }
}

/// The same with what an operation holds.
template <int R, int RB, class T>
TW_HD void choice_lift(Complex<T> (&a)[1 << RB], OpWord head, std::uint32_t pairs, const T* numbers,
                       std::uint32_t thread, std::uint32_t tile) {
  const auto flags = static_cast<std::uint32_t>(head.factor());
  const bool is_signed = flags & ChoiceLift::kSigned;
  const T* const first = is_signed ? ChoiceLift::signed_factors(numbers, thread, tile)
                                   : numbers + ChoiceLift::kFirstFactor;
  choice_lift<R, RB>(a, pairs, is_signed, flags & ChoiceLift::kReversed,
                     head.index() == ChoiceLift::kImaginary, numbers[0], numbers[1],
                     [&](std::uint32_t c) {
                       return Complex<T>{first[2 * c], first[2 * c + 1]};
                     });
}

/// An amplitude times a constant phase, but for a real factor.
template <std::uint32_t Kind, class T>
TW_HD Complex<T> times_tau(Complex<T> x, T tau) {
  if constexpr (Kind == kTauOne) {
    return {x.re - tau * x.im, x.im + tau * x.re};
  } else if constexpr (Kind == kTauI) {
    return {tau * x.re - x.im, x.re + tau * x.im};
  } else {
    return {x.re * tau, x.im * tau};
  }
}

template <int R, int RB, std::uint32_t Kind, class T>
TW_HD void bit_tau(Complex<T> (&a)[1 << RB], OpWord head, const std::byte* payload) {
  const T tau = *reinterpret_cast<const T*>(payload);
  const LiftNumbers<T> next = lift_numbers<T>(payload + 16);
  const auto times = [&](Complex<T> x) { return times_tau<Kind>(x, tau); };
  if constexpr (kFewMoves<T>) {
    if (head.then_lift()) {  // the number in between of each amplitude in a register of its own
      TW_UNROLL
      for (int k = 0; k < 1 << (RB - 1); ++k) {
        Complex<T>& x = a[without_bit<R>(k) | 1 << R];
        const Complex<T>& y = a[without_bit<R>(k)];
        const Complex<T> turned = times(x);
        x = {turned.re + next.up * y.re, turned.im + next.up * y.im};
      }
      shear<R, 0, RB>(a, -next.down);
      return;
    }
  }
  map_upper<R, RB>(a, times);
  if (head.then_lift()) lift<R, RB>(a, next);
}

/// Calls f(amplitude, factor of its register bits) for every amplitude: a product tree.
template <int B, int J, class T, class S, int N, class F>
TW_HD void with_bit_scale(Complex<T> (&a)[N], T scale, const S* bit_scale, const F& f) {
  if constexpr (B < 0) {
    f(a[J], scale);
  } else {
    with_bit_scale<B - 1, J>(a, scale, bit_scale, f);
    with_bit_scale<B - 1, (J | 1 << B)>(a, scale * static_cast<T>(bit_scale[B]), bit_scale, f);
  }
}

template <class T>
TW_HD const T* table(const std::byte* tables, std::uint32_t offset16) {
  return reinterpret_cast<const T*>(tables + static_cast<std::size_t>(offset16) * 16);
}

/// Where a tile is moved to by its tile bits at an exchange.
TW_HD std::uint32_t exchange_shift(const std::uint32_t* tail, std::uint32_t tile) {
  std::uint32_t shift = tail[0];
  for (std::uint32_t k = 0; k < tail[1]; ++k) {
    shift ^= tile >> tail[2 + 2 * k] & 1 ? tail[3 + 2 * k] : 0;
  }
  return shift;
}

TW_HD bool op_allowed(OpWord head, const OpControls& controls, std::uint32_t thread,
                      std::uint32_t tile) {
  return !head.controlled() || !(((thread ^ controls.thread_value) & controls.thread_mask) |
                                 ((tile ^ controls.tile_value) & controls.tile_mask));
}

}  // namespace tilewave::statevec::tile
