// See kernels.h. Written once and compiled for every instruction set that is worth it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/parametric/cpu/kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' headers come after
#include "tilewave/parametric/cpu/phases-inl.h"
#include "tilewave/parametric/cpu/rotations-inl.h"
#include "tilewave/parametric/cpu/strings-inl.h"
#include "tilewave/parametric/cpu/vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tilewave::parametric::cpu {
namespace HWY_NAMESPACE {

template <class T, bool kBack>
void run_one(const TileWork<T>& work, const TileOp& op) {
  switch (op.kind) {
    case TileOpKind::kRotate:
      return rotate<T, kBack>(work, op);
    case TileOpKind::kPhases:
      return phases<T, kBack>(work, op);
    case TileOpKind::kFlip:
      flip<T>(work, op, work.psi);
      if constexpr (kBack) flip<T>(work, op, work.lam);
      return;
    case TileOpKind::kMatrix:
      multiply<T>(work, op, work.psi, kBack);
      if constexpr (kBack) multiply<T>(work, op, work.lam, true);
      return;
  }
}

// Flips from the k-th operation on as one movement of rows, where that is less work: how many.
template <class T, bool kBack, class At>
std::size_t run_flips(const TileWork<T>& work, const At& at, std::size_t k, std::size_t count) {
  constexpr std::size_t kMost = 64;
  const TileOp* ops[kMost];
  std::size_t size = 0;
  double sweeps = 0;  // one by one: half of the rows under a control of rows
  while (size < kMost && k + size < count && moves_rows(*at(k + size))) {
    const TileOp* op = at(k + size);
    ops[size++] = op;
    if ((work.outer & op->controls.outer) == op->values.outer) sweeps += op->controls.row ? 0.5 : 1;
  }
  if (sweeps <= 2) return 0;
  move_rows<T>(work, ops, size, work.psi);
  if constexpr (kBack) move_rows<T>(work, ops, size, work.lam);
  return size;
}

// Operations [begin, end) of the pass, backward from the last one. Rotations of different rows' bits
// side by side, so many at a time as the registers hold.
template <class T, bool kBack>
void run_part(const TileWork<T>& work, std::size_t begin, std::size_t end) {
  const auto& ops = work.pass->ops;
  const std::size_t count = end - begin;
  const auto at = [&](std::size_t k) { return &ops[kBack ? end - 1 - k : begin + k]; };
  constexpr std::size_t kMost = kBack ? 2 : 3;
  for (std::size_t k = 0; k < count;) {
    const TileOp* some[kMost];
    std::size_t size = 0;
    while (size < kMost && k + size < count && is_plain_rotation<T>(*at(k + size))) {
      const TileOp* op = at(k + size);
      bool is_new = true;
      for (std::size_t j = 0; j < size; ++j) is_new &= some[j]->target != op->target;
      if (!is_new) break;
      some[size++] = op;
    }
    const std::size_t flips = size == 0 ? run_flips<T, kBack>(work, at, k, count) : 0;
    if (flips) {
      k += flips;
      continue;
    }
    if (size == 2) {
      rotate_several<T, 2, kBack>(work, some);
    } else if (size == 3) {
      if constexpr (kMost == 3) rotate_several<T, 3, kBack>(work, some);
    } else {
      size = 1;
      run_one<T, kBack>(work, *at(k));
    }
    k += size;
  }
}

template <class T, bool kBack>
void run(const TileWork<T>& work) {
  run_part<T, kBack>(work, 0, work.pass->ops.size());
}

// Both states through the operations up to one whose angles change, then what that adds.
template <class T>
void run_tangent(const TileWork<T>& work) {
  const auto& ops = work.pass->ops;
  TileWork<T> other = work;
  other.psi = work.lam;
  const auto changes = [&](const TileOp& op) {
    if (op.kind == TileOpKind::kRotate) return work.moves[op.angle] != 0;
    bool any = false;
    for (std::uint32_t k = op.first; op.kind == TileOpKind::kPhases && k < op.first + op.count; ++k)
      any |= work.moves[work.passes->terms[k].angle] != 0;
    return any;
  };
  std::size_t done = 0;
  for (std::size_t k = 0; k < ops.size(); ++k) {
    const bool adds = changes(ops[k]);
    if (!adds && k + 1 < ops.size()) continue;
    run_part<T, false>(work, done, k + 1);
    run_part<T, false>(other, done, k + 1);
    done = k + 1;
    if (!adds) continue;
    if (ops[k].kind == TileOpKind::kRotate) {
      add_rotation_tangent<T>(work, ops[k]);
    } else {
      add_phase_tangents<T>(work, ops[k]);
    }
  }
}

template <class T>
void all_sincos(const double* angles, T* factors, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    V<T> c, s;
    sincos<T>(angles + k * kLanes<T>, c, s);
    reinterpret_cast<V<T>*>(factors)[2 * k] = c;
    reinterpret_cast<V<T>*>(factors)[2 * k + 1] = s;
  }
}

template <class T>
Kernels<T> table() {
  return {run<T, false>,  run<T, true>,    run_tangent<T>, all_sincos<T>,
          add_strings<T>, read_strings<T>, dot<T>,         hwy::TargetName(HWY_TARGET)};
}
Kernels<double> table_f64() { return table<double>(); }
Kernels<float> table_f32() { return table<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::parametric::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::parametric::cpu {

HWY_EXPORT(table_f64);
HWY_EXPORT(table_f32);

template <>
const Kernels<double>& kernels<double>() {
  static const Kernels<double> kTable = HWY_DYNAMIC_DISPATCH(table_f64)();
  return kTable;
}
template <>
const Kernels<float>& kernels<float>() {
  static const Kernels<float> kTable = HWY_DYNAMIC_DISPATCH(table_f32)();
  return kTable;
}

}  // namespace tilewave::parametric::cpu
#endif
