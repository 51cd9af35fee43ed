#include "tilewave/circuit/gate_table.h"

#include <gtest/gtest.h>

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
