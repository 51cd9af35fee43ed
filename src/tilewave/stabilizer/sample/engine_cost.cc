#include "tilewave/stabilizer/sample/engine_cost.h"

#include <vector>

#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {

FrameWork work_of(const FrameProgram& program) {
  FrameWork work;
  work.rows = static_cast<double>(program.num_rows_out());
  std::vector<double> times{1};
  for (const FrameOp& op : program.ops) {
    const double t = times.back(), streams = op.ticks / 32.0;
    switch (op.code) {
      case FrameCode::kLoop:
        times.push_back(t * static_cast<double>(program.loops[op.first]));
        break;
      case FrameCode::kLoopEnd:
        times.pop_back();
        break;
      case FrameCode::kSites:
        work.streams += t * streams;
        for (std::uint32_t k = 0; k < op.ticks; ++k)
          work.site_events += t * program.site_streams[op.channel + k].total / 32;
        break;
      case FrameCode::kPauli1:
      case FrameCode::kPauli2:
      case FrameCode::kHerald:
      case FrameCode::kRecordFlip:
      case FrameCode::kLeak:
      case FrameCode::kLeakPair:
      case FrameCode::kUnleaked1:
      case FrameCode::kUnleaked2:
      case FrameCode::kFalseFlag:
        work.streams += t * streams;
        work.events += t * op.count * program.channels[op.channel].probability;
        break;
      case FrameCode::kCorrelated:
        work.streams += t * streams;
        work.events += t * program.channels[op.channel].probability;
        work.targets += t * op.count;
        break;
      case FrameCode::kCoin:
        work.streams += t * op.count / 4 / 32.0;  // four targets a draw
        work.targets += t * op.count;
        break;
      default:
        work.targets += t * op.count;
    }
  }
  return work;
}

double frame_seconds(const FrameWork& w) {
  return kFrameShotSeconds + w.targets * kFrameTargetSeconds + w.streams * kFrameStreamSeconds +
         w.events * kFrameEventSeconds + w.site_events * kFrameSiteSeconds +
         w.rows * kFrameRowSeconds;
}

double sparse_seconds(const SparseProgram& p) {
  const auto number = [](auto n) { return static_cast<double>(n); };
  const double flips = p.event_flips_per_shot + p.site_flips_per_shot + p.coin_flips_per_shot;
  const double streams =
      number(p.tiles.size() + p.site_groups.size()) / number(std::uint64_t{1} << p.log2_unit);
  return kSparseShotSeconds + p.events_per_shot * kSparseEventSeconds +
         p.sites_per_shot * kSparseHitSeconds + flips * kSparseFlipSeconds +
         number(p.coins.size()) * kSparseCoinSeconds + streams * kSparseStreamSeconds +
         number(p.row_bytes()) * kSparseByteSeconds;
}

std::string describe(const FrameWork& w) {
  return "a shot: " + std::to_string(w.targets) + " targets, " + std::to_string(w.streams) +
         " random streams, " + std::to_string(w.events) + " events, " +
         std::to_string(w.site_events) + " events of sites, " + std::to_string(w.rows) +
         " rows, predicted " + std::to_string(frame_seconds(w) * 1e9) + " ns\n";
}

std::string describe(const SparseProgram& program) {
  std::string out;
  const auto line = [&](const std::string& text) { out.append(text).append("\n"); };
  line("output bits " + std::to_string(program.num_bits));
  line("shots a unit " + std::to_string(std::uint64_t{1} << program.log2_unit));
  line("events a shot " + std::to_string(program.events_per_shot) + ", flipping " +
       std::to_string(program.event_flips_per_shot) + " bits, from " +
       std::to_string(program.tiles.size()) + " tiles of " + std::to_string(program.groups.size()) +
       " tables, " + std::to_string(program.alias.size()) + " mechanisms");
  line("disjoint channels " + std::to_string(program.sites.size()) + " places, " +
       std::to_string(program.sites_per_shot) + " hits a shot, flipping " +
       std::to_string(program.site_flips_per_shot) + " bits");
  line("coins " + std::to_string(program.coins.size()) + ", " +
       std::to_string(program.coin_flips_per_shot) + " flips a shot");
  return out;
}

}  // namespace tilewave::stabilizer
