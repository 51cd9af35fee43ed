// What device code needs of the standard library, for the compiler at run time (NVRTC), which has
// none: every standard header that it includes is this one (jit_files.cc). Nothing else includes
// it.
#pragma once

#if !defined(TW_JIT_STD)
#define TW_JIT_STD  // it is included under several names

namespace std {

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using size_t = decltype(sizeof 0);
enum class byte : unsigned char {};

template <class T>
struct complex;

template <class T, T Value>
struct integral_constant {
  static constexpr T value = Value;
};

template <bool First, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool First, class T, class F>
using conditional_t = typename conditional<First, T, F>::type;

template <size_t... I>
struct index_sequence {};
template <size_t N, size_t... I>
struct make_sequence {
  using type = typename make_sequence<N - 1, N - 1, I...>::type;
};
template <size_t... I>
struct make_sequence<0, I...> {
  using type = index_sequence<I...>;
};
template <size_t N>
using make_index_sequence = typename make_sequence<N>::type;

template <class To, class From>
__device__ constexpr To bit_cast(const From& x) {
  return __builtin_bit_cast(To, x);
}

__device__ constexpr int popcount(uint32_t x) {
  int count = 0;
  for (; x; x &= x - 1) ++count;
  return count;
}

}  // namespace std

#endif
