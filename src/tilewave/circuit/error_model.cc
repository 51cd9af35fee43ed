#include "tilewave/circuit/error_model.h"

#include <algorithm>

#include "tilewave/base/error.h"

namespace tilewave::circuit {
namespace {

// Sorts, and keeps one of what is there an odd number of times.
void keep_odd(std::vector<std::uint64_t>& v) {
  std::sort(v.begin(), v.end());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < v.size();) {
    std::size_t end = k + 1;
    while (end < v.size() && v[end] == v[k]) ++end;
    if ((end - k) % 2) v[kept++] = v[k];
    k = end;
  }
  v.resize(kept);
}

struct Flattener {
  FlatModel out;
  std::uint64_t offset = 0, max_errors;

  void note(const DemTarget& t) {
    if (t.kind == DemTarget::Kind::kDetector) {
      out.num_detectors = std::max(out.num_detectors, offset + t.index + 1);
    } else if (t.kind == DemTarget::Kind::kObservable) {
      out.num_observables = std::max(out.num_observables, t.index + 1);
    }
  }
  void walk(const std::vector<DemInstruction>& list) {
    for (const DemInstruction& op : list) {
      for (const DemTarget& t : op.targets) note(t);
      if (op.kind == DemKind::kShiftDetectors) offset += op.count;
      if (op.kind == DemKind::kRepeat) {
        for (std::uint64_t k = 0; k < op.count; ++k) walk(op.body);
      }
      if (op.kind != DemKind::kError) continue;
      if (out.errors.size() >= max_errors) {
        throw Error(ExitCode::kResources, "the unrolled error model has more than " +
                                              std::to_string(max_errors) +
                                              " errors: shorten its repeat blocks");
      }
      FlatError& e = out.errors.emplace_back();
      e.probability = op.args[0];
      for (const DemTarget& t : op.targets) {
        if (t.kind == DemTarget::Kind::kDetector) e.detectors.push_back(offset + t.index);
        if (t.kind == DemTarget::Kind::kObservable) e.observables.push_back(t.index);
      }
      keep_odd(e.detectors);
      keep_odd(e.observables);
    }
  }
};

}  // namespace

FlatModel flatten(const ErrorModel& model, std::uint64_t max_errors) {
  Flattener f;
  f.max_errors = max_errors;
  f.walk(model.instructions);
  return std::move(f.out);
}

void send(const ErrorModel& model, DemSink& sink) {
  const auto list = [&](const auto& self, const std::vector<DemInstruction>& ops) -> void {
    for (const DemInstruction& op : ops) {
      if (op.kind != DemKind::kRepeat) {
        sink.instruction(op);
        continue;
      }
      sink.open_repeat(op);
      self(self, op.body);
      sink.close_repeat();
    }
  };
  list(list, model.instructions);
}

void ModelSink::open_repeat(const DemInstruction& repeat) {
  open_.push_back(repeat);
  open_.back().body.clear();
}

void ModelSink::close_repeat() {
  DemInstruction done = std::move(open_.back());
  open_.pop_back();
  list().push_back(std::move(done));
}

}  // namespace tilewave::circuit
