#include "tilewave/stabilizer/graphlike_error.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"

namespace tilewave::stabilizer {
namespace {

using Observables = std::vector<std::uint64_t>;  // ascending
constexpr std::uint32_t kNoVertex = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

struct Edge {
  std::uint32_t a, b;         // vertices; 0 is the boundary, detectors follow in any order
  std::uint32_t observables;  // in Graph::masks
  auto operator<=>(const Edge&) const = default;
};

class Graph {
 public:
  Graph(const circuit::ErrorModel& model, bool ignore_ungraphlike)
      : ignore_ungraphlike_(ignore_ungraphlike) {
    circuit::need_unrollable(circuit::size_of(model));
    names_.push_back(0);
    circuit::for_each_error(model.instructions,
                            [&](const auto& op, std::uint64_t offset) { add_error(op, offset); });
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }

  std::vector<Edge> edges;
  std::vector<Observables> masks;
  std::size_t num_vertices() const { return names_.size(); }
  bool flips(const Edge& e, std::uint64_t observable) const {
    const Observables& m = masks[e.observables];
    return std::binary_search(m.begin(), m.end(), observable);
  }
  GraphlikeError error(const Edge& e) const {
    GraphlikeError out;
    if (e.a != e.b) {
      for (std::uint32_t v : {e.a, e.b})
        if (v != 0) out.detectors.push_back(names_[v]);
      std::sort(out.detectors.begin(), out.detectors.end());
    }
    out.observables = masks[e.observables];
    return out;
  }

 private:
  void add_error(const circuit::DemInstruction& op, std::uint64_t offset) {
    check_interrupt_once_in<64>();
    if (op.args[0] == 0) return;
    const auto is_separator = [](const circuit::DemTarget& t) {
      return t.kind == circuit::DemTarget::Kind::kSeparator;
    };
    if (ignore_ungraphlike_ && std::ranges::any_of(op.targets, is_separator)) return;
    GraphlikeError part;
    for (const circuit::DemTarget& t : op.targets) {
      if (t.kind == circuit::DemTarget::Kind::kDetector) part.detectors.push_back(offset + t.index);
      if (t.kind == circuit::DemTarget::Kind::kObservable) part.observables.push_back(t.index);
      if (is_separator(t)) add(part);
    }
    add(part);
  }
  void add(GraphlikeError& part) {
    circuit::keep_odd(part.detectors);
    circuit::keep_odd(part.observables);
    if (part.detectors.size() > 2 && !ignore_ungraphlike_) {
      std::string names;
      for (std::uint64_t d : part.detectors) names += " D" + std::to_string(d);
      fail(ExitCode::kInput, "an error flips more than two detectors:", names,
           ": decompose the model's errors, or ignore those that are not graphlike");
    }
    if (part.detectors.size() <= 2) {
      std::uint32_t ends[2] = {0, 0};
      for (std::size_t k = 0; k < part.detectors.size(); ++k) ends[k] = vertex(part.detectors[k]);
      if (ends[0] > ends[1]) std::swap(ends[0], ends[1]);
      const auto [mask, is_new] =
          mask_numbers_.try_emplace(part.observables, static_cast<std::uint32_t>(masks.size()));
      if (is_new) masks.push_back(part.observables);
      edges.push_back({ends[0], ends[1], mask->second});
    }
    part.detectors.clear();
    part.observables.clear();
  }

  std::uint32_t vertex(std::uint64_t detector) {
    const auto [found, is_new] =
        vertices_.try_emplace(detector, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(detector);
    return found->second;
  }

  bool ignore_ungraphlike_;
  std::vector<std::uint64_t> names_;  // of vertices
  std::unordered_map<std::uint64_t, std::uint32_t> vertices_;
  std::map<Observables, std::uint32_t> mask_numbers_;
};

// The shortest cycle that flips one observable.
class Search {
 public:
  Search(const Graph& graph, std::uint64_t observable)
      : graph_(graph),
        first_(graph.num_vertices() + 1),
        removed_(graph.num_vertices()),
        odd_degree_(graph.num_vertices()),
        ways_(2 * graph.num_vertices()) {
    for (const Edge& e : graph.edges) {
      if (e.a == e.b) continue;  // an error of no detector
      ++first_[e.a + 1], ++first_[e.b + 1];
    }
    for (std::size_t v = 0; v + 1 < first_.size(); ++v) first_[v + 1] += first_[v];
    touching_.resize(first_.back());
    is_odd_.resize(graph.edges.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t k = 0; k < graph.edges.size(); ++k) {
      const Edge& e = graph.edges[k];
      is_odd_[k] = graph.flips(e, observable);
      if (e.a == e.b) continue;
      touching_[next[e.a]++] = k, touching_[next[e.b]++] = k;
      if (is_odd_[k]) ++odd_degree_[e.a], ++odd_degree_[e.b];
    }
  }

  /// Puts a cycle of fewer edges than `best` in its place, where there is one.
  void improve(std::vector<std::uint32_t>& best, std::size_t& length) {
    std::set<std::pair<std::size_t, std::uint32_t>> order;  // the most odd edges last
    for (std::uint32_t v = 0; v < odd_degree_.size(); ++v)
      if (odd_degree_[v]) order.insert({odd_degree_[v], v});
    while (!order.empty()) {
      const std::uint32_t v = order.rbegin()->second;
      from(v, best, length);
      removed_[v] = true;
      order.erase({odd_degree_[v], v});
      for (std::size_t k = first_[v]; k < first_[v + 1]; ++k) {
        if (!is_odd_[touching_[k]]) continue;
        const std::uint32_t w = other_end(touching_[k], v);
        if (removed_[w]) continue;
        order.erase({odd_degree_[w], w});
        if (--odd_degree_[w]) order.insert({odd_degree_[w], w});
      }
    }
  }

 private:
  std::uint32_t other_end(std::uint32_t edge, std::uint32_t v) const {
    const Edge& e = graph_.edges[edge];
    return e.a == v ? e.b : e.a;
  }

  // Place 2 v + copy. Breadth first from (start, 0): the way from a place to (start, 1) is as long as
  // the one from (start, 0) to its twin, so that a cycle closes where both of a pair are reached.
  void from(std::uint32_t start, std::vector<std::uint32_t>& best, std::size_t& length) {
    std::vector<std::uint32_t> places = {2 * start};
    std::uint32_t meeting = kNoVertex;
    ways_[2 * start] = {kNoVertex, 0};
    for (std::size_t head = 0; head < places.size(); ++head) {
      check_interrupt_once_in<4096>();
      const std::uint32_t place = places[head], v = place / 2;
      const std::uint32_t depth = ways_[place].depth + 1;
      if (2 * std::size_t{depth} > length) break;  // 2 depth - 1 is what it may close
      for (std::size_t k = first_[v]; k < first_[v + 1]; ++k) {
        const std::uint32_t edge = touching_[k], w = other_end(edge, v);
        const std::uint32_t to = across(edge, place);
        if (removed_[w] || ways_[to].depth != kNoVertex) continue;
        ways_[to] = {edge, depth};
        places.push_back(to);
        const std::uint32_t twin = ways_[to ^ 1].depth;
        if (twin == kNoVertex || std::size_t{twin} + depth >= length) continue;
        length = std::size_t{twin} + depth;
        meeting = to;
      }
    }
    if (meeting != kNoVertex) {
      best.clear();
      for (std::uint32_t at : {meeting, meeting ^ 1}) {
        for (; at != 2 * start; at = across(best.back(), at)) best.push_back(ways_[at].edge);
      }
    }
    for (std::uint32_t p : places) ways_[p] = {};
  }

  // The place at the other end of an edge.
  std::uint32_t across(std::uint32_t edge, std::uint32_t place) const {
    return 2 * other_end(edge, place / 2) + ((place & 1) ^ (is_odd_[edge] ? 1U : 0U));
  }

  struct Way {
    std::uint32_t edge = kNoVertex;   // by which a place was reached
    std::uint32_t depth = kNoVertex;  // kNoVertex: not reached
  };
  const Graph& graph_;
  std::vector<std::size_t> first_;  // edges of v: touching_[first_[v] .. first_[v + 1])
  std::vector<std::uint32_t> touching_;
  std::vector<bool> is_odd_, removed_;
  std::vector<std::size_t> odd_degree_;
  std::vector<Way> ways_;  // of places
};

}  // namespace

std::vector<GraphlikeError> shortest_graphlike_error(const circuit::ErrorModel& model,
                                                     bool ignore_ungraphlike) {
  const Graph graph(model, ignore_ungraphlike);
  std::vector<std::uint32_t> best;
  std::size_t length = kFar;
  std::set<std::uint64_t> observables;
  for (std::uint32_t k = 0; k < graph.edges.size(); ++k) {
    const Edge& e = graph.edges[k];
    const Observables& mask = graph.masks[e.observables];
    observables.insert(mask.begin(), mask.end());
    if (e.a == e.b && !mask.empty()) best = {k}, length = 1;  // seen by no detector
  }
  for (std::uint64_t observable : observables) {
    if (length == 1) break;
    Search(graph, observable).improve(best, length);
  }
  if (length == kFar) {
    fail(ExitCode::kInput, "no errors of at most two detectors flip an observable and no detector");
  }
  std::vector<GraphlikeError> out;
  for (std::uint32_t k : best) out.push_back(graph.error(graph.edges[k]));
  return out;
}

circuit::ErrorModel as_model(const std::vector<GraphlikeError>& errors) {
  circuit::ErrorModel model;
  for (const GraphlikeError& e : errors) {
    circuit::DemInstruction& op = model.instructions.emplace_back();
    op.args = {1};
    for (std::uint64_t d : e.detectors)
      op.targets.push_back({circuit::DemTarget::Kind::kDetector, d});
    for (std::uint64_t l : e.observables)
      op.targets.push_back({circuit::DemTarget::Kind::kObservable, l});
  }
  return model;
}

}  // namespace tilewave::stabilizer
