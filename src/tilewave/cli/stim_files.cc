#include "tilewave/cli/stim_files.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <span>

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/shot_run.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/runtime/progress.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/runtime/write_pieces.h"
#include "tilewave/settings/device.h"
#include "tilewave/settings/names.h"
#include "tilewave/settings/words.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/sample/fill_shots.h"

namespace tilewave::cli {

namespace {

// An interrupt while shots are made. The first signal asks for an end behind the block at hand. If
// that does not come within kGraceSeconds, because the block takes long or whoever reads the shots
// does not, the process ends where it is: files are cut behind their last whole shot. A second
// signal ends it at once, as it would outside.
constexpr int kGraceSeconds = 1;
std::atomic<int> interrupted{0};  // the signal's number
struct sigaction int_before, term_before, alarm_before;

struct GrowingFile {
  int descriptor;
  std::atomic<std::int64_t> whole;  // bytes that hold whole shots; -1: it cannot be cut
};
struct Growing {
  std::vector<GrowingFile> files;
  std::atomic<std::uint64_t> next_shot;
  std::string advice;  // how to go on
};
std::atomic<const Growing*> growing{nullptr};

constexpr char kBeforeShot[] = "interrupted before shot ";

void note_interrupt(int signal) {
  interrupted = signal;
  sigaction(SIGINT, &int_before, nullptr);
  sigaction(SIGTERM, &term_before, nullptr);
  alarm(kGraceSeconds);
}

void say(const char* text, std::size_t size) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, size);
}

void end_where_it_is(int) {
  if (const Growing* const g = growing) {
    cut_growing_files();
    char digits[24], *end = digits + sizeof digits, *at = end;
    std::uint64_t n = g->next_shot;
    do {
      *--at = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n > 0);
    say(kBeforeShot, sizeof kBeforeShot - 1);
    say(at, static_cast<std::size_t>(end - at));
    say(g->advice.data(), g->advice.size());
  }
  std::signal(interrupted, SIG_DFL);
  std::raise(interrupted);
}

// While it lives, signals do that.
class ShotSignals {
 public:
  ShotSignals(const std::vector<ShotSinkSpec>& sinks, std::uint64_t first_shot,
              const std::string& advice)
      : growing_{std::vector<GrowingFile>(sinks.size()), first_shot, advice} {
    for (std::size_t k = 0; k < sinks.size(); ++k) {
      growing_.files[k].descriptor = fileno(sinks[k].file->get());
      growing_.files[k].whole = -1;
    }
    growing = &growing_;
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = end_where_it_is;
    sigaction(SIGALRM, &action, &alarm_before);
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESTART;  // a write goes on: it holds whole shots
    sigaction(SIGINT, &action, &int_before);
    sigaction(SIGTERM, &action, &term_before);
  }
  ~ShotSignals() {
    alarm(0);
    growing = nullptr;
    sigaction(SIGINT, &int_before, nullptr);
    sigaction(SIGTERM, &term_before, nullptr);
    sigaction(SIGALRM, &alarm_before, nullptr);
  }
  ShotSignals(const ShotSignals&) = delete;
  ShotSignals& operator=(const ShotSignals&) = delete;

  /// Files that end here hold whole shots, all before `next_shot`.
  void keep(const std::vector<std::optional<std::uint64_t>>& ends, std::uint64_t next_shot) {
    for (std::size_t k = 0; k < ends.size(); ++k)
      growing_.files[k].whole = ends[k] ? static_cast<std::int64_t>(*ends[k]) : -1;
    growing_.next_shot = next_shot;
  }

 private:
  Growing growing_;
};

// The share of the shots that is done, on the standard error. Nothing where shots appear on the
// same terminal.
class ShotProgress {
 public:
  ShotProgress(std::uint64_t num_shots, const std::vector<ShotSinkSpec>& sinks, bool quiet)
      : num_shots_(num_shots),
        bar_(stderr, !quiet && runtime::wants_progress(stderr) &&
                         std::none_of(sinks.begin(), sinks.end(), [](const ShotSinkSpec& s) {
                           return isatty(fileno(s.file->get()));
                         })) {}

  void update(std::uint64_t done) {
    const double share = static_cast<double>(done) / static_cast<double>(num_shots_);
    if (done > 0) bar_.update(share, timer_.elapsed_s() * (1 / share - 1));
  }
  void clear() { bar_.clear(); }

 private:
  std::uint64_t num_shots_;
  runtime::Timer timer_;
  runtime::ProgressBar bar_;
};

// Whole blocks are counted where they are made, the shots before and behind them as rows. False
// where the source cannot.
bool summarize(stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
               const stabilizer::ShotPipeline& pipeline, formats::ShotSummary& summary,
               std::uint64_t num_bits, ShotProgress& progress, std::uint64_t& done) {
  constexpr std::uint64_t kBlocks = 512;  // between looks for an interrupt
  if (!source.summarize(options.seed, 0, 0, summary.pairs(), num_bits, summary.table()))
    return false;
  const std::uint64_t block = source.block_shots(), end = options.first_shot + options.num_shots;
  const std::uint64_t first_block = (options.first_shot + block - 1) / block,
                      end_block = end / block;
  const auto rows = [&](std::uint64_t from, std::uint64_t to) {
    stabilizer::SampleOptions part = options;
    part.first_shot = from, part.num_shots = to - from;
    if (to > from && !interrupted) stabilizer::run_shots(source, part, pipeline);
  };
  if (first_block >= end_block) {
    rows(options.first_shot, end);
    return true;
  }
  rows(options.first_shot, first_block * block);
  for (std::uint64_t b = first_block; b < end_block && !interrupted; b += kBlocks) {
    const std::uint64_t n = std::min(kBlocks, end_block - b);
    source.summarize(options.seed, b, n, summary.pairs(), num_bits, summary.table());
    summary.add_shots(n * block);
    done += n * block;
    progress.update(done);
  }
  rows(end_block * block, end);
  return true;
}

}  // namespace

void cut_growing_files() noexcept {
  const Growing* const g = growing;
  if (!g) return;
  for (const GrowingFile& file : g->files) {
    if (const std::int64_t whole = file.whole; whole >= 0) [[maybe_unused]]
      const int cut = ftruncate(file.descriptor, whole);
  }
}

void add_sample_flags(CLI::App& command, SampleFlags& f, const std::vector<std::string>& engines) {
  add_number_flag(command, "--shots", f.shots, "number of shots")->default_str("1");
  add_number_flag(
      command, "--seed", [&f](std::uint64_t v) { f.seed = v, f.seed_given = true; },
      "the same seed gives the same shots on any machine; random when left out");
  add_number_flag(command, "--first_shot", f.first_shot,
                  "start at this shot of the seed's sequence")
      ->default_str("0");
  command.add_option("--in", f.in, "input file (standard input when left out)");
  command.add_option("--out", f.out, "output file (standard output when left out)");
  command
      .add_option("--out_format", f.out_format,
                  "01, b8, r8, ptb64, hits, dets, sparse (u32 lists), counts (ones a bit) or "
                  "pairs (ones of both bits of a pair)")
      ->capture_default_str();
  std::string names = engines[0];
  for (std::size_t k = 1; k < engines.size(); ++k)
    names += (k + 1 < engines.size() ? ", " : " or ") + engines[k];
  command
      .add_option_function<std::string>(
          "--engine",
          [&f, engines, names](const std::string& name) {
            if (std::find(engines.begin(), engines.end(), name) == engines.end())
              fail(ExitCode::kUsage, "unknown engine ", tilewave::quoted(name), ": use ", names);
            f.engine = name;
          },
          names)
      ->default_str("auto");
  command
      .add_option("--threads", f.threads,
                  "CPU threads, 0 for all (default: one, but all where a GPU makes the shots)")
      ->check(CLI::Range(0, runtime::kMostAskedThreads));
  command
      .add_option("--device", f.device,
                  device_words() + "; auto is cpu here; the shots are the same on each")
      ->capture_default_str();
  command.add_option_function<std::string>(
      "--faults",
      [&f](const std::string& words) { f.faults = stabilizer::parse_fault_range(words); },
      "shots in which so many places of noise, or errors of a model, fire: 3, 3-8, or 3+ for three "
      "or more; says how probable that is");
  command.add_flag("--explain", f.explain,
                   "print the chosen engine and its program instead of sampling");
  command.add_option("--checkpoint", f.checkpoint,
                     "keep the run in this folder, to go on with it after a crash or the end of a "
                     "job; shots go to files");
  command.add_option("--checkpoint-every", f.checkpoint_every,
                     "how often, as in 90s, 10m (default) or 1.5h; SIGUSR1 asks for one");
  command.add_option("--resume", f.resume,
                     "go on with the run of this folder: files of shots are cut to where it kept "
                     "them and appended to; with --checkpoint of the same name also start it");
  command.add_flag("--quiet", f.quiet, "no progress");
}

void say_fault_weight(stabilizer::ShotSource& source, bool quiet) {
  const stabilizer::FaultRows* const faults = source.faults();
  if (!faults || quiet) return;
  const stabilizer::FaultNumbers& numbers = faults->numbers();
  std::fprintf(stderr, "%s faults in a shot have probability %.10g\n",
               words_of(numbers.asked()).c_str(), numbers.weight());
}

stabilizer::SampleOptions sample_options(const SampleFlags& f, stabilizer::ShotOutput output) {
  stabilizer::SampleOptions o;
  o.output = output;
  o.num_shots = f.shots;
  o.first_shot = f.first_shot;
  o.seed = f.seed_given ? f.seed : draw_seed();
  o.engine = parse_sampling_engine(f.engine);
  stabilizer::check_shot_numbers(o.first_shot, o.num_shots,
                                 "use a smaller --first_shot or --shots");
  o.faults = f.faults;
  o.gpus = stabilizer::shot_gpus(f.device);
  o.num_threads = f.threads.value_or(o.gpus.empty() ? 1 : 0);
  if (formats::parse_shot_format(f.out_format) == formats::ShotFormat::kPtb64 &&
      (f.shots % 64 || f.first_shot % 64)) {
    fail(ExitCode::kUsage,
         "ptb64 holds 64 shots at a time: use multiples of 64 for --shots and --first_shot");
  }
  return o;
}

void write_shots(stabilizer::ShotSource& source, const stabilizer::SampleOptions& options,
                 const std::vector<ShotSinkSpec>& sinks, bool quiet, ShotRun& run) {
  std::vector<formats::ShotFormatter> formatters;
  bool counting = false;
  for (const ShotSinkSpec& s : sinks) {
    formatters.emplace_back(s.format, s.layout);
    counting |= formats::is_summary(s.format);
  }
  if (counting && sinks.size() > 1)
    fail(ExitCode::kUsage, "counts and pairs cannot be combined with --obs_out");
  std::unique_ptr<formats::ShotSummary> summary;
  if (counting) summary = std::make_unique<formats::ShotSummary>(sinks[0].format, sinks[0].layout);
  const bool whole =
      sinks.size() == 1 && sinks[0].first_bit == 0 && sinks[0].layout.bits() <= source.num_bits();

  const bool as_made =
      whole && sinks[0].format == formats::ShotFormat::kB8 && !sinks[0].layout.observables_first;
  const bool is_packed =
      as_made && sinks[0].layout.bits() > 0 && source.pack(sinks[0].layout.bits());
  const std::size_t stride = source.row_stride();

  // Several sinks: their bytes one after the other behind a header of lengths.
  stabilizer::ShotPipeline pipeline;
  pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer& bytes) {
    if (counting) return std::span(reinterpret_cast<const char*>(rows), n * stride);
    if (as_made) {
      if (!is_packed) formats::pack_rows(rows, stride, n, sinks[0].layout);
      return std::span(reinterpret_cast<const char*>(rows), n * sinks[0].layout.bytes());
    }
    if (whole) {
      formatters[0].append(rows, stride, n, bytes);
      return bytes.bytes();
    }
    bytes.extend(sinks.size() * sizeof(std::uint64_t));
    std::vector<std::uint8_t> part;
    for (std::size_t k = 0; k < sinks.size(); ++k) {
      const ShotSinkSpec& s = sinks[k];
      formats::cut_rows(rows, stride, n, s.first_bit, s.layout.bits(), part);
      const std::size_t before = bytes.size();
      formatters[k].append(part.data(), s.layout.bytes(), n, bytes);
      const std::uint64_t length = bytes.size() - before;
      std::memcpy(bytes.data() + k * sizeof length, &length, sizeof length);
    }
    return bytes.bytes();
  };
  // Blocks leave whole: what a failed write left in a buffer must not follow later.
  for (const ShotSinkSpec& s : sinks) std::setvbuf(s.file->get(), nullptr, _IONBF, 0);
  run.begin(sinks, source.engine());
  std::uint64_t done = run.done().count;
  if (counting && done > 0) {
    if (run.done().table.size() != summary->table().size())
      fail(ExitCode::kInput, "the checkpoint is damaged: start anew");
    summary->table() = run.done().table;
    summary->add_shots(run.done().table_shots);
  }
  const std::string how =
      run.is_kept() ? "go on with --resume " + run.folder()
                    : "go on with --first_shot, the same --seed and --engine " + source.engine();
  const std::string advice = " of seed " + std::to_string(options.seed) + ": " + how + "\n";
  ShotProgress progress(options.num_shots, sinks, quiet);
  const auto write_all = [&](std::span<const char> bytes) {
    if (whole) {
      sinks[0].file->write(bytes.data(), bytes.size());
    } else {
      const char* from = bytes.data() + sinks.size() * sizeof(std::uint64_t);
      for (std::size_t k = 0; k < sinks.size(); ++k) {
        std::uint64_t length;
        std::memcpy(&length, bytes.data() + k * sizeof length, sizeof length);
        sinks[k].file->write(from, length);
        from += length;
      }
    }
    for (const ShotSinkSpec& s : sinks) s.file->flush();
  };
  // Where writing fails, files end behind their last whole shot, and `done` tells of it.
  const auto keep_whole_shots = [&](const std::vector<std::optional<std::uint64_t>>& starts,
                                    std::span<const char> bytes) {
    for (std::size_t k = 0; k < sinks.size(); ++k) {
      const auto end = sinks[k].file->position();
      if (!starts[k] || !end || *end < *starts[k]) continue;
      std::uint64_t kept = 0;
      if (whole && options.must_be_zero.empty()) {
        const formats::WholeShots w =
            formats::whole_shots(sinks[0].format, sinks[0].layout,
                                 bytes.first(std::min(*end - *starts[0], bytes.size())));
        kept = w.bytes;
        done += w.shots;
      }
      sinks[k].file->cut(*starts[k] + kept);
    }
  };
  ShotSignals signals(sinks, options.first_shot, advice);
  pipeline.write = [&](std::span<const char> bytes, std::size_t n) {
    if (counting) {
      summary->add(reinterpret_cast<const std::uint8_t*>(bytes.data()), stride, n);
    } else {
      std::vector<std::optional<std::uint64_t>> starts;
      for (const ShotSinkSpec& s : sinks) starts.push_back(s.file->position());
      signals.keep(starts, options.first_shot + done);
      try {
        write_all(bytes);
      } catch (const Error&) {
        keep_whole_shots(starts, bytes);
        throw;
      }
    }
    done += n;
    progress.update(done);
    return interrupted == 0;
  };
  const auto make = [&](const stabilizer::SampleOptions& part) {
    if (!counting ||
        !summarize(source, part, pipeline, *summary, sinks[0].layout.bits(), progress, done))
      stabilizer::run_shots(source, part, pipeline);
  };
  const auto keep = [&](simulate::Asked why) {
    run.done().count = done;
    if (counting) run.done().table = summary->table(), run.done().table_shots = summary->shots();
    run.keep(sinks, why);
  };
  try {
    run.in_stretches(source, options, make, keep, [] { return interrupted != 0; });
    progress.clear();
    for (const ShotSinkSpec& s : sinks) s.file->flush();
  } catch (const Error& e) {
    if (e.code() != ExitCode::kResources) throw;
    fail_as(e, e.what(), "; stopped before shot ", options.first_shot + done, " of seed ",
            options.seed, ": ", how);
  }
  if (counting && !(interrupted && run.is_kept())) {
    sinks[0].file->write(summary->text());
    sinks[0].file->flush();
  }
  if (!interrupted) {
    run.end();
  } else {
    alarm(0);
    // of shots that are selected more may have been counted than written
    if (run.is_kept() && options.must_be_zero.empty()) keep(simulate::Asked::kKeep);
    std::fprintf(stderr, "%s%llu%s", kBeforeShot,
                 static_cast<unsigned long long>(options.first_shot + done), advice.c_str());
    std::signal(interrupted, SIG_DFL);
    std::raise(interrupted);
  }
}

stabilizer::StabProgram read_program(const std::string& path, stabilizer::Rotations rotations,
                                     stabilizer::Leakage leakage, std::uint64_t* fingerprint) {
  StimFile in(path, "rb");
  const std::string text = in.read_all();
  if (fingerprint) *fingerprint = fingerprint_of(std::as_bytes(std::span(text)));
  return stabilizer::lower(language::parse_stim(text, in.name()), in.name(), rotations, leakage);
}

}  // namespace tilewave::cli
