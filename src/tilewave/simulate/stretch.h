// What all shots of a branch run next: the gates, and the operators of channels, up to the next
// event at which they may part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/branch.h"
#include "tilewave/simulate/channel_draw.h"
#include "tilewave/simulate/program.h"

namespace tilewave::simulate {

/// Gates and the operators of channels that all shots of a branch have in common.
struct Stretch {
  Position end;
  std::vector<circuit::Op> ops;
  std::vector<std::uint32_t> departed;  // shots that part from the others inside,
  std::vector<std::uint32_t> together;  // and then these are the others
  bool open_channel = false;            // ends at a channel for which the state must be asked
};

class StretchFinder {
 public:
  StretchFinder(const Program& program, std::uint64_t seed);

  /// The operations from branch.at.op up to the next measurement, reset or open channel, or up to
  /// where some shots part from the others so late that the way to there had better be shared.
  Stretch find(const Branch& branch);

  /// The one that operations of stretches belong to.
  const circuit::Circuit& circuit() const { return adds_gates() ? work_ : circuit_; }
  /// Of a channel.
  const ChannelDraw& draw_of(const circuit::Op& op) const { return draws_[op.first_param]; }

 private:
  // Operators of channels, and gates whose angles are computed, are written into `work_`.
  bool adds_gates() const { return program_.has_channels || program_.has_runtime_gates; }
  bool add_channel(const circuit::Op& op, const Branch& branch, Stretch& s);
  void append_operator(const circuit::Op& op, int outcome, double scale,
                       std::vector<circuit::Op>& ops);
  void add_runtime_gate(const circuit::Op& op, Stretch& s);

  const Program& program_;
  const circuit::Circuit& circuit_;
  const std::uint64_t seed_;
  // of channels: what is drawn, the operators as operations of `work_`, and where each stands there
  std::vector<ChannelDraw> draws_;
  circuit::Circuit work_;
  std::unordered_map<std::uint64_t, std::pair<std::size_t, std::size_t>> operators_;
  std::unordered_map<std::string, std::size_t> at_angles_;  // gates at angles, in `work_`
  std::vector<int> outcomes_;
};

}  // namespace tilewave::simulate
