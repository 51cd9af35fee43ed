#include "tilewave/circuit/gate_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tilewave::circuit {
namespace {

TEST(GateTable, rows_follow_the_ids_and_every_name_finds_its_row) {
  int index = 0;
  for (const GateInfo& g : gate_table()) {
    EXPECT_EQ(static_cast<int>(g.id), index++) << g.name;
    EXPECT_EQ(find_gate(Language::kTilewave, g.name), &g);
    EXPECT_FALSE(g.help.empty()) << g.name;
  }
}

TEST(GateTable, a_name_of_a_language_means_one_gate) {
  using Field = std::string_view GateInfo::*;
  for (const Field field : {&GateInfo::name, &GateInfo::qasm, &GateInfo::stim, &GateInfo::qsim}) {
    std::map<std::string_view, std::string_view> seen;
    for (const GateInfo& g : gate_table()) {
      std::string_view rest = g.*field;
      while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
        EXPECT_TRUE(seen.emplace(name, g.name).second)
            << name << ": " << g.name << " and " << seen[name];
      }
    }
  }
}

TEST(GateTable, knows_gates_under_more_controls) {
  EXPECT_EQ(find_controlled(GateId::kX, 1)->id, GateId::kCx);
  EXPECT_EQ(find_controlled(GateId::kCx, 3)->id, GateId::kC4x);
  EXPECT_EQ(find_controlled(GateId::kCz, 1)->id, GateId::kCcz);
  EXPECT_EQ(find_controlled(GateId::kSwap, 1)->id, GateId::kCswap);
  EXPECT_EQ(find_controlled(GateId::kRz, 1)->id, GateId::kCrz);
  EXPECT_EQ(find_controlled(GateId::kU, 1)->id, GateId::kCu3);
  EXPECT_EQ(find_controlled(GateId::kSx, 3)->id, GateId::kC3sqrtx);
  EXPECT_EQ(find_controlled(GateId::kH, 2), nullptr);
  EXPECT_EQ(find_controlled(GateId::kX, 5), nullptr);
  for (const GateInfo& g : gate_table()) EXPECT_EQ(find_controlled(g.id, 0), &g);
}

TEST(GateTable, every_matrix_is_unitary_and_keeps_its_structure_class) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> angle(-3, 3);
  for (const GateInfo& g : gate_table()) {
    std::vector<double> params(g.num_params);
    for (double& p : params) p = angle(random);
    const auto m = gate_matrix(g.id, params);
    const int dim = 1 << g.num_targets;
    for (int i = 0; i < dim; ++i) {
      for (int j = 0; j < dim; ++j) {
        cplx dot = 0;
        for (int k = 0; k < dim; ++k) dot += m[i * dim + k] * std::conj(m[j * dim + k]);
        EXPECT_NEAR(std::abs(dot - (i == j ? 1.0 : 0.0)), 0, 1e-14) << g.name;
        if (g.structure == Structure::kDiagonal && i != j) {
          EXPECT_EQ(m[i * dim + j], cplx{}) << g.name;
        }
        if (g.structure == Structure::kReal) {
          EXPECT_EQ(m[i * dim + j].imag(), 0) << g.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::circuit
