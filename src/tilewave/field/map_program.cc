#include "tilewave/field/map_program.h"

namespace tilewave::field {
namespace {

// Hands out block numbers and takes them back.
class BlockPool {
 public:
  explicit BlockPool(int first) : next_(first) {}
  int take() {
    if (free_.empty()) return next_++;
    const int block = free_.back();
    free_.pop_back();
    return block;
  }
  void give(int block) { free_.push_back(block); }
  int size() const { return next_; }

 private:
  std::vector<int> free_;
  int next_;
};

bool reads(const MapStep& s, int float_block) {
  if (s.to_float) return false;
  const bool select = s.op == MapOp::kSelect;
  if (s.integer) return select && s.a == float_block;
  const int arity = map_op_arity(s.op);
  return (arity > 0 && s.immediate != 1 && s.a == float_block) ||
         (arity > 1 && s.immediate != 2 && s.b == float_block) ||
         (arity > 2 && s.c == float_block) || s.sum == float_block;
}

// Whether a step writes a float block, rather than an integer one.
bool writes_float(const MapStep& s) {
  return !s.integer || (s.op >= MapOp::kLess && s.op <= MapOp::kNotEqual);
}

// What a function's value goes through next is done before it is stored.
void join_steps(std::vector<MapStep>& steps) {
  for (std::size_t i = 0; i + 1 < steps.size();) {
    MapStep& f = steps[i];
    const MapStep& next = steps[i + 1];
    const auto last_read = [&] {  // nobody else wants the value
      if (i + 2 == steps.size()) return true;
      for (std::size_t k = i + 1; k < steps.size(); ++k) {
        if (k > i + 1 && reads(steps[k], f.out)) return false;
        if (writes_float(steps[k]) && steps[k].out == f.out) return true;
      }
      return f.out != 0;  // block 0 is the result
    };
    if (!takes_more(f) || f.sum >= 0 || next.integer || next.to_float || !reads(next, f.out) ||
        !last_read()) {
      ++i;
      continue;
    }
    if (next.op == MapOp::kAdd && next.immediate != 0 && !f.plus && !f.root) {
      f.plus = true;
      f.addend = static_cast<float>(next.number);
    } else if (next.op == MapOp::kSqrt && !f.root) {
      f.root = true;
    } else if (next.op == MapOp::kAdd && next.immediate == 0 && next.a != next.b) {
      f.sum = next.a == f.out ? next.b : next.a;
    } else {
      ++i;
      continue;
    }
    f.out = next.out;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

}  // namespace

MapProgram compile_map(const MapExpression& expression) {
  const std::vector<MapNode>& nodes = expression.nodes();
  MapProgram program;
  BlockPool floats(1), integers(0);
  const std::size_t count = nodes.size();
  std::vector<int> block(count, -1), as_float(count, -1), last_use(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    for (const int k : {nodes[i].a, nodes[i].b, nodes[i].c}) {
      if (k >= 0) last_use[static_cast<std::size_t>(k)] = static_cast<int>(i);
    }
  }
  last_use.back() = static_cast<int>(count);

  const auto float_of = [&](int k) {  // the float block of node k, converting on first need
    const auto i = static_cast<std::size_t>(k);
    if (!nodes[i].is_integer && nodes[i].op != MapOp::kNumber) return block[i];
    if (as_float[i] < 0) {
      as_float[i] = floats.take();
      MapStep step;
      if (nodes[i].op == MapOp::kNumber) {
        step.op = MapOp::kNumber;
        step.number = nodes[i].number;
      } else {
        step.to_float = true;
        step.a = block[i];
      }
      step.out = as_float[i];
      program.steps.push_back(step);
    }
    return as_float[i];
  };

  const auto integer_of = [&](int k) {
    const auto i = static_cast<std::size_t>(k);
    if (block[i] < 0) {  // a number, wanted for the first time
      MapStep step;
      step.op = MapOp::kNumber;
      step.integer = true;
      step.whole = nodes[i].whole;
      step.out = block[i] = integers.take();
      program.steps.push_back(step);
    }
    return block[i];
  };
  const auto is_number = [&](int k) {
    return nodes[static_cast<std::size_t>(k)].op == MapOp::kNumber;
  };

  for (std::size_t i = 0; i < count; ++i) {
    const MapNode& n = nodes[i];
    if (n.op == MapOp::kNumber) continue;  // an immediate operand, or a block when first needed
    if (n.op == MapOp::kValue) {
      block[i] = 0;
      continue;
    }
    MapStep step;
    step.op = n.op;
    step.number = n.number;
    const int operands[3] = {n.a, n.b, n.c};
    int* const places[3] = {&step.a, &step.b, &step.c};
    bool integer_operands = n.a >= 0;
    for (const int k : operands) {
      if (k >= 0) integer_operands &= nodes[static_cast<std::size_t>(k)].is_integer;
    }
    const bool compares = n.op >= MapOp::kLess && n.op <= MapOp::kNotEqual;
    step.integer = n.is_integer || (compares && integer_operands);
    for (int k = 0; k < 3; ++k) {
      if (operands[k] < 0) continue;
      // an integer select still takes its condition as a float
      const bool wants_integer = step.integer && !(n.op == MapOp::kSelect && k == 0);
      if (!step.integer && map_op_arity(n.op) == 2 && is_number(operands[k])) {
        step.immediate = k + 1;
        step.number = nodes[static_cast<std::size_t>(operands[k])].number;
        continue;
      }
      *places[k] = wants_integer ? integer_of(operands[k]) : float_of(operands[k]);
    }
    step.out = block[i] = n.is_integer ? integers.take() : floats.take();
    program.steps.push_back(step);
    for (std::size_t k = 0; k < i; ++k) {
      if (last_use[k] != static_cast<int>(i) || nodes[k].op == MapOp::kValue) continue;
      if (block[k] >= 0) nodes[k].is_integer ? integers.give(block[k]) : floats.give(block[k]);
      if (as_float[k] >= 0) floats.give(as_float[k]);
      last_use[k] = -1;
    }
  }
  float_of(static_cast<int>(count) - 1);
  // every step reads a vector before it writes it, so the last may write over v
  if (!program.steps.empty()) program.steps.back().out = 0;
  join_steps(program.steps);
  program.num_float_blocks = floats.size();
  program.num_integer_blocks = integers.size();
  return program;
}

}  // namespace tilewave::field
