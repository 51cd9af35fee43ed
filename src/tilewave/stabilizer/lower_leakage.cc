#include "tilewave/stabilizer/lower_leakage.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/circuit/leakage_words.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;
using circuit::StabKind;
using K = StabKind;
using P = PrimKind;

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
  const circuit::LeakageWords words = circuit::leakage_words(circuit);
  if (words.mixed()) throw Error(ExitCode::kInput, name + ": " + words.mixed_message());
  return words.deltakit_leaks;
}

}  // namespace tilewave::stabilizer
