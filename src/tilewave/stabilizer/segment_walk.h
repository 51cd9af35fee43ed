// A walk backwards through a circuit whose loops are folded: what a visitor makes belongs to
// segments, and iterations of a loop that repeat, moved by their detectors, are one segment that is
// used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

/// `repeats` copies of a segment: copy r lies shift + r * stride symptoms before where it was made.
struct SegmentInstance {
  std::size_t segment;
  std::uint64_t shift, stride, repeats;
};

class SegmentVisitor : public SensitivityVisitor {
 public:
  void loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) override;

 protected:
  /// Begins a segment, which gets what is met from now on; its number.
  virtual std::size_t new_segment() = 0;
  /// Whether something is begun that later operations go on with: then no loop is folded.
  virtual bool is_open() const = 0;
  /// Counts changes of what belongs to no segment.
  virtual std::uint64_t outside_changes() const { return 0; }
  /// Whether copies of a segment at the same place are the segment with more of everything.
  virtual bool can_multiply(std::size_t /*segment*/) const { return false; }
  virtual void multiply(std::size_t /*segment*/, std::uint64_t /*times*/) {}
  [[noreturn]] virtual void throw_too_large() const = 0;

  void open_segment() { instances_.push_back({new_segment(), 0, 0, 1}); }

  std::vector<SegmentInstance> instances_;

 private:
  void repeat_instances(std::size_t first, std::uint64_t stride, std::uint64_t more);
};

}  // namespace tilewave::stabilizer
