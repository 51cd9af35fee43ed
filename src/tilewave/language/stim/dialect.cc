#include "tilewave/language/stim/dialect.h"

#include <array>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/dialect_rewriter.h"
#include "tilewave/language/stim/dialect_rules.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::language {
namespace {

constexpr DialectRules kDialects[] = {
    {.dialect = Dialect::kTilewave, .name = "tilewave"},  // written as it is
    {.dialect = Dialect::kStim,
     .name = "stim",
     .heralds = true,
     .repeats_in_product = true,
     .pauli_observables = true,
     .tags = true,
     .empty = true},
    {.dialect = Dialect::kClifft,
     .name = "clifft",
     .rotations = true,
     .product_t = true,
     .ccz = true,
     .ch = true,
     .feedback = Feedback::kCxCz},
    {.dialect = Dialect::kSymft,
     .name = "symft",
     .rotations = true,
     .heralds = true,
     .pauli_observables = true,
     .tags = true,
     .empty = true,
     .feedback = Feedback::kCxCz},
    {.dialect = Dialect::kTsim,
     .name = "tsim",
     .rotations = true,
     .product_t = true,
     .heralds = true,
     .repeats_in_product = true,
     .tags = true,
     .empty = true,
     .feedback = Feedback::kCxCz},
    {.dialect = Dialect::kDeltakit,
     .name = "deltakit",
     .heralds = true,
     .repeats_in_product = true,
     .pauli_observables = true,
     .tags = true,
     .empty = true,
     .leakage = LeakageLanguage::kDeltakit},
    {.dialect = Dialect::kCustabilizer,
     .name = "custabilizer",
     .few_words = true,
     .tags = true,
     .empty = true,
     .feedback = Feedback::kNone,
     .leakage = LeakageLanguage::kCustabilizer},
};

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
    if (!all.empty()) all += rules.dialect == Dialect::kCustabilizer ? " or " : ", ";
    all += rules.name;
  }
  fail(ExitCode::kUsage, "'", name, "' is no dialect of Stim's language: use ", all);
}

const DialectRules& dialect_rules(Dialect dialect) {
  return kDialects[static_cast<std::size_t>(dialect)];
}

std::string print_dialect(const circuit::StabilizerCircuit& circuit, Dialect dialect,
                          std::string_view file) {
  if (dialect == Dialect::kTilewave) return print_stim(circuit);
  const circuit::StabilizerCircuit rewritten =
      DialectRewriter(circuit, dialect_rules(dialect), file).rewritten();
  switch (dialect) {
    case Dialect::kTsim:
      return print_stim(rewritten, StimSpelling::kTags);
    case Dialect::kClifft:
    case Dialect::kSymft:
      return print_stim(rewritten, StimSpelling::kOneProductALine);
    case Dialect::kCustabilizer:  // reads 1e-6 as two numbers, 1 and -6
      return print_stim(rewritten, StimSpelling::kDecimals);
    default:
      return print_stim(rewritten);
  }
}

}  // namespace tilewave::language
