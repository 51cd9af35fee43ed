#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/observe_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <bit>

#include "tilewave/statevec/cpu/observe_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

HWY_INLINE void load_complex(const Complex<double>* p, V& re, V& im) {
  const D d;
  hn::LoadInterleaved2(d, &p->re, re, im);
}

HWY_INLINE void load_complex(const Complex<float>* p, V& re, V& im) {
  const D d;
  const hn::Rebind<float, D> narrow;
  hn::Vec<decltype(narrow)> r, i;
  hn::LoadInterleaved2(narrow, &p->re, r, i);
  re = hn::PromoteTo(d, r);
  im = hn::PromoteTo(d, i);
}

template <class T>
void cross(const Complex<T>* a, const Complex<T>* b, std::uint32_t x, std::size_t count, double* re,
           double* im) {
  const D d;
  constexpr std::uint32_t kLanes = HWY_LANES(double);
  const std::uint32_t outer = x & ~(kLanes - 1);
  HWY_ALIGN std::int64_t lanes[kLanes];
  for (std::uint32_t l = 0; l < kLanes; ++l)
    lanes[l] = static_cast<std::int64_t>(l ^ (x & (kLanes - 1)));
  const auto index = hn::SetTableIndices(d, lanes);
  for (std::uint32_t k = 0; k < count; k += kLanes) {
    V ar, ai, br, bi;
    load_complex(a + k, ar, ai);
    load_complex(b + (k ^ outer), br, bi);
    br = hn::TableLookupLanes(br, index);
    bi = hn::TableLookupLanes(bi, index);
    hn::StoreU(hn::MulAdd(ai, bi, hn::Mul(ar, br)), d, re + k);
    hn::StoreU(hn::NegMulAdd(ai, br, hn::Mul(ar, bi)), d, im + k);
  }
}

void cross_f32(const Complex<float>* a, const Complex<float>* b, std::uint32_t x, std::size_t count,
               double* re, double* im) {
  cross(a, b, x, count, re, im);
}
void cross_f64(const Complex<double>* a, const Complex<double>* b, std::uint32_t x,
               std::size_t count, double* re, double* im) {
  cross(a, b, x, count, re, im);
}

// Eight partial sums, element k in sum k % 8, added in a fixed order whatever the number of lanes.
double signed_sum(const double* v, std::size_t count, const double* signs, std::uint32_t z) {
  const D d;
  constexpr int kLanes = HWY_LANES(double), kParts = 8 / kLanes;
  static_assert(8 % kLanes == 0);
  V acc[kParts];
  for (int p = 0; p < kParts; ++p) acc[p] = hn::Zero(d);
  for (std::size_t r = 0; r < count; r += 64) {
    V part[kParts];
    for (int p = 0; p < kParts; ++p) part[p] = hn::Zero(d);
    for (int k = 0; k < 64; k += 8) {
      for (int p = 0; p < kParts; ++p) {
        part[p] = hn::MulAdd(hn::LoadU(d, v + r + k + p * kLanes),
                             hn::LoadU(d, signs + k + p * kLanes), part[p]);
      }
    }
    const bool minus = std::popcount(static_cast<std::uint32_t>(r) & z) & 1;
    for (int p = 0; p < kParts; ++p)
      acc[p] = minus ? hn::Sub(acc[p], part[p]) : hn::Add(acc[p], part[p]);
  }
  HWY_ALIGN double sums[8];
  for (int p = 0; p < kParts; ++p) hn::Store(acc[p], d, sums + p * kLanes);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

ObserveKernels make_observe_kernels() { return {cross_f32, cross_f64, signed_sum}; }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(make_observe_kernels);

const ObserveKernels& observe_kernels() {
  static const ObserveKernels kernels = HWY_DYNAMIC_DISPATCH(make_observe_kernels)();
  return kernels;
}

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
