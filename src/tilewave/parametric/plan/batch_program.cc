// See batch_program.h.
#include "tilewave/parametric/plan/batch_program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "tilewave/base/error.h"

namespace tilewave::parametric {
namespace {

class Builder {
 public:
  Builder(const StageProgram& stages, const std::vector<circuit::AffineAngle>& angles)
      : in_(stages), angles_(angles) {
    out_.row_bits = in_.row_bits;
    out_.register_bits = in_.register_bits;
    out_.exchanges = in_.exchanges;
    out_.entries = in_.entries;
  }

  BatchProgram run() {
    std::uint32_t exchange = 0;
    for (const StageOp& op : in_.ops) {
      if (op.kind == StageOpKind::kRotate && !op.registers && !op.thread) {
        rotation(op);
        continue;
      }
      BatchOp next;
      next.registers = op.registers;
      next.register_value = op.register_value;
      next.thread = op.thread;
      next.thread_value = op.thread_value;
      next.index = op.index;
      next.slot = static_cast<std::uint32_t>(out_.slots.size());
      switch (op.kind) {
        case StageOpKind::kExchange:
          next.kind = BatchOpKind::kExchange;
          next.thread = 0;  // conditions of an exchange, of which there are none in one pass
          exchange = op.index;
          break;
        case StageOpKind::kRotate:
          next.kind = BatchOpKind::kRotate;
          next.bits = op.bit;
          add_slot(op.angle, 0.5, op.read, next);
          break;
        case StageOpKind::kFlip:
          next.kind = BatchOpKind::kFlip;
          next.bits = op.bit;
          break;
        case StageOpKind::kPhases:
          phases(in_.phases[op.index], next);
          break;
        case StageOpKind::kMatrix: {
          next.kind = BatchOpKind::kMatrix;
          next.index = static_cast<std::uint32_t>(out_.matrices.size());
          BatchMatrix matrix{in_.matrices[op.index]};
          std::copy_n(in_.exchanges[exchange].rows, kMostTileBits, matrix.rows);
          out_.matrices.push_back(matrix);
          break;
        }
      }
      out_.ops.push_back(next);
    }
    return std::move(out_);
  }

 private:
  void add_slot(std::int32_t angle, double share, std::int32_t read, BatchOp& op) {
    out_.slots.push_back({angles_[static_cast<std::size_t>(angle)], share, 0, read >= 0});
    op.reads += read >= 0;
  }

  // Rotations of different bits one after the other are one operation.
  void rotation(const StageOp& op) {
    const auto bit = static_cast<std::uint8_t>(1u << op.bit);
    if (out_.ops.empty() || out_.ops.back().kind != BatchOpKind::kRotations ||
        (out_.ops.back().bits & bit)) {
      BatchOp next;
      next.kind = BatchOpKind::kRotations;
      next.slot = static_cast<std::uint32_t>(out_.slots.size());
      out_.ops.push_back(next);
      out_.slots.resize(out_.slots.size() + static_cast<std::size_t>(in_.register_bits));
    }
    BatchOp& all = out_.ops.back();
    all.bits |= bit;
    all.reads += op.read >= 0;
    out_.slots[all.slot + op.bit] = {angles_[static_cast<std::size_t>(op.angle)], 0.5, 0,
                                     op.read >= 0};
  }

  void phases(const StagePhases& all, BatchOp& op) {
    std::map<std::pair<std::uint32_t, std::uint16_t>, BatchSlot> terms;  // by class and thread
    bool single = true;
    for (std::uint32_t m = 0; m < 1u << in_.register_bits; ++m) {
      for (std::uint32_t k = all.first[m]; k < all.first[m + 1]; ++k) {
        const StageTerm& t = in_.terms[k];
        BatchSlot& slot = terms[{m, t.thread}];
        slot.thread = t.thread;
        circuit::add_scaled(slot.angle, angles_[t.angle], 1);
        slot.is_read |= t.read >= 0;
        single &= std::popcount(m) + std::popcount(unsigned{t.thread}) == 1;
      }
    }
    for (auto& [where, slot] : terms) {
      slot.is_read &= !slot.angle.terms.empty();  // angles may add up to a constant
      op.reads += slot.is_read;
    }
    if (single && terms.size() > 1) {
      op.kind = BatchOpKind::kSinglePhases;
      out_.slots.resize(out_.slots.size() + static_cast<std::size_t>(in_.row_bits));
      for (auto& [where, slot] : terms) {
        const auto [m, thread] = where;
        const int bit =
            m ? std::countr_zero(m) : in_.register_bits + std::countr_zero(unsigned{thread});
        out_.slots[op.slot + static_cast<std::uint32_t>(bit)] = std::move(slot);
      }
      return;
    }
    op.kind = BatchOpKind::kPhases;
    op.index = static_cast<std::uint32_t>(out_.phases.size());
    BatchPhases own;
    std::uint32_t m = 0;
    for (auto& [where, slot] : terms) {
      const auto next = static_cast<std::uint16_t>(out_.slots.size() - op.slot);
      for (; m <= where.first; ++m) own.first[m] = next;
      own.present = static_cast<std::uint16_t>(own.present | 1u << where.first);
      out_.slots.push_back(std::move(slot));
    }
    const auto end = out_.slots.size() - op.slot;
    TW_CHECK(end < 1u << 16, "phases of a stage have few different masks");
    for (; m <= 1u << in_.register_bits; ++m) own.first[m] = static_cast<std::uint16_t>(end);
    out_.phases.push_back(own);
  }

  const StageProgram& in_;
  const std::vector<circuit::AffineAngle>& angles_;
  BatchProgram out_;
};

}  // namespace

BatchProgram make_batch_program(const Passes& passes,
                                const std::vector<circuit::AffineAngle>& angles, int register_bits,
                                int bank_bits) {
  TW_CHECK(passes.passes.size() <= 1, "a state that fits a tile has one pass");
  StageOptions options;
  options.register_bits = register_bits;
  options.bank_bits = bank_bits;
  return Builder(make_stages(passes, options), angles).run();
}

}  // namespace tilewave::parametric
