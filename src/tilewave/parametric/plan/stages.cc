// See stages.h.
#include "tilewave/parametric/plan/stages.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/plan/waiting.h"

namespace tilewave::parametric {
namespace {

// An operation of a tile by itself: phases are one item a term.
struct Item {
  TileOpKind kind = TileOpKind::kRotate;
  Touch rows;             // bits of the row's number
  Bits controls, values;  // kPhases: of one term, all 1
  std::int32_t angle = -1, read = -1;
  std::uint32_t matrix = 0;

  bool is_affine_flip() const {
    return kind == TileOpKind::kFlip && std::popcount(controls.row) <= 1 &&
           (controls.row == 0 || controls.outer == 0);
  }
  bool needs_register() const {
    return kind == TileOpKind::kRotate || (kind == TileOpKind::kFlip && !is_affine_flip());
  }
};

constexpr std::uint32_t kLeastTabled = 3;  // terms that are worth a table

using Layout = std::array<int, kMostTileBits>;  // the bit of the row in each slot

class Stager {
 public:
  Stager(const Passes& passes, const StageOptions& options) : in_(passes), options_(options) {
    out_.num_wires = passes.num_wires;
    out_.row_bits = passes.row_bits;
    out_.register_bits = options.register_bits;
    out_.zeros = passes.zeros;
    out_.read_angle = passes.read_angle;
    TW_CHECK(passes.lane_bits == 0 && out_.row_bits <= kMostTileBits &&
                 options.register_bits <= std::min(kMostRegisterBits, out_.row_bits),
             "tiles fit the registers of a block");
  }

  StageProgram run() {
    reset_map();
    layout_ = layout_with(top_bits());
    out_.exchanges.push_back(exchange_to(layout_));
    for (const Pass& pass : in_.passes) {
      pass_ = {pass.active, pass.zeros, pass.first_read, pass.num_reads,
               static_cast<std::uint32_t>(out_.ops.size())};
      pass_.first_exchange = static_cast<std::uint32_t>(out_.exchanges.size());
      pass_.first_phases = static_cast<std::uint32_t>(out_.phases.size());
      pass_.first_term = static_cast<std::uint32_t>(out_.terms.size());
      list_items(pass);
      reset_map();
      layout_ = layout_with(top_bits());
      while (!items_.empty()) {
        const std::size_t before = items_.size();
        emit_in_registers();
        if (items_.size() < before) continue;
        // phases wait until nothing else can run: those of a layer are one sweep then
        if (const std::uint32_t next = choose_registers(false)) {
          gather_flips();
          exchange(layout_with(next));
          continue;
        }
        emit_phases();
        if (items_.size() < before || emit_matrix()) continue;
        gather_flips();
        const std::uint32_t next = choose_registers(true);
        exchange(layout_with(next ? next : top_bits()));
        TW_CHECK(next || items_.size() < before, "every stage runs some operation");
      }
      if (has_flips_ || registers() != top_bits()) exchange(layout_with(top_bits()));
      pass_.num_ops = static_cast<std::uint32_t>(out_.ops.size()) - pass_.first_op;
      pass_.num_phases = static_cast<std::uint32_t>(out_.phases.size()) - pass_.first_phases;
      pass_.num_terms = static_cast<std::uint32_t>(out_.terms.size()) - pass_.first_term;
      share_memory();
      out_.passes.push_back(pass_);
    }
    return std::move(out_);
  }

 private:
  std::uint32_t all_rows() const { return (1u << out_.row_bits) - 1; }
  std::uint32_t top_bits() const {
    return all_rows() & ~((1u << (out_.row_bits - out_.register_bits)) - 1);
  }
  std::uint32_t registers() const {
    std::uint32_t bits = 0;
    for (int s = 0; s < out_.register_bits; ++s) bits |= 1u << layout_[static_cast<std::size_t>(s)];
    return bits;
  }
  std::int32_t own_read(std::int32_t read) const {
    return read < 0 ? -1 : read - static_cast<std::int32_t>(pass_.first_read);
  }

  void list_items(const Pass& pass) {
    for (const TileOp& op : pass.ops) {
      Item item;
      item.kind = op.kind;
      if (op.kind == TileOpKind::kPhases) {
        for (std::uint32_t k = op.first; k < op.first + op.count; ++k) {
          const PhaseTerm& term = in_.terms[k];
          item.controls = item.values = term.on;
          item.rows.touched = term.on.row;
          item.angle = static_cast<std::int32_t>(term.angle);
          item.read = own_read(term.read);
          items_.push_back(item);
        }
        continue;
      }
      item.controls = op.controls;
      item.values = op.values;
      item.angle = op.angle;
      item.read = own_read(op.read);
      item.matrix = op.first;
      item.rows.moved =
          op.kind == TileOpKind::kMatrix ? in_.matrices[op.first].all.row : 1u << op.target;
      item.rows.touched = item.rows.moved | op.controls.row;
      items_.push_back(item);
    }
  }

  template <class W, class F>
  void take(W wanted, F run) {
    items_.take(
        all_rows(), [](const Item& item) { return item.rows; }, wanted, run);
  }

  // Addresses of as many exchanges, and accumulators of as many derivatives, as there is room for.
  void share_memory() {
    const std::size_t threads = std::size_t{1} << (out_.row_bits - out_.register_bits);
    const std::size_t exchanges = out_.exchanges.size() - pass_.first_exchange;
    const std::size_t factor_bytes = std::size_t{128} >> options_.bank_bits;
    const std::size_t program = pass_.num_ops * (sizeof(StageOp) + factor_bytes) +
                                pass_.num_terms * (sizeof(StageTerm) + factor_bytes) +
                                pass_.num_phases * sizeof(StagePhases) + 64;
    if (!options_.compiled && program <= std::min(kMostProgramBytes, options_.shared_bytes / 2))
      pass_.kept_program_bytes = static_cast<std::uint32_t>((program + 15) / 16 * 16);
    const std::size_t left = options_.shared_bytes - pass_.kept_program_bytes;
    const std::size_t for_addresses = options_.reads && !options_.compiled ? left / 2 : left;
    pass_.num_kept =
        static_cast<std::uint32_t>(std::min(exchanges, for_addresses / (threads * kAddressBytes)));
    if (!options_.reads) return;
    const std::size_t most =
        (left - pass_.num_kept * threads * kAddressBytes) / (threads * kAccumulatorBytes);
    pass_.first_accumulated = static_cast<std::uint32_t>(out_.reads.size());
    const auto add = [&](std::int32_t read, std::uint32_t thread) {
      out_.reads.push_back({static_cast<std::uint32_t>(read), pass_.num_accumulators, thread});
    };
    for (std::uint32_t k = pass_.first_op; k < pass_.first_op + pass_.num_ops; ++k) {
      StageOp& op = out_.ops[k];
      if (op.kind == StageOpKind::kRotate && op.read >= 0 && !options_.compiled &&
          pass_.num_accumulators < most) {
        add(op.read, 0);
        op.accumulator = static_cast<std::int32_t>(pass_.num_accumulators++);
      }
      if (op.kind != StageOpKind::kPhases) continue;
      StagePhases& phases = out_.phases[op.index];
      for (std::uint32_t m = 0; m < 1u << out_.register_bits; ++m) {
        const std::size_t before = out_.reads.size();
        if (pass_.num_accumulators >= most) break;
        // a sum over a warp costs a compiled kernel no more than one or two accumulators
        if (options_.compiled && phases.tabled[m] - phases.first[m] < kLeastTabled) continue;
        for (std::uint32_t j = phases.first[m]; j < phases.tabled[m]; ++j) {
          if (out_.terms[j].read >= 0) add(out_.terms[j].read, out_.terms[j].thread);
        }
        if (out_.reads.size() > before)
          phases.accumulator[m] = static_cast<std::int32_t>(pass_.num_accumulators++);
      }
    }
    pass_.num_accumulated = static_cast<std::uint32_t>(out_.reads.size()) - pass_.first_accumulated;
  }

  // Bits of a row as bits of the register's number.
  std::uint8_t in_register(std::uint32_t rows) const {
    std::uint32_t bits = 0;
    for (int s = 0; s < out_.register_bits; ++s)
      bits |= (rows >> layout_[static_cast<std::size_t>(s)] & 1) << s;
    return static_cast<std::uint8_t>(bits);
  }

  // Bits of a row as bits of the thread's number.
  std::uint16_t in_thread(std::uint32_t rows) const {
    std::uint32_t bits = 0;
    for (int s = out_.register_bits; s < out_.row_bits; ++s)
      bits |= (rows >> layout_[static_cast<std::size_t>(s)] & 1) << (s - out_.register_bits);
    return static_cast<std::uint16_t>(bits);
  }

  void emit_phases() {
    std::vector<Item> terms;
    take([](const Item& item) { return item.kind == TileOpKind::kPhases; },
         [&](const Item& item) { terms.push_back(item); });
    if (terms.empty()) return;
    std::stable_sort(terms.begin(), terms.end(), [&](const Item& a, const Item& b) {
      return std::pair(in_register(a.controls.row), a.controls.outer != 0) <
             std::pair(in_register(b.controls.row), b.controls.outer != 0);
    });
    StagePhases phases;
    std::size_t k = 0;
    const std::uint32_t classes = 1u << out_.register_bits;
    for (std::uint32_t m = 0; m < classes; ++m) {
      const auto first = phases.first[m] = static_cast<std::uint32_t>(out_.terms.size());
      phases.tabled[m] = first;
      for (; k < terms.size() && in_register(terms[k].controls.row) == m; ++k) {
        const Item& t = terms[k];
        out_.terms.push_back({t.controls.outer, static_cast<std::uint32_t>(t.angle), t.read,
                              in_thread(t.controls.row)});
        phases.reads += t.read >= 0;
        phases.tabled[m] += !t.controls.outer;
      }
      phases.table[m] = phases.accumulator[m] = -1;
      if (options_.tables && phases.tabled[m] - first >= kLeastTabled) {
        phases.table[m] = static_cast<std::int32_t>(out_.tables.size());
        out_.tables.push_back({first, phases.tabled[m]});
      }
    }
    phases.first[classes] = static_cast<std::uint32_t>(out_.terms.size());
    StageOp op{StageOpKind::kPhases};
    op.index = static_cast<std::uint32_t>(out_.phases.size());
    out_.phases.push_back(phases);
    out_.ops.push_back(op);
  }

  StageOp with_controls(StageOpKind kind, const Item& item) const {
    StageOp op{kind};
    op.registers = in_register(item.controls.row);
    op.register_value = in_register(item.values.row);
    op.thread = in_thread(item.controls.row);
    op.thread_value = in_thread(item.values.row);
    op.outer = item.controls.outer;
    op.outer_value = item.values.outer;
    op.angle = item.angle;
    op.read = item.read;
    return op;
  }

  void emit_in_registers() {
    const std::uint32_t held = registers();
    take([&](const Item& item) { return item.needs_register() && !(item.rows.moved & ~held); },
         [&](const Item& item) {
           StageOp op = with_controls(
               item.kind == TileOpKind::kRotate ? StageOpKind::kRotate : StageOpKind::kFlip, item);
           op.bit =
               static_cast<std::uint8_t>(std::countr_zero(unsigned{in_register(item.rows.moved)}));
           out_.ops.push_back(op);
         });
  }

  // The first item, where it is a matrix; in any layout, through shared memory.
  bool emit_matrix() {
    if (items_.front().kind != TileOpKind::kMatrix) return false;
    const Item& item = items_.front();
    StageOp op = with_controls(StageOpKind::kMatrix, item);
    op.index = static_cast<std::uint32_t>(out_.matrices.size());
    const TileMatrix& m = in_.matrices[item.matrix];
    StageMatrix placed;
    placed.num_bits = static_cast<std::uint32_t>(std::countr_zero(m.at.size()));
    for (std::uint32_t k = 0; k < placed.num_bits; ++k)
      placed.bits[k] = static_cast<std::uint16_t>(std::countr_zero(m.at[std::size_t{1} << k].row));
    placed.row = item.controls.row;
    placed.row_value = item.values.row;
    placed.first = static_cast<std::uint32_t>(out_.entries.size());
    out_.entries.insert(out_.entries.end(), m.entries.begin(), m.entries.end());
    out_.matrices.push_back(placed);
    out_.ops.push_back(op);
    items_.pop_front();
    return true;
  }

  // ---- flips: r -> L r + k ----
  void reset_map() {
    for (int b = 0; b < out_.row_bits; ++b) columns_[static_cast<std::size_t>(b)] = 1u << b;
    plus_ = 0;
    conditions_.clear();
    has_flips_ = false;
  }

  void gather_flips() {
    take([](const Item& item) { return item.is_affine_flip(); },
         [&](const Item& item) {
           has_flips_ = true;
           const std::uint32_t target = item.rows.moved, control = item.controls.row;
           const bool is_on_zero = control && !item.values.row;
           if (!item.controls.outer) {
             add_control(columns_, control, target);
             plus_ ^= (plus_ & control) ? target : 0;
             for (ExchangeCondition& c : conditions_)
               c.plus ^= static_cast<std::uint16_t>((c.plus & control) ? target : 0);
             if (!control || is_on_zero) plus_ ^= target;
             return;
           }
           conditions_.push_back(
               {item.controls.outer, item.values.outer, static_cast<std::uint16_t>(target)});
         });
  }
  static void add_control(std::array<std::uint32_t, kMostTileBits>& columns, std::uint32_t control,
                          std::uint32_t target) {
    for (std::uint32_t& c : columns) c ^= (c & control) ? target : 0;
  }

  // How many operations run in registers with these bits held, with phases between them or without.
  std::size_t work(std::uint32_t held, bool with_phases) const {
    Waiting waiting;
    std::size_t sum = 0;
    for (const Item& item : items_) {
      if (waiting.lets(item.rows)) {
        if (with_phases && item.kind == TileOpKind::kPhases) continue;
        if (item.needs_register() && !(item.rows.moved & ~held)) {
          ++sum;
          continue;
        }
      }
      waiting.add(item.rows);
      if (!(~waiting.touched & all_rows())) break;
    }
    return sum;
  }

  // 0 where nothing runs in any.
  std::uint32_t choose_registers(bool with_phases) const {
    std::uint32_t held = 0;
    std::size_t most = 0;
    while (std::popcount(held) < out_.register_bits) {
      std::uint32_t best = 0;
      std::size_t best_work = 0;
      for (int b = out_.row_bits - 1; b >= 0; --b) {
        if (held >> b & 1) continue;
        const std::size_t more = work(held | 1u << b, with_phases);
        if (best && more <= best_work) continue;
        best = 1u << b;
        best_work = more;
      }
      held |= best;
      most = best_work;
    }
    return most ? held : 0;
  }

  // ---- layouts ----
  // Threads of a warp beside each other: their first bits meet different banks where bits of the row
  // fold onto different bits of the bank.
  Layout layout_with(std::uint32_t held) const {
    Layout layout{};
    std::size_t slot = 0;
    for (int b = 0; b < out_.row_bits; ++b) {
      if (held >> b & 1) layout[slot++] = b;
    }
    std::uint32_t left = all_rows() & ~held;
    for (int k = 0; k < options_.bank_bits; ++k) {
      for (int b = k; b < out_.row_bits; b += options_.bank_bits) {
        if (!(left >> b & 1)) continue;
        layout[slot++] = b;
        left &= ~(1u << b);
        break;
      }
    }
    for (; left; left &= left - 1) layout[slot++] = std::countr_zero(left);
    return layout;
  }

  Exchange exchange_to(const Layout& to) const {
    Exchange e;
    for (std::size_t s = 0; s < static_cast<std::size_t>(out_.row_bits); ++s) {
      e.from[s] = address(columns_[static_cast<std::size_t>(layout_[s])]);
      e.to[s] = address(1u << to[s]);
      e.rows[s] = static_cast<std::uint16_t>(1u << to[s]);
      e.rows_before[s] = static_cast<std::uint16_t>(1u << layout_[s]);
    }
    e.plus = address(plus_);
    return e;
  }
  std::uint16_t address(std::uint32_t row) const {
    return static_cast<std::uint16_t>(swizzle(row, options_.bank_bits));
  }

  void exchange(const Layout& to) {
    Exchange e = exchange_to(to);
    e.first_condition = static_cast<std::uint32_t>(out_.conditions.size());
    e.num_conditions = static_cast<std::uint16_t>(conditions_.size());
    for (ExchangeCondition c : conditions_) {
      c.plus = address(c.plus);
      out_.conditions.push_back(c);
    }
    StageOp op{StageOpKind::kExchange};
    op.thread = e.num_conditions;
    op.index = static_cast<std::uint32_t>(out_.exchanges.size());
    out_.exchanges.push_back(e);
    out_.ops.push_back(op);
    layout_ = to;
    reset_map();
  }

  const Passes& in_;
  const StageOptions options_;
  StageProgram out_;
  StagePass pass_;
  Queue<Item> items_;
  Layout layout_{};
  std::array<std::uint32_t, kMostTileBits> columns_{};
  std::uint32_t plus_ = 0;
  std::vector<ExchangeCondition> conditions_;
  bool has_flips_ = false;
};

}  // namespace

StageProgram make_stages(const Passes& passes, const StageOptions& options) {
  return Stager(passes, options).run();
}

}  // namespace tilewave::parametric
