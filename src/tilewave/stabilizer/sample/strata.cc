#include "tilewave/stabilizer/sample/strata.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/sample/fill_shots.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kLeastShots = 8;  // of a stratum, a round of which is even

std::uint64_t certain_faults(const FaultProgram& program) {
  std::uint64_t sum = 0;
  for (const FaultClass& c : program.classes) sum += c.probability >= 1 ? c.count : 0;
  return sum;
}

std::vector<FaultRange> usual_strata(const FaultProgram& program, std::uint64_t fault_distance) {
  constexpr double kLow = 1e-3, kHigh = 1e-6;  // shares that numbers of their own may leave
  constexpr std::size_t kMost = 16;
  const std::uint64_t first = std::max(fault_distance, certain_faults(program));
  if (first > program.num_places()) return {};
  const FaultNumbers numbers(program.classes, {first, FaultRange::kNoLimit});
  std::vector<FaultRange> out;
  double before = 0;
  for (std::size_t j = 0; j < numbers.probabilities().size(); ++j) {
    const double p = numbers.probabilities()[j], rest = numbers.weight() - before;
    before += p;
    if (before < kLow * numbers.weight()) continue;
    if (rest < kHigh * numbers.weight()) break;
    // Many likely numbers: shots of any number are as good.
    if (out.size() == kMost)
      return before < 0.9 * numbers.weight() ? std::vector<FaultRange>{} : out;
    out.push_back({first + j, first + j});
  }
  return out;
}

// An estimate of what a shot in the stratum is: shares with half a shot added, so that what has not
// been seen is not thought impossible.
struct Shares {
  double kept, wrong;
};
Shares smooth_shares(const Stratum& s) {
  const double n = static_cast<double>(s.attempted) + 1;
  return {(static_cast<double>(s.kept) + 0.5) / n,
          s.is_safe ? 0 : (static_cast<double>(s.any_error) + 0.5) / n};
}

// Variance of wrong - p kept; wrong shots are kept ones.
double variance_of(double kept, double wrong, double p) {
  const double mean = wrong - p * kept;
  return std::max(0.0, wrong * (1 - 2 * p) + p * p * kept - mean * mean);
}

// How many shots each stratum gets next, `more` in all.
std::vector<std::uint64_t> share_out(const std::vector<Stratum>& strata, std::uint64_t more,
                                     bool even, bool has_errors) {
  std::vector<double> wanted(strata.size(), 1);
  if (!even) {
    double wrong = 0, kept = 0;
    for (const Stratum& s : strata) {
      const Shares x = smooth_shares(s);
      wrong += s.weight * x.wrong, kept += s.weight * x.kept;
    }
    for (std::size_t k = 0; k < strata.size(); ++k) {
      const Shares x = smooth_shares(strata[k]);
      const double v = has_errors ? variance_of(x.kept, x.wrong, wrong / kept)
                                  : x.kept * (1 - std::min(1.0, x.kept));
      wanted[k] = strata[k].weight * std::sqrt(v);
    }
  }
  double total = static_cast<double>(more), sum = 0;
  for (const Stratum& s : strata) total += static_cast<double>(s.attempted);
  for (const double w : wanted) sum += w;
  std::vector<double> missing(strata.size(), 1);
  double all = 0;
  for (std::size_t k = 0; k < strata.size(); ++k) {
    if (sum > 0) {
      missing[k] =
          std::max(0.0, wanted[k] / sum * total - static_cast<double>(strata[k].attempted));
    }
    all += missing[k];
  }
  std::vector<std::uint64_t> out(strata.size(), 0);
  std::uint64_t given = 0;
  std::size_t most = 0;
  for (std::size_t k = 0; k < strata.size(); ++k) {
    // A whole number is not to be cut for a rounding.
    out[k] = static_cast<std::uint64_t>(missing[k] / all * static_cast<double>(more) + 1e-6);
    out[k] = std::min(out[k], more - given);
    given += out[k];
    if (missing[k] > missing[most]) most = k;
  }
  out[most] += more - given;
  return out;
}

// Makes `count` more shots of a stratum and counts; false where progress said to stop.
bool add_shots(ShotSource& source, Stratum& s, std::uint64_t count, const StrataOptions& options,
               const std::function<bool(std::uint64_t)>& progress, std::uint64_t& done) {
  constexpr double kCallSeconds = 0.25;
  struct Counts {
    std::uint64_t kept = 0, any = 0;
    std::vector<std::uint64_t> errors;
  };
  const std::uint64_t stride = source.row_stride();
  std::uint64_t now = source.block_shots();
  while (count > 0) {
    check_interrupt();
    const runtime::Timer timer;
    now = std::min(now, count);
    std::vector<Counts> counts(static_cast<std::size_t>(threads_for(source, options.num_threads)));
    for (Counts& c : counts) c.errors.resize(options.num_observables);
    fill_shots(
        source, options.seed, s.attempted, now, options.num_threads,
        [&](const FilledRows& part) {
          Counts& c = counts[static_cast<std::size_t>(part.thread)];
          c.kept += part.count;
          for (std::uint64_t i = 0; i < part.count; ++i) {
            const std::uint8_t* row = part.rows + i * stride;
            bool any = false;
            for (std::uint64_t l = 0; l < options.num_observables; ++l) {
              const std::uint64_t b = options.num_detectors + l;
              const bool set = (row[b / 8] >> (b % 8)) & 1;
              c.errors[l] += set;
              any |= set;
            }
            c.any += any;
          }
        },
        options.must_be_zero);
    for (const Counts& c : counts) {
      s.kept += c.kept;
      s.any_error += c.any;
      for (std::size_t l = 0; l < s.errors.size(); ++l) s.errors[l] += c.errors[l];
    }
    s.attempted += now;
    count -= now;
    done += now;
    if (s.is_safe && s.any_error > 0) {
      fail(ExitCode::kUsage, "a kept shot with ", words_of(s.faults),
           " faults is wrong, so the fault distance is not ", options.fault_distance,
           ": give a smaller one, or none");
    }
    if (!progress(done)) return false;
    if (timer.elapsed_s() < kCallSeconds) now *= 2;
  }
  return true;
}

// The estimates of a table; strata without shots may be anything.
Estimate kept_estimate(const std::vector<Stratum>& strata, bool selects, double confidence) {
  if (!selects) return {1, 1, 1};
  double value = 0, variance = 0, covered = 0;
  for (const Stratum& s : strata) {
    if (s.attempted == 0) continue;
    const auto n = static_cast<double>(s.attempted);
    const double a = static_cast<double>(s.kept) / n;
    covered += s.weight;
    value += s.weight * a;
    variance += s.weight * s.weight * a * (1 - a) / n;
  }
  if (covered <= 0) return {0, 0, 1};
  EventWeights weights;
  for (const Stratum& s : strata) {
    if (s.attempted == 0) continue;
    const auto n = static_cast<double>(s.attempted);
    weights.add(s.weight / n / covered, static_cast<double>(s.kept) / n);
  }
  Estimate out =
      weighted_interval(value / covered, variance / (covered * covered), weights, confidence);
  out.low *= covered;
  out.high = std::min(1.0, out.high * covered + std::max(0.0, 1 - covered));
  return out;
}

Estimate error_estimate(const std::vector<Stratum>& strata, double confidence,
                        const std::function<std::uint64_t(const Stratum&)>& errors) {
  double kept = 0, wrong = 0, unknown = 0, unsafe = 0;
  for (const Stratum& s : strata) {
    if (s.attempted == 0) {
      unknown += s.weight;
      unsafe += s.is_safe ? 0 : s.weight;
      continue;
    }
    const auto n = static_cast<double>(s.attempted);
    kept += s.weight * static_cast<double>(s.kept) / n;
    wrong += s.weight * static_cast<double>(errors(s)) / n;
  }
  if (kept <= 0) return {0, 0, 1};
  const double p = wrong / kept;
  double variance = 0;
  EventWeights weights;
  for (const Stratum& s : strata) {
    if (s.attempted == 0) continue;
    const auto n = static_cast<double>(s.attempted);
    const double share = static_cast<double>(errors(s)) / n;
    variance += s.weight * s.weight * variance_of(static_cast<double>(s.kept) / n, share, p) / n;
    weights.add(s.weight / n / kept, share, !s.is_safe);
  }
  Estimate out = weighted_interval(p, variance / (kept * kept), weights, confidence);
  out.low = out.low * kept / (kept + unknown);
  out.high = (out.high * kept + unsafe) / (kept + unsafe);
  return out;
}

}  // namespace

std::vector<FaultRange> parse_strata(std::string_view words, const FaultRows& faults,
                                     std::uint64_t fault_distance) {
  constexpr std::uint64_t kMost = 4096;
  const FaultProgram& program = faults.program();
  std::vector<FaultRange> named;
  if (words == "auto") {
    named = usual_strata(program, fault_distance);
  } else {
    while (true) {
      const std::size_t comma = words.find(',');
      const FaultRange range = parse_fault_range(words.substr(0, comma));
      if (range.last == FaultRange::kNoLimit) {
        named.push_back(range);
      } else if (range.last - range.first >= kMost) {
        fail(ExitCode::kUsage, "the strata ", words_of(range), " are too many: name at most ",
             kMost, " numbers of faults");
      } else {
        for (std::uint64_t k = range.first; k <= range.last; ++k) named.push_back({k, k});
      }
      if (comma == words.npos) break;
      words.remove_prefix(comma + 1);
    }
  }
  std::sort(named.begin(), named.end(),
            [](const FaultRange& a, const FaultRange& b) { return a.first < b.first; });
  const std::uint64_t least = certain_faults(program), most = program.num_places();
  std::vector<FaultRange> out;
  std::uint64_t next = least;
  const auto between = [&](std::uint64_t last) {
    // Numbers below the fault distance are a stratum of their own.
    if (next < fault_distance && fault_distance <= std::min(last, most)) {
      out.push_back({next, fault_distance - 1});
      next = fault_distance;
    }
    out.push_back({next, last});
  };
  for (FaultRange range : named) {
    if (range.first > most || range.last < least) FaultNumbers(program.classes, range);  // throws
    range.first = std::max(range.first, least);
    if (range.first < next) {
      fail(ExitCode::kUsage, "two of the strata have the number of faults ", range.first,
           " in common");
    }
    if (range.first > next) between(range.first - 1);
    if (range.first < fault_distance && fault_distance <= std::min(range.last, most)) {
      fail(ExitCode::kUsage, "stratum ", words_of(range), " reaches over the fault distance ",
           fault_distance, ": let one begin there");
    }
    out.push_back(range);
    next = range.last == FaultRange::kNoLimit ? range.last : range.last + 1;
  }
  if (next <= most) between(FaultRange::kNoLimit);
  return out;
}

StrataTable sample_strata(ShotSource& source, const std::vector<FaultRange>& strata,
                          const StrataOptions& options,
                          const std::function<bool(std::uint64_t)>& progress) {
  TW_CHECK(source.faults(), "strata are of sources that draw faults");
  if (options.first_shot != 0) {
    fail(ExitCode::kUsage,
         "shots of strata are no part of one sequence, so none of them is the first (",
         options.first_shot, "): leave it 0, and take another seed for other shots");
  }
  if (options.num_shots < kLeastShots * strata.size()) {
    fail(ExitCode::kUsage, strata.size(), " strata need at least ", kLeastShots * strata.size(),
         " shots, not ", options.num_shots, ": ask for more shots or fewer strata");
  }
  if (!(options.confidence >= 0.5 && options.confidence < 1)) {
    fail(ExitCode::kUsage, "confidence is at least 0.5 and below 1, not ",
         std::to_string(options.confidence));
  }
  StrataTable table;
  table.confidence = options.confidence;
  std::vector<std::shared_ptr<const FaultNumbers>> numbers;
  for (const FaultRange& range : strata) {
    Stratum s;
    s.faults = range;
    numbers.push_back(
        std::make_shared<const FaultNumbers>(source.faults()->program().classes, range));
    s.weight = numbers.back()->weight();
    s.is_safe = range.last < options.fault_distance;
    s.errors.resize(options.num_observables);
    table.strata.push_back(std::move(s));
  }
  std::uint64_t done = 0;
  bool goes_on = true;
  for (std::uint64_t part = 8; part >= 1 && goes_on; part /= 2) {
    const std::uint64_t upto = options.num_shots / part;
    const std::vector<std::uint64_t> counts = share_out(
        table.strata, upto - done, options.even || part == 8, options.num_observables > 0);
    for (std::size_t k = 0; k < counts.size() && goes_on; ++k) {
      source.faults()->set_numbers(numbers[k]);
      goes_on = add_shots(source, table.strata[k], counts[k], options, progress, done);
    }
  }
  table.attempted = done;
  table.kept = kept_estimate(table.strata, !options.must_be_zero.empty(), options.confidence);
  for (std::size_t l = 0; l < options.num_observables; ++l) {
    table.errors.push_back(error_estimate(table.strata, options.confidence,
                                          [l](const Stratum& s) { return s.errors[l]; }));
  }
  if (options.num_observables > 0) {  // without any no shot is wrong
    table.any_error = error_estimate(table.strata, options.confidence,
                                     [](const Stratum& s) { return s.any_error; });
  }
  return table;
}

StrataTable sample_strata(const StabProgram& program, std::string_view words,
                          StrataOptions options) {
  options.output = ShotOutput::kDetectors;
  options.faults = FaultRange{};
  options.num_detectors = program.counts.detectors;
  options.num_observables = program.counts.observables;
  const auto source = make_shot_source(program, options);
  const auto strata = parse_strata(words, *source->faults(), options.fault_distance);
  return sample_strata(*source, strata, options, [](std::uint64_t) { return true; });
}

std::vector<double> fault_probabilities(const StabProgram& program, std::uint64_t most) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  if (most > kMost) {
    fail(ExitCode::kUsage, "at most ", kMost, " numbers of faults are listed, not ", most);
  }
  SampleOptions options;
  options.num_threads = 1;
  options.faults = FaultRange{0, most};
  const auto source = make_shot_source(program, options);
  const FaultNumbers& numbers = source->faults()->numbers();
  std::vector<double> out(most + 1, 0.0);
  std::copy(numbers.probabilities().begin(), numbers.probabilities().end(),
            out.begin() + static_cast<std::ptrdiff_t>(numbers.range().first));
  return out;
}

}  // namespace tilewave::stabilizer
