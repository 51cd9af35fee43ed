// Rewriting rules. At any time the true state is  X^F . D . (M_0 x M_1 x ...) . (actions so far)
// |start>  where F is a set of pending flips, D a phase polynomial and M_w a pending 2x2 matrix on
// wire w. A gate U enters from the left:
//   X, SWAP         toggle F, or rename wires: free.
//   diagonal        joins D.
//   1-qubit         joins M_w; if D ties w to other wires, M_w and those terms are written out
//                   first.
//   controlled X    writes out M of its wires and the terms of D with its target, then itself;
//                   cx D cx becomes D'.
//   controlled 2x2  = phases . controlled real rotation . phases.
//   anything else   a matrix action.
// Writing out a unitary M: M = c e^{ig} . diag(1, e^{ip}) . X^a . [[1,-t],[t,1]] . diag(1, e^{il})
// with |t| <= 1; the lift is an action, e^{il} its pre-phase term, X^a moves through D into F, the
// rest joins D. So every action but matrices is real.
#include "tilewave/statevec/plan/lower.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/fuse.h"
#include "tilewave/statevec/plan/phase_state.h"

namespace tilewave::statevec::detail {

namespace {
// 2^11 / 2^64 of a turn is 7e-16 rad: the rounding of a double angle
constexpr std::uint64_t kNegligibleTurns = std::uint64_t{1} << 11;

bool is_negligible(std::uint64_t turns) { return turns + kNegligibleTurns < 2 * kNegligibleTurns; }
}  // namespace

std::uint64_t turns_of(double angle) {
  if (angle < 0) return ~turns_of(-angle) + 1;
  const long double turns = static_cast<long double>(angle) / (2 * std::numbers::pi_v<long double>);
  const long double scaled = (turns - std::floor(turns)) * 0x1p64L;
  const std::uint64_t exact = scaled >= 0x1p64L ? 0 : static_cast<std::uint64_t>(scaled);
  // angles such as pi/2^k are rounded to double by their writers: within one such rounding, take
  // the exact fraction
  const std::uint64_t grid = std::uint64_t{1} << 40;
  const std::uint64_t nearest = (exact + grid / 2) / grid * grid;
  const std::uint64_t distance = nearest > exact ? nearest - exact : exact - nearest;
  return distance < kNegligibleTurns ? nearest : exact;
}

namespace {

constexpr double kZero = 1e-15;  // entries below are rounding of exact zeros (cos(pi/2), ...)

struct Matrix2 {
  cplx m[4] = {1, 0, 0, 1};
};

class Lowering {
 public:
  Lowering(int num_qubits, std::uint64_t flips, std::uint64_t zero_wires)
      : n_(num_qubits),
        flips_(flips),
        zero_(zero_wires),
        d_(num_qubits),
        pending_(num_qubits),
        turns_before_(num_qubits),
        last_any_(num_qubits, -1),
        last_x_(num_qubits, -1) {
    wire_of_.resize(n_);
    for (int q = 0; q < n_; ++q) wire_of_[q] = static_cast<std::uint8_t>(q);
  }

  void apply_matrix(std::span<const circuit::Qubit> controls, std::uint64_t control_values,
                    std::span<const circuit::Qubit> targets, std::vector<cplx> m);
  Lowered finish();

 private:
  bool has_pending(int w) const { return pending_mask_ >> w & 1; }
  void add_phase(std::uint64_t mask, std::uint64_t turns) {
    if (!(mask & zero_)) d_.add(mask, turns);
  }
  // phase when all of mask are 1 and the controls hold their values (negative ones expanded)
  void add_controlled_phase(std::uint64_t mask, std::uint64_t turns, std::uint64_t negative);
  void apply_diagonal(std::span<const int> targets, std::span<const cplx> diag,
                      std::uint64_t positive, std::uint64_t negative);
  void apply_single(int w, const std::vector<cplx>& logical);
  void apply_controlled_single(int w, const Matrix2& u, std::uint64_t positive,
                               std::uint64_t negative);
  void apply_flip(int t, std::uint64_t positive, std::uint64_t negative);
  void apply_general(std::span<const int> targets, std::vector<cplx> m, std::uint64_t positive,
                     std::uint64_t negative);
  bool apply_affine_pair(std::span<const circuit::Qubit> qubits, const std::vector<cplx>& m);
  void write_pending(int w);
  void write_terms(int w);
  void write_phase(std::uint64_t mask, std::uint64_t turns);
  void write(Action action);
  void touch(int index, std::uint64_t x, std::uint64_t z);

  int n_;
  std::uint64_t flips_;
  std::uint64_t zero_;
  PhaseState d_;
  std::vector<Matrix2> pending_;
  std::vector<std::uint64_t> turns_before_;  // a phase that acts before it, exact
  std::uint64_t pending_mask_ = 0;
  std::vector<std::uint8_t> wire_of_;
  std::vector<int> last_any_, last_x_;
  // what last_any_ of (target, control) was before each flip with one control, to undo a cancelled
  // pair
  struct Before {
    int any_t, any_c, x_t;
  };
  std::vector<Before> before_;
  std::vector<bool> dead_;
  Lowered out_;
};

double arg(cplx z) { return std::atan2(z.imag(), z.real()); }

// m = e^{ig} diag(1, e^{i post}) [[c, -s], [s, c]] diag(1, e^{i pre}) with c, s >= 0: the three
// angles in turns.
struct EulerTurns {
  std::uint64_t g, post, pre;
};
constexpr std::uint64_t kRoundingTurns = 8 * kNegligibleTurns;  // of a sum of angles of entries

EulerTurns euler_turns(const Matrix2& m) {
  const std::uint64_t g = turns_of(arg(m.m[0]));
  const std::uint64_t post = turns_of(arg(m.m[2])) - g;
  std::uint64_t pre = turns_of(arg(-m.m[1])) - g;
  if (std::abs(m.m[2]) <= std::abs(m.m[0])) {
    // a product's small entry may have any angle: what counts is that of m[3]
    const std::uint64_t missing = turns_of(arg(m.m[3])) - (g + post + pre);
    if (missing + kRoundingTurns >= 2 * kRoundingTurns) pre += missing;
  }
  return {g, post, pre};
}

void Lowering::touch(int index, std::uint64_t x, std::uint64_t z) {
  for_each_bit(x, [&](int w) { last_any_[w] = last_x_[w] = index; });
  for_each_bit(z, [&](int w) { last_any_[w] = index; });
}

void Lowering::write(Action action) {
  const int index = static_cast<int>(out_.actions.size());
  Before before{-1, -1, -1};
  if (action.kind == ActionKind::kFlip && std::has_single_bit(action.control_mask)) {
    const int c = std::countr_zero(action.control_mask), t = action.targets[0];
    before = {last_any_[t], last_any_[c], last_x_[t]};
  }
  touch(index, action.target_mask(), action.control_mask);
  zero_ &= ~action.target_mask();
  out_.actions.push_back(action);
  before_.push_back(before);
  dead_.push_back(false);
}

void Lowering::write_phase(std::uint64_t mask, std::uint64_t turns) {
  if (mask == 0) {
    d_.add(0, turns);
    return;
  }
  if (is_negligible(turns)) return;
  Action action;
  action.kind = ActionKind::kPhase;
  action.first = static_cast<std::uint32_t>(out_.terms.size());
  action.count = 1;
  out_.terms.push_back({mask, turns});
  touch(static_cast<int>(out_.actions.size()), 0, mask);
  out_.actions.push_back(action);
  before_.push_back({-1, -1, -1});
  dead_.push_back(false);
}

// Writes out every term of D with w; the M of the wires they touch come first.
void Lowering::write_terms(int w) {
  for_each_bit(d_.neighbours(w) & pending_mask_, [&](int r) { write_pending(r); });
  std::vector<PhaseTerm> terms;
  d_.take_terms_with(w, [&](std::uint64_t mask, std::uint64_t turns) {
    terms.push_back({mask, turns});
  });
  for (const PhaseTerm& t : terms) write_phase(t.mask, t.turns);
}

void Lowering::write_pending(int w) {
  if (!has_pending(w)) return;
  pending_mask_ &= ~bit(w);
  Matrix2 m = pending_[w];
  pending_[w] = {};
  const std::uint64_t before = std::exchange(turns_before_[w], 0);
  const double size = std::abs(m.m[0]) + std::abs(m.m[1]) + std::abs(m.m[2]) + std::abs(m.m[3]);
  const auto small = [&](cplx z) { return std::abs(z) <= kZero * size; };
  const double unitarity = std::abs(std::norm(m.m[0]) + std::norm(m.m[2]) - 1) +
                           std::abs(std::norm(m.m[1]) + std::norm(m.m[3]) - 1) +
                           std::abs(std::conj(m.m[0]) * m.m[1] + std::conj(m.m[2]) * m.m[3]);
  if (!(unitarity < 1e-10)) {
    write_phase(bit(w), before);
    Action action;
    action.kind = ActionKind::kMatrix;
    action.num_targets = 1;
    action.targets[0] = static_cast<std::uint8_t>(w);
    action.first = static_cast<std::uint32_t>(out_.matrices.size());
    out_.matrices.insert(out_.matrices.end(), m.m, m.m + 4);
    write(action);
    return;
  }
  if (small(m.m[1]) && small(m.m[2])) {
    const std::uint64_t g = turns_of(arg(m.m[0]));
    d_.add(0, g);
    add_phase(bit(w), turns_of(arg(m.m[3])) - g + before);
    return;
  }
  if (std::abs(m.m[2]) > std::abs(m.m[0])) {  // X^a with a = 1
    std::swap(m.m[0], m.m[2]);
    std::swap(m.m[1], m.m[3]);
    flips_ ^= bit(w);
    d_.flip(w);  // D X = X D'
  }
  if (small(m.m[1]) && small(m.m[2])) {
    const std::uint64_t g = turns_of(arg(m.m[0]));
    d_.add(0, g);
    add_phase(bit(w), turns_of(arg(m.m[3])) - g + before);
    return;
  }
  const auto [g, post, pre] = euler_turns(m);
  d_.add(0, g);
  if (!(zero_ & bit(w))) write_phase(bit(w), pre + before);
  Action action;
  action.kind = ActionKind::kLift;
  action.num_targets = 1;
  action.targets[0] = static_cast<std::uint8_t>(w);
  action.m[0] = std::abs(m.m[2]) / std::abs(m.m[0]);
  write(action);
  d_.add(bit(w), post);
}

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
  const double size = std::abs(u.m[0]) + std::abs(u.m[1]) + std::abs(u.m[2]) + std::abs(u.m[3]);
  const auto small = [&](cplx z) { return std::abs(z) <= kZero * size; };
  const double unitarity = std::abs(std::norm(u.m[0]) + std::norm(u.m[2]) - 1) +
                           std::abs(std::norm(u.m[1]) + std::norm(u.m[3]) - 1) +
                           std::abs(std::conj(u.m[0]) * u.m[1] + std::conj(u.m[2]) * u.m[3]);
  if (!(unitarity < 1e-10) || std::popcount(negative) > 6) {
    const int targets[1] = {w};
    apply_general(targets, {u.m[0], u.m[1], u.m[2], u.m[3]}, positive, negative);
    return;
  }
  const int t1[1] = {w};
  if (small(u.m[0]) && small(u.m[3])) {  // X . diag(m10, m01)
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
    const double size = std::abs(m[0]) + std::abs(m[1]) + std::abs(m[2]) + std::abs(m[3]);
    const bool anti = std::abs(m[0]) <= kZero * size && std::abs(m[3]) <= kZero * size;
    if (positive | negative) {
      apply_controlled_single(w, u, positive, negative);
    } else if (anti && std::abs(std::abs(m[1]) - 1) < 1e-10 &&
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

Lowered Lowering::finish() {
  for (int w = 0; w < n_; ++w) write_pending(w);
  for (int w = 0; w < n_; ++w) write_terms(w);
  Lowered result = std::move(out_);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < result.actions.size(); ++k) {
    if (!dead_[k]) result.actions[kept++] = result.actions[k];
  }
  result.actions.resize(kept);
  result.wire_of = wire_of_;
  result.flips = flips_;
  result.global_turns = d_.constant();
  result.zero_wires = zero_;
  return result;
}

}  // namespace

Lowered lower(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
              std::uint64_t flips, std::uint64_t zero_wires, const CostModel& cost) {
  const int n = static_cast<int>(circuit.num_qubits());
  if (n > kMaxQubits) {
    throw Error(ExitCode::kResources, "a state vector of " + std::to_string(n) +
                                          " qubits needs 2^" + std::to_string(n) +
                                          " amplitudes: at most " + std::to_string(kMaxQubits) +
                                          " qubits can be planned");
  }
  Lowering lowering(n, flips, zero_wires);
  Fused fused = fuse_pairs(circuit, ops, cost);
  cancel_hadamards(fused, circuit);
  gather_parities(fused, circuit);
  InterruptCounter now_and_then(1024);
  for (const Element& e : fused.elements) {
    now_and_then.step();
    if (e.matrix >= 0) {
      lowering.apply_matrix({}, 0, {e.qubits, static_cast<std::size_t>(e.num_qubits)},
                            fused.matrices[e.matrix]);
      continue;
    }
    const circuit::Op& op = *e.op;
    if (op.kind != circuit::OpKind::kGate && op.kind != circuit::OpKind::kMatrix) {
      throw Error(ExitCode::kInternal, "only gates can be planned");
    }
    if (op.num_targets > kMaxTargets) {
      throw Error(ExitCode::kInput, "a matrix on " + std::to_string(op.num_targets) +
                                        " qubits is too large: at most " +
                                        std::to_string(kMaxTargets) + " are supported");
    }
    lowering.apply_matrix(circuit.controls(op), op.control_values, circuit.targets(op),
                          circuit.matrix(op));
  }
  Lowered result = lowering.finish();
  result.num_gates = ops.size();
  return result;
}

}  // namespace tilewave::statevec::detail
