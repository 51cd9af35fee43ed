// One operation of a tile program on one thread's amplitudes: from its word to the function of
// ops.h, for host and device. One jump an operation, nothing else is decided on the way.
#pragma once

#include "tilewave/statevec/tile/matrix_ops.h"
#include "tilewave/statevec/tile/phase_ops.h"

// The compiler makes a tree of comparisons of a switch, and its levels, far apart in the code, cost
// more than most operations. On the device the jump is written by hand, one through a table; the
// switch that follows it only tells the compiler where each operation starts. Nothing that the
// compiler puts between the two is ever run: so each operation takes the word and the place of its
// code anew from its label, and nothing that depends on them can be computed before.
#if defined(__CUDA_ARCH__)
#define TW_LABEL(CODE)                                                                  \
  if constexpr (Ahead) {                                                                \
    asm volatile(                                                                       \
        "TW_OP_%7:\n{\n.reg .u64 at;\ncvt.u64.u32 at, %6;\nld.param.u64 %3, [at];\n}\n" \
        "mov.u32 %0, %4;\nmov.u32 %1, %5;\nmov.u32 %2, 0;"                              \
        : "=r"(head.word), "=r"(listed), "=r"(skipped), "=l"(next.op)                   \
        : "r"(now.word.word), "r"(now.pairs), "r"(next.at), "n"((CODE) + 0)             \
        : "memory");                                                                    \
  } else {                                                                              \
    asm volatile("TW_OP_%5:\nmov.u32 %0, %3;\nmov.u32 %1, %4;\nmov.u32 %2, 0;"          \
                 : "=r"(head.word), "=r"(listed), "=r"(skipped)                         \
                 : "r"(now.word.word), "r"(now.pairs), "n"((CODE) + 0)                  \
                 : "memory");                                                           \
  }                                                                                     \
  static_assert(true)
#define TW_OP_LABELS                                                                           \
  "TW_OP_0, TW_OP_1, TW_OP_2, TW_OP_3, TW_OP_4, TW_OP_5, TW_OP_6, TW_OP_7, TW_OP_8, "          \
  "TW_OP_9, TW_OP_10, TW_OP_11, TW_OP_12, TW_OP_13, TW_OP_14, TW_OP_15, TW_OP_16, TW_OP_17, "  \
  "TW_OP_18, TW_OP_19, TW_OP_20, TW_OP_21, TW_OP_22, TW_OP_23, TW_OP_24, TW_OP_25, TW_OP_26, " \
  "TW_OP_27, TW_OP_28, TW_OP_29, TW_OP_30, TW_OP_31, TW_OP_32, TW_OP_33, TW_OP_34, TW_OP_35, " \
  "TW_OP_36, TW_OP_37, TW_OP_38, TW_OP_39, TW_OP_40, TW_OP_41, TW_OP_42, TW_OP_43, TW_OP_44, " \
  "TW_OP_45, TW_OP_46, TW_OP_47, TW_OP_48, TW_OP_49, TW_OP_50, TW_OP_51, TW_OP_52, TW_OP_53, " \
  "TW_OP_54, TW_OP_55, TW_OP_56, TW_OP_57, TW_OP_58, TW_OP_59, TW_OP_60, TW_OP_61, TW_OP_62, " \
  "TW_OP_63, TW_OP_64, TW_OP_65, TW_OP_66, TW_OP_67, TW_OP_68, TW_OP_69, TW_OP_70, TW_OP_71, " \
  "TW_OP_72, TW_OP_73, TW_OP_74, TW_OP_75, TW_OP_76, TW_OP_77, TW_OP_78, TW_OP_79"
#define TW_JUMP(CODE)                                                                        \
  asm volatile("{\n.reg .b32 code;\nmov.b32 code, %0;\nTW_OPS: .branchtargets " TW_OP_LABELS \
               ";\nbrx.idx code, TW_OPS;\n}" ::"r"(CODE)                                     \
               : "memory")
#define TW_UNREACHABLE() __builtin_unreachable()
#else
#define TW_LABEL(CODE) head = now.word, listed = now.pairs, skipped = 0
#define TW_JUMP(CODE)
#define TW_UNREACHABLE() break
#endif

namespace tilewave::statevec::tile {

/// The operation after the present one, for machines that read it ahead: its address among the
/// kernel's parameters, and its ListedOp, from the lowest bits on, once the present one has begun.
struct NextOp {
  std::uint32_t at = 0;
  std::uint64_t op = 0;
};

/// Applies one operation of the chunk at `chunk` to a thread's amplitudes; what all threads do
/// together is the machine's: exchange(payload, crosses), cross(arrived), shared_matrix(payload,
/// acts, pairs), make_general(entry), next_chunk().
template <int RB, OpSet Set, bool Ahead, class T, class Machine>
TW_HD void apply_op(Complex<T> (&a)[1 << RB], ListedOp now, const std::byte* chunk,
                    const PhaseContext<T>& context, std::uint32_t tile, const Machine& machine,
                    [[maybe_unused]] NextOp& next) {
  OpWord head{};
  std::uint32_t listed = 0, skipped = 0;
  const auto at = [&]() { return chunk + head.extent(); };
  const auto payload = [&]() { return at() + sizeof(OpHead) + skipped; };
  // Payload after the controls; false where the operation does not act.
  const auto allowed = [&]() {
    if (!head.controlled()) return true;
    const OpControls& controls = *reinterpret_cast<const OpControls*>(payload());
    skipped = sizeof(OpControls);
    return op_allowed(head, controls, context.thread, tile);
  };
  // In double precision there is no register for the listed ones while an operation runs.
  const auto pairs = [&]() {
    return kFewMoves<T> ? listed : reinterpret_cast<const OpHead*>(at())->pairs;
  };
  const auto numbers = [&]() { return reinterpret_cast<const T*>(payload()); };
  LiftNumbers<T> first;
  TW_JUMP(now.word.code());
  switch (now.word.code()) {
// One case a kind and register bit, so that the bit R is a compile-time constant.
#define TW_EACH_BIT(KIND, ...)     \
  TW_ONE_BIT(KIND, 0, __VA_ARGS__) \
  TW_ONE_BIT(KIND, 1, __VA_ARGS__) \
  TW_ONE_BIT(KIND, 2, __VA_ARGS__) \
  TW_ONE_BIT(KIND, 3, __VA_ARGS__) \
  TW_ONE_BIT(KIND, 4, __VA_ARGS__)
#define TW_ONE_BIT(KIND, BIT, ...)          \
  case KIND + BIT:                          \
    TW_LABEL(KIND + BIT);                   \
    if constexpr (BIT < RB) {               \
      constexpr int R = BIT < RB ? BIT : 0; \
      __VA_ARGS__;                          \
    }                                       \
    break;
#define TW_ONE_PAIR(R, S)                                                                        \
  case kMatrix2 + S*(S - 1) / 2 + R:                                                             \
    TW_LABEL(kMatrix2 + S * (S - 1) / 2 + R);                                                    \
    if constexpr (S < RB && Set == OpSet::kAll) {                                                \
      if (allowed()) matrix2<R, S, RB>(a, numbers(), pairs());                                   \
    }                                                                                            \
    break;                                                                                       \
  case kFactored2 + S*(S - 1) / 2 + R:                                                           \
    TW_LABEL(kFactored2 + S * (S - 1) / 2 + R);                                                  \
    if constexpr (S < RB && Set != OpSet::kLean) {                                               \
      factored2<R, S, RB>(a, reinterpret_cast<const Complex<T>*>(payload()), head.index() != 0); \
    }                                                                                            \
    break;
    case kEnd:
      TW_LABEL(kEnd);
      machine.next_chunk();
      break;
    case kExchange:
      TW_LABEL(kExchange);
      machine.exchange(payload(), head.index() != 0);
      break;
    case kCross:
      TW_LABEL(kCross);
      machine.cross(head.index() != 0);
      break;
    case kGeneral:
      TW_LABEL(kGeneral);
      machine.make_general(head.index());
      break;
    case kMatrixShared:
      TW_LABEL(kMatrixShared);
      if constexpr (Set == OpSet::kAll) {
        const bool acts = allowed();
        machine.shared_matrix(payload(), acts, pairs());
      }
      break;
    case kPhaseAll:
      TW_LABEL(kPhaseAll);
      phase_all<RB>(a, phase_factor(head, payload(),
                                    reinterpret_cast<const Complex<T>*>(payload() + 16), context));
      break;
    case kTable:
      TW_LABEL(kTable);
      first = lift_numbers<T>(payload());
      factors<RB>(a, reinterpret_cast<const Complex<T>*>(payload() + 16 * RB));
      goto lifts_of_layer;
    case kTable + 1:
      TW_LABEL(kTable + 1);
      first = lift_numbers<T>(payload());
      rotations<RB>(a, reinterpret_cast<const Complex<T>*>(payload() + 16 * RB));
      goto lifts_of_layer;
    case kLayer:
      TW_LABEL(kLayer);
      first = lift_numbers<T>(payload());
    lifts_of_layer:
      lifts<0, RB>(a, head.index(), payload(), first);
      break;
    case kPhaseSet:
      TW_LABEL(kPhaseSet);
      phase_set<RB>(a,
                    phase_factor(head, payload(),
                                 reinterpret_cast<const Complex<T>*>(payload() + 16), context),
                    pairs());
      break;
      TW_EACH_BIT(kLift, (lift<R, RB>(a, lift_numbers<T>(payload()))))
      TW_EACH_BIT(kTauOne, (bit_tau<R, RB, kTauOne>(a, head, payload())))
      TW_EACH_BIT(kTauI, (bit_tau<R, RB, kTauI>(a, head, payload())))
      TW_EACH_BIT(kTauReal, (bit_tau<R, RB, kTauReal>(a, head, payload())))
#if !defined(__CUDA_ARCH__)  // on devices in compiled kernels alone
      TW_EACH_BIT(kPhaseLift, (phase_and_lift<R, RB, kPhaseLift>(a, head, payload(), context)))
      TW_EACH_BIT(kPhaseUpperLift,
                  (phase_and_lift<R, RB, kPhaseUpperLift>(a, head, payload(), context)))
      TW_EACH_BIT(kPhasePairsLift,
                  (phase_and_lift<R, RB, kPhasePairsLift>(a, head, payload(), context)))
      TW_EACH_BIT(kChoiceLift,
                  (choice_lift<R, RB>(a, head, pairs(), numbers(), context.thread, tile)))
#endif
      TW_EACH_BIT(kPhase, (bit_phase<R, RB, kPhase>(a, head, payload(), context)))
      TW_EACH_BIT(kPhaseUpper, (bit_phase<R, RB, kPhaseUpper>(a, head, payload(), context)))
      TW_EACH_BIT(kPhasePairs, (bit_phase<R, RB, kPhasePairs>(a, head, payload(), context)))
      TW_EACH_BIT(kFlip, if (allowed()) flip<R, RB>(a, pairs()))
      TW_EACH_BIT(kRotate, if (allowed()) rotate<R, RB>(a, numbers()[0], numbers()[1], pairs()))
      TW_EACH_BIT(
          kMatrix1, if constexpr (Set != OpSet::kLean) {
            if (allowed()) matrix1<R, RB>(a, numbers(), pairs());
          })
      TW_ONE_PAIR(0, 1)
      TW_ONE_PAIR(0, 2)
      TW_ONE_PAIR(1, 2)
      TW_ONE_PAIR(0, 3)
      TW_ONE_PAIR(1, 3)
      TW_ONE_PAIR(2, 3)
      TW_ONE_PAIR(0, 4)
      TW_ONE_PAIR(1, 4)
      TW_ONE_PAIR(2, 4)
      TW_ONE_PAIR(3, 4)
#undef TW_EACH_BIT
#undef TW_ONE_BIT
#undef TW_ONE_PAIR
    default:
      TW_UNREACHABLE();
  }
}

}  // namespace tilewave::statevec::tile
