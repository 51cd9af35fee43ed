#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tilewave::statevec::detail {

/// The steps of all sequences that a beam search follows, which share their beginnings. A step
/// knows the one before it by its number: nodes that own their parents would be freed by a
/// recursion as deep as the circuit.
template <class Step>
class BeamSteps {
 public:
  static constexpr std::size_t kStart = ~std::size_t{0};  ///< before the first step

  /// The number of `step`, which comes behind step `before`.
  std::size_t add(std::size_t before, Step step) {
    nodes_.push_back({before, std::move(step)});
    return nodes_.size() - 1;
  }
  /// Takes out the sequence that ends with step `last`.
  std::vector<Step> take(std::size_t last) {
    std::vector<Step> steps;
    for (; last != kStart; last = nodes_[last].before)
      steps.push_back(std::move(nodes_[last].step));
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  struct Node {
    std::size_t before;
    Step step;
  };
  std::vector<Node> nodes_;
};

}  // namespace tilewave::statevec::detail
