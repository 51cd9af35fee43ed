#include "tilewave/stabilizer/frame_program.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/needed_coins.h"

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

class Compiler {
 public:
  Compiler(const StabProgram& in, FrameOutput output)
      : in_(in), coins_(needed_coins(in, output == FrameOutput::kRecords)) {
    out_.output = output;
    const std::uint64_t n = in.counts.qubits;
    TW_CHECK(n < kMaxSlots, "too many qubits for the frame engine");
    out_.num_slots = static_cast<std::uint32_t>(n);
    places_.resize(n);
    after_slot_.resize(n);
    for (std::uint64_t q = 0; q < n; ++q) places_[q].slot = static_cast<std::uint32_t>(q);
    out_.num_records = in.counts.measurements;
    out_.num_detectors = in.counts.detectors;
    out_.num_observables = in.counts.observables;
    out_.num_sweep_bits = in.counts.sweep_bits;
    out_.ring_rows = output == FrameOutput::kRecords
                         ? in.counts.measurements
                         : std::bit_ceil(std::max<std::uint64_t>(1, widest_lookback(0)));
  }

  FrameProgram run() {
    // A fresh qubit is in |0>: Z acts trivially, so its frame is random in Z.
    for (std::uint64_t q = 0; q < places_.size(); ++q) {
      if (coins_.start[q])
        add(C::kCoin, static_cast<int>(Pauli::kZ), {static_cast<std::uint32_t>(q)});
    }
    flush();
    block(0);
    return std::move(out_);
  }

 private:
  // The ring must hold what one operation writes as well as what is looked back at.
  std::uint64_t widest_lookback(std::uint32_t block) const {
    std::uint64_t widest = in_.counts.max_lookback;
    for (const Prim& p : in_.blocks[block]) {
      if (p.kind == P::kHerald || p.kind == P::kRecordFlip) {
        widest = std::max<std::uint64_t>(widest, p.count);
      }
      if (p.kind == P::kRepeat) widest = std::max(widest, widest_lookback(p.a));
    }
    return widest;
  }

  // Adds one target to the earliest group of the same operation that no later group on its slots
  // (or on the records, whose order counts) forbids: groups are layers of disjoint targets.
  void add(FrameCode code, int sub, std::initializer_list<std::uint32_t> operands) {
    std::size_t from = 0;
    const int num_slots = slots_of(code);
    for (int k = 0; k < num_slots; ++k) from = std::max(from, after_slot_[operands.begin()[k]]);
    const bool ordered = touches_records(code);
    if (ordered && record_group_ > 0) {
      const Group& last = groups_[record_group_ - 1];
      from =
          std::max(from, last.code == code && last.sub == sub ? record_group_ - 1 : record_group_);
    }
    std::size_t at = from;
    while (at < groups_.size() && (groups_[at].code != code || groups_[at].sub != sub)) ++at;
    if (at == groups_.size()) groups_.push_back({code, sub, 0, {}});
    Group& group = groups_[at];
    group.operands.insert(group.operands.end(), operands);
    ++group.count;
    for (int k = 0; k < num_slots; ++k) {
      after_slot_[operands.begin()[k]] = at + 1;
      touched_.push_back(operands.begin()[k]);
    }
    if (ordered) record_group_ = at + 1;
  }
  static int slots_of(FrameCode code) {
    switch (code) {
      case C::kControlled:
      case C::kSwap:
        return 2;
      case C::kPad:
      case C::kDetector:
        return 0;
      default:
        return 1;
    }
  }
  static bool touches_records(FrameCode code) {
    return code == C::kMeasure || code == C::kPad || code == C::kFeedback || code == C::kDetector;
  }
  void flush() {
    for (const Group& group : groups_) {
      FrameOp op{};
      op.code = group.code;
      op.sub = static_cast<std::uint8_t>(group.sub);
      op.count = group.count;
      op.ticks = group.code == C::kCoin;
      op.first = put(group.operands);
      out_.ops.push_back(op);
    }
    groups_.clear();
    for (std::uint32_t slot : touched_) after_slot_[slot] = 0;
    touched_.clear();
    record_group_ = 0;
  }
  std::uint32_t put(const std::vector<std::uint32_t>& values) {
    out_.operands.resize((out_.operands.size() + 1) / 2 * 2);  // pairs are read together
    const auto first = static_cast<std::uint32_t>(out_.operands.size());
    TW_CHECK(out_.operands.size() + values.size() < ~std::uint32_t{0}, "frame program too large");
    out_.operands.insert(out_.operands.end(), values.begin(), values.end());
    return first;
  }
  FrameOp& op_with(FrameCode code, std::uint32_t count,
                   const std::vector<std::uint32_t>& operands) {
    flush();
    FrameOp op{};
    op.code = code;
    op.count = count;
    op.first = put(operands);
    out_.ops.push_back(op);
    return out_.ops.back();
  }

  // Cuts a noise operation into streams of a few expected events a unit. Targets that occur twice
  // must be drawn one after the other.
  void set_segments(FrameOp& op, bool disjoint) {
    constexpr double kEvents = 2;  // more waste draws, fewer leave the threads of a GPU idle
    const double p = out_.channels[op.channel].probability;
    const double targets = std::ceil(kEvents / (32 * p));
    op.segment = disjoint && targets < op.count ? static_cast<std::uint32_t>(targets) : op.count;
    op.ticks = (op.count + op.segment - 1) / op.segment;
  }
  std::uint32_t channel(const double* p, int branches) {
    FrameChannel c;
    for (int k = 0; k < branches; ++k) c.probability += p[k];
    c.probability = std::min(1.0, c.probability);
    c.inv_log = 1 / std::log1p(-c.probability);
    c.num_branches = static_cast<std::uint32_t>(branches);
    c.equal = std::all_of(p, p + branches, [&](double x) { return x == p[0]; });
    double sum = 0;
    for (int k = 0; k < branches && c.equal; ++k) {  // the smallest b with b * n >> 24 > k
      const auto n = static_cast<std::uint32_t>(branches), next = static_cast<std::uint32_t>(k) + 1;
      c.upto[k] = ((next << 24) + n - 1) / n;
    }
    for (int k = 0; k < branches && !c.equal; ++k) {
      sum += p[k];
      c.upto[k] = static_cast<std::uint32_t>(std::lround(sum / c.probability * 0x1p24));
    }
    for (int k = branches - 1; k >= 0 && (k == branches - 1 || p[k + 1] == 0) && !c.equal; --k)
      c.upto[k] = 1u << 24;
    out_.channels.push_back(c);
    return static_cast<std::uint32_t>(out_.channels.size() - 1);
  }
  std::uint32_t axes(std::uint32_t qubit) const {
    const Place& at = places_[qubit];
    return at.slot | (static_cast<std::uint32_t>(at.of(Pauli::kX)) << 28) |
           (static_cast<std::uint32_t>(at.of(Pauli::kZ)) << 30);
  }
  static int code_of(Pauli p) { return static_cast<int>(p); }

  void block(std::uint32_t index) {
    const std::vector<Prim>& prims = in_.blocks[index];
    static thread_local InterruptCounter now_and_then(64);
    for (std::size_t i = 0; i < prims.size(); ++i) {
      now_and_then.step();
      coin_needed_ = coins_.blocks[index][i];
      prim(prims[i]);
    }
    flush();
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
        add(C::kControlled, 3 * (code_of(a.of(p.p)) - 1) + code_of(b.of(p.q)) - 1,
            {a.slot, b.slot});
        break;
      }
      case P::kSwap:
        std::swap(places_[p.a], places_[p.b]);
        break;
      case P::kMeasure: {
        const Place& at = places_[p.a];
        add(C::kMeasure, code_of(at.of(p.p)), {at.slot});
        coin(at, p.p);
        break;
      }
      case P::kReset: {
        Place& at = places_[p.a];
        add(C::kClear, 0, {at.slot});
        const std::uint32_t slot = at.slot;
        at = Place{};
        at.slot = slot;
        coin(at, p.p);
        break;
      }
      case P::kRecordFlip: {
        FrameOp& op = op_with(C::kRecordFlip, p.count, {});
        op.channel = channel(in_.probabilities(p), 1);
        set_segments(op, true);
        break;
      }
      case P::kPad: {
        add(C::kPad, 0, {});
        break;
      }
      case P::kPauli1:
      case P::kPauli2:
      case P::kHerald: {
        std::vector<std::uint32_t> operands;
        for (std::uint32_t q : in_.list(p)) operands.push_back(axes(q));
        const bool two = p.kind == P::kPauli2;
        const double* probabilities = in_.probabilities(p);
        const int branches = two ? 15 : p.kind == P::kHerald ? 4 : 3;
        const bool some =
            std::any_of(probabilities, probabilities + branches, [](double x) { return x > 0; });
        FrameOp& op = op_with(two                    ? C::kPauli2
                              : p.kind == P::kHerald ? C::kHerald
                                                     : C::kPauli1,
                              p.count / (two ? 2 : 1), operands);
        if (some) {
          std::vector<std::uint32_t> sorted(in_.list(p).begin(), in_.list(p).end());
          std::sort(sorted.begin(), sorted.end());
          op.channel = channel(probabilities, branches);
          set_segments(op, std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
        } else {
          op.code = C::kPad;  // heralds that never happen
        }
        break;
      }
      case P::kCorrelated: {
        std::vector<std::uint32_t> operands;
        const auto list = in_.list(p);
        for (std::size_t i = 0; i < list.size(); i += 2) {
          const Place& at = places_[list[i]];
          operands.push_back(
              at.slot | (static_cast<std::uint32_t>(at.of(static_cast<Pauli>(list[i + 1]))) << 28));
        }
        FrameOp& op =
            op_with(C::kCorrelated, static_cast<std::uint32_t>(operands.size()), operands);
        op.sub = p.flag;
        op.channel = channel(in_.probabilities(p), 1);
        op.ticks = 1;
        break;
      }
      case P::kFeedback:
        add(C::kFeedback, code_of(places_[p.a].of(p.p)), {places_[p.a].slot, p.b});
        break;
      case P::kSweep:
        add(C::kSweep, code_of(places_[p.a].of(p.p)), {places_[p.a].slot, p.b});
        break;
      case P::kDetector:
        if (out_.output == FrameOutput::kRecords) break;
        add(C::kDetector, 0, {p.count});
        for (std::uint32_t back : in_.list(p)) groups_[record_group_ - 1].operands.push_back(back);
        break;
      case P::kObservable: {
        if (out_.output == FrameOutput::kRecords) break;
        std::vector<std::uint32_t> operands{p.a};
        for (std::uint32_t back : in_.list(p)) operands.push_back(back);
        op_with(C::kObservable, p.count, operands);
        break;
      }
      case P::kObservablePauli: {
        if (out_.output == FrameOutput::kRecords) break;
        const Place& at = places_[p.b];
        FrameOp& op = op_with(C::kObservablePauli, 1, {p.a, at.slot});
        op.sub = static_cast<std::uint8_t>(at.of(p.p));
        break;
      }
      case P::kShift:
        break;
      case P::kRepeat:
        loop(p);
        break;
    }
  }

  // After a measurement or reset in basis p the state is an eigenstate of p: p acts trivially.
  void coin(const Place& at, Pauli p) {
    if (coin_needed_) add(C::kCoin, code_of(at.of(p)), {at.slot});
  }

  void loop(const Prim& p) {
    flush();
    const std::vector<Place> start = places_;
    FrameOp begin{};
    begin.code = C::kLoop;
    begin.first = static_cast<std::uint32_t>(out_.loops.size());
    out_.loops.push_back(in_.repeats[p.b]);
    const std::size_t begin_at = out_.ops.size();
    out_.ops.push_back(begin);
    block(p.a);
    restore(start);
    FrameOp end{};
    end.code = C::kLoopEnd;
    end.first = static_cast<std::uint32_t>(begin_at + 1);
    out_.ops.push_back(end);
    out_.ops[begin_at].count = static_cast<std::uint32_t>(out_.ops.size());
  }

  // Emits operations that bring every qubit back to the slot and permutation it had in `start`.
  void restore(const std::vector<Place>& start) {
    std::vector<std::uint32_t> holder(places_.size());  // which qubit sits in a slot
    for (std::size_t q = 0; q < places_.size(); ++q)
      holder[places_[q].slot] = static_cast<std::uint32_t>(q);
    for (std::size_t q = 0; q < places_.size(); ++q) {
      const std::uint32_t want = start[q].slot, have = places_[q].slot;
      if (want == have) continue;
      const std::uint32_t other = holder[want];
      add(C::kSwap, 0, {have, want});
      places_[q].slot = want, places_[other].slot = have;
      holder[want] = static_cast<std::uint32_t>(q), holder[have] = other;
    }
    flush();
    for (std::size_t q = 0; q < places_.size(); ++q) {
      // New stored form of what is stored now: logical l is stored as now(l), shall be as start(l).
      Pauli to[4] = {Pauli::kI, Pauli::kI, Pauli::kI, Pauli::kI};
      for (Pauli l : {Pauli::kX, Pauli::kY, Pauli::kZ})
        to[code_of(places_[q].of(l))] = start[q].of(l);
      if (to[1] == Pauli::kX && to[3] == Pauli::kZ) continue;
      add(C::kPermute, code_of(to[1]) | (code_of(to[3]) << 2), {start[q].slot});
      places_[q] = start[q];
    }
    flush();
  }

  const StabProgram& in_;
  const NeededCoins coins_;
  bool coin_needed_ = false;  // of the primitive at hand
  FrameProgram out_;
  std::vector<Place> places_;
  struct Group {
    FrameCode code;
    int sub;
    std::uint32_t count;
    std::vector<std::uint32_t> operands;
  };
  std::vector<Group> groups_;            // since the last operation that stands alone
  std::vector<std::size_t> after_slot_;  // the group behind the last one that touches a slot
  std::vector<std::uint32_t> touched_;
  std::size_t record_group_ = 0;  // the same for the records
};

}  // namespace

FrameProgram compile_frames(const StabProgram& program, FrameOutput output) {
  return Compiler(program, output).run();
}

std::string describe(const FrameProgram& program) {
  static constexpr const char* kNames[] = {
      "controlled", "measure", "coin",     "clear",      "record_flip",
      "pad",        "pauli1",  "pauli2",   "correlated", "herald",
      "feedback",   "sweep",   "detector", "observable", "observable_pauli",
      "permute",    "swap",    "loop",     "loop_end"};
  std::string out;
  int depth = 0;
  for (const FrameOp& op : program.ops) {
    if (op.code == C::kLoopEnd) --depth;
    out +=
        std::string(static_cast<std::size_t>(2 * depth), ' ') + kNames[static_cast<int>(op.code)];
    if (op.code == C::kLoop) {
      out.append(" ").append(std::to_string(program.loops[op.first]));
      ++depth;
    } else if (op.code != C::kLoopEnd) {
      out.append(" x").append(std::to_string(op.count));
    }
    out += '\n';
  }
  return out;
}

}  // namespace tilewave::stabilizer
