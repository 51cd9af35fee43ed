#include "tilewave/stabilizer/lower_leakage.h"

#include <algorithm>

#include "tilewave/base/error.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using K = StabKind;
using P = PrimKind;

// The first instruction of each project, and whether anything leaks by the words of the first.
struct FirstWords {
  std::string deltakit, custabilizer;
  bool leaks = false;

  void find(const StabilizerCircuit& circuit) {
    for (const StabInstruction& op : circuit.instructions()) {
      if (op.kind == K::kRepeat) {
        find(circuit.block(op));
        continue;
      }
      const bool spreading_gate = op.kind == K::kGate && op.num_args > 0;
      if (!spreading_gate && (!circuit::is_leakage(op.kind) || op.kind == K::kHeraldLeakageEvent))
        continue;
      const bool of_deltakit =
          spreading_gate || op.kind == K::kLeakage || op.kind == K::kRelax || op.kind == K::kRL;
      leaks |= op.kind == K::kLeakage && circuit.args(op)[0] > 0;
      std::string& first = of_deltakit ? deltakit : custabilizer;
      if (!first.empty()) continue;
      first = circuit.name(op);
      if (spreading_gate) first += " with arguments";
      if (op.line > 0) first += " (line " + std::to_string(op.line) + ")";
    }
  }
};

}  // namespace

std::vector<LeakageStep> leakage_steps(StabKind kind, std::span<const double> args) {
  const std::vector<double> p(args.begin(), args.end());
  const bool never = std::all_of(p.begin(), p.end(), [](double x) { return x == 0; });
  if (never && !p.empty() && kind != K::kHeraldLeakageEvent && kind != K::kLeakagePropagate)
    return {};
  switch (kind) {
    case K::kLeakage:
      return {{P::kLeak, p, LeakScramble::kAll}};
    case K::kLeakageMark1:
      return {{P::kLeak, p}};
    case K::kLeakage1:
      return {{P::kLeak, p, LeakScramble::kFresh}};
    case K::kLeakageMark2:
      return {{P::kLeakPair, p}};
    case K::kLeakage2:
      return {{P::kLeakPair, p, LeakScramble::kFresh}};
    case K::kRL:
    case K::kLeakageReset:
      return {{P::kSeal, {1}}};
    case K::kRelax:
    case K::kLeakageRelax:
      return {{P::kSeal, p}};
    case K::kLeakageScramble:
      return {{P::kScramble, {}}};
    case K::kLeakageScramblePartner:
      return {{P::kScramblePartner, {}}};
    case K::kLeakagePropagateMark:
      return {{P::kSpread, p}};
    case K::kLeakagePropagate:
      if (never) return {{P::kScramblePartner, {}}};
      return {{P::kSpread, p, LeakScramble::kNone, true}};
    case K::kLeakagePauli1:
      return {{P::kLeakPauli1, p}};
    case K::kLeakagePauli2:
      return {{P::kLeakPauli2, p}};
    case K::kHeraldLeakageEvent:
      return {{P::kLeakHerald, {p.empty() ? 0.0 : p[0], p.size() < 2 ? 0.0 : p[1]}}};
    default:
      break;
  }
  TW_CHECK(false, "no instruction of leakage");
}

bool gates_scramble(const StabilizerCircuit& circuit, const std::string& name) {
  FirstWords words;
  words.find(circuit);
  if (!words.deltakit.empty() && !words.custabilizer.empty()) {
    throw Error(ExitCode::kInput,
                name + ": " + words.deltakit + " and " + words.custabilizer +
                    " are words of two languages: with the first, gates such as CX depolarise "
                    "partners of leaked qubits, with the second they do not: write one of them");
  }
  return words.leaks;
}

}  // namespace tilewave::stabilizer
