// Few classes in rectangles of any size: a plane a class. counts[k][x] is the number of cells of
// class k in the window of pixel x, for one row of pixels at a time.
//
// Moving down a row, column c changes by e[c] = [entering cell is k] - [leaving cell is k], so the
// window of x changes by the sum of e over its w columns. That sum is a running one along the row:
// it grows by e[x + w - 1] - e[x - 1] a pixel, and 16 pixels' growth is a prefix sum in bytes.
//
// sums[n] is then wanted for 16 counts at once. A table lookup (gather) waits for loads and the
// formula behind the table (LogCurve) for arithmetic, so with AVX-512 even classes take the one and
// odd classes the other. Cost: K times about 20 vector instructions for 16 pixels, whatever the
// window.
#include <cstring>

#include "tilewave/field/cpu/entropy_tile.h"
#include "tilewave/field/cpu/fixed_size_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/entropy_plane.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "tilewave/field/cpu/entropy_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Without vectors the sliding histogram is as good, and gives the same bits.
void entropy_plane(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  entropy_tile_sliding(tile, scratch);
}
#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kGroup = 16;  // pixels of a byte-wise prefix sum: a 128-bit block
constexpr std::size_t kPad = 64;

using D8 = hn::ScalableTag<std::uint8_t>;
using D32 = DCount;
static_assert(hn::MaxLanes(D32()) <= kGroup);
using DB = hn::Rebind<std::int8_t, D32>;
using V32 = VCount;

// [in == k] - [out == k] for the columns of a tile, zeros around them.
void changes(const std::uint8_t* in, const std::uint8_t* out, std::size_t columns, std::uint8_t k,
             std::uint8_t* e) {
  const D8 d;
  const auto code = hn::Set(d, k);
  for (std::size_t x = 0; x < columns; x += hn::Lanes(d)) {
    const auto entering = hn::VecFromMask(d, hn::Eq(hn::LoadU(d, in + x), code));
    const auto change =
        out == nullptr ? hn::Sub(hn::Zero(d), entering)
                       : hn::Sub(hn::VecFromMask(d, hn::Eq(hn::LoadU(d, out + x), code)), entering);
    hn::StoreU(change, d, e + x);
  }
  std::memset(e + columns, 0, 2 * kPad);
}

// The running sum of e over w columns for the pixels of a row, a vector of bytes at a time.
class Growth {
 public:
  Growth(const std::uint8_t* e, int w) : enter_(e + w - 1), leave_(e - 1) {
    std::int32_t first = 0;
    for (int c = 0; c < w - 1; ++c) first += static_cast<std::int8_t>(e[c]);
    before_ = hn::Set(D32(), first);
  }

  // Prefix sums within groups of 16 pixels, for one vector of bytes.
  HWY_INLINE void prepare(std::size_t x) {
    const D8 d;
    auto sum = hn::Sub(hn::LoadU(d, enter_ + x), hn::LoadU(d, leave_ + x));
    sum = hn::Add(sum, hn::ShiftLeftBytes<1>(d, sum));
    sum = hn::Add(sum, hn::ShiftLeftBytes<2>(d, sum));
    sum = hn::Add(sum, hn::ShiftLeftBytes<4>(d, sum));
    sum = hn::Add(sum, hn::ShiftLeftBytes<8>(d, sum));
    hn::Store(sum, d, prefix_);
  }

  // The change of the counts of the vector at `offset` within what was prepared.
  HWY_INLINE V32 at(std::size_t offset) const {
    const auto* bytes = reinterpret_cast<const std::int8_t*>(prefix_ + offset);
    return hn::Add(hn::PromoteTo(D32(), hn::LoadU(DB(), bytes)), before_);
  }
  // After the last vector of a group: its last lane is where the next group starts.
  HWY_INLINE void end_group(V32 last) {
    const D32 d;
    HWY_ALIGN std::int32_t lane[hn::MaxLanes(D32())];
    for (auto& l : lane) l = static_cast<std::int32_t>(hn::Lanes(d)) - 1;
    before_ = hn::TableLookupLanes(last, hn::SetTableIndices(d, lane));
  }

 private:
  const std::uint8_t *enter_, *leave_;
  V32 before_;
  HWY_ALIGN std::uint8_t prefix_[hn::MaxLanes(D8())];
};

struct Layout {
  std::size_t padded;  // pixels of a row, rounded up to vectors of bytes
  std::size_t stride;  // from plane to plane
  std::int32_t *counts, *sum;
  std::uint8_t *first, *second;  // changes of two classes
  double *log_n, *inverse;

  Layout(const EntropyTile<std::uint8_t>& tile, int planes, int w, EntropyScratch& scratch) {
    const auto width = static_cast<std::size_t>(tile.width);
    padded = (width + kPad - 1) / kPad * kPad;
    const std::size_t columns = (width + static_cast<std::size_t>(w) + 5 * kPad) / kPad * kPad;
    // Addresses that are equal in their last 12 bits make a load wait for a store: planes 256 bytes
    // more apart than they need, and the sums off that grid.
    stride = padded + 64;
    const std::size_t bytes = 4 * stride * (static_cast<std::size_t>(planes) + 1) + 128 +
                              2 * columns + kPad + 16 * padded;
    auto* at = static_cast<unsigned char*>(scratch.reserve(bytes));
    std::memset(at, 0, bytes);
    counts = reinterpret_cast<std::int32_t*>(at);
    sum = counts + stride * static_cast<std::size_t>(planes) + 32;
    log_n = reinterpret_cast<double*>(sum + padded);
    inverse = log_n + padded;
    first = reinterpret_cast<std::uint8_t*>(inverse + padded) + kPad;
    second = first + columns;
  }
};

// Two classes at once: counts of the row change; with kEvaluate their sums are added up.
template <bool kEvaluate>
void roll_pair(const Layout& s, std::size_t k, int w, const LookUp look_up, const Formula* shared) {
  const D32 d;
  const Formula formula = *shared;  // in registers
  std::int32_t* const sum = s.sum;
  const std::size_t padded = s.padded;
  const std::size_t lanes = hn::Lanes(d);
  Growth first(s.first, w), second(s.second, w);
  std::int32_t* const n0 = s.counts + k * s.stride;
  std::int32_t* const n1 = n0 + s.stride;
  for (std::size_t x = 0; x < padded; x += hn::Lanes(D8())) {
    first.prepare(x);
    second.prepare(x);
    for (std::size_t group = 0; group < hn::Lanes(D8()); group += kGroup) {
      for (std::size_t v = group; v < group + kGroup; v += lanes) {
        const V32 grown0 = first.at(v), grown1 = second.at(v);
        const V32 c0 = hn::Add(hn::Load(d, n0 + x + v), grown0);
        const V32 c1 = hn::Add(hn::Load(d, n1 + x + v), grown1);
        hn::Store(c0, d, n0 + x + v);
        hn::Store(c1, d, n1 + x + v);
        if constexpr (kEvaluate) {
          const V32 both = hn::Add(look_up(c0), formula(c1));
          hn::Store(hn::Add(hn::Load(d, sum + x + v), both), d, sum + x + v);
        }
        if (v + lanes == group + kGroup) {
          first.end_group(grown0);
          second.end_group(grown1);
        }
      }
    }
  }
}

void entropy_plane(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  const EntropyTables& tables = tile.plan->tables();
  const int w = tile.plan->window().width(), h = tile.plan->window().height();
  const int levels = tile.plan->options().levels;
  const bool counted = tile.pop_x == nullptr;
  // An odd class's partner, and the plane of the invalid cells (whose code is `levels`).
  const int planes = (levels + 1) / 2 * 2 + (counted ? 2 : 0);
  const int invalid_plane = (levels + 1) / 2 * 2;
  const Layout s(tile, planes, w, scratch);
  const auto columns = static_cast<std::size_t>(tile.width + w - 1);
  const LookUp look_up(tables);
  const Formula formula(tables);
  RowEntropy finish(tables, tile.pop_x, tile.width, s.log_n, s.inverse);
  for (int py = 0; py < tile.height + h - 1; ++py) {
    const std::uint8_t* in = tile.codes + py * tile.stride;
    const std::uint8_t* gone = py >= h ? tile.codes + (py - h) * tile.stride : nullptr;
    const int y = py - (h - 1);
    if (y >= 0) std::memset(s.sum, 0, s.padded * sizeof(std::int32_t));
    for (int plane = 0; plane < planes; plane += 2) {
      // 255: no class, codes stop at 64
      const auto code = [&](int p) {
        if (p == invalid_plane && counted) return static_cast<std::uint8_t>(levels);
        return static_cast<std::uint8_t>(p < levels ? p : 255);
      };
      changes(in, gone, columns, code(plane), s.first);
      changes(in, gone, columns, code(plane + 1), s.second);
      const auto k = static_cast<std::size_t>(plane);
      if (y >= 0 && plane != invalid_plane) {
        roll_pair<true>(s, k, w, look_up, &formula);
      } else {
        roll_pair<false>(s, k, w, look_up, &formula);
      }
    }
    if (y < 0) continue;
    float* out = tile.out + y * tile.out_stride;
    if (counted) {
      finish(s.sum, s.counts + static_cast<std::size_t>(invalid_plane) * s.stride, out);
    } else {
      finish(s.sum, tile.pop_y[y], out);
    }
  }
}

#endif
}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(entropy_plane);

void entropy_tile_plane(const EntropyTile<std::uint8_t>& tile, EntropyScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(entropy_plane)(tile, scratch);
}
}  // namespace tilewave::field
#endif
