#include "tilewave/stabilizer/segment_walk.h"

#include <utility>

#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/loop_period.h"

namespace tilewave::stabilizer {

void SegmentVisitor::add_link(const Prim& p, const SensitivityWalk& walk) {
  constexpr std::size_t kMostLinks = std::size_t{1} << 20;
  if (chain_.size() >= kMostLinks) throw_too_large();
  chain_.push_back({walk.program().probabilities(p)[0], walk.flips(p), &p});
  if (!p.flag) end_chain();
}

void SegmentVisitor::end_chain() {
  if (chain_.empty()) return;
  disjoint_links(chain_);
  chain(std::exchange(chain_, {}));
}

// Runs the body until the sets at its end repeat, moved by the detectors of some iterations; those
// iterations become one segment that is used again and again.
void SegmentVisitor::loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) {
  LoopPeriod finder;
  std::uint64_t k = 0;
  while (k < iterations) {
    const std::uint64_t left = iterations - k;
    const std::uint64_t period = left < 3 || !chain_.empty() ? 0 : finder.find(walk, p.a, k);
    if (!period || left / period < 2) {
      walk.block(p.a), ++k;
      continue;
    }
    const std::size_t first_instance = instances_.size();
    const std::uint64_t position = walk.position(), detectors = walk.num_detectors(),
                        records = walk.num_records(), changes = outside_changes();
    open_segment();
    for (std::uint64_t i = 0; i < period; ++i) walk.block(p.a);
    k += period;
    const std::uint64_t stride = position - walk.position();
    // The visitor's own state must repeat as well.
    if (chain_.empty() && outside_changes() == changes) {
      const std::uint64_t more = (iterations - k) / period;
      repeat_instances(first_instance, stride, more);
      walk.shift_detectors(p.a, more * (detectors - walk.num_detectors()),
                           more * (records - walk.num_records()));
      k += more * period;
    }
    finder.clear();
    open_segment();
  }
}

// The instances from `first` on happen `more` times more, each `stride` detectors earlier.
void SegmentVisitor::repeat_instances(std::size_t first, std::uint64_t stride, std::uint64_t more) {
  const std::size_t end = instances_.size();
  if (stride == 0) {  // nothing moves
    bool all = true;
    for (std::size_t i = first; i < end; ++i) all &= can_multiply(instances_[i].segment);
    if (all) {
      for (std::size_t i = first; i < end; ++i) multiply(instances_[i].segment, more + 1);
      return;
    }
  }
  if (saturating_multiply(more, end - first) >= std::uint64_t{1} << 32) throw_too_large();
  for (std::size_t i = first; i < end; ++i) {
    SegmentInstance& in = instances_[i];
    if (in.repeats == 1) {
      in.stride = stride;
      in.repeats = more + 1;
    } else {  // a loop inside: its copies for every further iteration
      for (std::uint64_t m = 1; m <= more; ++m) {
        SegmentInstance copy = instances_[i];
        copy.shift += m * stride;
        instances_.push_back(copy);
      }
    }
  }
}

}  // namespace tilewave::stabilizer
