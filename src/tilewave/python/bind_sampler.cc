// Samplers of circuits in Stim's language and of error models. A sampler hands out the shots of one
// endless sequence: sample(a), then sample(b) are the shots of sample(a + b). Every thread writes the
// rows it made into the arrays while they are in its cache. Where shots are discarded, a chunk has
// room for all of its shots behind the rows kept before, and the gaps are closed when it is done:
// memory is that of the kept rows and a chunk. One thread leaves no gaps.
#include <cstring>
#include <mutex>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/base/random_seed.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/python/buffer_pool.h"
#include "tilewave/python/device_shots-inl.h"
#include "tilewave/python/stream_rows.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/model_rows.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/stabilizer/sample/shot_layouts.h"
#include "tilewave/stabilizer/sweep_flips.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using stabilizer::SampleOptions;
using stabilizer::ShotOutput;
using stabilizer::ShotSource;
using Part = std::pair<std::uint64_t, std::uint64_t>;  // first bit, bits
using PackedRows = ConstArray<std::uint8_t>;

constexpr std::uint64_t kManyShots = std::uint64_t{1} << 20;

// Arrays from here on do not fit the caches of a core.
constexpr std::size_t kPastCaches = std::size_t{4} << 20;

// Of the arrays' rows of a chunk of shots of which some are discarded.
constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

// Where the bytes of one part of every shot go.
struct PartSink {
  std::uint64_t first, bits, row_bytes;
  runtime::HostBuffer memory = {};
};

// What a call takes beside the number of shots; rows of bytes hold eight bits each.
struct ShotWishes {
  std::vector<Part> parts;
  bool bit_packed = false;
  std::optional<PackedRows> sweep;    // a row a shot, or one row for all
  std::optional<PackedRows> discard;  // one row: a shot with one of these bits is not given
};

class PySampler {
 public:
  PySampler(const std::string& text, const std::string& name, ShotOutput output,
            std::optional<std::uint64_t> seed, bool reference, const std::string& engine,
            int threads, const std::string& device, const std::optional<std::string>& faults) {
    options_.output = output;
    if (faults) options_.faults = stabilizer::parse_fault_range(*faults);
    options_.num_shots = kManyShots;  // for the choice of the engine: samplers are asked again
    options_.reference = reference;
    options_.num_threads = runtime::checked_num_threads(threads);
    options_.engine = parse_sampling_engine(engine);
    options_.gpus = stabilizer::shot_gpus(device);
    options_.seed = seed ? *seed : draw_seed();
    const nb::gil_scoped_release release;
    stabilizer::StabProgram program =
        stabilizer::lower(language::parse_stim(text, name), name, stabilizer::Rotations::kKeep,
                          stabilizer::Leakage::kKeep);
    counts_ = program.counts;
    num_threads_ = runtime::wanted_num_threads(threads);
    source_ = stabilizer::make_shot_source(program, options_);
    if (counts_.sweep_bits > 0) swept_ = std::move(program);
  }

  /// Of an error model; `with_errors`: a further bit for every error.
  PySampler(const std::string& text, const std::string& name, bool with_errors,
            std::optional<std::uint64_t> seed, int threads, const std::string& device,
            const std::optional<std::string>& faults) {
    if (faults) options_.faults = stabilizer::parse_fault_range(*faults);
    options_.gpus = stabilizer::shot_gpus(device);
    options_.num_threads = runtime::checked_num_threads(threads);
    options_.seed = seed ? *seed : draw_seed();
    const nb::gil_scoped_release release;
    model_ = stabilizer::model_rows(language::parse_dem(text, name), with_errors, name);
    counts_.detectors = model_->num_detectors;
    counts_.observables = model_->num_observables;
    num_threads_ = runtime::wanted_num_threads(threads);
    source_ = stabilizer::make_shot_source(*model_, options_);
  }

  /// Arrays [shots, bits] of 0 and 1, or [shots, bytes] with eight bits a byte, one a part. Where
  /// shots are discarded, the arrays have the kept ones only.
  nb::list sample(std::uint64_t shots, const ShotWishes& wishes) {
    std::uint64_t kept = shots;
    std::vector<PartSink> sinks = sinks_of(wishes.parts, wishes.bit_packed, shots);
    take(shots, [&] {
      check(wishes, shots);
      if (wishes.sweep) find_sweep_flips();
      if (wishes.discard) {
        kept = fill_kept(shots, wishes, sinks);
      } else {
        make_room(sinks, 0, shots);
        fill(0, shots, wishes, sinks, 0);
      }
    });
    return arrays_of(std::move(sinks), wishes.bit_packed, kept);
  }

  /// The same in the memory of the GPU that makes the shots (device_shots.h).
  nb::list sample_on_device(std::uint64_t shots, const std::vector<Part>& parts,
                            const std::string& layout, const std::optional<PackedRows>& discard) {
    const stabilizer::DeviceLayout how = parse_device_layout(layout);
    std::vector<stabilizer::BitRange> ranges;
    for (const auto& [first, bits] : parts) ranges.push_back({first, bits});
    std::vector<stabilizer::DeviceShots> made;
    take(shots, [&] {
      stabilizer::check_shot_numbers(options_.first_shot, shots, "ask for fewer shots");
      made = source_->keep_on_device({options_.seed, options_.first_shot, shots}, ranges, how,
                                     discard ? mask_of(*discard) : std::vector<std::uint64_t>{});
    });
    return device_arrays(made, how);
  }

  /// Of an error model: the parts of shots whose errors are given, packed in rows.
  nb::list replay(const PackedRows& errors, const std::vector<Part>& parts, bool bit_packed) {
    TW_CHECK(model_, "only the errors of a model are replayed");
    const std::size_t stride = (model_->errors.size() + 7) / 8;
    if (errors.ndim() != 2 || errors.shape(1) != stride) {
      fail(ExitCode::kUsage, "recorded errors must have ", model_->errors.size(),
           " bits a shot: an array [shots, ", stride, "] of packed bytes");
    }
    const std::size_t shots = errors.shape(0);
    std::vector<PartSink> sinks = sinks_of(parts, bit_packed, shots);
    without_interpreter([&] {
      make_room(sinks, 0, shots);
      std::vector<std::uint8_t> rows(shots * model_->row_bytes() + 64), cut;
      model_->replay(errors.data(), stride, shots, rows.data());
      for (PartSink& sink : sinks)
        copy_part(rows.data(), model_->row_bytes(), shots, sink, bit_packed, cut, 0);
    });
    return arrays_of(std::move(sinks), bit_packed, shots);
  }

  /// [num_bits, ceil(shots / 8)]: a row a bit.
  Array<std::uint8_t> sample_bit_rows(std::uint64_t shots) {
    std::vector<std::uint8_t> rows;
    take(shots, [&] {
      bytes_of_row(source_->num_bits(), true, shots);
      rows = stabilizer::sample_bit_rows(*source_, next(shots));
    });
    return own_vector<std::uint8_t>(std::move(rows), {source_->num_bits(), (shots + 7) / 8});
  }

  /// Offsets and numbers of the ones of the first bits.
  nb::tuple sample_lists(std::uint64_t shots, std::uint64_t num_bits) {
    stabilizer::ShotLists lists;
    take(shots, [&] {
      bytes_of_row(source_->num_bits(), true, shots);
      lists = stabilizer::sample_lists(*source_, next(shots), num_bits);
    });
    return nb::make_tuple(own_vector<std::int64_t>(std::move(lists.offsets)),
                          own_vector<std::uint32_t>(std::move(lists.hits)));
  }

  /// Shots attempted, kept, and of these with each observable; the detectors of `words` are silent.
  std::tuple<std::uint64_t, std::uint64_t, std::vector<std::uint64_t>> count_kept(
      std::uint64_t shots, const std::string& words) {
    stabilizer::KeptShots k;
    take(shots, [&] {
      SampleOptions options = options_;
      options.num_shots = shots;
      options.num_threads = num_threads_;
      options.must_be_zero = stabilizer::post_selection_mask(words, counts_.detectors);
      k = stabilizer::count_kept(*source_, options, [](std::uint64_t) { return true; });
    });
    std::vector<std::uint64_t> errors;
    for (std::uint64_t l = 0; l < counts_.observables; ++l)
      errors.push_back(k.ones[counts_.detectors + l]);
    return {k.attempted, k.kept, errors};
  }

  /// The probability of the number of faults that shots have; 1 where any number will do.
  double weight() const { return source_->faults() ? source_->faults()->numbers().weight() : 1; }
  const circuit::StabCounts& counts() const { return counts_; }
  std::uint64_t num_errors() const { return model_ ? model_->errors.size() : 0; }
  std::string explain() const { return source_->explain(); }
  std::uint64_t seed() const { return options_.seed; }
  std::uint64_t next_shot() const { return options_.first_shot; }
  void go_to(std::uint64_t shot) { options_.first_shot = shot; }

 private:
  // The next shots: those of one call at a time.
  template <class F>
  void take(std::uint64_t shots, F make) {
    const nb::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    make();
    options_.first_shot += shots;
  }

  stabilizer::ShotStretch next(std::uint64_t shots) const {
    return {options_.seed, options_.first_shot, shots, num_threads_};
  }

  static std::uint64_t bytes_of_row(std::uint64_t bits, bool bit_packed, std::uint64_t shots) {
    const std::uint64_t row_bytes = bit_packed ? (bits + 7) / 8 : bits;
    if (row_bytes && shots > (std::uint64_t{1} << 48) / row_bytes) {
      fail(ExitCode::kResources, shots, " shots of ", bits,
           " bits do not fit memory: ask for fewer at a time");
    }
    return row_bytes;
  }

  static std::vector<PartSink> sinks_of(const std::vector<Part>& parts, bool bit_packed,
                                        std::uint64_t shots) {
    std::vector<PartSink> sinks;
    for (const auto& [first, bits] : parts)
      sinks.push_back({first, bits, bytes_of_row(bits, bit_packed, shots)});
    return sinks;
  }

  // Room for `rows` rows; the first `used` ones stay what they are.
  void make_room(std::vector<PartSink>& sinks, std::uint64_t used, std::uint64_t rows) const {
    std::uint64_t num_bytes = 0;
    for (const PartSink& sink : sinks) {
      num_bytes = saturating_add(num_bytes, saturating_multiply(rows, sink.row_bytes));
    }
    runtime::need_host_bytes(num_bytes, concat("arrays of ", rows, " shots do not fit memory"),
                             "ask for fewer at a time");
    for (PartSink& sink : sinks) {
      runtime::HostBuffer larger = pool_->take(rows * sink.row_bytes);
      if (used * sink.row_bytes > 0)
        std::memcpy(larger.as<std::uint8_t>(), sink.memory.as<std::uint8_t>(),
                    used * sink.row_bytes);
      std::swap(sink.memory, larger);
      if (larger.num_bytes() > 0) pool_->give(std::move(larger));
    }
  }

  nb::list arrays_of(std::vector<PartSink> sinks, bool bit_packed, std::size_t shots) const {
    nb::list arrays;
    for (PartSink& sink : sinks) {
      auto* data = sink.memory.as<std::uint8_t>();
      const std::initializer_list<std::size_t> shape = {shots, sink.row_bytes};
      PooledBuffer owner(std::move(sink.memory), pool_);
      if (bit_packed) {
        arrays.append(own_array<std::uint8_t>(std::move(owner), data, shape));
      } else {
        arrays.append(own_array<bool>(std::move(owner), reinterpret_cast<bool*>(data), shape));
      }
    }
    return arrays;
  }

  void check(const ShotWishes& wishes, std::uint64_t shots) const {
    TW_CHECK(!wishes.sweep || !wishes.discard, "sweep bits would change what is discarded");
    if (wishes.sweep) {
      if (swept_ && swept_->num_rotations > 0) {
        fail(ExitCode::kUsage,
             "sweep bits are for circuits of Clifford gates: this one has rotations, whose "
             "outcomes a Pauli changes otherwise than by flips");
      }
      const std::uint64_t bytes = (counts_.sweep_bits + 7) / 8;
      const PackedRows& rows = *wishes.sweep;
      if (rows.ndim() != 2 || rows.shape(1) != bytes ||
          (rows.shape(0) != 1 && rows.shape(0) != shots)) {
        fail(ExitCode::kUsage, "sweep_bits must have ", counts_.sweep_bits,
             " bits for each of the ", shots, " shots, or a row for all");
      }
    }
    if (wishes.discard) {
      TW_CHECK(wishes.discard->ndim() == 1 && wishes.discard->shape(0) == source_->row_bytes(),
               "a mask has the bytes of a row");
    }
  }

  // The kept ones of the next shots; returns how many.
  std::uint64_t fill_kept(std::uint64_t shots, const ShotWishes& wishes,
                          std::vector<PartSink>& sinks) {
    std::uint64_t row = 1, kept = 0, room = 0;
    for (const PartSink& sink : sinks) row += sink.row_bytes;
    const std::uint64_t block = source_->block_shots();
    const std::uint64_t chunk = std::max<std::uint64_t>(1, kChunkBytes / row / block) * block *
                                static_cast<std::uint64_t>(num_blocks_at_once());
    for (std::uint64_t done = 0, now; done < shots; done += now) {
      // chunks end with a block
      now = std::min(chunk - (options_.first_shot + done) % block, shots - done);
      if (kept + now > room) {  // about as many will be kept of the others
        const double share = static_cast<double>(kept) / static_cast<double>(std::max(done, now));
        room = kept + now +
               static_cast<std::uint64_t>(1.02 * share * static_cast<double>(shots - done));
        make_room(sinks, kept, room);
      }
      kept += fill(done, now, wishes, sinks, kept);
    }
    if (kept < room / 2) make_room(sinks, kept, kept);  // arrays may be held for long
    return kept;
  }
  int num_blocks_at_once() const { return stabilizer::threads_for(*source_, num_threads_); }

  static std::vector<std::uint64_t> mask_of(const PackedRows& discard) {
    std::vector<std::uint64_t> mask((discard.size() + 7) / 8);
    std::memcpy(mask.data(), discard.data(), discard.size());
    return mask;
  }

  void flip_sweep(const PackedRows& sweep, std::uint64_t shot, std::uint8_t* row) const {
    const std::uint64_t of = sweep.shape(0) == 1 ? 0 : shot;
    stabilizer::flip_swept(sweep_flips_, sweep.data() + of * sweep.shape(1), row);
  }

  void find_sweep_flips() {
    if (!sweep_flips_.empty() || !swept_) return;
    sweep_flips_ = stabilizer::sweep_flips(*swept_, options_.output == ShotOutput::kRecords
                                                        ? stabilizer::SymptomKind::kRecords
                                                        : stabilizer::SymptomKind::kDetectors);
    swept_.reset();
  }

  // Shots [first, first + count) of a call into the arrays' rows from `at` on, every thread into its
  // own part of them; returns how many were kept.
  std::uint64_t fill(std::uint64_t first, std::uint64_t count, const ShotWishes& wishes,
                     std::vector<PartSink>& sinks, std::uint64_t at) {
    const std::uint64_t stride = source_->row_stride(), bytes = source_->row_bytes();
    const std::uint64_t start = options_.first_shot + first, block = source_->block_shots();
    struct Scratch {
      std::vector<std::uint8_t> swept, cut;
    };
    std::vector<Scratch> scratch(static_cast<std::size_t>(num_blocks_at_once()));
    std::vector<std::uint64_t> must_be_zero;
    std::vector<KeptRows> parts;                      // of blocks
    const bool in_order = num_blocks_at_once() == 1;  // then there are no gaps
    std::uint64_t kept = 0;
    if (wishes.discard) {
      must_be_zero = mask_of(*wishes.discard);
      if (!in_order) parts.resize((start + count - 1) / block - start / block + 1);
    }
    stabilizer::fill_shots(
        *source_, options_.seed, start, count, num_threads_,
        [&](const stabilizer::FilledRows& part) {
          auto& [swept, cut] = scratch[static_cast<std::size_t>(part.thread)];
          const std::uint8_t* rows = part.rows;
          std::uint64_t row_stride = stride;
          if (wishes.sweep) {
            swept.resize(part.count * bytes + 64);
            for (std::uint64_t s = 0; s < part.count; ++s) {
              std::memcpy(swept.data() + s * bytes, rows + s * stride, bytes);
              flip_sweep(*wishes.sweep, first + part.first + s, swept.data() + s * bytes);
            }
            rows = swept.data(), row_stride = bytes;
          }
          const std::uint64_t to = at + (wishes.discard && in_order ? kept : part.first);
          for (PartSink& sink : sinks)
            copy_part(rows, row_stride, part.count, sink, wishes.bit_packed, cut, to);
          if (!wishes.discard) return;
          if (in_order) {
            kept += part.count;
          } else {
            parts[(start + part.first) / block - start / block] = {to, part.count};
          }
        },
        must_be_zero);
    if (!wishes.discard) return count;
    return in_order ? kept : close_gaps(parts, at, sinks);
  }

  struct KeptRows {
    std::uint64_t first = 0, count = 0;
  };
  // Moves the rows of parts together, from row `at` on; returns how many there are.
  static std::uint64_t close_gaps(const std::vector<KeptRows>& parts, std::uint64_t at,
                                  std::vector<PartSink>& sinks) {
    std::uint64_t to = at;
    for (const KeptRows& part : parts) {
      for (PartSink& sink : sinks) {
        auto* data = sink.memory.as<std::uint8_t>();
        if (part.first != to && part.count * sink.row_bytes > 0)
          std::memmove(data + to * sink.row_bytes, data + part.first * sink.row_bytes,
                       part.count * sink.row_bytes);
      }
      to += part.count;
    }
    return to - at;
  }

  // A part of `n` rows into the array's rows from `at` on; 64 bytes behind the last may be read.
  static void copy_part(const std::uint8_t* rows, std::size_t stride, std::size_t n, PartSink& sink,
                        bool bit_packed, std::vector<std::uint8_t>& cut, std::uint64_t at) {
    const std::uint8_t* from = rows + sink.first / 8;
    if (sink.first % 8) {
      formats::cut_rows(rows, stride, n, sink.first, sink.bits, cut);
      cut.resize(cut.size() + 64);  // which may be read
      from = cut.data(), stride = (sink.bits + 7) / 8;
    }
    const bool past_caches = sink.memory.num_bytes() >= kPastCaches;
    stream_rows(from, stride, n, {sink.bits, bit_packed}, past_caches,
                sink.memory.as<std::uint8_t>() + at * sink.row_bytes);
  }

  std::mutex mutex_;
  SampleOptions options_;
  circuit::StabCounts counts_;
  std::optional<stabilizer::StabProgram> swept_;  // until its sweep bits are first asked for
  std::vector<std::vector<std::uint32_t>> sweep_flips_;
  std::optional<stabilizer::ModelRows> model_;
  int num_threads_ = 1;
  std::unique_ptr<ShotSource> source_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
};

}  // namespace

void bind_sampler(nb::module_& m) {
  nb::class_<PySampler> c(m, "_Sampler");
  c.def(
      "__init__",
      [](PySampler* self, const std::string& text, const std::string& name, bool detectors,
         std::optional<std::uint64_t> seed, bool reference, const std::string& engine, int threads,
         const std::string& device, const std::optional<std::string>& faults) {
        new (self) PySampler(text, name, detectors ? ShotOutput::kDetectors : ShotOutput::kRecords,
                             seed, reference, engine, threads, device, faults);
      },
      "text"_a, "name"_a, "detectors"_a, "seed"_a.none(), "reference"_a, "engine"_a, "threads"_a,
      "device"_a, "faults"_a = nb::none());
  c.def_static(
      "_of_model",
      [](const std::string& text, const std::string& name, bool with_errors,
         std::optional<std::uint64_t> seed, int threads, const std::string& device,
         const std::optional<std::string>& faults) {
        return std::make_unique<PySampler>(text, name, with_errors, seed, threads, device, faults);
      },
      "text"_a, "name"_a, "with_errors"_a, "seed"_a.none(), "threads"_a, "device"_a,
      "faults"_a = nb::none());
  c.def("count_kept", &PySampler::count_kept, "shots"_a, "postselect"_a);
  c.def_prop_ro("weight", &PySampler::weight);
  c.def(
      "sample",
      [](PySampler& self, std::uint64_t shots, std::vector<Part> parts, bool bit_packed,
         std::optional<PackedRows> sweep, std::optional<PackedRows> discard) {
        return self.sample(shots,
                           {std::move(parts), bit_packed, std::move(sweep), std::move(discard)});
      },
      "shots"_a, "parts"_a, "bit_packed"_a, "sweep"_a = nb::none(), "discard"_a = nb::none());
  c.def("sample_on_device", &PySampler::sample_on_device, "shots"_a, "parts"_a, "layout"_a,
        "discard"_a = nb::none());
  c.def("sample_bit_rows", &PySampler::sample_bit_rows, "shots"_a);
  c.def("sample_lists", &PySampler::sample_lists, "shots"_a, "num_bits"_a);
  c.def("replay", &PySampler::replay, "errors"_a, "parts"_a, "bit_packed"_a);
  c.def_prop_ro("num_measurements", [](const PySampler& s) { return s.counts().measurements; });
  c.def_prop_ro("num_detectors", [](const PySampler& s) { return s.counts().detectors; });
  c.def_prop_ro("num_observables", [](const PySampler& s) { return s.counts().observables; });
  c.def_prop_ro("num_qubits", [](const PySampler& s) { return s.counts().qubits; });
  c.def_prop_ro("num_sweep_bits", [](const PySampler& s) { return s.counts().sweep_bits; });
  c.def_prop_ro("num_errors", &PySampler::num_errors);
  c.def_prop_ro("seed", &PySampler::seed);
  c.def_prop_ro("next_shot", &PySampler::next_shot);
  c.def("go_to", &PySampler::go_to, "shot"_a, "The next shot is this one of the sequence.");
  c.def("explain", &PySampler::explain);
}

}  // namespace tilewave::python
