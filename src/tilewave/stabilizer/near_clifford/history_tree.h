// The dense part of shots, shared. The amplitudes of a shot depend on its signs and on the outcomes
// of its measurements alone, its *history*, and behind the detectors that need no amplitudes nearly
// all shots have one history. So amplitudes are kept in a tree: a node stands before a measurement
// and is reached from the node before by an outcome and the signs of the rotations in between. It
// holds the chance of the measurement to tell 1 and, as far as memory goes, the amplitudes.
//
// The tree grows with what shots need until it is full; a shot that leaves a full tree goes on
// alone. What a shot draws does not depend on what the tree holds: amplitudes are always made by the
// same operations in the same order. One tree belongs to one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/near_clifford/dense_state.h"
#include "tilewave/stabilizer/near_clifford/program.h"
#include "tilewave/stabilizer/near_clifford/row_span.h"

namespace tilewave::stabilizer {

class HistoryTree {
 public:
  /// `first_sign`: the bit of a shot's row that is sign 0.
  HistoryTree(const NearCliffordProgram& program, std::uint64_t first_sign,
              std::uint64_t most_bytes);

  /// Goes to the first measurement of a shot. Only where there is one.
  void begin(const std::uint64_t* row);
  /// The chance of the measurement at hand to tell 1.
  double chance() const { return node_ == kAlone ? alone_chance_ : nodes_[node_].chance; }
  /// Goes from it to the next one; the row's signs up to there are known now.
  void next(bool outcome, const std::uint64_t* row);

  /// One way of all outcomes of a shot with no sign set: how likely, and what the Born bits flip.
  struct Leaf {
    double probability;
    std::vector<std::uint64_t> flips;
  };
  /// All of them, where these are at most `most`; `columns`: what each Born bit flips in rows of
  /// `row_words`.
  std::vector<Leaf> default_leaves(const std::vector<RowSpan>& columns, std::size_t row_words,
                                   std::size_t most);

 private:
  static constexpr std::uint32_t kAlone = ~std::uint32_t{0}, kRoot = kAlone - 1;
  struct Segment {
    std::uint32_t first_op = 0, measure = 0;  ///< in dense
    std::uint32_t first_sign = 0, num_signs = 0;
  };
  struct Node {
    double chance = 0;
    std::uint32_t parent = kRoot, segment = 0;
    std::uint32_t state = kAlone;                      ///< in states_
    std::uint32_t without_sign[2] = {kAlone, kAlone};  ///< the children with no sign set
    std::uint64_t key = 0;                             ///< of its sign words in keys_
    bool outcome = false;                              ///< of the parent
  };

  void go(std::uint32_t parent, bool outcome, std::uint32_t segment, const std::uint64_t* row);
  bool read_signs(std::uint32_t segment, const std::uint64_t* row);  // into signs_; whether any
  std::uint64_t hash(std::uint32_t parent, bool outcome) const;
  std::uint32_t find(std::uint32_t parent, bool outcome, std::uint64_t hash) const;
  std::uint32_t add(std::uint32_t parent, bool outcome, std::uint32_t segment, std::uint64_t hash);
  void grow_table();
  bool add_leaves(DenseState state, std::uint32_t segment, Leaf leaf,
                  const std::vector<RowSpan>& columns, std::size_t most, std::vector<Leaf>& out);
  // The amplitudes before the measurement of a node.
  void load(std::uint32_t node, DenseState& state) const;
  void advance(DenseState& state, std::uint32_t parent, bool outcome, std::uint32_t segment,
               const std::uint64_t* signs) const;

  const NearCliffordProgram& program_;
  std::uint64_t first_sign_, most_bytes_, state_bytes_ = 0;
  std::vector<Segment> segments_;
  std::vector<Node> nodes_;
  std::vector<DenseState> states_;
  std::vector<std::uint64_t> keys_, signs_;
  std::vector<std::uint32_t> table_;  // nodes by hash, kAlone where empty
  std::uint32_t node_ = kRoot, segment_ = 0;
  std::uint32_t first_without_sign_ = kAlone;
  DenseState alone_;             // of a shot outside the tree, or
  std::uint32_t held_ = kAlone;  // of this node
  double alone_chance_ = 0;
};

}  // namespace tilewave::stabilizer
