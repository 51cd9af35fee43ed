// The actions of gates on words of Paulis with signs, for every word, against the gates' matrices;
// and the two ways a tableau is made.
#include "tilewave/stabilizer/tableau.h"

#include <gtest/gtest.h>

#include <random>

#include "tilewave/stabilizer/frame_step.h"

namespace tilewave::stabilizer {
namespace {

using circuit::GateId;
using circuit::Pauli2;

// Bit k of a word of any kind.
template <class W>
void put(W& w, int bit, bool value) {
  auto* const bytes = reinterpret_cast<unsigned char*>(&w);
  if (value) bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] | 1 << bit % 8);
}
template <class W>
bool get(const W& w, int bit) {
  return (reinterpret_cast<const unsigned char*>(&w)[bit / 8] >> bit % 8) & 1;
}

// A word a row: x0, z0, x1, z1, phase. Lane k starts as Pauli k of the 64 with phases.
template <class W>
struct Lanes {
  W row[6] = {};
  static constexpr int kLanes = sizeof(W) * 8;
  int first;
  explicit Lanes(int first_pauli) : first(first_pauli) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int k = 0; k < 6; ++k) put(row[k], lane, ((lane + first) >> k) & 1);
    }
  }
  static Pauli2 start(int k) {
    return {static_cast<std::uint8_t>((k & 1) | (k >> 1 & 2)),
            static_cast<std::uint8_t>((k >> 1 & 1) | (k >> 2 & 2)),
            static_cast<std::uint8_t>(k >> 4 & 3)};
  }
  Pauli2 lane(int k) const {
    const auto bit = [&](int r) { return static_cast<int>(get(row[r], k)); };
    return {static_cast<std::uint8_t>(bit(0) | bit(2) << 1),
            static_cast<std::uint8_t>(bit(1) | bit(3) << 1),
            static_cast<std::uint8_t>(bit(4) | bit(5) << 1)};
  }
  LanePhase<W> phase() { return {row[4], row[5]}; }
};

template <class W>
struct GateMachine {
  Lanes<W>& lanes;
  template <Pauli A, Pauli B>
  void controlled(const TableauGate&) const {
    auto& r = lanes.row;
    apply_controlled<A, B>(r[0], r[1], r[2], r[3], lanes.phase());
  }
};

template <class W>
class SignedWords : public ::testing::Test {};
typedef std::uint64_t Vec __attribute__((vector_size(64)));
struct alignas(64) Wide {  // a vector type as a template argument loses its attribute
  Vec v;
  Wide operator^(const Wide& o) const { return {v ^ o.v}; }
  Wide operator&(const Wide& o) const { return {v & o.v}; }
  Wide& operator^=(const Wide& o) { return v ^= o.v, *this; }
};
using Words = ::testing::Types<std::uint32_t, std::uint64_t, Wide>;
TYPED_TEST_SUITE(SignedWords, Words);

TYPED_TEST(SignedWords, go_through_every_controlled_pauli) {
  constexpr GateId kGates[9] = {GateId::kXcx, GateId::kXcy, GateId::kXcz,
                                GateId::kYcx, GateId::kYcy, GateId::kYcz,
                                GateId::kCx,  GateId::kCy,  GateId::kCz};
  for (int sub = 0; sub < 9; ++sub) {
    const auto reference = circuit::clifford2_of(circuit::expanded_matrix(kGates[sub]));
    ASSERT_TRUE(reference);
    for (int first = 0; first < 64; first += Lanes<TypeParam>::kLanes) {
      Lanes<TypeParam> lanes(first);
      GateMachine<TypeParam> machine{lanes};
      controlled_step(machine,
                      TableauGate{TableauGate::Kind::kControlled, static_cast<std::uint8_t>(sub)});
      for (int k = 0; k < lanes.kLanes; ++k) {
        ASSERT_EQ(lanes.lane(k), apply(*reference, lanes.start(first + k)))
            << "gate " << sub << ", Pauli " << first + k;
      }
    }
  }
}

TYPED_TEST(SignedWords, go_through_every_clifford) {
  int gates = 0;
  for (Pauli x : {Pauli::kX, Pauli::kY, Pauli::kZ}) {
    for (Pauli z : {Pauli::kX, Pauli::kY, Pauli::kZ}) {
      for (int signs = 0; signs < 4 && x != z; ++signs, ++gates) {
        const circuit::Clifford1 c{x, z, (signs & 1) != 0, (signs & 2) != 0};
        for (int first = 0; first < 64; first += Lanes<TypeParam>::kLanes) {
          Lanes<TypeParam> lanes(first);
          auto& r = lanes.row;
          apply_clifford1(c.x, c.z, c.x_negative, c.z_negative, r[0], r[1], lanes.phase());
          for (int k = 0; k < lanes.kLanes; ++k) {
            const Pauli2 p = lanes.start(first + k);
            // i^phase X^x Z^z, image by image, then the other qubit.
            Pauli2 image{0, 0, p.phase};
            const auto times = [&](Pauli q, bool negative) {
              image = image * circuit::pauli2(q, 0);
              image.phase = static_cast<std::uint8_t>((image.phase + 2 * negative) & 3);
            };
            if (p.x & 1) times(c.x, c.x_negative);
            if (p.z & 1) times(c.z, c.z_negative);
            const Pauli2 other{static_cast<std::uint8_t>(p.x & 2),
                               static_cast<std::uint8_t>(p.z & 2), 0};
            ASSERT_EQ(lanes.lane(k), image * other) << gates << ", Pauli " << first + k;
          }
        }
      }
    }
  }
  EXPECT_EQ(gates, 24);
}

// Random circuits with collapses: a tableau kept as gates up to the first collapse, as most are, one
// whose rows are made at the start, and a copy of it that measures qubit by qubit.
TEST(Tableau, is_the_same_from_gates_from_rows_and_one_by_one) {
  std::mt19937_64 rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    const auto n = static_cast<std::uint32_t>(trial < 20 ? 300 + 17 * trial : 1 + rng() % 40);
    Tableau gates(n), rows(n);
    rows.hash();
    Tableau single = rows;
    const auto both = [&](auto&& f) { f(gates), f(rows), f(single); };
    for (int stage = 0; stage < 3; ++stage) {
      for (std::uint32_t k = 0; k < 4 * n; ++k) {
        const auto a = static_cast<std::uint32_t>(rng() % n),
                   b = static_cast<std::uint32_t>(rng() % n);
        const auto p = static_cast<Pauli>(1 + rng() % 3), q = static_cast<Pauli>(1 + rng() % 3);
        const auto kind = rng() % 8;
        if (kind < 3 && a != b) both([&](Tableau& t) { t.apply_controlled(p, a, q, b); });
        if (kind == 3 && a != b) both([&](Tableau& t) { t.swap(a, b); });
        if (kind == 4) both([&](Tableau& t) { t.apply_pauli(p, a); });
        if (kind > 4 && p != q) {
          const circuit::Clifford1 c{p, q, rng() % 2 == 0, rng() % 2 == 0};
          both([&](Tableau& t) { t.apply(c, a); });
        }
      }
      std::vector<std::uint32_t> measured;
      for (std::uint32_t q = 0; q < n; ++q) {
        if (rng() % 2) measured.push_back(q);
      }
      const bool last = stage == 2;
      gates.collapse_z(measured, last);
      rows.collapse_z(measured, last);
      for (std::uint32_t q : measured) {
        ASSERT_EQ(gates.outcome_z(q), rows.outcome_z(q)) << trial;
        ASSERT_EQ(single.measure_z(q, false), rows.outcome_z(q)) << trial;
        ASSERT_FALSE(single.is_random_z(q)) << trial;
      }
      // The start may differ by what fixes |0...0>; outcomes and all that follows may not.
    }
  }
}

TEST(Tableau, outcomes_that_are_random_become_what_is_asked) {
  Tableau t(300);
  t.apply({Pauli::kZ, Pauli::kX, false, false}, 7);
  for (const std::uint32_t q : {0u, 70u, 299u}) t.apply_controlled(Pauli::kZ, 7, Pauli::kX, q);
  const Tableau ghz = t;
  for (const bool one : {false, true}) {
    t = ghz;
    EXPECT_TRUE(t.is_random_z(70));
    EXPECT_EQ(t.measure_z(70, one), one);
    for (const std::uint32_t q : {0u, 7u, 70u, 299u}) {
      EXPECT_FALSE(t.is_random_z(q));
      EXPECT_EQ(t.measure_z(q, !one), one) << q;
    }
    EXPECT_EQ(t.measure_z(8, true), false);
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
