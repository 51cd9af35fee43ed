#include "tilewave/circuit/leakage_words.h"

#include <algorithm>

#include "tilewave/base/interrupt.h"
#include "tilewave/circuit/clifford.h"

namespace tilewave::circuit {
namespace {

using K = StabKind;

bool any_positive(std::span<const double> args) {
  return std::any_of(args.begin(), args.end(), [](double p) { return p > 0; });
}

void find(const StabilizerCircuit& circuit, LeakageWords& words) {
  for (const StabInstruction& op : circuit.instructions()) {
    if (op.kind == K::kRepeat) {
      find(circuit.block(op), words);
      continue;
    }
    const bool spreading_gate = op.kind == K::kGate && op.num_args > 0;
    if (!spreading_gate && (!is_leakage(op.kind) || op.kind == K::kHeraldLeakageEvent)) continue;
    const bool of_deltakit =
        spreading_gate || op.kind == K::kLeakage || op.kind == K::kRelax || op.kind == K::kRL;
    const bool marks = op.kind == K::kLeakageMark1 || op.kind == K::kLeakageMark2 ||
                       op.kind == K::kLeakage1 || op.kind == K::kLeakage2;
    const bool positive = any_positive(circuit.args(op)) && !circuit.targets(op).empty();
    words.deltakit_leaks |= op.kind == K::kLeakage && positive;
    words.leaks |= (op.kind == K::kLeakage || marks) && positive;
    std::string& first = of_deltakit ? words.deltakit : words.custabilizer;
    if (!first.empty()) continue;
    first = circuit.name(op);
    if (spreading_gate) first += " with arguments";
    if (op.line > 0) first += " (line " + std::to_string(op.line) + ")";
  }
}

}  // namespace

std::string LeakageWords::mixed_message() const {
  return deltakit + " and " + custabilizer +
         " are words of two languages: with the first, gates such as CX depolarise partners of "
         "leaked qubits, with the second they do not: write one of them";
}

LeakageWords leakage_words(const StabilizerCircuit& circuit) {
  LeakageWords words;
  find(circuit, words);
  return words;
}

bool spreads_leakage(const StabilizerCircuit& circuit, const StabInstruction& op) {
  const bool may =
      op.kind == K::kGate || op.kind == K::kLeakagePropagate || op.kind == K::kLeakagePropagateMark;
  return may && any_positive(circuit.args(op));
}

bool MayLeak::gather(const StabilizerCircuit& circuit) {
  bool grew = false;
  for (const StabInstruction& op : circuit.instructions()) {
    check_interrupt_once_in<256>();
    grew |= op.kind == K::kRepeat ? gather(circuit.block(op)) : step(circuit, op, true);
  }
  return grew;
}

void MayLeak::enter_loop(const StabilizerCircuit& body) {
  while (gather(body)) {
  }
}

void MayLeak::pass(const StabilizerCircuit& circuit, const StabInstruction& op) {
  step(circuit, op, false);
}

bool MayLeak::step(const StabilizerCircuit& circuit, const StabInstruction& op, bool gain_only) {
  const auto targets = circuit.targets(op);
  const auto args = circuit.args(op);
  bool grew = false;
  const auto gain = [&](std::uint32_t q, bool when) {
    if (when && !now_[q]) grew = now_[q] = true;
  };
  switch (op.kind) {
    case K::kLeakage:
    case K::kLeakageMark1:
    case K::kLeakage1:
      for (const StabTarget& t : targets) gain(t.value, args[0] > 0);
      return grew;
    case K::kLeakageMark2:
    case K::kLeakage2:
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        gain(targets[i].value, args[0] + args[1] > 0);
        gain(targets[i + 1].value, args[0] + args[2] > 0);
      }
      return grew;
    case K::kMR:
    case K::kMRX:
    case K::kMRY:
    case K::kR:
    case K::kRX:
    case K::kRY:
    case K::kRL:
    case K::kLeakageReset:
      for (const StabTarget& t : targets)
        if (!gain_only) now_[t.value] = false;
      return false;
    case K::kGate:
    case K::kLeakagePropagate:
    case K::kLeakagePropagateMark:
      break;
    default:
      return false;
  }
  const bool gate = op.kind == K::kGate;
  const bool swaps = gate && gate_arity(op.gate) == 2 && gate_clifford2(op.gate).swap;
  if (!swaps && !spreads_leakage(circuit, op)) return false;
  for (std::size_t i = 0; i < targets.size(); i += 2) {
    if (targets[i].kind != StabTarget::Kind::kQubit || targets[i + 1].kind != targets[i].kind)
      continue;
    const std::uint32_t a = targets[i].value, b = targets[i + 1].value;
    const bool was_a = now_[a], was_b = now_[b];
    if (swaps) {
      gain(a, was_b), gain(b, was_a);
      if (!gain_only) now_[a] = was_b, now_[b] = was_a;
    } else {
      gain(b, was_a && args[0] + args[2] > 0);
      gain(a, was_b && args[1] + args[3] > 0);
    }
  }
  return grew;
}

}  // namespace tilewave::circuit
