#include "tilewave/circuit/inverse.h"

#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <map>

#include "oracle/random_circuit.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"

namespace tilewave::circuit {
namespace {

TEST(Inverse, of_every_gate_multiplies_to_one) {
  const double angles[] = {0.3, -1.1, 2.7, 0.9};
  for (const GateInfo& g : gate_table()) {
    const auto arity = static_cast<Qubit>(g.num_controls + g.num_targets);
    Circuit c(arity);
    std::vector<Qubit> qubits(arity);
    for (Qubit q = 0; q < arity; ++q) qubits[q] = q;
    c.add_gate(g.id, qubits, std::span(angles).first(static_cast<std::size_t>(g.num_params)));
    const Circuit back = inverse(c);
    ASSERT_EQ(back.ops().size(), 1u);
    EXPECT_EQ(back.controls(back.ops()[0]).size(), static_cast<std::size_t>(g.num_controls));
    const auto m = c.matrix(c.ops()[0]), w = back.matrix(back.ops()[0]);
    const std::size_t dim = std::size_t{1} << g.num_targets;
    for (std::size_t row = 0; row < dim; ++row) {
      for (std::size_t col = 0; col < dim; ++col) {
        cplx dot = 0;
        for (std::size_t k = 0; k < dim; ++k) dot += m[row * dim + k] * w[k * dim + col];
        EXPECT_LT(std::abs(dot - (row == col ? 1.0 : 0.0)), 1e-14) << g.name;
      }
    }
  }
}

TEST(Inverse, refuses_what_has_none) {
  Circuit c(1, 1);
  c.add_measure(0, 0);
  EXPECT_THROW(inverse(c), Error);
  Circuit d(1);
  const Qubit q[] = {0};
  d.add_matrix({}, 0, q, {1, 0, 0, 0.5});
  EXPECT_THROW(inverse(d), Error);
}

std::map<std::string_view, int> kinds(const Circuit& c) {
  std::map<std::string_view, int> count;
  for (const Op& op : c.ops()) ++count[gate_info(op.gate).name];
  return count;
}

TEST(Families, have_the_gates_their_names_promise) {
  EXPECT_EQ(family_names().size(), 10u);
  const std::map<std::string_view, std::size_t> at_30 = {{"qft", 465},
                                                         {"invqft", 465},
                                                         {"ghz", 30},
                                                         {"ghz_qft", 495},
                                                         {"random", 600},
                                                         {"supremacy", 875},
                                                         {"quantum_volume", 1650},
                                                         {"ising", 1200},
                                                         {"qaoa", 525}};
  for (const auto& [name, gates] : at_30) {
    EXPECT_EQ(make_family(name, 30).ops().size(), gates) << name;
  }
  const auto qv = kinds(make_family("quantum_volume", 30));
  EXPECT_EQ(qv.at("u3"), 1200);
  EXPECT_EQ(qv.at("cx"), 450);
  const auto supremacy = kinds(make_family("supremacy", 30));
  EXPECT_EQ(supremacy.at("h"), 30);
  EXPECT_EQ(supremacy.at("cz"), 245);
  const auto bv = kinds(make_family("bv", 30));
  EXPECT_EQ(bv.at("h"), 59);
  EXPECT_GT(bv.at("cx"), 8);
  for (const std::string_view name : family_names()) {
    for (const std::uint32_t n : {2u, 3u, 5u, 16u, 64u}) {
      EXPECT_GT(make_family(name, n).ops().size(), 1u) << name << " " << n;
    }
  }
  EXPECT_THROW(make_family("qtf", 8), Error);
  EXPECT_THROW(make_family("qft", 1), Error);
}

TEST(Inverse, of_gates_whose_angles_are_computed_has_the_same_angles) {
  int known = 0;
  for (const GateInfo& info : gate_table()) {
    if (info.num_params == 0) continue;
    std::vector<Qubit> qubits;
    for (int q = 0; q < info.num_controls + info.num_targets; ++q)
      qubits.push_back(static_cast<Qubit>(q));
    const auto n = static_cast<std::uint32_t>(qubits.size());
    Circuit now(n), later(n);
    std::vector<double> angles;
    std::vector<ClassicalExpr> computed;
    for (int k = 0; k < info.num_params; ++k) {
      angles.push_back(0.3 + k);
      computed.emplace_back().constant(ClassicalType::kFloat, 64,
                                       std::bit_cast<std::uint64_t>(angles.back()));
    }
    now.add_gate(info.id, qubits, angles);
    later.add_runtime_gate(info.id, {}, ~std::uint64_t{0}, qubits, computed);
    const Circuit expected = inverse(now);
    if (expected.ops()[0].kind != OpKind::kGate) {
      EXPECT_THROW(inverse(later), Error) << info.name;
      continue;
    }
    const Circuit found = inverse(later);
    EXPECT_EQ(found.ops()[0].gate, expected.ops()[0].gate) << info.name;
    for (std::size_t k = 0; k < angles.size(); ++k) {
      EXPECT_NEAR(std::bit_cast<double>(evaluate(found.angles(found.ops()[0])[k], {})),
                  expected.params(expected.ops()[0])[k], 1e-14)
          << info.name;
    }
    ++known;
  }
  EXPECT_GT(known, 15);
}

TEST(RandomCircuit, draws_every_gate_and_repeats_for_its_seed) {
  RandomCircuitOptions options;
  options.num_qubits = 6;
  options.num_ops = 3000;
  options.seed = 4;
  const Circuit a = make_random_circuit(options), b = make_random_circuit(options);
  std::map<std::string_view, int> seen;
  int zeros = 0, matrices = 0;
  for (std::size_t k = 0; k < a.ops().size(); ++k) {
    const Op& op = a.ops()[k];
    EXPECT_EQ(op.gate, b.ops()[k].gate);
    EXPECT_TRUE(std::ranges::equal(a.qubits(op), b.qubits(b.ops()[k])));
    if (op.kind == OpKind::kGate) ++seen[gate_info(op.gate).name];
    matrices += op.kind == OpKind::kMatrix;
    zeros += op.num_controls > 0 && ~op.control_values != 0;
  }
  EXPECT_EQ(seen.size(), gate_table().size());
  EXPECT_GT(matrices, 100);
  EXPECT_GT(zeros, 100);
}

}  // namespace
}  // namespace tilewave::circuit
