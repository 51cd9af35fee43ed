#include "tilewave/stabilizer/model_tree.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/decompose.h"

namespace tilewave::stabilizer {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;

// Calls f(node) for the stretches among nodes.
template <class F>
void each_stretch(const ModelNodes& nodes, F f) {
  for (const auto& node : nodes) {
    f(*node);
    each_stretch(node->body, f);
  }
}

bool is_stretch(const ModelNode& node) { return node.repeat == 1; }

bool is_empty(const ModelNode& node) {
  return node.stride == 0 && node.errors.size() == 0 && node.notes.empty() &&
         std::all_of(node.body.begin(), node.body.end(),
                     [](const auto& n) { return is_empty(*n); });
}

}  // namespace

void shift(ModelNode& node, std::uint64_t by) {
  node.errors.shift(by);
  for (DemInstruction& d : node.notes) {
    for (DemTarget& t : d.targets) {
      if (t.kind == DemTarget::Kind::kDetector) t.index -= by;
    }
  }
  for (auto& child : node.body) shift(*child, by);
}

void append(ModelNodes& nodes, ModelNodes more) {
  auto from = more.begin();
  if (!nodes.empty() && from != more.end() && is_stretch(*nodes.back()) && is_stretch(**from)) {
    ModelNode &to = *nodes.back(), &next = **from++;
    to.errors.add(next.errors);
    to.notes.insert(to.notes.end(), std::make_move_iterator(next.notes.begin()),
                    std::make_move_iterator(next.notes.end()));
  }
  nodes.insert(nodes.end(), std::make_move_iterator(from), std::make_move_iterator(more.end()));
}

std::unique_ptr<ModelNode> make_loop(ModelNodes last, std::uint64_t times, std::uint64_t stride) {
  auto loop = std::make_unique<ModelNode>();
  loop->body = std::move(last);
  loop->repeat = times;
  loop->stride = stride;
  shift(*loop, (times - 1) * stride);
  return loop;
}

namespace {

// The detectors that errors reach across: from the lowest of one error to its highest, at most.
std::uint64_t widest_error(const ModelNodes& nodes) {
  std::uint64_t widest = 0;
  each_stretch(nodes, [&](const ModelNode& node) {
    node.errors.each([&](const ErrorTable::Error& e) {
      Symptom low = kObservableBit, high = 0;
      for (Symptom s : e.list()) {
        if (s & kObservableBit) continue;
        low = std::min(low, s), high = std::max(high, s);
      }
      if (low <= high) widest = std::max(widest, high - low);
    });
  });
  return widest;
}

// Collects the parts known: those of a stretch, where an error of it looks first, and all, for what
// these do not split. Those of a loop are there in every period; errors look for them near the first period, whose numbers the
// loop has, and near the last, which errors behind it may use.
class Splitter {
 public:
  Splitter(ModelNodes& nodes, const SplitOptions& options) : nodes_(nodes), options_(options) {}

  // Parts are those of the model as it was: errors are replaced when all splits are known.
  void run() {
    split(nodes_);
    for (const Split& s : splits_) {
      const ErrorTable::Error& e = (*s.errors)[s.number];
      s.errors->add(e.probability, hash_of_parts(s.list), e.tag, [&] { return s.list; });
      s.errors->remove(s.number);
    }
  }

 private:
  struct LoopList {
    std::span<const Symptom> list;
    std::int64_t shift;  // down
  };
  struct Split {
    ErrorTable* errors;
    std::size_t number;
    std::vector<Symptom> list;
  };

  // Those of the whole model.
  const KnownParts& everywhere() {
    if (!everywhere_) {
      everywhere_.emplace();
      const bool one_stretch = nodes_.size() == 1 && nodes_[0]->body.empty();
      if (!one_stretch) collect(nodes_);
      for (const auto& [list, shift] : in_loops_) everywhere_->add(list, shift);
    }
    return *everywhere_;
  }

  void collect(const ModelNodes& nodes) {
    for (const auto& node : nodes) {
      node->errors.each([&](const ErrorTable::Error& e) {
        everywhere_->add(e.list());
        if (depth_ > 0) in_loops_.push_back({e.list(), 0});
      });
      if (is_stretch(*node)) continue;
      const std::size_t first = in_loops_.size();
      ++depth_;
      collect(node->body);
      --depth_;
      copy_periods(*node, first);
    }
  }
  // The lists from `first` on in neighbouring periods of the first and the last one.
  void copy_periods(const ModelNode& loop, std::size_t first) {
    if (loop.stride == 0) return;
    constexpr std::uint64_t kFarthest = 64;
    const auto near =
        static_cast<std::int64_t>(std::min(kFarthest, 1 + widest_error(loop.body) / loop.stride));
    const auto last = static_cast<std::int64_t>(loop.repeat - 1);
    std::set<std::int64_t> periods;
    for (std::int64_t k = -near; k <= near; ++k) {
      if (k <= last) periods.insert(k);
      if (k <= 0) periods.insert(last + k);
    }
    periods.erase(0);
    const std::size_t end = in_loops_.size();
    for (std::int64_t k : periods) {
      for (std::size_t i = first; i < end; ++i) {
        in_loops_.push_back(
            {in_loops_[i].list, in_loops_[i].shift - k * static_cast<std::int64_t>(loop.stride)});
      }
    }
  }

  void split(ModelNodes& nodes) {
    for (auto& node : nodes) {
      split(node->errors);
      split(node->body);
    }
  }
  static bool to_split(const ErrorTable::Error& e) {
    const auto set = e.list();
    return count_detectors(set) > 2 && std::find(set.begin(), set.end(), kNextPart) == set.end();
  }
  std::vector<Symptom> split(std::span<const Symptom> set, const KnownParts& known) const {
    std::vector<Symptom> list = known.split(set);
    if (list.empty() && !options_.only_known) list = known.split_off(set);
    return list;
  }
  void split(ErrorTable& errors) {
    bool any = false;
    errors.each([&](const ErrorTable::Error& e) { any = any || to_split(e); });
    if (!any) return;
    KnownParts here;
    errors.each([&](const ErrorTable::Error& e) { here.add(e.list()); });
    for (std::size_t k = 0; k < errors.size(); ++k) {
      const ErrorTable::Error& e = errors[k];
      if (e.probability == 0 || !to_split(e)) continue;
      const auto set = e.list();
      std::vector<Symptom> list = split(set, here);
      if (list.empty()) list = split(set, everywhere());
      if (list.empty()) {
        if (options_.keep_failures) continue;
        fail(ExitCode::kInput,
             "an error cannot be split into parts that flip at most two detectors: ",
             names_of({set.begin(), set.end()}), ": use --ignore_decomposition_failures");
      }
      splits_.push_back({&errors, k, std::move(list)});
    }
  }

  ModelNodes& nodes_;
  const SplitOptions& options_;
  std::vector<Split> splits_;
  std::optional<KnownParts> everywhere_;  // once needed
  std::vector<LoopList> in_loops_;
  int depth_ = 0;
};

class Printer {
 public:
  Printer(std::span<const std::string> tags, circuit::DemSink& sink) : tags_(tags), sink_(sink) {}

  void run(const ModelNodes& nodes) { print(nodes, 0, 0); }

 private:
  // The errors of a table in the order of their lists, then of their tags.
  std::vector<const ErrorTable::Error*> in_order(const ErrorTable& errors) const {
    struct Key {
      Symptom first, second;  // most lists differ in these
      const ErrorTable::Error* error;
    };
    std::vector<Key> keys;
    keys.reserve(errors.size());
    errors.each([&](const ErrorTable::Error& e) {
      const auto list = e.list();
      keys.push_back({list[0], list.size() > 1 ? list[1] : 0, &e});
    });
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
      if (a.first != b.first) return a.first < b.first;
      if (a.second != b.second) return a.second < b.second;
      const auto x = a.error->list(), y = b.error->list();
      if (!std::equal(x.begin(), x.end(), y.begin(), y.end()))
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
      return tags_[a.error->tag] < tags_[b.error->tag];
    });
    std::vector<const ErrorTable::Error*> out;
    out.reserve(keys.size());
    for (const Key& k : keys) out.push_back(k.error);
    return out;
  }

  void see_observable(std::uint64_t k) {
    if (flipped_observables_.size() <= k) flipped_observables_.resize(k + 1);
    flipped_observables_[k] = true;
  }
  bool is_flipped_observable(std::uint64_t k) const {
    return k < flipped_observables_.size() && flipped_observables_[k];
  }

  // Whether one of the errors printed so far flips a detector.
  bool is_flipped(std::uint64_t detector) {
    if (!printed_.empty()) {
      for (const ErrorTable* table : printed_) {
        table->each([&](const ErrorTable::Error& e) {
          for (Symptom s : e.list()) {
            if (!(s & kObservableBit)) flipped_detectors_.push_back(s);
          }
        });
      }
      printed_.clear();
      std::sort(flipped_detectors_.begin(), flipped_detectors_.end());
      flipped_detectors_.erase(std::unique(flipped_detectors_.begin(), flipped_detectors_.end()),
                               flipped_detectors_.end());
    }
    return std::binary_search(flipped_detectors_.begin(), flipped_detectors_.end(), detector);
  }

  // `shift` is added to the last note, a shift of coordinates.
  void print_stretch(const ModelNode& node, std::uint64_t offset, std::uint64_t shift) {
    DemInstruction d;
    for (const ErrorTable::Error* e : in_order(node.errors)) {
      d.args.assign(1, e->probability);
      d.targets.clear();
      d.tag = tags_[e->tag];
      for (Symptom s : e->list()) {
        if (s == kNextPart) {
          d.targets.push_back({DemTarget::Kind::kSeparator, 0});
        } else if (s & kObservableBit) {
          see_observable(s & ~kObservableBit);
          d.targets.push_back({DemTarget::Kind::kObservable, s & ~kObservableBit});
        } else {
          d.targets.push_back({DemTarget::Kind::kDetector, s - offset});
        }
      }
      sink_.instruction(d);
    }
    printed_.push_back(&node.errors);
    // What errors tell of need not be declared. Everything that can flip this node's detectors
    // happens before or in it and is in the lists already, except inside loops, where an earlier
    // iteration stands for later ones: those are declared once more. So are observables that only
    // later errors flip.
    for (auto it = node.notes.rbegin(); it != node.notes.rend(); ++it) {
      DemInstruction note = *it;
      if (note.kind == DemKind::kDetector) {
        const std::uint64_t index = note.targets[0].index;
        if (note.args.empty() && note.tag.empty() && is_flipped(index)) continue;
        note.targets[0].index -= offset;
      } else if (note.kind == DemKind::kLogicalObservable) {
        if (note.tag.empty() && is_flipped_observable(note.targets[0].index)) continue;
      }
      if (std::next(it) == node.notes.rend()) note.count += shift;
      sink_.instruction(note);
    }
  }

  // The stretch at the end of nodes, where it ends with a shift of coordinates, or null.
  static const ModelNode* ends_with_shift(const ModelNodes& nodes) {
    const auto last =
        std::find_if(nodes.begin(), nodes.end(), [](const std::unique_ptr<ModelNode>& node) {
          return !is_stretch(*node) || !is_empty(*node);
        });
    if (last == nodes.end() || !is_stretch(**last)) return nullptr;
    const auto& notes = (*last)->notes;  // last first
    return !notes.empty() && notes.front().kind == DemKind::kShiftDetectors ? last->get() : nullptr;
  }

  // `offset`: detectors before the nodes. `stride`: those of a period, where the nodes are a loop's.
  // What its inner loops do not shift is shifted by the last line, as Stim writes it, where that is a
  // shift of coordinates, or by one more.
  void print(const ModelNodes& nodes, std::uint64_t offset, std::uint64_t stride) {
    std::uint64_t own_shift = stride;
    for (const auto& node : nodes) {
      if (!is_stretch(*node)) own_shift -= std::min(own_shift, node->repeat * node->stride);
    }
    const ModelNode* const shifted = own_shift > 0 ? ends_with_shift(nodes) : nullptr;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const ModelNode& n = **node;
      if (is_stretch(n)) {
        print_stretch(n, offset, &n == shifted ? own_shift : 0);
        continue;
      }
      if (is_empty(n)) continue;
      sink_.open_repeat({DemKind::kRepeat, {}, {}, n.repeat, n.tag, {}});
      print(n.body, offset, n.stride);
      sink_.close_repeat();
      offset += n.repeat * n.stride;
    }
    if (own_shift > 0 && !shifted)
      sink_.instruction({DemKind::kShiftDetectors, {}, {}, own_shift, {}, {}});
  }

  std::span<const std::string> tags_;
  circuit::DemSink& sink_;
  std::vector<const ErrorTable*> printed_;  // not yet in flipped_detectors_
  std::vector<Symptom> flipped_detectors_;  // sorted
  std::vector<bool> flipped_observables_;   // by errors printed
};

}  // namespace

void split_errors(ModelNodes& nodes, const SplitOptions& options) {
  Splitter(nodes, options).run();
}

void print_model(const ModelNodes& nodes, std::span<const std::string> tags,
                 circuit::DemSink& sink) {
  Printer(tags, sink).run(nodes);
}

}  // namespace tilewave::stabilizer
