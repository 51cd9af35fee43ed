// A chain of E and ELSE_CORRELATED_ERRORs as a walk backwards meets it: its last link first.
#pragma once

#include <span>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

struct ChainLink {
  double probability = 0;  ///< given that no link before it happened, until disjoint_links()
  SymptomSet flips;
  const Prim* prim = nullptr;
};

/// For a whole chain: the probabilities become those that a link happens, of which one does at most.
inline void disjoint_links(std::span<ChainLink> chain) {
  double before = 1;
  for (std::size_t k = chain.size(); k-- > 0;) {
    const double p = chain[k].probability;
    chain[k].probability = before * p;
    before *= 1 - p;
  }
}

}  // namespace tilewave::stabilizer
