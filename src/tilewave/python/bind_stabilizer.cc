// Samplers of circuits in Stim's language. A sampler hands out the shots of one endless sequence:
// sample(a), then sample(b) are the shots of sample(a + b).
#include <cstring>
#include <mutex>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind.h"
#include "tilewave/python/rooms-inl.h"
#include "tilewave/python/stream_rows.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/detections.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using stabilizer::SampleOptions;
using stabilizer::ShotOutput;
using stabilizer::ShotSource;
using Part = std::pair<std::uint64_t, std::uint64_t>;  // first bit, bits

stabilizer::StabProgram lower_text(
    const std::string& text, const std::string& name,
    stabilizer::Rotations rotations = stabilizer::Rotations::kRefuse) {
  return stabilizer::lower(language::parse_stim(text, name), name, rotations);
}

// Memory of arrays that Python has let go of, for the next ones of a sampler: fresh memory costs as
// much time as the shots do.
class BufferPool {
 public:
  runtime::HostBuffer take(std::size_t num_bytes) {
    const std::scoped_lock lock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->num_bytes() < num_bytes || it->num_bytes() > 2 * num_bytes) continue;
      runtime::HostBuffer buffer = std::move(*it);
      free_.erase(it);
      return buffer;
    }
    return runtime::HostBuffer(num_bytes);
  }
  void give(runtime::HostBuffer buffer) {
    if (buffer.num_bytes() > kMostBytes) return;
    const std::scoped_lock lock(mutex_);
    if (free_.size() == kMostBuffers) free_.erase(free_.begin());
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20, kMostBuffers = 2;
  std::mutex mutex_;
  std::vector<runtime::HostBuffer> free_;
};

// Goes back to its pool.
struct PooledBuffer {
  runtime::HostBuffer memory;
  std::shared_ptr<BufferPool> pool;
  PooledBuffer(runtime::HostBuffer m, std::shared_ptr<BufferPool> p)
      : memory(std::move(m)), pool(std::move(p)) {}
  PooledBuffer(PooledBuffer&&) = default;
  ~PooledBuffer() {
    if (pool) pool->give(std::move(memory));
  }
};

constexpr std::uint64_t kManyShots = std::uint64_t{1} << 20;

// Arrays from here on do not fit the caches of a core.
constexpr std::size_t kPastCaches = std::size_t{4} << 20;

// Where the bytes of one part of every shot go.
struct PartSink {
  std::uint64_t first, bits, row_bytes;
  runtime::HostBuffer memory;
  std::uint8_t* data;
};

class PySampler {
 public:
  PySampler(const std::string& text, const std::string& name, ShotOutput output,
            std::optional<std::uint64_t> seed, bool reference, const std::string& engine,
            int threads, const std::string& device) {
    options_.output = output;
    options_.num_shots = kManyShots;  // for the choice of the engine: samplers are asked again
    options_.reference = reference;
    options_.num_threads = checked_threads(threads);
    options_.engine = parse_sampling_engine(engine);
    options_.gpus = stabilizer::shot_gpus(device);
    options_.seed = seed ? *seed : draw_seed();
    const nb::gil_scoped_release release;
    const stabilizer::StabProgram program = lower_text(text, name, stabilizer::Rotations::kKeep);
    counts_ = program.counts;
    num_threads_ = runtime::wanted_num_threads(threads);
    source_ = stabilizer::make_shot_source(program, options_);
  }

  /// Arrays [shots, bits] of 0 and 1, or [shots, bytes] with eight bits a byte, one a part.
  nb::list sample(std::uint64_t shots, const std::vector<Part>& parts, bool bit_packed) {
    std::vector<PartSink> sinks;
    {
      const nb::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      for (const auto& [first, bits] : parts) {
        const std::uint64_t row_bytes = bit_packed ? (bits + 7) / 8 : bits;
        if (row_bytes && shots > (std::uint64_t{1} << 48) / row_bytes) {
          throw Error(ExitCode::kResources, std::to_string(shots) + " shots of " +
                                                std::to_string(bits) +
                                                " bits do not fit memory: ask for fewer at a time");
        }
        sinks.push_back({first, bits, row_bytes, pool_->take(shots * row_bytes), nullptr});
        sinks.back().data = sinks.back().memory.as<std::uint8_t>();
      }
      fill(shots, sinks, bit_packed);
    }
    nb::list arrays;
    for (PartSink& sink : sinks) {
      auto* data = sink.memory.as<std::uint8_t>();
      PooledBuffer held(std::move(sink.memory), pool_);
      if (bit_packed) {
        arrays.append(own_array<std::uint8_t>(std::move(held), data, {shots, sink.row_bytes}));
      } else {
        arrays.append(own_array<bool>(std::move(held), reinterpret_cast<bool*>(data),
                                      {shots, sink.row_bytes}));
      }
    }
    return arrays;
  }

  /// Shots attempted, kept, and of these with each observable; the detectors of `words` are silent.
  std::tuple<std::uint64_t, std::uint64_t, std::vector<std::uint64_t>> count_kept(
      std::uint64_t shots, const std::string& words) {
    const nb::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    SampleOptions options = options_;
    options.num_shots = shots;
    options.num_threads = num_threads_;
    options.must_be_zero = stabilizer::post_selection_mask(words, counts_.detectors);
    const stabilizer::KeptShots k =
        stabilizer::count_kept(*source_, options, [](std::uint64_t) { return true; });
    options_.first_shot += shots;
    std::vector<std::uint64_t> errors;
    for (std::uint64_t l = 0; l < counts_.observables; ++l)
      errors.push_back(k.ones[counts_.detectors + l]);
    return {k.attempted, k.kept, errors};
  }

  const circuit::StabCounts& counts() const { return counts_; }
  std::string explain() const { return source_->explain(); }
  std::uint64_t seed() const { return options_.seed; }
  std::uint64_t next_shot() const { return options_.first_shot; }
  void go_to(std::uint64_t shot) { options_.first_shot = shot; }

 private:
  // Every thread into its own part of the arrays.
  void fill(std::uint64_t shots, const std::vector<PartSink>& sinks, bool bit_packed) {
    const std::uint64_t stride = source_->row_stride();
    std::vector<std::vector<std::uint8_t>> cut(
        static_cast<std::size_t>(stabilizer::threads_for(*source_, num_threads_)));
    stabilizer::fill_shots(*source_, options_.seed, options_.first_shot, shots, num_threads_,
                           [&](const stabilizer::FilledRows& part) {
                             for (const PartSink& sink : sinks) {
                               copy_part(part.rows, stride, part.count, sink, bit_packed,
                                         cut[static_cast<std::size_t>(part.thread)],
                                         sink.data + part.first * sink.row_bytes);
                             }
                           });
    options_.first_shot += shots;
  }

  static void copy_part(const std::uint8_t* rows, std::size_t stride, std::size_t n,
                        const PartSink& sink, bool bit_packed, std::vector<std::uint8_t>& cut,
                        std::uint8_t* out) {
    const std::uint8_t* from = rows + sink.first / 8;
    if (sink.first % 8) {
      formats::cut_rows(rows, stride, n, sink.first, sink.bits, cut);
      cut.resize(cut.size() + 64);  // which may be read
      from = cut.data(), stride = (sink.bits + 7) / 8;
    }
    const bool past_caches = sink.memory.num_bytes() >= kPastCaches;
    stream_rows(from, stride, n, {sink.bits, bit_packed}, past_caches, out);
  }

  std::mutex mutex_;
  SampleOptions options_;
  circuit::StabCounts counts_;
  int num_threads_ = 1;
  std::unique_ptr<ShotSource> source_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

void bind_sampler(nb::module_& m) {
  nb::class_<PySampler> c(m, "_Sampler");
  c.def(
      "__init__",
      [](PySampler* self, const std::string& text, const std::string& name, bool detectors,
         std::optional<std::uint64_t> seed, bool reference, const std::string& engine, int threads,
         const std::string& device) {
        new (self) PySampler(text, name, detectors ? ShotOutput::kDetectors : ShotOutput::kRecords,
                             seed, reference, engine, threads, device);
      },
      "text"_a, "name"_a, "detectors"_a, "seed"_a.none(), "reference"_a, "engine"_a, "threads"_a,
      "device"_a);
  c.def("count_kept", &PySampler::count_kept, "shots"_a, "postselect"_a);
  c.def("sample", &PySampler::sample, "shots"_a, "parts"_a, "bit_packed"_a);
  c.def_prop_ro("num_measurements", [](const PySampler& s) { return s.counts().measurements; });
  c.def_prop_ro("num_detectors", [](const PySampler& s) { return s.counts().detectors; });
  c.def_prop_ro("num_observables", [](const PySampler& s) { return s.counts().observables; });
  c.def_prop_ro("num_qubits", [](const PySampler& s) { return s.counts().qubits; });
  c.def_prop_ro("seed", &PySampler::seed);
  c.def_prop_ro("next_shot", &PySampler::next_shot);
  c.def("go_to", &PySampler::go_to, "shot"_a, "The next shot is this one of the sequence.");
  c.def("explain", &PySampler::explain);
}

class PyConverter {
 public:
  PyConverter(const std::string& text, const std::string& name, bool reference) {
    const nb::gil_scoped_release release;
    const stabilizer::StabProgram program = lower_text(text, name);
    num_measurements_ = program.counts.measurements;
    num_sweep_bits_ = program.counts.sweep_bits;
    converter_ = std::make_unique<stabilizer::DetectionConverter>(program, reference);
  }

  /// Packed measurements (and sweep bits) to packed rows of detectors, then observables.
  Array<std::uint8_t> convert(const ConstArray<std::uint8_t>& measurements,
                              const std::optional<ConstArray<std::uint8_t>>& sweep) const {
    const std::size_t stride = formats::ShotLayout{num_measurements_}.bytes(),
                      sweep_stride = formats::ShotLayout{num_sweep_bits_}.bytes();
    if (measurements.ndim() != 2 || measurements.shape(1) != stride) {
      throw Error(ExitCode::kUsage, "measurements must have " + std::to_string(num_measurements_) +
                                        " bits a shot: an array [shots, " + std::to_string(stride) +
                                        "] of packed bytes");
    }
    const std::size_t shots = measurements.shape(0);
    if (sweep &&
        (sweep->ndim() != 2 || sweep->shape(0) != shots || sweep->shape(1) < sweep_stride)) {
      throw Error(ExitCode::kUsage, "sweep_bits must have " + std::to_string(num_sweep_bits_) +
                                        " bits for each of the " + std::to_string(shots) +
                                        " shots");
    }
    std::vector<std::uint8_t> out(shots * converter_->row_bytes());
    {
      const nb::gil_scoped_release release;
      converter_->convert(measurements.data(), stride, sweep ? sweep->data() : nullptr,
                          sweep ? sweep->shape(1) : 0, shots, out.data());
    }
    return own_vector<std::uint8_t>(std::move(out), {shots, converter_->row_bytes()});
  }

  const stabilizer::DetectionConverter& get() const { return *converter_; }
  std::uint64_t num_measurements() const { return num_measurements_; }

 private:
  std::uint64_t num_measurements_ = 0, num_sweep_bits_ = 0;
  std::unique_ptr<stabilizer::DetectionConverter> converter_;
};

void bind_converter(nb::module_& m) {
  nb::class_<PyConverter> c(m, "_Converter");
  c.def(nb::init<const std::string&, const std::string&, bool>(), "text"_a, "name"_a,
        "reference"_a);
  c.def("convert", &PyConverter::convert, "measurements"_a, "sweep_bits"_a = nb::none());
  c.def_prop_ro("num_measurements", &PyConverter::num_measurements);
  c.def_prop_ro("num_detectors",
                [](const PyConverter& self) { return self.get().num_detectors(); });
  c.def_prop_ro("num_observables",
                [](const PyConverter& self) { return self.get().num_observables(); });
}

}  // namespace

void bind_stabilizer(nb::module_& m) {
  bind_sampler(m);
  bind_converter(m);
  m.def(
      "_format_shots",
      [](const ConstArray<std::uint8_t>& rows, std::uint64_t measurements, std::uint64_t detectors,
         std::uint64_t observables, const std::string& format, bool observables_first) {
        const formats::ShotLayout layout{measurements, detectors, observables, observables_first};
        const formats::ShotFormat parsed = formats::parse_shot_format(format);
        if (formats::is_summary(parsed)) {
          throw Error(ExitCode::kUsage, format + " is no format of shots: sum the array instead");
        }
        if (parsed == formats::ShotFormat::kPtb64 && rows.shape(0) % 64) {
          throw Error(ExitCode::kUsage,
                      "ptb64 holds 64 shots at a time: use multiples of 64 for shots");
        }
        TW_CHECK(rows.ndim() == 2 && rows.shape(1) >= layout.bytes(), "rows are too short");
        formats::ByteBuffer out;
        formats::ShotFormatter(parsed, layout)
            .append(rows.data(), rows.shape(1), rows.shape(0), out);
        return nb::bytes(out.data(), out.size());
      },
      "rows"_a, "measurements"_a, "detectors"_a, "observables"_a, "format"_a,
      "observables_first"_a = false);
  m.def(
      "_error_model",
      [](const std::string& text, const std::string& name, bool decompose, bool flatten_loops,
         bool allow_gauge, double approximate, bool ignore_failures, bool block_remnant) {
        const nb::gil_scoped_release release;
        stabilizer::AnalysisOptions options;
        options.decompose_errors = decompose;
        options.fold_loops = !flatten_loops;
        options.allow_gauge_detectors = allow_gauge;
        options.approximate_disjoint_errors = approximate;
        options.ignore_decomposition_failures = ignore_failures;
        options.block_remnant_edges = block_remnant;
        std::string out;
        language::DemWriter writer([&](std::string_view piece) { out += piece; });
        stabilizer::analyze_errors(lower_text(text, name), options, writer);
        writer.flush();
        return out;
      },
      "text"_a, "name"_a, "decompose_errors"_a, "flatten_loops"_a, "allow_gauge_detectors"_a,
      "approximate_disjoint_errors"_a, "ignore_decomposition_failures"_a,
      "block_decomposition_from_introducing_remnant_edges"_a);
}

}  // namespace tilewave::python
