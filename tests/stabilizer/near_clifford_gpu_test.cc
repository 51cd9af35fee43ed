// Near-Clifford shots, post-selection and the layouts of device memory on a GPU, bit for bit against
// the CPU. Skipped where there is no device.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "stabilizer/device_layouts.h"
#include "stabilizer/frame_circuits.h"
#include "stabilizer/random_circuit.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/stabilizer/sample/shot_layouts.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kSeed = 11;

SampleOptions options_for(std::vector<int> gpus, ShotOutput output, Engine engine) {
  SampleOptions o;
  o.output = output;
  o.engine = engine;
  o.seed = kSeed;
  o.num_shots = 1 << 20;
  o.num_threads = 4;
  o.gpus = std::move(gpus);
  return o;
}

// Null where there is no GPU.
std::unique_ptr<ShotSource> gpu_source(const StabProgram& p, ShotOutput output, Engine engine) {
  try {
    return make_shot_source(p, options_for({0}, output, engine));
  } catch (const Error& e) {
    if (e.code() != ExitCode::kResources) throw;
    std::printf("no GPU: %s\n", e.what());
    return nullptr;
  }
}

std::uint64_t rows_that_differ(const std::vector<std::uint8_t>& a,
                               const std::vector<std::uint8_t>& b, std::uint64_t bytes) {
  if (a.size() != b.size()) return ~std::uint64_t{0};
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < a.size(); at += bytes)
    wrong += !std::equal(a.begin() + static_cast<std::ptrdiff_t>(at),
                         a.begin() + static_cast<std::ptrdiff_t>(at + bytes),
                         b.begin() + static_cast<std::ptrdiff_t>(at));
  return wrong;
}

// All that a GPU source does, for shots that do not begin with a block.
void expect_same(const StabProgram& program, ShotOutput output, Engine engine, std::uint64_t shots,
                 const Mask& mask, const std::string& what, bool* no_gpu, bool layouts = false) {
  const auto gpu = gpu_source(program, output, engine);
  if (!gpu) {
    *no_gpu = true;
    return;
  }
  const auto cpu = make_shot_source(program, options_for({}, output, engine));
  ASSERT_EQ(gpu->num_bits(), cpu->num_bits());
  const std::uint64_t first = 1000, bytes = cpu->row_bytes();
  const std::vector<std::uint8_t> want = rows_of(*cpu, kSeed, first, shots);
  EXPECT_EQ(rows_that_differ(rows_of(*gpu, kSeed, first, shots), want, bytes), 0u) << what;
  if (output == ShotOutput::kRecords) return;
  // What is kept, row by row and counted.
  SampleOptions o = options_for({}, output, engine);
  o.first_shot = first, o.num_shots = shots, o.must_be_zero = mask;
  const std::vector<std::uint8_t> kept = kept_of(want, bytes, mask);
  std::vector<std::uint8_t> have;
  std::vector<std::uint8_t> block(gpu->block_shots() * gpu->row_stride() + 64);
  for (std::uint64_t b = first / gpu->block_shots(); b * gpu->block_shots() < first + shots; ++b) {
    const std::uint64_t begin = b * gpu->block_shots();
    const std::uint64_t n = gpu->fill_kept(
        kSeed, b, std::max(first, begin) - begin,
        std::min(first + shots, begin + gpu->block_shots()) - begin, 0, mask, block.data());
    for (std::uint64_t s = 0; s < n; ++s) {
      const auto row = block.begin() + static_cast<std::ptrdiff_t>(s * gpu->row_stride());
      have.insert(have.end(), row, row + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  EXPECT_EQ(rows_that_differ(have, kept, bytes), 0u) << "kept of " << what;
  const auto all = [](std::uint64_t) { return true; };
  const KeptShots a = count_kept(*gpu, o, all), b = count_kept(*cpu, o, all);
  EXPECT_EQ(a.attempted, shots);
  EXPECT_EQ(a.kept, b.kept) << what;
  EXPECT_EQ(a.kept, kept.size() / bytes) << what;
  for (std::uint64_t k = 0; k < gpu->num_bits(); ++k)
    ASSERT_EQ(a.ones[k], b.ones[k]) << "bit " << k << " of " << what;
  if (!layouts) return;
  expect_layouts(*gpu, {kSeed, first, shots}, {}, want, what);
  expect_layouts(*gpu, {kSeed, first, shots}, mask, kept, "kept of " + what);
}

TEST(NearCliffordGpu, random_circuits_have_the_shots_of_the_cpu) {
  const char* more = std::getenv("TW_NEAR_CLIFFORD_CIRCUITS");
  const int circuits = more ? std::atoi(more) : 60;
  for (int k = 0; k < circuits; ++k) {
    // Of up to ten qubits: amplitudes of a thread and of a warp.
    const int qubits = k % 3 == 2 ? 7 + k % 4 : 2 + k % 5;
    const std::string text = RandomCircuit(static_cast<std::uint64_t>(k))
                                 .text(qubits, 14 + 2 * (k % 11) + 2 * qubits, {});
    const StabProgram program = lower(language::parse_stim(text), "<circuit>", Rotations::kKeep);
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      for (ShotOutput output : {ShotOutput::kRecords, ShotOutput::kDetectors}) {
        bool no_gpu = false;
        expect_same(program, output, engine, 20000, {0b101}, "circuit " + std::to_string(k),
                    &no_gpu, k % 10 == 0);
        if (no_gpu) GTEST_SKIP();
        if (HasFailure()) FAIL() << text;
      }
    }
  }
}

std::string read(const std::string& name) {
  std::ifstream in(std::string(TW_NEAR_CLIFFORD_DATA) + "/" + name + ".stim");
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_GT(text.str().size(), 100u) << name;
  return text.str();
}

TEST(NearCliffordGpu, benchmark_circuits_have_the_shots_of_the_cpu) {
  const std::vector<std::pair<std::string, std::uint64_t>> circuits{
      {"msc_d3_inject_cultivate_p1e-3", 500000},
      {"msc_d5_inject_cultivate_p1e-3", 100000},
      {"distillation", 300000},
      {"coherent_d3_r1", 200000},
      {"coherent_d3_r3", 50000},
      {"coherent_d5_r1", 5000},
      {"coherent_d5_r5", 300}};
  for (const auto& [name, shots] : circuits) {
    const StabProgram program = lower(language::parse_stim(read(name)), name, Rotations::kKeep);
    const Mask mask = post_selection_mask("all", program.counts.detectors);
    bool no_gpu = false;
    expect_same(program, ShotOutput::kDetectors, Engine::kAuto, shots, mask, name, &no_gpu,
                shots > 100000);
    if (no_gpu) GTEST_SKIP();
  }
}

// Nineteen active qubits: amplitudes in device memory.
TEST(NearCliffordGpu, many_active_qubits) {
  const StabProgram program =
      lower(language::parse_stim(read("MSC_circuit_d7_p0.0005")), "d7", Rotations::kKeep);
  const Mask mask = post_selection_mask("all", program.counts.detectors);
  SampleOptions o = options_for({}, ShotOutput::kDetectors, Engine::kAuto);
  o.num_shots = 1500, o.must_be_zero = mask;
  const auto gpu = gpu_source(program, ShotOutput::kDetectors, Engine::kAuto);
  if (!gpu) GTEST_SKIP();
  const auto cpu =
      make_shot_source(program, options_for({}, ShotOutput::kDetectors, Engine::kAuto));
  const auto all = [](std::uint64_t) { return true; };
  const KeptShots a = count_kept(*gpu, o, all), b = count_kept(*cpu, o, all);
  EXPECT_GT(a.kept, 0u);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_EQ(a.ones, b.ones);
}

// Circuits with leakage as well, where heralds are records of detectors.
TEST(NearCliffordGpu, leaky_circuits_are_kept_as_on_the_cpu) {
  std::vector<std::string> texts = leaky_circuits();
  texts.push_back(leaky_code(5, 0.002, 0.3));
  for (const std::string& text : texts) {
    const StabProgram program =
        lower(language::parse_stim(text), "<circuit>", Rotations::kRefuse, Leakage::kKeep);
    for (ShotOutput output : {ShotOutput::kDetectors, ShotOutput::kRecords}) {
      if (output == ShotOutput::kDetectors && program.counts.detectors == 0) continue;
      bool no_gpu = false;
      expect_same(program, output, Engine::kAuto, program.counts.qubits > 1000 ? 3000 : 30003,
                  {0b101}, text.substr(0, 300), &no_gpu, true);
      if (no_gpu) GTEST_SKIP();
    }
  }
}

// Circuits of Clifford gates are post-selected, and stay on the device, in the same way.
TEST(NearCliffordGpu, clifford_circuits_are_kept_as_on_the_cpu) {
  circuit::CodeOptions o;
  o.after_clifford_depolarization = o.before_measure_flip_probability = 0.004;
  o.distance = 5, o.rounds = 5;
  const StabProgram program = lower(circuit::code_circuit("surface_code", "rotated_memory_z", o));
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    bool no_gpu = false;
    expect_same(program, ShotOutput::kDetectors, engine, 200003,
                post_selection_mask("0-20,40", program.counts.detectors), "surface code", &no_gpu,
                true);
    if (no_gpu) GTEST_SKIP();
  }
}

// Several GPUs count what one counts, and refuse arrays.
TEST(NearCliffordGpu, several_devices) {
  const StabProgram program =
      lower(language::parse_stim(read("msc_d3_inject_cultivate_p1e-3")), "d3", Rotations::kKeep);
  SampleOptions o = options_for({0}, ShotOutput::kDetectors, Engine::kAuto);
  o.first_shot = 12345, o.num_shots = 40000001;
  o.must_be_zero = post_selection_mask("all", program.counts.detectors);
  std::unique_ptr<ShotSource> one, two;
  try {
    one = make_shot_source(program, o);
    o.gpus = {0, 1};
    two = make_shot_source(program, o);
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  const auto all = [](std::uint64_t) { return true; };
  const KeptShots a = count_kept(*one, o, all), b = count_kept(*two, o, all);
  EXPECT_EQ(a.attempted, b.attempted);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_EQ(a.ones, b.ones);
  EXPECT_THROW(two->keep_on_device({kSeed, 0, 10}, {{0, 1}}, DeviceLayout::kPacked, {}), Error);
}

}  // namespace
}  // namespace tilewave::stabilizer
