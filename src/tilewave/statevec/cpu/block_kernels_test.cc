#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/block.h"

namespace tilewave::statevec::cpu {
namespace {

constexpr int kStoredQubits = 15;

/// A pass over `active` positions, always those of a row, that moves them.
Pass random_movement(std::mt19937_64& random, int row_bits) {
  Pass pass;
  std::vector<int> others(kStoredQubits - row_bits);
  std::iota(others.begin(), others.end(), row_bits);
  std::shuffle(others.begin(), others.end(), random);
  for (int p = 0; p < row_bits; ++p) pass.active.push_back(p);
  pass.active.insert(pass.active.end(), others.begin(), others.begin() + 12 - row_bits);
  std::sort(pass.active.begin(), pass.active.end());
  pass.dest = pass.active;
  switch (random() % 4) {
    case 0:  // any
      std::shuffle(pass.dest.begin(), pass.dest.end(), random);
      break;
    case 1:  // few
      for (int k = 0; k < 3; ++k) std::swap(pass.dest[random() % 12], pass.dest[random() % 12]);
      break;
    case 2:  // the rows' own and as many others change places
      for (int p = 0; p < row_bits; ++p) std::swap(pass.dest[p], pass.dest[p + 6]);
      break;
    default:  // inside rows
      std::shuffle(pass.dest.begin(), pass.dest.begin() + 6, random);
  }
  if (random() % 3 == 0) {
    for (int k = 0; k < 2; ++k) pass.store_flips |= bit(pass.active[random() % 12]);
  }
  for (std::uint64_t k = random() % 3 ? 0 : random() % 5; k > 0; --k) {  // CX, part of the movement
    Action flip;
    flip.kind = ActionKind::kFlip;
    const std::uint64_t target = random() % 12, control = (target + 1 + random() % 11) % 12;
    flip.targets[flip.num_targets++] = static_cast<std::uint8_t>(pass.active[target]);
    flip.control_mask = bit(pass.active[control]);
    flip.control_value = random() % 2 ? flip.control_mask : 0;
    pass.actions.push_back(flip);
  }
  return pass;
}

/// Every amplitude comes from the place that the tables of the movement say.
template <class T>
void check_store(const BlockKernels<T>& kernels, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr bool kDouble = sizeof(T) == 8;
  Pass pass = random_movement(random, Address<T>::kRowBits);
  const Addressing at = make_addressing(pass, take_movement(pass, {}, kDouble), kDouble);
  std::uniform_real_distribution<T> value(-1, 1);
  std::vector<T, LineAllocator<T>> tile(std::size_t{2} << at.num_slots);
  for (T& x : tile) x = value(random);
  std::vector<T, LineAllocator<T>> state(std::size_t{2} << kStoredQubits, T(7));
  std::uint64_t free = low_mask(kStoredQubits);
  for (int p : pass.active) free &= ~bit(p);
  const std::uint64_t base = deposit_bits(random() % 8, free);
  const Chunks to = store_chunks<T>(at, base);
  const std::complex<T> scale(value(random), random() % 2 ? value(random) : 0);
  kernels.store(tile.data(), state.data(), to, to, scale.real(), scale.imag());
  for (std::size_t c = 0; c < to.count; ++c) {
    for (std::size_t x = 0; x < at.inside.size(); ++x) {
      const std::uint32_t place = to.place[c] ^ to.shift ^ static_cast<std::uint32_t>(at.inside[x]);
      const std::complex<T> want = scale * std::complex<T>(tile[place], tile[place + kRowLength]);
      const std::size_t out = 2 * ((to.base ^ to.offset[c]) + x);
      ASSERT_NEAR(state[out], want.real(), 1e-6) << "seed " << seed << " chunk " << c << " " << x;
      ASSERT_NEAR(state[out + 1], want.imag(), 1e-6) << "seed " << seed << " chunk " << c;
    }
  }
  const auto written = std::count_if(state.begin(), state.end(), [](T x) { return x != T(7); });
  EXPECT_EQ(static_cast<std::size_t>(written), std::size_t{2} << at.num_slots) << seed;
}

// With every instruction set that this machine has.
TEST(BlockKernels, stores_take_amplitudes_from_their_places) {
  std::vector<std::string> targets;
  std::int64_t disabled = 0;
  for (;;) {
    hwy::DisableTargets(disabled);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    BlockKernels<float> single{};
    BlockKernels<double> two{};
    add_move_kernels(single);
    add_move_kernels(two);
    const bool is_new = targets.empty() || targets.back() != single.target;
    if (is_new) targets.push_back(single.target);
    SCOPED_TRACE(single.target);
    for (std::uint64_t seed = 0; is_new && seed < 150 && !HasFailure(); ++seed) {
      check_store(single, seed);
      check_store(two, seed);
    }
    const std::int64_t best = hwy::SupportedTargets() & -hwy::SupportedTargets();
    disabled |= best;
    if (HasFailure() || hwy::SupportedTargets() == best) break;
  }
  hwy::DisableTargets(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  std::string all;
  for (const std::string& target : targets) all += target + " ";
  RecordProperty("targets", all);
}

/// The steps of the factors on the bits at `place`, one inside vectors at most, one after the other.
template <class T>
void check_factored(const BlockKernels<T>& kernels, std::array<int, 2> place, int unit,
                    std::mt19937_64& random) {
  using Z = std::complex<double>;
  constexpr int kBits = 3;
  std::array<std::uint32_t, 1 << kBits> rows;
  for (std::uint32_t r = 0; r < rows.size(); ++r)  // XOR-linear
    rows[r] = (r & 1 ? 3u : 0u) ^ (r & 2 ? 1u : 0u) ^ (r & 4 ? 5u : 0u);
  FactoredStep<T> step;
  for (int b = 0; b < 2; ++b) {
    step.upper[b] = place[b];
    if (place[b] < kLowBits && 1 << place[b] < kernels.lanes) {
      step.lane[b] = place[b];
      step.upper[b] = place[1 - b] == kLowBits ? kLowBits + 1 : kLowBits;
    }
    for (std::uint32_t v = 0; v < 4; ++v) step.vectors[v] |= (v >> b & 1) << step.upper[b];
  }
  std::uniform_real_distribution<T> value(-1, 1);
  const auto any = [&] { return value(random); };
  step.first = {0, 0, any(), any()};
  step.second = {0, any(), 0, any()};
  step.tangent = {0, any(), 0, any()};
  step.third = {any(), any(), any(), any()};
  step.weight_re = {1, unit & 1 ? 1 : any(), unit & 2 ? 1 : any(), any()};
  step.weight_im = {0, any(), any(), any()};
  std::vector<T, LineAllocator<T>> tile(rows.size() * 2 * kRowLength);
  for (T& x : tile) x = any();
  const std::vector<T, LineAllocator<T>> before = tile;
  const auto at = [&](const auto& t, std::size_t a) {
    const std::size_t i =
        (std::size_t{rows[a >> kLowBits]} << (kLowBits + 1)) + (a & (kRowLength - 1));
    return Z(t[i], t[i + kRowLength]);
  };
  kernels.factored(tile.data(), {rows.data(), kBits, 0}, step);
  for (std::size_t a = 0; a < rows.size() * kRowLength; ++a) {
    if ((a >> place[0] & 1) || (a >> place[1] & 1)) continue;
    std::array<std::size_t, 4> index;
    std::array<Z, 4> h;
    for (std::size_t j = 0; j < 4; ++j) {
      index[j] = a | (j & 1) << place[0] | (j >> 1) << place[1];
      h[j] = at(before, index[j]);
    }
    const auto add = [&](const std::array<T, 4>& c, std::size_t other) {
      const auto old = h;
      for (std::size_t j = 0; j < 4; ++j) h[j] += static_cast<double>(c[j]) * old[j ^ other];
    };
    add(step.first, 1);
    add(step.second, 2);
    for (std::size_t j = 0; j < 4; ++j) h[j] *= Z(1, step.tangent[j]);
    add(step.third, 1);
    for (std::size_t j = 0; j < 4; ++j) {
      h[j] *= Z(step.weight_re[j], step.weight_im[j]);
      EXPECT_LT(std::abs(at(tile, index[j]) - h[j]), 1e-5) << index[j];
    }
  }
}

template <class T>
void check_factored_on_all_places() {
  const BlockKernels<T>& kernels = block_kernels(T{});
  std::mt19937_64 random(8);
  const auto is_lane = [&](int place) { return place < kLowBits && 1 << place < kernels.lanes; };
  for (int a = 0; a < 9; ++a) {
    for (int b = 0; b < 9; ++b) {
      if (a == b || (is_lane(a) && is_lane(b))) continue;
      for (int unit = 0; unit < 4; ++unit) {
        check_factored<T>(kernels, {a, b}, unit, random);
        if (testing::Test::HasFailure()) FAIL() << "on " << a << " and " << b << ", " << unit;
      }
    }
  }
}

TEST(BlockKernels, factors_of_a_matrix_on_any_two_bits_f32) {
  check_factored_on_all_places<float>();
}
TEST(BlockKernels, factors_of_a_matrix_on_any_two_bits_f64) {
  check_factored_on_all_places<double>();
}

}  // namespace
}  // namespace tilewave::statevec::cpu
