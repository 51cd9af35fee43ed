#include "tilewave/circuit/clifford.h"

#include <bit>
#include <cmath>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/circuit/channel.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {
namespace {

constexpr double kTolerance = 1e-9;

// The matrix of i^phase X^x Z^z: column c goes to row c ^ x with sign (-1)^(c . z).
Matrix matrix_of(Pauli2 p, int dim) {
  static const cplx kPhases[] = {1, {0, 1}, -1, {0, -1}};
  Matrix m(static_cast<std::size_t>(dim) * dim);
  for (int c = 0; c < dim; ++c) {
    m[(c ^ p.x) * dim + c] =
        kPhases[p.phase & 3] * (std::popcount(unsigned(c & p.z)) % 2 ? -1.0 : 1.0);
  }
  return m;
}

// Reads U P U^dagger as a Pauli; false when it is none.
bool conjugated(std::span<const cplx> matrix, int dim, Pauli2 p, Pauli2* out) {
  const Matrix u(matrix.begin(), matrix.end());
  const Matrix m = multiply(multiply(u, matrix_of(p, dim)), adjoint(u));
  int x = -1;
  for (int r = 0; r < dim; ++r) {
    if (std::abs(m[r * dim]) > 0.5) x = r;
  }
  if (x < 0) return false;
  Pauli2 q{static_cast<std::uint8_t>(x), 0, 0};
  for (int k = 0; (1 << k) < dim; ++k) {
    const int c = 1 << k;
    if ((m[(x ^ c) * dim + c] / m[x * dim]).real() < 0) q.z |= static_cast<std::uint8_t>(c);
  }
  for (q.phase = 0; q.phase < 4; ++q.phase) {
    const auto want = matrix_of(q, dim);
    double worst = 0;
    for (int i = 0; i < dim * dim; ++i) worst = std::max(worst, std::abs(want[i] - m[i]));
    if (worst < kTolerance) {
      *out = q;
      return true;
    }
  }
  return false;
}

}  // namespace

Pauli2 operator*(Pauli2 a, Pauli2 b) {
  // X^x Z^z X^x' Z^z' = (-1)^(z . x') X^(x+x') Z^(z+z')
  const int swaps = std::popcount(unsigned(a.z & b.x));
  return {static_cast<std::uint8_t>(a.x ^ b.x), static_cast<std::uint8_t>(a.z ^ b.z),
          static_cast<std::uint8_t>((a.phase + b.phase + 2 * swaps) & 3)};
}

Pauli2 pauli2(Pauli p, int qubit) {
  const auto bit = static_cast<std::uint8_t>(1 << qubit);
  switch (p) {
    case Pauli::kX:
      return {bit, 0, 0};
    case Pauli::kY:
      return {bit, bit, 1};
    case Pauli::kZ:
      return {0, bit, 0};
    default:
      return {};
  }
}

Pauli pauli_at(Pauli2 p, int qubit) {
  const bool x = (p.x >> qubit) & 1, z = (p.z >> qubit) & 1;
  return x ? (z ? Pauli::kY : Pauli::kX) : (z ? Pauli::kZ : Pauli::kI);
}

bool is_negative(Pauli2 p) { return ((p.phase - std::popcount(unsigned(p.x & p.z))) & 3) == 2; }

SignedPauli apply(const Clifford1& c, Pauli p) {
  switch (p) {
    case Pauli::kX:
      return {c.x, c.x_negative};
    case Pauli::kZ:
      return {c.z, c.z_negative};
    case Pauli::kI:
      return {Pauli::kI, false};
    case Pauli::kY:
      break;
  }
  Pauli2 y = pauli2(c.x, 0) * pauli2(c.z, 0);
  y.phase = static_cast<std::uint8_t>((y.phase + 1 + 2 * c.x_negative + 2 * c.z_negative) & 3);
  return {pauli_at(y, 0), is_negative(y)};
}

Clifford1 then(const Clifford1& first, const Clifford1& second) {
  const SignedPauli x = apply(second, first.x), z = apply(second, first.z);
  return {x.p, z.p, x.negative != first.x_negative, z.negative != first.z_negative};
}

Clifford1 inverse(const Clifford1& c) {
  Clifford1 out;
  for (Pauli p : {Pauli::kX, Pauli::kY, Pauli::kZ}) {
    const SignedPauli image = apply(c, p);
    if (image.p == Pauli::kX) out.x = p, out.x_negative = image.negative;
    if (image.p == Pauli::kZ) out.z = p, out.z_negative = image.negative;
  }
  return out;
}

Pauli2 apply(const Clifford2& c, Pauli2 p) {
  Pauli2 out{0, 0, p.phase};
  for (int q = 0; q < 2; ++q) {
    if ((p.x >> q) & 1) out = out * c.images[2 * q];
  }
  for (int q = 0; q < 2; ++q) {
    if ((p.z >> q) & 1) out = out * c.images[2 * q + 1];
  }
  return out;
}

std::optional<Clifford1> clifford1_of(std::span<const cplx> matrix) {
  TW_CHECK(matrix.size() == 4, "a one-qubit matrix has four entries");
  Pauli2 x, z;
  if (!conjugated(matrix, 2, pauli2(Pauli::kX, 0), &x) ||
      !conjugated(matrix, 2, pauli2(Pauli::kZ, 0), &z)) {
    return std::nullopt;
  }
  return Clifford1{pauli_at(x, 0), pauli_at(z, 0), is_negative(x), is_negative(z)};
}

std::optional<Clifford2> clifford2_of(std::span<const cplx> matrix) {
  TW_CHECK(matrix.size() == 16, "a two-qubit matrix has sixteen entries");
  Clifford2 c;
  for (int g = 0; g < 4; ++g) {
    const Pauli2 p = pauli2(g % 2 ? Pauli::kZ : Pauli::kX, g / 2);
    if (!conjugated(matrix, 4, p, &c.images[g])) return std::nullopt;
  }
  return c;
}

std::optional<Clifford2Form> clifford2_form(const Clifford2& u) {
  for (int swap = 0; swap < 2; ++swap) {
    for (int kind = 0; kind < 10; ++kind) {
      Clifford2Form form;
      form.swap = swap;
      if (kind) {
        form.a = static_cast<Pauli>(1 + (kind - 1) / 3);
        form.b = static_cast<Pauli>(1 + (kind - 1) % 3);
      }
      const Pauli2 a = pauli2(form.a, 0), b = pauli2(form.b, 1);
      const auto anticommute = [](Pauli2 p, Pauli2 q) {
        return std::popcount(unsigned((p.x & q.z) ^ (p.z & q.x))) % 2 == 1;
      };
      // L = U . C . SWAP^swap must be local.
      bool local = true;
      Pauli2 images[4];
      for (int g = 0; g < 4 && local; ++g) {
        const Pauli2 p = pauli2(g % 2 ? Pauli::kZ : Pauli::kX, (g / 2) ^ swap);
        Pauli2 inner = p;
        if (kind && anticommute(p, a)) inner = inner * b;
        if (kind && anticommute(p, b)) inner = inner * a;
        images[g] = apply(u, inner);
        local = pauli_at(images[g], 1 - g / 2) == Pauli::kI;
      }
      if (!local) continue;
      for (int q = 0; q < 2; ++q) {
        (q ? form.post1 : form.post0) =
            Clifford1{pauli_at(images[2 * q], q), pauli_at(images[2 * q + 1], q),
                      is_negative(images[2 * q]), is_negative(images[2 * q + 1])};
      }
      return form;
    }
  }
  return std::nullopt;
}

int gate_arity(GateId gate) { return gate_info(gate).num_controls + gate_info(gate).num_targets; }

std::vector<cplx> expanded_matrix(GateId gate) {
  constexpr Qubit kQubits[] = {0, 1};
  Circuit one(2);
  return one.whole_matrix(
      one.add_gate(gate, std::span(kQubits).first(static_cast<std::size_t>(gate_arity(gate)))));
}

namespace {
struct GateCliffords {
  std::vector<Clifford1> one;
  std::vector<Clifford2Form> two;
  GateCliffords() : one(gate_table().size()), two(gate_table().size()) {
    for (const GateInfo& g : gate_table()) {
      if (g.stim.empty()) continue;
      const auto index = static_cast<std::size_t>(g.id);
      const auto m = expanded_matrix(g.id);
      if (gate_arity(g.id) == 1) {
        const auto c = clifford1_of(m);
        TW_CHECK(c.has_value(), std::string(g.name) + " is no Clifford gate");
        one[index] = *c;
      } else {
        const auto c = clifford2_of(m);
        TW_CHECK(c.has_value(), std::string(g.name) + " is no Clifford gate");
        const auto form = clifford2_form(*c);
        TW_CHECK(form.has_value(), std::string(g.name) + " has no controlled-Pauli form");
        two[index] = *form;
      }
    }
  }
};
const GateCliffords& gate_cliffords() {
  static const GateCliffords kAll;
  return kAll;
}
}  // namespace

const Clifford1& gate_clifford1(GateId gate) {
  return gate_cliffords().one[static_cast<std::size_t>(gate)];
}
const Clifford2Form& gate_clifford2(GateId gate) {
  return gate_cliffords().two[static_cast<std::size_t>(gate)];
}

}  // namespace tilewave::circuit
