// How each kind of gate enters from the left (the rules are in lower.cc): diagonals, flips, 2x2
// matrices with and without controls, permutations of two qubits, everything else.
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/plan/lowering.h"

namespace tilewave::statevec::detail {

void Lowering::apply_single(int w, const std::vector<cplx>& logical) {
  if (d_.is_nonlinear_in(w)) {
    write_pending(w);
    // terms that tie w to other wires are written; what is linear in w joins the new matrix
    const std::uint64_t linear = d_.take_linear(w);
    write_terms(w);
    d_.add(bit(w), linear);
  }
  // the matrix in the frame of the pending flips, which writing out may have changed
  const bool f = flips_ >> w & 1;
  const Matrix2 u = f ? Matrix2{{logical[3], logical[2], logical[1], logical[0]}}
                      : Matrix2{{logical[0], logical[1], logical[2], logical[3]}};
  zero_ &= ~bit(w);
  const std::uint64_t linear = d_.take_linear(w);
  Matrix2 base = pending_[w];
  // What acts before the first matrix stays a number of turns: rounded to a double and back, equal
  // phases of different wires would differ.
  if (!has_pending(w)) {
    turns_before_[w] = linear;
  } else if (linear) {
    const double angle =
        static_cast<double>(static_cast<std::int64_t>(linear)) * 0x1p-63 * std::numbers::pi;
    const cplx phase{std::cos(angle), std::sin(angle)};
    base.m[2] *= phase;
    base.m[3] *= phase;
  }
  Matrix2& p = pending_[w];
  p.m[0] = u.m[0] * base.m[0] + u.m[1] * base.m[2];
  p.m[1] = u.m[0] * base.m[1] + u.m[1] * base.m[3];
  p.m[2] = u.m[2] * base.m[0] + u.m[3] * base.m[2];
  p.m[3] = u.m[2] * base.m[1] + u.m[3] * base.m[3];
  pending_mask_ |= bit(w);
  // a product that became diagonal is a phase
  const double size = std::abs(p.m[0]) + std::abs(p.m[3]);
  if (std::abs(p.m[1]) <= kZero * size && std::abs(p.m[2]) <= kZero * size) write_pending(w);
}

void Lowering::add_controlled_phase(std::uint64_t mask, std::uint64_t turns,
                                    std::uint64_t negative) {
  if (turns == 0) return;
  if (negative == 0) {
    add_phase(mask, turns);
    return;
  }
  const int w = std::countr_zero(negative);
  add_controlled_phase(mask, turns, negative & (negative - 1));
  add_controlled_phase(mask | bit(w), ~turns + 1, negative & (negative - 1));
}

void Lowering::apply_diagonal(std::span<const int> targets, std::span<const cplx> diag,
                              std::uint64_t positive, std::uint64_t negative) {
  const std::size_t dim = diag.size();
  std::vector<std::uint64_t> turns(dim);
  for (std::size_t k = 0; k < dim; ++k) turns[k] = turns_of(arg(diag[k]));
  // Moebius transform: turns[S] becomes the coefficient of the product of the bits in S
  for (std::size_t b = 1; b < dim; b <<= 1) {
    for (std::size_t k = 0; k < dim; ++k) {
      if (k & b) turns[k] -= turns[k ^ b];
    }
  }
  for (std::size_t k = 0; k < dim; ++k) {
    std::uint64_t mask = positive;
    for (std::size_t j = 0; j < targets.size(); ++j) {
      if (k >> j & 1) mask |= bit(targets[j]);
    }
    add_controlled_phase(mask, turns[k], negative);
  }
}

void Lowering::apply_flip(int t, std::uint64_t positive, std::uint64_t negative) {
  const std::uint64_t controls = positive | negative;
  if (controls == 0) {
    flips_ ^= bit(t);
    return;
  }
  for_each_bit(controls | bit(t), [&](int w) { write_pending(w); });
  if (std::has_single_bit(controls) && !negative) {
    const int c = std::countr_zero(controls);
    const int k = last_any_[t];
    const bool only_pair = !(d_.neighbours(t) & ~bit(c));
    if (k >= 0 && only_pair && !dead_[k] && last_any_[t] == k && last_x_[c] < k) {
      const Action& a = out_.actions[k];
      if (a.kind == ActionKind::kFlip && a.targets[0] == t && a.control_mask == controls &&
          a.control_value == controls) {
        dead_[k] = true;
        last_any_[t] = before_[k].any_t;
        last_x_[t] = before_[k].x_t;
        if (last_any_[c] == k) last_any_[c] = before_[k].any_c;
        d_.conjugate_cx(c, t);
        return;
      }
    }
  }
  write_terms(t);
  Action action;
  action.kind = ActionKind::kFlip;
  action.num_targets = 1;
  action.targets[0] = static_cast<std::uint8_t>(t);
  action.control_mask = controls;
  action.control_value = positive;
  write(action);
}

void Lowering::apply_controlled_single(int w, const Matrix2& u, std::uint64_t positive,
                                       std::uint64_t negative) {
  if (!u.is_unitary() || std::popcount(negative) > 6) {
    const int targets[1] = {w};
    apply_general(targets, {u.m[0], u.m[1], u.m[2], u.m[3]}, positive, negative);
    return;
  }
  const int t1[1] = {w};
  if (u.is_antidiagonal()) {  // X . diag(m10, m01)
    const cplx diag[2] = {u.m[2], u.m[1]};
    apply_diagonal(t1, diag, positive, negative);
    apply_flip(w, positive, negative);
    return;
  }
  // phases . [[c, -s], [s, c]] . phases; the pre-phase is uncontrolled and undone after, so that it
  // joins 1-qubit phases
  const auto [g, post, pre] = euler_turns(u);
  add_phase(bit(w), pre);
  for_each_bit(positive | negative | bit(w), [&](int v) { write_pending(v); });
  write_terms(w);
  Action action;
  action.kind = ActionKind::kRotate;
  action.num_targets = 1;
  action.targets[0] = static_cast<std::uint8_t>(w);
  action.control_mask = positive | negative;
  action.control_value = positive;
  const double c = std::abs(u.m[0]), s = std::abs(u.m[2]);
  action.m = {c, -s, s, c};
  write(action);
  add_phase(bit(w), ~pre + 1);
  add_controlled_phase(positive, g, negative);
  add_controlled_phase(positive | bit(w), post + pre, negative);
}

void Lowering::apply_general(std::span<const int> targets, std::vector<cplx> m,
                             std::uint64_t positive, std::uint64_t negative) {
  std::uint64_t all = positive | negative;
  for (int w : targets) all |= bit(w);
  for_each_bit(all, [&](int w) { write_pending(w); });
  for (int w : targets) write_terms(w);
  Action action;
  action.kind = ActionKind::kMatrix;
  action.num_targets = static_cast<std::uint8_t>(targets.size());
  for (std::size_t k = 0; k < targets.size(); ++k)
    action.targets[k] = static_cast<std::uint8_t>(targets[k]);
  action.control_mask = positive | negative;
  action.control_value = positive;
  action.first = static_cast<std::uint32_t>(out_.matrices.size());
  out_.matrices.insert(out_.matrices.end(), m.begin(), m.end());
  write(action);
}

// A 4x4 monomial matrix = phases, then one of {1, cx01, cx10} after an optional swap, then flips.
// Every permutation of four basis states is affine over bits, so this always succeeds for a
// monomial matrix.
bool Lowering::apply_affine_pair(std::span<const circuit::Qubit> qubits,
                                 const std::vector<cplx>& m) {
  int to[4];
  cplx diag[4];
  for (int col = 0; col < 4; ++col) {
    to[col] = -1;
    for (int row = 0; row < 4; ++row) {
      if (std::abs(m[row * 4 + col]) <= kZero) continue;
      if (to[col] >= 0) return false;
      to[col] = row;
      diag[col] = m[row * 4 + col];
    }
    if (to[col] < 0 || std::abs(std::abs(diag[col]) - 1) > 1e-12) return false;
  }
  if (((1 << to[0]) | (1 << to[1]) | (1 << to[2]) | (1 << to[3])) != 15) return false;
  for (int swap = 0; swap < 2; ++swap) {
    for (int cx = 0; cx < 3; ++cx) {
      bool same = true;
      for (int col = 0; col < 4 && same; ++col) {
        int v = swap ? (col >> 1) | ((col & 1) << 1) : col;
        if (cx == 1) v ^= (v & 1) << 1;
        if (cx == 2) v ^= v >> 1;
        same = (v ^ to[0]) == to[col];
      }
      if (!same) continue;
      const auto wire = [&](int k) { return static_cast<int>(wire_of_[qubits[k]]); };
      const int targets[2] = {wire(0), wire(1)};
      if (cx) {  // before the frame is read: writing out may flip
        write_pending(targets[0]);
        write_pending(targets[1]);
      }
      // the diagonal acts first: in the frame of the pending flips its entries are permuted
      const int f = static_cast<int>((flips_ >> targets[0] & 1) | (flips_ >> targets[1] & 1) << 1);
      const cplx local[4] = {diag[f], diag[1 ^ f], diag[2 ^ f], diag[3 ^ f]};
      apply_diagonal(targets, local, 0, 0);
      if (swap) std::swap(wire_of_[qubits[0]], wire_of_[qubits[1]]);
      const auto controlled_x = [&](int c, int t) {
        const bool flipped = flips_ >> c & 1;
        if (zero_ & bit(c)) {
          if (flipped) apply_flip(t, 0, 0);
        } else {
          apply_flip(t, flipped ? 0 : bit(c), flipped ? bit(c) : 0);
        }
      };
      if (cx == 1) controlled_x(wire(0), wire(1));
      if (cx == 2) controlled_x(wire(1), wire(0));
      if (to[0] & 1) apply_flip(wire(0), 0, 0);
      if (to[0] & 2) apply_flip(wire(1), 0, 0);
      return true;
    }
  }
  return false;
}

void Lowering::apply_matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
                            std::span<const circuit::Qubit> qubits, std::vector<cplx> m) {
  const int k = static_cast<int>(qubits.size());
  const std::size_t dim = std::size_t{1} << k;
  if (k == 2 && controls.empty() && apply_affine_pair(qubits, m)) return;
  bool diagonal = true, unit = true;
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      if (i == j) {
        unit &= std::abs(std::abs(m[i * dim + j]) - 1) < 1e-10;
      } else {
        diagonal &= std::abs(m[i * dim + j]) <= kZero;
      }
    }
  }
  const bool single = k == 1 && controls.empty();
  if (!single && !(diagonal && unit)) {  // before the frame is read: writing out may flip
    for (circuit::Qubit q : controls) write_pending(wire_of_[q]);
    for (circuit::Qubit q : qubits) write_pending(wire_of_[q]);
  }
  // controls in the frame of the pending flips; known zeros decide them
  std::uint64_t positive = 0, negative = 0;
  for (std::size_t j = 0; j < controls.size(); ++j) {
    const int w = wire_of_[controls[j]];
    const bool value = (control_values >> j & 1) != (flips_ >> w & 1);
    if (zero_ & bit(w)) {
      if (value) return;
      continue;
    }
    (value ? positive : negative) |= bit(w);
  }
  std::vector<int> targets(k);
  std::size_t f = 0;
  for (int j = 0; j < k; ++j) {
    targets[j] = wire_of_[qubits[j]];
    if (flips_ >> targets[j] & 1) f |= std::size_t{1} << j;
  }
  if (f) {
    std::vector<cplx> flipped(m.size());
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = 0; j < dim; ++j) flipped[i * dim + j] = m[(i ^ f) * dim + (j ^ f)];
    }
    m.swap(flipped);
  }
  if (diagonal && unit && std::popcount(negative) <= 6) {
    std::vector<cplx> diag(dim);
    for (std::size_t i = 0; i < dim; ++i) diag[i] = m[i * dim + i];
    apply_diagonal(targets, diag, positive, negative);
    return;
  }
  if (k == 0) {  // a scalar that is no phase: needs a wire to act on
    throw Error(ExitCode::kInput, "a global factor must have absolute value 1");
  }
  if (k == 1) {
    const Matrix2 u{{m[0], m[1], m[2], m[3]}};
    const int w = targets[0];
    if (positive | negative) {
      apply_controlled_single(w, u, positive, negative);
    } else if (u.is_antidiagonal() && std::abs(std::abs(m[1]) - 1) < 1e-10 &&
               std::abs(std::abs(m[2]) - 1) < 1e-10) {
      const cplx diag[2] = {m[2], m[1]};
      apply_diagonal(targets, diag, 0, 0);
      flips_ ^= bit(w);
    } else {
      if (f) m = {m[3], m[2], m[1], m[0]};
      apply_single(w, m);
    }
    return;
  }
  // swap under controls: cx(b, a) ccx(controls + a, b) cx(b, a)
  static const std::vector<cplx> kSwap = {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  if (k == 2 && (positive | negative) && f == 0 && m == kSwap) {
    const int a = targets[0], b = targets[1];
    if (!((zero_ >> a | zero_ >> b) & 1)) {
      apply_flip(a, bit(b), 0);
      apply_flip(b, positive | bit(a), negative);
      apply_flip(a, bit(b), 0);
      return;
    }
  }
  apply_general(targets, std::move(m), positive, negative);
}

}  // namespace tilewave::statevec::detail
