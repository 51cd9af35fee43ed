#include "tilewave/stabilizer/frame_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/frame_layers.h"
#include "tilewave/stabilizer/needed_coins.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;
using C = FrameCode;

// How a qubit is stored: its slot, and the stored Pauli of each logical one.
struct Place {
  std::uint32_t slot;
  Pauli stored[4] = {Pauli::kI, Pauli::kX, Pauli::kY, Pauli::kZ};
  Pauli of(Pauli p) const { return stored[static_cast<int>(p)]; }
};

constexpr std::uint32_t kMaxSlots = 1u << 28;
constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};  // of a qubit that nothing happens to

class Compiler {
 public:
  Compiler(const StabProgram& in, FrameOutput output)
      : in_(in),
        coins_(needed_coins(in, output == FrameOutput::kRecords)),
        places_(first_places(in, coins_)),
        out_(sized(places_)),
        layers_(out_) {
    out_.output = output;
    out_.has_leakage = in.has_leakage;
    out_.num_records = in.counts.measurements;
    out_.num_detectors = in.counts.detectors;
    out_.num_observables = in.counts.observables;
    out_.num_sweep_bits = in.counts.sweep_bits;
    for (const auto& block : in.blocks) {
      for (std::size_t k = 0; k < block.size(); ++k) {
        const bool continues = block[k].kind == P::kCorrelated && block[k].flag;
        loose_chains_ |= continues && (k == 0 || block[k - 1].kind != P::kCorrelated);
      }
    }
  }

  FrameProgram run() {
    // A fresh qubit is in |0>: Z acts trivially, so its frame is random in Z.
    for (std::uint64_t q = 0; q < places_.size(); ++q) {
      if (coins_.start[q]) layers_.add(C::kCoin, static_cast<int>(Pauli::kZ), {places_[q].slot});
    }
    layers_.flush();
    block(0);
    out_.ring_rows = out_.output == FrameOutput::kRecords
                         ? in_.counts.measurements
                         : std::bit_ceil(std::max(in_.counts.max_lookback, layers_.ring_rows()));
    return std::move(out_);
  }

 private:
  // Cuts a noise operation into streams of a few expected events a unit. Targets that occur twice
  // must be drawn one after the other.
  void set_segments(FrameOp& op, bool disjoint) {
    const double p = out_.channels[op.channel].probability;
    const double targets = std::ceil(kStreamEvents / (32 * p));
    op.segment = disjoint && targets < op.count ? static_cast<std::uint32_t>(targets) : op.count;
    op.ticks = (op.count + op.segment - 1) / op.segment;
  }
  std::uint32_t channel(std::span<const double> branches) {
    out_.channels.push_back(frame_channel(branches));
    return static_cast<std::uint32_t>(out_.channels.size() - 1);
  }
  static bool is_few(std::span<const double> branches, std::size_t targets) {
    double p = 0;
    for (double branch : branches) p += branch;
    return 32 * p * static_cast<double>(targets) < kFewEvents;
  }
  std::uint32_t axes(std::uint32_t qubit) const {
    const Place& at = places_[qubit];
    return at.slot | (static_cast<std::uint32_t>(at.of(Pauli::kX)) << 28) |
           (static_cast<std::uint32_t>(at.of(Pauli::kZ)) << 30);
  }
  static int code_of(Pauli p) { return static_cast<int>(p); }
  // Slots are of the qubits that something happens to.
  static std::vector<Place> first_places(const StabProgram& in, const NeededCoins& coins) {
    const std::vector<bool> used = used_qubits(in);
    std::vector<Place> places(used.size());
    std::uint32_t slot = 0;
    for (std::size_t q = 0; q < used.size(); ++q)
      places[q].slot = used[q] || coins.start[q] ? slot++ : kNoSlot;
    return places;
  }
  static FrameProgram sized(const std::vector<Place>& places) {
    const auto slots = std::count_if(places.begin(), places.end(),
                                     [](const Place& at) { return at.slot != kNoSlot; });
    TW_CHECK(slots < kMaxSlots, "too many qubits for the frame engine");
    FrameProgram out;
    out.num_slots = static_cast<std::uint32_t>(slots);
    return out;
  }

  void block(std::uint32_t index) {
    const std::vector<Prim>& prims = in_.blocks[index];
    for (std::size_t i = 0; i < prims.size(); ++i) {
      check_interrupt_once_in<64>();
      if (prims[i].kind == P::kCorrelated) {
        std::size_t end = i + 1;
        while (end < prims.size() && prims[end].kind == P::kCorrelated && prims[end].flag) ++end;
        chain(std::span(prims).subspan(i, end - i));
        i = end - 1;
        continue;
      }
      coin_needed_ = coins_.blocks[index][i];
      prim(prims[i]);
    }
    layers_.flush();
  }

  // An error with those that happen where it does not: disjoint branches of one site, or operations
  // that keep a row of the shots in which one has happened.
  void chain(std::span<const Prim> links) {
    std::vector<double> branches;
    double before = 1;
    for (const Prim& p : links) {
      const double probability = in_.probabilities(p)[0];
      branches.push_back(before * probability);
      before *= 1 - probability;
    }
    const bool together = !loose_chains_ && links.size() <= std::size(FrameChannel{}.upto);
    if (together && before == 1) return;
    double site_s = 0;
    for (std::size_t k = 0; k < links.size(); ++k) {
      site_s += branches[k] * (kProductEventSeconds + kProductFactorSeconds * (links[k].count / 2));
    }
    const bool as_site = together && is_few(branches, 1) &&
                         site_s < kProductRowSeconds * static_cast<double>(links.size());
    std::vector<std::uint32_t> operands, slots;
    for (const Prim& p : links) {
      if (as_site) {
        operands.push_back(p.count / 2);
      } else {
        operands.clear();
      }
      const auto list = in_.list(p);
      for (std::size_t i = 0; i < list.size(); i += 2) {
        const Place& at = places_[list[i]];
        operands.push_back(
            at.slot | (static_cast<std::uint32_t>(at.of(static_cast<Pauli>(list[i + 1]))) << 28));
        slots.push_back(at.slot);
      }
      if (as_site) continue;
      FrameOp& op =
          layers_.alone(C::kCorrelated, static_cast<std::uint32_t>(operands.size()), operands);
      op.sub = p.flag;
      op.channel = channel(in_.probabilities(p));
      op.ticks = 1;
    }
    if (as_site) layers_.add_site(SiteKind::kProduct, branches, operands, slots);
  }

  // Noise of `count` targets with `width` qubits each.
  void noise(const Prim& p, FrameCode code, SiteKind kind, std::uint32_t width) {
    const auto probabilities = in_.probabilities(p);
    const auto list = in_.list(p);
    std::vector<std::uint32_t> operands;
    for (std::uint32_t q : list) operands.push_back(axes(q));
    const std::uint32_t count = p.count / width;
    const bool never = all_zero(probabilities);
    if (code == C::kHerald && (never || is_few(probabilities, count))) {
      for (std::uint32_t k = 0; k < count; ++k) layers_.add(C::kPad, 0, {});
    }
    if (never) return;
    if (!is_few(probabilities, count))
      return channel_alone(p, code, probabilities, operands, width);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::span targets(operands.data() + width * k, width);
      std::array<std::uint32_t, 2> slots{};
      for (std::uint32_t i = 0; i < width; ++i) slots[i] = places_[list[width * k + i]].slot;
      layers_.add_site(kind, probabilities, targets, {slots.data(), width},
                       kind == SiteKind::kHerald ? count - k : 0);
    }
  }

  // ---- leakage

  // The place of cumulated probabilities, a sum for each of the sets.
  int thresholds(std::initializer_list<std::span<const double>> sets) {
    std::vector<std::uint64_t> upto;
    for (std::span<const double> set : sets) {
      double sum = 0;
      for (double p : set) {
        sum += p;
        upto.push_back(sum >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(sum * 0x1p64));
      }
    }
    const auto [it, fresh] =
        thresholds_.try_emplace(upto, static_cast<int>(out_.leak_thresholds.size()));
    if (fresh) out_.leak_thresholds.insert(out_.leak_thresholds.end(), upto.begin(), upto.end());
    return it->second;
  }
  static bool all_zero(std::span<const double> p) {
    return std::all_of(p.begin(), p.end(), [](double x) { return x == 0; });
  }
  // Noise of all shots, in an operation of its own.
  void channel_alone(const Prim& p, FrameCode code, std::span<const double> branches,
                     std::span<const std::uint32_t> operands, std::uint32_t width) {
    if (all_zero(branches)) return;
    const auto list = in_.list(p);
    std::vector<std::uint32_t> sorted(list.begin(), list.end());
    std::sort(sorted.begin(), sorted.end());
    FrameOp& op = layers_.alone(code, p.count / width, operands);
    op.channel = channel(branches);
    set_segments(op, std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  }
  void leak(const Prim& p, FrameCode code, SiteKind kind, std::uint32_t width) {
    const auto branches = in_.probabilities(p);
    std::vector<std::uint32_t> operands, slots;
    for (std::uint32_t q : in_.list(p)) {
      slots.push_back(places_[q].slot);
      operands.push_back(places_[q].slot | (p.a << 28));
    }
    if (!is_few(branches, p.count / width))
      return channel_alone(p, code, branches, operands, width);
    for (std::size_t k = 0; k < slots.size(); k += width) {
      layers_.add_leak_site(kind, branches, std::span(operands).subspan(k, width),
                            std::span(slots).subspan(k, width));
    }
  }
  // An operation on leaked shots for each of the targets.
  void of_leaked(const Prim& p, FrameCode code, int place, bool axes_too = false) {
    const auto list = in_.list(p);
    const auto operand = [&](std::uint32_t q) { return axes_too ? axes(q) : places_[q].slot; };
    const bool pairs = code == C::kSpread || code == C::kScrambleSpread || code == C::kGateSpread ||
                       code == C::kLeaked2 || code == C::kScramblePartner;
    for (std::size_t k = 0; k < list.size(); k += pairs ? 2 : 1) {
      if (pairs) {
        layers_.add(code, place, {operand(list[k]), operand(list[k + 1])});
      } else {
        layers_.add(code, place, {operand(list[k])});
      }
    }
  }
  void leakage(const Prim& p) {
    const auto probabilities = in_.probabilities(p);
    std::vector<std::uint32_t> slots, targets;
    for (std::uint32_t q : in_.list(p))
      slots.push_back(places_[q].slot), targets.push_back(axes(q));
    switch (p.kind) {
      case P::kLeak:
        return leak(p, C::kLeak, SiteKind::kLeak, 1);
      case P::kLeakPair:
        return leak(p, C::kLeakPair, SiteKind::kLeakPair, 2);
      case P::kSeal:
        return of_leaked(p, C::kSeal, thresholds({probabilities}));
      case P::kScramble:
        return of_leaked(p, C::kScramble, 0);
      case P::kScramblePartner:
        return of_leaked(p, C::kScramblePartner, 0);
      case P::kSpread: {
        const double first[] = {probabilities[0], probabilities[2]},
                     second[] = {probabilities[1], probabilities[3]};
        const FrameCode code = p.a ? C::kGateSpread : p.flag ? C::kScrambleSpread : C::kSpread;
        return of_leaked(p, code, thresholds({first, second}));
      }
      case P::kLeakPauli1:
        channel_alone(p, C::kUnleaked1, probabilities.first(3), targets, 1);
        if (all_zero(probabilities.subspan(3))) return;
        return of_leaked(p, C::kLeaked1, thresholds({probabilities.subspan(3)}), true);
      case P::kLeakPauli2:
        channel_alone(p, C::kUnleaked2, probabilities.first(15), targets, 2);
        if (all_zero(probabilities.subspan(15))) return;
        return of_leaked(p, C::kLeaked2,
                         thresholds({probabilities.subspan(15, 15), probabilities.subspan(30, 15),
                                     probabilities.subspan(45)}),
                         true);
      default: {  // kLeakHerald
        of_leaked(p, C::kFlag, 0);
        channel_alone(p, C::kFalseFlag, probabilities.subspan(1), slots, 1);
        if (probabilities[0] == 0) return;
        FrameOp& op = layers_.alone(C::kMissedFlag, p.count, slots);
        op.channel = static_cast<std::uint32_t>(thresholds({probabilities.first(1)}));
        op.ticks = 1;
        return;
      }
    }
  }

  void prim(const Prim& p) {
    switch (p.kind) {
      case P::kClifford1: {
        const Clifford1 back = circuit::inverse(in_.cliffords[p.first]);
        Place& at = places_[p.a];
        const Place before = at;
        for (Pauli l : {Pauli::kX, Pauli::kY, Pauli::kZ}) {
          at.stored[static_cast<int>(l)] = before.of(circuit::apply(back, l).p);
        }
        break;
      }
      case P::kControlled: {
        const Place &a = places_[p.a], &b = places_[p.b];
        layers_.add(C::kControlled, 3 * (code_of(a.of(p.p)) - 1) + code_of(b.of(p.q)) - 1,
                    {a.slot, b.slot});
        break;
      }
      case P::kSwap:
        std::swap(places_[p.a], places_[p.b]);
        break;
      case P::kMeasure:
      case P::kFrameSign: {
        const Place& at = places_[p.a];
        layers_.add(C::kMeasure, code_of(at.of(p.p)), {at.slot});
        if (p.kind == P::kMeasure) coin(at, p.p);
        break;
      }
      case P::kReset: {
        Place& at = places_[p.a];
        layers_.add(C::kClear, 0, {at.slot});
        const std::uint32_t slot = at.slot;
        at = Place{};
        at.slot = slot;
        coin(at, p.p);
        break;
      }
      case P::kRecordFlip: {
        const auto probability = in_.probabilities(p);
        if (is_few(probability, p.count)) {
          for (std::uint32_t back = p.count; back > 0; --back)
            layers_.add_site(SiteKind::kRecord, probability, {}, {}, back);
          break;
        }
        FrameOp& op = layers_.alone(C::kRecordFlip, p.count, {});
        op.channel = channel(probability);
        set_segments(op, true);
        break;
      }
      case P::kPad:
        layers_.add(C::kPad, 0, {});
        break;
      case P::kPauli1:
        noise(p, C::kPauli1, SiteKind::kPauli1, 1);
        break;
      case P::kPauli2:
        noise(p, C::kPauli2, SiteKind::kPauli2, 2);
        break;
      case P::kHerald:
        noise(p, C::kHerald, SiteKind::kHerald, 1);
        break;
      case P::kCorrelated:
        break;  // chain()
      case P::kFeedback:
        layers_.add(C::kFeedback, code_of(places_[p.a].of(p.p)), {places_[p.a].slot, p.b});
        break;
      case P::kSweep:
        layers_.add(C::kSweep, code_of(places_[p.a].of(p.p)), {places_[p.a].slot, p.b});
        break;
      case P::kDetector:
        if (out_.output == FrameOutput::kRecords) break;
        layers_.add_detector(in_.list(p));
        break;
      case P::kObservable: {
        if (out_.output == FrameOutput::kRecords) break;
        std::vector<std::uint32_t> operands{p.a};
        for (std::uint32_t back : in_.list(p)) operands.push_back(back);
        layers_.alone(C::kObservable, p.count, operands);
        break;
      }
      case P::kObservablePauli: {
        if (out_.output == FrameOutput::kRecords) break;
        const Place& at = places_[p.b];
        FrameOp& op = layers_.alone(C::kObservablePauli, 1, std::array{p.a, at.slot});
        op.sub = static_cast<std::uint8_t>(at.of(p.p));
        break;
      }
      case P::kLeak:
      case P::kLeakPair:
      case P::kSeal:
      case P::kScramble:
      case P::kScramblePartner:
      case P::kSpread:
      case P::kLeakPauli1:
      case P::kLeakPauli2:
      case P::kLeakHerald:
        leakage(p);
        break;
      case P::kShift:
        break;
      case P::kRepeat:
        loop(p);
        break;
      case P::kRotation:
        TW_CHECK(false, "frames move through Clifford gates only");
    }
  }

  // After a measurement or reset in basis p the state is an eigenstate of p: p acts trivially.
  void coin(const Place& at, Pauli p) {
    if (coin_needed_) layers_.add(C::kCoin, code_of(at.of(p)), {at.slot});
  }

  void loop(const Prim& p) {
    layers_.flush();
    const std::vector<Place> start = places_;
    FrameOp begin{};
    begin.code = C::kLoop;
    begin.first = static_cast<std::uint32_t>(out_.loops.size());
    out_.loops.push_back(in_.repeats[p.b]);
    const std::size_t begin_at = out_.ops.size();
    out_.ops.push_back(begin);
    block(p.a);
    restore(start);
    if (out_.ops.size() == begin_at + 1) {  // Pauli gates do nothing to frames
      out_.ops.pop_back();
      out_.loops.pop_back();
      return;
    }
    FrameOp end{};
    end.code = C::kLoopEnd;
    end.first = static_cast<std::uint32_t>(begin_at + 1);
    out_.ops.push_back(end);
    out_.ops[begin_at].count = static_cast<std::uint32_t>(out_.ops.size());
  }

  // Emits operations that bring every qubit back to the slot and permutation it had in `start`.
  void restore(const std::vector<Place>& start) {
    std::vector<std::uint32_t> holder(out_.num_slots);  // which qubit sits in a slot
    for (std::size_t q = 0; q < places_.size(); ++q) {
      if (places_[q].slot != kNoSlot) holder[places_[q].slot] = static_cast<std::uint32_t>(q);
    }
    for (std::size_t q = 0; q < places_.size(); ++q) {
      const std::uint32_t want = start[q].slot, have = places_[q].slot;
      if (want == have) continue;
      const std::uint32_t other = holder[want];
      layers_.add(C::kSwap, 0, {have, want});
      places_[q].slot = want, places_[other].slot = have;
      holder[want] = static_cast<std::uint32_t>(q), holder[have] = other;
    }
    layers_.flush();
    for (std::size_t q = 0; q < places_.size(); ++q) {
      // New stored form of what is stored now: logical l is stored as now(l), shall be as start(l).
      Pauli to[4] = {Pauli::kI, Pauli::kI, Pauli::kI, Pauli::kI};
      for (Pauli l : {Pauli::kX, Pauli::kY, Pauli::kZ})
        to[code_of(places_[q].of(l))] = start[q].of(l);
      if (to[1] == Pauli::kX && to[3] == Pauli::kZ) continue;
      layers_.add(C::kPermute, code_of(to[1]) | (code_of(to[3]) << 2), {start[q].slot});
      places_[q] = start[q];
    }
    layers_.flush();
  }

  const StabProgram& in_;
  const NeededCoins coins_;
  bool coin_needed_ = false;  // of the primitive at hand
  std::vector<Place> places_;
  FrameProgram out_;
  FrameLayers layers_;
  std::map<std::vector<std::uint64_t>, int> thresholds_;
  bool loose_chains_ = false;  // ELSE_CORRELATED_ERROR somewhere behind something else
};

}  // namespace

FrameProgram compile_frames(const StabProgram& program, FrameOutput output) {
  return Compiler(program, output).run();
}

}  // namespace tilewave::stabilizer
