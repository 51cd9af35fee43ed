// How many of independent places of noise fire in a shot, and which, given their number. With p_i
// the probability of place i, the number K has the Poisson-binomial distribution,
//   P(K = k) = sum over sets S of k places of prod_{i in S} p_i prod_{i not in S} (1 - p_i).
//
// Places of equal probability form a class. A binary tree over the classes holds at every node the
// distribution of how many of its places fire, up to the largest number wanted: a leaf is binomial,
// a node the convolution of its halves. Everything is a sum of positive terms, so relative errors
// stay at some 1e-13. A set of k places is drawn from the top: m of them in the left half with
// probability L[m] R[k - m] / N[k], and so on; in a class all sets are equally likely. A draw costs
// O(k log classes).
//
// Given K, the odds p / (1 - p) of all places may be multiplied by one number t without a change of
// the conditional distribution. t is 1 where the expected number lies within the range wanted;
// elsewhere it moves the expected number there, so that nothing underflows, and
//   P(K = k) = P_t(K = k) t^-k prod_i (1 - p_i) / (1 - p_i(t)).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewave::stabilizer {

/// Places that fire with the same probability, above 0.
struct FaultClass {
  double probability = 0;
  std::uint64_t count = 0;
};

/// Numbers of faults, both ends included.
struct FaultRange {
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  std::uint64_t first = 0, last = kNoLimit;
  bool operator==(const FaultRange&) const = default;
};

/// "3", "3-8", "3+": exactly three, three to eight, three or more. Throws Error(kUsage) for other
/// words.
FaultRange parse_fault_range(std::string_view words);
/// The same words.
std::string words_of(const FaultRange& range);

/// The distribution of the number of faults in a range, and draws given that it lies there.
class FaultNumbers {
 public:
  /// Throws Error(kUsage) where no shot has such a number of faults, Error(kResources) where there
  /// are too many numbers to tell their distribution.
  FaultNumbers(std::vector<FaultClass> classes, FaultRange range);

  const FaultRange& asked() const { return asked_; }
  /// The numbers that shots may have: those asked for and possible, up to where the rest is negligible.
  const FaultRange& range() const { return range_; }
  /// P(range.first <= K <= range.last); 0 where it is below the smallest double.
  double weight() const { return weight_; }
  /// P(K = range.first + j). Where the range has no end, it ends where the rest has less than 1e-20
  /// of the weight.
  const std::vector<double>& probabilities() const { return probabilities_; }

  /// A number of the range; u is uniform in [0, 1).
  std::uint64_t draw_number(double u) const {
    const auto j = std::upper_bound(upto_.begin(), upto_.end() - 1, u) - upto_.begin();
    return range_.first + static_cast<std::uint64_t>(j);
  }
  /// How many places fire in each class that has some: take(class, how many). `uniform()` gives
  /// numbers in [0, 1).
  template <class Uniform, class Take>
  void draw_counts(std::uint64_t number, Uniform&& uniform, Take&& take) const {
    for (const std::uint32_t c : certain_) {
      take(c, classes_[c].count);
      number -= classes_[c].count;
    }
    if (number > 0) split(nodes_.size() - 1, number, uniform, take);
  }

 private:
  // Of the tree, children before parents; `left` and `right` are nodes, of a leaf `left` is its class.
  struct Node {
    std::uint64_t first = 0, size = 0;  // in chances_: of 0, 1, ... places
    std::uint32_t left = 0, right = 0;
    bool is_leaf = false;
  };

  // `work` counts products.
  std::uint32_t add_nodes(const std::vector<std::uint32_t>& classes, std::size_t first,
                          std::size_t last, double tilt, std::uint64_t most, double& work);
  template <class Uniform, class Take>
  void split(std::size_t index, std::uint64_t number, Uniform& uniform, Take& take) const {
    const Node* node = &nodes_[index];
    while (!node->is_leaf) {
      const Node &left = nodes_[node->left], &right = nodes_[node->right];
      const double* l = chances_.data() + left.first;
      const double* r = chances_.data() + right.first;
      const double target = uniform() * chances_[node->first + number];
      std::uint64_t m = number < right.size ? 0 : number - right.size + 1;
      const std::uint64_t last = number < left.size ? number : left.size - 1;
      for (double sum = l[m] * r[number - m]; m < last && sum <= target;) {
        ++m;
        sum += l[m] * r[number - m];
      }
      const std::uint64_t others = number - m;
      if (m > 0 && others > 0) split(node->left, m, uniform, take);
      if (others == 0) {
        node = &left, number = m;
      } else {
        node = &right, number = others;
      }
    }
    take(node->left, number);
  }

  FaultRange asked_, range_;
  std::vector<FaultClass> classes_;
  std::vector<std::uint32_t> certain_;  // classes of probability 1
  std::vector<Node> nodes_;
  std::vector<double> chances_;
  std::vector<double> probabilities_, upto_;
  double weight_ = 0;
};

}  // namespace tilewave::stabilizer
