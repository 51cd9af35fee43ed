// Chunks of a tile program: operations are appended, and a chunk is closed when its limits are
// reached.
#include <algorithm>
#include <cstring>

#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

void append(std::vector<std::byte>& to, const void* data, std::size_t num_bytes) {
  const std::size_t at = to.size();
  to.resize(at + num_bytes);
  if (num_bytes) std::memcpy(to.data() + at, data, num_bytes);
}

void Emitter::emit(std::uint32_t code, OpHead head, const OpControls& controls,
                   std::vector<std::byte> payload) {
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
  head.word |= code | OpWord::extent(size) | (controls ? OpWord::kControlled : 0u);
  append(code_, &head, sizeof head);
  if (controls) append(code_, controls, sizeof *controls);
  append(code_, payload.data(), payload.size());
  ++out_.num_operations;
  out_.needs_kernel |= code >= kFirstCompiledCode;
  last_bit_ = last_lift_ = ~0u;
  layer_open_ = false;
  pay(&OpCosts::decode);
  const bool is_rare = code == kMatrixShared || (code >= kMatrix2 && code < kFactored2);
  const OpSet set = is_rare                              ? OpSet::kAll
                    : code >= kMatrix1 && code < kTauOne ? OpSet::kMatrices
                                                         : OpSet::kLean;
  out_.frame.op_set = std::max(out_.frame.op_set, set);
}

/// A phase on one register bit, to which a lift may be added.
void Emitter::emit_bit(std::uint32_t code, OpHead head, std::vector<std::byte> payload) {
  payload.resize(std::max<std::size_t>(payload.size(), 32));  // room for a lift
  const std::size_t size = sizeof head + payload.size();
  if (chunk_bytes() + size > limits_.chunk_bytes) close_chunk();
  const std::size_t at = code_.size();
  emit(code, head, {}, std::move(payload));
  last_bit_op_ = at;
  last_bit_ = (code - kTauOne) % kMaxRegisterBits;
}

/// Bytes of the chunk if it were closed now.
std::size_t Emitter::chunk_bytes() const {
  const std::size_t bits = slots_.tile_position.size();
  const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
  return sizeof(ChunkHead) + code_.size() + 2 * sizeof(OpHead) + general_.size() * 8 * bits * rows +
         48;
}

/// The factor of every value of a group of tile bits, as a product of two tables of half the bits.
void Emitter::put_group(std::vector<std::byte>& to, std::span<const std::uint64_t> turns) const {
  constexpr std::size_t kHalf = kGroupBits / 2;
  cplx half[2][1 << kHalf];
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t v = 0; v < std::size_t{1} << kHalf; ++v) {
      std::uint64_t sum = 0;
      for (std::size_t b = 0; b < kHalf && h * kHalf + b < turns.size(); ++b) {
        sum += v >> b & 1 ? turns[h * kHalf + b] : 0;
      }
      half[h][v] = factor_of(sum);
    }
  }
  for (const cplx& high : half[1]) {
    for (const cplx& low : half[0]) put(to, high * low);
  }
}

/// Lists all operations, for devices.
void Emitter::list_ops() {
  std::vector<ListedOp> ops;
  for (std::size_t at = 0; at < out_.code.size();) {
    ChunkHead chunk;
    std::memcpy(&chunk, out_.code.data() + at, sizeof chunk);
    if (at) ops.push_back({{kEnd}, 0});
    for (std::size_t place = sizeof chunk;;) {
      OpHead head;
      std::memcpy(&head, out_.code.data() + at + place, sizeof head);
      const OpWord word{head.word};
      if (word.code() == kEnd) break;
      ops.push_back({word.at(place), head.pairs});
      place += word.extent();
    }
    at += std::size_t{chunk.size16} * 16;
  }
  PassFrame& f = out_.frame;
  const std::size_t num_inline = std::min<std::size_t>(ops.size(), kInlineOps);
  f.first_op = kInlineOps - static_cast<std::uint32_t>(num_inline);
  f.end_op = f.first_op + static_cast<std::uint32_t>(ops.size());
  const auto far = ops.begin() + static_cast<std::ptrdiff_t>(num_inline);
  std::copy(ops.begin(), far, f.first_ops + f.first_op);
  f.far_ops = place_array(std::vector<ListedOp>(far, ops.end()));
}

void Emitter::close_chunk() {
  OpHead end{};
  end.pairs = 0;
  end.word = kEnd | OpWord::extent(sizeof(OpHead));
  append(code_, &end, sizeof end);
  append(code_, &end, sizeof end);  // read ahead
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
    std::vector<std::byte> factors;
    for (const LinearEntry& entry : linear_) {
      for (std::size_t first = 0; first < tile_bits; first += kGroupBits) {
        put_group(factors,
                  std::span(entry.tile)
                      .subspan(first, std::min<std::size_t>(kGroupBits, tile_bits - first)));
      }
      for (std::uint64_t turns : entry.warp) put(factors, factor_of(turns));
    }
    head.linear_tables = place(factors);
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
  head.next16 = static_cast<std::uint32_t>(out_.code.size() / 16) + head.size16;
  PassFrame& f = out_.frame;
  f.max_chunk16 = std::max(f.max_chunk16, head.size16);
  f.max_linear = std::max(f.max_linear, head.num_linear);
  f.max_general = std::max(f.max_general, head.num_general);
  if (f.num_chunks > 0) {
    pay(&OpCosts::chunk);
    ChunkHead before;
    std::byte* const at = out_.code.data() + last_chunk_;
    std::memcpy(&before, at, sizeof before);
    before.next_size16 = head.size16;
    before.next_linear = head.num_linear;
    before.next_linear_tables = head.linear_tables;
    std::memcpy(at, &before, sizeof before);
  }
  last_chunk_ = out_.code.size();
  if (f.num_chunks == 0) {
    f.first_chunk16 = head.size16;
    f.first_linear = head.num_linear;
    f.first_linear_tables = head.linear_tables;
    f.tile_bits = head.tile_bits;
  }
  ++f.num_chunks;
  append(out_.code, &head, sizeof head);
  append(out_.code, code_.data(), code_.size());
  code_.clear();
  last_bit_ = last_lift_ = ~0u;
  layer_open_ = false;
  linear_.clear();
  general_.clear();
}

}  // namespace tilewave::statevec::tile::detail
