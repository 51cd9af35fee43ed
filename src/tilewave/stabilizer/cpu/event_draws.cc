#include "tilewave/stabilizer/cpu/event_draws.h"

#include <algorithm>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/philox_avx512-inl.h"

namespace tilewave::stabilizer {

template <class Draws, class Streams>
bool StreamDraws<Draws, Streams>::refill() {
  if (first_item_ >= num_items_) return false;
  active_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(kItems, num_items_ - first_item_));
  auto stream = static_cast<std::uint32_t>(first_item_ / s_.units);
  auto unit = static_cast<std::uint32_t>(first_item_ % s_.units);
  for (std::uint32_t i = 0; i < active_; ++i) {
    unit_[i] = unit, stream_[i] = stream, at_[i] = 0;
    self().begin(i);
    if (++unit == s_.units) unit = 0, ++stream;
  }
  first_item_ += active_;
  draw_ = 0;
  return true;
}

template <class Draws, class Streams>
std::size_t StreamDraws<Draws, Streams>::pass() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return self().pass_avx512();
#endif
  return pass_plain();
}

template <class Draws, class Streams>
std::size_t StreamDraws<Draws, Streams>::pass_plain() {
  std::uint32_t kept = 0;
  std::size_t events = 0;
  for (std::uint32_t i = 0; i < active_; ++i) {
    const Philox4x32 words =
        UnitStream{s_.key0, s_.key1, s_.first_unit + unit_[i], s_.tick + stream_[i]}.block(draw_);
    double at = at_[i];
    bool more = true;
    for (int half = 0; half < 2 && more; ++half) {
      more = self().draw(i, words.v + 2 * half, at, events);
      if (!more) break;
      event_unit_[events] = unit_[i];
      bits_[events++] = words.v[2 * half] & 0xFFFFFFu;
    }
    if (!more) continue;
    self().keep(i, kept);
    unit_[kept] = unit_[i], stream_[kept] = stream_[i], at_[kept++] = at;
  }
  active_ = kept;
  return events;
}

bool EventDraws::draw(std::uint32_t item, const std::uint32_t* words, double& at,
                      std::size_t event) {
  const std::uint64_t first = std::uint64_t{stream_[item]} * s_.segment;
  const std::uint64_t limit = std::min<std::uint64_t>(s_.segment, s_.count - first) * 32;
  auto trial = static_cast<std::uint64_t>(at);  // a whole number
  if (!draw_event(words[0], words[1], s_.inv_log, limit, trial)) return false;
  trial_[event] = first * 32 + trial;
  at = static_cast<double>(trial + 1);
  return true;
}

bool SiteDraws::draw(std::uint32_t item, const std::uint32_t* words, double& at,
                     std::size_t event) {
  const SiteStream& stream = s_.streams[stream_[item]];
  std::uint32_t site = 0, shot = 0;
  if (!next_site(s_.ends + stream.first, s_.rates + stream.first, stream.count, stream.total,
                 site_gap(words[0], words[1]), at, site, shot))
    return false;
  site_[event] = stream.first + site;
  bit_[event] = 1u << shot;
  return true;
}

#if defined(__x86_64__)
namespace {

// noise.h's log_unit of k_plus_one - 1, eight a vector; N chains hide the latencies.
template <int N>
[[gnu::always_inline]] TW_TARGET_AVX512 inline void log_unit_lanes(const __m512i (&k_plus_one)[N],
                                                                   __m512d (&out)[N]) {
  __m512i exponent[N];
  __m512d s[N], s2[N], sum[N];
  for (int j = 0; j < N; ++j) {
    const __m512i bits = _mm512_castpd_si512(_mm512_cvtepu64_pd(k_plus_one[j]));
    exponent[j] = _mm512_sub_epi64(_mm512_srli_epi64(bits, 52), _mm512_set1_epi64(1023 + 40));
    __m512d m = _mm512_castsi512_pd(
        _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi64(0xFFFFFFFFFFFFFll)),
                        _mm512_set1_epi64(std::int64_t{1023} << 52)));
    const __mmask8 large = _mm512_cmp_pd_mask(m, _mm512_set1_pd(1.4142135623730951), _CMP_GT_OQ);
    m = _mm512_mask_mul_pd(m, large, m, _mm512_set1_pd(0.5));
    exponent[j] = _mm512_mask_add_epi64(exponent[j], large, exponent[j], _mm512_set1_epi64(1));
    s[j] = _mm512_div_pd(_mm512_add_pd(m, _mm512_set1_pd(-1.0)),
                         _mm512_add_pd(m, _mm512_set1_pd(1.0)));
    s2[j] = _mm512_mul_pd(s[j], s[j]);
    sum[j] = _mm512_set1_pd(1.0 / 17);
  }
  constexpr double kSeries[] = {1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,
                                1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
#pragma GCC unroll 8
  for (double c : kSeries) {
    for (int j = 0; j < N; ++j)
      sum[j] = _mm512_add_pd(_mm512_mul_pd(sum[j], s2[j]), _mm512_set1_pd(c));
  }
  for (int j = 0; j < N; ++j) {
    out[j] = _mm512_add_pd(
        _mm512_mul_pd(_mm512_mul_pd(_mm512_set1_pd(2.0), s[j]), sum[j]),
        _mm512_mul_pd(_mm512_set1_pd(0.6931471805599453), _mm512_cvtepi64_pd(exponent[j])));
  }
}

constexpr std::uint32_t kGroups = 2;  // of eight items

// Block `draw` of the streams of sixteen items from `unit` and `stream` on, and the logarithms of
// its two draws each: those of group g at 2 g and 2 g + 1.
struct ItemDraws {
  __m256i unit[kGroups], stream[kGroups];
  PhiloxLanes words[kGroups];
  __m512d logs[2 * kGroups];
};
template <class Streams>
[[gnu::always_inline]] TW_TARGET_AVX512 inline void draw_items(const Streams& s, std::uint32_t draw,
                                                               const std::uint32_t* unit,
                                                               const std::uint32_t* stream,
                                                               ItemDraws& out) {
  const __m512i low = _mm512_set1_epi64(0xFFFFFFFFll);
  PhiloxLanes(&c)[kGroups] = out.words;
  for (std::uint32_t g = 0; g < kGroups; ++g) {
    out.unit[g] = _mm256_load_si256(reinterpret_cast<const __m256i*>(unit + 8 * g));
    out.stream[g] = _mm256_load_si256(reinterpret_cast<const __m256i*>(stream + 8 * g));
    const __m512i u = _mm512_add_epi64(_mm512_cvtepu32_epi64(out.unit[g]),
                                       _mm512_set1_epi64(static_cast<std::int64_t>(s.first_unit)));
    const __m512i tick = _mm512_add_epi64(_mm512_cvtepu32_epi64(out.stream[g]),
                                          _mm512_set1_epi64(static_cast<std::int64_t>(s.tick)));
    c[g].v0 = _mm512_set1_epi64(draw);
    c[g].v1 = _mm512_and_si512(tick, low);
    c[g].v2 = _mm512_and_si512(u, low);
    c[g].v3 = _mm512_or_si512(_mm512_srli_epi64(u, 32),
                              _mm512_slli_epi64(_mm512_srli_epi64(tick, 32), 16));
  }
  philox_lanes(c, s.key0, s.key1);
  __m512i k[2 * kGroups];
  for (std::uint32_t j = 0; j < 2 * kGroups; ++j) {
    const __m512i lo = j % 2 ? c[j / 2].v2 : c[j / 2].v0, hi = j % 2 ? c[j / 2].v3 : c[j / 2].v1;
    const __m512i word = _mm512_or_si512(_mm512_slli_epi64(hi, 32), _mm512_and_si512(lo, low));
    k[j] = _mm512_add_epi64(_mm512_srli_epi64(word, 24), _mm512_set1_epi64(1));
  }
  log_unit_lanes(k, out.logs);
}

// The lanes of group g that are items.
[[gnu::always_inline]] inline __mmask8 valid_lanes(std::uint32_t left) {
  return static_cast<__mmask8>(left >= 8 ? 0xFF : (1u << left) - 1);
}

}  // namespace

TW_TARGET_AVX512 std::size_t EventDraws::pass_avx512() {
  const __m512d inv_log = _mm512_set1_pd(s_.inv_log);
  const __m512d whole = _mm512_set1_pd(32.0 * s_.segment), all = _mm512_set1_pd(32.0 * s_.count);
  std::uint32_t kept = 0;
  std::size_t events = 0;
  for (std::uint32_t i = 0; i < active_; i += 8 * kGroups) {
    ItemDraws draws;
    draw_items(s_, draw_, unit_ + i, stream_ + i, draws);
    const auto& unit = draws.unit;
    const auto& stream = draws.stream;
    const auto& c = draws.words;
    const auto& logs = draws.logs;
    __m512d next[kGroups];
    for (std::uint32_t g = 0; g < kGroups; ++g) next[g] = _mm512_load_pd(at_ + i + 8 * g);
    for (std::uint32_t g = 0; g < kGroups; ++g) {
      if (i + 8 * g >= active_) break;
      __mmask8 valid = valid_lanes(active_ - i - 8 * g);
      // The trials before this stream, and where it ends.
      const __m512d first = _mm512_mul_pd(_mm512_cvtepu32_pd(stream[g]), whole);
      const __m512d end = _mm512_min_pd(whole, _mm512_sub_pd(all, first));
      for (std::uint32_t half = 0; half < 2; ++half) {
        const __m512d gap = _mm512_mul_pd(logs[2 * g + half], inv_log);
        valid = _mm512_mask_cmp_pd_mask(valid, gap, _mm512_sub_pd(end, next[g]), _CMP_LT_OQ);
        const __m512d trial = _mm512_add_pd(
            next[g], _mm512_roundscale_pd(gap, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
        const __m512i global = _mm512_cvtpd_epu64(_mm512_add_pd(first, trial));
        const __m256i bits = _mm512_cvtepi64_epi32(
            _mm512_and_si512(half ? c[g].v2 : c[g].v0, _mm512_set1_epi64(0xFFFFFF)));
        _mm512_storeu_si512(trial_ + events, _mm512_maskz_compress_epi64(valid, global));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(event_unit_ + events),
                            _mm256_maskz_compress_epi32(valid, unit[g]));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits_ + events),
                            _mm256_maskz_compress_epi32(valid, bits));
        events += static_cast<std::size_t>(__builtin_popcount(valid));
        next[g] = _mm512_add_pd(trial, _mm512_set1_pd(1.0));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(unit_ + kept),
                          _mm256_maskz_compress_epi32(valid, unit[g]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(stream_ + kept),
                          _mm256_maskz_compress_epi32(valid, stream[g]));
      _mm512_storeu_pd(at_ + kept, _mm512_maskz_compress_pd(valid, next[g]));
      kept += static_cast<std::uint32_t>(__builtin_popcount(valid));
    }
  }
  active_ = kept;
  return events;
}

namespace {

// noise.h's next_site for eight items in lanes: where `mask` stays, the event's site and shot, and
// `at` becomes the end of its trial.
struct SiteLanes {
  __m256i first, count;  // of the items' streams, in the program
  __m512d total;
};
[[gnu::always_inline]] TW_TARGET_AVX512 inline __mmask8 next_site_lanes(const SiteStreams& s,
                                                                        const SiteLanes& of,
                                                                        __mmask8 mask, __m512d gap,
                                                                        __m512d& at, __m256i& site,
                                                                        __m256i& shot) {
  const __m512d event = _mm512_add_pd(at, gap);
  mask = _mm512_mask_cmp_pd_mask(mask, event, of.total, _CMP_LT_OQ);
  if (!mask) return mask;
  const __m256i one = _mm256_set1_epi32(1);
  const __m512d none = _mm512_setzero_pd();
  // Where the hazards of a stream are much the same, its sites are at equal distances: a guess, and
  // a few steps from there; bisection where that leads nowhere.
  const __m512d count = _mm512_cvtepu32_pd(of.count);
  const __m256i place = _mm512_cvttpd_epi32(_mm512_div_pd(_mm512_mul_pd(event, count), of.total));
  __m256i found =
      _mm256_add_epi32(of.first, _mm256_min_epu32(place, _mm256_sub_epi32(of.count, one)));
  __m512d begin = none;
  __mmask8 wrong = mask;
  for (int step = 0; step < 4 && wrong; ++step) {
    const __mmask8 inner = _mm256_mask_cmpneq_epu32_mask(wrong, found, of.first);
    const __m512d end = _mm512_mask_i32gather_pd(none, wrong, found, s.ends, 8);
    begin = _mm512_mask_mov_pd(
        begin, wrong,
        _mm512_mask_i32gather_pd(none, inner, _mm256_sub_epi32(found, one), s.ends, 8));
    const __mmask8 before = _mm512_mask_cmp_pd_mask(wrong, event, begin, _CMP_LT_OQ);
    const __mmask8 behind = _mm512_mask_cmp_pd_mask(wrong, end, event, _CMP_LE_OQ);
    wrong = before | behind;
    found = _mm256_mask_sub_epi32(found, before, found, one);
    found = _mm256_mask_add_epi32(found, behind, found, one);
  }
  if (wrong) {
    __m256i left = of.count;
    found = _mm256_mask_mov_epi32(found, wrong, of.first);
    for (__mmask8 going; (going = _mm256_mask_cmpgt_epu32_mask(wrong, left, one)) != 0;) {
      const __m256i half = _mm256_srli_epi32(left, 1);
      const __m256i at_half = _mm256_sub_epi32(_mm256_add_epi32(found, half), one);
      const __m512d end = _mm512_mask_i32gather_pd(none, going, at_half, s.ends, 8);
      const __mmask8 behind = _mm512_mask_cmp_pd_mask(going, end, event, _CMP_LE_OQ);
      found = _mm256_mask_add_epi32(found, behind, found, half);
      left = _mm256_mask_sub_epi32(left, going, left, half);
    }
    const __mmask8 inner = _mm256_mask_cmpneq_epu32_mask(wrong, found, of.first);
    begin = _mm512_mask_mov_pd(
        begin, wrong,
        _mm512_mask_i32gather_pd(none, inner, _mm256_sub_epi32(found, one), s.ends, 8));
  }
  const auto* rates = reinterpret_cast<const double*>(s.rates);
  const __m256i pair = _mm256_slli_epi32(found, 1);
  const __m512d hazard = _mm512_mask_i32gather_pd(none, mask, pair, rates, 8);
  const __m512d inverse =
      _mm512_mask_i32gather_pd(none, mask, _mm256_add_epi32(pair, one), rates, 8);
  const __m512d trial = _mm512_mul_pd(_mm512_sub_pd(event, begin), inverse);
  shot = _mm512_cvttpd_epi32(_mm512_min_pd(trial, _mm512_set1_pd(31.0)));
  const __m512d behind = _mm512_mul_pd(hazard, _mm512_cvtepi32_pd(_mm256_add_epi32(shot, one)));
  at = _mm512_mask_add_pd(at, mask, begin, behind);
  site = found;
  return mask;
}

}  // namespace

TW_TARGET_AVX512 std::size_t SiteDraws::pass_avx512() {
  const auto* streams = reinterpret_cast<const int*>(s_.streams.data());
  std::uint32_t kept = 0;
  std::size_t events = 0;
  for (std::uint32_t i = 0; i < active_; i += 8 * kGroups) {
    ItemDraws draws;
    draw_items(s_, draw_, unit_ + i, stream_ + i, draws);
    for (std::uint32_t g = 0; g < kGroups; ++g) {
      const std::uint32_t item = i + 8 * g;
      if (item >= active_) break;
      __m512d at = _mm512_load_pd(at_ + item);
      SiteLanes of{{}, {}, _mm512_load_pd(total_ + item)};
      const __m512d gap = _mm512_sub_pd(_mm512_setzero_pd(), draws.logs[2 * g]);
      // Most items end here.
      __mmask8 mask = _mm512_mask_cmp_pd_mask(valid_lanes(active_ - item), _mm512_add_pd(at, gap),
                                              of.total, _CMP_LT_OQ);
      if (!mask) continue;
      const __m256i place = _mm256_slli_epi32(draws.stream[g], 2);  // 16 bytes a stream
      static_assert(sizeof(SiteStream) == 16);
      of.first = _mm256_mmask_i32gather_epi32(_mm256_setzero_si256(), mask, place, streams, 4);
      of.count = _mm256_mmask_i32gather_epi32(
          _mm256_setzero_si256(), mask, _mm256_add_epi32(place, _mm256_set1_epi32(1)), streams, 4);
      for (std::uint32_t half = 0; half < 2 && mask; ++half) {
        __m256i site = _mm256_setzero_si256(), shot = site;
        mask = next_site_lanes(
            s_, of, mask, half ? _mm512_sub_pd(_mm512_setzero_pd(), draws.logs[2 * g + 1]) : gap,
            at, site, shot);
        const __m256i bits = _mm512_cvtepi64_epi32(_mm512_and_si512(
            half ? draws.words[g].v2 : draws.words[g].v0, _mm512_set1_epi64(0xFFFFFF)));
        const auto store = [&](std::uint32_t* to, __m256i v) TW_TARGET_AVX512 {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + events),
                              _mm256_maskz_compress_epi32(mask, v));
        };
        store(site_, site);
        store(event_unit_, draws.unit[g]);
        store(bit_, _mm256_sllv_epi32(_mm256_set1_epi32(1), shot));
        store(bits_, bits);
        events += static_cast<std::size_t>(__builtin_popcount(mask));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(unit_ + kept),
                          _mm256_maskz_compress_epi32(mask, draws.unit[g]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(stream_ + kept),
                          _mm256_maskz_compress_epi32(mask, draws.stream[g]));
      _mm512_storeu_pd(at_ + kept, _mm512_maskz_compress_pd(mask, at));
      _mm512_storeu_pd(total_ + kept, _mm512_maskz_compress_pd(mask, of.total));
      kept += static_cast<std::uint32_t>(__builtin_popcount(mask));
    }
  }
  active_ = kept;
  return events;
}
#endif

template class StreamDraws<EventDraws, NoiseStreams>;
template class StreamDraws<SiteDraws, SiteStreams>;

}  // namespace tilewave::stabilizer
