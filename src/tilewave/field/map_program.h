// An expression as a straight list of steps over blocks of values: each step reads whole blocks and
// writes one. Blocks of floats and blocks of 64-bit integers are numbered apart and reused as soon
// as their value is dead.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/field/map.h"

namespace tilewave::field {

constexpr int kMapBlock = 512;  ///< values a block

struct MapStep {
  MapOp op = MapOp::kNumber;
  bool integer = false;   ///< operates on integer blocks (comparisons: reads them)
  bool to_float = false;  ///< converts integer block a to float block out
  int immediate = 0;      ///< 1: the first operand is `number`, 2: the second is
  int out = 0, a = 0, b = 0, c = 0;
  double number = 0;
  std::int64_t whole = 0;  ///< an integer number
  /// What becomes of a function's value (log, exp, sin, cos) before it is stored, in this order:
  /// + addend, square root, + float block `sum`.
  bool plus = false, root = false;
  float addend = 0;
  int sum = -1;
};

/// A function whose value may be worked on before it is stored.
inline bool takes_more(const MapStep& s) {
  return !s.integer && !s.to_float && s.op >= MapOp::kLog && s.op <= MapOp::kCos;
}

struct MapProgram {
  std::vector<MapStep> steps;
  int num_float_blocks = 1;  ///< block 0 holds v, and in the end the result
  int num_integer_blocks = 0;
};

MapProgram compile_map(const MapExpression& expression);

/// Where a block's pixels lie: pixel j is column ix + j * step of row iy, index idx + j * step. With
/// a width the block may pass the ends of rows: column and row follow from the index, step is 1.
struct MapPlace {
  std::int64_t ix = 0, iy = 0, idx = 0, step = 1, width = 0;
};

/// Runs the program `repeat` times on n <= kMapBlock values in place. values is float block 0;
/// floats holds the others, (num_float_blocks - 1) x kMapBlock, integers likewise; all on 64-byte
/// boundaries. `ahead`: n values to bring into the cache meanwhile, by the first function; may be
/// null.
void run_map_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                     float* values, float* floats, std::int64_t* integers,
                     const float* ahead = nullptr);

/// The instruction set that programs run with on this machine.
const char* map_instructions();

/// Takes every second value apart and together again: in[2i] <-> first[i], in[2i+1] <-> second[i].
void split_pairs(const float* in, int pairs, float* first, float* second);
void join_pairs(const float* first, const float* second, int pairs, float* out);

/// Whether n values are all whole numbers (not -0); widens [least, most] to hold them (as integers,
/// saturated).
bool scan_whole(const float* values, std::int64_t n, std::int32_t& least, std::int32_t& most);
/// row[x] = tables[x % period][row[x] - least], tables of `size` entries each.
void look_up_values(const float* tables, std::int64_t size, std::int64_t least, int period,
                    std::int64_t n, float* row);

}  // namespace tilewave::field
