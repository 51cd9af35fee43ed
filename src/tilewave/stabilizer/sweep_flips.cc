#include "tilewave/stabilizer/sweep_flips.h"

namespace tilewave::stabilizer {
namespace {

class SweepVisitor : public SensitivityVisitor {
 public:
  explicit SweepVisitor(std::uint64_t num_sweep_bits) : flips(num_sweep_bits) {}
  void sweep(const Prim& p, const SensitivityWalk& walk) override {
    toggle(flips[p.b], walk.flips(p.p, p.a));
  }
  std::vector<SymptomSet> flips;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> sweep_flips(const StabProgram& program, SymptomKind kind) {
  std::vector<std::vector<std::uint32_t>> lists(program.counts.sweep_bits);
  if (lists.empty()) return lists;
  need_walkable(program, "shorten its REPEAT blocks");
  SweepVisitor visitor(program.counts.sweep_bits);
  SensitivityWalk(program, kind, visitor).run();
  const std::uint64_t num_detectors =
      kind == SymptomKind::kDetectors ? program.counts.detectors : 0;
  for (std::size_t k = 0; k < lists.size(); ++k) {
    for (Symptom s : visitor.flips[k]) {
      const std::uint64_t bit = s & kObservableBit ? num_detectors + (s & ~kObservableBit) : s;
      lists[k].push_back(static_cast<std::uint32_t>(bit));
    }
  }
  return lists;
}

void flip_swept(std::span<const std::vector<std::uint32_t>> flips, const std::uint8_t* sweep,
                std::uint8_t* row) {
  for (std::size_t k = 0; k < flips.size(); ++k) {
    if (!((sweep[k / 8] >> (k % 8)) & 1)) continue;
    for (std::uint32_t b : flips[k]) row[b / 8] ^= static_cast<std::uint8_t>(1u << (b % 8));
  }
}

}  // namespace tilewave::stabilizer
