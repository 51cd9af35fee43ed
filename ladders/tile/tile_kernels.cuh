// The kernels of the tile ladder, in the order of its steps. Index bits: a *slot* is one of the
// twelve active bits, lowest first. A gate is a 2x2 matrix on a target under at most one control.
#pragma once

#include <cuda_runtime.h>

#include <complex>

namespace tile_ladder {

using Index = unsigned long long;
using cplx = std::complex<double>;

constexpr int kSlots = 12;  // a tile: 64 KiB
constexpr int kRegisterBits = 4;
constexpr int kThreadBits = kSlots - kRegisterBits;
constexpr int kMaxGates = 600;  // that constant memory holds

enum class Kind { kHadamard, kRotation, kPhase, kFlip, kControlledPhase, kGeneral };
constexpr int kNumKinds = 6;

struct Gate {
  Kind kind;
  int target, control;  // slots; control -1: none
  double2 m[4];         // row-major
};

__host__ __device__ inline int position_of(int slot, int first) {
  return slot < 3 ? slot : first + slot - 3;
}

__device__ inline double2 operator*(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ inline double2 operator+(double2 a, double2 b) { return {a.x + b.x, a.y + b.y}; }

/// The i-th index with bit p clear.
__device__ inline Index without_bit(Index i, int p) {
  return i >> p << (p + 1) | (i & ((Index{1} << p) - 1));
}

__device__ inline void general(double2& x, double2& y, const double2* m) {
  const double2 u = m[0] * x + m[1] * y, v = m[2] * x + m[3] * y;
  x = u;
  y = v;
}

// ---- 1: a launch a gate, a kernel a kind ----

struct Matrix {
  double2 m[4];
};

template <Kind K>
__global__ void kind_kernel(double2* a, Index pairs, int target, int control, Matrix gate) {
  const Index k = Index{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= pairs) return;
  const Index low = without_bit(k, target), high = low | Index{1} << target;
  if (control >= 0 && !(low >> control & 1)) return;
  if constexpr (K == Kind::kPhase || K == Kind::kControlledPhase) {
    a[high] = a[high] * gate.m[3];
  } else if constexpr (K == Kind::kFlip) {
    const double2 x = a[low], y = a[high];
    a[low] = y;
    a[high] = x;
  } else if constexpr (K == Kind::kGeneral) {
    double2 x = a[low], y = a[high];
    general(x, y, gate.m);
    a[low] = x;
    a[high] = y;
  } else {  // real
    const double2 x = a[low], y = a[high];
    a[low] = {gate.m[0].x * x.x + gate.m[1].x * y.x, gate.m[0].x * x.y + gate.m[1].x * y.y};
    a[high] = {gate.m[2].x * x.x + gate.m[3].x * y.x, gate.m[2].x * x.y + gate.m[3].x * y.y};
  }
}
using KindKernel = void (*)(double2*, Index, int, int, Matrix);
constexpr KindKernel kKindKernels[kNumKinds] = {
    kind_kernel<Kind::kHadamard>, kind_kernel<Kind::kRotation>,        kind_kernel<Kind::kPhase>,
    kind_kernel<Kind::kFlip>,     kind_kernel<Kind::kControlledPhase>, kind_kernel<Kind::kGeneral>};

// ---- 2: a launch a gate, two kernels for all of them ----

template <bool Controlled>
__global__ void general_kernel(double2* a, Index pairs, int target, int control, Matrix gate) {
  const Index k = Index{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= pairs) return;
  const Index low = without_bit(k, target), high = low | Index{1} << target;
  if (Controlled && !(low >> control & 1)) return;
  double2 x = a[low], y = a[high];
  general(x, y, gate.m);
  a[low] = x;
  a[high] = y;
}

// ---- 3: a tile in shared memory, gates from constant memory ----

struct SharedGate {
  double2 m[4];
  int target, control;
};
/// The gates of steps 3 to 6, one after the other: constant memory has 64 KB.
constexpr int kGateMemory = 4000;
__constant__ double2 gate_memory[kGateMemory];
static_assert(sizeof(SharedGate) * kMaxGates <= sizeof(double2) * kGateMemory);

/// Where the tile starts: its number's bits go to the positions that are not active.
__device__ inline Index tile_start(Index tile, int first) {
  Index at = tile << 3;  // the low three are active
  const Index low = at & ((Index{1} << first) - 1);
  return (at - low) << (kSlots - 3) | low;
}

__device__ inline Index offset_of(unsigned slots, int first) {
  return (slots & 7u) | static_cast<Index>(slots >> 3) << first;
}

__global__ void __launch_bounds__(512) shared_kernel(double2* a, int first, int num_gates) {
  extern __shared__ double2 tile[];
  const Index start = tile_start(blockIdx.x, first);
  for (unsigned i = threadIdx.x; i < 1u << kSlots; i += blockDim.x)
    tile[i] = a[start + offset_of(i, first)];
  __syncthreads();
  for (int g = 0; g < num_gates; ++g) {
    const SharedGate& gate = reinterpret_cast<const SharedGate*>(gate_memory)[g];
    for (unsigned k = threadIdx.x; k < 1u << (kSlots - 1); k += blockDim.x) {
      const auto low = static_cast<unsigned>(without_bit(k, gate.target));
      if (gate.control >= 0 && !(low >> gate.control & 1)) continue;
      general(tile[low], tile[low | 1u << gate.target], gate.m);
    }
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < 1u << kSlots; i += blockDim.x)
    a[start + offset_of(i, first)] = tile[i];
}

// ---- 4 and 5: a tile in registers, in phases ----

enum OpKind { kExchange, kGeneralOp, kRealOp, kDiagonalOp, kSwapOp };

/// An operation on register bit `bit`, or an exchange.
struct RegisterOp {
  double2 m[4];
  unsigned char kind, bit;
  unsigned short pairs;        // bit j: acts on the pair whose lower amplitude is j
  unsigned char slot[kSlots];  // an exchange: of the register bits and the thread bits from here on
  __host__ __device__ unsigned char& thread_mask() { return slot[0]; }  // else: acts where these
  __device__ unsigned thread_mask() const { return slot[0]; }           // thread bits are 1
};
constexpr int kMaxOps = static_cast<int>(sizeof(double2) * kGateMemory / sizeof(RegisterOp));
static_assert(kMaxOps == 800);

/// Place of a slot's bit in shared memory: neighbours of every slot lie in different banks.
__host__ __device__ constexpr unsigned column(int slot) {
  return 1u << slot | (slot < 3 ? 0u : 1u << slot % 3);
}

/// On one pair of amplitudes.
template <int Op>
__device__ inline void on_pair(double2& x, double2& y, const double2* m) {
  if constexpr (Op == kGeneralOp) {
    general(x, y, m);
  } else if constexpr (Op == kDiagonalOp) {
    y = y * m[3];
  } else if constexpr (Op == kSwapOp) {
    const double2 t = x;
    x = y;
    y = t;
  } else {
    const double2 u = {m[0].x * x.x + m[1].x * y.x, m[0].x * x.y + m[1].x * y.y};
    y = {m[2].x * x.x + m[3].x * y.x, m[2].x * x.y + m[3].x * y.y};
    x = u;
  }
}

/// On all pairs of a register bit; which pairs is tested only where a register bit controls.
template <int Op, int Bit>
__device__ inline void on_bit(double2 (&a)[1 << kRegisterBits], const RegisterOp& op) {
  constexpr int kPairs = 1 << (kRegisterBits - 1);
  const double2 m[4] = {op.m[0], op.m[1], op.m[2], op.m[3]};
  const unsigned pairs = op.pairs;
  const auto low_of = [](int k) { return (k >> Bit) << (Bit + 1) | (k & ((1 << Bit) - 1)); };
  if (pairs == 0xffff) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) on_pair<Op>(a[low_of(k)], a[low_of(k) | 1 << Bit], m);
  } else {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      if (pairs >> low_of(k) & 1) on_pair<Op>(a[low_of(k)], a[low_of(k) | 1 << Bit], m);
    }
  }
}

template <bool Classes, int Bit>
__device__ inline void apply(double2 (&a)[1 << kRegisterBits], const RegisterOp& op) {
  if (!Classes || op.kind == kGeneralOp) {
    on_bit<kGeneralOp, Bit>(a, op);
  } else if (op.kind == kDiagonalOp) {
    on_bit<kDiagonalOp, Bit>(a, op);
  } else if (op.kind == kSwapOp) {
    on_bit<kSwapOp, Bit>(a, op);
  } else {
    on_bit<kRealOp, Bit>(a, op);
  }
}

__device__ inline unsigned address(const unsigned char* slot, int count, unsigned index) {
  unsigned at = 0;
  for (int b = 0; b < count; ++b) at ^= index >> b & 1 ? column(slot[b]) : 0;
  return at;
}

/// With `norms`, the sum of |a|^2 of each tile as well.
template <bool Classes, bool Norms>
__global__ void __launch_bounds__(1 << kThreadBits)
    register_kernel(double2* state, int first, int num_ops, double* norms) {
  extern __shared__ double2 tile[];
  double2 a[1 << kRegisterBits];
  double2* const start = state + tile_start(blockIdx.x, first) + offset_of(threadIdx.x, first);
#pragma unroll
  for (int j = 0; j < 1 << kRegisterBits; ++j)
    a[j] = start[offset_of(static_cast<unsigned>(j) << kThreadBits, first)];
  unsigned here = 0;  // address of amplitude 0
#pragma unroll
  for (int b = 0; b < kThreadBits; ++b) here ^= threadIdx.x >> b & 1 ? column(b) : 0;
  unsigned own[kRegisterBits];  // columns of the register bits
#pragma unroll
  for (int b = 0; b < kRegisterBits; ++b) own[b] = column(kThreadBits + b);
  const auto place = [&](int j) {
    unsigned at = here;
#pragma unroll
    for (int b = 0; b < kRegisterBits; ++b) at ^= j >> b & 1 ? own[b] : 0;
    return at;
  };
  for (int k = 0; k < num_ops; ++k) {
    const RegisterOp& op = reinterpret_cast<const RegisterOp*>(gate_memory)[k];
    if (op.kind == kExchange) {  // a thread writes where it read last: one barrier is enough
#pragma unroll
      for (int j = 0; j < 1 << kRegisterBits; ++j) tile[place(j)] = a[j];
      __syncthreads();
      here = address(op.slot + kRegisterBits, kThreadBits, threadIdx.x);
#pragma unroll
      for (int b = 0; b < kRegisterBits; ++b) own[b] = column(op.slot[b]);
#pragma unroll
      for (int j = 0; j < 1 << kRegisterBits; ++j) a[j] = tile[place(j)];
      continue;
    }
    const unsigned threads = op.thread_mask();
    if ((threadIdx.x & threads) != threads) continue;
    switch (op.bit) {
      case 0:
        apply<Classes, 0>(a, op);
        break;
      case 1:
        apply<Classes, 1>(a, op);
        break;
      case 2:
        apply<Classes, 2>(a, op);
        break;
      default:
        apply<Classes, 3>(a, op);
    }
  }
  double sum = 0;
#pragma unroll
  for (int j = 0; j < 1 << kRegisterBits; ++j) {
    start[offset_of(static_cast<unsigned>(j) << kThreadBits, first)] = a[j];
    if (Norms) sum += a[j].x * a[j].x + a[j].y * a[j].y;
  }
  if constexpr (Norms) {
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    __shared__ double of_warp[1 << (kThreadBits - 5)];
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      sum = 0;
      for (double s : of_warp) sum += s;
      norms[blockIdx.x] = sum;
    }
  }
}

}  // namespace tile_ladder
