// A map over rows on the CPU: blocks that stay in the first-level cache, one program a residue of
// the column.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/field/cpu/map_tuning.h"
#include "tilewave/field/map.h"
#include "tilewave/field/map_program.h"
#include "tilewave/field/work_threads.h"

namespace tilewave::field {
namespace {

// How the pixels of an array are walked through.
enum class Walk : std::uint8_t {
  kRows,    // row by row, a program for each residue of the column and row
  kFlat,    // as one row: what the programs need follows from the index alone
  kPlaces,  // as one row of short ones: one program, which works every column and row out
};

// The programs of all residues that occur, made before the threads start.
class ProgramSet {
 public:
  ProgramSet(const MapExpression& expression, Walk walk, std::int64_t width, std::int64_t y_begin,
             std::int64_t y_end)
      : period_(walk == Walk::kPlaces ? 1 : expression.period()),
        of_((walk == Walk::kRows ? period_ : 1) * static_cast<std::size_t>(period_)) {
    std::map<std::array<int, 3>, std::size_t> known;
    const std::int64_t rows =
        walk == Walk::kRows ? std::min<std::int64_t>(period_, y_end - y_begin) : 1;
    for (std::int64_t y = y_begin; y < y_begin + rows; ++y) {
      for (int p = 0; p < period_; ++p) {
        const auto index = static_cast<int>((y * width + p) % period_);
        // of a flat walk the width is a multiple of the period where columns are asked for
        const int column = walk == Walk::kFlat ? index : p;
        const std::array<int, 3> key{column, static_cast<int>(y % period_), index};
        if (!known.contains(key)) {
          known[key] = programs_.size();
          programs_.push_back(compile_map(
              walk == Walk::kPlaces ? expression : expression.specialise(key[0], key[1], key[2])));
        }
        of_[place(p, walk == Walk::kRows ? y : 0)] = known[key];
      }
    }
    for (const MapProgram& program : programs_) {
      float_blocks = std::max(float_blocks, program.num_float_blocks);
      integer_blocks = std::max(integer_blocks, program.num_integer_blocks);
      functions &= std::any_of(program.steps.begin(), program.steps.end(), takes_more);
    }
  }

  int period() const { return period_; }

  const MapProgram& at(int column, std::int64_t y) const {
    return programs_[of_[place(column, y)]];
  }

  /// Of the dearest program, a value.
  double cost_ns(bool fast, int repeat) const {
    double most = 0;
    for (const MapProgram& program : programs_)
      most = std::max(most, program_cost_ns(program, fast, repeat));
    return most;
  }

  int float_blocks = 1, integer_blocks = 0;
  bool functions = true;  // every program has one that can bring memory ahead

 private:
  // idx % period follows from iy % period and ix % period
  std::size_t place(int column, std::int64_t y) const {
    return static_cast<std::size_t>(y % period_ * period_ + column);
  }
  int period_;
  std::vector<MapProgram> programs_;
  std::vector<std::size_t> of_;
};

// Rows are joined where that changes nothing, and where they are so short that a row costs more
// than its pixels.
Walk choose_walk(const MapExpression& expression, std::int64_t width) {
  const bool columns = expression.uses(MapOp::kColumn), rows = expression.uses(MapOp::kRow);
  if (!columns && !rows) return Walk::kFlat;
  const int period = expression.period();
  if (!rows && width % period == 0) {
    bool flat = true;
    for (int p = 0; p < period && flat; ++p)
      flat = !expression.specialise(p, 0, p).uses(MapOp::kColumn);
    if (flat) return Walk::kFlat;
  }
  return width < (period == 1 ? kShortRow : kShortRowOfResidues) ? Walk::kPlaces : Walk::kRows;
}

struct Buffers {
  std::vector<float> floats, split;
  std::vector<std::int64_t> integers;
  float* aligned_floats;
  float* aligned_split;
  std::int64_t* aligned_integers;

  Buffers(int float_blocks, int integer_blocks, int period)
      : floats(static_cast<std::size_t>(float_blocks) * kMapBlock + 16),
        split(static_cast<std::size_t>(period) * kMapBlock + 16),
        integers(static_cast<std::size_t>(integer_blocks) * kMapBlock + 8) {
    aligned_floats = align(floats.data());
    aligned_split = align(split.data());
    aligned_integers = align(integers.data());
  }
  template <class T>
  static T* align(T* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return p + (64 - address % 64) % 64 / sizeof(T);
  }
};

// Between looks for an interrupt.
constexpr int kMostRepeats = 10000, kMostEvaluations = 100;

// n values of v, `repeat` times.
void repeat_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                    float* v, Buffers& b, const float* bring, StopFlag& stop) {
  for (int left = repeat; left > 0 && !stop.wanted(); left -= kMostRepeats) {
    run_map_program(program, fast, std::min(left, kMostRepeats), place, n, v, b.aligned_floats,
                    b.aligned_integers, bring);
    bring = nullptr;
  }
}

// Pixels [x_begin, x_end) of row y, or of the only row of a flat walk; x_begin is a multiple of the
// period. `first`: the place of the row's first pixel.
void map_piece(const ProgramSet& programs, const MapOptions& o, const MapPlace& first,
               std::int64_t x_begin, std::int64_t x_end, float* row, Buffers& b, StopFlag& stop) {
  const bool fast = o.precision == MapPrecision::kFast;
  const int period = programs.period();
  float* const v = b.aligned_split;  // a block a residue
  const MapProgram* of[kMostMapPeriod];
  for (int p = 0; p < period; ++p) of[p] = &programs.at(p, first.iy);
  for (std::int64_t x = x_begin; x < x_end; x += std::int64_t{kMapBlock} * period) {
    const auto n =
        static_cast<int>(std::min<std::int64_t>(std::int64_t{kMapBlock} * period, x_end - x));
    // The next block comes while this one is computed, a share with each residue's first function.
    const float* const ahead = row + x + n;
    for (int i = 0; !programs.functions && i < n; i += 16) __builtin_prefetch(ahead + i, 1);
    if (period == 1) {
      std::memcpy(v, row + x, static_cast<std::size_t>(n) * sizeof(float));
    } else if (period == 2) {
      split_pairs(row + x, n / 2, v, v + kMapBlock);
      if (n % 2 != 0) v[n / 2] = row[x + n - 1];
    } else {
      for (int p = 0; p < period; ++p) {
        for (int i = p, k = 0; i < n; i += period, ++k) v[p * kMapBlock + k] = row[x + i];
      }
    }
    for (int p = 0; p < period && p < n; ++p) {
      const MapPlace place{x + p, first.iy, first.idx + x + p, period, first.width};
      const float* bring = programs.functions ? ahead + n / period * p : nullptr;
      repeat_program(*of[p], fast, o.repeat, place, (n - p + period - 1) / period,
                     v + p * kMapBlock, b, bring, stop);
    }
    if (period == 1) {
      std::memcpy(row + x, v, static_cast<std::size_t>(n) * sizeof(float));
    } else if (period == 2) {
      join_pairs(v, v + kMapBlock, n / 2, row + x);
      if (n % 2 != 0) row[x + n - 1] = v[n / 2];
    } else {
      for (int p = 0; p < period; ++p) {
        for (int i = p, k = 0; i < n; i += period, ++k) row[x + i] = v[p * kMapBlock + k];
      }
    }
  }
}

void run_rows(const MapExpression& expression, const MapOptions& o, std::int64_t width,
              std::int64_t y_begin, std::int64_t y_end, float* values) {
  const std::int64_t n = width * (y_end - y_begin);
  if (n == 0) return;
  const Walk walk = choose_walk(expression, width);
  const ProgramSet programs(expression, walk, width, y_begin, y_end);
  const double value_ns = programs.cost_ns(o.precision == MapPrecision::kFast, o.repeat);
  const int threads = threads_for_work(o.threads, value_ns * static_cast<double>(n));
  const int period = programs.period();
  const std::int64_t length = walk == Walk::kRows ? width : n, rows = n / length;
  // pieces of a row, whole blocks each, and enough of them for all threads; short rows are taken
  // several at a time
  const std::int64_t block = std::int64_t{kMapBlock} * period, share = length / (4 * threads);
  const std::int64_t piece = std::clamp<std::int64_t>(share / block, 1, 32) * block;
  const std::int64_t pieces = (length + piece - 1) / piece;
  const std::int64_t jobs = pieces * rows;
  const std::int64_t chunk = std::max<std::int64_t>(
      1, std::min<std::int64_t>(jobs / (4 * threads), 65536 / std::min(piece, length)));
  StopFlag stop;
#pragma omp parallel num_threads(threads)
  {
    Buffers buffers(programs.float_blocks, programs.integer_blocks, period);
#pragma omp for schedule(dynamic, chunk) nowait
    for (std::int64_t job = 0; job < jobs; ++job) {
      if (stop.wanted()) continue;
      const std::int64_t row = job / pieces, x = job % pieces * piece;
      MapPlace first{0, 0, (y_begin + row) * width, 1, 0};
      if (walk == Walk::kRows) first.iy = y_begin + row;
      if (walk == Walk::kPlaces) first.width = width;
      map_piece(programs, o, first, x, std::min(x + piece, length), values + row * length, buffers,
                stop);
    }
    stop.meet(omp_get_num_threads());
  }
  stop.rethrow();
}

// ---- exact lookup ----
constexpr std::int64_t kMostTable = 65536;

struct Domain {
  std::int32_t least = std::numeric_limits<std::int32_t>::max(),
               most = std::numeric_limits<std::int32_t>::min();
  std::int64_t first_other = -1;  // a value that is no whole number
};

// Whole numbers below 2^24 and not -0: what an index can stand for.
bool is_whole(float v) {
  if (!(std::abs(v) < 16777216.0f)) return false;
  const auto i = static_cast<std::int32_t>(v);
  return static_cast<float>(i) == v && !(i == 0 && std::signbit(v));
}

Domain scan(const float* values, std::int64_t n, int num_threads) {
  constexpr std::int64_t kBlock = 65536;
  constexpr std::int32_t kBeyond = 16777216;
  Domain d;
  bool whole = true;
  StopFlag stop;
#pragma omp parallel for num_threads(num_threads) schedule(static)
  for (std::int64_t i = 0; i < n; i += kBlock) {
    if (stop.wanted()) continue;
    std::int32_t least = std::numeric_limits<std::int32_t>::max(),
                 most = std::numeric_limits<std::int32_t>::min();
    const bool all = scan_whole(values + i, std::min(kBlock, n - i), least, most);
#pragma omp critical
    {
      whole = whole && all;
      d.least = std::min(d.least, least);
      d.most = std::max(d.most, most);
    }
  }
  stop.rethrow();
  if (whole && d.least > -kBeyond && d.most < kBeyond) return d;
  InterruptCounter look(1 << 16);
  for (d.first_other = 0; is_whole(values[d.first_other]); ++d.first_other) look.step();
  return d;
}

}  // namespace

MapTable make_map_table(const MapExpression& expression, const MapOptions& options,
                        std::int64_t width, std::int64_t y_begin, std::int64_t y_end,
                        const float* values) {
  const std::int64_t n = width * (y_end - y_begin);
  MapTable result;
  const int period = expression.period();
  for (int p = 0; p < period; ++p) {
    for (int r = 0; r < period; ++r) {
      const MapExpression part =
          expression.specialise(p, r, static_cast<int>((r * width + p) % period));
      if (part.uses(MapOp::kColumn) || part.uses(MapOp::kRow) || part.uses(MapOp::kIndex)) {
        fail(ExitCode::kUsage,
             "precision lut: the expression depends on the place of a pixel by more than a small "
             "remainder: use precise or fast");
      }
    }
  }
  const Domain domain =
      scan(values, n, threads_for_work(options.threads, kScanCostNs * static_cast<double>(n)));
  if (domain.first_other >= 0) {
    fail(ExitCode::kInput, "precision lut: pixel (", domain.first_other % width, ", ",
         y_begin + domain.first_other / width, ") holds ",
         std::to_string(values[domain.first_other]),
         ", no whole number: the domain is not proven small: use precise or fast");
  }
  const auto least = static_cast<std::int64_t>(domain.least);
  const std::int64_t size = static_cast<std::int64_t>(domain.most) - least + 1;
  if (size > kMostTable) {
    fail(ExitCode::kInput, "precision lut: values run from ", least, " to ", least + size - 1,
         ", more than ", kMostTable, " of them: use precise or fast");
  }
  // Row q of the tables is a row of pixels, all of them in residue class q = (row, column):
  // computed by the very program.
  result.period = period;
  result.least = least;
  result.size = size;
  std::vector<float>& tables = result.entries;
  tables.resize(static_cast<std::size_t>(period * period * size));
  const ProgramSet programs(expression, Walk::kRows, width, y_begin, y_end);
  Buffers buffers(programs.float_blocks, programs.integer_blocks, period);
  StopFlag stop;
  for (std::int64_t y = y_begin; y < std::min<std::int64_t>(y_end, y_begin + period); ++y) {
    for (int p = 0; p < period; ++p) {
      float* table = tables.data() + (y % period * period + p) * size;
      for (std::int64_t from = 0; from < size; from += kMapBlock) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kMapBlock, size - from));
        for (int i = 0; i < count; ++i)
          buffers.aligned_split[i] = static_cast<float>(least + from + i);
        repeat_program(programs.at(p, y), false, options.repeat, {p, y, y * width + p, period},
                       count, buffers.aligned_split, buffers, nullptr, stop);
        stop.rethrow();
        std::memcpy(table + from, buffers.aligned_split,
                    static_cast<std::size_t>(count) * sizeof(float));
      }
    }
  }
  // idx % period follows from iy % period and ix % period, so these classes are all there are
  return result;
}

namespace {

// Whether all rows read the same tables, at the same columns modulo the period.
bool rows_are_alike(const MapTable& t, std::int64_t width) {
  if (width % t.period != 0) return false;
  const auto row = static_cast<std::size_t>(t.period * t.size) * sizeof(float);
  for (int y = 1; y < t.period; ++y) {
    if (std::memcmp(t.entries.data() + y * t.period * t.size, t.entries.data(), row) != 0)
      return false;
  }
  return true;
}

void map_lut(const MapExpression& expression, const MapOptions& options, std::int64_t width,
             std::int64_t y_begin, std::int64_t y_end, float* values) {
  if (width * (y_end - y_begin) == 0) return;
  const MapTable t = make_map_table(expression, options, width, y_begin, y_end, values);
  const double values_in_all = static_cast<double>(width) * static_cast<double>(y_end - y_begin);
  const int threads = threads_for_work(options.threads, kLookUpCostNs * values_in_all);
  StopFlag stop;
  if (rows_are_alike(t, width)) {
    const std::int64_t n = width * (y_end - y_begin), piece = std::int64_t{4096} * t.period;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < n; i += piece) {
      if (stop.wanted()) continue;
      look_up_values(t.entries.data(), t.size, t.least, t.period, std::min(piece, n - i),
                     values + i);
    }
  } else {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t y = y_begin; y < y_end; ++y) {
      if (stop.wanted()) continue;
      look_up_values(t.entries.data() + y % t.period * t.period * t.size, t.size, t.least, t.period,
                     width, values + (y - y_begin) * width);
    }
  }
  stop.rethrow();
}

}  // namespace

void map_cpu(const MapExpression& expression, const MapOptions& options, std::int64_t width,
             std::int64_t y_begin, std::int64_t y_end, float* values) {
  if (options.repeat < 0) fail(ExitCode::kUsage, "repeat must be 0 or more");
  if (options.repeat == 0) return;
  TW_CHECK(width * y_end <= kMostMapPixels, "a map takes arrays of at most 2^48 pixels");
  if (options.precision == MapPrecision::kLut)
    return map_lut(expression, options, width, y_begin, y_end, values);
  run_rows(expression, options, width, y_begin, y_end, values);
}

void verify_map(const MapExpression& expression, int repeat, std::int64_t width,
                std::int64_t y_begin, std::int64_t y_end, const float* input, const float* result,
                MapError& error) {
  const double work_ns = kNodeCostNs * static_cast<double>(expression.nodes().size()) * repeat *
                         static_cast<double>(width) * static_cast<double>(y_end - y_begin);
  const int threads = threads_for_work(0, work_ns);
  StopFlag stop;
#pragma omp parallel num_threads(threads)
  {
    MapError mine;
#pragma omp for schedule(dynamic, 16) nowait
    for (std::int64_t y = y_begin; y < y_end; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t i = (y - y_begin) * width + x;
        double v = static_cast<double>(input[i]);
        for (int left = repeat; left > 0 && !stop.wanted(); left -= kMostEvaluations) {
          for (int r = std::min(left, kMostEvaluations); r > 0; --r)
            v = expression.evaluate(v, x, y, y * width + x);
        }
        const double got = static_cast<double>(result[i]);
        if (!std::isfinite(v)) ++mine.nonfinite;
        if (std::isfinite(v) != std::isfinite(got)) ++mine.mismatched;
        if (!std::isfinite(v) || !std::isfinite(got)) continue;
        const double difference = std::abs(got - v);
        if (difference > mine.absolute) {
          mine.absolute = difference;
          mine.x = x;
          mine.y = y;
        }
        if (v != 0) mine.relative = std::max(mine.relative, difference / std::abs(v));
      }
    }
    stop.meet(omp_get_num_threads());
#pragma omp critical
    {
      if (mine.absolute > error.absolute) {
        error.absolute = mine.absolute;
        error.x = mine.x;
        error.y = mine.y;
      }
      error.relative = std::max(error.relative, mine.relative);
      error.nonfinite += mine.nonfinite;
      error.mismatched += mine.mismatched;
    }
  }
  stop.rethrow();
}

}  // namespace tilewave::field
