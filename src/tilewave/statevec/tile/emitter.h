// The writer of a tile program: scheduled phases become operations and chunks. Phase terms wait in
// a pool until an operation mixes one of their slots (or the pass ends).
//
// Real factors: a lift in place and a constant phase leave out a real factor on the 1-half of their
// slot. `magnitude_[slot]` holds it: true 1-half = magnitude * stored 1-half. Later lifts, matrices
// and phases of the slot take it in; what is left is part of the scale on store.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/ops.h"
#include "tilewave/statevec/tile/program.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile::detail {

/// A term in the coordinates of one phase.
struct LocalTerm {
  std::uint32_t set = 0;  ///< register bits
  std::uint32_t thread = 0, tile = 0;
  std::uint64_t turns = 0;
};

struct EmitChoice : Way {
  bool compiled = false;  ///< for a kernel of its own, with lifts that take phases along
};

void append(std::vector<std::byte>& to, const void* data, std::size_t num_bytes);

/// Within the rounding of sums of angles of 0.
inline bool is_rounding(std::uint64_t turns) { return turns + (1u << 13) < 1u << 14; }
/// Adds a term to those that wait.
void add_term(std::vector<SlotTerm>& terms, const SlotTerm& term);

inline void pad16(std::vector<std::byte>& bytes) { bytes.resize((bytes.size() + 15) / 16 * 16); }

class Emitter {
 public:
  Emitter(const Plan& plan, const Pass& pass, const Shape& shape, const ChunkLimits& limits,
          const OpCosts& costs, EmitChoice choice)
      : plan_(plan), pass_(pass), shape_(shape), limits_(limits), choice_(choice), costs_(costs) {
    TW_CHECK(limits.num_linear <= 1u << kLaneBits, "a thread makes one linear factor at most");
    for (double& m : magnitude_) m = 1;
  }

  /// Time of the pass beyond its memory traffic (tile_tuning.h).
  double cost() const { return cost_; }

  TilePass run();

 private:
  void pay(double OpCosts::*cost, double times = 1) {
    cost_ += times * (costs_.*cost);
    paid_.*cost += times;
  }
  void frame();
  void exchange(const SlotLayout& from, const SlotLayout& to, bool arrives);
  void cross(bool arrived);
  void operation(const SlotOp& op);
  void shared_matrix(const SlotOp& op, const OpHead& head, const OpControls& controls);
  void flush(std::uint32_t slots);
  struct PhaseTable;
  PhaseTable phase_table(const std::vector<LocalTerm>& terms) const;
  void flush_table(std::uint32_t slots);
  void open_layer(TableKind kind, const std::vector<std::byte>& table);
  void matrix2(const SlotOp& op, const OpHead& head, const OpControls& controls);
  bool factored_matrix(std::vector<cplx> f, std::uint32_t code);
  bool map_terms(const SlotOp& map, std::vector<SlotTerm>& terms) const;
  std::uint32_t flushed_before(const std::vector<const SlotOp*>& maps) const;
  void flush_terms(const std::vector<SlotTerm>& terms, std::uint32_t next_slots);
  /// Sets the factor of a phase operation from the terms it stands for; returns the payload's first
  /// 16 bytes.
  std::vector<std::byte> factor(OpHead& head, const std::vector<LocalTerm>& terms, double magnitude,
                                std::vector<std::byte>& lanes);
  void emit(std::uint32_t code, OpHead head, const OpControls& controls,
            std::vector<std::byte> payload);
  std::size_t chunk_bytes() const;
  void append_op(std::uint32_t code, OpHead head, const OpControls* controls,
                 const std::vector<std::byte>& payload);
  void emit_bit(std::uint32_t code, OpHead head, std::vector<std::byte> payload);
  void make_room(const std::vector<LocalTerm>& terms);
  void put_lanes(OpHead& head, const std::vector<LocalTerm>& terms, double magnitude,
                 std::vector<std::byte>& lane_factors) const;
  void emit_phase(std::uint32_t code, std::uint32_t set, const std::vector<LocalTerm>& terms);
  void emit_bit_phase(int bit, const std::vector<LocalTerm>& terms,
                      const std::vector<std::uint64_t>& pairs);
  void lift(int slot, double t);
  bool lift_with_phase(double& m, double t);
  struct LiftWay;
  struct LiftSearch;
  std::optional<LiftWay> lift_way(int slot, double t, bool is_reversed,
                                  std::vector<SlotTerm>& pool) const;
  double cost_of_left(const LiftSearch& search, const std::vector<SlotTerm>& pool) const;
  void search_lifts(LiftSearch& search, std::uint32_t left, const LiftWay* before,
                    const std::vector<SlotTerm>& pool, double cost) const;
  std::size_t lifts_with_phases(const std::vector<Phase>& phases, std::size_t phase,
                                std::size_t item);
  void look_ahead(LiftSearch& search, const std::vector<Phase>& phases, std::size_t phase,
                  std::size_t item) const;
  bool has_range_for(int slot, double t, bool is_reversed) const;
  void choice_lift(const LiftWay& way);
  bool plain_lift(int slot, double t);
  void wait(const SlotTerm& term);
  void remove_lift();
  bool add_to_layer(std::uint32_t bit, const std::vector<std::byte>& numbers);
  void emit_tau(std::uint32_t code, int bit, double tau);
  void reset_magnitude(int slot);
  std::vector<cplx> scaled_matrix(const SlotOp& op) const;
  std::vector<Phase> schedule(Arrival& arrival);
  std::vector<std::uint32_t> shift_of(const SlotLayout& layout) const;
  void load(const SlotLayout& before, const SlotLayout& first);
  void store(const SlotLayout& first, const SlotLayout& last);
  void close_chunk();
  void list_ops();
  void put_group(std::vector<std::byte>& to, std::span<const std::uint64_t> turns) const;

  void put(std::vector<std::byte>& to, double x) const {
    if (shape_.precision == Precision::kDouble) {
      append(to, &x, 8);
    } else {
      const float f = static_cast<float>(x);
      append(to, &f, 4);
    }
  }
  void put(std::vector<std::byte>& to, cplx z) const {
    put(to, z.real());
    put(to, z.imag());
  }
  static cplx factor_of(std::uint64_t turns) {
    const Complex<double> z = turn<double>(turns);
    return {z.re, z.im};
  }
  std::uint32_t place(const std::vector<std::byte>& data) {
    pad16(out_.tables);
    const std::size_t at = out_.tables.size() / 16;
    TW_CHECK(at < kNone, "tables of a pass are too large");
    append(out_.tables, data.data(), data.size());
    return static_cast<std::uint32_t>(at);
  }
  template <class T>
  std::uint32_t place_array(const std::vector<T>& data) {
    pad16(out_.tables);
    const std::size_t at = out_.tables.size() / 16;
    TW_CHECK(at < kNone, "tables of a pass are too large");
    append(out_.tables, data.data(), data.size() * sizeof(T));
    return static_cast<std::uint32_t>(at);
  }

  struct LinearEntry {
    std::vector<std::uint64_t> tile, warp;  ///< turns of tile bits, of warps
  };
  struct General {
    std::vector<std::uint64_t> rows;  ///< [tile bit][row]
    std::vector<MixedTerm> tile_terms;
    GeneralEntry entry;
  };

  const Plan& plan_;
  const Pass& pass_;
  const Shape shape_;
  const ChunkLimits limits_;
  const EmitChoice choice_;
  const OpCosts& costs_;
  double cost_ = 0;
  OpCosts paid_ = no_costs();  ///< how often each of them is in `cost_`
  SlotPass slots_;
  double magnitude_[kMaxTileQubits];
  double unit_ = 1;  ///< what 1 stands for where all halves are 0-halves
  const SlotLayout* layout_ = nullptr;
  std::vector<SlotTerm> pool_;
  std::uint32_t future_ = 0;  ///< slots mixed by later operations
  std::uint32_t soon_ = 0;    ///< those mixed in this phase before another term of theirs comes
  std::vector<std::byte> code_;
  std::size_t last_chunk_ = 0;  ///< where the last closed chunk starts in out_.code
  std::vector<LinearEntry> linear_;
  std::vector<General> general_;
  std::size_t last_bit_op_ = 0;   ///< where the last operation starts in code_, if it is a phase on
  std::uint32_t last_bit_ = ~0u;  ///< this register bit
  std::size_t last_layer_ = 0;    ///< where the last operation starts in code_, if it is kLayer
  bool layer_open_ = false;
  std::uint32_t last_lift_ = ~0u;  ///< the register bit, if the last operation is a lift alone
  std::uint64_t owed_ = 0;         ///< turns every amplitude still has to be multiplied by
  TilePass out_;
};

}  // namespace tilewave::statevec::tile::detail
