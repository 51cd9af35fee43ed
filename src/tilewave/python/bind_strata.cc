// Importance sampling by the number of faults.
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/random_seed.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

stabilizer::StabProgram program_of(const std::string& text, const std::string& name) {
  return stabilizer::lower(language::parse_stim(text, name), name, stabilizer::Rotations::kKeep,
                           stabilizer::Leakage::kKeep);
}

/// {seed, attempted, strata: [(faults, weight, attempted, kept, errors, any)], kept, errors, any}; an
/// estimate is (value, low, high).
nb::dict sample_strata(const std::string& text, const std::string& name, std::uint64_t shots,
                       const std::string& words, const std::optional<std::string>& postselect,
                       stabilizer::StrataOptions how, const std::string& device) {
  stabilizer::StrataTable table;
  {
    const nb::gil_scoped_release release;
    const stabilizer::StabProgram program = program_of(text, name);
    how.num_shots = shots;
    how.gpus = stabilizer::shot_gpus(device);
    if (postselect)
      how.must_be_zero = stabilizer::post_selection_mask(*postselect, program.counts.detectors);
    table = stabilizer::sample_strata(program, words, how);
  }
  const auto estimate = [](const stabilizer::Estimate& e) {
    return nb::make_tuple(e.value, e.low, e.high);
  };
  nb::list rows, errors;
  for (const stabilizer::Stratum& s : table.strata) {
    rows.append(
        nb::make_tuple(words_of(s.faults), s.weight, s.attempted, s.kept, s.errors, s.any_error));
  }
  for (const stabilizer::Estimate& e : table.errors) errors.append(estimate(e));
  nb::dict out;
  out["seed"] = how.seed;
  out["attempted"] = table.attempted;
  out["strata"] = rows;
  out["kept"] = estimate(table.kept);
  out["errors"] = errors;
  out["any_error"] = estimate(table.any_error);
  return out;
}

}  // namespace

void bind_strata(nb::module_& m) {
  m.def(
      "_sample_strata",
      [](const std::string& text, const std::string& name, std::uint64_t shots,
         const std::string& strata, const std::optional<std::string>& postselect,
         std::uint64_t fault_distance, bool even, double confidence,
         std::optional<std::uint64_t> seed, int threads, const std::string& device) {
        stabilizer::StrataOptions how;
        how.fault_distance = fault_distance;
        how.even = even;
        how.confidence = confidence;
        how.seed = seed ? *seed : draw_seed();
        how.num_threads = runtime::checked_num_threads(threads);
        return sample_strata(text, name, shots, strata, postselect, how, device);
      },
      "text"_a, "name"_a, "shots"_a, "strata"_a, "postselect"_a.none(), "fault_distance"_a,
      "even"_a, "confidence"_a, "seed"_a.none(), "threads"_a, "device"_a);
  m.def(
      "_fault_probabilities",
      [](const std::string& text, const std::string& name, std::uint64_t most) {
        const nb::gil_scoped_release release;
        return stabilizer::fault_probabilities(program_of(text, name), most);
      },
      "text"_a, "name"_a, "most"_a);
}

}  // namespace tilewave::python
