// A state on logical ranks against the same state on one: amplitudes, every question, shots.
#include "tilewave/statevec/distributed/distributed_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/seeds_test.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/statevec/block_places.h"
#include "tilewave/statevec/distributed/host_chunks.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using testing::Amplitudes;
using testing::read_all;

circuit::PauliSum random_paulis(int num_qubits, int count, std::mt19937_64& random) {
  circuit::PauliSum sum;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t support = random() | random();
    sum.push_back(
        {1, random() & support & low_mask(num_qubits), random() & support & low_mask(num_qubits)});
  }
  sum.push_back({1, low_mask(num_qubits), 0});
  sum.push_back({1, low_mask(num_qubits), low_mask(num_qubits)});
  sum.push_back({1, 0, low_mask(num_qubits)});
  return sum;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double allowed,
                 const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], allowed) << what << " " << k;
}

// Every question twice: one state against another.
void expect_same(State& one, State& many, std::mt19937_64& random, double allowed) {
  const int n = one.num_qubits();
  EXPECT_LT(testing::max_difference(read_all(one), read_all(many)), allowed);
  EXPECT_NEAR(one.norm(), many.norm(), allowed);
  expect_near(one.marginals(), many.marginals(), allowed, "marginals");
  std::vector<circuit::Qubit> some;
  for (int q = 0; q < n; ++q) {
    if (random() % 2) some.push_back(static_cast<circuit::Qubit>(q));
  }
  std::shuffle(some.begin(), some.end(), random);
  expect_near(one.joint_probabilities(some), many.joint_probabilities(some), allowed, "joint");
  const circuit::PauliSum paulis = random_paulis(n, 12, random);
  expect_near(one.expectations(paulis), many.expectations(paulis), 10 * allowed, "expectations");
}

void expect_same_shots(State& one, State& many) {
  EXPECT_EQ(sample(one, 20000, 7), sample(many, 20000, 7));
}

void apply(const circuit::Circuit& c, State& one, State& many) {
  one.apply(c, c.ops());
  many.apply(c, c.ops());
}

// The likelier outcome of a qubit.
void measure(circuit::Qubit q, State& one, State& many) {
  const std::vector<double> p = one.joint_probabilities(std::span(&q, 1));
  const int outcome = p[1] > p[0] ? 1 : 0;
  for (State* state : {&one, &many}) state->collapse(q, outcome, 1 / std::sqrt(p[outcome]));
}

TEST(Distributed, families_have_the_amplitudes_answers_and_shots_of_one_rank) {
  std::mt19937_64 random(1);
  for (const auto family : circuit::family_names()) {
    for (const std::uint32_t n : {5u, 12u}) {
      const circuit::Circuit c = circuit::make_family(family, n);
      const auto one = make_cpu_state(static_cast<int>(n), Precision::kDouble, 1);
      one->apply(c, c.ops());
      for (const int ranks : {1, 2, 4, 8}) {
        SCOPED_TRACE(std::string(family) + " " + std::to_string(n) + " on " +
                     std::to_string(ranks));
        const auto many = make_logical_state(static_cast<int>(n), Precision::kDouble, 1, ranks);
        many->apply(c, c.ops());
        expect_same(*one, *many, random, 1e-12);
        expect_same_shots(*one, *many);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Distributed, random_circuits_with_measurements_between) {
  for_each_seed(120, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 5 + static_cast<int>(random() % 7), bits = 1 + static_cast<int>(random() % 3);
    const auto one = make_cpu_state(n, Precision::kDouble, 1);
    const auto many = make_logical_state(n, Precision::kDouble, 1, 1 << bits);
    for (int stretch = 0; stretch < 4; ++stretch) {
      circuit::Circuit c(static_cast<std::uint32_t>(n));
      const circuit::Circuit drawn = testing::random_circuit(n, 25, random);
      const bool fits = std::all_of(drawn.ops().begin(), drawn.ops().end(), [&](const auto& op) {
        return static_cast<int>(drawn.targets(op).size()) <= n - bits &&
               op.kind == circuit::OpKind::kGate;
      });
      const circuit::Circuit& used = fits ? drawn : c;
      if (!fits) {
        for (int q = 0; q < n; ++q) c.add_gate(circuit::GateId::kH, {static_cast<unsigned>(q)});
      }
      apply(used, *one, *many);
      measure(static_cast<circuit::Qubit>(random() % n), *one, *many);
      if (random() % 2) {
        const auto copy = many->clone();
        expect_same(*one, *copy, random, 1e-11);
      }
      if (random() % 3 == 0) expect_same(*one, *many, random, 1e-11);
      if (::testing::Test::HasFailure()) return;
    }
    expect_same_shots(*one, *many);
    expect_same(*one, *many, random, 1e-11);
  });
}

TEST(Distributed, states_that_are_set) {
  std::mt19937_64 random(4);
  const int n = 9;
  for (const int ranks : {2, 4, 8}) {
    const auto one = make_cpu_state(n, Precision::kDouble, 1);
    const auto many = make_logical_state(n, Precision::kDouble, 1, ranks);
    std::vector<cplx> product;
    for (int q = 0; q < n; ++q) {
      const double theta = 0.2 + 0.13 * q;
      product.emplace_back(std::cos(theta), 0);
      product.push_back(std::polar(std::sin(theta), 0.7 * q));
    }
    one->set_product_state(product);
    many->set_product_state(product);
    expect_same(*one, *many, random, 1e-13);
    const Amplitudes a = testing::random_state(n, random);
    many->set_amplitudes(a);
    EXPECT_EQ(read_all(*many), a);
    const circuit::Circuit c = circuit::make_family("qft", n);
    one->set_amplitudes(a);
    apply(c, *one, *many);
    expect_same(*one, *many, random, 1e-12);
    const auto rotate = [](std::uint64_t first, std::span<cplx> block) {
      for (std::size_t k = 0; k < block.size(); ++k)
        block[k] *= std::polar(1.0, 0.001 * static_cast<double>(first + k));
    };
    one->update_blocks(rotate);
    many->update_blocks(rotate);
    Amplitudes blocks;
    many->for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
      EXPECT_EQ(first, blocks.size());
      blocks.insert(blocks.end(), block.begin(), block.end());
    });
    EXPECT_LT(testing::max_difference(blocks, read_all(*one)), 1e-12);
    many->set_zero_state();
    EXPECT_EQ(many->norm(), 1.0);
    EXPECT_EQ(many->amplitudes(std::vector<std::uint64_t>{0, 511})[0], cplx(1));
  }
}

// Some blocks are said to be on devices, apart from the others, and reached through `copy` alone.
struct TestBlocks {
  runtime::HostBuffer host, device;
  int copies = 0;
};

std::unique_ptr<State> streamed(int num_qubits, int chunk_qubits, Precision precision,
                                int* copies = nullptr) {
  StreamLayout layout;
  layout.num_qubits = num_qubits;
  layout.chunk_qubits = chunk_qubits;
  layout.block_qubits = chunk_qubits - 2;
  layout.amplitude_bytes = amplitude_bytes(precision);
  for (int b = 0; b < 1 << (num_qubits - layout.block_qubits); ++b)
    layout.device_of_block.push_back(copies && b % 3 == 1 ? b % 2 : StreamLayout::kHostBlock);
  auto memory = std::make_shared<TestBlocks>();
  memory->host = runtime::HostBuffer(layout.host_bytes());
  memory->device = runtime::HostBuffer(std::max<std::uint64_t>(layout.resident_bytes(), 1));
  char *host = memory->host.as<char>(), *device = memory->device.as<char>();
  StreamMemory stream;
  for (const int of : layout.device_of_block) {
    char*& at = of == StreamLayout::kHostBlock ? host : device;
    stream.blocks.push_back(at);
    at += layout.block_bytes();
  }
  stream.copy = [copies](void* to, const void* from, std::size_t num_bytes) {
    std::memcpy(to, from, num_bytes);
    ++*copies;
  };
  stream.owner = memory;
  std::vector<std::unique_ptr<State>> workers;
  for (int k = 0; k < 3; ++k) workers.push_back(make_cpu_state(chunk_qubits, precision, 1));
  return make_streamed_state(layout, precision, std::move(stream), std::move(workers));
}

TEST(Distributed, what_streams_and_what_stays) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  for (const int devices : {1, 2}) {
    const StreamLayout s = plan_stream(30, Precision::kDouble, 8 * kGib, devices);
    EXPECT_EQ(s.host_bytes() + s.resident_bytes(), 16 * kGib);
    std::uint64_t stays = 0;
    for (int k = 0; k < devices; ++k) {
      EXPECT_LE(s.worker_bytes() + s.resident_bytes(k), 8 * kGib);
      stays += s.resident_bytes(k);
    }
    EXPECT_EQ(stays, s.resident_bytes());
    EXPECT_GT(s.resident_bytes(), 4 * kGib * devices);  // half of the limit and more
    EXPECT_LE(s.chunk_qubits, 26);
    // no long stretch of addresses without a block that stays
    int apart = 0;
    for (const int of : s.device_of_block) {
      apart = of == StreamLayout::kHostBlock ? apart + 1 : 0;
      EXPECT_LE(apart, 4);
    }
    EXPECT_NE(s.text().find("of 16 GiB stay on the device"), std::string::npos) << s.text();
  }
  // a state that is much larger keeps large chunks
  EXPECT_EQ(plan_stream(34, Precision::kDouble, 8 * kGib, 1).chunk_qubits, 27);
  // at least one block visits
  EXPECT_GT(plan_stream(20, Precision::kSingle, 8 * kGib, 1).host_bytes(), 0u);
  EXPECT_THROW(plan_stream(30, Precision::kDouble, 10 << 20, 1), Error);
  EXPECT_THROW(plan_stream(16, Precision::kDouble, 8 * kGib, 1), Error);
}

// A store before any exchange.
distributed::ChunkStore new_store(int num_qubits, int chunk_qubits, int block_qubits) {
  distributed::ChunkStore store;
  store.layout.num_qubits = num_qubits;
  store.layout.chunk_qubits = chunk_qubits;
  store.layout.block_qubits = block_qubits;
  store.layout.amplitude_bytes = 16;
  store.layout.device_of_block.assign(bit(num_qubits - block_qubits), StreamLayout::kHostBlock);
  store.reset();
  return store;
}

// The places a kernel reads by itself are those of the store, whatever exchanges did to the bits.
TEST(Distributed, places_of_scattered_chunks) {
  for_each_seed(50, [](std::uint64_t, std::mt19937_64& random) {
    distributed::ChunkStore store = new_store(12, 8, 6);
    std::shuffle(store.address_bit.begin(), store.address_bit.end(), random);
    store.inverted = random() & 0xfff;
    const std::uint64_t known_zero = random() & random() & 0xff;
    for (const int chunk : {0, 5, 15}) {
      const BlockPlaces places = block_places(store.map(chunk), 8, known_zero);
      std::uint64_t e = 0;
      for (std::uint64_t i = 0; i < 256; ++i) {
        if (i & known_zero) continue;
        ASSERT_EQ(places.index(e++), i);
        ASSERT_EQ(places.address_of(i), store.address(chunk, i));
      }
      ASSERT_EQ(e, std::uint64_t{1} << (8 - places.num_zeros));
    }
  });
}

// Copies in rows and planes bring every amplitude of a chunk from its place, once.
TEST(Distributed, pieces_of_chunks) {
  int with_rows = 0, with_planes = 0;
  for_each_seed(200, [&](std::uint64_t seed, std::mt19937_64& random) {
    distributed::ChunkStore store = new_store(14, 10, 8);
    for (std::size_t b = 0; b < 64; b += 3) store.layout.device_of_block[b] = 0;
    for (int k = 0; k < 4; ++k) {  // exchanges of a few neighbours
      const int at = static_cast<int>(random() % 8), from = static_cast<int>(10 + random() % 3);
      for (int j = 0; j < 2; ++j) std::swap(store.address_bit[at + j], store.address_bit[from + j]);
    }
    store.inverted = random() & random() & random() & 0x3fff;
    const std::uint64_t known_zero = seed % 2 ? random() & random() & random() & 0x3ff : 0;
    const distributed::ChunkPieces pieces = store.pieces(known_zero);
    const RunShape& shape = pieces.shape;
    with_rows += shape.rows.bits > 0, with_planes += shape.planes.bits > 0;
    for (const int chunk : {0, 6}) {
      std::vector<int> brought(std::size_t{1} << 10);
      std::uint64_t on_host = 0;
      for (std::uint64_t k = 0; k < bit(pieces.log_count()); ++k) {
        const std::uint64_t first = deposit_bits(k, pieces.free);
        const std::uint64_t place = store.address(chunk, first);
        for (std::uint64_t e = 0; e < bit(shape.bits()); ++e) {
          const std::uint64_t run = e & low_mask(shape.run_bits), rest = e >> shape.run_bits;
          const std::uint64_t row = rest & low_mask(shape.rows.bits);
          const std::uint64_t plane = rest >> shape.rows.bits;
          const std::uint64_t index =
              first + run + row * shape.rows.step + plane * shape.planes.step;
          const std::uint64_t address =
              place + run + row * shape.rows.far_step + plane * shape.planes.far_step;
          ASSERT_EQ(address, store.address(chunk, index));
          ASSERT_EQ(address >> 8, place >> 8) << "a piece stays in its block";
          ++brought[index];
          const bool counts = !(index & known_zero);
          on_host += counts && store.layout.device_of_block[address >> 8] < 0;
        }
      }
      for (std::uint64_t i = 0; i < 1024; ++i) {
        ASSERT_GE(brought[i], i & known_zero ? 0 : 1);
        ASSERT_LE(brought[i], 1);
      }
      EXPECT_EQ(on_host, store.num_on_host(chunk, known_zero));
    }
  });
  EXPECT_GT(with_rows, 100);
  EXPECT_GT(with_planes, 20);
}

// What a run says of its visits: the whole state comes in and goes out once a stretch.
TEST(Distributed, parts_of_visits) {
  const int n = 11;
  int copies = 0;
  const auto many = streamed(n, 8, Precision::kDouble, &copies);
  const std::vector<cplx> product(2 * n, std::sqrt(0.5));
  many->set_product_state(product);
  const circuit::Circuit c = circuit::make_family("qft", n);
  const Plan plan = make_plan(c, c.ops(), many->plan_options());
  std::map<std::string, StepTime> parts;
  double stretches = 0;
  RunObserver observer;
  observer.on_step = [&](const StepTime& s) { stretches += s.step == "passes"; };
  observer.on_part = [&](const StepTime& s) {
    parts[s.step].measured_s += s.measured_s;
    parts[s.step].bytes += s.bytes;
  };
  many->run(plan, observer);
  EXPECT_GT(stretches, 1);
  // 21 of the 32 blocks lie in host memory, see streamed()
  EXPECT_EQ(parts["copy in"].bytes, stretches * 21 / 32 * std::ldexp(16.0, n));
  EXPECT_EQ(parts["copy out"].bytes, parts["copy in"].bytes);
  EXPECT_GT(parts["passes of a chunk"].measured_s, 0);
}

TEST(Distributed, chunks_that_stream_through_workers) {
  std::mt19937_64 random(6);
  for (const auto family : circuit::family_names()) {
    const int n = 11;
    const circuit::Circuit c = circuit::make_family(family, n);
    const auto one = make_cpu_state(n, Precision::kDouble, 1);
    one->apply(c, c.ops());
    for (const int chunk : {8, 9, 10}) {
      SCOPED_TRACE(std::string(family) + " in chunks of " + std::to_string(chunk));
      int copies = 0;
      for (int* resident : {static_cast<int*>(nullptr), &copies}) {
        const auto many = streamed(n, chunk, Precision::kDouble, resident);
        many->apply(c, c.ops());
        expect_same(*one, *many, random, 1e-12);
        expect_same_shots(*one, *many);
      }
      EXPECT_GT(copies, 0);
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto one = make_cpu_state(10, Precision::kDouble, 1);
    int copies = 0;
    const auto many = streamed(10, 7, Precision::kDouble, seed % 2 ? &copies : nullptr);
    for (int stretch = 0; stretch < 3; ++stretch) {
      const circuit::Circuit c = testing::random_circuit(10, 40, random);
      apply(c, *one, *many);
      measure(static_cast<circuit::Qubit>(random() % 10), *one, *many);
    }
    expect_same_shots(*one, *many);
    expect_same(*one, *many, random, 1e-11);
    if (::testing::Test::HasFailure()) return;
  }
}

// Outcomes that cannot be leave no amplitude, on qubits of a shard's own and on those that number
// the shards, and gates after that work on what is left: nothing.
TEST(Distributed, impossible_outcomes) {
  std::mt19937_64 random(11);
  const int n = 6;
  for (int q = 0; q < n; ++q) {
    for (const bool streams : {false, true}) {
      SCOPED_TRACE("qubit " + std::to_string(q) + (streams ? ", streamed" : ", ranks"));
      const auto one = make_cpu_state(n, Precision::kDouble, 1);
      const auto many = streams ? streamed(n, 4, Precision::kDouble)
                                : make_logical_state(n, Precision::kDouble, 1, 4);
      circuit::Circuit c(static_cast<std::uint32_t>(n));
      for (int k = 0; k < n; ++k)
        if (k != q) c.add_gate(circuit::GateId::kH, {static_cast<unsigned>(k)});
      apply(c, *one, *many);
      one->collapse(static_cast<circuit::Qubit>(q), 1, 1);
      many->collapse(static_cast<circuit::Qubit>(q), 1, 1);
      EXPECT_EQ(one->norm(), 0);
      EXPECT_EQ(many->norm(), 0);
      expect_same(*one, *many, random, 1e-300);
      apply(c, *one, *many);
      many->collapse(static_cast<circuit::Qubit>(q), 0, 1);
      EXPECT_EQ(many->norm(), 0);
      expect_same(*one, *many, random, 1e-300);
    }
  }
}

TEST(Distributed, single_precision) {
  std::mt19937_64 random(2);
  const circuit::Circuit c = circuit::make_family("random", 13);
  const auto one = make_cpu_state(13, Precision::kSingle, 1);
  const auto many = make_logical_state(13, Precision::kSingle, 1, 4);
  apply(c, *one, *many);
  expect_same(*one, *many, random, 2e-5);
}

TEST(Distributed, memory_is_the_state_and_a_ring) {
  const auto many = make_logical_state(22, Precision::kDouble, 1, 8);
  EXPECT_LE(static_cast<double>(many->memory_bytes()), 1.04 * (std::uint64_t{16} << 22));
}

TEST(Distributed, ranks_that_cannot_share_a_state_are_an_error) {
  for (const auto& [ranks, n] : {std::pair{3, 10}, {8, 3}, {0, 4}, {4, 1}}) {
    SCOPED_TRACE(ranks);
    expect_error([n = n, ranks = ranks] { make_logical_state(n, Precision::kDouble, 1, ranks); },
                 "", ExitCode::kUsage);
  }
}

}  // namespace
}  // namespace tilewave::statevec
