// Arrays that stay on a GPU: every layout of both engines against the CPU, bit for bit, calls of
// more shots than one launch makes, and memory that is used again. Skipped where there is no device.
#include <gtest/gtest.h>

#include <cstdio>

#include "stabilizer/device_layouts.h"
#include "stabilizer/frame_circuits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/runtime/cuda/device_memory.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kSeed = 23;

std::unique_ptr<ShotSource> source_of(const StabProgram& p, Engine engine, std::vector<int> gpus) {
  SampleOptions o;
  o.engine = engine;
  o.seed = kSeed;
  o.num_shots = 1 << 20;
  o.num_threads = 2;
  o.gpus = std::move(gpus);
  return make_shot_source(p, o);
}

// Null where there is no GPU.
std::unique_ptr<ShotSource> gpu_source(const StabProgram& p, Engine engine) {
  try {
    return source_of(p, engine, {0});
  } catch (const Error& e) {
    if (e.code() != ExitCode::kResources) throw;
    std::printf("no GPU: %s\n", e.what());
    return nullptr;
  }
}

StabProgram code(std::uint32_t distance, double p) {
  circuit::CodeOptions o;
  o.distance = o.rounds = distance;
  o.after_clifford_depolarization = o.before_measure_flip_probability = p;
  return lower(circuit::code_circuit("surface_code", "rotated_memory_z", o));
}

// Detectors, of which some share an observable.
std::string chain(int detectors, int observables = 0) {
  std::string out;
  for (int k = 0; k < detectors; ++k) {
    out += "X_ERROR(0." + std::to_string(1 + k % 4) + ") 0\nMR 0\nDETECTOR rec[-1]\n";
    if (observables > 0)
      out += "OBSERVABLE_INCLUDE(" + std::to_string(k % observables) + ") rec[-1]\n";
  }
  return out;
}

// Rows of 1 to 17 bytes and of whole words, stretches that begin and end anywhere, also where arrays are written
// as shots are made.
TEST(DeviceArrays, every_layout_has_the_bits_of_the_cpu) {
  std::vector<std::pair<std::string, StabProgram>> programs;
  for (const int bits : {1, 2, 7, 8, 9, 24, 31, 32, 33, 40, 128})
    programs.emplace_back(std::to_string(bits) + " bits", lower(language::parse_stim(chain(bits))));
  for (int bytes = 1; bytes <= 17; ++bytes) {
    for (const int observables : {1, 3})
      programs.emplace_back(
          std::to_string(bytes) + " bytes, " + std::to_string(observables) + " observables",
          lower(language::parse_stim(chain(8 * bytes - bytes % 5 - observables, observables))));
  }
  programs.emplace_back("every channel", lower(language::parse_stim(kChannels)));
  programs.emplace_back("d=3", code(3, 0.01));
  programs.emplace_back("d=7", code(7, 0.005));
  programs.emplace_back("d=11", code(11, 0.005));
  for (const auto& [name, program] : programs) {
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      const auto gpu = gpu_source(program, engine);
      if (!gpu) GTEST_SKIP();
      const auto cpu = source_of(program, engine, {});
      const std::uint64_t bytes = cpu->row_bytes();
      for (const auto& [first, count] : {std::pair{0u, 4096u},
                                         {1u, 1u},
                                         {1000u, 5000u},
                                         {31u, 33u},
                                         {1024u, 1000u},
                                         {5u, 0u},
                                         {2048u, 3072u},
                                         {384u, 5117u}}) {
        const std::string what = name + (engine == Engine::kFrame ? " frame" : " sparse") +
                                 " from " + std::to_string(first) + " " + std::to_string(count);
        const std::vector<std::uint8_t> want = rows_of(*cpu, kSeed, first, count);
        expect_layouts(*gpu, {kSeed, first, count}, {}, want, what);
        for (const Mask& mask : {Mask{1}, Mask{0x8000000000000101}})
          expect_layouts(*gpu, {kSeed, first, count}, mask, kept_of(want, bytes, mask),
                         "kept of " + what);
      }
    }
  }
}

// More than the rows of a launch, a gigabyte at most: the same as many short calls.
TEST(DeviceArrays, long_calls_have_the_shots_of_short_ones) {
  const StabProgram program = code(11, 0.002);
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    const auto gpu = gpu_source(program, engine);
    if (!gpu) GTEST_SKIP();
    const std::uint64_t bits = gpu->num_bits(), first = 1234, count = 14'000'003;
    const std::vector<BitRange> parts{{0, bits}, {777, 33}};
    const auto bytes_of = [](const DeviceShots& d, std::uint64_t from, std::uint64_t n) {
      std::vector<std::uint8_t> out(n);
      runtime::cuda::copy_on_device(0, out.data(),
                                    static_cast<const std::uint8_t*>(d.memory.get()) + from, n);
      runtime::cuda::finish_on_device(0);
      return out;
    };
    for (const Mask& mask : {Mask{}, Mask{0x11}}) {
      const auto keep = [&](std::uint64_t from, std::uint64_t n, DeviceLayout layout) {
        return gpu->keep_on_device({kSeed, from, n}, parts, layout, mask);
      };
      const auto packed = keep(first, count, DeviceLayout::kPacked);
      std::uint64_t at = 0;
      constexpr std::uint64_t kPiece = 100'000;
      for (std::uint64_t done = 0; done < count; done += kPiece) {
        const auto part = keep(first + done, std::min(kPiece, count - done), DeviceLayout::kPacked);
        for (std::size_t k = 0; k < parts.size(); ++k) {
          const std::uint64_t n = part[k].shots * part[k].row_bytes;
          ASSERT_TRUE(bytes_of(part[k], 0, n) == bytes_of(packed[k], at * part[k].row_bytes, n))
              << "shots from " << done << " part " << k;
        }
        at += part[0].shots;
      }
      ASSERT_EQ(at, packed[0].shots);
      // The other layouts of the narrow part, from its packed rows.
      const std::uint64_t shots = at, stride = packed[1].row_bytes;
      const auto rows = bytes_of(packed[1], 0, shots * stride);
      const auto bit_rows = keep(first, count, DeviceLayout::kBitRows);
      const auto lists = keep(first, count, DeviceLayout::kLists);
      ASSERT_EQ(bit_rows[1].shots, shots);
      ASSERT_EQ(bit_rows[1].row_bytes, (shots + 7) / 8);
      const auto turned = bytes_of(bit_rows[1], 0, bit_rows[1].rows * bit_rows[1].row_bytes);
      const auto offsets = to_host<std::int64_t>(lists[1].offsets, shots + 1);
      const auto ones = to_host<std::uint32_t>(lists[1].memory, lists[1].rows);
      std::uint64_t wrong = 0, next = 0;
      for (std::uint64_t s = 0; s < shots; ++s) {
        wrong += offsets[s] != static_cast<std::int64_t>(next);
        for (std::uint64_t b = 0; b < parts[1].count; ++b) {
          const bool set = bit(rows.data() + s * stride, b);
          wrong += bit(turned.data() + b * bit_rows[1].row_bytes, s) != set;
          if (set) wrong += next >= ones.size() || ones[next++] != b;
        }
      }
      EXPECT_EQ(next, ones.size());
      EXPECT_EQ(wrong, 0u);
    }
  }
}

// Memory of arrays that were let go is used again, and never by two arrays at a time.
TEST(DeviceArrays, memory_is_used_again) {
  const auto gpu = gpu_source(code(5, 0.01), Engine::kSparse);
  if (!gpu) GTEST_SKIP();
  const std::vector<BitRange> all{{0, gpu->num_bits()}};
  const auto keep = [&](std::uint64_t count) {
    return gpu->keep_on_device({kSeed, 0, count}, all, DeviceLayout::kPacked, {}).front();
  };
  DeviceShots held = keep(1 << 20), other = keep(1 << 20);
  EXPECT_NE(held.memory, other.memory);
  const void* const before = other.memory.get();
  const std::vector<std::uint8_t> want =
      to_host<std::uint8_t>(held.memory, held.rows * held.row_bytes);
  other = {};
  other = keep(1 << 20);
  EXPECT_EQ(other.memory.get(), before);
  EXPECT_TRUE(to_host<std::uint8_t>(other.memory, other.rows * other.row_bytes) == want);
  other = {};
  other = keep(1000);  // not for what is much smaller
  EXPECT_NE(other.memory.get(), before);
}

}  // namespace
}  // namespace tilewave::stabilizer
