// Fused elementwise maps: out = expression(v, ix, iy, idx), applied `repeat` times while the value
// stays in the nearest memory. v is the value at a pixel, ix its column, iy its row, idx = iy *
// width + ix.
//
// Values are 32-bit floats, every operation rounds to a float, those of constants too; arithmetic of
// indices and of numbers written without a point is in 64-bit integers that wrap round (division
// always gives a float; % has the sign of the divisor, and x % 0 of integers is 0).
// Conditions are 0 or 1; cond ? a : b computes both. Division by zero gives infinity or NaN, as
// IEEE 754 says. Conditions on ix % m, iy % m, idx % m with a constant m are specialised away: the
// columns of each residue run a program of their own without the test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewave::field {

/// Operations of an expression. Index operations work on 64-bit integers.
enum class MapOp : std::uint8_t {
  kNumber,
  kValue,
  kColumn,
  kRow,
  kIndex,  // leaves
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kNeg,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,
  kSqrt,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kMin,
  kMax,
  kLog,
  kLog2,
  kLog10,
  kExp,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  kSinh,
  kCosh,
  kTanh,
  kPow,
  kCbrt,
  kTrunc,
  kHypot,
  kLog1p,
  kExpm1
};

/// Residues of ix, iy and idx that get programs of their own.
constexpr int kMostMapPeriod = 16;

/// The most pixels that an array of a map has: ix, iy and idx are below it.
constexpr std::int64_t kMostMapPixels = std::int64_t{1} << 48;

/// A node; operands are indices of earlier nodes. Equal nodes are stored once.
struct MapNode {
  MapOp op = MapOp::kNumber;
  bool is_integer = false;
  int a = -1, b = -1, c = -1;
  double number = 0;       ///< of a number, what a float holds of it
  std::int64_t whole = 0;  ///< of an integer, all of it
  double exact = 0;        ///< what double precision makes of what was written

  static MapNode of_real(double value);
  static MapNode of_whole(std::int64_t value);
};

/// A parsed expression; immutable. The last node is the result.
class MapExpression {
 public:
  /// Throws Error(kUsage) with the column and a caret under it.
  static MapExpression parse(const std::string& text);

  const std::vector<MapNode>& nodes() const { return nodes_; }
  const std::string& text() const { return text_; }
  /// The least common multiple of the constant moduli of ix, iy, idx that are no more than
  /// kMostMapPeriod and whose dividends do not wrap round; 1 if there are none.
  int period() const { return period_; }
  bool uses(MapOp leaf) const;

  /// The expression for pixels with ix % period = column, iy % period = row, idx % period = index:
  /// tests of residues folded to constants, unused nodes dropped.
  MapExpression specialise(int column, int row, int index) const;

  /// In double precision (integers as they are), for one pixel; what --verify compares with.
  double evaluate(double v, std::int64_t ix, std::int64_t iy, std::int64_t idx) const;

  /// Adds a node, folding constants; returns its index. For the parser.
  int add(MapNode node);

 private:
  void finish();
  std::string text_;
  std::vector<MapNode> nodes_;
  int period_ = 1;
};

const char* map_op_name(MapOp op);
int map_op_arity(MapOp op);

enum class MapPrecision : std::uint8_t {
  kPrecise,  ///< functions correct to 1 ulp (sqrt, log, exp, sin, cos nearly always correctly
             ///< rounded)
  kFast,     ///< log, log2, log10, exp, sin, cos by float polynomials: up to 4 ulp, sin and cos for
             ///< |x| < 39000
  kLut       ///< a table over the proven domain of the input, bits as precise
};

struct MapOptions {
  int repeat = 1;
  MapPrecision precision = MapPrecision::kPrecise;
  int threads = 0;  ///< at most; 0: all. Little work takes fewer (work_threads.h)
};

/// values[y * width + x] for rows [y_begin, y_end) in place (values points at row y_begin).
void map_cpu(const MapExpression& expression, const MapOptions& options, std::int64_t width,
             std::int64_t y_begin, std::int64_t y_end, float* values);

/// The table of an exact lookup: entry [iy % period][ix % period][v - least], made by the precise
/// program.
struct MapTable {
  int period = 1;
  std::int64_t least = 0, size = 0;
  std::vector<float> entries;
};
/// Proves the domain of `values` by a scan (whole numbers, at most 65536 of them in a row) and
/// fills the table. Throws Error(kInput) with the first pixel that is no whole number,
/// Error(kUsage) where the expression depends on the place of a pixel by more than a remainder.
MapTable make_map_table(const MapExpression& expression, const MapOptions& options,
                        std::int64_t width, std::int64_t y_begin, std::int64_t y_end,
                        const float* values);

struct MapError {
  double absolute = 0, relative = 0;  ///< largest over all pixels
  std::int64_t x = 0, y = 0;          ///< where the absolute one is
  std::int64_t nonfinite = 0;         ///< pixels whose exact result is no finite number
  std::int64_t mismatched = 0;        ///< pixels where only one of the two is finite
};

/// Compares `result` with the expression in double precision on `input` (both rows [y_begin,
/// y_end)); keeps the largest errors in `error`.
void verify_map(const MapExpression& expression, int repeat, std::int64_t width,
                std::int64_t y_begin, std::int64_t y_end, const float* input, const float* result,
                MapError& error);

}  // namespace tilewave::field
