// Shots with post-selection: those that are kept are written as any others, and all are counted.
#include <cstdio>
#include <mutex>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/cli/shot_run.h"
#include "tilewave/cli/signals.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/runtime/progress.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/stabilizer/sample/post_select.h"

namespace tilewave::cli {
namespace {

// Hands rows on and counts what is kept; of the bits only observables.
class CountedSource : public stabilizer::ShotSource {
 public:
  /// Adds to what `kept` has.
  CountedSource(stabilizer::ShotSource& source, const circuit::StabCounts& counts,
                stabilizer::KeptShots& kept)
      : source_(source), counts_(counts), kept_(kept) {
    kept_.ones.resize(counts.detectors + counts.observables);
  }
  std::uint64_t num_bits() const override { return source_.num_bits(); }
  std::uint64_t block_shots() const override { return source_.block_shots(); }
  int devices() const override { return source_.devices(); }
  int most_threads() const override { return source_.most_threads(); }
  std::shared_ptr<std::uint8_t[]> row_memory(std::size_t num_bytes) override {
    return source_.row_memory(num_bytes);
  }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    source_.fill(seed, block, thread, rows);
  }
  std::uint64_t fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                          std::uint64_t end, int thread,
                          const std::vector<std::uint64_t>& must_be_zero,
                          std::uint8_t* rows) override {
    const std::uint64_t kept =
        source_.fill_kept(seed, block, first, end, thread, must_be_zero, rows);
    std::vector<std::uint64_t> ones(counts_.observables);
    stabilizer::add_ones(rows, source_.row_stride(), kept, counts_.detectors, ones);
    const std::scoped_lock lock(mutex_);
    kept_.attempted += end - first;
    kept_.kept += kept;
    for (std::uint64_t l = 0; l < ones.size(); ++l) kept_.ones[counts_.detectors + l] += ones[l];
    return kept;
  }
  std::string engine() const override { return source_.engine(); }
  std::string explain() const override { return source_.explain(); }
  std::uint64_t row_stride() const override { return source_.row_stride(); }

 private:
  stabilizer::ShotSource& source_;
  circuit::StabCounts counts_;
  std::mutex mutex_;
  stabilizer::KeptShots& kept_;
};

}  // namespace

void write_kept_shots(stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
                      const circuit::StabCounts& counts, const std::vector<ShotSinkSpec>& sinks,
                      bool quiet, ShotRun& run) {
  bool counting = false;
  for (const ShotSinkSpec& s : sinks) {
    if (s.format == formats::ShotFormat::kPairs || s.format == formats::ShotFormat::kPtb64) {
      fail(ExitCode::kUsage,
           "--postselect keeps as many shots as pass: use another format than pairs or ptb64");
    }
    counting |= s.format == formats::ShotFormat::kCounts;
  }
  if (counting && sinks.size() > 1)
    fail(ExitCode::kUsage, "counts cannot be combined with --obs_out");
  if (!counting) {
    CountedSource counted(source, counts, run.done().kept);
    write_shots(counted, options, sinks, quiet, run);
    if (quiet) return;
    const stabilizer::KeptShots& k = run.done().kept;
    std::string line =
        "attempted " + std::to_string(k.attempted) + ", kept " + std::to_string(k.kept);
    for (std::uint64_t l = 0; l < counts.observables; ++l)
      line += ", L" + std::to_string(l) + " " + std::to_string(k.ones[counts.detectors + l]);
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  runtime::Timer timer;
  runtime::ProgressBar bar(stderr, !quiet && runtime::wants_progress(stderr));
  std::optional<NotedSignals> signals(std::in_place);
  run.begin(sinks, source.engine());
  stabilizer::KeptShots& k = run.done().kept;
  const auto make = [&](const stabilizer::SampleOptions& part) {
    const stabilizer::KeptShots more =
        stabilizer::count_kept(source, part, [&](std::uint64_t done) {
          const double share =
              static_cast<double>(k.attempted + done) / static_cast<double>(options.num_shots);
          bar.update(share, timer.elapsed_s() * (1 / share - 1));
          return NotedSignals::noted() == 0;
        });
    k.attempted += more.attempted;
    k.kept += more.kept;
    k.ones.resize(more.ones.size());
    for (std::size_t b = 0; b < k.ones.size(); ++b) k.ones[b] += more.ones[b];
  };
  const auto keep = [&](simulate::Asked why) {
    run.done().count = k.attempted;
    run.keep(sinks, why);
  };
  run.in_stretches(source, options, make, keep, [] { return NotedSignals::noted() != 0; });
  bar.clear();
  signals.reset();
  if (NotedSignals::noted() && run.is_kept()) {
    keep(simulate::Asked::kKeep);
    std::fprintf(stderr, "interrupted before shot %llu of seed %llu: go on with --resume %s\n",
                 static_cast<unsigned long long>(options.first_shot + k.attempted),
                 static_cast<unsigned long long>(options.seed), run.folder().c_str());
    NotedSignals::raise_noted();
  }
  k.ones.resize(counts.detectors + counts.observables);
  std::string text =
      "attempted " + std::to_string(k.attempted) + "\nkept " + std::to_string(k.kept) + "\n";
  const auto& mask = options.must_be_zero;
  for (std::uint64_t d = 0; d < counts.detectors; ++d) {
    if (!((mask[d / 64] >> (d % 64)) & 1))
      text += "D" + std::to_string(d) + " " + std::to_string(k.ones[d]) + "\n";
  }
  for (std::uint64_t l = 0; l < counts.observables; ++l)
    text += "L" + std::to_string(l) + " " + std::to_string(k.ones[counts.detectors + l]) + "\n";
  sinks[0].file->write(text);
  sinks[0].file->flush();
  if (!NotedSignals::noted()) return run.end();
  std::fprintf(stderr, "interrupted: the counts are of the shots attempted\n");
  NotedSignals::raise_noted();
}

}  // namespace tilewave::cli
