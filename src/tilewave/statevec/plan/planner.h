// From a circuit to a plan. Three stages, each a plain function over values:
//   lower     circuit -> actions on wires: 1-qubit gates merged, X and SWAP absorbed into the
//             layout, every unitary split into phases (pushed as late as they go) and real lifts,
//             cx rz cx recognised, dense 2-qubit blocks where cheaper;
//   schedule  actions -> passes: which wires are active in each, fewest passes first;
//   place     passes on wires -> passes on positions, with phases grouped into blocks and the free
//             permutation on store chosen.
#pragma once

#include <array>
#include <bit>
#include <span>

#include "tilewave/circuit/circuit.h"
#include "tilewave/settings/names.h"
#include "tilewave/statevec/plan/overlap.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/plan_memory.h"

namespace tilewave::statevec {

struct CostModel;
/// Seconds of a pass, which must be complete. Every process of a run gets the same.
using PassPrice = double (*)(const Plan& plan, const Pass& pass, const CostModel& cost);

/// What the steps of a pass cost where its engine prices it, in the order of the terms of
/// cpu/pass_costs.h. Seconds an amplitude.
struct StepRates {
  double sweep_s = 0;          ///< a walk over the tile
  double lift_s = 0;           ///< the arithmetic of a lift
  double light_lift_s = 0;     ///< of one by additions, or of one of two by the same number
  double phase_s = 0;          ///< of a phase block: one table
  double scalar_phase_s = 0;   ///< more where rows have factors of their own
  double product_phase_s = 0;  ///< more where every row has another product of tables
  double sweep_phase_s = 0;    ///< factors in a sweep
  double link_phase_s = 0;     ///< factors between links of a layer
  double flip_s = 0;           ///< without controls, as the next
  double rotate_s = 0;
  double multiply_s = 0;  ///< one complex multiply-add (matrix row entry)
};

/// The same of its traffic beside that of full tiles, which is CostModel::bandwidth. Seconds a byte.
struct TrafficRates {
  double run_byte_s = 0;        ///< of full tiles in long runs of amplitudes
  double small_byte_s = 0;      ///< of tiles that fit the first-level cache
  double small_run_byte_s = 0;  ///< of those in long runs
  double turned_byte_s = 0;     ///< more where bits inside a row change places with others
  double moved_byte_s = 0;      ///< where rows change places in memory and nothing else
  double saved_byte_s = 0;      ///< less where what is known to be zero is not read
  double listed_row_s = 0;      ///< seconds a row in a list of cycles
};

/// The numbers of either of them.
template <class Rates>
auto list_of(const Rates& rates) {
  return std::bit_cast<std::array<double, sizeof(Rates) / sizeof(double)>>(rates);
}
template <class Rates, class F>
void for_each_rate(Rates& rates, F f) {
  auto list = list_of(rates);
  for (double& rate : list) f(rate);
  rates = std::bit_cast<Rates>(list);
}

namespace tile {
struct WriterCosts;
}

/// What a machine is good at: the planner's only knowledge of it. Times in seconds an amplitude (of
/// the whole state).
struct CostModel {
  int tile_qubits = 14;      ///< active positions of a pass
  int row_bits = 4;          ///< low positions that are active in every pass
  double bandwidth = 60e9;   ///< bytes a second of a pass, read + written
  int wide_tile_qubits = 0;  ///< a larger tile that is slower to move; 0: none
  double wide_bandwidth = 0;
  double exposed = 0.35;  ///< share of a pass's traffic that arithmetic does not hide
  double wide_exposed = 0.35;
  double wide_from_s = 0;    ///< plans whose passes take less are not tried with the larger tile
  bool mixed_tiles = false;  ///< passes that can do with the smaller tile have it in every plan
  double lift_s = 4e-11;     ///< a lift on one amplitude
  double flip_s = 4e-11;
  double rotate_s = 8e-11;    ///< without controls
  double phase_s = 1.2e-10;   ///< a phase block of any size
  double multiply_s = 4e-11;  ///< one complex multiply-add (matrix row entry)
  /// Of the time of a matrix on a pair, where it has factors (pair_factors.h); 1: the engine does not
  /// use them.
  double factored_share = 1;
  double pass_overhead_s = 5e-6;
  PassPrice price = nullptr;  ///< of an engine that knows better than the sum of actions
  StepRates steps;            ///< for `price`
  TrafficRates traffic;       ///< the same
  double touch_byte_s = 0;    ///< a byte of the state whose page is used for the first time
  int block_bits = 0;         ///< the same: row bits of the engine's blocks
  int threads = 1;            ///< the same: that share the tiles of a pass
  /// Positions that a pass of nothing but controlled flips and moves of whole rows may have to do
  /// with, however many a tile has; 0: such passes need a tile as others do.
  int move_positions = 0;
  int small_tile_qubits = 0;  ///< active positions of the tile that is moved fastest; 0: the same
  /// Phase blocks cost by their terms: each waits for its wires to change.
  bool late_phases = false;
  int search_from_qubits = 21;                ///< smaller circuits have greedy plans every time
  const tile::WriterCosts* writer = nullptr;  ///< of operations on this device; null: as shipped
  int shard_bits = 0;  ///< the state is on 2^shard_bits ranks; the rates are those of all together
  double exchange_bandwidth = 10e9;  ///< bytes a second out of each rank
  double exchange_overhead_s = 2e-5;
  Overlap overlap;  ///< of exchanges with passes

  /// So many do the arithmetic side by side.
  void share_arithmetic(double among);
};

/// All numbers of a cost model, for keys: two models with equal words lead to equal plans.
std::vector<std::uint64_t> words_of(const CostModel& cost);

struct PlanOptions {
  Precision precision = Precision::kDouble;
  bool from_zeros = false;  ///< the state is |0...0>: known zeros are used
  Layout layout = Layout::identity();
  std::uint64_t known_zero = 0;  ///< positions; ignored when from_zeros
  CostModel cost;
  /// kAuto: searched where that is predicted to pay for itself in one run, or where `memory` knows
  /// the circuit from before; plans for several ranks are searched for at once.
  Effort effort = Effort::kAuto;
  PlanMemory* memory = nullptr;  ///< null: every plan is the first of its circuit
  bool learns = true;            ///< false: `memory` does not count this as a time it was planned
  RewriteChoice rewrites;        ///< for tests: what is decided before any prediction
  /// End with the identity layout and no flips, at the price of further passes.
  bool restore_layout = false;
};

/// Plans operations [first, last) of the circuit, which must be gates, matrices or barriers; their
/// conditions are ignored (the caller leaves out what does not apply). Throws Error(kInput) for a
/// matrix on more than kMaxTargets qubits, Error(kUsage) for more ranks than the circuit can use.
Plan make_plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               const PlanOptions& options);

/// Plans a whole unitary circuit.
Plan make_plan(const circuit::Circuit& circuit, const PlanOptions& options);

}  // namespace tilewave::statevec
