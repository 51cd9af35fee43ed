// Leakage in the words of another project. To deltakit a CX, CY, CZ, SQRT_XX or SQRT_XX_DAG whose one
// qubit is leaked depolarises the other; to cuStabilizer gates act on states alone, and what else
// happens is written out. So the way to cuStabilizer is open for all words:
//   LEAKAGE(p)            LEAKAGE_PAULI1(0, 0, 0, p/4, p/4, p/4), which depolarises anew what is leaked,
//                         then LEAKAGE1(p)
//   CX(s, t, m, n) a b    CX, then LEAKAGE_PROPAGATE(s, 0, (1-s) m, 0), what a does if it is leaked, and
//                         LEAKAGE_PROPAGATE(0, t, 0, (1-t) n), what b does, which a may have leaked
//   SWAP a b              three CX, then LEAKAGE_PROPAGATE_MARK(0, 0, 1, 1): the flags change places.
// The way back is not: deltakit has no leakage that leaves a state as it is. Its gates do more than
// cuStabilizer's, but XCZ b a is CX a b and depolarises nothing; in front of CX a b it takes the gate
// back and leaves the depolarisation. Leakage that goes from a to b alone is that of a gate whose second
// qubit is a: nothing comes behind what the second qubit does.
#include <algorithm>

#include "tilewave/language/stim/dialect_rewriter.h"

namespace tilewave::language {

using circuit::GateId;
using circuit::Pauli;
using circuit::qubit_target;
using circuit::StabTarget;
using K = circuit::StabKind;
using L = LeakageLanguage;

namespace {

bool is_zero(std::span<const double> args) {
  return std::all_of(args.begin(), args.end(), [](double p) { return p == 0; });
}

// Calls f(targets) for runs of targets, by `width`, in which no qubit occurs twice.
template <class F>
void for_each_distinct_run(std::span<const StabTarget> targets, std::size_t width, F f) {
  for (std::size_t first = 0; first < targets.size();) {
    circuit::QubitPlaces places(targets.size() - first);
    std::size_t end = first;
    for (bool fresh = true; fresh && end < targets.size();) {
      for (std::size_t k = 0; k < width; ++k)
        fresh = fresh && places.of(targets[end + k].value) == end + k - first;
      if (fresh) end += width;
    }
    f(targets.subspan(first, end - first));
    first = end;
  }
}

// Of leakage that spreads with s and otherwise moves with m: the probability that it moves, and back.
double moves(double s, double m) { return (1 - s) * m; }
double moves_otherwise(double s, double moved) {
  return s < 1 ? std::min(1.0, moved / (1 - s)) : 0.0;
}
// Whether the arguments are of leakage that goes from the first qubit of a pair, and no other.
bool is_from_first(std::span<const double> a) { return a[1] == 0 && a[3] == 0; }
bool is_from_second(std::span<const double> a) { return a[0] == 0 && a[2] == 0; }

}  // namespace

void DialectRewriter::gates_with_partners(Targets targets, Args args) {
  const GateId id = op_->gate;
  const bool has_partners = circuit::may_spread_leakage(id);
  if (to_.leakage == L::kDeltakit && circuit::gate_clifford2(id).swap) {
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      if (may_leak(targets[i].value, targets[i + 1].value))
        refuse("leakage does not change places with the qubits there, as it does here");
    }
  }
  if (!to_.few_words && !(must_not_scramble_ && has_partners))
    return write(K::kGate, id, targets, to_.leakage == L::kDeltakit ? args : Args{});
  if (must_not_scramble_) {
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      const std::uint32_t a = targets[i].value, b = targets[i + 1].value;
      if (!may_leak(a, b)) {
        write(id, {a, b});
      } else if (id == GateId::kSqrtXx || id == GateId::kSqrtXxdg) {
        write(K::kGate, GateId::kH, targets.subspan(i, 2));
        write(id == GateId::kSqrtXx ? GateId::kSqrtZz : GateId::kSqrtZzdg, {a, b});
        write(K::kGate, GateId::kH, targets.subspan(i, 2));
      } else {
        const circuit::Clifford2Form& form = circuit::gate_clifford2(id);
        controlled(form.a, a, form.b, b);
      }
    }
    return;
  }
  for_each_distinct_run(targets, 2, [&](Targets run) {
    if (id == GateId::kCx || id == GateId::kCz) {
      write(K::kGate, id, run);
    } else {
      for (std::size_t i = 0; i < run.size(); i += 2) pair(id, run[i].value, run[i + 1].value);
    }
    if (!scrambles_ || !has_partners) return;
    std::vector<StabTarget> leaking;
    for (std::size_t i = 0; i < run.size(); i += 2) {
      if (may_leak(run[i].value, run[i + 1].value))
        leaking.insert(leaking.end(), {run[i], run[i + 1]});
    }
    if (leaking.empty()) return;
    if (is_zero(args)) return write(K::kLeakageScramblePartner, GateId::kId, leaking);
    const double from_first[] = {args[0], 0, moves(args[0], args[2]), 0},
                 from_second[] = {0, args[1], 0, moves(args[1], args[3])};
    if (!is_zero(from_first)) write(K::kLeakagePropagate, GateId::kId, leaking, from_first);
    if (!is_zero(from_second))
      return write(K::kLeakagePropagate, GateId::kId, leaking, from_second);
    write(K::kLeakageScramblePartner, GateId::kId, leaking);
  });
}

void DialectRewriter::leakage(Targets targets, Args args) {
  if (op_->kind == K::kHeraldLeakageEvent && to_.leakage == L::kCustabilizer) {
    for (const StabTarget& t : targets) {
      if (is_zero(args)) {
        write(K::kHeraldLeakageEvent, {t.value});
      } else {
        noisy_herald(t.value, args);
      }
    }
    return;
  }
  if (to_.leakage != L::kNone && (from_ == to_.leakage || from_ == L::kNone))
    return keep(targets, args);
  if (to_.leakage == L::kCustabilizer) return leakage_for_custabilizer(targets, args);
  if (!words_.leaks) return leakage_that_never_is(targets, args);
  if (to_.leakage == L::kDeltakit) return leakage_for_deltakit(targets, args);
  refuse(to_.dialect == Dialect::kClifft
             ? "leakage is another one there, which drops the gates of a leaked qubit"
             : "there is no leakage there");
}

// In a circuit in which no qubit leaks.
void DialectRewriter::leakage_that_never_is(Targets targets, Args args) {
  if (op_->kind == K::kHeraldLeakageEvent) {
    const bool flips = args.size() == 2 && args[1] > 0;
    for (std::size_t k = 0; k < targets.size(); ++k) pad(false, flips ? args.subspan(1) : Args{});
  } else if (op_->kind == K::kLeakagePauli1 && !is_zero(args.first(3))) {
    write(K::kPauliChannel1, GateId::kId, targets, args.first(3));
  } else if (op_->kind == K::kLeakagePauli2 && !is_zero(args.first(15))) {
    write(K::kPauliChannel2, GateId::kId, targets, args.first(15));
  }
}

// An X on the spare qubit says what the record will be.
void DialectRewriter::noisy_herald(std::uint32_t q, Args args) {
  std::vector<double> tables(60, 0.0);
  tables[0] = args.size() < 2 ? 0.0 : args[1];  // not leaked
  tables[30] = 1 - args[0];                     // leaked, the spare qubit is not
  const StabTarget both[] = {qubit_target(q), qubit_target(spare(0))};
  write(K::kLeakagePauli2, GateId::kId, both, tables);
  write(K::kMR, {spare(0)});
}

void DialectRewriter::leakage_for_custabilizer(Targets targets, Args args) {
  switch (op_->kind) {
    case K::kRL:
      return write(K::kLeakageReset, GateId::kId, targets);
    case K::kRelax:
      return write(K::kLeakageRelax, GateId::kId, targets, args);
    default:  // LEAKAGE
      break;
  }
  const double p = args[0];
  if (p == 0) return;
  for_each_distinct_run(targets, 1, [&](Targets run) {
    std::vector<StabTarget> leaking;
    for (const StabTarget& t : run)
      if (may_leak(t.value)) leaking.push_back(t);
    const double anew[] = {0, 0, 0, p / 4, p / 4, p / 4};
    if (!leaking.empty()) write(K::kLeakagePauli1, GateId::kId, leaking, anew);
    write(K::kLeakage1, GateId::kId, run, args);
  });
}

// The partners of leaked qubits are depolarised, and where b is leaked and a is not, both are with
// probability s, or the leakage moves to a with m.
void DialectRewriter::scramble_by_cx(std::uint32_t a, std::uint32_t b, double s, double m) {
  controlled(Pauli::kZ, a, Pauli::kX, b);
  const StabTarget both[] = {qubit_target(a), qubit_target(b)};
  const double args[] = {0, s, 0, moves_otherwise(s, m)};
  write(K::kGate, GateId::kCx, both, is_zero(args) ? Args{} : Args(args));
}

void DialectRewriter::leakage_for_deltakit(Targets targets, Args args) {
  const auto for_each_pair = [&](auto f) {
    for (std::size_t i = 0; i < targets.size(); i += 2) f(targets[i].value, targets[i + 1].value);
  };
  switch (op_->kind) {
    case K::kHeraldLeakageEvent:
      return keep(targets, args);
    case K::kLeakageReset:
      return write(K::kRL, GateId::kId, targets);
    case K::kLeakageRelax:
      return write(K::kRelax, GateId::kId, targets, args);
    case K::kLeakage1:
      for (const StabTarget& t : targets) {
        if (args[0] == 0) continue;
        if (may_leak(t.value)) {
          refuse("leakage depolarises again there what is leaked already, as qubit " +
                 std::to_string(t.value) + " may be");
        }
        write(K::kLeakage, GateId::kId, {&t, 1}, args);
      }
      return;
    case K::kLeakageMark1:
    case K::kLeakageMark2:
      if (!is_zero(args)) refuse("qubits that leak are always depolarised there");
      return;
    case K::kLeakage2:
      if (!is_zero(args)) refuse("the qubits of a pair leak independently there");
      return;
    case K::kLeakagePropagateMark:
      for_each_pair([&](std::uint32_t a, std::uint32_t b) {
        if (!is_zero(args) && may_leak(a, b))
          refuse("leakage spreads and moves there by gates alone, which depolarise");
      });
      return;
    case K::kLeakageScramble:
      for (const StabTarget& t : targets) {
        if (!may_leak(t.value)) continue;
        // The spare qubit is leaked where the qubit is, then it depolarises the qubit.
        scramble_by_cx(spare(0), t.value, 1, 0);
        scramble_by_cx(spare(0), t.value, 0, 0);
        write(K::kR, {spare(0)});
      }
      return;
    case K::kLeakageScramblePartner:
    case K::kLeakagePropagate:
      for_each_pair([&](std::uint32_t a, std::uint32_t b) {
        if (!may_leak(a, b)) return;
        const bool from_a = !args.empty() && !is_from_second(args) && may_leak(a),
                   from_b = !args.empty() && !is_from_first(args) && may_leak(b);
        if (from_a && from_b)
          refuse(
              "leakage that has gone from one qubit of a pair to the other may go back at once "
              "there");
        if (from_a) return scramble_by_cx(b, a, args[0], args[2]);
        scramble_by_cx(a, b, from_b ? args[1] : 0, from_b ? args[3] : 0);
      });
      return;
    default:
      break;
  }
  // LEAKAGE_PAULI1 and LEAKAGE_PAULI2
  const std::size_t size = op_->kind == K::kLeakagePauli1 ? 3 : 15;
  const Args plain = args.first(size);
  bool same = true;
  for (std::size_t k = size; k < args.size(); ++k) same = same && args[k] == plain[k % size];
  if (!same) {
    for (const StabTarget& t : targets)
      if (may_leak(t.value)) refuse("noise does not depend on leakage there");
  }
  write(size == 3 ? K::kPauliChannel1 : K::kPauliChannel2, GateId::kId, targets, plain);
}

// What stands for one word of deltakit's (above) is written as that. Returns the number of instructions,
// none where there is no such word.
std::size_t DialectRewriter::one_word_of_deltakit(const StabilizerCircuit& c, std::size_t at) {
  const auto ops = c.instructions();
  if (!must_not_scramble_ || shares_qubits_) return 0;
  const StabInstruction& first = ops[at];
  const Targets targets = c.targets(first);
  const auto next = [&](std::size_t k, StabKind kind) {  // on the same targets
    if (at + k >= ops.size() || ops[at + k].kind != kind) return false;
    const Targets others = c.targets(ops[at + k]);
    return std::equal(targets.begin(), targets.end(), others.begin(), others.end());
  };
  if (first.kind == K::kLeakagePauli1 && next(1, K::kLeakage1)) {
    const Args a = c.args(first), b = c.args(ops[at + 1]);
    if (!is_zero(a.first(3)) || a[3] != a[4] || a[3] != a[5] || 4 * a[3] != b[0]) return 0;
    write(K::kLeakage, GateId::kId, targets, b);
    return 2;
  }
  if (first.kind != K::kGate || !circuit::may_spread_leakage(first.gate)) return 0;
  for (const StabTarget& t : targets)
    if (t.kind != StabTarget::Kind::kQubit) return 0;
  double args[4] = {};
  std::size_t count = 1;
  const auto take = [&](std::size_t from) {
    const Args a = c.args(ops[at + count++]);
    args[from] = a[from];
    args[2 + from] = moves_otherwise(a[from], a[2 + from]);
  };
  if (next(1, K::kLeakagePropagate) && is_from_first(c.args(ops[at + 1]))) take(0);
  if (next(count, K::kLeakagePropagate) && is_from_second(c.args(ops[at + count]))) {
    take(1);
  } else if (next(count, K::kLeakageScramblePartner)) {
    ++count;
  } else {
    return 0;
  }
  write(K::kGate, first.gate, targets, is_zero(args) ? Args{} : Args(args));
  return count;
}

}  // namespace tilewave::language
