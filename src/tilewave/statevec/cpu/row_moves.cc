#include "tilewave/statevec/cpu/row_moves.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {

namespace {

constexpr std::size_t kSliceBytes = 256;
constexpr int kMostBaseBits = 9;  // of a part

// A linear map of numbers, by tables for half of their bits each.
class LinearTables {
 public:
  explicit LinearTables(const std::vector<std::uint64_t>& columns) {
    low_bits_ = static_cast<int>(columns.size() + 1) / 2;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      std::vector<std::uint64_t>& table = static_cast<int>(k) < low_bits_ ? low_ : high_;
      const std::size_t size = table.size();
      for (std::size_t x = 0; x < size; ++x) table.push_back(table[x] ^ columns[k]);
    }
  }
  std::uint64_t operator()(std::uint64_t x) const {
    return low_[x & low_mask(low_bits_)] ^ high_[x >> low_bits_];
  }

 private:
  int low_bits_;
  std::vector<std::uint64_t> low_ = {0}, high_ = {0};
};

}  // namespace

std::uint64_t RowMap::operator()(std::uint64_t index) const {
  std::uint64_t to = zero;
  for_each_bit(index, [&](int k) { to ^= column[k]; });
  return to;
}

int RowMap::order(int most) const {
  std::array<std::uint64_t, 64> at = column;  // of each bit
  std::uint64_t zero_at = zero;
  const auto apply = [&](std::uint64_t x) { return (*this)(x) ^ zero; };
  for (int times = 1; times <= most; ++times) {
    bool same = zero_at == 0;
    for (int k = 0; k < num_qubits; ++k) same &= at[k] == bit(k);
    if (same) return times;
    for (int k = 0; k < num_qubits; ++k) at[k] = apply(at[k]);
    zero_at = (*this)(zero_at);
  }
  return 0;
}

// x stays where the sum of column[k] ^ bit(k) over its bits is `zero`: none or one of 2^rank.
double RowMap::fixed_share() const {
  std::array<std::uint64_t, 64> basis{};  // by highest bit
  const auto reduced = [&](std::uint64_t x) {
    while (x && basis[static_cast<std::size_t>(std::bit_width(x) - 1)])
      x ^= basis[static_cast<std::size_t>(std::bit_width(x) - 1)];
    return x;
  };
  int rank = 0;
  for (int k = 0; k < num_qubits; ++k) {
    const std::uint64_t x = reduced(column[static_cast<std::size_t>(k)] ^ bit(k));
    if (x) basis[static_cast<std::size_t>(std::bit_width(x) - 1)] = x, ++rank;
  }
  return reduced(zero) ? 0 : std::ldexp(1, -rank);
}

int most_move_positions(int num_qubits, bool is_double) {
  const int row_bits = is_double ? kStateRowBitsDouble : kStateRowBitsSingle;
  return std::clamp(num_qubits - row_bits - kLongRowBits, kLeastMoveBits, kMostMoveBits);
}

std::optional<RowMap> row_map(const Plan& plan, const Pass& left, const Movement& m) {
  const bool is_double = plan.precision == Precision::kDouble;
  const int row_bits = is_double ? kStateRowBitsDouble : kStateRowBitsSingle;
  if (!left.actions.empty() || left.known_zero_before || left.scale.imag() != 0)
    return std::nullopt;
  RowMap map;
  map.num_qubits = plan.num_qubits;
  std::uint64_t active = 0;
  for (const int p : left.active) active |= bit(p);
  const auto image = [&](std::uint64_t x) {
    for (const FreeFlip& f : m.first) x = f(x);
    for (const FreeFlip& f : m.last) x = f(x);
    std::uint64_t to = x & ~active;
    for (const int p : left.active) to |= (x >> m.source[p] & 1) << p;
    return to ^ left.store_flips;
  };
  map.zero = image(0);
  map.moved = map.zero;
  for (int k = 0; k < plan.num_qubits; ++k) {
    map.column[k] = image(bit(k)) ^ map.zero;
    if (map.column[k] != bit(k)) map.moved |= map.column[k] | bit(k);
  }
  if (map.moved & low_mask(row_bits) ||
      std::popcount(map.moved) > most_move_positions(plan.num_qubits, is_double))
    return std::nullopt;
  return map;
}

template <class T>
RowMoves<T>::RowMoves(const RowMap& map, T scale) : scale_(scale) {
  constexpr int kRowBits = Address<T>::kRowBits;
  while (kRowBits + slice_bits_ < map.num_qubits && slice_bits_ < kMostSliceBits &&
         !(map.moved >> (kRowBits + slice_bits_) & 1))
    ++slice_bits_;
  bases_ = low_mask(map.num_qubits) & ~low_mask(kRowBits + slice_bits_) & ~map.moved;
  add_cycles(map);
  add_groups();
}

template <class T>
void RowMoves<T>::add_cycles(const RowMap& map) {
  std::vector<std::uint64_t> to, in_memory;
  for_each_bit(map.moved, [&](int k) {
    to.push_back(extract_bits(map.column[k], map.moved));
    in_memory.push_back(Address<T>::of(bit(k)));
  });
  const std::uint64_t zero = extract_bits(map.zero, map.moved);
  const LinearTables goes(to), is_at(in_memory);
  std::vector<bool> seen(std::size_t{1} << to.size());
  for (std::size_t first = 0; first < seen.size(); ++first) {
    if (seen[first]) continue;
    const std::size_t start = offset_.size();
    for (std::uint64_t x = first; !seen[x]; x = goes(x) ^ zero) {
      seen[x] = true;
      offset_.push_back(is_at(x));
    }
    if (offset_.size() == start + 1 && scale_ == T(1)) {
      offset_.pop_back();  // it stays
      continue;
    }
    std::reverse(offset_.begin() + static_cast<std::ptrdiff_t>(start), offset_.end());
    length_.push_back(static_cast<std::uint32_t>(offset_.size() - start));
  }
}

template <class T>
void RowMoves<T>::add_groups() {
  std::size_t rows = 0, most_rows = 1;  // of the last group, of any
  std::size_t offset = 0;
  for (std::size_t c = 0; c < length_.size(); offset += length_[c], ++c) {
    if (groups_.empty() || ((rows + length_[c]) * kSliceBytes << slice_bits_) > kMovePartBytes) {
      groups_.push_back({offset, c, 0});
      rows = 0;
    }
    ++groups_.back().count;
    rows += length_[c];
    most_rows = std::max(most_rows, rows);
  }
  run_bits_ = slice_bits_;
  while (run_bits_ > kLeastSliceBits && (most_rows * kSliceBytes << run_bits_) > kMovePartBytes)
    --run_bits_;
  while (groups_.size() == 1 && base_bits_ < std::min(kMostBaseBits, std::popcount(bases_)) &&
         (most_rows * kSliceBytes << (slice_bits_ + base_bits_ + 1)) <= kMovePartBytes)
    ++base_bits_;
}

template <class T>
std::uint64_t RowMoves<T>::num_parts() const {
  return groups_.size() << (std::popcount(bases_) - base_bits_ + slice_bits_ - run_bits_);
}

template <class T>
void RowMoves<T>::run(const BlockKernels<T>& kernels, Complex<T>* amps, std::uint64_t part) const {
  const int run_count_bits = slice_bits_ - run_bits_;
  const std::uint64_t slices = part & low_mask(run_count_bits);
  part >>= run_count_bits;
  const Group& group = groups_[part % groups_.size()];
  const std::uint64_t first_base = part / groups_.size() << base_bits_;
  std::array<std::uint64_t, std::size_t{1} << kMostBaseBits> bases;
  for (std::uint64_t b = 0; b < bit(base_bits_); ++b)
    bases[b] = Address<T>::of(deposit_bits(first_base + b, bases_));
  kernels.move_rows(reinterpret_cast<T*>(amps),
                    {.base = bases.data(),
                     .num_bases = std::size_t{1} << base_bits_,
                     .offset = offset_.data() + group.offset,
                     .length = length_.data() + group.cycle,
                     .count = group.count,
                     .first_slice = static_cast<std::uint32_t>(slices << run_bits_),
                     .num_slices = std::uint32_t{1} << run_bits_},
                    scale_);
}

template <class T>
std::size_t RowMoves<T>::num_bytes() const {
  return sizeof *this + 8 * offset_.size() + 4 * length_.size() + sizeof(Group) * groups_.size();
}

template class RowMoves<float>;
template class RowMoves<double>;

}  // namespace tilewave::statevec::cpu
