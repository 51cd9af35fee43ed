// A tile pass compiled for one program: what the interpreter of tile_kernel.cuh finds out operation
// by operation is known to the compiler, which is the device's own at run time (jit_cache.h). The
// numbers of operations (angles, factors) are data, as for the interpreter, so that circuits which
// differ in them share a kernel. Those that most multiply-adds need are an argument, which they
// read without a register: an instruction with three of them takes half again as long.
//
// Compiled by NVRTC: no more of the standard library than jit_std.cuh has.
//
// A program is a struct `Program`: see jit_program.cuh.
#pragma once

#include "tilewave/statevec/cuda/jit_program.cuh"
#include "tilewave/statevec/cuda/tile_machine.cuh"

namespace tilewave::statevec::cuda {

/// XOR of the columns of the 1 bits of `j`, in the bits of `within`.
__device__ constexpr std::uint32_t known_column(
    const std::uint32_t (&column)[tile::kMaxRegisterBits], int j, std::uint32_t within) {
  std::uint32_t sum = 0;
  for (int b = 0; b < tile::kMaxRegisterBits; ++b) sum ^= j >> b & 1 ? column[b] & within : 0;
  return sum;
}

/// Columns of the amplitudes of a thread in shared memory, and the bits that can be 1 in the
/// address of amplitude 0.
struct JitPlaces {
  std::uint32_t column[tile::kMaxRegisterBits], mixed;

  static __device__ constexpr JitPlaces before(const JitExchange& x) { return of(x.write, x.from); }
  static __device__ constexpr JitPlaces after(const JitExchange& x) { return of(x.read, x.to); }

  /// Every bit that is XORed for some amplitude.
  __device__ constexpr std::uint32_t all_mixed() const {
    std::uint32_t all = 0;
    for (const std::uint32_t c : column) all |= c & mixed;
    return all;
  }

 private:
  static __device__ constexpr JitPlaces of(const std::uint32_t (&column)[tile::kMaxRegisterBits],
                                           std::uint32_t mixed) {
    JitPlaces places{{}, mixed};
    for (int b = 0; b < tile::kMaxRegisterBits; ++b) places.column[b] = column[b];
    return places;
  }
};

/// Where amplitude `j` of a thread is. Bits of its column that are 0 in every `here` (those not in
/// `mixed`) are added to the address by the access itself; the others are XORed, mostly below the
/// alignment of the tile, so that the address of the tile may be there already.
template <JitPlaces Places, class T>
__device__ __forceinline__ Complex<T>* known_place(std::byte* shared, std::uint32_t here, int j) {
  const std::uint32_t low = known_column(Places.column, j, Places.mixed);
  const std::uint32_t high = known_column(Places.column, j, ~Places.mixed);
  if constexpr (Places.all_mixed() < kTileAlignment) {
    const auto tile = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    auto* const at = static_cast<std::byte*>(__cvta_shared_to_generic((tile + here) ^ low));
    return reinterpret_cast<Complex<T>*>(at + high);
  } else {
    return reinterpret_cast<Complex<T>*>(shared + ((here ^ low) + high));
  }
}

/// 0, which the assembler does not know (grids have one dimension). Addresses that an exchange
/// writes to are those that the one before read from; with this in them they are made again, where
/// they would be kept, and in double precision spilled, from one to the next.
__device__ __forceinline__ std::uint32_t unknown_zero() { return blockIdx.y; }

/// The assembler gives out its uniform registers a basic block at a time: in one as long as a pass,
/// it reads arguments (JitNumbers) again for every instruction. A jump that is never taken ends it.
__device__ __forceinline__ void end_basic_block() {
  std::uint32_t zero;
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(zero));
  if (zero) __trap();
}

/// Runs the blocks of a program.
template <class Program>
struct Compiled {
  using T = typename Program::Real;
  static constexpr bool kIsKnown = true;
  static constexpr int RB = tile::kMaxRegisterBits;
  static constexpr int K = Program::kBlockQubits;
  using TileMachine = Machine<T, K, RB, Program::kBlockBits>;

  struct Place {
    Complex<T> (&a)[1 << RB];
    std::uint32_t& here;
    const std::byte* window;
    const tile::PhaseContext<T>& context;
    std::uint32_t tile;
    const TileMachine& machine;
    const JitNumbers<T, Program::kNumbers>& numbers;
    std::uint32_t offset;  ///< of the numbers of a block, see JitBlock
  };

  const JitNumbers<T, Program::kNumbers>& numbers;

  /// Number k of an operation.
  template <JitList List>
  static __device__ __forceinline__ T number(const Place& p, std::uint32_t k, const T* in_payload) {
    const std::uint32_t at = List.at[k];
    return at ? p.numbers.value[at - 1] : *in_payload;
  }

  template <JitList List>
  static __device__ __forceinline__ tile::LiftNumbers<T> lift_numbers(const Place& p,
                                                                      const std::byte* payload) {
    if constexpr (List.at[0] && List.at[1]) {
      return {p.numbers.value[List.at[0] - 1], p.numbers.value[List.at[1] - 1]};
    } else {
      return tile::lift_numbers<T>(payload);
    }
  }

  static __device__ __forceinline__ Complex<T>* first_place(std::byte* shared, std::uint32_t here,
                                                            int j) {
    return known_place<JitPlaces::after(Program::exchange(0)), T>(shared, here, j);
  }

  __device__ __forceinline__ void operator()(Complex<T> (&a)[1 << RB], std::uint32_t& here,
                                             const std::byte* window,
                                             const tile::PhaseContext<T>& context,
                                             std::uint32_t tile_number,
                                             const TileMachine& machine) const {
    Program::template run_blocks<Compiled>(
        {a, here, window, context, tile_number, machine, numbers, 0});
  }

  /// One block.
  template <std::uint32_t B>
  static __device__ __forceinline__ void run(const Place& p) {
    constexpr JitBlock block = Program::block(B);
    apply_all<block.first>(p, std::make_index_sequence<block.last - block.first>{});
  }

  template <std::uint32_t First, std::size_t... I>
  static __device__ __forceinline__ void apply_all(const Place& p, std::index_sequence<I...>) {
    (apply<First + static_cast<std::uint32_t>(I)>(p), ...);
  }

  static __device__ constexpr int lower_bit(std::uint32_t pair) {
    return static_cast<int>(pair) - upper_bit(pair) * (upper_bit(pair) - 1) / 2;
  }
  static __device__ constexpr int upper_bit(std::uint32_t pair) {
    int s = 1;
    while ((s + 1) * s / 2 <= static_cast<int>(pair)) ++s;
    return s;
  }

  template <std::uint32_t I, bool Ends>
  static __device__ __forceinline__ void exchange(const Place& p, const std::byte* payload) {
    constexpr JitExchange x = Program::exchange(I);
    std::byte* const shared = p.machine.shared;
    const std::uint32_t from = sizeof(T) == 8 ? p.here ^ unknown_zero() : p.here;
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) {
      *known_place<JitPlaces::before(x), T>(shared, from, j) = p.a[j];
    }
    p.here = columns<K - RB>(x.thread, threadIdx.x) ^ x.constant;
    if constexpr (x.tile_columns > 0) {
      const auto* column = reinterpret_cast<const std::uint32_t*>(payload);
      p.here ^= tile::exchange_shift(column + 2 * RB + (K - RB), p.tile) ^ x.constant;
    }
    __syncthreads();
    if constexpr (Ends) end_basic_block();
#pragma unroll
    for (int j = 0; j < 1 << RB; ++j) {
      p.a[j] = *known_place<JitPlaces::after(x), T>(shared, p.here, j);
    }
  }

  /// W of a phase.
  template <JitList List>
  static __device__ __forceinline__ Complex<T> factor(const Place& p, tile::OpWord head,
                                                      const std::byte* payload,
                                                      const Complex<T>* lanes) {
    if constexpr (List.at[0] && List.at[1]) {
      return {p.numbers.value[List.at[0] - 1], p.numbers.value[List.at[1] - 1]};
    } else {
      return tile::phase_factor(head, payload, lanes, p.context);
    }
  }

  template <int R, std::uint32_t Kind, JitList List>
  static __device__ __forceinline__ void phase(const Place& p, tile::OpWord head,
                                               const std::byte* payload) {
    constexpr bool kAlone = Kind == tile::kPhase || Kind == tile::kPhaseLift;
    const auto* in_payload = reinterpret_cast<const Complex<T>*>(payload + 32);
    Complex<T> pairs[RB - 1] = {};
    if constexpr (!kAlone) {
#pragma unroll
      for (std::uint32_t b = 0; b < RB - 1; ++b) {
        pairs[b] = {number<List>(p, 4 + 2 * b, &in_payload[b].re),
                    number<List>(p, 5 + 2 * b, &in_payload[b].im)};
      }
    }
    const auto* lanes = reinterpret_cast<const Complex<T>*>(
        payload + 32 + (kAlone ? 0 : tile::pair_bytes<RB, T>()));
    const Complex<T> w = factor<List>(p, head, payload, lanes);
    if constexpr (Kind < tile::kPhaseLift) {
      tile::phase_by<R, RB, Kind>(p.a, w, pairs);
    } else {
      const auto* lift = reinterpret_cast<const T*>(payload + 16);
      const T g = number<List>(p, 2, lift), s = number<List>(p, 3, lift + 1);
      tile::butterflies<R, RB, Kind>(p.a, tile::lifted_factor(head, w, g), pairs, s);
    }
  }

  template <int R, std::uint32_t Pairs, std::uint32_t Flags, bool IsImaginary, JitList List>
  static __device__ __forceinline__ void choice(const Place& p, const T* in_payload) {
    using tile::ChoiceLift;
    constexpr bool kSigned = Flags & ChoiceLift::kSigned;
    const auto num = [&](std::uint32_t k) { return number<List>(p, k, in_payload + k); };
    const T* const own =
        kSigned ? ChoiceLift::signed_factors(in_payload, p.context.thread, p.tile) : nullptr;
    tile::choice_lift<R, RB>(p.a, Pairs, kSigned, Flags & ChoiceLift::kReversed, IsImaginary,
                             num(0), kSigned ? T{0} : num(1), [&](std::uint32_t c) {
                               const std::uint32_t at = ChoiceLift::kFirstFactor + 2 * c;
                               return kSigned ? Complex<T>{own[2 * c], own[2 * c + 1]}
                                              : Complex<T>{num(at), num(at + 1)};
                             });
  }

  template <int R, std::uint32_t Kind>
  static __device__ __forceinline__ void tau(Complex<T> (&a)[1 << RB], T tau) {
    tile::map_upper<R, RB>(a, [&](Complex<T> x) { return tile::times_tau<Kind>(x, tau); });
  }

  template <std::uint32_t I>
  static __device__ __forceinline__ void apply(const Place& p) {
    using namespace tile;
    constexpr JitOp op = Program::op(I);
    constexpr OpWord head{op.word};
    constexpr std::uint32_t code = head.code();
    if constexpr (op.ends != 0 && code != kExchange) end_basic_block();
    const std::byte* const controls = p.window + (head.extent() + p.offset) + sizeof(OpHead);
    const std::byte* const payload = controls + (head.controlled() ? sizeof(OpControls) : 0);
    constexpr JitList kList = Program::list(op.list);
    const auto* const in_payload = reinterpret_cast<const T*>(payload);
    const auto num = [&](std::uint32_t k) { return number<kList>(p, k, in_payload + k); };
    const bool acts =
        !head.controlled() ||
        op_allowed(head, *reinterpret_cast<const OpControls*>(controls), p.context.thread, p.tile);
    const auto* const lanes = reinterpret_cast<const Complex<T>*>(payload + 16);
    if constexpr (code == kEnd) {
      p.machine.next_chunk();
    } else if constexpr (code == kExchange) {
      exchange<op.detail, op.ends != 0>(p, payload);
      if constexpr (Program::kBlockBits > 0 && head.index() != 0) arrive_at_cluster();
    } else if constexpr (code == kCross) {
      p.machine.cross(head.index() != 0);
    } else if constexpr (code == kGeneral) {
      p.machine.make_general(head.index());
    } else if constexpr (code == kPhaseAll) {
      phase_all<RB>(p.a, factor<kList>(p, head, payload, lanes));
    } else if constexpr (code == kPhaseSet) {
      phase_set<RB>(p.a, factor<kList>(p, head, payload, lanes), op.pairs);
    } else if constexpr (code == kMatrixShared) {
      p.machine.shared_matrix(payload, acts, op.pairs);
    } else if constexpr (code >= kMatrix2 && code < kFactored2) {
      constexpr int R = lower_bit(code - kMatrix2), S = upper_bit(code - kMatrix2);
      if (acts) matrix2<R, S, RB>(p.a, in_payload, op.pairs);
    } else if constexpr (code >= kFactored2 && code < kTauOne) {
      constexpr int R = lower_bit(code - kFactored2), S = upper_bit(code - kFactored2);
      factored2<R, S, RB>(p.a, reinterpret_cast<const Complex<T>*>(payload), head.index() != 0);
#define TW_ONE_BIT(KIND, ...)                            \
  }                                                      \
  else if constexpr (code >= KIND && code < KIND + RB) { \
    constexpr int R = static_cast<int>(code - KIND);     \
    __VA_ARGS__;
      TW_ONE_BIT(kFlip, if (acts) flip<R, RB>(p.a, op.pairs))
      TW_ONE_BIT(kRotate, if (acts) rotate<R, RB>(p.a, num(0), num(1), op.pairs))
      TW_ONE_BIT(kMatrix1, T m[8]; for (int k = 0; k < 8; ++k) m[k] = num(k);
                 if (acts) matrix1<R, RB>(p.a, m, op.pairs))
      TW_ONE_BIT(kTauOne, (tau<R, kTauOne>(p.a, num(0))))
      TW_ONE_BIT(kTauI, (tau<R, kTauI>(p.a, num(0))))
      TW_ONE_BIT(kTauReal, (tau<R, kTauReal>(p.a, num(0))))
      TW_ONE_BIT(kPhase, (phase<R, kPhase, kList>(p, head, payload)))
      TW_ONE_BIT(kPhaseUpper, (phase<R, kPhaseUpper, kList>(p, head, payload)))
      TW_ONE_BIT(kPhasePairs, (phase<R, kPhasePairs, kList>(p, head, payload)))
      TW_ONE_BIT(kPhaseLift, (phase<R, kPhaseLift, kList>(p, head, payload)))
      TW_ONE_BIT(kPhaseUpperLift, (phase<R, kPhaseUpperLift, kList>(p, head, payload)))
      TW_ONE_BIT(kPhasePairsLift, (phase<R, kPhasePairsLift, kList>(p, head, payload)))
      TW_ONE_BIT(
          kChoiceLift,
          (choice<R, op.pairs, static_cast<std::uint32_t>(head.factor()), head.index() != 0, kList>(
              p, in_payload)))
      TW_ONE_BIT(kLift, (lift<R, RB>(p.a, lift_numbers<kList>(p, payload))))
#undef TW_ONE_BIT
    } else {
      static_assert(code == kEnd, "an operation that is not compiled");
    }
  }
};

/// `f`: a constant of the program.
template <class Program>
__device__ __forceinline__ void run_compiled_pass(
    const PassFrame& f, const TileArguments<typename Program::Real>& args,
    const JitNumbers<typename Program::Real, Program::kNumbers>& numbers) {
  run_tile_pass<typename Program::Real, Program::kBlockQubits, tile::kMaxRegisterBits,
                Program::kBlockBits>(f, args, Compiled<Program>{numbers});
}

}  // namespace tilewave::statevec::cuda
