// Attempted shots a second of near-Clifford circuits on one GPU, counted on the device, with all
// detectors post-selected or (file names with `coherent`) with none; then delivered as packed rows
// in device memory.
// Usage: near_clifford_gpu_rates FILE...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace {

using namespace tilewave::stabilizer;

void rates(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const std::string name = path.substr(path.rfind('/') + 1);
  const StabProgram program =
      lower(tilewave::language::parse_stim(text.str(), name), name, Rotations::kKeep);
  SampleOptions o;
  o.num_shots = std::uint64_t{1} << 40;
  o.gpus = {0};
  const auto source = make_shot_source(program, o);
  std::vector<std::uint64_t> mask;
  if (name.find("coherent") == name.npos)
    mask = post_selection_mask("all", program.counts.detectors);
  // As many shots as take about half a second; then the median of five such calls.
  std::uint64_t shots = 1 << 14, kept = 0, at = 0;
  std::vector<std::uint64_t> ones;
  const auto timed = [&](const auto& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    at += shots;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto count = [&] { source->count_kept({1, at, shots}, mask, kept, ones); };
  for (double t = timed(count); t < 0.5 && shots < std::uint64_t{1} << 36; t = timed(count))
    shots = static_cast<std::uint64_t>(static_cast<double>(shots) * std::clamp(0.6 / t, 1.3, 16.));
  std::vector<double> times;
  kept = 0;
  for (int k = 0; k < 5; ++k) times.push_back(timed(count));
  std::sort(times.begin(), times.end());
  std::printf("%-40s counted %10.4g shots/s, kept %.6f", name.c_str(),
              static_cast<double>(shots) / times[2],
              static_cast<double>(kept) / static_cast<double>(5 * shots));
  std::fflush(stdout);
  shots = std::min<std::uint64_t>(shots, (std::uint64_t{4} << 30) / (source->row_bytes() + 1));
  const auto rows = [&] {
    source->keep_on_device({1, at, shots}, {{0, source->num_bits()}}, DeviceLayout::kPacked, mask);
  };
  times.clear();
  for (int k = 0; k < 4; ++k) times.push_back(timed(rows));
  std::sort(times.begin(), times.end());
  std::printf(", as packed rows on the device %10.4g\n", static_cast<double>(shots) / times[1]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int k = 1; k < argc; ++k) rates(argv[k]);
  } catch (const tilewave::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return static_cast<int>(e.code());
  }
}
