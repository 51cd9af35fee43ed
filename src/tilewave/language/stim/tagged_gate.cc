#include "tilewave/language/stim/tagged_gate.h"

#include <array>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"

namespace tilewave::language {
namespace {

using circuit::GateId;
using circuit::StabKind;

struct TaggedRotation {
  std::string_view name;
  StabKind kind;
  bool on_products;  // written on SPP, else on I
  std::array<std::string_view, 3> angles;
};
constexpr TaggedRotation kTaggedRotations[] = {
    {"R_X", StabKind::kRotX, false, {"theta"}},
    {"R_Y", StabKind::kRotY, false, {"theta"}},
    {"R_Z", StabKind::kRotZ, false, {"theta"}},
    {"R_PAULI", StabKind::kRotPauli, true, {"theta"}},
    {"R_XX", StabKind::kRotPauli, true, {"theta"}},
    {"R_YY", StabKind::kRotPauli, true, {"theta"}},
    {"R_ZZ", StabKind::kRotPauli, true, {"theta"}},
    {"U3", StabKind::kU3, false, {"theta", "phi", "lambda"}},
};

void skip_blanks(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}
bool take(std::string_view& text, std::string_view word) {
  skip_blanks(text);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// `theta=0.25*pi, phi=...)`: the angles in half-turns; false where it is something else.
bool read_angles(std::string_view text, const TaggedRotation& r, std::vector<double>& angles) {
  for (std::string_view angle : r.angles) {
    if (angle.empty()) break;
    if (!angles.empty() && !take(text, ",")) return false;
    if (!take(text, angle) || !take(text, "=")) return false;
    skip_blanks(text);
    const ReadNumber number = read_signed_double(text);
    if (number.size == 0 || number.is_too_large) return false;
    text.remove_prefix(number.size);
    if (!take(text, "*") || !take(text, "pi")) return false;
    angles.push_back(number.value);
  }
  if (!take(text, ")")) return false;
  skip_blanks(text);
  return text.empty();
}

}  // namespace

std::optional<TaggedGate> tagged_gate(const circuit::StabName& name, std::string_view tag) {
  const bool is_gate = name.kind == StabKind::kGate;
  const bool on_one =
      is_gate && (name.gate == GateId::kS || name.gate == GateId::kSdg || name.gate == GateId::kId);
  const bool on_products = name.kind == StabKind::kSPP || name.kind == StabKind::kSPPDag;
  if (tag.empty() || (!on_one && !on_products)) return std::nullopt;
  std::string_view own;
  std::string_view what = tag;
  if (const std::size_t colon = tag.find(':'); colon != tag.npos)
    what = tag.substr(0, colon), own = tag.substr(colon + 1);
  if (what == "T") {
    const bool dagger = name.kind == StabKind::kSPPDag || (is_gate && name.gate == GateId::kSdg);
    const StabKind kind = on_products ? (dagger ? StabKind::kTPPDag : StabKind::kTPP)
                                      : (dagger ? StabKind::kTDag : StabKind::kT);
    return TaggedGate{kind, {}, std::string(own)};
  }
  const std::size_t open = what.find('(');
  if (open == what.npos) return std::nullopt;
  for (const TaggedRotation& r : kTaggedRotations) {
    if (what.substr(0, open) != r.name) continue;
    TaggedGate out{r.kind, {}, std::string(own)};
    const bool written_so =
        r.on_products ? name.kind == StabKind::kSPP : is_gate && name.gate == GateId::kId;
    if (!written_so || !read_angles(what.substr(open + 1), r, out.args)) {
      throw Error(ExitCode::kInput, "the tag '" + std::string(tag) +
                                        "' names a gate in a way that tools read " +
                                        "differently: write " + std::string(r.name) +
                                        " with its angles in half-turns");
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace tilewave::language
