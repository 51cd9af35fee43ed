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

}  // namespace
}  // namespace tilewave::statevec::cpu
