// Values on their way in and out of a map's blocks, and the exact lookup: pairs taken apart and
// together, the scan that proves a domain of whole numbers, and the table read by them.
#include <cstdint>

#include "tilewave/field/map_program.h"

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/map_lookup.cc"
// foreach_target.h must come first
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;

void split_pairs_of(const float* in, int pairs, float* first, float* second) {
  const DF d;
  int i = 0;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; i + lanes <= pairs; i += lanes) {
    hn::Vec<DF> a, b;
    hn::LoadInterleaved2(d, in + 2 * i, a, b);
    hn::Store(a, d, first + i);
    hn::Store(b, d, second + i);
  }
  for (; i < pairs; ++i) {
    first[i] = in[2 * i];
    second[i] = in[2 * i + 1];
  }
}

void join_pairs_of(const float* first, const float* second, int pairs, float* out) {
  const DF d;
  int i = 0;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; i + lanes <= pairs; i += lanes) {
    hn::StoreInterleaved2(hn::Load(d, first + i), hn::Load(d, second + i), d, out + 2 * i);
  }
  for (; i < pairs; ++i) {
    out[2 * i] = first[i];
    out[2 * i + 1] = second[i];
  }
}

bool scan_whole_of(const float* values, std::int64_t n, std::int32_t& least, std::int32_t& most) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto low = hn::Set(di, least), high = hn::Set(di, most);
  auto whole = hn::Eq(hn::Zero(d), hn::Zero(d));
  const auto look = [&](hn::Vec<DF> v) {
    const auto i = hn::ConvertTo(di, v);  // out of range and NaN: the least integer
    const auto same = hn::Eq(hn::ConvertTo(d, i), v);
    const auto minus_zero = hn::Eq(hn::BitCast(di, v), hn::Set(di, std::int32_t{-2147483647 - 1}));
    whole = hn::And(whole, hn::AndNot(hn::RebindMask(d, minus_zero), same));
    low = hn::Min(low, i);
    high = hn::Max(high, i);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) look(hn::LoadU(d, values + i));
  for (; i < n; ++i) look(hn::Set(d, values[i]));
  least = hn::GetLane(hn::MinOfLanes(di, low));
  most = hn::GetLane(hn::MaxOfLanes(di, high));
  return hn::AllTrue(d, whole);
}

void look_up_of(const float* tables, std::int64_t size, std::int64_t least, int period,
                std::int64_t n, float* row) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto entry = [&](std::int64_t x) {
    return tables[x % period * size + static_cast<std::int64_t>(row[x]) - least];
  };
  std::int64_t x = 0;
  if (lanes % period == 0 && size * period < (std::int64_t{1} << 30)) {
    HWY_ALIGN std::int32_t starts[hn::MaxLanes(DF())];
    for (std::int64_t k = 0; k < lanes; ++k)
      starts[k] = static_cast<std::int32_t>(k % period * size - least);
    const auto start = hn::Load(di, starts);
    for (; x + lanes <= n; x += lanes) {
      const auto i = hn::Add(hn::ConvertTo(di, hn::LoadU(d, row + x)), start);
      hn::StoreU(hn::GatherIndex(d, tables, i), d, row + x);
    }
  }
  for (; x < n; ++x) row[x] = entry(x);
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(split_pairs_of);
HWY_EXPORT(join_pairs_of);
HWY_EXPORT(scan_whole_of);
HWY_EXPORT(look_up_of);

void split_pairs(const float* in, int pairs, float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(split_pairs_of)(in, pairs, first, second);
}
void join_pairs(const float* first, const float* second, int pairs, float* out) {
  HWY_DYNAMIC_DISPATCH(join_pairs_of)(first, second, pairs, out);
}
bool scan_whole(const float* values, std::int64_t n, std::int32_t& least, std::int32_t& most) {
  return HWY_DYNAMIC_DISPATCH(scan_whole_of)(values, n, least, most);
}
void look_up_values(const float* tables, std::int64_t size, std::int64_t least, int period,
                    std::int64_t n, float* row) {
  HWY_DYNAMIC_DISPATCH(look_up_of)(tables, size, least, period, n, row);
}
}  // namespace tilewave::field
#endif
