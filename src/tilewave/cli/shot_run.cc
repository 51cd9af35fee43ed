#include "tilewave/cli/shot_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <string_view>

#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/signals.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/settings/names.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/checkpoint/record_kind.h"

namespace tilewave::cli {
namespace {

constexpr std::array<const char*, 5> kAsked = {
    "version of tilewave", "circuit or model", "command, format or choice of outputs",
    "number of shots, seed or number of faults", "engine or post-selection"};

std::vector<std::uint64_t> asked_of(const SampleFlags& f, std::uint64_t input,
                                    std::uint64_t outputs,
                                    const stabilizer::SampleOptions& options) {
  Fingerprint version, format, shots, engine;
  version.add(std::string_view(TW_VERSION));
  format.add(outputs).add(std::string_view(f.out_format));
  shots.add(f.shots).add(f.first_shot).add(std::uint64_t{f.seed_given});
  shots.add(f.seed_given ? f.seed : 0);
  shots.add(options.faults ? options.faults->first + 1 : 0);
  shots.add(options.faults ? options.faults->last : 0);
  engine.add(std::string_view(f.engine)).add(std::uint64_t{options.reference});
  engine.add(std::uint64_t{options.must_be_zero.size()});
  for (const std::uint64_t word : options.must_be_zero) engine.add(word);
  return {version.value(), input, format.value(), shots.value(), engine.value()};
}

template <class Bytes, class Done>
void done_fields(Bytes& bytes, Done& done) {
  bytes.fields(done.count, done.ends, done.tails, done.table, done.table_shots);
  bytes.fields(done.kept.attempted, done.kept.kept, done.kept.ones);
}

// Of the last bytes in front of a place in a file.
std::uint64_t tail_of(StimFile& file, std::uint64_t end) {
  constexpr std::uint64_t kTail = 1 << 16;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(end, kTail)));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::pread(fileno(file.get()), bytes.data() + have, bytes.size() - have,
                              static_cast<off_t>(end - bytes.size() + have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  return have == bytes.size() ? fingerprint_of(bytes) : ~std::uint64_t{0};
}

}  // namespace

ShotRun::ShotRun(const SampleFlags& flags, std::uint64_t input, std::uint64_t outputs,
                 stabilizer::SampleOptions& options)
    : folder_(flags.checkpoint), asked_(asked_of(flags, input, outputs, options)) {
  const auto fail = [](const auto&... parts) { tilewave::fail(ExitCode::kUsage, parts...); };
  simulate::CheckpointOptions how;
  how.folder = flags.checkpoint;
  how.resume = flags.resume;
  if (!flags.checkpoint_every.empty()) {
    if (how.folder.empty()) fail("--checkpoint-every needs --checkpoint FOLDER");
    how.every_s = parse_duration("--checkpoint-every", flags.checkpoint_every);
  }
  seed_ = options.seed;
  if (how.folder.empty() && how.resume.empty()) return;
  if (flags.explain) fail("--explain samples nothing: leave out --checkpoint and --resume");
  std::error_code ignored;
  if (!how.resume.empty() &&
      (how.resume != how.folder || std::filesystem::exists(how.resume + "/checkpoint", ignored))) {
    saved_ = std::make_unique<simulate::SavedRun>(how.resume);
    simulate::ByteReader in(saved_->record(), how.resume);
    simulate::need_kind(in, simulate::RecordKind::kShots);
    std::vector<std::uint64_t> asked;
    in.fields(asked, seed_, engine_);
    for (std::size_t k = 0; k < kAsked.size(); ++k) {
      if (k < asked.size() && asked[k] == asked_[k]) continue;
      fail(how.resume, ": the checkpoint is of another ", kAsked[k],
           " (what is left would not fit): start it with the same files and flags");
    }
    done_fields(in, done_);
    if (!in.is_done() || done_.count > options.num_shots || done_.ends.size() != done_.tails.size())
      in.fail();
    options.seed = seed_;
    options.engine = parse_sampling_engine(engine_);
  }
  if (how.folder.empty()) return;
  how.asked = asked_by_signal;
  watch_for_checkpoints();
  keeper_ = std::make_unique<simulate::Keeper>(how, nullptr, saved_.get());
}

void ShotRun::begin(const std::vector<ShotSinkSpec>& sinks, const std::string& engine) {
  if (!goes_on() && !is_kept()) return;
  engine_ = engine;
  for (const ShotSinkSpec& s : sinks) {
    if (s.file->position()) continue;
    throw Error(ExitCode::kUsage, s.file->name() +
                                      " is no file that a run could go on with: name one for the "
                                      "shots (--out FILE) with --checkpoint and --resume");
  }
  if (!goes_on()) {
    keep(sinks, simulate::Asked::kKeep);
    return;
  }
  if (done_.ends.size() != sinks.size()) {
    throw Error(ExitCode::kInput, saved_->folder() + ": the checkpoint is damaged: start anew");
  }
  for (std::size_t k = 0; k < sinks.size(); ++k) {
    StimFile& file = *sinks[k].file;
    if (tail_of(file, done_.ends[k]) != done_.tails[k]) {
      throw Error(ExitCode::kInput, file.name() + ": it is not the file that the checkpoint in " +
                                        saved_->folder() + " goes on with (its first " +
                                        std::to_string(done_.ends[k]) +
                                        " bytes are others): name that one, or start anew");
    }
  }
  for (std::size_t k = 0; k < sinks.size(); ++k) sinks[k].file->go_on_at(done_.ends[k]);
  if (is_kept() && !keeper_->has_checkpoint()) keep(sinks, simulate::Asked::kKeep);
}

void ShotRun::in_stretches(const stabilizer::ShotSource& source,
                           const stabilizer::SampleOptions& options,
                           const std::function<void(const stabilizer::SampleOptions&)>& make,
                           const std::function<void(simulate::Asked)>& keep,
                           const std::function<bool()>& is_stopped) {
  constexpr double kStretch_s = 0.5, kMostGrowth = 4, kMostBlocks = 1e12;
  stabilizer::SampleOptions part = options;
  std::uint64_t at = options.first_shot + done_.count;
  const std::uint64_t end = options.first_shot + options.num_shots;
  // whole blocks, and whole words of 64 shots for the formats that hold such
  const std::uint64_t block = std::lcm(source.block_shots(), std::uint64_t{64});
  double blocks = 1;
  while (at < end && !is_stopped()) {
    const auto ahead = static_cast<std::uint64_t>(blocks);
    const std::uint64_t border = is_kept() ? std::min((at / block + ahead) * block, end) : end;
    const runtime::Timer timer;
    part.first_shot = at;
    part.num_shots = border - at;
    make(part);
    at = border;
    blocks *= std::min(kStretch_s / std::max(timer.elapsed_s(), 1e-6), kMostGrowth);
    blocks = std::clamp(blocks, 1.0, kMostBlocks);
    if (!is_kept() || is_stopped() || at >= end) return;
    if (const simulate::Asked why = keeper_->due(); why != simulate::Asked::kNothing) keep(why);
  }
}

void ShotRun::keep(const std::vector<ShotSinkSpec>& sinks, simulate::Asked why) {
  done_.ends.clear();
  done_.tails.clear();
  for (const ShotSinkSpec& s : sinks) {
    s.file->flush();
    // what the checkpoint counts on is on the disk before it
    if (::fdatasync(fileno(s.file->get())) != 0 && errno != EINVAL) {
      throw Error(ExitCode::kResources,
                  "cannot write '" + s.file->name() + "': " + why_not_written(errno));
    }
    done_.ends.push_back(s.file->position().value_or(0));
    done_.tails.push_back(tail_of(*s.file, done_.ends.back()));
  }
  simulate::ByteWriter out;
  simulate::put_kind(out, simulate::RecordKind::kShots);
  out.fields(asked_, seed_, engine_);
  done_fields(out, done_);
  keeper_->write(out.bytes(), {}, why);
}

void ShotRun::end() {
  if (!keeper_) return;
  if (!keeper_->warning().empty())
    std::fprintf(stderr, "warning: %s\n", keeper_->warning().c_str());
  keeper_->remove();
}

}  // namespace tilewave::cli
