// What is asked of circuits in Stim's language and error models beside shots (bind_sampler.cc):
// measurements turned into detection events, files of shots, error models.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "tilewave/base/error.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/stabilizer/detections.h"
#include "tilewave/stabilizer/diagram/diagram.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/graphlike_error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

stabilizer::StabProgram lower_text(const std::string& text, const std::string& name) {
  return stabilizer::lower(language::parse_stim(text, name), name);
}

class PyConverter {
 public:
  PyConverter(const std::string& text, const std::string& name, bool reference) {
    const nb::gil_scoped_release release;
    const stabilizer::StabProgram program =
        stabilizer::lower(language::parse_stim(text, name), name, stabilizer::Rotations::kRefuse,
                          stabilizer::Leakage::kKeep);
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
      fail(ExitCode::kUsage, "measurements must have ", num_measurements_,
           " bits a shot: an array [shots, ", stride, "] of packed bytes");
    }
    const std::size_t shots = measurements.shape(0);
    if (sweep &&
        (sweep->ndim() != 2 || sweep->shape(0) != shots || sweep->shape(1) < sweep_stride)) {
      fail(ExitCode::kUsage, "sweep_bits must have ", num_sweep_bits_, " bits for each of the ",
           shots, " shots");
    }
    std::vector<std::uint8_t> out(shots * converter_->row_bytes());
    without_interpreter([&] {
      converter_->convert(measurements.data(), stride, sweep ? sweep->data() : nullptr,
                          sweep ? sweep->shape(1) : 0, shots, out.data());
    });
    return own_vector<std::uint8_t>(std::move(out), {shots, converter_->row_bytes()});
  }

  const stabilizer::DetectionConverter& get() const { return *converter_; }
  std::uint64_t num_measurements() const { return num_measurements_; }
  std::uint64_t num_sweep_bits() const { return num_sweep_bits_; }

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
  c.def_prop_ro("num_sweep_bits", &PyConverter::num_sweep_bits);
  c.def_prop_ro("num_detectors",
                [](const PyConverter& self) { return self.get().num_detectors(); });
  c.def_prop_ro("num_observables",
                [](const PyConverter& self) { return self.get().num_observables(); });
}

}  // namespace

void bind_stabilizer(nb::module_& m) {
  bind_converter(m);
  m.def(
      "_format_shots",
      [](const ConstArray<std::uint8_t>& rows, std::uint64_t measurements, std::uint64_t detectors,
         std::uint64_t observables, const std::string& format, bool observables_first) {
        const formats::ShotLayout layout{measurements, detectors, observables, observables_first};
        const formats::ShotFormat parsed = formats::parse_shot_format(format);
        if (formats::is_summary(parsed)) {
          fail(ExitCode::kUsage, format, " is no format of shots: sum the array instead");
        }
        if (parsed == formats::ShotFormat::kPtb64 && rows.shape(0) % 64) {
          fail(ExitCode::kUsage, "ptb64 holds 64 shots at a time: use multiples of 64 for shots");
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
      "_convert_circuit",
      [](const std::string& text, const std::string& name, const std::string& to) {
        const nb::gil_scoped_release release;
        const language::Dialect dialect = language::parse_dialect(to);
        return language::print_dialect(language::parse_stim(text, name), dialect, name);
      },
      "text"_a, "name"_a, "to"_a);
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
  m.def(
      "_shortest_graphlike_error",
      [](const std::string& text, const std::string& name, bool ignore_ungraphlike) {
        const nb::gil_scoped_release release;
        return language::print_dem(stabilizer::as_model(stabilizer::shortest_graphlike_error(
            language::parse_dem(text, name), ignore_ungraphlike)));
      },
      "text"_a, "name"_a, "ignore_ungraphlike_errors"_a);
  m.def(
      "_diagram",
      [](const std::string& text, const std::string& name, const std::string& type,
         const std::string& ticks, const std::optional<std::string>& shown, bool remove_noise,
         bool is_model) {
        const nb::gil_scoped_release release;
        const stabilizer::DiagramOptions options{stabilizer::parse_diagram_kind(type), ticks, shown,
                                                 remove_noise};
        if (is_model) return stabilizer::model_svg(language::parse_dem(text, name), options);
        return stabilizer::circuit_svg(language::parse_stim(text, name), name, options);
      },
      "text"_a, "name"_a, "type"_a, "ticks"_a, "shown"_a.none(), "remove_noise"_a, "is_model"_a);
}

}  // namespace tilewave::python
