// Gathers the operations of a stretch of a circuit into layers: operations of many targets. A
// target goes into the earliest layer of its kind that nothing on its slots, or on the records it
// needs, forbids. Slots of a layer are disjoint, except in a layer of noise sites, where their
// order does not matter. Records keep their numbers: measurements stay in order, flips of a record
// come behind its measurement, and who reads records comes behind all flips and measurements before
// it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <vector>

#include "tilewave/stabilizer/frame_program.h"

namespace tilewave::stabilizer {

class FrameLayers {
 public:
  explicit FrameLayers(FrameProgram& out) : out_(out), after_slot_(out.num_slots) {}

  /// Adds one target. kControlled and kSwap have two slots, kPad none, others one slot in front.
  /// `sub` of an operation on leaked shots is its channel; slots may have axes.
  void add(FrameCode code, int sub, std::initializer_list<std::uint32_t> operands);
  void add_detector(std::span<const std::uint32_t> lookbacks);

  /// A place of noise with the probabilities of its branches, which flips Paulis of `slots` or the
  /// record `lookback` before this place (0: none), whose operand becomes the first.
  void add_site(SiteKind kind, std::span<const double> branches,
                std::span<const std::uint32_t> operands, std::span<const std::uint32_t> slots,
                std::uint32_t lookback = 0);

  /// The same for places of leakage, kLeak and kLeakPair, which do not commute on one slot.
  void add_leak_site(SiteKind kind, std::span<const double> branches,
                     std::span<const std::uint32_t> operands, std::span<const std::uint32_t> slots);

  /// An operation of its own, behind all layers.
  FrameOp& alone(FrameCode code, std::uint32_t count, std::span<const std::uint32_t> operands);
  /// Emits the layers.
  void flush();

  /// Rows of records that the operations emitted need at least.
  std::uint64_t ring_rows() const { return ring_rows_; }

 private:
  static constexpr std::size_t kMostLayers = 512;  // among which a place is looked for

  struct Site {
    FrameSite site;  // `first` in its layer's operands
    double hazard;
    std::int64_t record;  // of the stretch; its lookback is known when the layers are
  };
  struct Layer {
    FrameCode code;
    int sub;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> operands;
    std::vector<Site> sites;
  };

  void put_site(SiteKind kind, std::span<const double> branches,
                std::span<const std::uint32_t> operands, std::span<const std::uint32_t> slots,
                std::uint32_t lookback, std::size_t at);
  std::size_t layer_of(FrameCode code, int sub, std::size_t from);
  void touch(std::uint32_t slot, std::size_t layer);
  std::uint32_t put(std::span<const std::uint32_t> values);
  void emit_sites(Layer& layer, std::uint64_t records_before, FrameOp& op);
  std::uint32_t site_channel(std::span<const double> branches);

  FrameProgram& out_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> after_slot_;  // the layer behind the last one that touches a slot
  std::vector<std::uint32_t> touched_;
  // The same for the last measurement, flip and reader of records, and the layer of every record.
  std::size_t after_measured_ = 0, after_flips_ = 0, after_readers_ = 0;
  std::vector<std::size_t> record_layer_;
  std::uint64_t ring_rows_ = 1;
  std::map<std::vector<std::uint32_t>, std::uint32_t> site_channels_;  // by their thresholds
};

/// A channel of these branches.
FrameChannel frame_channel(std::span<const double> branches);

}  // namespace tilewave::stabilizer
