#include "tilewave/stabilizer/detections.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/reference_sample.h"
#include "tilewave/stabilizer/sweep_flips.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 30;

// Walks the circuit forwards and notes the records of every detector and observable.
struct Collector {
  const StabProgram& program;
  std::uint64_t records = 0;
  std::vector<std::vector<std::uint64_t>> detectors, observables;

  void block(std::uint32_t index) {
    for (const Prim& p : program.blocks[index]) {
      check_interrupt_once_in<64>();
      switch (p.kind) {
        case P::kMeasure:
        case P::kPad:
          ++records;
          break;
        case P::kHerald:
        case P::kLeakHerald:
          records += p.count;
          break;
        case P::kDetector: {
          auto& list = detectors.emplace_back();
          for (std::uint32_t back : program.list(p)) list.push_back(records - back);
          break;
        }
        case P::kObservable:
          for (std::uint32_t back : program.list(p)) observables[p.a].push_back(records - back);
          break;
        case P::kRepeat:
          if (!collects(p.a)) break;
          for (std::uint64_t k = 0; k < program.repeats[p.b]; ++k) block(p.a);
          break;
        default:
          break;
      }
    }
  }
  // Whether a block has records or what is made of them.
  bool collects(std::uint32_t index) const {
    return std::ranges::any_of(program.blocks[index], [&](const Prim& p) {
      switch (p.kind) {
        case P::kMeasure:
        case P::kPad:
        case P::kHerald:
        case P::kLeakHerald:
        case P::kDetector:
        case P::kObservable:
          return true;
        case P::kRepeat:
          return collects(p.a);
        default:
          return false;
      }
    });
  }
};

// The records of every detector and observable with what feedback on a record would flip.
class WithFeedback : public SensitivityVisitor {
 public:
  explicit WithFeedback(const StabProgram& program)
      : detectors(program.counts.detectors), observables(program.counts.observables) {}
  void record(std::uint64_t number, const SymptomSet& set) override {
    for (Symptom s : set)
      (s & kObservableBit ? observables[s & ~kObservableBit] : detectors[s]).push_back(number);
  }
  std::vector<std::vector<std::uint64_t>> detectors, observables;
};

StabProgram without_feedback(StabProgram program) {
  for (auto& block : program.blocks)
    std::erase_if(block, [](const Prim& p) { return p.kind == P::kFeedback; });
  return program;
}

bool get(const std::uint8_t* row, std::uint64_t bit) { return (row[bit / 8] >> (bit % 8)) & 1; }

}  // namespace

DetectionConverter::DetectionConverter(const StabProgram& program, bool reference, bool feedback)
    : num_detectors_(program.counts.detectors), num_observables_(program.counts.observables) {
  if (program.counts.measurements > kMostBits || num_detectors_ > kMostBits) {
    fail(ExitCode::kResources,
         "a shot of this circuit has more than 2^30 bits, which m2d does not hold in memory: "
         "shorten its REPEAT blocks");
  }
  if (!feedback) need_walkable(program, "shorten its REPEAT blocks");
  Collector all{program, 0, {}, std::vector<std::vector<std::uint64_t>>(num_observables_)};
  if (feedback) {
    all.block(0);
  } else {
    WithFeedback lists(program);
    SensitivityWalk(program, SymptomKind::kDetectors, lists).run();
    all.detectors = std::move(lists.detectors);
    all.observables = std::move(lists.observables);
  }
  first_.push_back(0);
  for (auto* lists : {&all.detectors, &all.observables}) {
    for (const auto& list : *lists) {
      records_.insert(records_.end(), list.begin(), list.end());
      first_.push_back(records_.size());
    }
  }
  expected_.resize(row_bytes());
  if (reference) {
    const std::vector<std::uint64_t> sample =
        reference_sample(feedback ? program : without_feedback(program));
    for (std::size_t b = 0; b + 1 < first_.size(); ++b) {
      bool parity = false;
      for (std::uint64_t k = first_[b]; k < first_[b + 1]; ++k) {
        parity ^= (sample[records_[k] / 64] >> (records_[k] % 64)) & 1;
      }
      if (parity) expected_[b / 8] |= static_cast<std::uint8_t>(1u << (b % 8));
    }
  }
  sweep_flips_ = sweep_flips(program, SymptomKind::kDetectors);
}

void DetectionConverter::convert(const std::uint8_t* measurements, std::size_t stride,
                                 const std::uint8_t* sweep, std::size_t sweep_stride,
                                 std::size_t num_shots, std::uint8_t* out) const {
  const std::size_t bytes = row_bytes();
  for (std::size_t s = 0; s < num_shots; ++s, measurements += stride, out += bytes) {
    std::copy(expected_.begin(), expected_.end(), out);
    for (std::size_t b = 0; b + 1 < first_.size(); ++b) {
      unsigned parity = 0;
      for (std::uint64_t k = first_[b]; k < first_[b + 1]; ++k)
        parity ^= get(measurements, records_[k]);
      out[b / 8] ^= static_cast<std::uint8_t>(parity << (b % 8));
    }
    if (sweep) flip_swept(sweep_flips_, sweep + s * sweep_stride, out);
  }
}

}  // namespace tilewave::stabilizer
