// See qasm_controls.h. A phase under k controls (Barenco et al. 1995, lemma 7.5), with c the last
// control and t the target:
//   phase_k(a) = phase_1(a/2)(c, t) . flip_{k-1}(others, c) . phase_1(-a/2)(c, t)
//                . flip_{k-1}(others, c) . phase_{k-1}(a/2)(others, t)
// flip_k is X under k controls, which borrows t, whatever state it is in: of as many qubits as
// there are controls less two, four times that many Toffoli gates flip and put all back
// (lemma 7.2), and of one qubit two such flips, of half the controls each, done twice (lemma 7.3).
#include "tilewave/quest/core/qasm_controls.h"

#include <cmath>
#include <vector>

namespace tilewave::quest {
namespace {

using Names = std::vector<std::string>;

std::string call(const std::string& gate, const Names& qubits) {
  std::string out = gate;
  for (std::size_t k = 0; k < qubits.size(); ++k) out += (k ? "," : " ") + qubits[k];
  return out + "; ";
}

Names join(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Names numbered(const std::string& letter, int count) {
  Names out;
  for (int k = 0; k < count; ++k) out.push_back(letter + std::to_string(k));
  return out;
}

Names part(const Names& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// X on `target` under controls; `spare` qubits may be borrowed, as many as controls less two, or
// one where there are more than three controls.
std::string flip(const Names& controls, const std::string& target, const Names& spare) {
  const std::size_t k = controls.size();
  if (k <= 2) return call(k == 1 ? "cx" : "ccx", join(controls, {target}));
  if (spare.size() >= k - 2) {
    std::string down, up;
    for (std::size_t i = k - 2; i >= 2; --i)
      down += call("ccx", {controls[i], spare[i - 2], spare[i - 1]});
    for (std::size_t i = 2; i <= k - 2; ++i)
      up += call("ccx", {controls[i], spare[i - 2], spare[i - 1]});
    const std::string ladder = down + call("ccx", {controls[0], controls[1], spare[0]}) + up;
    const std::string top = call("ccx", {controls[k - 1], spare[k - 3], target});
    return top + ladder + top + ladder;
  }
  const std::size_t half = (k + 1) / 2;
  const Names low = part(controls, 0, half), high = part(controls, half, k - half);
  const std::string& middle = spare[0];
  const std::string twice =
      flip(low, middle, join(high, {target})) + flip(join(high, {middle}), target, low);
  return twice + twice;
}

std::string flip_gate(int num_controls) {
  return num_controls == 1   ? "cx"
         : num_controls == 2 ? "ccx"
                             : "mcx_" + std::to_string(num_controls);
}

}  // namespace

std::string phase_gate(int num_controls) {
  return num_controls == 0   ? "u1"
         : num_controls == 1 ? "cu1"
                             : "mcu1_" + std::to_string(num_controls);
}

std::string phase_definitions(int most_controls) {
  std::string out;
  for (int k = 2; k <= most_controls; ++k) {
    const Names controls = numbered("c", k - 1);
    const std::string last = "c" + std::to_string(k - 1);
    if (k > 3) {
      out += "gate " + call(flip_gate(k - 1), join(controls, {"t", "b"}));
      out.replace(out.size() - 2, 2, " { ");
      out += flip(controls, "t", {"b"}) + "}\n";
    }
    Names flipped = join(controls, {last});
    if (k > 3) flipped.push_back("t");  // borrowed
    const std::string x = call(flip_gate(k - 1), flipped);
    out += "gate " + call(phase_gate(k) + "(a)", join(controls, {last, "t"}));
    out.replace(out.size() - 2, 2, " { ");
    out += call("cu1(a/2)", {last, "t"}) + x + call("cu1(-a/2)", {last, "t"}) + x +
           call(phase_gate(k - 1) + "(a/2)", join(controls, {"t"})) + "}\n";
  }
  return out;
}

Eigenphases eigenphases(std::span<const cplx> m) {
  if (std::abs(m[1]) + std::abs(m[2]) < 1e-14) return {0, 0, std::arg(m[0]), std::arg(m[3])};
  // m = e^{ig} (cos w - i sin w (x X + y Y + z Z)) with a unit vector (x, y, z)
  const double g = std::arg(m[0] * m[3] - m[1] * m[2]) / 2;
  const cplx turn = std::polar(1.0, -g);
  const cplx a = (m[0] * turn + std::conj(m[3] * turn)) / 2.0,
             b = (m[2] * turn - std::conj(m[1] * turn)) / 2.0;
  const double x = -b.imag(), y = b.real(), z = -a.imag();
  const double w = std::atan2(std::hypot(x, y, z), a.real());
  return {std::atan2(std::hypot(x, y), z), std::atan2(y, x), g - w, g + w};
}

}  // namespace tilewave::quest
