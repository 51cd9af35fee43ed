// See include/tilewave/sampling.h.
#include "tilewave/sampling.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tilewave/base/random_seed.h"
#include "tilewave/io/dem_text.h"
#include "tilewave/io/stim_text.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/settings/device.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/sampler.h"

namespace tilewave {

namespace {

constexpr std::uint64_t kManyShots = std::uint64_t{1} << 20;  // for the choice of the engine
constexpr std::uint64_t kMostShots = std::uint64_t{1} << 52;

stabilizer::StabProgram lower_text(std::string_view text) {
  return stabilizer::lower(io::parse_stim(text));
}

}  // namespace

struct Sampler::Data {
  stabilizer::SampleOptions options;
  circuit::StabCounts counts;
  int num_threads = 1;
  std::unique_ptr<stabilizer::ShotSource> source;
};

Sampler::Sampler(std::string_view stim_circuit, const SamplerOptions& options)
    : data_(std::make_unique<Data>()) {
  const DeviceSet device = DeviceSet::parse(options.device);
  need_one_kind(device);
  stabilizer::SampleOptions& o = data_->options;
  o.output = options.content == ShotContent::kMeasurements ? stabilizer::ShotOutput::kRecords
                                                           : stabilizer::ShotOutput::kDetectors;
  o.engine = options.engine;
  o.num_shots = kManyShots;
  o.num_threads = options.threads;
  o.gpus.assign(device.cuda().begin(), device.cuda().end());
  o.seed = options.seed ? *options.seed : draw_seed();
  data_->num_threads = runtime::wanted_num_threads(options.threads);
  const stabilizer::StabProgram program = lower_text(stim_circuit);
  data_->counts = program.counts;
  data_->source = stabilizer::make_shot_source(program, o);
}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

std::uint64_t Sampler::num_bits() const { return data_->source->num_bits(); }
std::uint64_t Sampler::num_detectors() const { return data_->counts.detectors; }
std::uint64_t Sampler::num_observables() const { return data_->counts.observables; }
std::string Sampler::explain() const { return data_->source->explain(); }

ShotTable Sampler::sample(std::uint64_t num_shots) {
  Data& d = *data_;
  if (num_shots >= kMostShots - d.options.first_shot) {
    throw Error(ExitCode::kUsage, "shots are numbered below 2^52: ask for fewer shots");
  }
  ShotTable table;
  table.num_shots = num_shots;
  table.num_bits = num_bits();
  table.row_bytes = (table.num_bits + 7) / 8;
  if (table.row_bytes && num_shots > (std::uint64_t{1} << 62) / table.row_bytes) {
    throw Error(ExitCode::kResources, std::to_string(num_shots) + " shots of " +
                                          std::to_string(table.num_bits) +
                                          " bits do not fit memory: ask for fewer at a time");
  }
  table.bytes.resize(num_shots * table.row_bytes);
  if (num_shots == 0) return table;
  const std::uint64_t block = d.source->block_shots(), stride = d.source->row_stride();
  const std::uint64_t first = d.options.first_shot, end = first + num_shots;
  const std::uint64_t first_block = first / block, end_block = (end - 1) / block + 1;
  const int threads = static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(d.num_threads), end_block - first_block));
  // block by block, every thread into its own part of the table
  runtime::run_on_threads(threads, [&](int thread) {
    std::vector<std::uint8_t> rows(block * stride + 64);
    for (std::uint64_t b = first_block + static_cast<std::uint64_t>(thread); b < end_block;
         b += static_cast<std::uint64_t>(threads)) {
      d.source->fill(d.options.seed, b, thread, rows.data());
      const std::uint64_t from = std::max(first, b * block), to = std::min(end, (b + 1) * block);
      for (std::uint64_t shot = from; shot < to; ++shot) {
        std::memcpy(table.bytes.data() + (shot - first) * table.row_bytes,
                    rows.data() + (shot - b * block) * stride, table.row_bytes);
      }
    }
  });
  d.options.first_shot = end;
  return table;
}

std::string detector_error_model(std::string_view stim_circuit, bool decompose_errors) {
  stabilizer::AnalysisOptions options;
  options.decompose_errors = decompose_errors;
  options.fold_loops = true;
  std::string text;
  io::DemWriter writer([&](std::string_view piece) { text += piece; });
  stabilizer::analyze_errors(lower_text(stim_circuit), options, writer);
  writer.flush();
  return text;
}

}  // namespace tilewave
