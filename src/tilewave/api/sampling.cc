// See include/tilewave/sampling.h.
#include "tilewave/sampling.h"
#include "tilewave/base/error.h"

#include <cstring>

#include "tilewave/api/guard.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/base/saturating.h"
#include "tilewave/base/units.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace tilewave {

namespace {

constexpr std::uint64_t kManyShots = std::uint64_t{1} << 20;  // for the choice of the engine

stabilizer::StabProgram lower_text(std::string_view text,
                                   stabilizer::Rotations rotations = stabilizer::Rotations::kRefuse,
                                   stabilizer::Leakage leakage = stabilizer::Leakage::kRefuse) {
  return stabilizer::lower(language::parse_stim(text), "<circuit>", rotations, leakage);
}

// With everything that samplers take.
stabilizer::StabProgram lower_for_shots(std::string_view text) {
  return lower_text(text, stabilizer::Rotations::kKeep, stabilizer::Leakage::kKeep);
}

Estimate public_of(const stabilizer::Estimate& e) { return {e.value, e.low, e.high}; }

}  // namespace

struct Sampler::Data {
  stabilizer::SampleOptions options;
  circuit::StabCounts counts;
  int num_threads = 1;
  std::unique_ptr<stabilizer::ShotSource> source;
};

Sampler::Sampler(std::string_view stim_circuit, const SamplerOptions& options)
    : data_(guarded([] { return std::make_unique<Data>(); })) {
  guarded([&] {
    stabilizer::SampleOptions& o = data_->options;
    o.output = options.content == ShotContent::kMeasurements ? stabilizer::ShotOutput::kRecords
                                                             : stabilizer::ShotOutput::kDetectors;
    o.engine = options.engine;
    o.num_shots = kManyShots;
    o.num_threads = runtime::checked_num_threads(options.threads);
    o.gpus = stabilizer::shot_gpus(options.device);
    if (!options.faults.empty()) o.faults = stabilizer::parse_fault_range(options.faults);
    o.seed = options.seed ? *options.seed : draw_seed();
    data_->num_threads = runtime::wanted_num_threads(options.threads);
    const stabilizer::StabProgram program = lower_for_shots(stim_circuit);
    data_->counts = program.counts;
    data_->source = stabilizer::make_shot_source(program, o);
  });
}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

std::uint64_t Sampler::num_bits() const { return data_->source->num_bits(); }
std::uint64_t Sampler::num_detectors() const { return data_->counts.detectors; }
std::uint64_t Sampler::num_observables() const { return data_->counts.observables; }
double Sampler::weight() const {
  return data_->source->faults() ? data_->source->faults()->numbers().weight() : 1;
}
std::string Sampler::explain() const {
  return guarded([&] { return data_->source->explain(); });
}

ShotTable Sampler::sample(std::uint64_t num_shots) {
  return guarded([&] {
    Data& d = *data_;
    stabilizer::check_shot_numbers(d.options.first_shot, num_shots, "ask for fewer shots");
    ShotTable table;
    table.num_shots = num_shots;
    table.num_bits = num_bits();
    table.row_bytes = (table.num_bits + 7) / 8;
    runtime::need_host_bytes(
        saturating_multiply(num_shots, table.row_bytes),
        concat(num_shots, " shots of ", counted(table.num_bits, "bit"), " do not fit memory"),
        "ask for fewer at a time");
    table.bytes.resize(num_shots * table.row_bytes);
    const std::uint64_t stride = d.source->row_stride();
    stabilizer::fill_shots(*d.source, d.options.seed, d.options.first_shot, num_shots,
                           d.num_threads, [&](const stabilizer::FilledRows& part) {
                             for (std::uint64_t k = 0; k < part.count; ++k) {
                               std::memcpy(table.bytes.data() + (part.first + k) * table.row_bytes,
                                           part.rows + k * stride, table.row_bytes);
                             }
                           });
    d.options.first_shot += num_shots;
    return table;
  });
}

KeptShots Sampler::count_kept(std::uint64_t num_shots, std::string_view silent) {
  return guarded([&] {
    Data& d = *data_;
    if (d.options.output == stabilizer::ShotOutput::kRecords) {
      fail(ExitCode::kUsage,
           "shots of measurements are not post-selected: make a sampler of detectors");
    }
    stabilizer::SampleOptions options = d.options;
    options.num_shots = num_shots;
    options.num_threads = d.num_threads;
    options.must_be_zero = stabilizer::post_selection_mask(silent, d.counts.detectors);
    const stabilizer::KeptShots kept =
        stabilizer::count_kept(*d.source, options, [](std::uint64_t) { return true; });
    d.options.first_shot += num_shots;
    KeptShots out;
    out.attempted = kept.attempted, out.kept = kept.kept;
    for (std::uint64_t k = 0; k < d.counts.observables; ++k)
      out.observables.push_back(kept.ones[d.counts.detectors + k]);
    return out;
  });
}

StrataTable sample_strata(std::string_view stim_circuit, const StrataOptions& options) {
  return guarded([&] {
    const stabilizer::StabProgram program = lower_for_shots(stim_circuit);
    stabilizer::StrataOptions how;
    how.num_shots = options.num_shots;
    how.seed = options.seed ? *options.seed : draw_seed();
    how.num_threads = runtime::checked_num_threads(options.threads);
    if (!options.silent.empty())
      how.must_be_zero = stabilizer::post_selection_mask(options.silent, program.counts.detectors);
    how.fault_distance = options.fault_distance;
    how.even = options.even;
    how.confidence = options.confidence;
    const stabilizer::StrataTable found = stabilizer::sample_strata(program, options.strata, how);
    StrataTable out;
    for (const stabilizer::Stratum& s : found.strata)
      out.strata.push_back(
          {words_of(s.faults), s.weight, s.attempted, s.kept, s.errors, s.any_error});
    out.attempted = found.attempted;
    out.seed = how.seed;
    out.kept = public_of(found.kept);
    for (const stabilizer::Estimate& e : found.errors) out.observables.push_back(public_of(e));
    out.any_observable = public_of(found.any_error);
    return out;
  });
}

std::vector<double> fault_probabilities(std::string_view stim_circuit, std::uint64_t most) {
  return guarded(
      [&] { return stabilizer::fault_probabilities(lower_for_shots(stim_circuit), most); });
}

std::string detector_error_model(std::string_view stim_circuit, bool decompose_errors) {
  return guarded([&] {
    stabilizer::AnalysisOptions options;
    options.decompose_errors = decompose_errors;
    options.fold_loops = true;
    std::string text;
    language::DemWriter writer([&](std::string_view piece) { text += piece; });
    stabilizer::analyze_errors(lower_text(stim_circuit), options, writer);
    writer.flush();
    return text;
  });
}

std::string convert_circuit(std::string_view stim_circuit, std::string_view dialect) {
  return guarded([&] {
    const language::Dialect to = language::parse_dialect(dialect);
    return language::print_dialect(language::parse_stim(stim_circuit), to);
  });
}

}  // namespace tilewave
