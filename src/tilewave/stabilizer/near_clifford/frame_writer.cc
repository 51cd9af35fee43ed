#include "tilewave/stabilizer/near_clifford/frame_writer.h"

#include <algorithm>
#include <string>

#include "tilewave/base/error.h"

namespace tilewave::stabilizer {

namespace {

constexpr std::size_t kMostPrims = std::size_t{1} << 22;

Prim make_prim(PrimKind kind, std::uint32_t source) {
  Prim out{};
  out.kind = kind, out.source = source;
  return out;
}

void check_length(std::uint64_t operations) {
  if (operations <= kMostPrims) return;
  fail(ExitCode::kResources,
       "the circuit has gates beyond Clifford and, with its REPEAT blocks unrolled, more than ",
       kMostPrims, " operations: shorten the blocks");
}

}  // namespace

FrameWriter::FrameWriter(const StabProgram& source, bool records)
    : source_(source), records_only_(records) {
  check_length(count_unrolled(source));  // rotations that are added up are written nowhere
  out_.blocks.emplace_back();
  out_.lists = source.lists;
  out_.params = source.params;
  out_.cliffords = source.cliffords;
  out_.sources = source.sources;
  out_.tags = source.tags;
  out_.name = source.name;
  out_.counts = source.counts;
}

void FrameWriter::emit(const Prim& p) {
  out_.blocks[0].push_back(p);
  check_length(out_.blocks[0].size());
}

void FrameWriter::set_list(Prim& p, std::span<const std::uint32_t> values) {
  p.first = static_cast<std::uint32_t>(out_.lists.size());
  p.count = static_cast<std::uint32_t>(values.size());
  out_.lists.insert(out_.lists.end(), values.begin(), values.end());
}

std::uint32_t FrameWriter::back(std::uint32_t record) {
  max_back_ = std::max(max_back_, records_ - record);
  return records_ - record;
}

void FrameWriter::copy(const Prim& p) {
  Prim out = p;
  switch (p.kind) {
    case PrimKind::kFeedback:
      out.b = back_of(p.b);
      break;
    case PrimKind::kDetector:
    case PrimKind::kObservable: {
      if (records_only_) return;
      std::vector<std::uint32_t> backs;
      for (std::uint32_t b : source_.list(p)) backs.push_back(back_of(b));
      set_list(out, backs);
      if (p.kind == PrimKind::kDetector) out.b = 0;
      break;
    }
    default:
      break;
  }
  emit(out);
}

void FrameWriter::copy_record(const Prim& p, std::uint32_t flip) {
  emit(p);
  const std::uint32_t made = p.kind == PrimKind::kHerald ? p.count : 1;
  for (std::uint32_t k = 0; k < made; ++k) record_of_.push_back(records_++);
  if (flip != kNoFlip) {
    Prim noise = make_prim(PrimKind::kRecordFlip, p.source);
    noise.count = 1, noise.param = flip;
    emit(noise);
  }
  if (!records_only_) return;
  for (std::uint32_t k = made; k > 0; --k) {
    Prim detector = make_prim(PrimKind::kDetector, p.source);
    const std::uint32_t lookback = back(records_ - k);
    set_list(detector, {&lookback, 1});
    emit(detector);
  }
}

void FrameWriter::controlled(const std::pair<std::uint32_t, circuit::Pauli>& f, std::uint32_t q,
                             circuit::Pauli p, std::uint32_t source) {
  Prim c = make_prim(PrimKind::kControlled, source);
  c.p = f.second, c.a = f.first;
  c.q = p, c.b = q;
  emit(c);
}

std::uint32_t FrameWriter::frame_sign(const PauliFactors& factors, std::uint32_t source) {
  // C(P_k, Q) on the other qubits maps P_0 to the product when Q anticommutes with P_0.
  const auto [q0, p0] = factors[0];
  const circuit::Pauli other = p0 == circuit::Pauli::kX ? circuit::Pauli::kZ : circuit::Pauli::kX;
  for (std::size_t i = 1; i < factors.size(); ++i) controlled(factors[i], q0, other, source);
  Prim sign = make_prim(PrimKind::kFrameSign, source);
  sign.p = p0, sign.a = q0;
  emit(sign);
  for (std::size_t i = factors.size(); i-- > 1;) controlled(factors[i], q0, other, source);
  return records_++;
}

std::uint32_t FrameWriter::zero_record(std::uint32_t source) {
  emit(make_prim(PrimKind::kPad, source));
  return records_++;
}

void FrameWriter::feedback(const PauliFactors& factors, std::uint32_t record,
                           std::uint32_t source) {
  for (const auto& [q, p] : factors) {
    Prim f = make_prim(PrimKind::kFeedback, source);
    f.p = p, f.a = q, f.b = back(record);
    emit(f);
  }
}

void FrameWriter::observe(std::uint32_t index, std::span<const std::uint32_t> records,
                          std::uint32_t source) {
  Prim o = make_prim(PrimKind::kObservable, source);
  o.a = static_cast<std::uint32_t>(num_observables()) + index;
  std::vector<std::uint32_t> backs;
  for (std::uint32_t r : records) backs.push_back(back(r));
  set_list(o, backs);
  emit(o);
}

StabProgram FrameWriter::finish(std::uint64_t num_signs) {
  out_.counts.measurements = records_;
  if (records_only_) out_.counts.detectors = num_records();
  out_.counts.observables = num_observables() + num_signs;
  out_.counts.max_lookback = max_back_;
  check_lookbacks(out_);
  return std::move(out_);
}

}  // namespace tilewave::stabilizer
