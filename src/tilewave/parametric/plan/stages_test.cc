// Programs for the threads of a block, run row by row on the host, against passes on the CPU.
#include "tilewave/parametric/plan/stages.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "tilewave/base/bits.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/parametric/plan/batch_program.h"

namespace tilewave::parametric {
namespace {

using State = std::vector<std::complex<double>>;

struct TileRun {
  const StageProgram& p;
  const std::vector<double>& angles;
  int bank_bits;

  // The layout is what each row's number is; rows stay where they are but for flips.
  void exchange(const Exchange& e, std::uint64_t outer, State& tile) const {
    std::uint32_t plus = e.plus;
    for (std::uint32_t k = 0; k < e.num_conditions; ++k) {
      const ExchangeCondition& c = p.conditions[e.first_condition + k];
      if ((outer & c.outer) == c.outer_value) plus ^= c.plus;
    }
    std::vector<std::uint32_t> row_at(tile.size(), ~0u);
    const auto sum = [&](const std::uint16_t* columns, std::uint32_t slots) {
      std::uint32_t out = 0;
      for_each_bit(slots, [&](int s) { out ^= columns[s]; });
      return out;
    };
    for (std::uint32_t v = 0; v < tile.size(); ++v) row_at[sum(e.to, v)] = sum(e.rows, v);
    State moved(tile.size());
    for (std::uint32_t v = 0; v < tile.size(); ++v)
      moved[row_at[sum(e.from, v) ^ plus]] = tile[sum(e.rows_before, v)];
    tile = moved;
  }

  void tile(const StagePass& pass, std::uint64_t outer, State& tile) const {
    const std::uint16_t* held = p.exchanges[0].rows;  // the bit of the row in each slot
    const auto in_rows = [&](std::uint32_t registers, std::uint32_t threads) {
      std::uint32_t rows = 0;
      for_each_bit(registers | threads << p.register_bits, [&](int b) { rows |= held[b]; });
      return rows;
    };
    for (std::uint32_t k = pass.first_op; k < pass.first_op + pass.num_ops; ++k) {
      const StageOp& op = p.ops[k];
      std::uint32_t mask = in_rows(op.registers, op.thread),
                    value = in_rows(op.register_value, op.thread_value);
      const auto is_on = [&](std::uint32_t row) {
        return (row & mask) == value && (outer & op.outer) == op.outer_value;
      };
      if (op.kind == StageOpKind::kExchange) {
        exchange(p.exchanges[op.index], outer, tile);
        held = p.exchanges[op.index].rows;
      } else if (op.kind == StageOpKind::kRotate || op.kind == StageOpKind::kFlip) {
        const std::uint32_t step = held[op.bit];
        for (std::uint32_t r = 0; r < tile.size(); ++r) {
          if ((r & step) || !is_on(r)) continue;
          if (op.kind == StageOpKind::kFlip) {
            std::swap(tile[r], tile[r | step]);
            continue;
          }
          const double half = angles[static_cast<std::size_t>(op.angle)] / 2;
          const auto x = tile[r], y = tile[r | step];
          tile[r] = std::cos(half) * x - std::sin(half) * y;
          tile[r | step] = std::cos(half) * y + std::sin(half) * x;
        }
      } else if (op.kind == StageOpKind::kPhases) {
        const StagePhases& phases = p.phases[op.index];
        for (std::uint32_t m = 0; m < 1u << p.register_bits; ++m) {
          for (std::uint32_t t = phases.first[m]; t < phases.first[m + 1]; ++t) {
            const StageTerm& term = p.terms[t];
            const std::uint32_t on = in_rows(m, term.thread);
            if ((outer & term.outer) != term.outer) continue;
            for (std::uint32_t r = 0; r < tile.size(); ++r) {
              if ((r & on) == on) tile[r] *= std::polar(1.0, angles[term.angle]);
            }
          }
        }
      } else {
        const StageMatrix& m = p.matrices[op.index];
        const std::size_t dim = std::size_t{1} << m.num_bits;
        const auto at = [&](std::size_t j) {
          std::uint32_t rows = 0;
          for_each_bit(j, [&](int b) { rows |= 1u << m.bits[b]; });
          return rows;
        };
        const State before = tile;
        mask = m.row;
        value = m.row_value;
        for (std::uint32_t r = 0; r < tile.size(); ++r) {
          if ((r & at(dim - 1)) || !is_on(r)) continue;
          for (std::size_t i = 0; i < dim; ++i) {
            tile[r | at(i)] = 0;
            for (std::size_t j = 0; j < dim; ++j)
              tile[r | at(i)] += p.entries[m.first + i * dim + j] * before[r | at(j)];
          }
        }
      }
    }
    for (int s = 0; s < p.row_bits; ++s) ASSERT_EQ(held[s], p.exchanges[0].rows[s]);
  }
};

// `state` on wires has the amplitudes of `want` on qubits.
void expect_amplitudes(const Actions& actions, const State& state, const State& want) {
  for (std::uint64_t x = 0; x < want.size(); ++x) {
    std::uint64_t on = 0;
    for_each_bit(x, [&](int q) { on |= bit(actions.wire_of_qubit[static_cast<std::size_t>(q)]); });
    ASSERT_NEAR(std::abs(state[on] - want[x]), 0, 1e-12) << x;
  }
}

TEST(Stages, do_what_their_passes_do) {
  for_each_random(1, 120, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(5 + random.below(4));
    const circuit::Circuit c = random_circuit(random, n, 6, 60);
    const std::vector<double> values = random.angles(6);
    State want(std::size_t{1} << n);
    Function(c, {}, {Precision::kDouble, 1}).states({values.data(), 1}, want.data());

    const Actions actions = lower(c);
    std::vector<double> angles;
    for (const auto& a : actions.angles) angles.push_back(a.value(values));
    const int row_bits = static_cast<int>(5 + random.below(n - 4));
    const int register_bits = static_cast<int>(3 + random.below(2)), bank_bits = register_bits;
    const Passes passes = make_passes(actions, 0, row_bits, std::vector<bool>(angles.size(), true));
    const StageProgram p = make_stages(
        passes, {register_bits, bank_bits, 4096, random.below(2) == 0, random.below(2) == 0});
    State state(std::size_t{1} << n);
    state[0] = std::polar(1.0, actions.global_phase.value(values));
    for (const StagePass& pass : p.passes) {
      const std::uint64_t outer_wires = low_mask(p.num_wires) & ~pass.active;
      for (std::uint64_t k = 0; k < bit(std::popcount(outer_wires)); ++k) {
        const std::uint64_t outer = deposit_bits(k, outer_wires);
        State tile(std::size_t{1} << p.row_bits);
        for (std::uint32_t r = 0; r < tile.size(); ++r)
          tile[r] = state[outer | deposit_bits(r, pass.active)];
        TileRun{p, angles, bank_bits}.tile(pass, outer, tile);
        for (std::uint32_t r = 0; r < tile.size(); ++r)
          state[outer | deposit_bits(r, pass.active)] = tile[r];
      }
    }
    expect_amplitudes(actions, state, want);
  });
}

// Operations one by one; the angle of each is its slot.
StageProgram taken_apart(const BatchProgram& p) {
  StageProgram out;
  out.row_bits = p.row_bits;
  out.register_bits = p.register_bits;
  out.exchanges = p.exchanges;
  out.entries = p.entries;
  for (const BatchOp& op : p.ops) {
    StageOp one{StageOpKind::kRotate, op.bits, op.registers, op.register_value, op.thread,
                op.thread_value,      op.index};
    one.angle = static_cast<std::int32_t>(op.slot);
    const auto phases = [&](const auto& of_class) {
      StagePhases all;
      for (std::uint32_t m = 0; m < 1u << p.register_bits; ++m) {
        all.first[m] = static_cast<std::uint32_t>(out.terms.size());
        of_class(m);
        all.first[m + 1] = static_cast<std::uint32_t>(out.terms.size());
      }
      one.kind = StageOpKind::kPhases;
      one.index = static_cast<std::uint32_t>(out.phases.size());
      out.phases.push_back(all);
    };
    switch (op.kind) {
      case BatchOpKind::kExchange:
        one.kind = StageOpKind::kExchange;
        break;
      case BatchOpKind::kRotations:
        for_each_bit(op.bits, [&](int b) {
          one.bit = static_cast<std::uint8_t>(b);
          one.angle = static_cast<std::int32_t>(op.slot) + b;
          out.ops.push_back(one);
        });
        continue;
      case BatchOpKind::kSinglePhases:
        phases([&](std::uint32_t m) {
          if (std::popcount(m) == 1) {
            out.terms.push_back(
                {0, op.slot + static_cast<std::uint32_t>(std::countr_zero(m)), -1, 0});
          }
          for (int b = p.register_bits; m == 0 && b < p.row_bits; ++b) {
            out.terms.push_back({0, op.slot + static_cast<std::uint32_t>(b), -1,
                                 static_cast<std::uint16_t>(1 << (b - p.register_bits))});
          }
        });
        break;
      case BatchOpKind::kRotate:
        break;
      case BatchOpKind::kFlip:
        one.kind = StageOpKind::kFlip;
        break;
      case BatchOpKind::kPhases:
        phases([&](std::uint32_t m) {
          const BatchPhases& of = p.phases[op.index];
          EXPECT_EQ(of.present >> m & 1, of.first[m] < of.first[m + 1]);
          for (std::uint32_t k = op.slot + of.first[m]; k < op.slot + of.first[m + 1]; ++k)
            out.terms.push_back({0, k, -1, p.slots[k].thread});
        });
        break;
      case BatchOpKind::kMatrix: {
        one.kind = StageOpKind::kMatrix;
        one.index = static_cast<std::uint32_t>(out.matrices.size());
        out.matrices.push_back(p.matrices[op.index].matrix);
        // it says itself which bit of the row is in each slot
        std::uint32_t last = 0;
        for (const StageOp& before : out.ops) {
          if (before.kind == StageOpKind::kExchange) last = before.index;
        }
        EXPECT_EQ(0, std::memcmp(p.matrices[op.index].rows, p.exchanges[last].rows,
                                 sizeof p.exchanges[last].rows));
        break;
      }
    }
    out.ops.push_back(one);
  }
  return out;
}

TEST(BatchPrograms, do_what_their_circuits_do) {
  std::set<BatchOpKind> seen;
  for_each_random(1, 150, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(7));
    const circuit::Circuit c = random_circuit(random, n, 6, random.below(90));
    const std::vector<double> values = random.angles(6);
    State want(std::size_t{1} << n);

    Actions actions = lower(c);
    std::vector<bool> is_read;
    for (const auto& a : actions.angles) is_read.push_back(!a.terms.empty());
    const auto row_bits = std::max(4, static_cast<int>(n + random.below(2)));
    actions.num_wires = row_bits;
    const BatchProgram p =
        make_batch_program(make_passes(actions, 0, row_bits, is_read), actions.angles, 4, 3);
    const StageProgram stages = taken_apart(p);
    std::vector<double> angles;
    for (const BatchSlot& s : p.slots) {
      angles.push_back(s.angle.value(values));
      EXPECT_EQ(s.is_read, !s.angle.terms.empty());
    }
    for (const BatchOp& op : p.ops) seen.insert(op.kind);
    StagePass pass;
    pass.num_ops = static_cast<std::uint32_t>(stages.ops.size());
    // from |0...0>, and from a state on wires that are the qubits by then
    const State start = random.states(n, 1);
    for (const bool from_zero : {true, false}) {
      Sets set{values.data(), 1};
      if (!from_zero) set.initial = start.data();
      Function(c, {}, {Precision::kDouble, 1}).states(set, want.data());
      State state(std::size_t{1} << row_bits);
      const cplx global = std::polar(1.0, actions.global_phase.value(values));
      state[0] = global;
      for (std::size_t x = 0; !from_zero && x < start.size(); ++x) state[x] = global * start[x];
      TileRun{stages, angles, 3}.tile(pass, 0, state);
      expect_amplitudes(actions, state, want);
    }
  });
  EXPECT_EQ(seen.size(), 7u);
}

}  // namespace
}  // namespace tilewave::parametric
