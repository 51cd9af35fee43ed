#include "tilewave/language/stim/dialect.h"

#include <array>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/dialect_rewriter.h"
#include "tilewave/language/stim/dialect_rules.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::language {
namespace {

using D = Dialect;
using F = Feedback;
using L = LeakageLanguage;

// clang-format off
constexpr DialectRules kDialects[] = {
    //                               rotations, TPP, CCZ, CH, few, heralds, repeats, observables, tags, empty
    {D::kTilewave, "tilewave",       true, true, true, true, false, true, true, true, true, true, F::kStim, L::kNone},
    {D::kStim, "stim",               false, false, false, false, false, true, true, true, true, true, F::kStim, L::kNone},
    {D::kClifft, "clifft",           true, true, true, true, false, false, false, false, false, false, F::kCxCz, L::kNone},
    {D::kSymft, "symft",             true, false, false, false, false, true, false, true, true, true, F::kCxCz, L::kNone},
    {D::kTsim, "tsim",               true, true, false, false, false, true, true, false, true, true, F::kCxCz, L::kNone},
    {D::kDeltakit, "deltakit",       false, false, false, false, false, true, true, true, true, true, F::kStim, L::kDeltakit},
    {D::kCustabilizer, "custabilizer", false, false, false, false, true, false, false, false, true, true, F::kNone, L::kCustabilizer},
};
// clang-format on

constexpr auto kDialectNames = [] {
  std::array<std::string_view, std::size(kDialects)> names{};
  for (std::size_t k = 0; k < names.size(); ++k) names[k] = kDialects[k].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> dialect_names() { return kDialectNames; }

Dialect parse_dialect(std::string_view name) {
  std::string all;
  for (const DialectRules& rules : kDialects) {
    if (rules.name == name) return rules.dialect;
    if (!all.empty()) all += rules.dialect == D::kCustabilizer ? " or " : ", ";
    all += rules.name;
  }
  throw Error(ExitCode::kUsage,
              "'" + std::string(name) + "' is no dialect of Stim's language: use " + all);
}

const DialectRules& dialect_rules(Dialect dialect) {
  return kDialects[static_cast<std::size_t>(dialect)];
}

std::string print_dialect(const circuit::StabilizerCircuit& circuit, Dialect dialect,
                          std::string_view file) {
  if (dialect == D::kTilewave) return print_stim(circuit);
  const circuit::StabilizerCircuit rewritten =
      DialectRewriter(circuit, dialect_rules(dialect), file).rewritten();
  switch (dialect) {
    case D::kTsim:
      return print_stim(rewritten, StimSpelling::kTags);
    case D::kClifft:
    case D::kSymft:
      return print_stim(rewritten, StimSpelling::kOneProductALine);
    default:
      return print_stim(rewritten);
  }
}

}  // namespace tilewave::language
