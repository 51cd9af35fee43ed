#include "tilewave/circuit/error_model.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

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

ModelSize size_of(const std::vector<DemInstruction>& list) {
  ModelSize e;
  const auto reach = [&](std::uint64_t detectors) {
    e.detectors = std::max(e.detectors, saturating_add(e.shift, detectors));
  };
  for (const DemInstruction& op : list) {
    for (const DemTarget& t : op.targets) {
      if (t.kind == DemTarget::Kind::kDetector) reach(saturating_add(t.index, 1));
      if (t.kind == DemTarget::Kind::kObservable)
        e.observables = std::max(e.observables, saturating_add(t.index, 1));
    }
    if (op.kind == DemKind::kError) e.errors = saturating_add(e.errors, 1);
    if (op.kind == DemKind::kShiftDetectors) e.shift = saturating_add(e.shift, op.count);
    if (op.kind != DemKind::kRepeat || op.count == 0) continue;
    const ModelSize body = size_of(op.body);
    if (body.detectors > 0)
      reach(saturating_add(saturating_multiply(op.count - 1, body.shift), body.detectors));
    e.errors = saturating_add(e.errors, saturating_multiply(op.count, body.errors));
    e.shift = saturating_add(e.shift, saturating_multiply(op.count, body.shift));
    e.observables = std::max(e.observables, body.observables);
  }
  return e;
}

ModelSize size_of(const ErrorModel& model) { return size_of(model.instructions); }

void need_unrollable(const ModelSize& size) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  if (size.errors > kMost) {
    fail(ExitCode::kResources, "the unrolled error model has more than ", kMost,
         " errors: shorten its repeat blocks");
  }
  if (std::max(size.detectors, size.shift) >= std::uint64_t{1} << 63) {
    fail(ExitCode::kResources,
         "the unrolled error model has 2^63 detectors or more: shorten its repeat blocks");
  }
}

FlatModel flatten(const ErrorModel& model) {
  const ModelSize size = size_of(model);
  need_unrollable(size);
  FlatModel flat;
  flat.num_detectors = size.detectors;
  flat.num_observables = size.observables;
  for_each_error(model.instructions, [&](const DemInstruction& op, std::uint64_t offset) {
    FlatError& e = flat.errors.emplace_back();
    e.probability = op.args[0];
    for (const DemTarget& t : op.targets) {
      if (t.kind == DemTarget::Kind::kDetector) e.detectors.push_back(offset + t.index);
      if (t.kind == DemTarget::Kind::kObservable) e.observables.push_back(t.index);
    }
    keep_odd(e.detectors);
    keep_odd(e.observables);
  });
  return flat;
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
