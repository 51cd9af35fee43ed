#include "tilewave/circuit/stabilizer_circuit.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/read_double.h"
#include "tilewave/base/saturating.h"
#include "tilewave/circuit/rotations.h"

namespace tilewave::circuit {
namespace {

using K = StabKind;
using T = TargetRule;
// clang-format off
constexpr StabOpInfo kOps[] = {
    {K::kGate, "", "", 0, 0, false, T::kQubits, "a gate of the gate table"},
    {K::kXError, "X_ERROR", "", 1, 1, true, T::kQubits, "X with probability p"},
    {K::kYError, "Y_ERROR", "", 1, 1, true, T::kQubits, "Y with probability p"},
    {K::kZError, "Z_ERROR", "", 1, 1, true, T::kQubits, "Z with probability p"},
    {K::kDepolarize1, "DEPOLARIZE1", "", 1, 1, true, T::kQubits, "each of X, Y, Z with probability p/3"},
    {K::kDepolarize2, "DEPOLARIZE2", "", 1, 1, true, T::kPairs, "each of 15 two-qubit Paulis with probability p/15"},
    {K::kPauliChannel1, "PAULI_CHANNEL_1", "", 3, 3, true, T::kQubits, "X, Y, Z with given probabilities"},
    {K::kPauliChannel2, "PAULI_CHANNEL_2", "", 15, 15, true, T::kPairs, "IX, IY, ..., ZZ with given probabilities"},
    {K::kCorrelatedError, "E", "CORRELATED_ERROR", 1, 1, true, T::kPaulis, "a Pauli product with probability p"},
    {K::kElseCorrelatedError, "ELSE_CORRELATED_ERROR", "", 1, 1, true, T::kPaulis, "the same when no error of the chain before happened"},
    {K::kHeraldedErase, "HERALDED_ERASE", "", 1, 1, true, T::kMeasured, "full depolarisation with probability p, recorded; a '!' does not invert the record"},
    {K::kHeraldedPauliChannel1, "HERALDED_PAULI_CHANNEL_1", "", 4, 4, true, T::kMeasured, "I, X, Y, Z with given probabilities, recorded; a '!' does not invert the record"},
    {K::kIError, "I_ERROR", "", 0, -1, true, T::kQubits, "nothing"},
    {K::kIIError, "II_ERROR", "", 0, -1, true, T::kPairs, "nothing on pairs"},
    {K::kM, "M", "MZ", 0, 1, true, T::kMeasured, "measurement in the Z basis"},
    {K::kMX, "MX", "", 0, 1, true, T::kMeasured, "measurement in the X basis"},
    {K::kMY, "MY", "", 0, 1, true, T::kMeasured, "measurement in the Y basis"},
    {K::kMR, "MR", "MRZ", 0, 1, true, T::kMeasured, "measurement in the Z basis, then reset"},
    {K::kMRX, "MRX", "", 0, 1, true, T::kMeasured, "measurement in the X basis, then reset"},
    {K::kMRY, "MRY", "", 0, 1, true, T::kMeasured, "measurement in the Y basis, then reset"},
    {K::kR, "R", "RZ", 0, 0, false, T::kQubits, "reset to +Z"},
    {K::kRX, "RX", "", 0, 0, false, T::kQubits, "reset to +X"},
    {K::kRY, "RY", "", 0, 0, false, T::kQubits, "reset to +Y"},
    {K::kMXX, "MXX", "", 0, 1, true, T::kMeasuredPairs, "measurement of XX"},
    {K::kMYY, "MYY", "", 0, 1, true, T::kMeasuredPairs, "measurement of YY"},
    {K::kMZZ, "MZZ", "", 0, 1, true, T::kMeasuredPairs, "measurement of ZZ"},
    {K::kMPP, "MPP", "", 0, 1, true, T::kProducts, "measurement of Pauli products"},
    {K::kSPP, "SPP", "", 0, 0, false, T::kProducts, "square root of Pauli products"},
    {K::kSPPDag, "SPP_DAG", "", 0, 0, false, T::kProducts, "inverse of SPP"},
    {K::kT, "T", "", 0, 0, false, T::kQubits, "fourth root of Z: 1 becomes e^(i pi/4)"},
    {K::kTDag, "T_DAG", "", 0, 0, false, T::kQubits, "inverse of T"},
    {K::kTPP, "TPP", "", 0, 0, false, T::kProducts, "fourth root of Pauli products: -1 gains e^(i pi/4)"},
    {K::kTPPDag, "TPP_DAG", "", 0, 0, false, T::kProducts, "inverse of TPP"},
    {K::kRotX, "R_X", "", 1, 1, false, T::kQubits, "exp(-i pi a X/2), a in half-turns"},
    {K::kRotY, "R_Y", "", 1, 1, false, T::kQubits, "exp(-i pi a Y/2), a in half-turns"},
    {K::kRotZ, "R_Z", "", 1, 1, false, T::kQubits, "exp(-i pi a Z/2), a in half-turns"},
    {K::kRotXX, "R_XX", "", 1, 1, false, T::kPairs, "exp(-i pi a XX/2), a in half-turns"},
    {K::kRotYY, "R_YY", "", 1, 1, false, T::kPairs, "exp(-i pi a YY/2), a in half-turns"},
    {K::kRotZZ, "R_ZZ", "", 1, 1, false, T::kPairs, "exp(-i pi a ZZ/2), a in half-turns"},
    {K::kRotPauli, "R_PAULI", "", 1, 1, false, T::kProducts, "exp(-i pi a P/2) of Pauli products, a in half-turns"},
    {K::kU3, "U3", "U", 3, 3, false, T::kQubits, "R_Z(lambda), R_Y(theta), then R_Z(phi): (theta, phi, lambda) in half-turns"},
    {K::kCCX, "CCX", "", 0, 0, false, T::kTriples, "X on the third qubit where the first two are 1"},
    {K::kCCZ, "CCZ", "", 0, 0, false, T::kTriples, "Z on the third qubit where the first two are 1"},
    {K::kCH, "CH", "", 0, 0, false, T::kPairs, "H on the second qubit where the first is 1"},
    {K::kLeakage, "LEAKAGE", "", 1, 1, true, T::kQubits, "leaks with probability p and depolarises where it does"},
    {K::kRelax, "RELAX", "", 1, 1, true, T::kQubits, "leaked qubits come back with probability p"},
    {K::kRL, "RL", "", 0, 0, false, T::kQubits, "leaked qubits come back"},
    {K::kLeakageMark1, "LEAKAGE_MARK1", "", 1, 1, true, T::kQubits, "marks as leaked with probability p"},
    {K::kLeakageMark2, "LEAKAGE_MARK2", "", 3, 3, true, T::kPairs, "marks both, the first or the second as leaked with given probabilities"},
    {K::kLeakageReset, "LEAKAGE_RESET", "", 0, 0, false, T::kQubits, "leaked qubits come back"},
    {K::kLeakageRelax, "LEAKAGE_RELAX", "", 1, 1, true, T::kQubits, "leaked qubits come back with probability p"},
    {K::kLeakagePropagateMark, "LEAKAGE_PROPAGATE_MARK", "", 4, 4, true, T::kPairs, "leakage of one spreads (s01, s10) or moves (m01, m10) to the other"},
    {K::kLeakageScramble, "LEAKAGE_SCRAMBLE", "", 0, 0, false, T::kQubits, "depolarises leaked qubits"},
    {K::kLeakageScramblePartner, "LEAKAGE_SCRAMBLE_PARTNER", "", 0, 0, false, T::kPairs, "depolarises partners of leaked qubits"},
    {K::kLeakagePauli1, "LEAKAGE_PAULI1", "", 6, 6, true, T::kQubits, "X, Y, Z with given probabilities, first of unleaked qubits, then of leaked ones"},
    {K::kLeakagePauli2, "LEAKAGE_PAULI2", "", 60, 60, true, T::kPairs, "IX, ..., ZZ with given probabilities where none, the second, the first, both are leaked"},
    {K::kLeakage1, "LEAKAGE1", "", 1, 1, true, T::kQubits, "LEAKAGE_MARK1 that depolarises what it leaks"},
    {K::kLeakage2, "LEAKAGE2", "", 3, 3, true, T::kPairs, "LEAKAGE_MARK2 that depolarises what it leaks"},
    {K::kLeakagePropagate, "LEAKAGE_PROPAGATE", "", 4, 4, true, T::kPairs, "LEAKAGE_SCRAMBLE_PARTNER, then LEAKAGE_PROPAGATE_MARK"},
    {K::kHeraldLeakageEvent, "HERALD_LEAKAGE_EVENT", "", 0, 2, true, T::kQubits, "records whether a qubit is leaked; missed, then false with given probabilities"},
    {K::kRepeat, "REPEAT", "", 0, 0, false, T::kNone, "a block, repeated"},
    {K::kDetector, "DETECTOR", "", 0, -1, false, T::kRecords, "records whose parity is known without noise"},
    {K::kObservableInclude, "OBSERVABLE_INCLUDE", "", 1, 1, false, T::kRecordsOrPaulis, "adds records to a logical observable"},
    {K::kQubitCoords, "QUBIT_COORDS", "", 0, -1, false, T::kQubits, "where qubits lie"},
    {K::kShiftCoords, "SHIFT_COORDS", "", 0, -1, false, T::kNone, "moves the origin of detector coordinates"},
    {K::kTick, "TICK", "", 0, 0, false, T::kNone, "the end of a time step"},
    {K::kMpad, "MPAD", "", 0, 1, true, T::kBits, "adds constant records"},
};
// clang-format on
static_assert(std::size(kOps) == static_cast<std::size_t>(K::kCount));

template <class... Parts>
[[noreturn]] void fail(const Parts&... message) {
  tilewave::fail(ExitCode::kInput, message...);
}

// Each product of Paulis must be Hermitian: with its factors on a qubit two by two, as often as
// unequal ones meet it gains an i, which must come in pairs.
void check_hermitian(const std::string& where, std::span<const StabTarget> targets) {
  for (std::size_t first = 0, end = 0; first < targets.size(); first = end) {
    end = end_of_product(targets, first);
    std::vector<std::uint32_t> factors;  // the Pauli on each qubit so far as x + 2 z
    QubitPlaces places(end - first);
    unsigned turns = 0;
    for (std::size_t i = first; i < end; i += 2) {
      const auto code = static_cast<std::uint32_t>(targets[i].pauli), xz = code ^ (code >> 1);
      const std::size_t at = places.of(targets[i].value);
      if (at == factors.size()) {
        factors.push_back(xz);
      } else {
        turns += factors[at] != 0 && factors[at] != xz;
        factors[at] ^= xz;
      }
    }
    if (turns % 2) {
      fail(where,
           ": a Pauli product is anti-Hermitian (it multiplies to +-i times a Pauli): fix "
           "the repeated qubit");
    }
  }
}

constexpr std::uint32_t kMaxIndex = (1u << 24) - 1;

bool may_be_classical(GateId gate) {  // gates whose control may be a record or sweep bit
  return gate == GateId::kCx || gate == GateId::kCy || gate == GateId::kCz ||
         gate == GateId::kXcz || gate == GateId::kYcz;
}

bool fusable(StabKind kind) {
  return kind != K::kDetector && kind != K::kObservableInclude && kind != K::kTick &&
         kind != K::kShiftCoords && kind != K::kCorrelatedError &&
         kind != K::kElseCorrelatedError && kind != K::kRepeat;
}

// Of which of its disjoint sets of events an argument is a probability.
std::size_t set_of(StabKind kind, std::size_t arg) {
  switch (kind) {
    case K::kLeakagePropagateMark:
    case K::kLeakagePropagate:
      return arg % 2;
    case K::kLeakagePauli1:
      return arg / 3;
    case K::kLeakagePauli2:
      return arg / 15;
    case K::kGate:
    case K::kHeraldLeakageEvent:
      return arg;
    default:
      return 0;
  }
}

void check_args(const StabOpInfo& info, GateId gate, std::string_view name,
                std::span<const double> args) {
  const int n = static_cast<int>(args.size());
  const bool spreads = info.kind == K::kGate && may_spread_leakage(gate) && n > 0;
  if (spreads && n != 4) {
    fail(name, " takes no arguments, or the 4 of leakage (s01, s10, m01, m10), not ", n);
  }
  if (!spreads && (n < info.min_args || (info.max_args >= 0 && n > info.max_args))) {
    std::string takes = std::to_string(info.min_args);
    if (info.max_args < 0) takes += " or more";
    if (info.max_args > info.min_args) takes += " to " + std::to_string(info.max_args);
    const char* noun = takes == "1" ? " argument, not " : " arguments, not ";
    fail(name, " takes ", takes, noun, n);
  }
  const bool probabilities = info.probabilities || spreads;
  double sums[4] = {};
  for (std::size_t k = 0; k < args.size(); ++k) {
    const double a = args[k];
    if (!std::isfinite(a)) fail(name, ": an argument is not a finite number");
    if (probabilities && (a < 0 || a > 1)) {
      const std::string value = write_double(a, std::chars_format::general, 6);
      fail(name, ": argument ", value, " is not a probability in [0, 1]");
    }
    if (probabilities) sums[set_of(info.kind, k)] += a;
  }
  for (double sum : sums) {
    if (sum <= 1.0000001) continue;
    fail(name, ": the probabilities add up to ", write_double(sum, std::chars_format::fixed, 6),
         ", more than 1");
  }
  if (info.kind == K::kObservableInclude) {
    if (args[0] < 0 || args[0] != std::floor(args[0]))
      fail("OBSERVABLE_INCLUDE needs a non-negative whole number as its index");
    if (args[0] > kMaxIndex)
      fail(
          "OBSERVABLE_INCLUDE: the index is above 2^24 - 1, the largest: number observables from "
          "0");
  }
}

void check_targets(const StabOpInfo& info, GateId gate, std::string_view name,
                   std::span<const StabTarget> targets) {
  using TK = StabTarget::Kind;
  TargetRule rule = info.targets;
  if (info.kind == K::kGate) {
    const GateInfo& g = gate_info(gate);
    rule = g.num_controls + g.num_targets == 2 ? T::kPairs : T::kQubits;
  }
  const std::string where(name);
  for (const StabTarget& t : targets) {
    if (t.value > kMaxIndex) fail(where, ": index ", t.value, " is above 2^24 - 1");
    bool ok = false;
    switch (rule) {
      case T::kNone:
        fail(where, " takes no targets");
      case T::kQubits:
      case T::kTriples:
        ok = t.kind == TK::kQubit && !t.inverted;
        break;
      case T::kPairs:
        ok = !t.inverted &&
             (t.kind == TK::kQubit || (info.kind == K::kGate && may_be_classical(gate) &&
                                       (t.kind == TK::kRecord || t.kind == TK::kSweep)));
        break;
      case T::kMeasured:
      case T::kMeasuredPairs:
        ok = t.kind == TK::kQubit;
        break;
      case T::kProducts:
      case T::kPaulis:
        ok = t.kind == TK::kPauli || t.kind == TK::kCombiner;
        break;
      case T::kRecords:
        ok = t.kind == TK::kRecord;
        break;
      case T::kRecordsOrPaulis:
        ok = t.kind == TK::kRecord || t.kind == TK::kPauli;
        break;
      case T::kBits:
        ok = t.kind == TK::kQubit && !t.inverted && t.value <= 1;
        break;
    }
    if (!ok) {
      fail(where, " takes ", describe(rule));
    }
  }
  if (rule == T::kPairs || rule == T::kMeasuredPairs) {
    if (targets.size() % 2) fail(where, " takes an even number of targets, not ", targets.size());
    for (std::size_t i = 0; i < targets.size(); i += 2) {
      const StabTarget &a = targets[i], &b = targets[i + 1];
      if (a.kind == TK::kQubit && b.kind == TK::kQubit && a.value == b.value) {
        fail(where, ": qubit ", a.value, " is paired with itself");
      }
      const bool ca = a.kind != TK::kQubit, cb = b.kind != TK::kQubit;
      // The Z-controlled side of the gate is the only one a classical bit can stand for.
      if ((ca && (gate == GateId::kXcz || gate == GateId::kYcz)) ||
          (cb && (gate == GateId::kCx || gate == GateId::kCy))) {
        fail(where, ": a classical bit can only be the control");
      }
    }
  }
  if (rule == T::kTriples) {
    if (targets.size() % 3) fail(where, " takes targets by threes, not ", targets.size());
    for (std::size_t i = 0; i < targets.size(); i += 3) {
      const auto a = targets[i].value, b = targets[i + 1].value, c = targets[i + 2].value;
      if (a == b || a == c || b == c)
        fail(where, ": qubit ", a == b || a == c ? a : b, " occurs twice in a triple");
    }
  }
  if (info.kind == K::kRotPauli) {
    for (const StabTarget& t : targets) {
      if (t.inverted) fail(where, " takes no '!': give the angle the other sign");
    }
  }
  if (rule == T::kProducts || rule == T::kPaulis) {
    bool last_pauli = false;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const bool combiner = targets[i].kind == TK::kCombiner;
      if (combiner &&
          (!last_pauli || i + 1 == targets.size() || targets[i + 1].kind == TK::kCombiner)) {
        fail(where, ": '*' must stand between two Pauli targets");
      }
      last_pauli = !combiner;
    }
  }
  if (rule == T::kProducts) check_hermitian(where, targets);
}

}  // namespace

std::string_view describe(TargetRule rule) {
  static constexpr std::string_view kWants[] = {"no targets",
                                                "plain qubits",
                                                "pairs of qubits",
                                                "triples of qubits",
                                                "qubits (perhaps with '!')",
                                                "pairs of qubits (perhaps with '!')",
                                                "Pauli products such as X1*Z2",
                                                "Pauli targets such as X1",
                                                "measurement records such as rec[-1]",
                                                "records or Pauli targets",
                                                "the bits 0 and 1"};
  return kWants[static_cast<int>(rule)];
}

std::span<const StabOpInfo> stabilizer_ops() { return kOps; }
const StabOpInfo& stabilizer_op(StabKind kind) { return kOps[static_cast<std::size_t>(kind)]; }

StabName find_stabilizer_op(std::string_view upper) {
  static const auto kNames = [] {
    std::unordered_map<std::string_view, StabKind> map;
    for (const StabOpInfo& op : kOps) {
      if (op.name.empty()) continue;
      map.emplace(op.name, op.kind);
      if (!op.aliases.empty()) map.emplace(op.aliases, op.kind);
    }
    return map;
  }();
  if (const auto it = kNames.find(upper); it != kNames.end())
    return {true, it->second, GateId::kId};
  if (const GateInfo* g = find_gate(Language::kStim, upper)) return {true, K::kGate, g->id};
  return {};
}

std::vector<std::string_view> stabilizer_names() {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view words) {
    while (!words.empty()) {
      const std::size_t blank = std::min(words.find(' '), words.size());
      names.push_back(words.substr(0, blank));
      words.remove_prefix(std::min(blank + 1, words.size()));
    }
  };
  for (const StabOpInfo& op : kOps) add(op.name), add(op.aliases);
  for (const GateInfo& g : gate_table()) add(g.stim);
  return names;
}

std::string_view StabilizerCircuit::name(const StabInstruction& op) const {
  if (op.kind != K::kGate) return stabilizer_op(op.kind).name;
  const std::string_view all = gate_info(op.gate).stim;
  return all.substr(0, all.find(' '));
}

std::uint32_t StabilizerCircuit::tag_index(std::string_view tag) {
  const auto it = std::find(tags_.begin(), tags_.end(), tag);
  if (it != tags_.end()) return static_cast<std::uint32_t>(it - tags_.begin());
  tags_.emplace_back(tag);
  return static_cast<std::uint32_t>(tags_.size() - 1);
}

void StabilizerCircuit::append(StabKind kind, GateId gate, std::span<const StabTarget> targets,
                               std::span<const double> args, std::string_view tag,
                               std::uint32_t line) {
  check_interrupt_once_in<1024>();
  TW_CHECK(kind != K::kRepeat, "append_repeat adds blocks");
  const StabOpInfo& info = stabilizer_op(kind);
  StabInstruction op;
  op.kind = kind;
  op.gate = gate;
  const std::string_view op_name = name(op);
  check_args(info, gate, op_name, args);
  check_targets(info, gate, op_name, targets);
  op.tag = tag_index(tag);
  op.line = line;
  if (!instructions_.empty() && fusable(kind)) {
    StabInstruction& last = instructions_.back();
    const auto last_args = this->args(last);
    if (last.kind == kind && last.gate == gate && last.tag == op.tag &&
        std::equal(args.begin(), args.end(), last_args.begin(), last_args.end()) &&
        last.first_target + last.num_targets == targets_.size()) {
      targets_.insert(targets_.end(), targets.begin(), targets.end());
      last.num_targets += static_cast<std::uint32_t>(targets.size());
      return;
    }
  }
  op.first_target = static_cast<std::uint32_t>(targets_.size());
  op.num_targets = static_cast<std::uint32_t>(targets.size());
  op.first_arg = static_cast<std::uint32_t>(args_.size());
  op.num_args = static_cast<std::uint16_t>(args.size());
  targets_.insert(targets_.end(), targets.begin(), targets.end());
  args_.insert(args_.end(), args.begin(), args.end());
  instructions_.push_back(op);
}

void StabilizerCircuit::append(std::string_view op_name, std::span<const std::uint32_t> qubits,
                               std::span<const double> args) {
  const StabName found = find_stabilizer_op(op_name);
  TW_CHECK(found.found, "unknown instruction " + std::string(op_name));
  std::vector<StabTarget> targets;
  for (std::uint32_t q : qubits) targets.push_back(qubit_target(q));
  append(found.kind, found.gate, targets, args);
}

void StabilizerCircuit::append_repeat(std::uint64_t count, StabilizerCircuit body,
                                      std::string_view tag, std::uint32_t line) {
  if (count == 0) fail("REPEAT needs at least one iteration");
  StabInstruction op;
  op.kind = K::kRepeat;
  op.repeat = count;
  op.tag = tag_index(tag);
  op.line = line;
  op.block = static_cast<std::uint32_t>(blocks_.size());
  op.first_target = static_cast<std::uint32_t>(targets_.size());
  op.first_arg = static_cast<std::uint32_t>(args_.size());
  blocks_.push_back(std::move(body));
  instructions_.push_back(op);
}

std::uint64_t count_measurements(StabKind kind, std::span<const StabTarget> targets) {
  const bool heralds = kind == K::kHeraldedErase || kind == K::kHeraldedPauliChannel1 ||
                       kind == K::kHeraldLeakageEvent;
  if (!heralds && !is_measurement(kind)) return 0;
  if (stabilizer_op(kind).targets == T::kMeasuredPairs) return targets.size() / 2;
  const auto combiners =
      std::ranges::count(targets, StabTarget::Kind::kCombiner, &StabTarget::kind);
  return targets.size() - 2 * static_cast<std::uint64_t>(combiners);
}

StabCounts StabilizerCircuit::counts() const {
  StabCounts c;
  for (const StabInstruction& op : instructions_) {
    if (op.kind == K::kRepeat) {
      const StabCounts b = block(op).counts();
      c.measurements =
          saturating_add(c.measurements, saturating_multiply(b.measurements, op.repeat));
      c.detectors = saturating_add(c.detectors, saturating_multiply(b.detectors, op.repeat));
      c.ticks = saturating_add(c.ticks, saturating_multiply(b.ticks, op.repeat));
      c.observables = std::max(c.observables, b.observables);
      c.qubits = std::max(c.qubits, b.qubits);
      c.sweep_bits = std::max(c.sweep_bits, b.sweep_bits);
      c.max_lookback = std::max(c.max_lookback, b.max_lookback);
      continue;
    }
    c.measurements = saturating_add(c.measurements, count_measurements(*this, op));
    if (op.kind == K::kDetector) c.detectors = saturating_add(c.detectors, 1);
    if (op.kind == K::kTick) c.ticks = saturating_add(c.ticks, 1);
    if (op.kind == K::kObservableInclude) {
      c.observables = std::max(c.observables, static_cast<std::uint64_t>(args(op)[0]) + 1);
    }
    for (const StabTarget& t : targets(op)) {
      const std::uint64_t v = t.value;
      if (t.kind == StabTarget::Kind::kRecord) c.max_lookback = std::max(c.max_lookback, v);
      if (t.kind == StabTarget::Kind::kSweep) c.sweep_bits = std::max(c.sweep_bits, v + 1);
      if ((t.kind == StabTarget::Kind::kQubit && op.kind != K::kMpad) ||
          t.kind == StabTarget::Kind::kPauli) {
        c.qubits = std::max(c.qubits, v + 1);
      }
    }
  }
  return c;
}

}  // namespace tilewave::circuit
