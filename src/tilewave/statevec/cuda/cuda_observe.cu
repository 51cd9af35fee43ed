// Observations of a state on a CUDA device; the kernels are in observe.cuh. Partial sums come back
// to the host and are added there by a pairwise tree.
#include <algorithm>
#include <bit>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.cuh"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

constexpr unsigned kReduceBlocks =
    1056;  // 8 a multiprocessor of 132; part of the order of the sums
constexpr std::uint64_t kShotsABatch = std::uint64_t{1} << 20;

double tree_sum(const double* v, std::size_t count, std::size_t stride = 1) {
  if (count == 0) return 0;
  if (count == 1) return v[0];
  const std::size_t half = std::bit_ceil(count) / 2;
  return tree_sum(v, half, stride) + tree_sum(v + half * stride, count - half, stride);
}

}  // namespace

template <class T>
double CudaState<T>::sum(Workspace::Lease& lease, const double* values, std::uint64_t count) {
  double* partial = lease.take<double>(kReduceBlocks);
  rc::launch(sum_kernel<double>, dim3(kReduceBlocks), dim3(kReduceThreads), 0, stream_, values,
             count, partial);
  const std::vector<double> sums = to_host(partial, kReduceBlocks);
  return tree_sum(sums.data(), sums.size());
}

template <class T>
double CudaState<T>::norm() {
  if (norm_) return *norm_;
  materialize();
  use_device();
  Workspace::Lease lease(*workspace_, stream_);
  double* partial = lease.take<double>(kReduceBlocks);
  rc::launch(norm_kernel<T>, dim3(kReduceBlocks), dim3(kReduceThreads), 0, stream_, amps_,
             num_amplitudes(), partial);
  const std::vector<double> sums = to_host(partial, kReduceBlocks);
  return tree_sum(sums.data(), sums.size());
}

template <class T>
std::vector<double> CudaState<T>::marginals() {
  if (!marginals_.empty() || num_qubits_ == 0) return marginals_;
  materialize();
  use_device();
  TW_CHECK(num_qubits_ <= kChunkBits + kHighBits, "more qubits than one device can hold");
  Workspace::Lease lease(*workspace_, stream_);
  double* partial = lease.take<double>(kReduceBlocks * kMarginalSums);
  rc::launch(marginal_kernel<T>, dim3(kReduceBlocks), dim3(kReduceThreads), 0, stream_, amps_,
             num_amplitudes(), partial);
  const std::vector<double> sums = to_host(partial, kReduceBlocks * kMarginalSums);
  std::vector<double> ones(static_cast<std::size_t>(num_qubits_));
  for (std::size_t p = 0; p < ones.size(); ++p) {
    ones[p] = tree_sum(sums.data() + 1 + p, kReduceBlocks, kMarginalSums);
  }
  marginals_ = by_qubit(tree_sum(sums.data(), kReduceBlocks, kMarginalSums), ones);
  return marginals_;
}

template <class T>
std::vector<double> CudaState<T>::by_qubit(double whole, std::span<const double> ones) const {
  std::vector<double> result(ones.size());
  for (std::size_t q = 0; q < result.size(); ++q) {
    const double one = ones[static_cast<std::size_t>(layout_.position[q])];
    result[q] = layout_.flips >> q & 1 ? whole - one : one;
  }
  return result;
}

template <class T>
auto CudaState<T>::take_sums(Workspace::Lease& lease, const RunObserver& observer,
                             int block_qubits) const -> TileSums {
  if (!observer.makes_norm && !observer.makes_marginals) return {};
  TileSums sums{nullptr, observer.makes_marginals, block_qubits};
  const std::uint64_t tiles = num_amplitudes() >> std::min(num_qubits_, block_qubits);
  const auto count = [&] {
    return tiles * static_cast<unsigned>(num_tile_sums(block_qubits, sums.of_slots));
  };
  constexpr std::size_t kKept = sizeof(double) * kReduceBlocks * kTileSums + 4096;
  sums.of_slots = sums.of_slots && lease.num_fitting(sizeof(double), kKept) >= count();
  sums.at = lease.take<double>(count());
  return sums;
}

template <class T>
void CudaState<T>::finish_sums(Workspace::Lease& lease, const TileSums& sums,
                               const tile::PassFrame& frame) {
  if (!sums.of_slots) {
    norm_ = sum(lease, sums.at, frame.num_tiles);
    return;
  }
  double* partial = lease.take<double>(kReduceBlocks * kTileSums);
  rc::launch(sum_tiles_kernel<double>, dim3(kReduceBlocks), dim3(kReduceThreads), 0, stream_,
             sums.at, frame.num_tiles, num_tile_sums(sums.block_qubits, true), partial);
  const std::vector<double> all = to_host(partial, kReduceBlocks * kTileSums);
  const auto total = [&](std::uint32_t k) {
    return tree_sum(all.data() + k, kReduceBlocks, kTileSums);
  };
  const double whole = total(0);
  std::vector<double> ones(static_cast<std::size_t>(num_qubits_));  // 0 where that is known
  const auto put = [&](std::uint64_t column, double one) {
    const auto p = static_cast<std::size_t>(std::countr_zero(column / sizeof(Complex<T>)));
    if (p < ones.size()) ones[p] = one;
  };
  for (int i = 0; i < sums.block_qubits; ++i) {
    const std::uint64_t column = frame.store_column[i];
    const bool added = column >> 63;  // X on store: the column of a register bit is negative
    const double one = total(1u + static_cast<unsigned>(i));
    put(added ? ~column + 1 : column, added || (frame.store_xor & column) ? whole - one : one);
  }
  if (const std::uint64_t second = frame.block_load) {  // bit 0 of the number of a tile
    const double one = total(kFirstTileBit);
    const bool flipped = frame.block_move[0] != 0;
    put(flipped ? frame.block_move[0] : frame.block_move[1] + second, flipped ? whole - one : one);
  }
  for (std::uint32_t r = 0; r < frame.num_runs; ++r) {
    const tile::TileRun& run = frame.runs[r];
    for (std::uint32_t b = 0; b < run.width; ++b) {
      put(bit(static_cast<int>(run.to + b)), total(kFirstTileBit + run.from + b));
    }
  }
  norm_ = whole;
  marginals_ = by_qubit(whole, ones);
}

template <class T>
std::vector<double> CudaState<T>::joint_probabilities(std::span<const circuit::Qubit> qubits) {
  check_joint(qubits);
  const int k = static_cast<int>(qubits.size());
  std::uint64_t chosen = 0;
  for (const circuit::Qubit q : qubits) chosen |= bit(layout_.position[q]);
  materialize();
  use_device();
  JointShape shape;
  shape.chosen = chosen & ~low_mask(5);
  shape.rest = low_mask(num_qubits_) & ~chosen & ~low_mask(5);
  shape.chosen_lanes = static_cast<std::uint32_t>(chosen & low_mask(5));
  shape.num_outcomes = 1u << k;
  const int rest_bits = std::popcount(shape.rest);
  const int slice_bits = std::clamp(16 - k, 0, rest_bits);
  shape.num_slices = 1u << slice_bits;
  shape.slice_size = 1u << (rest_bits - slice_bits);
  // in parts that fit: outcomes beside their slices
  const std::uint32_t num_outcomes = shape.num_outcomes;
  std::vector<double> by_position;
  while (by_position.size() < num_outcomes) {
    Workspace::Lease lease(*workspace_, stream_);
    const std::size_t each = sizeof(double) * (shape.num_slices + (slice_bits ? 1 : 0));
    shape.first_outcome = static_cast<std::uint32_t>(by_position.size());
    shape.num_outcomes = static_cast<std::uint32_t>(
        std::bit_floor(std::min<std::size_t>(num_outcomes, lease.num_fitting(each))));
    double* partial = lease.take<double>(std::size_t{shape.num_outcomes} << slice_bits);
    const std::uint64_t warps =
        std::uint64_t{shape.num_outcomes >> std::popcount(shape.chosen_lanes)} << slice_bits;
    rc::launch(joint_kernel<T>,
               dim3(static_cast<unsigned>((warps * 32 + kReduceThreads - 1) / kReduceThreads)),
               dim3(kReduceThreads), 0, stream_, amps_, num_amplitudes(), shape, partial);
    double* sums = partial;
    if (slice_bits) {
      sums = lease.take<double>(shape.num_outcomes);
      rc::launch(sum_slices_kernel<double>,
                 dim3((shape.num_outcomes + kReduceThreads - 1) / kReduceThreads),
                 dim3(kReduceThreads), 0, stream_, partial, shape.num_slices, shape.num_outcomes,
                 sums);
    }
    const std::vector<double> part = to_host(sums, shape.num_outcomes);
    by_position.insert(by_position.end(), part.begin(), part.end());
  }
  std::vector<double> result(num_outcomes);
  for (std::uint64_t o = 0; o < result.size(); ++o) {
    std::uint64_t at = 0;
    for (int j = 0; j < k; ++j) {
      const circuit::Qubit q = qubits[static_cast<std::size_t>(j)];
      const std::uint64_t value = (o >> j & 1) ^ (layout_.flips >> q & 1);
      at |= value << std::popcount(chosen & low_mask(layout_.position[q]));
    }
    result[o] = by_position[at];
  }
  return result;
}

template <class T>
std::vector<cplx> CudaState<T>::amplitudes(std::span<const std::uint64_t> indices) {
  use_device();
  std::vector<cplx> out;
  out.reserve(indices.size());
  constexpr std::size_t kBatch = std::size_t{1} << 20;
  for (std::size_t first = 0, count = 0; first < indices.size(); first += count) {
    Workspace::Lease lease(*workspace_, stream_);
    count = std::min({kBatch, indices.size() - first,
                      lease.num_fitting(sizeof(std::uint64_t) + sizeof(Complex<T>))});
    std::vector<std::uint64_t> places(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t x = indices[first + i];
      check_index(x);
      places[i] = layout_.physical(x, num_qubits_);
    }
    const std::uint64_t* index = to_device<std::uint64_t>(lease, places);
    auto* gathered = lease.take<Complex<T>>(count);
    rc::launch(gather_kernel<T>, dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256), 0,
               stream_, amps_, index, count, gathered);
    const std::vector<Complex<T>> values = to_host(gathered, count);
    for (std::size_t i = 0; i < count; ++i) {
      const bool zero = places[i] & known_zero_;
      out.push_back(zero ? cplx{} : cplx(values[i].re, values[i].im));
    }
  }
  return out;
}

template <class T>
std::vector<std::uint64_t> CudaState<T>::sample_sorted(std::span<const double> sorted_u) {
  restore_layout();
  use_device();
  const std::uint64_t chunks = (num_amplitudes() + bit(kSampleBits) - 1) >> kSampleBits;
  std::vector<double> before;
  {
    Workspace::Lease lease(*workspace_, stream_);
    double* sums = lease.take<double>(chunks);
    rc::launch(chunk_sum_kernel<T>, dim3(kReduceBlocks), dim3(kReduceThreads), 0, stream_, amps_,
               num_amplitudes(), chunks, sums);
    before = to_host(sums, chunks);
  }
  before.push_back(0);
  double norm = 0;
  for (double& b : before) norm += std::exchange(b, norm);
  check_drawable(norm);
  std::vector<std::uint64_t> out;
  out.reserve(sorted_u.size());
  std::uint64_t chunk = 0;
  for (std::size_t first = 0, count = 0; first < sorted_u.size(); first += count) {
    Workspace::Lease lease(*workspace_, stream_);
    count = std::min<std::size_t>(
        {kShotsABatch, sorted_u.size() - first, lease.num_fitting(16 + sizeof(SampleRun))});
    std::vector<double> targets(count);
    std::vector<SampleRun> runs;
    for (std::size_t s = 0; s < count; ++s) {
      targets[s] = sorted_u[first + s] * norm;
      while (chunk + 1 < chunks && before[chunk + 1] <= targets[s]) ++chunk;
      if (runs.empty() || runs.back().chunk != chunk) {
        runs.push_back({chunk, before[chunk], static_cast<std::uint32_t>(s), 0});
      }
      ++runs.back().count;
    }
    const double* target = to_device<double>(lease, targets);
    const SampleRun* run = to_device<SampleRun>(lease, runs);
    auto* shots = lease.take<std::uint64_t>(count);
    rc::launch(sample_kernel<T>, dim3(static_cast<unsigned>(runs.size())), dim3(kReduceThreads), 0,
               stream_, amps_, num_amplitudes(), run, target, shots);
    const std::vector<std::uint64_t> drawn = to_host(shots, count);
    out.insert(out.end(), drawn.begin(), drawn.end());
  }
  return out;
}

template <class T>
std::vector<double> CudaState<T>::expectations(const circuit::PauliSum& sum) {
  check_strings(sum);
  materialize();
  use_device();
  std::map<std::uint64_t, std::vector<std::size_t>> by_flips;
  for (std::size_t k = 0; k < sum.size(); ++k) by_flips[sum[k].x].push_back(k);
  std::vector<StringGroup> groups;
  std::vector<StringMask> strings;
  std::vector<double> factors;
  std::vector<std::size_t> term_of;
  for (const auto& [flips, terms] : by_flips) {
    const std::uint64_t x = layout_.positions(flips);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      if (t % kStringsAPass == 0)
        groups.push_back({x, static_cast<std::uint32_t>(strings.size()), 0});
      ++groups.back().count;
      const circuit::PauliTerm& term = sum[terms[t]];
      const std::uint64_t z = layout_.positions(term.z);
      const int num_y = std::popcount(term.x & term.z);
      strings.push_back({z | (num_y & 1 ? std::uint64_t{1} << 63 : 0)});
      // conj(a_i) i^num_y (-1)^{z.(i^x)} a_{i^x}: i and i^x give the same real contribution
      factors.push_back((std::popcount(z & x) & 1 ? -1.0 : 1.0) *
                        ((num_y & 3) == 1 || (num_y & 3) == 2 ? -1.0 : 1.0) *
                        (std::popcount(term.z & layout_.flips) & 1 ? -1.0 : 1.0) * (x ? 2.0 : 1.0));
      term_of.push_back(terms[t]);
    }
  }
  std::vector<double> result(sum.size(), 0.0);
  constexpr std::size_t kGroupsALaunch = 1024;
  constexpr std::size_t kGroupBytes =
      sizeof(StringGroup) +
      kStringsAPass * (sizeof(StringMask) + sizeof(double) * std::size_t{kStringSlices});
  for (std::size_t first = 0, count = 0; first < groups.size(); first += count) {
    Workspace::Lease lease(*workspace_, stream_);
    count = std::min({kGroupsALaunch, groups.size() - first, lease.num_fitting(kGroupBytes)});
    const std::uint32_t from = groups[first].first;
    const std::uint32_t to = groups[first + count - 1].first + groups[first + count - 1].count;
    std::vector<StringGroup> batch(groups.begin() + static_cast<std::ptrdiff_t>(first),
                                   groups.begin() + static_cast<std::ptrdiff_t>(first + count));
    for (StringGroup& g : batch) g.first -= from;
    const StringGroup* device_groups = to_device<StringGroup>(lease, batch);
    const StringMask* masks =
        to_device<StringMask>(lease, std::span(strings).subspan(from, to - from));
    double* partial = lease.take<double>(std::size_t{to - from} * kStringSlices);
    rc::launch(string_kernel<T>, dim3(kStringSlices, static_cast<unsigned>(count)),
               dim3(kReduceThreads), 0, stream_, amps_, num_qubits_, device_groups, masks, partial);
    const std::vector<double> sums = to_host(partial, std::size_t{to - from} * kStringSlices);
    for (std::uint32_t s = from; s < to; ++s) {
      result[term_of[s]] =
          factors[s] * tree_sum(sums.data() + std::size_t{s - from} * kStringSlices, kStringSlices);
    }
  }
  return result;
}

template class CudaState<float>;
template class CudaState<double>;

}  // namespace tilewave::statevec::cuda
