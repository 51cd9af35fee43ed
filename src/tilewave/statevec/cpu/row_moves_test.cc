#include "tilewave/statevec/cpu/row_moves.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {
namespace {

template <class T>
class RowMovesTest : public ::testing::Test {
 protected:
  static constexpr int kRowBits = Address<T>::kRowBits;

  static RowMap identity(int num_qubits) {
    RowMap map;
    map.num_qubits = num_qubits;
    for (int k = 0; k < num_qubits; ++k) map.column[k] = bit(k);
    return map;
  }

  // After `map`, X on `target` where bit `control` is one.
  static void flip(RowMap& map, int control, int target) {
    for (std::uint64_t& column : map.column) column ^= (column >> control & 1) << target;
    map.zero ^= (map.zero >> control & 1) << target;
  }

  static void find_moved(RowMap& map) {
    map.moved = map.zero;
    for (int k = 0; k < map.num_qubits; ++k) {
      if (map.column[k] != bit(k)) map.moved |= map.column[k] | bit(k);
    }
  }

  // Every amplitude is where the map says, times the scale.
  static void check(const RowMap& map, T scale, const char* what) {
    const std::size_t size = std::size_t{1} << map.num_qubits;
    std::vector<Complex<T>, LineAllocator<Complex<T>>> state(size);
    for (std::uint64_t x = 0; x < size; ++x)
      state[Address<T>::of(x)] = {static_cast<T>(x), static_cast<T>(x % 7)};
    const RowMoves<T> moves(map, scale);
    for (std::uint64_t part = 0; part < moves.num_parts(); ++part)
      moves.run(block_kernels(T{}), state.data(), part);
    std::uint64_t wrong = 0;
    for (std::uint64_t x = 0; x < size; ++x) {
      const Complex<T> z = state[Address<T>::of(map(x))];
      wrong += z.re != static_cast<T>(x) * scale || z.im != static_cast<T>(x % 7) * scale;
    }
    EXPECT_EQ(wrong, 0u) << what << ", " << map.num_qubits << " qubits";
  }
};

using Numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowMovesTest, Numbers);

TYPED_TEST(RowMovesTest, rows_go_where_random_flips_send_them) {
  for_each_seed(120, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = this->kRowBits + 2 + static_cast<int>(random() % 13);
    // in some of them rows are long, in some there are copies of the cycles
    const int first = this->kRowBits + static_cast<int>(random() % 5), end = n - (seed % 3) * 2;
    RowMap map = this->identity(n);
    for (std::uint64_t k = random() % 40; k > 0 && end - first > 1; --k) {
      const int control = first + static_cast<int>(random() % (end - first)),
                target = first + static_cast<int>(random() % (end - first));
      if (control != target) this->flip(map, control, target);
    }
    if (seed % 4 == 0) map.zero ^= bit(n - 1);
    this->find_moved(map);
    this->check(map, seed % 2 ? TypeParam(1) : TypeParam(0.5), "random flips");
  });
}

// x -> 2x in the field of 2^12 elements, x^12 + x^6 + x^4 + x + 1: one cycle of 4095 rows, longer
// than a part.
TYPED_TEST(RowMovesTest, cycles_longer_than_a_part) {
  constexpr int kBits = 12;
  const int first = this->kRowBits + 3;
  RowMap map = this->identity(first + kBits);
  for (int k = 0; k < kBits; ++k)
    map.column[first + k] = (k + 1 < kBits ? bit(k + 1) : std::uint64_t{0b1010011}) << first;
  this->find_moved(map);
  EXPECT_EQ(map.order(4096), 4095);
  EXPECT_EQ(map.order(4094), 0);
  ASSERT_GT(std::size_t{4095} << (8 + 3), kMovePartBytes);
  this->check(map, TypeParam(1), "one cycle");
}

// Rows that stay are not touched, unless they are multiplied.
TYPED_TEST(RowMovesTest, rows_that_stay) {
  const int n = this->kRowBits + 8;
  RowMap map = this->identity(n);
  this->find_moved(map);
  EXPECT_EQ(map.order(1), 1);
  EXPECT_EQ(RowMoves<TypeParam>(map, 1).num_parts(), 0u);
  this->check(map, TypeParam(3), "nothing but a scale");
  this->flip(map, n - 1, n - 2);
  this->find_moved(map);
  EXPECT_EQ(map.order(2), 2);
  this->check(map, TypeParam(1), "half of the rows");
  this->check(map, TypeParam(-1), "half of the rows, all multiplied");
}

}  // namespace
}  // namespace tilewave::statevec::cpu
