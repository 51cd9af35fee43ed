// Two lists of actions are the same product of operators if one becomes the other by exchanging
// neighbours that commute. Here two actions commute if each wire they share is only read (in the Z
// basis: by a control or a phase) by both. Such lists have a normal form: for every wire the order
// of the actions that change it, and for each of these the set of actions that read the wire
// between it and the one before. The normal form is compared by hashes:
//   changed[w]  stands for the last action that changed wire w, and for all that led to it;
//   read[w]     is the sum over the actions that have read w since then.
// An action hashes what it is and the hashes of its wires. A phase term adds up exactly with the
// terms on the same wires for as long as none of these is changed, since the stages of planning
// gather and split terms.
//
// The hashes of the lowered circuit, on wires, are compared with those of the plan, of which every
// position is translated to the wire that is there at that time.
#include "tilewave/statevec/plan/verify.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/statevec/plan/running_product.h"

namespace tilewave::statevec::detail {

namespace {

using Hash = std::uint64_t;

// What an action is, without the wires it acts on.
Hash hash_of(const Action& a, const std::vector<cplx>& matrices) {
  Hash h = mix(1, static_cast<std::uint64_t>(a.kind) << 8 | a.num_targets);
  const auto add = [&h](double x) { h = mix(h, std::bit_cast<std::uint64_t>(x)); };
  if (a.kind == ActionKind::kLift) add(a.m[0]);
  if (a.kind == ActionKind::kRotate) {
    for (const double x : a.m) add(x);
  }
  if (a.kind == ActionKind::kMatrix) {
    for (std::size_t k = 0; k < std::size_t{1} << (2 * a.num_targets); ++k) {
      add(matrices[a.first + k].real());
      add(matrices[a.first + k].imag());
    }
  }
  return h;
}

// The normal form of a list of actions on wires.
class NormalForm {
 public:
  explicit NormalForm(int num_wires) : changed_(num_wires), read_(num_wires, 0), on_(num_wires) {
    for (int w = 0; w < num_wires; ++w) changed_[w] = mix(2, static_cast<std::uint64_t>(w));
  }

  void add_phase(std::uint64_t wires, std::uint64_t turns) {
    if (wires == 0) {
      global_turns_ += turns;
      return;
    }
    int fewest = std::countr_zero(wires);
    for_each_bit(wires, [&](int w) { fewest = on_[w].size() < on_[fewest].size() ? w : fewest; });
    for (const std::uint32_t k : on_[fewest]) {
      if (terms_[k].mask != wires) continue;
      terms_[k].turns += turns;
      return;
    }
    const auto k = static_cast<std::uint32_t>(terms_.size());
    terms_.push_back({wires, turns});
    for_each_bit(wires, [&](int w) { on_[w].push_back(k); });
  }

  // An action other than a phase; `hash` stands for what it is.
  void add(const Action& a, Hash hash) {
    if (a.pre_turns) add_phase(a.target_mask(), a.pre_turns);
    Hash controls = 0;
    for_each_bit(a.control_mask,
                 [&](int w) { controls += mix(changed_[w], 3 + (a.control_value >> w & 1)); });
    Hash h = mix(hash, controls);
    for (int k = 0; k < a.num_targets; ++k) {
      const int w = a.targets[k];
      close_terms(w);
      h = mix(mix(h, changed_[w]), read_[w]);
    }
    for (int k = 0; k < a.num_targets; ++k) {
      changed_[a.targets[k]] = mix(h, static_cast<std::uint64_t>(k));
      read_[a.targets[k]] = 0;
    }
    for_each_bit(a.control_mask, [&](int w) { read_[w] += mix(h, 5); });
  }

  void finish() {
    for (std::size_t w = 0; w < on_.size(); ++w) close_terms(static_cast<int>(w));
  }
  // After finish(). The first wire on which both differ, or -1.
  int first_difference(const NormalForm& other) const {
    for (std::size_t w = 0; w < changed_.size(); ++w) {
      if (changed_[w] != other.changed_[w] || read_[w] != other.read_[w])
        return static_cast<int>(w);
    }
    return -1;
  }
  std::uint64_t global_turns() const { return global_turns_; }

 private:
  // The terms on a wire that is about to be changed.
  void close_terms(int wire) {
    for (const std::uint32_t k : on_[wire]) {
      PhaseTerm& term = terms_[k];
      if (term.mask && term.turns) {
        Hash wires = 0;
        for_each_bit(term.mask, [&](int w) { wires += mix(changed_[w], 6); });
        const Hash h = mix(mix(7, wires), term.turns);
        for_each_bit(term.mask, [&](int w) { read_[w] += h; });
      }
      for_each_bit(term.mask & ~bit(wire), [&](int w) { std::erase(on_[w], k); });
      term.mask = 0;
    }
    on_[wire].clear();
  }

  std::vector<Hash> changed_, read_;
  std::vector<PhaseTerm> terms_;
  std::vector<std::vector<std::uint32_t>> on_;  // the open terms of a wire
  std::uint64_t global_turns_ = 0;
};

// Follows a plan step by step.
class Reading {
 public:
  Reading(const Plan& plan, const Lowered& lowered, const PlanOptions& options)
      : plan_(plan),
        lowered_(lowered),
        n_(plan.num_qubits),
        local_(plan.num_qubits - plan.shard_bits),
        known_(options.from_zeros ? low_mask(n_) : options.known_zero),
        form_(n_) {
    wire_at_.fill(0);
    std::uint64_t seen = 0;
    for (int q = 0; q < n_; ++q) {
      wire_at_[options.layout.position[q]] = static_cast<std::uint8_t>(q);
      seen |= bit(options.layout.position[q]);
      if (plan.layout_before.position[q] != options.layout.position[q])
        fail("the layout before it is another one than the state has");
    }
    if (seen != low_mask(n_)) fail("the layout before it has two qubits at one position");
    if (plan.layout_before.flips != options.layout.flips)
      fail("the flips before it are others than the state has");
  }

  void run() {
    std::size_t next = 0;
    const auto exchanges_before = [&](std::size_t pass) {
      for (; next < plan_.exchanges.size() && plan_.exchanges[next].before_pass <= pass; ++next) {
        where_ = "exchange " + std::to_string(next);
        exchange(plan_.exchanges[next]);
      }
    };
    for (std::size_t k = 0; k < plan_.passes.size(); ++k) {
      exchanges_before(k);
      where_ = "pass " + std::to_string(k);
      pass(plan_.passes[k]);
    }
    exchanges_before(plan_.passes.size());
    where_.clear();
    if (next != plan_.exchanges.size()) fail("it has exchanges after its end");
    compare();
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... what) const {
    tilewave::fail(ExitCode::kInternal, "the plan of this circuit is wrong: ", where_,
                   where_.empty() ? "" : ": ", what...,
                   " (nothing was run: please report the circuit)");
  }

  std::uint64_t wires_at(std::uint64_t positions) const {
    std::uint64_t wires = 0;
    for_each_bit(positions, [&](int p) { wires |= bit(wire_at_[p]); });
    return wires;
  }

  // Positions whose content an action must find as the circuit left it.
  void check_read(std::uint64_t positions) const {
    if (positions & ~low_mask(n_)) fail("an action is on a position that the state does not have");
    if (wires_at(positions) & flipped_) fail("an action follows a flip that ends the circuit");
  }

  void action(const Action& a, std::uint64_t active) {
    if (a.kind == ActionKind::kPhase) {
      if (std::uint64_t{a.first} + a.count > plan_.terms.size()) fail("a phase has no terms");
      for (std::uint32_t t = a.first; t < a.first + a.count; ++t) {
        check_read(plan_.terms[t].mask);
        form_.add_phase(wires_at(plan_.terms[t].mask), plan_.terms[t].turns);
      }
      return;
    }
    const std::uint64_t targets = a.target_mask();
    if (std::popcount(targets) != a.num_targets || a.num_targets == 0 || (targets & a.control_mask))
      fail("an action names a position twice");
    if (targets & ~active) fail("the target of an action is not active");
    if (a.control_value & ~a.control_mask) fail("a control has a value and no position");
    check_read(targets | a.control_mask);
    if (a.kind == ActionKind::kMatrix &&
        a.first + (std::size_t{1} << (2 * a.num_targets)) > plan_.matrices.size())
      fail("a matrix has no entries");
    Action on_wires = a;
    for (int k = 0; k < a.num_targets; ++k) on_wires.targets[k] = wire_at_[a.targets[k]];
    on_wires.control_mask = wires_at(a.control_mask);
    on_wires.control_value = wires_at(a.control_value);
    form_.add(on_wires, hash_of(a, plan_.matrices));
    changed_ |= targets;
  }

  void pass(const Pass& pass) {
    std::uint64_t active = 0, dest = 0;
    if (pass.active.size() != pass.dest.size()) fail("it stores more or less than it loads");
    for (const int p : pass.active) active |= bit(p);
    for (const int p : pass.dest) dest |= bit(p);
    if (active != dest || static_cast<std::size_t>(std::popcount(active)) != pass.active.size())
      fail("it stores at other positions than it loads from");
    if (active & ~low_mask(local_)) fail("it has active positions that are not local");
    if (low_mask(std::min(plan_.row_bits, local_)) & ~active) fail("a row bit is not active");
    if (pass.known_zero_before & ~known_) fail("it takes a position for zero that may not be");
    changed_ = 0;
    for (const Action& a : pass.actions) action(a, active);
    const double size = std::abs(pass.scale);
    if (!(size > 0) || !std::isfinite(size)) fail("its scale is no finite number");
    (norm_ *= size) *= size;
    direction_ *= pass.scale / size;
    // what stays zero moves along
    std::array<std::uint8_t, 64> moved = wire_at_;
    std::uint64_t known = known_ & ~active;
    for (std::size_t k = 0; k < pass.active.size(); ++k) {
      const int from = pass.active[k], to = pass.dest[k];
      moved[to] = wire_at_[from];
      if (known_ >> from & ~(changed_ >> from) & 1) known |= bit(to);
    }
    wire_at_ = moved;
    if (pass.store_flips & ~active) fail("it flips a position on store that is not active");
    flipped_ ^= wires_at(pass.store_flips);
    set_known(known & ~pass.store_flips, pass.known_zero_after);
  }

  void exchange(const Exchange& step) {
    if (step.known_zero_before & ~known_) fail("it takes a position for zero that may not be");
    const std::uint64_t shards = low_mask(n_) & ~low_mask(local_);
    const auto swap = [&](const Exchange::Pair& pair, bool first_is_local) {
      const auto [a, b] = pair;
      if (!(shards >> b & 1) || a >= n_ || (shards >> a & 1) == first_is_local)
        fail("it exchanges positions that are not what they should be");
      std::swap(wire_at_[a], wire_at_[b]);
      known_ = (known_ & ~(bit(a) | bit(b))) | (known_ >> a & 1) << b | (known_ >> b & 1) << a;
    };
    for (const auto& pair : step.relabels) swap(pair, false);
    for (const auto& pair : step.swaps) swap(pair, true);
    if (step.flips & ~shards) fail("it flips a position that chooses no rank");
    flipped_ ^= wires_at(step.flips);
    set_known(known_ & ~step.flips, step.known_zero_after);
  }

  void set_known(std::uint64_t derived, std::uint64_t claimed) {
    if (claimed & ~derived) fail("it leaves a position for zero that may not be");
    known_ = claimed;
  }

  void compare() {
    for (int q = 0; q < n_; ++q) {
      const int w = lowered_.wire_of[q];
      const int p = plan_.layout_after.position[q];
      if (p >= n_ || wire_at_[p] != w) fail("qubit ", q, " does not end where its layout says");
      const bool flip = (lowered_.flips ^ flipped_) >> w & 1;
      if (flip != (plan_.layout_after.flips >> q & 1))
        fail("qubit ", q, " does not end with the flip its layout says");
    }
    if (plan_.layout_after.flips & ~low_mask(n_))
      fail("its layout flips a qubit that is not there");
    if (plan_.known_zero_after & ~known_) fail("a position counts as zero that may not be");

    NormalForm asked(n_);
    for (const Action& a : lowered_.actions) {
      if (a.kind == ActionKind::kPhase) {
        asked.add_phase(lowered_.terms[a.first].mask, lowered_.terms[a.first].turns);
        continue;
      }
      if (a.kind == ActionKind::kLift) norm_ *= 1 + a.m[0] * a.m[0];
      asked.add(a, hash_of(a, lowered_.matrices));
    }
    asked.finish();
    form_.finish();
    const int w = form_.first_difference(asked);
    if (w >= 0) fail("it does not do on wire ", w, " what the circuit asks for");
    // the scales of all passes: lifts do not keep the norm, and the last one has the global phase
    constexpr double kRounding = 1e-9;
    if (!(std::abs(norm_.log2()) < 2 * kRounding))
      fail("its scale does not undo that of its lifts");
    const std::uint64_t turns = lowered_.global_turns + asked.global_turns() - form_.global_turns();
    const double angle =
        static_cast<double>(static_cast<std::int64_t>(turns)) * 0x1p-63 * std::numbers::pi;
    if (!(std::abs(direction_ - cplx{std::cos(angle), std::sin(angle)}) < kRounding))
      fail("its global phase is not the circuit's");
  }

  const Plan& plan_;
  const Lowered& lowered_;
  int n_, local_;
  std::array<std::uint8_t, 64> wire_at_;
  std::uint64_t known_;        // positions
  std::uint64_t flipped_ = 0;  // wires, beyond what the lowered actions count with
  std::uint64_t changed_ = 0;  // positions, by the pass that is being read
  NormalForm form_;
  RunningProduct norm_;  // of the state behind the scales of passes and the lifts
  cplx direction_{1, 0};
  std::string where_;
};

}  // namespace

void verify(const Plan& plan, const Lowered& lowered, const PlanOptions& options) {
  Reading(plan, lowered, options).run();
}

}  // namespace tilewave::statevec::detail
