// The tables that the sparse engine draws with.
#pragma once

#include <vector>

#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// P(N <= k) for a Poisson number of mean mu, over every k whose probability matters in double
/// precision.
PoissonTable poisson_table(double mu);

/// Alias table (Walker): each bucket keeps a share of its own mechanism and gives the rest to
/// another. `share`: of each mechanism, of mean 1.
std::vector<AliasEntry> alias_table(std::vector<double> share);

}  // namespace tilewave::stabilizer
