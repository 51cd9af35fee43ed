// A detector error model: independent mechanisms and the detectors and observables each flips, in
// the vocabulary of Stim's .dem language. Detector numbers are relative to the shifts before them;
// REPEAT blocks stay blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewave::circuit {

enum class DemKind : std::uint8_t {
  kError,
  kDetector,
  kLogicalObservable,
  kShiftDetectors,
  kRepeat
};

struct DemTarget {
  enum class Kind : std::uint8_t { kDetector, kObservable, kSeparator };
  Kind kind = Kind::kDetector;
  std::uint64_t index = 0;
  bool operator==(const DemTarget&) const = default;
  auto operator<=>(const DemTarget&) const = default;
};

struct ErrorModel;

struct DemInstruction {
  DemKind kind = DemKind::kError;
  std::vector<double> args;  ///< the probability, coordinates or their shift
  std::vector<DemTarget> targets;
  std::uint64_t count = 0;  ///< kShiftDetectors: by how many; kRepeat: iterations
  std::string tag;
  std::vector<DemInstruction> body;  ///< kRepeat
};

struct ErrorModel {
  std::vector<DemInstruction> instructions;
};

/// Receives a model instruction by instruction; blocks are opened and closed.
class DemSink {
 public:
  virtual ~DemSink() = default;
  /// Anything but kRepeat.
  virtual void instruction(const DemInstruction& op) = 0;
  /// kRepeat: `body` is not looked at, what follows up to close_repeat() is the block.
  virtual void open_repeat(const DemInstruction& repeat) = 0;
  virtual void close_repeat() = 0;
};
/// Hands a whole model to a sink.
void send(const ErrorModel& model, DemSink& sink);

/// Collects the instructions in a model.
class ModelSink : public DemSink {
 public:
  void instruction(const DemInstruction& op) override { list().push_back(op); }
  void open_repeat(const DemInstruction& repeat) override;
  void close_repeat() override;
  ErrorModel take() { return std::move(model_); }

 private:
  std::vector<DemInstruction>& list() {
    return open_.empty() ? model_.instructions : open_.back().body;
  }
  ErrorModel model_;
  std::vector<DemInstruction> open_;  // blocks, the innermost last
};

/// Sorts, and keeps one of what is there an odd number of times.
void keep_odd(std::vector<std::uint64_t>& v);

/// One mechanism with its detectors' absolute numbers; suggested parts are joined.
struct FlatError {
  double probability = 0;
  std::vector<std::uint64_t> detectors, observables;
};

struct FlatModel {
  std::vector<FlatError> errors;
  std::uint64_t num_detectors = 0, num_observables = 0;
};

/// The numbers of a model without unrolling it; 2^64 - 1 where there are more.
struct ModelSize {
  std::uint64_t errors = 0, detectors = 0, observables = 0;
  std::uint64_t shift = 0;  ///< of the detectors behind it
};
ModelSize size_of(const std::vector<DemInstruction>& instructions);
ModelSize size_of(const ErrorModel& model);

/// Throws Error(kResources) for more than 2^28 errors, or more detectors than numbers have bits for.
void need_unrollable(const ModelSize& size);
/// Calls f(op, offset) for the errors of the unrolled blocks, whose detectors are counted from `offset`
/// on. Returns the offset behind them.
template <class F>
std::uint64_t for_each_error(const std::vector<DemInstruction>& list, F&& f,
                             std::uint64_t offset = 0) {
  for (const DemInstruction& op : list) {
    if (op.kind == DemKind::kError) f(op, offset);
    if (op.kind == DemKind::kShiftDetectors) offset += op.count;
    if (op.kind != DemKind::kRepeat) continue;
    const ModelSize body = size_of(op.body);
    if (body.errors == 0) {
      offset += op.count * body.shift;
    } else {
      for (std::uint64_t k = 0; k < op.count; ++k) offset = for_each_error(op.body, f, offset);
    }
  }
  return offset;
}

/// Unrolls the blocks. Throws Error(kResources) above 2^28 errors.
FlatModel flatten(const ErrorModel& model);

}  // namespace tilewave::circuit
