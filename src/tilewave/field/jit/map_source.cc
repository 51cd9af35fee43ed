// An expression as CUDA source. Every operation rounds to a float, as on the CPU (compiled without
// contraction).
//
// Where the residues of ix alone decide (width a multiple of the period, period 1, 2 or 4) a thread
// knows the function of each of the four values of its 16-byte access: no tests, no divergence.
// Otherwise it works the place of the first one out.
#include <cmath>
#include <limits>
#include <sstream>

#include "tilewave/base/concat.h"
#include "tilewave/base/read_double.h"
#include "tilewave/field/jit/map_cuda.h"

namespace tilewave::field {
namespace {

constexpr struct {
  const char* name;
  const char* text;
} kFiles[] = {
#include "index_arithmetic.inc"
};

// The arithmetic of indices that the CPU has, as device code.
std::string index_arithmetic() {
  std::string out = "#define TW_HD __device__ __forceinline__\n";
  std::istringstream text(kFiles[0].text);
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with('#')) out += line + '\n';
  }
  return out + "using namespace tilewave::field;\n";
}

std::string whole_number(std::int64_t x) {
  if (x == std::numeric_limits<std::int64_t>::min()) return concat("(", x + 1, "LL - 1)");
  return concat("(", x, "LL)");
}

std::string number(double x) {
  if (std::isnan(x)) return "__int_as_float(0x7fc00000)";
  if (std::isinf(x)) {
    return x > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  }
  return concat("(", write_double(x, std::chars_format::scientific, 9), "f)");
}

// Of each function, from the square root on, in precise and in fast maps.
constexpr const char* kFunctions[][2] = {
    {"sqrtf", "fast_sqrt"}, {"fabsf", "fabsf"},     {"floorf", "floorf"},   {"ceilf", "ceilf"},
    {"rintf", "rintf"},     {"nan_min", "nan_min"}, {"nan_max", "nan_max"}, {"logf", "__logf"},
    {"log2f", "__log2f"},   {"log10f", "__log10f"}, {"expf", "__expf"},     {"sinf", "fast_sin"},
    {"cosf", "fast_cos"},   {"tanf", "tanf"},       {"asinf", "asinf"},     {"acosf", "acosf"},
    {"atanf", "atanf"},     {"atan2f", "atan2f"},   {"sinhf", "sinhf"},     {"coshf", "coshf"},
    {"tanhf", "tanhf"},     {"powf", "powf"},       {"cbrtf", "cbrtf"},     {"truncf", "truncf"},
    {"hypotf", "hypotf"},   {"log1pf", "log1pf"},   {"expm1f", "expm1f"}};

const char* function_name(MapOp op, bool fast) {
  return kFunctions[static_cast<int>(op) - static_cast<int>(MapOp::kSqrt)][fast];
}

// 3 or 4 where node k is that number, else 0: powers whose products stay within powf's error.
int small_power(const std::vector<MapNode>& nodes, int k) {
  const MapNode& n = nodes[static_cast<std::size_t>(k)];
  return n.op == MapOp::kNumber && (n.number == 3 || n.number == 4) ? static_cast<int>(n.number)
                                                                    : 0;
}

// One function of v and its place.
std::string function(const MapExpression& e, bool fast, const std::string& name) {
  std::string body = "__device__ __forceinline__ float " + name +
                     "(float v, long long ix, long long iy, long long idx) {\n";
  const auto& nodes = e.nodes();
  const auto raw = [](int k) { return concat("t", k); };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const MapNode& n = nodes[i];
    const auto is_integer = [&](int k) { return nodes[static_cast<std::size_t>(k)].is_integer; };
    const auto real = [&](int k) { return is_integer(k) ? concat("(float)", raw(k)) : raw(k); };
    bool integers = n.a >= 0;
    for (const int k : {n.a, n.b, n.c}) integers = integers && (k < 0 || is_integer(k));
    const auto operand = [&](int k) { return integers ? raw(k) : real(k); };
    const auto own = [&](int k) {
      return n.is_integer ? raw(k) : real(k);
    };  // of the result's type
    const auto truth = [&](int k) { return concat("(", raw(k), " != 0)"); };
    const char* sign = map_op_name(n.op);
    const auto written = [&] { return concat(own(n.a), " ", sign, " ", own(n.b)); };
    const auto of_two = [&](const char* f) {
      return concat(f, "(", own(n.a), ", ", own(n.b), ")");
    };
    std::string value;
    switch (n.op) {
      case MapOp::kNumber:
        value = n.is_integer ? whole_number(n.whole) : number(n.number);
        break;
      case MapOp::kValue:
        value = "v";
        break;
      case MapOp::kColumn:
        value = "ix";
        break;
      case MapOp::kRow:
        value = "iy";
        break;
      case MapOp::kIndex:
        value = "idx";
        break;
      case MapOp::kAdd:
        value = n.is_integer ? of_two("wrapped_sum") : written();
        break;
      case MapOp::kSub:
        value = n.is_integer ? of_two("wrapped_difference") : written();
        break;
      case MapOp::kMul:
        value = n.is_integer ? of_two("wrapped_product") : written();
        break;
      case MapOp::kDiv:
        value = concat(real(n.a), " / ", real(n.b));
        break;
      case MapOp::kMod:
        value = of_two(n.is_integer ? "whole_remainder" : "floor_mod");
        break;
      case MapOp::kNeg:
        value =
            n.is_integer ? concat("wrapped_difference(0, ", raw(n.a), ")") : concat("-", raw(n.a));
        break;
      case MapOp::kLess:
      case MapOp::kLessEqual:
      case MapOp::kEqual:
      case MapOp::kNotEqual:
        value = concat(operand(n.a), " ", sign, " ", operand(n.b), " ? 1.0f : 0.0f");
        break;
      case MapOp::kAnd:
      case MapOp::kOr:
        value = concat(truth(n.a), " ", sign, " ", truth(n.b), " ? 1.0f : 0.0f");
        break;
      case MapOp::kNot:
        value = concat(raw(n.a), " == 0 ? 1.0f : 0.0f");
        break;
      case MapOp::kSelect:
        value = concat(truth(n.a), " ? ", own(n.b), " : ", own(n.c));
        break;
      default:
        if (n.is_integer && n.op == MapOp::kAbs) {
          value = concat("wrapped_magnitude(", raw(n.a), ")");
        } else if (n.is_integer) {  // min, max
          value = of_two(n.op == MapOp::kMin ? "lesser" : "greater");
        } else if (n.op == MapOp::kPow && small_power(nodes, n.b) > 0) {
          value = real(n.a);
          for (int k = 1; k < small_power(nodes, n.b); ++k) value += concat(" * ", real(n.a));
        } else {
          value = concat(function_name(n.op, fast), "(", real(n.a), n.b >= 0 ? ", " : "",
                         n.b >= 0 ? real(n.b) : "", ")");
        }
    }
    body += concat("  const ", n.is_integer ? "long long " : "float ", raw(static_cast<int>(i)),
                   " = ", value, ";\n");
  }
  const int last = static_cast<int>(nodes.size()) - 1;
  return concat(body, "  return ", nodes.back().is_integer ? "(float)" : "", raw(last), ";\n}\n");
}

// A launch may start while the one before it in the stream ends: this waits for what that one
// wrote, and lets the next one start.
constexpr const char* kOverlapping = R"(
__device__ __forceinline__ void after_the_launch_before() {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
)";
constexpr const char* kOneByOne = R"(
__device__ __forceinline__ void after_the_launch_before() {}
)";

// The hardware's sine has an absolute error, so that it may pass 1; a root or an arc of it would
// have no value then. NaN stays. Two instructions from compute capability 8.0 on.
constexpr const char* kWithinOneByMinimum = R"(
__device__ __forceinline__ float within_one(float x) {
  asm("max.NaN.f32 %0, %0, 0fBF800000;" : "+f"(x));
  asm("min.NaN.f32 %0, %0, 0f3F800000;" : "+f"(x));
  return x;
}
)";
constexpr const char* kWithinOneBySelection = R"(
__device__ __forceinline__ float within_one(float x) { return x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x; }
)";

constexpr const char* kPrelude = R"(
// as floor_remainder: exact where the quotient is right or one too great, else by fmodf
__device__ __forceinline__ float floor_mod(float a, float b) {
  const float q = floorf(a / b);
  float r = fmaf(-q, b, a);
  if (!(fabsf(q) < 16777216.0f) || r != r) r = fmodf(a, b);
  if (r == 0.0f) return copysignf(0.0f, b);
  return (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
__device__ __forceinline__ float nan_min(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }
__device__ __forceinline__ float nan_max(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
__device__ __forceinline__ float fast_sqrt(float x) { float r; asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
__device__ __forceinline__ float reduced(float x) {
  const float n = rintf(x * 0.15915494f);
  return fmaf(n, 1.7484556e-7f, fmaf(n, -6.2831855f, x));
}
__device__ __forceinline__ float fast_sin(float x) { return within_one(__sinf(reduced(x))); }
__device__ __forceinline__ float fast_cos(float x) { return within_one(__cosf(reduced(x))); }
)";

// Exact lookup: entry [iy % period][ix % period][v - least]. `rows`: the period, or 1 where all
// rows of the table are the same.
constexpr const char* kLookUp = R"(
extern "C" __global__ void __launch_bounds__(256)
look_up_kernel(float* __restrict__ values, long long n, long long width, long long first, int rows, int period,
               int least, int size, const float* __restrict__ table) {
  const long long t = 4 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
  after_the_launch_before();
  if (t >= n) return;
  if (t + 4 <= n && width % 4 == 0 && (period == 1 || period == 2 || period == 4)) {
    const float* row = table - least;
    if (rows > 1) row += ((first + t) / width % period) * period * size;
    const float* const odd = row + (period > 1 ? size : 0);
    const float4 v = __ldcg(reinterpret_cast<float4*>(values + t));
    *reinterpret_cast<float4*>(values + t) =
        make_float4(__ldg(row + (int)v.x), __ldg(odd + (int)v.y), __ldg(row + (period == 4 ? 2 * size : 0) + (int)v.z),
                    __ldg(odd + (period == 4 ? 2 * size : 0) + (int)v.w));
    return;
  }
  for (long long i = t; i < n && i < t + 4; ++i) {
    const long long y = (first + i) / width, x = (first + i) % width;
    values[i] = table[(y % rows * period + x % period) * size + (int)values[i] - least];
  }
}
)";

// Where arithmetic is little, large blocks keep the cache busiest; where it is much, small ones
// with two vectors a thread hide it best. 2048^2 values on an H200, us a launch: fast 6.1 in blocks
// of 1024 with a vector, 6.2 of 1024 with two, 6.3 of 256; precise 7.65 in blocks of 256 with two
// vectors, 7.9 with one, 7.85 with three or four, 9.2 of 1024 with one.
constexpr std::size_t kFewNodes = 12;

// `four`: a vector's values at idx and behind; `one`: a value's. The last few values have a path of
// their own behind the return: as a part of the first it costs 0.3 to 0.6 us of 7.8.
constexpr const char* kKernel = R"(
extern "C" __global__ void __launch_bounds__(kThreads)
map_kernel(float* __restrict__ values, long long n, long long width, long long first, int repeat) {
  const long long begin = 4 * (blockIdx.x * (long long)(kThreads * kVectors) + threadIdx.x);
  after_the_launch_before();
  if (begin + 4 * (kVectors - 1) * kThreads + 4 <= n) {
    float4* const p = reinterpret_cast<float4*>(values + begin);
    float4 v[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) v[k] = __ldcg(p + k * kThreads);
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      p[k * kThreads] = four(v[k], first + begin + 4 * k * kThreads, width, repeat);
    return;
  }
  for (int k = 0; k < kVectors; ++k) {
    const long long t = begin + 4 * k * kThreads;
    for (long long i = t; i < n && i < t + 4; ++i)
      values[i] = one(values[i], first + i, width, repeat);
  }
}
)";

}  // namespace

MapKernel make_map_kernel(const MapExpression& expression, MapPrecision precision,
                          std::int64_t width, bool once, bool overlaps) {
  const bool fast = precision == MapPrecision::kFast;
  const int period = expression.period();
  bool by_lane = (period == 1 || period == 2 || period == 4) && width % period == 0 &&
                 !expression.uses(MapOp::kRow);
  std::vector<MapExpression> parts;  // width is a multiple of the period: idx has ix's residue
  for (int p = 0; p < period && by_lane; ++p) {
    parts.push_back(expression.specialise(p, 0, p));
    by_lane = !parts[p].uses(MapOp::kColumn) && !parts[p].uses(MapOp::kIndex);
  }
  bool little = fast && once && by_lane;
  for (const MapExpression& part : parts) little = little && part.nodes().size() <= kFewNodes;

  MapKernel kernel;
  kernel.threads = little ? 1024 : 256;
  kernel.values = little ? 4 : 8;
  std::string& source = kernel.source;
  source = overlaps ? kOverlapping : kOneByOne;
  source += overlaps ? kWithinOneByMinimum : kWithinOneBySelection;
  source += index_arithmetic();
  source += kPrelude;
  source += kLookUp;
  source += concat("constexpr int kThreads = ", kernel.threads, ", kVectors = ", kernel.values / 4,
                   ";\n");
  const std::string loop = once ? "  " : "  for (int r = 0; r < repeat; ++r) ";
  const auto text = [](int k) { return std::to_string(k); };
  if (by_lane) {
    for (int p = 0; p < period; ++p) source += function(parts[p], fast, concat("f", text(p)));
    source +=
        "__device__ __forceinline__ float4 four(float4 v, long long, long long, int repeat) {\n";
    source += loop + "{\n";
    for (int lane = 0; lane < 4; ++lane) {
      const std::string member(1, "xyzw"[lane]);
      source +=
          concat("    v.", member, " = f", text(lane % period), "(v.", member, ", 0, 0, 0);\n");
    }
    source += "  }\n  return v;\n}\n";
    source += "__device__ float one(float v, long long idx, long long, int repeat) {\n";
    source += concat(loop, "{\n    switch (idx % ", text(period), ") {\n");
    for (int p = 0; p < period; ++p) {
      source += concat("      case ", text(p), ": v = f", text(p), "(v, 0, 0, 0); break;\n");
    }
    source += "    }\n  }\n  return v;\n}\n";
  } else {
    source += function(expression, fast, "f");
    source += concat(R"(
__device__ __forceinline__ float at(float v, long long ix, long long iy, long long idx, int repeat) {
)",
                     loop, R"(v = f(v, ix, iy, idx);
  return v;
}
__device__ __forceinline__ float one(float v, long long idx, long long width, int repeat) {
  return at(v, idx % width, idx / width, idx, repeat);
}
__device__ __forceinline__ float4 four(float4 v, long long idx, long long width, int repeat) {
  long long iy = idx / width, ix = idx - iy * width;
  const auto next = [&] { if (++ix == width) ix = 0, ++iy; };
  v.x = at(v.x, ix, iy, idx, repeat), next();
  v.y = at(v.y, ix, iy, idx + 1, repeat), next();
  v.z = at(v.z, ix, iy, idx + 2, repeat), next();
  v.w = at(v.w, ix, iy, idx + 3, repeat);
  return v;
}
)");
  }
  source += kKernel;
  return kernel;
}

}  // namespace tilewave::field
