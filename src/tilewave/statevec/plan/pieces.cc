#include "tilewave/statevec/plan/pieces.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::statevec {

std::vector<std::size_t> cuts_of(const Plan& plan, double piece_s) {
  std::vector<std::size_t> cuts;
  double s = 0;
  auto e = plan.exchanges.begin();  // in the order of passes
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    s += plan.passes[p].predicted_s;
    for (; e != plan.exchanges.end() && e->before_pass <= p; ++e) s += e->predicted_s;
    if (s < piece_s || p + 1 == plan.passes.size()) continue;
    cuts.push_back(p + 1);
    s = 0;
  }
  cuts.push_back(plan.passes.size());
  return cuts;
}

Plan piece_of(const Plan& plan, std::size_t first, std::size_t last) {
  const bool ends = last == plan.passes.size();
  TW_CHECK(first <= last && last <= plan.passes.size(), "a plan is cut inside");
  if (first == 0 && ends) return plan;
  Plan out;
  out.num_qubits = plan.num_qubits;
  out.precision = plan.precision;
  out.tile_qubits = plan.tile_qubits;
  out.row_bits = plan.row_bits;
  out.shard_bits = plan.shard_bits;
  out.effort = plan.effort;
  out.from_zeros = first == 0 && plan.from_zeros;
  out.layout_before = first == 0 ? plan.layout_before : Layout::identity();
  out.layout_after = ends ? plan.layout_after : Layout::identity();
  for (std::size_t p = first; p < last; ++p) {
    Pass pass = plan.passes[p];
    for (Action& a : pass.actions) {
      if (a.kind == ActionKind::kPhase) {
        const auto from = plan.terms.begin() + a.first;
        a.first = static_cast<std::uint32_t>(out.terms.size());
        out.terms.insert(out.terms.end(), from, from + a.count);
      } else if (a.kind == ActionKind::kMatrix) {
        const auto from = plan.matrices.begin() + a.first;
        a.first = static_cast<std::uint32_t>(out.matrices.size());
        out.matrices.insert(out.matrices.end(), from,
                            from + (std::ptrdiff_t{1} << 2 * a.num_targets));
      }
    }
    out.predicted_s += pass.predicted_s;
    out.passes.push_back(std::move(pass));
  }
  for (const Exchange& e : plan.exchanges) {
    if (e.before_pass < first || (e.before_pass >= last && !ends)) continue;
    out.exchanges.push_back(e);
    out.exchanges.back().before_pass -= static_cast<std::uint32_t>(first);
    out.predicted_s += e.predicted_s;
  }
  out.known_zero_after = ends ? plan.known_zero_after : plan.passes[last - 1].known_zero_after;
  return out;
}

namespace {

using circuit::Qubit;

class Rest {
 public:
  Rest(const Plan& plan, std::size_t first)
      : plan_(plan), out_{circuit::Circuit(static_cast<std::uint32_t>(plan.num_qubits)), {}} {
    for (int p = 0; p < plan.num_qubits; ++p) qubit_at_.push_back(static_cast<Qubit>(p));
    std::size_t next = 0;
    while (next < plan.exchanges.size() && plan.exchanges[next].before_pass < first) ++next;
    for (std::size_t p = first; p <= plan.passes.size(); ++p) {
      for (; next < plan.exchanges.size() && plan.exchanges[next].before_pass == p; ++next)
        exchange(plan.exchanges[next]);
      if (p < plan.passes.size()) pass(plan.passes[p]);
    }
    if (factor_ != cplx{1, 0}) {
      const Qubit any = 0;
      out_.circuit.add_matrix({}, 0, {&any, 1}, {factor_, 0, 0, factor_});
    }
    for (int q = 0; q < plan.num_qubits; ++q)
      out_.qubit_of.push_back(qubit_at_[plan.layout_after.position[q]]);
  }
  RestOfPlan take() { return std::move(out_); }

 private:
  std::vector<Qubit> qubits_at(std::uint64_t positions) const {
    std::vector<Qubit> out;
    for_each_bit(positions, [&](int p) { out.push_back(qubit_at_[p]); });
    return out;
  }

  void flip(std::uint64_t positions) {
    for (const Qubit q : qubits_at(positions)) out_.circuit.add_gate(circuit::GateId::kX, {q});
  }

  void phase(const PhaseTerm& term) {
    const double angle =
        static_cast<double>(static_cast<std::int64_t>(term.turns)) * 0x1p-63 * std::numbers::pi;
    std::vector<Qubit> qubits = qubits_at(term.mask);
    if (qubits.empty()) {
      factor_ *= std::polar(1.0, angle);
      return;
    }
    const Qubit last = qubits.back();
    qubits.pop_back();
    out_.circuit.add_controlled_gate(circuit::GateId::kP, qubits,
                                     low_mask(static_cast<int>(qubits.size())), {&last, 1},
                                     {&angle, 1});
  }

  void action(const Action& a) {
    if (a.kind == ActionKind::kPhase) {
      for (std::uint32_t t = a.first; t < a.first + a.count; ++t) phase(plan_.terms[t]);
      return;
    }
    const std::vector<Qubit> controls = qubits_at(a.control_mask);
    const std::uint64_t values = extract_bits(a.control_value, a.control_mask);
    std::vector<Qubit> targets;
    for (int k = 0; k < a.num_targets; ++k) targets.push_back(qubit_at_[a.targets[k]]);
    std::vector<cplx> m;
    if (a.kind == ActionKind::kFlip) {
      out_.circuit.add_controlled_gate(circuit::GateId::kX, controls, values, targets);
      return;
    }
    if (a.kind == ActionKind::kRotate) {
      m.assign(a.m.begin(), a.m.end());
    } else if (a.kind == ActionKind::kMatrix) {
      const auto from = plan_.matrices.begin() + a.first;
      m.assign(from, from + (std::ptrdiff_t{1} << 2 * a.num_targets));
    } else {
      const double t = a.m[0], size = std::sqrt(1 + t * t);
      const cplx pre = std::polar(1.0, static_cast<double>(static_cast<std::int64_t>(a.pre_turns)) *
                                           0x1p-63 * std::numbers::pi);
      m = {1 / size, -t * pre / size, t / size, pre / size};
      factor_ *= size;
    }
    out_.circuit.add_matrix(controls, values, targets, std::move(m));
  }

  void pass(const Pass& pass) {
    for (const Action& a : pass.actions) action(a);
    factor_ *= pass.scale;
    std::vector<Qubit> moved = qubit_at_;
    for (std::size_t k = 0; k < pass.active.size(); ++k)
      moved[pass.dest[k]] = qubit_at_[pass.active[k]];
    qubit_at_ = std::move(moved);
    flip(pass.store_flips);
  }

  void exchange(const Exchange& step) {
    for (const auto* pairs : {&step.relabels, &step.swaps}) {
      for (const auto& [a, b] : *pairs) std::swap(qubit_at_[a], qubit_at_[b]);
    }
    flip(step.flips);
  }

  const Plan& plan_;
  RestOfPlan out_;
  std::vector<Qubit> qubit_at_;  // by position
  cplx factor_{1, 0};            // of every amplitude
};

}  // namespace

RestOfPlan rest_of(const Plan& plan, std::size_t first) { return Rest(plan, first).take(); }

Layout layout_of_rest(const Plan& plan, const RestOfPlan& rest, const Layout& layout) {
  Layout out = Layout::identity();
  for (int q = 0; q < plan.num_qubits; ++q) {
    const Qubit v = rest.qubit_of[static_cast<std::size_t>(q)];
    out.position[q] = layout.position[v];
    const std::uint64_t flipped = (plan.layout_after.flips >> q ^ layout.flips >> v) & 1;
    out.flips |= flipped << q;
  }
  return out;
}

}  // namespace tilewave::statevec
