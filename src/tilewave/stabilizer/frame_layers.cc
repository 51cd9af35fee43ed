#include "tilewave/stabilizer/frame_layers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/frame_ops.h"

namespace tilewave::stabilizer {
namespace {

using C = FrameCode;

std::size_t slots_of(FrameCode code) {
  switch (code) {
    case C::kControlled:
    case C::kSwap:
    case C::kSpread:
    case C::kScrambleSpread:
    case C::kGateSpread:
    case C::kLeaked2:
    case C::kScramblePartner:
      return 2;
    case C::kPad:
    case C::kDetector:
      return 0;
    default:
      return 1;
  }
}
bool writes_records(FrameCode code) {
  return code == C::kMeasure || code == C::kPad || code == C::kFlag;
}
bool reads_records(FrameCode code) { return code == C::kFeedback || code == C::kDetector; }

}  // namespace

// The first layer of this kind from `from` on.
std::size_t FrameLayers::layer_of(FrameCode code, int sub, std::size_t from) {
  while (from < layers_.size() && (layers_[from].code != code || layers_[from].sub != sub)) ++from;
  if (from == layers_.size()) layers_.push_back({code, sub, 0, {}, {}});
  return from;
}

void FrameLayers::touch(std::uint32_t slot, std::size_t layer) {
  after_slot_[slot] = std::max(after_slot_[slot], layer + 1);
  touched_.push_back(slot);
}

void FrameLayers::add(FrameCode code, int sub, std::initializer_list<std::uint32_t> operands) {
  if (layers_.size() >= kMostLayers) flush();
  std::array<std::uint32_t, 2> named{};
  const std::span slots(named.data(), slots_of(code));
  for (std::size_t k = 0; k < slots.size(); ++k) slots[k] = slot_of(operands.begin()[k]);
  std::size_t from = 0;
  for (std::uint32_t slot : slots) from = std::max(from, after_slot_[slot]);
  // Behind the layer before `after`, or in it where it is of the same kind.
  const auto behind_or_in = [&](std::size_t after) {
    if (after == 0) return;
    const Layer& last = layers_[after - 1];
    from = std::max(from, last.code == code && last.sub == sub ? after - 1 : after);
  };
  if (writes_records(code)) {
    behind_or_in(after_measured_);
    from = std::max(from, after_readers_);
  }
  if (reads_records(code)) {
    behind_or_in(after_readers_);
    from = std::max({from, after_measured_, after_flips_});
  }
  const std::size_t at = layer_of(code, sub, from);
  Layer& layer = layers_[at];
  layer.operands.insert(layer.operands.end(), operands);
  ++layer.count;
  for (std::uint32_t slot : slots) touch(slot, at);
  if (writes_records(code)) {
    after_measured_ = at + 1;
    record_layer_.push_back(at);
  }
  if (reads_records(code)) after_readers_ = at + 1;
}

void FrameLayers::add_detector(std::span<const std::uint32_t> lookbacks) {
  add(C::kDetector, 0, {static_cast<std::uint32_t>(lookbacks.size())});
  auto& operands = layers_[after_readers_ - 1].operands;
  operands.insert(operands.end(), lookbacks.begin(), lookbacks.end());
}

void FrameLayers::add_site(SiteKind kind, std::span<const double> branches,
                           std::span<const std::uint32_t> operands,
                           std::span<const std::uint32_t> slots, std::uint32_t lookback) {
  if (layers_.size() >= kMostLayers) flush();
  std::size_t from = 0;
  for (std::uint32_t slot : slots) {
    const std::size_t after = after_slot_[slot];
    const bool noise =
        after > 0 && layers_[after - 1].code == C::kSites && layers_[after - 1].sub == 0;
    from = std::max(from, noise ? after - 1 : after);
  }
  if (lookback > 0 && lookback <= record_layer_.size())
    from = std::max(from, record_layer_[record_layer_.size() - lookback] + 1);
  put_site(kind, branches, operands, slots, lookback, layer_of(C::kSites, 0, from));
}

void FrameLayers::add_leak_site(SiteKind kind, std::span<const double> branches,
                                std::span<const std::uint32_t> operands,
                                std::span<const std::uint32_t> slots) {
  if (layers_.size() >= kMostLayers) flush();
  std::size_t from = 0;
  for (std::uint32_t slot : slots) from = std::max(from, after_slot_[slot]);
  put_site(kind, branches, operands, slots, 0, layer_of(C::kSites, 1, from));
}

void FrameLayers::put_site(SiteKind kind, std::span<const double> branches,
                           std::span<const std::uint32_t> operands,
                           std::span<const std::uint32_t> slots, std::uint32_t lookback,
                           std::size_t at) {
  Layer& layer = layers_[at];
  Site site;
  site.record = static_cast<std::int64_t>(record_layer_.size()) - lookback;
  double p = 0;
  for (double branch : branches) p += branch;
  site.hazard = -std::log1p(-p);
  site.site.kind = kind;
  site.site.first = static_cast<std::uint32_t>(layer.operands.size());
  site.site.channel = site_channel(branches);
  if (lookback > 0) layer.operands.push_back(0);
  layer.operands.insert(layer.operands.end(), operands.begin(), operands.end());
  layer.sites.push_back(site);
  ++layer.count;
  for (std::uint32_t slot : slots) touch(slot, at);
  if (lookback > 0) after_flips_ = std::max(after_flips_, at + 1);
}

FrameOp& FrameLayers::alone(FrameCode code, std::uint32_t count,
                            std::span<const std::uint32_t> operands) {
  flush();
  if (code == C::kHerald || code == C::kRecordFlip || code == C::kFalseFlag ||
      code == C::kMissedFlag)
    ring_rows_ = std::max<std::uint64_t>(ring_rows_, count);
  FrameOp op{};
  op.code = code;
  op.count = count;
  op.first = put(operands);
  out_.ops.push_back(op);
  return out_.ops.back();
}

void FrameLayers::flush() {
  std::uint64_t records = 0;
  for (Layer& layer : layers_) {
    FrameOp op{};
    op.code = layer.code;
    op.sub = static_cast<std::uint8_t>(layer.sub);
    op.count = layer.count;
    op.ticks = layer.code == C::kCoin;
    if (is_of_leaked_shots(layer.code)) {
      op.channel = static_cast<std::uint32_t>(layer.sub);
      op.sub = 0;
      op.ticks = layer.code != C::kFlag;
    }
    if (layer.code == C::kSites) {
      emit_sites(layer, records, op);
    } else {
      op.first = put(layer.operands);
    }
    if (writes_records(layer.code)) {
      records += layer.count;
      ring_rows_ = std::max<std::uint64_t>(ring_rows_, layer.count);
    }
    out_.ops.push_back(op);
  }
  layers_.clear();
  for (std::uint32_t slot : touched_) after_slot_[slot] = 0;
  touched_.clear();
  after_measured_ = after_flips_ = after_readers_ = 0;
  record_layer_.clear();
}

// Streams of a few expected events a unit.
void FrameLayers::emit_sites(Layer& layer, std::uint64_t records_before, FrameOp& op) {
  for (const Site& s : layer.sites) {
    if (s.site.kind != SiteKind::kRecord && s.site.kind != SiteKind::kHerald) continue;
    const auto lookback =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(records_before) - s.record);
    ring_rows_ = std::max(ring_rows_, lookback);
    layer.operands[s.site.first] = static_cast<std::uint32_t>(lookback);
  }
  const std::uint32_t first_operand = put(layer.operands);
  op.first = static_cast<std::uint32_t>(out_.sites.size());
  op.channel = static_cast<std::uint32_t>(out_.site_streams.size());
  SiteStream stream{op.first, 0, 0};
  for (const Site& s : layer.sites) {
    FrameSite site = s.site;
    site.first += first_operand;
    stream.total += 32 * s.hazard;
    ++stream.count;
    out_.sites.push_back(site);
    out_.site_ends.push_back(stream.total);
    out_.site_rates.push_back({s.hazard, 1 / s.hazard});
    if (stream.total < kStreamEvents && &s != &layer.sites.back()) continue;
    out_.site_streams.push_back(stream);
    stream = {stream.first + stream.count, 0, 0};
    ++op.ticks;
  }
}

std::uint32_t FrameLayers::put(std::span<const std::uint32_t> values) {
  out_.operands.resize((out_.operands.size() + 1) / 2 * 2);  // pairs are read together
  const auto first = static_cast<std::uint32_t>(out_.operands.size());
  if (out_.operands.size() + values.size() >= ~std::uint32_t{0}) {
    throw Error(ExitCode::kResources,
                "the circuit has more than 2^32 targets: repeat what repeats in REPEAT blocks");
  }
  out_.operands.insert(out_.operands.end(), values.begin(), values.end());
  return first;
}

std::uint32_t FrameLayers::site_channel(std::span<const double> branches) {
  FrameChannel c = frame_channel(branches);
  c.probability = c.inv_log = 0;  // the site's own
  std::vector<std::uint32_t> thresholds(c.upto, c.upto + branches.size());
  const auto [it, fresh] = site_channels_.try_emplace(
      std::move(thresholds), static_cast<std::uint32_t>(out_.site_channels.size()));
  if (fresh) out_.site_channels.push_back(c);
  return it->second;
}

FrameChannel frame_channel(std::span<const double> p) {
  FrameChannel c;
  for (double branch : p) c.probability += branch;
  c.probability = std::min(1.0, c.probability);
  c.inv_log = 1 / std::log1p(-c.probability);
  c.num_branches = static_cast<std::uint32_t>(p.size());
  c.equal = std::all_of(p.begin(), p.end(), [&](double x) { return x == p[0]; });
  double sum = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (c.equal) {  // the smallest b with b * n >> 24 > k
      const auto n = c.num_branches, next = static_cast<std::uint32_t>(k) + 1;
      c.upto[k] = ((next << 24) + n - 1) / n;
    } else {
      sum += p[k];
      c.upto[k] = static_cast<std::uint32_t>(std::lround(sum / c.probability * 0x1p24));
    }
  }
  // The last branch that happens takes what is left by rounding.
  for (std::size_t k = p.size(); k-- > 0 && !c.equal;) {
    c.upto[k] = 1u << 24;
    if (p[k] > 0) break;
  }
  return c;
}

}  // namespace tilewave::stabilizer
