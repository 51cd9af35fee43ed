#include "tilewave/simulate/clifford_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/checkpoint/record_kind.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/collect.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/row_counts.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::simulate {
namespace {

// Fitted to runs of 2 to 2,000 qubits on one core.
constexpr double kStartClifford_s = 2.5e-4, kTarget_s = 8e-7, kDrawn_s = 1.2e-7, kError_s = 3e-8,
                 kRecord_s = 4e-10, kMisread_s = 1e-8;
constexpr double kAmplitude_s = 1e-9;  // where no two shots share amplitudes

// What a checkpoint keeps behind the header: the shots that are done.
struct DoneShots {
  std::uint64_t count = 0;
  RowCounts rows;
};

void put_done(ByteWriter& out, const DoneShots& done, const Result& result) {
  out.put(done.count);
  done.rows.save(out);
  const auto words = result.shot_bits.empty() ? 0 : done.count * result.shot_words;
  out.put_list(std::vector<std::uint64_t>(
      result.shot_bits.begin(), result.shot_bits.begin() + static_cast<std::ptrdiff_t>(words)));
}

void get_done(ByteReader& in, DoneShots& done, std::uint64_t shots, Result& result) {
  done.count = in.get<std::uint64_t>();
  if (done.count > shots) in.fail();
  done.rows.load(in);
  const auto bits = in.get_list<std::uint64_t>();
  const auto words = result.shot_bits.empty() ? 0 : done.count * result.shot_words;
  if (bits.size() != words || !in.is_done()) in.fail();
  std::copy(bits.begin(), bits.end(), result.shot_bits.begin());
}

// The classical bits of a shot from the row of its records.
class BitReader {
 public:
  explicit BitReader(const std::vector<std::uint64_t>& record_of)
      : record_of_(record_of), bits_(record_of.size() / 64 + 1) {
    for (std::size_t b = 0; b < record_of.size(); ++b) is_in_order_ &= record_of[b] == b;
  }

  /// Valid until the next call.
  const Bits& read(const char* row) {
    const std::size_t num_bits = record_of_.size();
    if (is_in_order_ && num_bits > 0) {
      std::memcpy(bits_.data(), row, (num_bits + 7) / 8);
      return bits_;
    }
    std::fill(bits_.begin(), bits_.end(), 0);
    for (std::size_t b = 0; b < num_bits; ++b) {
      const std::uint64_t r = record_of_[b];
      if (r == CliffordProgram::kNoRecord) continue;
      set_bit(bits_, static_cast<std::uint32_t>(b), row[r / 8] >> (r % 8) & 1);
    }
    return bits_;
  }

 private:
  const std::vector<std::uint64_t>& record_of_;
  Bits bits_;
  bool is_in_order_ = true;  // record b is bit b, as where everything is measured once
};

// The rows of shots as they were read, with the records flipped that are misread unevenly.
class RowReader {
 public:
  RowReader(const CliffordProgram& clifford, std::size_t row_bytes, std::uint64_t seed)
      : misread_(clifford.misread), read_(row_bytes), seed_(seed) {}

  /// Valid until the next call, and as long as `row`.
  const std::uint8_t* read(const std::uint8_t* row, std::uint64_t shot) {
    if (misread_.empty()) return row;
    read_.assign(row, row + read_.size());
    for (const auto& m : misread_) {
      const bool one = row[m.record / 8] >> (m.record % 8) & 1;
      if (is_misread(m.error, one, seed_, shot, m.record))
        read_[m.record / 8] ^= static_cast<std::uint8_t>(1U << (m.record % 8));
    }
    return read_.data();
  }

 private:
  const std::vector<CliffordProgram::Misread>& misread_;
  std::vector<std::uint8_t> read_;
  std::uint64_t seed_;
};

}  // namespace

double predict_clifford(const CliffordProgram& clifford, std::uint64_t shots) {
  if (clifford.steered)
    return kStartClifford_s + static_cast<double>(shots) * clifford.steered->shot_s();
  std::uint64_t targets = 0;
  double errors = 0;  // expected in a shot, at most
  for (const auto& op : clifford.circuit.instructions()) {
    targets += op.num_targets;
    if (op.kind == circuit::StabKind::kGate) continue;
    for (const double p : clifford.circuit.args(op)) errors += p * op.num_targets;
  }
  const double records = static_cast<double>(clifford.record_of.size());
  const double amplitudes_s = kAmplitude_s * clifford.amplitude_steps;
  return kStartClifford_s + kTarget_s * static_cast<double>(targets) +
         static_cast<double>(shots) *
             (amplitudes_s + kDrawn_s + kError_s * errors + kRecord_s * records +
              kMisread_s * static_cast<double>(clifford.misread.size()));
}

bool asks_only_shots(const Options& options, std::uint32_t num_qubits) {
  // A run without questions gives the counts of no shots, in the engine of shots. A plan without
  // questions is that of the state, and one for shots where there could be no state.
  const bool shots = options.shots > 0 || !options.dry_run || num_qubits > statevec::kMaxQubits;
  return shots && options.amplitudes.empty() && !options.probabilities &&
         options.observables.empty() && options.state_path.empty();
}

bool asks_only_means(const Options& options) {
  return !options.observables.empty() && options.amplitudes.empty() && !options.probabilities &&
         options.state_path.empty() && options.checkpoint.folder.empty();
}

void fail_without_state(const Error& error, const std::string& why_not) {
  fail_as(error, error.what(),
          "; the stabilizer engine, which needs no state, cannot run this circuit: ", why_not);
}

std::shared_ptr<const SteeredClifford> choose_tableaux(
    const Program& program, const Options& options, std::span<const circuit::ReadoutError> readout,
    std::string* why_not) {
  if (!options.from_zeros() || options.distribution.num_ranks() != 1 ||
      !options.topology_path.empty())
    return nullptr;
  if (options.engine != Engine::kStabilizer) {
    const std::size_t touched = touched_qubits(program).size();
    if (options.engine != Engine::kAuto || touched <= kMostSmallQubits) return nullptr;
    if ((program.has_channels || (program.dynamic && options.shots > 0)) &&
        touched <=
            most_qubits(options.precision, options.num_threads, runtime::available_host_bytes()))
      return nullptr;
  }
  if (!options.device.cuda().empty()) {
    *why_not = "it finds expectation values on CPUs (--device cpu)";
    return nullptr;
  }
  return SteeredClifford::make(program, readout, why_not);
}

void run_tableaux(const Program& program, const std::shared_ptr<const SteeredClifford>& tableaux,
                  std::span<const circuit::ReadoutError> readout, const Options& options,
                  Result& result) {
  result.engine = "stabilizer";
  result.device = "cpu";
  result.plan.gates = tableaux->num_steps();
  if (options.explain && options.shots == 0)
    result.plan.text =
        "Pauli strings in the state of a tableau: " + std::to_string(tableaux->num_steps()) +
        " steps\n";
  if (options.dry_run) return;
  runtime::Timer timer;
  const std::size_t count = options.observables.size();
  std::vector<double> values(count), errors;
  double sum_error = 0;
  if (program.dynamic || program.has_channels) {
    const std::uint64_t shots = options.shots > 0 ? options.shots : kDefaultTrajectories;
    ShotMeans means = tableaux->means(options.observables, result.seed, shots, options.num_threads);
    values = std::move(means.values);
    if (program.has_channels) result.num_trajectories = shots;
    for (std::size_t k = 0; k < count; ++k)
      errors.push_back(standard_error(values[k], means.squares[k], shots));
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    sum_error = standard_error(sum, means.sum_squares, shots);
  } else {
    values = tableaux->exact_means(options.observables);
    for (std::size_t k = 0; k < count; ++k)
      values[k] = values[k] * options.observables[k].coefficient + 0.0;  // no -0
  }
  const double means_s = timer.elapsed_s();
  if (options.shots > 0) {
    std::string why_not;
    auto clifford = to_clifford(program, readout, &why_not);
    if (!clifford) clifford = of_steered(tableaux);
    run_clifford(program, *clifford, options, {}, nullptr, result);
  }
  result.norm = 1;
  result.num_branches = 1;
  result.timings.observe_s += means_s;
  result.expectations = std::move(values);
  result.expectation_errors = std::move(errors);
  result.expectation_sum_error = sum_error;
  for (const double value : result.expectations) result.expectation_sum += value;
}

void run_clifford(const Program& program, const CliffordProgram& clifford, const Options& options,
                  RunHeader header, ResumedRun* resumed, Result& result) {
  runtime::Timer timer;
  stabilizer::SampleOptions sampling;
  sampling.output = stabilizer::ShotOutput::kRecords;
  sampling.num_shots = options.shots;
  sampling.seed = result.seed;
  sampling.num_threads = options.num_threads;
  sampling.gpus.assign(options.device.cuda().begin(), options.device.cuda().end());
  result.engine = "stabilizer";
  result.has_magic = clifford.amplitude_steps > 0;
  result.device = sampling.gpus.empty() ? "cpu" : "cuda";
  const auto source =
      clifford.steered
          ? clifford.steered->source()
          : stabilizer::make_shot_source(
                stabilizer::lower(clifford.circuit, "<circuit>", stabilizer::Rotations::kKeep),
                sampling);
  result.plan.gates =
      clifford.steered ? clifford.steered->num_steps() : clifford.circuit.instructions().size();
  if (options.explain) result.plan.text = source->explain();
  result.timings.plan_s = timer.elapsed_s();
  if (options.dry_run) return;

  timer = runtime::Timer();
  const std::size_t bytes = source->row_bytes();
  const std::size_t num_bits = clifford.record_of.size();
  BitReader bits(clifford.record_of);
  if (options.record_shots) {
    result.num_shot_bits = static_cast<std::uint32_t>(num_bits);
    result.shot_words = static_cast<std::uint32_t>((num_bits + 63) / 64);
    result.shot_bits.resize(options.shots * result.shot_words);
  }
  DoneShots done{0, RowCounts(bytes)};
  if (resumed) {
    get_done(resumed->rest, done, options.shots, result);
    sampling.first_shot = done.count;
    sampling.num_shots = options.shots - done.count;
  }
  if (!options.checkpoint.folder.empty()) {
    result.keeper =
        std::make_shared<Keeper>(options.checkpoint, nullptr, resumed ? &resumed->saved : nullptr);
    header.engine = result.engine;
    header.engine_choice = result.engine_choice;
  }
  const auto keep = [&](Asked why) {
    ByteWriter out;
    put_kind(out, RecordKind::kRun);
    put_header(out, header);
    put_done(out, done, result);
    result.keeper->write(out.bytes(), {}, why);
  };
  if (result.keeper && !result.keeper->has_checkpoint()) keep(Asked::kKeep);
  RowReader rows(clifford, bytes, result.seed);
  stabilizer::ShotPipeline pipeline;
  pipeline.format = [&](std::uint8_t* data, std::size_t n, formats::ByteBuffer&) {
    return std::span(reinterpret_cast<const char*>(data), n * source->row_stride());
  };
  pipeline.write = [&](std::span<const char> data, std::size_t n) {
    const auto* next = reinterpret_cast<const std::uint8_t*>(data.data());
    for (std::size_t s = 0; s < n; ++s, next += source->row_stride()) {
      const std::uint8_t* row = rows.read(next, done.count + s);
      done.rows.add(row);
      if (!options.record_shots) continue;
      std::copy_n(bits.read(reinterpret_cast<const char*>(row)).begin(), result.shot_words,
                  result.shot_bits.data() + (done.count + s) * result.shot_words);
    }
    done.count += n;
    if (result.keeper) {
      if (const Asked why = result.keeper->due(); why != Asked::kNothing) keep(why);
    }
    if (options.on_progress) {
      const double fraction = static_cast<double>(done.count) / static_cast<double>(options.shots);
      options.on_progress(fraction, timer.elapsed_s() * (1 - fraction) / fraction);
    }
    return true;
  };
  if (sampling.num_shots > 0) stabilizer::run_shots(*source, sampling, pipeline);
  if (result.keeper && !result.keeper->warning().empty())
    result.warnings.push_back(result.keeper->warning());
  result.timings.execute_s = timer.elapsed_s();

  timer = runtime::Timer();
  Counter counter(program);
  for (const auto& [row, count] : done.rows.counts()) {
    counter.add(bits.read(row.data()), count);
  }
  result.counts = counter.take();
  result.num_branches = 1;
  result.memory_bytes = done.rows.counts().size() * (bytes + 64);
  result.timings.observe_s = timer.elapsed_s();
}

}  // namespace tilewave::simulate
