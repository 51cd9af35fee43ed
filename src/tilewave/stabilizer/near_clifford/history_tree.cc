#include "tilewave/stabilizer/near_clifford/history_tree.h"

#include <algorithm>
#include <utility>

namespace tilewave::stabilizer {

namespace {
constexpr std::uint64_t kNodeBytes = 128;  // of a node, its key and its share of the table
}  // namespace

HistoryTree::HistoryTree(const NearCliffordProgram& program, std::uint64_t first_sign,
                         std::uint64_t most_bytes)
    : program_(program), first_sign_(first_sign), most_bytes_(most_bytes) {
  Segment segment;
  std::uint32_t signs = 0;
  for (std::uint32_t i = 0; i < program.dense.size(); ++i) {
    if (program.dense[i].kind == DenseKind::kRotate) ++signs;
    if (program.dense[i].kind != DenseKind::kMeasure) continue;
    segment.measure = i;
    segment.num_signs = signs - segment.first_sign;
    segments_.push_back(segment);
    segment.first_op = i + 1;
    segment.first_sign = signs;
  }
  table_.assign(1024, kAlone);
}

bool HistoryTree::read_signs(std::uint32_t index, const std::uint64_t* row) {
  const Segment& s = segments_[index];
  const std::uint64_t first = first_sign_ + s.first_sign;
  const std::uint32_t words = (s.num_signs + 63) / 64;
  signs_.resize(words);
  std::uint64_t any = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    const std::uint64_t at = first + 64 * std::uint64_t{w};
    const std::uint32_t left = std::min(64u, s.num_signs - 64 * w);
    std::uint64_t bits = row[at / 64] >> (at % 64);
    if (at % 64 + left > 64) bits |= row[at / 64 + 1] << (64 - at % 64);
    if (left < 64) bits &= (std::uint64_t{1} << left) - 1;
    signs_[w] = bits;
    any |= bits;
  }
  return any != 0;
}

std::uint64_t HistoryTree::hash(std::uint32_t parent, bool outcome) const {
  std::uint64_t h = (std::uint64_t{parent} << 1 | outcome) * 0x9E3779B97F4A7C15ull;
  for (std::uint64_t w : signs_) {
    h = (h ^ (h >> 29) ^ w) * 0xBF58476D1CE4E5B9ull;
  }
  return h ^ (h >> 32);
}

std::uint32_t HistoryTree::find(std::uint32_t parent, bool outcome, std::uint64_t h) const {
  const std::uint64_t mask = table_.size() - 1;
  for (std::uint64_t at = h & mask;; at = (at + 1) & mask) {
    const std::uint32_t id = table_[at];
    if (id == kAlone) return kAlone;
    const Node& n = nodes_[id];
    if (n.parent == parent && n.outcome == outcome &&
        std::equal(signs_.begin(), signs_.end(),
                   keys_.begin() + static_cast<std::ptrdiff_t>(n.key)))
      return id;
  }
}

void HistoryTree::grow_table() {
  std::vector<std::uint64_t> hashes(nodes_.size());
  table_.assign(table_.size() * 2, kAlone);
  const std::uint64_t mask = table_.size() - 1;
  const std::vector<std::uint64_t> held = signs_;
  for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    const auto* key = keys_.data() + n.key;
    signs_.assign(key, key + (segments_[n.segment].num_signs + 63) / 64);
    std::uint64_t at = hash(n.parent, n.outcome) & mask;
    while (table_[at] != kAlone) at = (at + 1) & mask;
    table_[at] = id;
  }
  signs_ = held;
}

void HistoryTree::advance(DenseState& state, std::uint32_t parent, bool outcome,
                          std::uint32_t index, const std::uint64_t* signs) const {
  if (parent != kRoot) state.project(program_.dense[segments_[index - 1].measure], outcome);
  const Segment& s = segments_[index];
  state.run({program_.dense.data() + s.first_op, s.measure - s.first_op}, signs);
}

void HistoryTree::load(std::uint32_t id, DenseState& state) const {
  std::vector<std::uint32_t> path;
  while (id != kRoot && nodes_[id].state == kAlone) path.push_back(id), id = nodes_[id].parent;
  if (id == kRoot) {
    state.reset();
  } else {
    state = states_[nodes_[id].state];
  }
  for (std::size_t i = path.size(); i-- > 0;) {
    const Node& n = nodes_[path[i]];
    advance(state, n.parent, n.outcome, n.segment, keys_.data() + n.key);
  }
}

std::uint32_t HistoryTree::add(std::uint32_t parent, bool outcome, std::uint32_t segment,
                               std::uint64_t h) {
  if (2 * nodes_.size() >= table_.size()) grow_table();
  const auto id = static_cast<std::uint32_t>(nodes_.size());
  Node n;
  n.parent = parent, n.outcome = outcome, n.segment = segment;
  n.key = keys_.size();
  n.chance = alone_chance_;
  keys_.insert(keys_.end(), signs_.begin(), signs_.end());
  const std::uint64_t bytes = alone_.num_bytes();
  if (state_bytes_ + bytes <= most_bytes_) {
    n.state = static_cast<std::uint32_t>(states_.size());
    states_.push_back(alone_);
    state_bytes_ += bytes;
  }
  nodes_.push_back(n);
  const std::uint64_t mask = table_.size() - 1;
  std::uint64_t at = h & mask;
  while (table_[at] != kAlone) at = (at + 1) & mask;
  table_[at] = id;
  return id;
}

void HistoryTree::go(std::uint32_t parent, bool outcome, std::uint32_t segment,
                     const std::uint64_t* row) {
  segment_ = segment;
  const bool any = read_signs(segment, row);
  const std::uint64_t h = hash(parent, outcome);
  const std::uint32_t found = find(parent, outcome, h);
  if (found == kAlone) {
    if (held_ != parent || parent == kRoot) load(parent, alone_);
    advance(alone_, parent, outcome, segment, signs_.data());
    alone_chance_ = alone_.chance(program_.dense[segments_[segment].measure]);
    const bool full =
        nodes_.size() * kNodeBytes + keys_.size() * sizeof(std::uint64_t) > most_bytes_;
    node_ = held_ = full ? kAlone : add(parent, outcome, segment, h);
  } else {
    node_ = found;
  }
  if (any || node_ == kAlone) return;
  (parent == kRoot ? first_without_sign_ : nodes_[parent].without_sign[outcome]) = node_;
}

// Calls itself where both outcomes may be, and so not deeper than there are leaves.
bool HistoryTree::add_leaves(DenseState state, std::uint32_t segment, Leaf leaf,
                             const std::vector<RowSpan>& columns, std::size_t most,
                             std::vector<Leaf>& out) {
  for (; segment < segments_.size(); ++segment) {
    const double chance = state.chance(program_.dense[segments_[segment].measure]);
    const auto follow = [&](bool outcome, DenseState& before, Leaf& way) {
      way.probability *= outcome ? chance : 1 - chance;
      if (outcome) columns[segment].flip(way.flips.data());
      if (segment + 1 == segments_.size()) return;
      read_signs(segment + 1, way.flips.data());
      advance(before, segment, outcome, segment + 1, signs_.data());
    };
    if (chance > 0 && chance < 1) {
      DenseState other = state;
      Leaf way = leaf;
      follow(false, other, way);
      if (!add_leaves(std::move(other), segment + 1, std::move(way), columns, most, out))
        return false;
    }
    follow(chance > 0, state, leaf);
  }
  out.push_back(std::move(leaf));
  return out.size() <= most;
}

std::vector<HistoryTree::Leaf> HistoryTree::default_leaves(const std::vector<RowSpan>& columns,
                                                           std::size_t row_words,
                                                           std::size_t most) {
  std::vector<Leaf> out;
  if (segments_.empty()) return out;
  Leaf start{1, std::vector<std::uint64_t>(row_words)};
  DenseState state;
  read_signs(0, start.flips.data());
  advance(state, kRoot, false, 0, signs_.data());
  if (!add_leaves(std::move(state), 0, std::move(start), columns, most, out)) out.clear();
  return out;
}

void HistoryTree::begin(const std::uint64_t* row) {
  if (first_without_sign_ != kAlone && !read_signs(0, row)) {
    node_ = first_without_sign_, segment_ = 0;
    return;
  }
  go(kRoot, false, 0, row);
}

void HistoryTree::next(bool outcome, const std::uint64_t* row) {
  const std::uint32_t segment = segment_ + 1;
  if (node_ == kAlone) {
    read_signs(segment, row);
    advance(alone_, segment - 1, outcome, segment, signs_.data());
    alone_chance_ = alone_.chance(program_.dense[segments_[segment].measure]);
    segment_ = segment;
    return;
  }
  const std::uint32_t child = nodes_[node_].without_sign[outcome];
  if (child != kAlone && !read_signs(segment, row)) {
    node_ = child, segment_ = segment;
    return;
  }
  go(node_, outcome, segment, row);
}

}  // namespace tilewave::stabilizer
