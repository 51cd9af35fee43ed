#include "tilewave/simulate/topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::simulate {

Topology read_topology(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ExitCode::kInput, path + ": cannot read the file");
  Topology t;
  t.cost.tile_qubits = 12;
  t.cost.row_bits = 3;
  // fitted to nine families at 32 qubits, FP64, on one and two H200, 2026-11-22 (multi_gpu time):
  // a circuit within 13%
  t.cost.exposed = 0.65;
  t.cost.lift_s = 2.6e-13;
  t.cost.flip_s = 2.6e-13;
  t.cost.rotate_s = 4.4e-13;
  t.cost.phase_s = 1.1e-13;
  t.cost.multiply_s = 2.7e-13;
  t.cost.late_phases = true;
  t.cost.bandwidth = 4.2e12;
  t.cost.overlap = {3, 0, 0.6};  // exchanges beside passes go in eight slices
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const auto fail = [&](const std::string& problem) {
      throw Error(ExitCode::kInput, path + ":" + std::to_string(number) + ": " + problem);
    };
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string kind, name, rest;
    if (!(words >> kind)) continue;
    double rate = 0;
    if (kind == "pass") {
      if (!(words >> rate) || !(rate > 0)) fail("pass needs GB/s: pass 4200");
      t.cost.bandwidth = 1e9 * rate;
    } else if (kind == "tile") {
      int tile = 0, row = 0;
      if (!(words >> tile >> row) || tile < 6 || tile > 20 || row < 0 || row >= tile) {
        fail("tile needs active and row positions: tile 12 3");
      }
      t.cost.tile_qubits = tile, t.cost.row_bits = row;
    } else if (kind == "hidden") {
      double& hidden = t.cost.overlap.hidden;
      if (!(words >> hidden) || !(hidden >= 0 && hidden <= 1)) {
        fail("hidden needs a share from 0 to 1: hidden 0.6");
      }
    } else if (kind == "level") {
      int ranks = 0;
      if (!(words >> name >> ranks >> rate) || ranks < 2 || ranks > 1 << 20 ||
          !std::has_single_bit(static_cast<unsigned>(ranks)) || !(rate > 0)) {
        fail("level needs a name, a power of two and GB/s: level nvlink 8 320");
      }
      t.levels.push_back({name, std::countr_zero(static_cast<unsigned>(ranks)), 1e9 * rate});
      t.cost.shard_bits += t.levels.back().bits;
    } else {
      fail("the first word is none of pass, tile, hidden and level");
    }
    if (words >> rest) fail("there is more than " + kind + " takes");
  }
  if (t.levels.empty()) throw Error(ExitCode::kInput, path + ": no line describes a level");
  if (t.cost.shard_bits > 20) throw Error(ExitCode::kInput, path + ": more than 2^20 ranks");
  const double ranks = t.num_ranks();
  for (double* s :
       {&t.cost.lift_s, &t.cost.flip_s, &t.cost.rotate_s, &t.cost.phase_s, &t.cost.multiply_s}) {
    *s /= ranks;
  }
  t.cost.bandwidth *= ranks;
  t.cost.exchange_bandwidth = t.levels.back().bytes_per_s;
  return t;
}

std::vector<double> price_exchanges(statevec::Plan& plan, const Topology& topology) {
  std::vector<int> level_of;  // of a shard bit
  for (std::size_t l = 0; l < topology.levels.size(); ++l)
    level_of.insert(level_of.end(), static_cast<std::size_t>(topology.levels[l].bits),
                    static_cast<int>(l));
  const int local = plan.num_qubits - plan.shard_bits;
  std::vector<double> sent(topology.levels.size(), 0.0);
  plan.predicted_s = 0;
  for (const auto& pass : plan.passes) plan.predicted_s += pass.predicted_s;
  for (auto& step : plan.exchanges) {
    const std::uint64_t group = bit(static_cast<int>(step.swaps.size()));
    if (!(step.bytes > 0)) continue;
    const double each = std::ldexp(step.bytes, -plan.shard_bits) / static_cast<double>(group - 1);
    std::vector<double> here(topology.levels.size(), 0.0);
    for (std::uint64_t d = 1; d < group; ++d) {
      int outermost = 0;
      for_each_bit(d, [&](int j) {
        const int shard_bit = step.swaps[static_cast<std::size_t>(j)].second - local;
        outermost = std::max(outermost, level_of[static_cast<std::size_t>(shard_bit)]);
      });
      here[static_cast<std::size_t>(outermost)] += each;
    }
    step.predicted_s = 0;
    for (std::size_t l = 0; l < here.size(); ++l) {
      sent[l] += here[l];
      step.predicted_s = std::max(step.predicted_s, here[l] / topology.levels[l].bytes_per_s);
    }
    plan.predicted_s += step.predicted_s;
  }
  plan.predicted_s -= statevec::hidden_s(plan, topology.cost.overlap);
  return sent;
}

}  // namespace tilewave::simulate
