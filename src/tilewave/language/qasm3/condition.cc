// Where a value that depends on measured bits is true: as a comparison of a register, a truth table
// or an expression, and as a condition of the circuit.
#include <algorithm>

#include "tilewave/language/qasm3/value.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::ClassicalExpr;
using circuit::ClassicalOp;
using circuit::ClassicalType;

std::int32_t add_node(ClassicalExpr& e, ClassicalOp op, ClassicalType type, std::int32_t a,
                      std::int32_t b = -1) {
  const auto width = static_cast<std::uint8_t>(type == ClassicalType::kBool ? 1 : 64);
  return e.add({op, type, width, a, b, 0});
}

std::int32_t word(ClassicalExpr& e, std::uint64_t value) {
  return e.constant(ClassicalType::kUint, 64, value);
}

// The runs of 64 bits of a long register, each compared with its part of the number.
std::int32_t add_comparison(const Test& test, ClassicalExpr& e) {
  std::int32_t all = -1;
  for (std::uint32_t k = 0; k < test.size; k += 64) {
    const int count = static_cast<int>(std::min<std::uint32_t>(64, test.size - k));
    const std::uint64_t part = k / 64 < test.value.size() ? test.value[k / 64] : 0;
    const std::int32_t bits =
        add_node(e, ClassicalOp::kCast, ClassicalType::kUint, e.bits(test.first + k, count));
    const std::int32_t equal =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool, bits, word(e, part));
    all = all < 0 ? equal : add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, equal);
  }
  for (std::size_t k = test.size; k < 64 * test.value.size(); ++k) {
    if (test.value[k / 64] >> (k % 64) & 1) {  // a number that no register of this size holds
      const std::int32_t never = e.constant(ClassicalType::kBool, 1, 0);
      all = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, never);
      break;
    }
  }
  return test.negated ? add_node(e, ClassicalOp::kNot, ClassicalType::kBool, all) : all;
}

// The result is the last node.
std::int32_t add_test(const Test& test, ClassicalExpr& e) {
  std::int32_t all = 0;
  if (test.expr) {
    all = e.append(*test.expr);
    if (e.nodes.back().type != ClassicalType::kBool) {
      all = add_node(e, ClassicalOp::kCast, ClassicalType::kBool, all);
    }
    if (test.negated) all = add_node(e, ClassicalOp::kNot, ClassicalType::kBool, all);
  } else {
    all = test.bits.empty() ? add_comparison(test, e) : add_table(test, e);
  }
  for (const Test& other : test.also) {
    const std::int32_t more = add_test(other, e);
    all = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, all, more);
  }
  return all;
}

}  // namespace

// Bit (index % 64) of word (index / 64) of the table.
std::int32_t add_table(const Test& test, ClassicalExpr& e) {
  constexpr auto kUint = ClassicalType::kUint;
  const std::int32_t index = add_index(test.bits, e);
  const std::int32_t low = add_node(e, ClassicalOp::kBitAnd, kUint, index, word(e, 63));
  const std::int32_t high = add_node(e, ClassicalOp::kShiftRight, kUint, index, word(e, 6));
  std::int32_t any = -1;
  for (std::size_t w = 0; w < test.table.size(); ++w) {
    const std::int32_t moved =
        add_node(e, ClassicalOp::kShiftRight, kUint, word(e, test.table[w]), low);
    const std::int32_t bit =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool,
                 add_node(e, ClassicalOp::kBitAnd, kUint, moved, word(e, 1)), word(e, 1));
    const std::int32_t here =
        add_node(e, ClassicalOp::kEqual, ClassicalType::kBool, high, word(e, w));
    const std::int32_t hit = add_node(e, ClassicalOp::kAnd, ClassicalType::kBool, bit, here);
    any = w == 0 ? hit : add_node(e, ClassicalOp::kOr, ClassicalType::kBool, any, hit);
  }
  return any;
}

Test to_test(const Value& holds) {
  if (holds.is_expr()) {
    Test c;
    c.expr = holds.expr;
    return c;
  }
  const std::size_t size = holds.cells.size(), k = holds.deps.size();
  std::size_t count = 0, last = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (holds.cells[i].i) ++count, last = i;
  }
  Test c;
  // One row of the table over neighbouring bits: a comparison of a register.
  if (count == 1 && holds.deps.back() - holds.deps.front() + 1 == k) {
    c.first = holds.deps.front();
    c.size = static_cast<std::uint32_t>(k);
    c.value = {last};
    return c;
  }
  c.bits = holds.deps;
  c.table.resize((size + 63) / 64);
  for (std::size_t i = 0; i < size; ++i) {
    if (holds.cells[i].i) c.table[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return c;
}

std::vector<circuit::Clbit> bits_read(const Test& test) {
  std::vector<circuit::Clbit> bits = test.bits;
  if (test.expr) {
    circuit::for_each_read(*test.expr, [&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t k = 0; k < count; ++k) bits.push_back(first + k);
    });
  } else if (bits.empty()) {
    for (std::uint32_t k = 0; k < test.size; ++k) bits.push_back(test.first + k);
  }
  for (const Test& other : test.also) {
    const std::vector<circuit::Clbit> more = bits_read(other);
    bits.insert(bits.end(), more.begin(), more.end());
  }
  return bits;
}

circuit::Condition to_condition(const Test& test) {
  circuit::Condition out;
  if (!test.negated && test.bits.empty() && test.also.empty() && !test.expr) {
    out.first = test.first, out.size = test.size, out.value = test.value;
    return out;
  }
  add_test(test, out.expr);
  return out;
}

}  // namespace tilewave::language::qasm3
