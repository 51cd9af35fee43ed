#include "tilewave/statevec/rates/probes.h"

#include <algorithm>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"

namespace tilewave::statevec::rates {

namespace {

constexpr int kInside = 6;  // low active positions that the CPU engine has inside rows

class Builder {
 public:
  explicit Builder(const ProbeShape& shape) {
    TW_CHECK(shape.tile_qubits <= shape.num_qubits && shape.tile_qubits >= kInside + 4,
             "a probe's tile fits its state");
    plan_.num_qubits = shape.num_qubits;
    plan_.precision = shape.precision;
    plan_.tile_qubits = shape.tile_qubits;
    plan_.row_bits = shape.row_bits;
    plan_.layout_before = plan_.layout_after = Layout::identity();
    Pass& pass = plan_.passes.emplace_back();
    for (int k = 0; k < shape.tile_qubits; ++k) {
      const int p = k < shape.row_bits ? k : shape.num_qubits - shape.tile_qubits + k;
      pass.active.push_back(static_cast<std::uint8_t>(p));
    }
    pass.dest = pass.active;
    pass.bytes =
        2 * std::ldexp(static_cast<double>(amplitude_bytes(shape.precision)), shape.num_qubits);
    pass.scale = {0, 1};
  }

  int tile() const { return plan_.tile_qubits; }
  int position(int slot) const { return plan_.passes[0].active[static_cast<std::size_t>(slot)]; }
  double random() { return random_uniform(7, 0, count_++); }

  Action& add(ActionKind kind, int slot) {
    Action& a = plan_.passes[0].actions.emplace_back();
    a.kind = kind;
    if (slot >= 0) a.targets[a.num_targets++] = static_cast<std::uint8_t>(position(slot));
    return a;
  }
  void lift(int slot, double t) {
    add(ActionKind::kLift, slot).m[0] = t;
    plan_.passes[0].scale /= std::sqrt(1 + t * t);
  }
  void lift(int slot) { lift(slot, 0.2 + 0.6 * random()); }
  void lifts(int inside) {
    for (int k = 0; k < inside; ++k) lift(k);
    for (int k = 0; k < 4; ++k) lift(kInside + k);
  }
  void phases(const std::vector<std::uint64_t>& masks) {
    Action& a = add(ActionKind::kPhase, -1);
    a.first = static_cast<std::uint32_t>(plan_.terms.size());
    a.count = static_cast<std::uint32_t>(masks.size());
    for (const std::uint64_t mask : masks)
      plan_.terms.push_back({mask, static_cast<std::uint64_t>(random() * 0x1p63) | 1});
  }
  std::uint64_t pair(int a, int b) const { return bit(position(a)) | bit(position(b)); }
  void flip(int slot, int control) {
    Action& a = add(ActionKind::kFlip, slot);
    a.control_mask = a.control_value = bit(position(control));
  }
  void rotate(int slot, int control) {
    const double angle = 0.3 + random();
    Action& a = add(ActionKind::kRotate, slot);
    a.m = {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)};
    a.control_mask = a.control_value = bit(position(control));
  }
  void matrix(int slot, int other) {
    cplx u[2][4];  // of one qubit each
    for (auto& m : u) {
      const double a = 0.4 + 0.7 * random(), b = 6 * random(), c = 6 * random();
      const cplx x = std::polar(std::cos(a), b), y = std::polar(std::sin(a), c);
      m[0] = x, m[1] = -std::conj(y), m[2] = y, m[3] = std::conj(x);
    }
    Action& a = add(ActionKind::kMatrix, slot);
    a.first = static_cast<std::uint32_t>(plan_.matrices.size());
    if (other < 0) {
      plan_.matrices.insert(plan_.matrices.end(), u[0], u[0] + 4);
      return;
    }
    a.targets[a.num_targets++] = static_cast<std::uint8_t>(position(other));
    for (int row = 0; row < 4; ++row) {
      const cplx turn = std::polar(1.0, row == 3 ? 1.1 : 0.0);  // no product of two
      for (int column = 0; column < 4; ++column) {
        plan_.matrices.push_back(turn * u[0][2 * (row & 1) + (column & 1)] *
                                 u[1][2 * (row >> 1) + (column >> 1)]);
      }
    }
  }
  Plan take() { return std::move(plan_); }

 private:
  Plan plan_;
  std::uint64_t count_ = 0;
};

}  // namespace

int actions_of(Step step) {
  constexpr int kActions[] = {0, 5, 10, 8, 1, 1, 4, 1, 1, 1, 1, 0};
  return kActions[static_cast<std::size_t>(step)];
}

Plan probe_plan(const ProbeShape& shape, Step step, int layers) {
  Builder b(shape);
  const int k = b.tile();
  for (int l = 0; l < layers; ++l) {
    const int slot = l % k, other = (l + 1 + l / k) % k;
    switch (step) {
      case Step::kNothing:
        break;
      case Step::kFewLifts:
        b.lifts(1);
        break;
      case Step::kLifts:
        b.lifts(6);
        break;
      case Step::kEqualLifts:
        for (int j = kInside; j < std::min(k, kInside + 8); ++j) b.lift(j, 0.4);
        break;
      case Step::kPhases:
        b.phases({b.pair(0, 1), b.pair(2, 3), b.pair(4, 6), b.pair(5, 7), b.pair(8, 9)});
        b.lifts(6);
        break;
      case Step::kLinear: {
        std::vector<std::uint64_t> masks;
        for (int p = 0; p < shape.num_qubits; ++p) {
          if (p != b.position(slot)) masks.push_back(bit(p) | bit(b.position(slot)));
        }
        b.phases(masks);
        b.lift(slot);
        break;
      }
      case Step::kFlips:
        b.lifts(6);
        for (int j = 0; j < 4; ++j) b.flip(kInside + j, j % 2 ? j : kInside + (j + 1) % 4);
        break;
      case Step::kRotations:
        b.rotate(slot, other);
        break;
      case Step::kMatrix1:
        b.matrix(slot, -1);
        break;
      case Step::kMatrix2:
        b.matrix(slot, other);
        break;
      case Step::kTurned:
        break;
      case Step::kMoves:
        if (l == 0) b.flip(k - 1, k - 2), b.flip(k - 2, k - 3);
        break;
    }
  }
  Plan plan = b.take();
  if (step == Step::kTurned) {  // there and back
    std::vector<std::uint8_t>& dest = plan.passes[0].dest;
    for (int j = 0; j < shape.row_bits && 2 * j + 1 < k; ++j)
      std::swap(dest[static_cast<std::size_t>(j)], dest[static_cast<std::size_t>(k - 1 - j)]);
    plan.passes.push_back(plan.passes[0]);
  }
  if (step == Step::kMoves) plan.passes[0].scale = 1;
  return plan;
}

}  // namespace tilewave::statevec::rates
