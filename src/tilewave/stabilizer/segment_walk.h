// A walk backwards through a circuit whose loops are folded: what a visitor makes belongs to
// segments, and iterations of a loop that repeat, moved by their detectors, are one segment that is
// used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/error_chain.h"
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
  /// Gets a chain of correlated errors when all of it is met: its links, of which one happens at
  /// most, the last one first.
  virtual void chain(std::vector<ChainLink> links) = 0;
  /// Counts changes of what belongs to no segment.
  virtual std::uint64_t outside_changes() const { return 0; }
  /// Whether copies of a segment at the same place are the segment with more of everything.
  virtual bool can_multiply(std::size_t /*segment*/) const { return false; }
  virtual void multiply(std::size_t /*segment*/, std::uint64_t /*times*/) {}
  [[noreturn]] virtual void throw_too_large() const = 0;

  /// Takes a correlated error into the chain that it belongs to. While one is begun no loop is folded.
  void add_link(const Prim& p, const SensitivityWalk& walk);
  /// Behind the walk: the circuit may begin with an ELSE_CORRELATED_ERROR.
  void end_chain();

  void open_segment() { instances_.push_back({new_segment(), 0, 0, 1}); }

  std::vector<SegmentInstance> instances_;

 private:
  void repeat_instances(std::size_t first, std::uint64_t stride, std::uint64_t more);

  std::vector<ChainLink> chain_;  // begun
};

}  // namespace tilewave::stabilizer
