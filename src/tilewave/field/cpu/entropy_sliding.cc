// Two kernels for any shape and any K.
//   naive    counts every window from scratch: N cells per pixel. The reference that the others are
//            compared with.
//   sliding  (Huang's histogram) one window histogram slides along the row. Each span of the shape
//            lets one cell in and one out, and the sum changes by sums[n+1] - sums[n] each time:
//            2 x spans updates per pixel whatever K, none of them a branch.
// Invalid cells are counted in a class of their own, taken out again when H is formed.
#include <cstring>

#include "tilewave/field/cpu/entropy_tile.h"

namespace tilewave::field {
namespace {

// The window's histogram with the sum of n ln n over all classes, the invalid one included.
template <class Sum>
struct Histogram {
  std::int32_t* counts;  // [levels + 1]
  const Sum* steps;      // table
  Sum sum;

  void add(unsigned code) { sum += steps[counts[code]++]; }
  void remove(unsigned code) { sum -= steps[--counts[code]]; }
};

template <class Code, class Sum>
float finish(const EntropyTile<Code>& tile, const Histogram<Sum>& h, int levels, int x, int y) {
  const EntropyTables& tables = tile.plan->tables();
  const std::int32_t invalid = h.counts[levels];
  const std::int32_t count =
      tile.pop_x != nullptr ? tile.pop_x[x] * tile.pop_y[y] : tables.max_count - invalid;
  return tables.entropy(h.sum - tables.sums_of<Sum>()[static_cast<std::size_t>(invalid)], count);
}

template <class Code, class Sum>
void fill_window(const EntropyTile<Code>& tile, int x, int y, Histogram<Sum>& h) {
  const Footprint& window = tile.plan->window();
  for (const Footprint::Span& s : window.spans()) {
    const Code* row = tile.codes + (y + window.top() + s.dy) * tile.stride + x + window.left();
    for (int dx = s.dx_begin; dx < s.dx_end; ++dx) h.add(row[dx]);
  }
}

std::int32_t* counts_of(EntropyScratch& scratch, int levels) {
  return static_cast<std::int32_t*>(
      scratch.reserve(sizeof(std::int32_t) * (static_cast<std::size_t>(levels) + 1)));
}

template <class Sum, class Code>
void run_naive(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  const int levels = tile.plan->options().levels;
  const EntropyTables& tables = tile.plan->tables();
  Histogram<Sum> h{counts_of(scratch, levels), tables.steps_of<Sum>().data(), 0};
  for (int y = 0; y < tile.height; ++y) {
    for (int x = 0; x < tile.width; ++x) {
      std::memset(h.counts, 0, sizeof(std::int32_t) * (static_cast<std::size_t>(levels) + 1));
      h.sum = 0;
      fill_window(tile, x, y, h);
      tile.out[y * tile.out_stride + x] = finish(tile, h, levels, x, y);
    }
  }
}

// One pixel to the right of `at`, for rectangles: two columns, top to bottom.
template <class Code, class Sum>
void slide_rectangle(const Code* leave, const Code* enter, std::int64_t stride, int rows,
                     Histogram<Sum>& h) {
  for (int i = 0; i < rows; ++i) {
    h.remove(leave[i * stride]);  // first, so that no count exceeds the window
    h.add(enter[i * stride]);
  }
}

template <class Sum, class Code>
void run_sliding(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  const Footprint& window = tile.plan->window();
  const int levels = tile.plan->options().levels;
  const EntropyTables& tables = tile.plan->tables();
  Histogram<Sum> h{counts_of(scratch, levels), tables.steps_of<Sum>().data(), 0};
  // Offsets of the cells leaving and entering when the window moves one pixel right to x, from
  // codes[y][x].
  std::vector<std::int64_t> leave, enter;
  for (const Footprint::Span& s : window.spans()) {
    const std::int64_t row = (window.top() + s.dy) * tile.stride + window.left();
    leave.push_back(row + s.dx_begin - 1);
    enter.push_back(row + s.dx_end - 1);
  }
  const bool rectangle = window.is_rectangle();
  for (int y = 0; y < tile.height; ++y) {
    std::memset(h.counts, 0, sizeof(std::int32_t) * (static_cast<std::size_t>(levels) + 1));
    h.sum = 0;
    fill_window(tile, 0, y, h);
    float* out = tile.out + y * tile.out_stride;
    out[0] = finish(tile, h, levels, 0, y);
    for (int x = 1; x < tile.width; ++x) {
      const Code* cell = tile.codes + y * tile.stride + x;
      if (rectangle) {
        slide_rectangle(cell - 1, cell + window.width() - 1, tile.stride, window.height(), h);
      } else {
        for (std::size_t i = 0; i < enter.size(); ++i) {
          h.remove(cell[leave[i]]);
          h.add(cell[enter[i]]);
        }
      }
      out[x] = finish(tile, h, levels, x, y);
    }
  }
}

}  // namespace

template <class Code>
void entropy_tile_naive(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  tile.plan->tables().is_long ? run_naive<std::int64_t>(tile, scratch)
                              : run_naive<std::int32_t>(tile, scratch);
}

template <class Code>
void entropy_tile_sliding(const EntropyTile<Code>& tile, EntropyScratch& scratch) {
  tile.plan->tables().is_long ? run_sliding<std::int64_t>(tile, scratch)
                              : run_sliding<std::int32_t>(tile, scratch);
}

template void entropy_tile_naive(const EntropyTile<std::uint8_t>&, EntropyScratch&);
template void entropy_tile_naive(const EntropyTile<std::uint16_t>&, EntropyScratch&);
template void entropy_tile_naive(const EntropyTile<std::uint32_t>&, EntropyScratch&);
template void entropy_tile_sliding(const EntropyTile<std::uint8_t>&, EntropyScratch&);
template void entropy_tile_sliding(const EntropyTile<std::uint16_t>&, EntropyScratch&);
template void entropy_tile_sliding(const EntropyTile<std::uint32_t>&, EntropyScratch&);

}  // namespace tilewave::field
