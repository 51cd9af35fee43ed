// Blocks of gates on a pair. Walking once through the circuit, every qubit has at most one open
// block; a 2-qubit gate on another pair closes it. Gates of one block touch only its two qubits and
// nothing else touches these in between, so a closed block may be written out as a whole. A block
// is fused when 4 complex multiply-adds an amplitude (the 4x4 matrix) cost less than its rotations,
// flips and phases one by one. Where matrices have factors, one matrix on the pair is a block, too.
#include "tilewave/statevec/plan/fuse.h"

#include <algorithm>
#include <ranges>

#include "tilewave/base/interrupt.h"

namespace tilewave::statevec::detail {

namespace {

using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

struct Block {
  Qubit a = 0, b = 0;
  std::vector<const Op*> ops;
  int num_pair_gates = 0;
};

bool is_small_gate(const Op& op) {
  return (op.kind == OpKind::kGate || op.kind == OpKind::kMatrix) &&
         op.num_controls + op.num_targets <= 2 && op.num_targets >= 1;
}

// The operation as a 4x4 matrix on (a, b), a being bit 0.
void embed(const circuit::Circuit& circuit, const Op& op, Qubit a, cplx* out) {
  const std::vector<cplx> m = circuit.matrix(op);
  const auto qubits = circuit.qubits(op);
  const int dim = 1 << op.num_targets;
  for (int col = 0; col < 4; ++col) {
    for (int row = 0; row < 4; ++row) out[row * 4 + col] = 0;
    const auto value = [&](Qubit q) { return q == a ? col & 1 : col >> 1; };
    bool acts = true;
    if (op.num_controls == 1) acts = value(qubits[0]) == static_cast<int>(op.control_values & 1);
    if (!acts) {
      out[col * 4 + col] = 1;
      continue;
    }
    int in = 0;
    for (int k = 0; k < op.num_targets; ++k) in |= value(qubits[op.num_controls + k]) << k;
    for (int res = 0; res < dim; ++res) {
      int row = col;
      for (int k = 0; k < op.num_targets; ++k) {
        const int where = qubits[op.num_controls + k] == a ? 0 : 1;
        row = (row & ~(1 << where)) | ((res >> k & 1) << where);
      }
      out[row * 4 + col] += m[res * dim + in];
    }
  }
}

bool is_diagonal(const circuit::Circuit& circuit, const Op& op) {
  if (op.kind == OpKind::kGate &&
      circuit::gate_info(op.gate).structure == circuit::Structure::kDiagonal)
    return true;
  if (op.kind == OpKind::kGate) return false;
  const auto m = circuit.matrix(op);
  const int dim = 1 << op.num_targets;
  for (int i = 0; i < dim; ++i) {
    for (int j = 0; j < dim; ++j) {
      if (i != j && m[i * dim + j] != cplx{}) return false;
    }
  }
  return true;
}

bool is_permutation(const Op& op) {
  return op.kind == OpKind::kGate &&
         circuit::gate_info(op.gate).structure == circuit::Structure::kPermutation;
}

// Whether an operation on both qubits is a matrix of which more than half is not zero.
bool has_matrix(const circuit::Circuit& circuit, const Block& block) {
  return std::ranges::any_of(block.ops, [&](const Op* op) {
    if (op->kind != OpKind::kMatrix || op->num_targets != 2) return false;
    return std::ranges::count(circuit.matrix(*op), cplx{}) < 8;
  });
}

// Seconds an amplitude when lowered one by one: neighbouring 1-qubit gates count once; phases are
// shared with others.
double cost_apart(const circuit::Circuit& circuit, const Block& block, const CostModel& cost) {
  double sum = 0;
  bool rotated[2] = {false, false};
  // cx, phases on its target, the same cx: a phase on both
  const Op* open_cx = nullptr;
  double open_cost = 0;
  for (const Op* op : block.ops) {
    const bool pair = op->num_controls + op->num_targets == 2;
    const bool is_cx = pair && op->kind == OpKind::kGate && op->gate == circuit::GateId::kCx;
    if (is_cx && open_cx && std::ranges::equal(circuit.qubits(*op), circuit.qubits(*open_cx))) {
      sum += 0.15 * cost.phase_s - open_cost;
      open_cx = nullptr;
      continue;
    }
    if (is_cx) {
      open_cx = op;
      open_cost = 0.5 * cost.flip_s + 0.1 * cost.phase_s;
    } else if (open_cx && !(is_diagonal(circuit, *op) && !pair)) {
      open_cx = nullptr;
    }
    if (is_diagonal(circuit, *op)) {
      if (pair) sum += 0.15 * cost.phase_s, rotated[0] = rotated[1] = false;
      continue;
    }
    if (pair) {
      rotated[0] = rotated[1] = false;
      if (is_permutation(*op)) {
        if (op->num_controls == 1) sum += 0.5 * cost.flip_s + 0.1 * cost.phase_s;
      } else if (op->num_controls == 1) {
        sum += 0.5 * cost.rotate_s + 0.15 * cost.phase_s;
      } else {
        sum += 4 * cost.multiply_s;
      }
      continue;
    }
    if (is_permutation(*op)) continue;
    bool& done = rotated[circuit.targets(*op)[0] == block.a ? 0 : 1];
    if (!done) sum += cost.lift_s + 0.15 * cost.phase_s;
    done = true;
  }
  return sum;
}

}  // namespace

Fused fuse_pairs(const circuit::Circuit& circuit, std::span<const Op> ops, const CostModel& cost) {
  Fused out;
  out.elements.reserve(ops.size());
  std::vector<Block> blocks;
  std::vector<std::int32_t> open(circuit.num_qubits(), -1);
  std::vector<std::vector<const Op*>> solo(circuit.num_qubits());

  const auto close = [&](Qubit q) {
    for (const Op* op : solo[q]) out.elements.push_back({op});
    solo[q].clear();
    if (open[q] < 0) return;
    Block& block = blocks[open[q]];
    open[block.a] = open[block.b] = -1;
    const bool apart = block.num_pair_gates < 2
                           ? !(cost.factored_share < 1 && has_matrix(circuit, block))
                           : cost_apart(circuit, block, cost) <= 4 * cost.multiply_s;
    if (apart) {
      for (const Op* op : block.ops) out.elements.push_back({op});
    } else {
      std::vector<cplx> product(16), next(16), m(16);
      for (int k = 0; k < 4; ++k) product[k * 5] = 1;
      for (const Op* op : block.ops) {
        embed(circuit, *op, block.a, m.data());
        for (int i = 0; i < 4; ++i) {
          for (int j = 0; j < 4; ++j) {
            next[i * 4 + j] = 0;
            for (int k = 0; k < 4; ++k) next[i * 4 + j] += m[i * 4 + k] * product[k * 4 + j];
          }
        }
        product.swap(next);
      }
      Element e;
      e.qubits[0] = block.a, e.qubits[1] = block.b;
      e.matrix = static_cast<std::int32_t>(out.matrices.size());
      out.matrices.push_back(std::move(product));
      out.elements.push_back(e);
    }
    block.ops = {};
  };

  InterruptCounter now_and_then(4096);
  for (const Op& op : ops) {
    now_and_then.step();
    if (op.kind == OpKind::kBarrier) continue;
    const auto qubits = circuit.qubits(op);
    if (!is_small_gate(op)) {
      for (Qubit q : qubits) close(q);
      out.elements.push_back({&op});
    } else if (qubits.size() == 1) {
      const Qubit q = qubits[0];
      (open[q] >= 0 ? blocks[open[q]].ops : solo[q]).push_back(&op);
    } else {
      const Qubit a = qubits[0], b = qubits[1];
      if (open[a] < 0 || open[a] != open[b]) {
        Block block{a, b, {}, 0};
        for (Qubit q : {a, b}) {
          if (open[q] >= 0) close(q);
          block.ops.insert(block.ops.end(), solo[q].begin(), solo[q].end());
          solo[q].clear();
        }
        open[a] = open[b] = static_cast<std::int32_t>(blocks.size());
        blocks.push_back(std::move(block));
      }
      blocks[open[a]].ops.push_back(&op);
      ++blocks[open[a]].num_pair_gates;
    }
  }
  for (Qubit q = 0; q < circuit.num_qubits(); ++q) close(q);
  return out;
}

}  // namespace tilewave::statevec::detail
