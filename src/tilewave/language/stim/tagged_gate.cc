#include "tilewave/language/stim/tagged_gate.h"

#include <algorithm>
#include <array>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/language/stim/text.h"

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
      fail(ExitCode::kInput, "the tag '", tag, "' names a gate in a way that tools read ",
           "differently: write ", r.name, " with its angles in half-turns");
    }
    return out;
  }
  return std::nullopt;
}

std::optional<GateTag> gate_tag(StabKind kind, std::span<const double> args,
                                std::string_view own_tag) {
  std::string t = "T";
  if (!own_tag.empty()) t.append(":").append(own_tag);
  switch (kind) {
    case StabKind::kT:
      return GateTag{"S", t};
    case StabKind::kTDag:
      return GateTag{"S_DAG", t};
    case StabKind::kTPP:
      return GateTag{"SPP", t};
    case StabKind::kTPPDag:
      return GateTag{"SPP_DAG", t};
    case StabKind::kRotXX:
    case StabKind::kRotYY:
    case StabKind::kRotZZ:
      kind = StabKind::kRotPauli;
      break;
    default:
      break;
  }
  for (const TaggedRotation& r : kTaggedRotations) {
    if (r.kind != kind) continue;
    std::string tag(r.name);
    for (std::size_t k = 0; k < args.size(); ++k) {
      tag.append(k ? ", " : "(").append(r.angles[k]).append("=");
      tag.append(shortest_number(args[k])).append("*pi");
    }
    return GateTag{r.on_products ? "SPP" : "I", tag + ")"};
  }
  return std::nullopt;
}

bool names_no_gate(StabKind kind, GateId gate, std::string_view tag) {
  try {
    return !tagged_gate({true, kind, gate}, tag);
  } catch (const Error&) {
    return false;
  }
}

bool tsim_keeps_tag(StabKind kind, std::string_view tag) {
  const bool has_angles = kind >= StabKind::kRotX && kind <= StabKind::kU3;
  if (has_angles || tag.find_first_of("(#") != tag.npos) return false;
  const auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  while (!tag.empty()) {
    std::size_t size = 0;
    while (size < tag.size() && in_word(tag[size])) ++size;
    const std::string_view word = tag.substr(0, size);
    for (std::string_view gate : {"T", "T_DAG", "TPP", "TPP_DAG"})
      if (word == gate) return false;
    tag.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return true;
}

}  // namespace tilewave::language
