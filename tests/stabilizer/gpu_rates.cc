// Rates of both engines on one GPU: shots a second delivered to page-locked host memory, and
// counted on the device, for rotated surface codes with rounds = distance; without a probability
// p = 0.001. With several GPUs, the rate of both counting together follows. leaky:11:0.0001:1 is the code of
// docs/leakage.md, with the probabilities of leaking behind a gate and of coming back once a round.
// Usage: gpu_rates [count|arrays] [distance[:p]...] [leaky:distance:p:relax...]; `count`: only what is counted;
// `arrays`: those that stay on the device, beside it (array_rates.h)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "stabilizer/array_rates.h"
#include "stabilizer/frame_circuits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace {

using namespace tilewave::stabilizer;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void rates(const char* name, std::uint32_t distance, double p, std::uint64_t num_bits, GpuRun& gpu,
           bool only_count) {
  const std::uint64_t bytes = std::uint64_t{2} << 30;
  const std::uint64_t blocks =
      std::max<std::uint64_t>(1, bytes / (gpu.row_stride() * gpu.block_shots()));
  const double shots = static_cast<double>(blocks * gpu.block_shots());
  std::vector<double> delivered, counted;
  std::vector<std::uint64_t> counts;
  for (std::uint64_t k = 0; k < 6; ++k) {
    const double s = gpu.count(1, k * blocks, blocks, num_bits, counts).total_s;
    if (k > 0) counted.push_back(s);
  }
  std::printf("d=%-3u p=%-6g %-7s counted on the device %10.4g shots/s", distance, p, name,
              shots / median(counted));
  if (!only_count) {
    const PinnedBuffer rows(0, blocks * gpu.block_shots() * gpu.row_stride());
    for (std::uint64_t k = 0; k < 6; ++k) {
      const double s = gpu.fill(1, k * blocks, blocks, rows.data()).total_s;
      if (k > 0) delivered.push_back(s);
    }
    std::printf("  delivered %10.4g shots/s (%.1f GB/s)", shots / median(delivered),
                shots * static_cast<double>(gpu.row_stride()) / median(delivered) * 1e-9);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Counted by several GPUs together; nothing where there is one only.
void rate_together(std::uint32_t distance, const StabProgram& program, Engine engine) {
  SampleOptions o;
  o.engine = engine;
  double one = 0;
  for (const std::vector<int>& gpus : {std::vector<int>{0}, std::vector<int>{0, 1}}) {
    o.gpus = gpus;
    std::unique_ptr<ShotSource> source;
    try {
      source = make_shot_source(program, o);
    } catch (const tilewave::Error&) {
      return;
    }
    std::vector<std::uint64_t> table(source->num_bits());
    const std::uint64_t blocks =
        (std::uint64_t{8} << 30) / (source->block_shots() * source->row_stride());
    std::vector<double> times;
    for (std::uint64_t k = 0; k < 4; ++k) {
      const auto start = std::chrono::steady_clock::now();
      source->summarize(1, k * blocks, blocks, false, source->num_bits(), table);
      const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
      if (k > 0) times.push_back(t.count());
    }
    const double rate = static_cast<double>(blocks * source->block_shots()) / median(times);
    if (gpus.size() == 1) one = rate;
    if (gpus.size() == 2) {
      std::printf("d=%-3u %-7s one GPU %10.4g shots/s, two %10.4g: %.2f times\n", distance,
                  engine == Engine::kFrame ? "frame" : "sparse", one, rate, rate / one);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::pair<std::uint32_t, double>> codes;
  std::vector<std::vector<double>> leaky;
  bool only_count = false, arrays = false;
  for (int k = 1; k < argc; ++k) {
    if (!std::strcmp(argv[k], "count") || !std::strcmp(argv[k], "arrays")) {
      (*argv[k] == 'c' ? only_count : arrays) = true;
      continue;
    }
    if (!std::strncmp(argv[k], "leaky:", 6)) {
      leaky.emplace_back();
      for (const char* at = argv[k]; (at = std::strchr(at, ':'));)
        leaky.back().push_back(std::atof(++at));
      if (leaky.back().size() == 3) continue;
      std::fprintf(stderr, "error: %s is not leaky:distance:p:relax\n", argv[k]);
      return 2;
    }
    const char* p = std::strchr(argv[k], ':');
    codes.emplace_back(static_cast<std::uint32_t>(std::atoi(argv[k])),
                       p ? std::atof(p + 1) : 0.001);
  }
  if (codes.empty() && leaky.empty()) codes = {{11, 0.001}, {25, 0.001}, {31, 0.001}};
  try {
    for (const auto& [d, p] : codes) {
      tilewave::circuit::CodeOptions o;
      o.distance = d, o.rounds = d;
      o.after_clifford_depolarization = o.before_measure_flip_probability = p;
      o.after_reset_flip_probability = o.before_round_data_depolarization = p;
      const StabProgram program =
          lower(tilewave::circuit::code_circuit("surface_code", "rotated_memory_z", o));
      if (arrays) {
        char name[64];
        for (const Engine engine : {Engine::kSparse, Engine::kFrame}) {
          std::snprintf(name, sizeof name, "d=%u p=%g %s", d, p,
                        engine == Engine::kSparse ? "sparse" : "frame");
          if (!ArrayRates(name, program, engine).run()) return 1;
        }
        continue;
      }
      const std::uint64_t bits = program.counts.detectors + program.counts.observables;
      rates("sparse", d, p, bits, *make_gpu_run(build_sparse(program, SymptomKind::kDetectors)),
            only_count);
      rates("frame", d, p, bits,
            *make_gpu_run(compile_frames(program, FrameOutput::kDetectors), {}), only_count);
      if (only_count) continue;
      rate_together(d, program, Engine::kSparse);
      rate_together(d, program, Engine::kFrame);
    }
    for (const std::vector<double>& of : leaky) {
      const auto d = static_cast<std::uint32_t>(of[0]);
      const StabProgram program = lower(tilewave::language::parse_stim(leaky_code(d, of[1], of[2])),
                                        "<circuit>", Rotations::kRefuse, Leakage::kKeep);
      std::printf("leaking %g, back %g: ", of[1], of[2]);
      rates("frame", d, 0.001, program.counts.detectors + program.counts.observables,
            *make_gpu_run(compile_frames(program, FrameOutput::kDetectors), {}), only_count);
    }
  } catch (const tilewave::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return static_cast<int>(e.code());
  }
}
