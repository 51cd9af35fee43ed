#include "tilewave/statevec/cpu/tile_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/held_scales.h"
#include "tilewave/statevec/cpu/low_weights.h"
#include "tilewave/statevec/plan/pair_factors.h"

namespace tilewave::statevec::cpu {

std::uint32_t swizzle(std::uint32_t row, bool is_double) {
  // A row is 1 KiB (FP64) or 512 B: 4 (8) rows fill one way of the first-level cache. The low 2 (3)
  // bits of the place are the sum of columns of the row's bits, so that any choice of row bits
  // reaches all of them.
  static constexpr std::uint32_t kDouble[3] = {3, 1, 2};
  static constexpr std::uint32_t kSingle[7] = {3, 6, 5, 7, 1, 2, 4};
  const int low = is_double ? 2 : 3;
  std::uint32_t place = row;
  for (std::uint32_t high = row >> low, k = 0; high; high >>= 1, ++k) {
    if (high & 1) place ^= is_double ? kDouble[k % 3] : kSingle[k % 7];
  }
  return place;
}

namespace {

template <class T>
class Compiler {
 public:
  Compiler(const Plan& plan, const Pass& pass, int row_bits)
      : plan_(plan),
        pass_(pass),
        slots_(pass),
        outline_(make_outline(plan, pass, row_bits)),
        held_(plan, pass, outline_) {
    program_.num_slots = slots_.num_slots();
  }

  TileProgram<T> run() {
    for (const OutlinePhase& phase : outline_) add_phase(phase);
    return std::move(program_);
  }

 private:
  using Split = BlockSlots::Split;

  void add_phase(const OutlinePhase& outline) {
    BlockPhase<T> phase;
    const std::uint64_t row_slots = outline.row_slots;
    const std::uint64_t outer_slots =
        low_mask(program_.num_slots) & ~row_slots & ~low_mask(kLowBits);
    slots_.enter(row_slots);
    phase.num_row_bits = slots_.num_row_bits();
    constexpr bool kDouble = sizeof(T) == 8;
    for (std::uint64_t r = 0; r < bit(phase.num_row_bits); ++r) {
      phase.rows.push_back(
          swizzle(static_cast<std::uint32_t>(deposit_bits(r, row_slots) >> kLowBits), kDouble));
    }
    for (std::uint64_t o = 0; o < bit(std::popcount(outer_slots)); ++o) {
      const std::uint64_t slot_bits = deposit_bits(o, outer_slots);
      phase.outer.push_back(swizzle(static_cast<std::uint32_t>(slot_bits >> kLowBits), kDouble));
      std::uint64_t index = 0;
      for_each_bit(slot_bits, [&](int s) { index |= bit(pass_.active[s]); });
      phase.outer_index.push_back(index);
    }
    steps_ = &phase.steps;
    const auto weights = choose_low_weights(outline.steps);
    for (std::size_t k = 0; k < outline.steps.size(); ++k) {
      const OutlineStep& step = outline.steps[k];
      step.action ? add_action(*step.action) : add_stage(step.stage, weights[k]);
    }
    program_.phases.push_back(std::move(phase));
  }

  void add_action(const Action& a) {
    switch (a.kind) {
      case ActionKind::kFlip:
        add_flip(a);
        return;
      case ActionKind::kRotate: {
        const cplx m[4] = {a.m[0], a.m[1], a.m[2], a.m[3]};
        add_dense(a, m);
        return;
      }
      default:
        if (!add_factored(a)) add_dense(a, held_.take_matrix(a).data());
        return;
    }
  }

  void add_flip(const Action& a) {
    const Split target = split(bit(a.targets[0])), controls = split(a.control_mask),
                values = split(a.control_value);
    if (target.rows && !controls.low) {
      RowFlip flip;
      flip.target = std::countr_zero(target.rows);
      flip.control_mask = controls.rows;
      flip.control_value = values.rows;
      push(a, flip);
      return;
    }
    MaskedFlip flip;
    flip.row_target = target.rows ? std::countr_zero(target.rows) : -1;
    flip.offset = target.low;
    flip.low_mask = controls.low;
    flip.low_value = values.low;
    flip.control_mask = controls.rows;
    flip.control_value = values.rows;
    push(a, flip);
  }

  Split split(std::uint64_t positions) const { return slots_.split(positions); }

  template <class Step>
  void push(const Action& a, Step step) {
    BlockStep<T> s;
    s.outside_mask = split(a.control_mask).outside;
    s.outside_value = a.control_value & s.outside_mask;
    s.step = std::move(step);
    steps_->push_back(std::move(s));
  }

  // Lifts by one t are taken two and two where that divides them by a number, which the tile's
  // scale makes good.
  LayerStep<T> lifts_of(const LayerStep<double>& lifts, const LowWeights& weights) {
    LayerStep<T> out;
    out.mask = lifts.mask;
    out.reflected = lifts.reflected;
    out.weighted = weights.weighted;
    for (int k = 0; k < kLowBits + kMaxRowBits; ++k) out.t[k] = static_cast<T>(lifts.t[k]);
    const auto take_pairs = [&](std::uint32_t mask) {
      if (std::popcount(mask) < 2) return false;
      const T t = out.t[std::countr_zero(mask)];
      if (std::abs(t) == 1) return false;
      for (std::uint32_t left = mask; left; left &= left - 1) {
        if (out.t[std::countr_zero(left)] != t) return false;
      }
      const double square = static_cast<double>(t) * static_cast<double>(t);
      program_.scale *= std::pow(1 + square, std::popcount(mask) / 2);
      return true;
    };
    out.low_pair = !(out.weighted & kPairMask) && take_pairs(out.mask & kPairMask);
    out.row_pairs = take_pairs(lifts.mask >> kLowBits << kLowBits);
    return out;
  }

  void add_stage(const Stage& stage, const std::vector<LowWeights>& weights) {
    if (stage.has_inside() || stage.lifts.mask) {
      Layer<T> layer;
      layer.has_phase = !stage.terms.empty();
      if (layer.has_phase)
        layer.phase = make_phase_program<T>(stage.terms, slots_.num_row_bits(), weights[0].factors);
      layer.lifts = lifts_of(stage.lifts, weights[0]);
      for (std::size_t l = 0; l < stage.links.size(); ++l)
        layer.links.push_back(link_of(stage.links[l], weights[l + 1]));
      layer.weighs = std::any_of(weights.begin(), weights.end(),
                                 [](const LowWeights& w) { return w.weighted != 0; });
      steps_->push_back({0, 0, std::move(layer)});
    }
    for (const StageSweep& sweep : stage.sweeps) steps_->push_back({0, 0, sweep_of(sweep)});
  }

  LinkProgram<T> link_of(const StageLink& link, const LowWeights& weights) {
    LinkProgram<T> out{make_column_phases<T>(link.terms, weights.factors), 0,
                       lifts_of(link.lifts, weights)};
    for (std::uint32_t a = 0; a < kRowLength; ++a) {
      for (const SplitTerm& t : link.terms) {
        if ((a & t.low) == t.low) out.columns |= bit(static_cast<int>(a));
      }
    }
    if (weights.has_factors()) out.columns = ~std::uint64_t{0};
    return out;
  }

  SweepProgram<T> sweep_of(const StageSweep& sweep) const {
    SweepProgram<T> out;
    SweepStep<T>& step = out.step;
    step.num_bits = sweep.num_bits;
    step.reflected = sweep.reflected;
    // of the rows that differ in the sweep's bits only
    const auto in_group = [&](std::uint32_t rows) {
      std::uint32_t mask = 0;
      for (int k = 0; k < sweep.num_bits; ++k) mask |= (rows >> sweep.bits[k] & 1) << k;
      return mask;
    };
    const auto used = [&](const SplitTerms& terms) {
      std::uint32_t numbers = 0;
      for (std::uint32_t j = 0; j < 1u << sweep.num_bits; ++j) {
        for (const SplitTerm& t : terms) {
          if ((in_group(t.rows) & ~j) == 0) numbers |= 1u << j;
        }
      }
      return numbers;
    };
    out.before = make_row_phases<T>(sweep.before, slots_.num_row_bits());
    step.before_used = used(sweep.before);
    for (int k = 0; k < sweep.num_bits; ++k) {
      step.bits[k] = sweep.bits[k];
      step.t[k] = static_cast<T>(sweep.t[k]);
      SplitTerms after = sweep.after[k];
      step.after_used[k] = used(after);
      for (SplitTerm& t : after) t.rows = in_group(t.rows);
      out.after[k] = make_row_phases<T>(after, sweep.num_bits);
    }
    return out;
  }

  // For a bit inside vectors, beside which `other` is: one of the row number where the block has it.
  int partner_of(int other) const {
    const int rows = slots_.num_row_bits() > 1
                         ? kLowBits
                         : std::countr_zero(static_cast<unsigned>(kernels_.lanes));
    return other == rows ? rows + 1 : rows;
  }

  // A matrix on two targets by its factors; false where it has none.
  bool add_factored(const Action& a) {
    const PairFactors* const plain = held_.factors_of(a);
    if (!plain) return false;
    FactoredStep<T> step;
    int num_lanes = 0;
    for (int b = 0; b < 2; ++b) {
      const int target = plain->exchanged ? 1 - b : b, place = slots_.place(a.targets[target]),
                other = slots_.place(a.targets[1 - target]);
      const bool inverted = plain->flips >> target & 1;
      step.upper[b] = place;
      if (place < kLowBits && 1 << place < kernels_.lanes) {
        if (inverted) return false;
        step.lane[b] = place;
        step.upper[b] = partner_of(other);
        ++num_lanes;
      }
      for (std::uint32_t v = 0; v < 4; ++v)
        step.vectors[v] |= ((v >> b & 1) ^ std::uint32_t{inverted}) << step.upper[b];
    }
    if (num_lanes == 2) return false;  // as many shuffles as multiply-adds are saved
    const PairFactors factors = held_.take_factors(a);
    for (std::size_t j = 0; j < 4; ++j) {
      step.first[j] = static_cast<T>(factors.first[j]);
      step.second[j] = static_cast<T>(factors.second[j]);
      step.tangent[j] = static_cast<T>(factors.tangent[j]);
      step.third[j] = static_cast<T>(factors.third[j]);
      step.weight_re[j] = static_cast<T>(factors.weight[j].real());
      step.weight_im[j] = static_cast<T>(factors.weight[j].imag());
    }
    program_.scale *= factors.scale;
    push(a, std::move(step));
    return true;
  }

  // A matrix on one or two targets with registers for all its inputs; false where it does not fit.
  bool add_pair(const Action& a, const cplx* m) {
    const std::uint32_t lanes = static_cast<std::uint32_t>(kernels_.lanes);
    const Split controls = split(a.control_mask), values = split(a.control_value);
    const std::uint32_t lane_controls = controls.low & (lanes - 1);
    PairStep<T> step;
    int upper_target[2] = {}, lane_target[2] = {};  // which bit of the matrix index each one is
    if (a.num_targets > 2) return false;
    for (int j = 0; j < a.num_targets; ++j) {
      const int place = slots_.place(a.targets[j]);
      const bool is_lane = place < kLowBits && (lanes >> place) > 1;
      int& count = is_lane ? step.num_lanes : step.num_upper;
      int* places = is_lane ? step.lane : step.upper;
      int* targets = is_lane ? lane_target : upper_target;
      const bool first = count == 1 && places[0] > place;
      if (first) {
        places[1] = places[0];
        targets[1] = targets[0];
      }
      places[first ? 0 : count] = place;
      targets[first ? 0 : count] = j;
      ++count;
    }
    if (step.num_lanes == 0 && lane_controls) return false;
    step.control_mask = (controls.low & ~lane_controls) | controls.rows << kLowBits;
    step.control_value = (values.low & ~lane_controls) | values.rows << kLowBits;
    const std::size_t dim = std::size_t{1} << a.num_targets;
    step.real = std::all_of(m, m + dim * dim, [](const cplx& x) { return x.imag() == 0; });
    const std::size_t vectors = std::size_t{1} << step.num_upper,
                      masks = std::size_t{1} << step.num_lanes, width = step.num_lanes ? lanes : 1;
    const auto matrix_index = [&](std::size_t vector, std::size_t lane) {
      std::size_t index = 0;
      for (int j = 0; j < step.num_upper; ++j) index |= (vector >> j & 1) << upper_target[j];
      for (int j = 0; j < step.num_lanes; ++j)
        index |= (lane >> step.lane[j] & 1) << lane_target[j];
      return index;
    };
    for (std::size_t o = 0; o < vectors; ++o) {
      for (std::size_t i = 0; i < vectors; ++i) {
        for (std::size_t k = 0; k < masks; ++k) {
          std::size_t offset = 0;
          for (int j = 0; j < step.num_lanes; ++j) offset |= (k >> j & 1) << step.lane[j];
          std::vector<T> re(width), im(width);
          for (std::size_t x = 0; x < width; ++x) {
            const bool acts = (x & lane_controls) == (values.low & lane_controls);
            const cplx value = acts ? m[matrix_index(o, x) * dim + matrix_index(i, x ^ offset)]
                                    : cplx(o == i && k == 0 ? 1.0 : 0.0);
            re[x] = static_cast<T>(value.real());
            im[x] = static_cast<T>(value.imag());
          }
          step.coefficients.insert(step.coefficients.end(), re.begin(), re.end());
          step.coefficients.insert(step.coefficients.end(), im.begin(), im.end());
        }
      }
    }
    push(a, std::move(step));
    return true;
  }

  // The matrix m on the action's targets, under its controls, as tables over rows and offsets
  // inside a row.
  void add_dense(const Action& a, const cplx* m) {
    if (add_pair(a, m)) return;
    const int k = a.num_targets;
    const std::size_t dim = std::size_t{1} << k;
    DenseStep<T> step;
    std::vector<int> row_targets, low_targets;  // indices of targets
    for (int j = 0; j < k; ++j) {
      (slots_.place(a.targets[j]) < kLowBits ? low_targets : row_targets).push_back(j);
    }
    step.num_row_bits = static_cast<int>(row_targets.size());
    for (int j = 0; j < step.num_row_bits; ++j)
      step.row_bits[j] = slots_.place(a.targets[row_targets[j]]) - kLowBits;
    const Split controls = split(a.control_mask), values = split(a.control_value);
    step.control_mask = controls.rows;
    step.control_value = values.rows;
    const std::size_t num_offsets = std::size_t{1} << low_targets.size();
    step.num_offsets = static_cast<int>(num_offsets);
    for (std::size_t d = 0; d < num_offsets; ++d) {
      for (std::size_t j = 0; j < low_targets.size(); ++j) {
        if (d >> j & 1)
          step.offsets[d] |=
              static_cast<std::uint8_t>(1 << slots_.place(a.targets[low_targets[j]]));
      }
    }
    step.real = std::all_of(m, m + dim * dim, [](const cplx& x) { return x.imag() == 0; });
    step.uniform = low_targets.empty() && !controls.low;
    const std::size_t rows = std::size_t{1} << step.num_row_bits;
    const std::size_t width = step.uniform ? 1 : kRowLength;
    step.tables.assign(rows * rows * num_offsets * width * 2, T(0));
    const auto matrix_index = [&](std::size_t row_part, std::size_t low) {
      std::size_t index = 0;
      for (std::size_t j = 0; j < row_targets.size(); ++j)
        index |= (row_part >> j & 1) << row_targets[j];
      for (std::size_t j = 0; j < low_targets.size(); ++j) {
        index |= (low >> slots_.place(a.targets[low_targets[j]]) & 1) << low_targets[j];
      }
      return index;
    };
    for (std::size_t o = 0; o < rows; ++o) {
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t d = 0; d < num_offsets; ++d) {
          T* table = step.tables.data() + ((o * rows + i) * num_offsets + d) * width * 2;
          for (std::size_t x = 0; x < width; ++x) {
            cplx value;
            if ((x & controls.low) != values.low) {
              value = o == i && d == 0 ? 1.0 : 0.0;
            } else {
              value = m[matrix_index(o, x) * dim + matrix_index(i, x ^ step.offsets[d])];
            }
            table[x] = static_cast<T>(value.real());
            table[width + x] = static_cast<T>(value.imag());
          }
        }
      }
    }
    push(a, std::move(step));
  }

  static constexpr std::uint32_t kPairMask = 3u << kPairBit;

  const BlockKernels<T>& kernels_ = block_kernels(T{});
  const Plan& plan_;
  const Pass& pass_;
  BlockSlots slots_;
  std::vector<OutlinePhase> outline_;
  HeldScales held_;
  TileProgram<T> program_;
  std::vector<BlockStep<T>>* steps_ = nullptr;
};

}  // namespace

template <class T>
std::size_t bytes_of(const TileProgram<T>& program) {
  const auto heap = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  std::size_t bytes = sizeof program + heap(program.phases);
  for (const BlockPhase<T>& phase : program.phases) {
    bytes += heap(phase.rows) + heap(phase.outer) + heap(phase.outer_index) + heap(phase.steps);
    for (const BlockStep<T>& s : phase.steps) {
      if (const auto* layer = std::get_if<Layer<T>>(&s.step)) {
        bytes += heap_bytes(layer->phase) + heap(layer->links);
        for (const LinkProgram<T>& link : layer->links) bytes += heap_bytes(link.phases);
      } else if (const auto* sweep = std::get_if<SweepProgram<T>>(&s.step)) {
        bytes += heap_bytes(sweep->before);
        for (const RowPhases<T>& after : sweep->after) bytes += heap_bytes(after);
      } else if (const auto* pair = std::get_if<PairStep<T>>(&s.step)) {
        bytes += heap(pair->coefficients);
      } else if (const auto* dense = std::get_if<DenseStep<T>>(&s.step)) {
        bytes += heap(dense->tables);
      }
    }
  }
  return bytes;
}

template std::size_t bytes_of<float>(const TileProgram<float>&);
template std::size_t bytes_of<double>(const TileProgram<double>&);

template <class T>
TileProgram<T> make_tile_program(const Plan& plan, const Pass& pass, int row_bits) {
  return Compiler<T>(plan, pass, row_bits).run();
}

template TileProgram<float> make_tile_program<float>(const Plan&, const Pass&, int);
template TileProgram<double> make_tile_program<double>(const Plan&, const Pass&, int);

}  // namespace tilewave::statevec::cpu
