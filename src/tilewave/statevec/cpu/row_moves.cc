#include "tilewave/statevec/cpu/row_moves.h"

#include <algorithm>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/statevec/cpu/address.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr std::size_t kMostShifts = 16;  // lists of cycles a pass

std::uint32_t shift_at(const Addressing& at, std::uint64_t base) {
  return Addressing::sum(at.load_outside, base) ^ Addressing::sum(at.store_outside, base);
}

// All that sums of what outside bits add to places can be.
std::vector<std::uint32_t> shifts_of(const Addressing& at) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> adds = at.load_outside;
  for (const auto& [bit, place] : at.store_outside) {
    const auto same =
        std::find_if(adds.begin(), adds.end(), [&](const auto& a) { return a.first == bit; });
    if (same == adds.end()) {
      adds.emplace_back(bit, place);
    } else {
      same->second ^= place;
    }
  }
  std::vector<std::uint32_t> sums = {0};
  for (const auto& [bit, place] : adds) {
    if (std::find(sums.begin(), sums.end(), place) != sums.end()) continue;
    const std::size_t size = sums.size();
    if (2 * size > kMostShifts) return {};
    for (std::size_t k = 0; k < size; ++k) sums.push_back(sums[k] ^ place);
  }
  return sums;
}

}  // namespace

std::optional<RowMoves> RowMoves::of(const Addressing& at, const Pass& pass, bool steps,
                                     bool is_double) {
  const int row_bits = is_double ? Address<double>::kRowBits : Address<float>::kRowBits;
  if (steps || pass.known_zero_before || at.load_bits != row_bits || pass.scale.imag() != 0 ||
      at.store != Addressing::Store::kStraight)
    return std::nullopt;
  RowMoves moves;
  std::unordered_map<std::uint32_t, std::uint64_t> loaded;  // place -> where it comes from
  for (std::size_t c = 0; c < at.load_place.size(); ++c)
    loaded[at.load_place[c]] = at.load_offset[c];
  for (const std::uint32_t shift : shifts_of(at)) {
    std::unordered_map<std::uint64_t, std::uint64_t> to;  // from where to where
    for (std::size_t c = 0; c < at.store_place.size(); ++c) {
      const auto from = loaded.find(at.store_place[c] ^ shift);
      if (from == loaded.end()) return std::nullopt;  // rows are cut
      to[from->second] = at.store_offset[c];
    }
    Cycles cycles;
    cycles.shift = shift;
    for (const std::uint64_t first : at.load_offset) {
      std::uint32_t length = 0;
      for (auto next = to.find(first); next != to.end(); ++length) {
        const std::uint64_t target = next->second;
        cycles.offset.push_back(next->first);
        to.erase(next);
        next = to.find(target);
      }
      if (length) cycles.length.push_back(length);
    }
    moves.all_.push_back(std::move(cycles));
  }
  if (moves.all_.empty()) return std::nullopt;
  return moves;
}

RowCycles RowMoves::cycles(const Addressing& at, std::uint64_t base) const {
  const std::uint32_t shift = shift_at(at, base);
  for (const Cycles& c : all_) {
    if (c.shift == shift) return {c.offset.data(), c.length.data(), c.length.size()};
  }
  throw Error(ExitCode::kInternal, "a tile whose rows move in an unknown way");
}

std::size_t RowMoves::num_bytes() const {
  std::size_t bytes = 0;
  for (const Cycles& c : all_) bytes += sizeof c + 8 * c.offset.size() + 4 * c.length.size();
  return bytes;
}

}  // namespace tilewave::statevec::cpu
