// The arithmetic of turned layers (kTurnedLayer) on one thread's amplitudes, for host and device.
// Multiply-adds an amplitude: 2 a lift, 1 a tau; signs are integer operations.
#pragma once

#include <cstring>

#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::tile {

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

TW_HD std::uint32_t parity(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(x)) & 1u;
#else
  return static_cast<std::uint32_t>(std::popcount(x)) & 1u;
#endif
}

/// The number with another sign where the highest bit of `word` is 1.
TW_HD std::uint32_t with_sign(std::uint32_t x, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t y;  // one instruction, x ^ (word & sign): the compiler would make it two
  asm("lop3.b32 %0, %1, %2, 0x80000000, 0x78;" : "=r"(y) : "r"(x), "r"(word));
  return y;
#else
  return x ^ (word & 0x80000000u);
#endif
}
TW_HD float with_sign(float x, std::uint32_t word) {
  return std::bit_cast<float>(with_sign(std::bit_cast<std::uint32_t>(x), word));
}
TW_HD double with_sign(double x, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  const auto high = with_sign(static_cast<std::uint32_t>(__double2hiint(x)), word);
  return __hiloint2double(static_cast<int>(high), __double2loint(x));
#else
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ std::uint64_t{word & 0x80000000u}
                                                                     << 32);
#endif
}
template <class T>
TW_HD Complex<T> with_sign(Complex<T> x, std::uint32_t word) {
  return {with_sign(x.re, word), with_sign(x.im, word)};
}

/// Another sign where bit k of `set` is 1.
template <class T>
TW_HD void negate_where(Complex<T>& x, std::uint32_t set, int k) {
  if constexpr (sizeof(T) == 8) {
    x = with_sign(x, set << (31 - k));
  } else if (set >> k & 1) {  // by the units of multiply-adds: those of integers are half as wide
    x = {-x.re, -x.im};
  }
}

/// The parity of the key under a mask as the highest bit. Stays where it is written: beside the
/// arithmetic of the lift before.
TW_HD std::uint32_t sign_word(std::uint32_t mask, std::uint32_t key) {
#if defined(__CUDA_ARCH__)
  std::uint32_t word;
  asm volatile("{\n.reg .b32 x;\nand.b32 x, %1, %2;\npopc.b32 x, x;\nshl.b32 %0, x, 31;\n}"
               : "=r"(word)
               : "r"(mask), "r"(key));
  return word;
#else
  return parity(mask & key) << 31;
#endif
}

/// Read before the arithmetic that comes first, as lift_numbers().
template <class T>
TW_HD TurnedLift<T> turned_numbers(const std::byte* payload) {
  TurnedLift<T> f;
#if defined(__CUDA_ARCH__)
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(payload));
  if constexpr (sizeof(T) == 8) {
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(f.up), "=d"(f.down) : "r"(at));
    asm volatile("ld.shared.f64 %0, [%1 + 16];" : "=d"(f.tau) : "r"(at));
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2 + 24];" : "=r"(f.mask), "=r"(f.ties) : "r"(at));
  } else {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(f.up), "=f"(f.down), "=f"(f.tau), "=r"(f.mask)
                 : "r"(at));
    asm volatile("ld.shared.b32 %0, [%1 + 16];" : "=r"(f.ties) : "r"(at));
  }
#else
  std::memcpy(&f, payload, sizeof f);
#endif
  return f;
}

/// x -= i f y on all pairs, where x is the half of bit R equal to Half.
template <int R, int Half, int RB, class T>
TW_HD void imaginary_shear(Complex<T> (&a)[1 << RB], T f) {
  TW_UNROLL
  for (int k = 0; k < 1 << (RB - 1); ++k) {
    Complex<T>& x = a[without_bit<R>(k) | Half << R];
    const Complex<T>& y = a[without_bit<R>(k) | (1 - Half) << R];
    x = {x.re + f * y.im, x.im - f * y.re};
  }
}

/// One lift of a turned layer with what comes before it; `meanwhile` is done between its shears.
template <int R, int RB, class T, class F>
TW_HD void turned_lift(Complex<T> (&a)[1 << RB], std::uint32_t flags, const TurnedLift<T>& f,
                       std::uint32_t sign, const F& meanwhile) {
  const T up = with_sign(f.up, sign), down = with_sign(f.down, sign);
  if (flags >> (TurnedLayer::kTies + R) & 1) {
    TW_UNROLL
    for (int k = 0; k < 1 << (RB - 1); ++k) {
      negate_where(a[without_bit<R>(k) | 1 << R], f.ties, k);
    }
  }
  if (flags >> (TurnedLayer::kTaus + R) & 1) {
    if (flags >> (TurnedLayer::kTausI + R) & 1) {
      map_upper<R, RB>(a, [&](Complex<T> x) {
        return Complex<T>{f.tau * x.re - x.im, x.re + f.tau * x.im};
      });
    } else {
      map_upper<R, RB>(a, [&](Complex<T> x) {
        return Complex<T>{x.re - f.tau * x.im, x.im + f.tau * x.re};
      });
    }
  }
  if (flags >> (TurnedLayer::kImaginary + R) & 1) {
    imaginary_shear<R, 1, RB>(a, up);
    meanwhile();
    imaginary_shear<R, 0, RB>(a, down);
  } else {
    shear<R, 1, RB>(a, up);
    meanwhile();
    shear<R, 0, RB>(a, -down);
  }
}

/// The numbers of a lift are on their way while the one before runs.
template <int R, int RB, class T>
TW_HD void turned_lifts(Complex<T> (&a)[1 << RB], std::uint32_t flags, const std::byte* payload,
                        std::uint32_t key, TurnedLift<T> next, std::uint32_t next_sign) {
  if (flags >> (TurnedLayer::kLifts + R) & 1) {
    const TurnedLift<T> now = next;
    const std::uint32_t sign = next_sign;
    payload += sizeof now;
    if constexpr (R > 0) next = turned_numbers<T>(payload);
    turned_lift<R, RB>(a, flags, now, sign, [&] {
      if constexpr (R > 0) next_sign = sign_word(next.mask, key);
    });
  }
  if constexpr (R > 0) turned_lifts<R - 1, RB>(a, flags, payload, key, next, next_sign);
}

/// Changes the sign of amplitude j where bit j of `set` is 1.
template <int RB, class T>
TW_HD void change_signs(Complex<T> (&a)[1 << RB], std::uint32_t set) {
  TW_UNROLL
  for (int j = 0; j < 1 << RB; ++j) {
    negate_where(a[j], set, j);
  }
}

/// `flags`: OpHead::pairs; `payload`: after the head; `key` as in TurnedLift.
template <int RB, class T>
TW_HD void turned_layer(Complex<T> (&a)[1 << RB], std::uint32_t flags, const OpHead& head,
                        std::uint32_t num_rows, const std::byte* payload, std::uint32_t key) {
  TurnedLift<T> first;
  if constexpr (kFewMoves<T>) first = turned_numbers<T>(payload);  // meanwhile the signs
  if (flags & TurnedLayer::kSigns) {
    std::uint32_t set = head.signs;
    const auto lifts = static_cast<std::uint32_t>(
        std::popcount(flags >> TurnedLayer::kLifts & ((1u << kMaxRegisterBits) - 1)));
    const auto* row = reinterpret_cast<const SignRow*>(payload + lifts * sizeof(TurnedLift<T>));
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (std::uint32_t k = 0; k < num_rows; ++k) {
      const SignRow r = row[k];
      set ^= r.set & (0u - (parity(r.mask & key) & parity(r.other & key)));
    }
    change_signs<RB>(a, set);
  }
  if constexpr (!kFewMoves<T>) first = turned_numbers<T>(payload);
  turned_lifts<RB - 1, RB>(a, flags, payload, key, first, sign_word(first.mask, key));
}

}  // namespace tilewave::statevec::tile
