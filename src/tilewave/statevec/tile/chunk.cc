// Chunks of a tile program: operations are appended, phases and lifts on register bits gather in
// layers, and a chunk is closed when its limits are reached.
#include <algorithm>
#include <cstring>

#include "tilewave/statevec/tile/emitter.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile::detail {

void append(std::vector<std::byte>& to, const void* data, std::size_t num_bytes) {
  const std::size_t at = to.size();
  to.resize(at + num_bytes);
  if (num_bytes) std::memcpy(to.data() + at, data, num_bytes);
}

void Emitter::emit(std::uint32_t code, OpHead head, const OpControls& controls,
                   std::vector<std::byte> payload) {
  end_layer();
  pad16(payload);
  const bool controlled = controls.thread_mask || controls.tile_mask;
  const std::size_t size = sizeof head + (controlled ? sizeof controls : 0) + payload.size();
  TW_CHECK(size / 16 < 256, "an operation of a tile program is too long");
  // An operation with a factor has made room before its factor was entered (make_room).
  if (chunk_bytes() + size > limits_.chunk_bytes) close_chunk();
  append_op(code, head, controlled ? &controls : nullptr, payload);
}

void Emitter::append_op(std::uint32_t code, OpHead head, const OpControls* controls,
                        const std::vector<std::byte>& payload) {
  const std::size_t size = sizeof head + (controls ? sizeof *controls : 0) + payload.size();
  head.word |= code | static_cast<std::uint32_t>(size / 16) << 8 | (controls ? 1u << 16 : 0u);
  append(code_, &head, sizeof head);
  if (controls) append(code_, controls, sizeof *controls);
  append(code_, payload.data(), payload.size());
  ++out_.num_operations;
  const OpSet set = code == kMatrixShared ? OpSet::kAll
                    : code >= kRotate     ? OpSet::kMatrices
                                          : OpSet::kLean;
  out_.frame.op_set = std::max(out_.frame.op_set, set);
}

void Emitter::end_layer() {
  if (layer_bit_ < 0) return;
  layer_bit_ = -1;
  cost_ += kOpCosts.layer;
  std::vector<std::byte> payload;
  for (int b = 0; b < shape_.register_bits; ++b) {
    append(payload, layer_lift_[b].data(), layer_lift_[b].size());
    append(payload, layer_phase_[b].data(), layer_phase_[b].size());
    layer_lift_[b].clear();
    layer_phase_[b].clear();
  }
  layer_bytes_ = 0;
  append_op(kLayer, layer_, nullptr, payload);
}

/// Adds a phase or a lift on one bit to the layer being built, or starts a new layer.
void Emitter::add_to_layer(int bit, std::uint32_t flags, std::uint32_t forms,
                           const std::vector<std::byte>& payload) {
  const auto flags_of = [&](int b) { return b < 4 ? layer_.index >> (8 * b) & 255u : layer_.more; };
  if (bit < layer_bit_ ||
      (bit == layer_bit_ && (flags != kHasLift || (flags_of(bit) & kHasLift)))) {
    end_layer();
  }
  if (chunk_bytes() + payload.size() + sizeof(OpHead) > limits_.chunk_bytes &&
      !(flags & kHasPhase)) {
    close_chunk();
  }
  if (layer_bit_ < 0) layer_ = {0, 0, 0, 0};
  layer_bit_ = bit;
  (bit < 4 ? layer_.index : layer_.more) |= flags << (bit < 4 ? 8 * bit : 0);
  layer_.pairs |= forms;
  append(flags == kHasLift ? layer_lift_[bit] : layer_phase_[bit], payload.data(), payload.size());
  layer_bytes_ += payload.size();
}

/// Bytes of the chunk if it were closed now.
std::size_t Emitter::chunk_bytes() const {
  const std::size_t bits = slots_.tile_position.size();
  const auto warps = static_cast<std::size_t>(shape_.num_warps());
  const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
  return sizeof(ChunkHead) + code_.size() + layer_bytes_ + 2 * sizeof(OpHead) +
         linear_.size() * 8 * (bits + warps) + general_.size() * 8 * bits * rows + 48;
}

void Emitter::close_chunk() {
  end_layer();
  const OpHead end{kEnd | 1u << 8, 0, 0, 0};
  append(code_, &end, sizeof end);
  ChunkHead head;
  head.num_linear = static_cast<std::uint32_t>(linear_.size());
  head.num_general = static_cast<std::uint32_t>(general_.size());
  const std::size_t tile_bits = slots_.tile_position.size();
  head.tile_bits = static_cast<std::uint32_t>(tile_bits);
  const auto add_own = [&](const std::vector<std::uint64_t>& turns) {
    pad16(code_);
    const auto at = static_cast<std::uint32_t>((sizeof(ChunkHead) + code_.size()) / 16);
    append(code_, turns.data(), turns.size() * 8);
    pad16(code_);
    return at;
  };
  if (!linear_.empty()) {
    std::vector<std::uint64_t> tile(tile_bits * linear_.size()), warp;
    for (std::size_t e = 0; e < linear_.size(); ++e) {
      for (std::size_t b = 0; b < tile_bits; ++b) tile[b * linear_.size() + e] = linear_[e].tile[b];
      warp.insert(warp.end(), linear_[e].warp.begin(), linear_[e].warp.end());
    }
    head.linear_turns = add_own(tile);
    head.warp_turns = add_own(warp);
  }
  if (!general_.empty()) {
    const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
    std::vector<std::uint64_t> turns(tile_bits * general_.size() * rows);
    std::vector<GeneralEntry> entries;
    for (std::size_t e = 0; e < general_.size(); ++e) {
      for (std::size_t b = 0; b < tile_bits; ++b) {
        std::copy_n(general_[e].rows.begin() + static_cast<std::ptrdiff_t>(b * rows), rows,
                    turns.begin() + static_cast<std::ptrdiff_t>((b * general_.size() + e) * rows));
      }
      GeneralEntry entry = general_[e].entry;
      entry.tile_first = place_array(general_[e].tile_terms);
      entry.tile_count = static_cast<std::uint32_t>(general_[e].tile_terms.size());
      entries.push_back(entry);
    }
    head.general_turns = add_own(turns);
    head.general_entries = place_array(entries);
  }
  head.size16 = static_cast<std::uint32_t>((sizeof(ChunkHead) + code_.size()) / 16);
  PassFrame& f = out_.frame;
  f.max_chunk16 = std::max(f.max_chunk16, head.size16);
  f.max_linear = std::max(f.max_linear, head.num_linear);
  f.max_general = std::max(f.max_general, head.num_general);
  ++f.num_chunks;
  append(out_.code, &head, sizeof head);
  append(out_.code, code_.data(), code_.size());
  code_.clear();
  linear_.clear();
  general_.clear();
}

}  // namespace tilewave::statevec::tile::detail
