// Drawings of circuits and error models as SVG, laid out by rules of our own:
//   time line         qubits are rows, operations stand in columns as early as their rows are free,
//                     ticks are dashed lines, blocks are frames that are drawn once
//   detector slices   which Paulis every detector checks at a moment: the sensitivity of a place,
//                     by a walk backwards from the end (sensitivity.h), on the qubits' coordinates
//   match graph       detectors at their coordinates, errors of two detectors as lines, of one as
//                     stubs, of more as stars; what flips an observable is red
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/circuit/error_model.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/stabilizer/diagram/circuit_ticks.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

enum class DiagramKind : std::uint8_t { kTimeline, kDetectorSlice, kMatchGraph };

/// "timeline-svg", "detslice-svg" or "matchgraph-svg" (Stim's other spellings, too). Throws
/// Error(kUsage) for other names.
DiagramKind parse_diagram_kind(std::string_view name);
/// "3", or as Stim writes ranges "3:7", ":7" or "3:", the end left out. Throws Error(kUsage).
TickRange parse_tick_range(std::string_view text);

/// What a detector slice shows.
struct SliceFilter {
  std::vector<std::vector<double>> points;  ///< detectors whose coordinates begin with one of them
  std::set<std::uint64_t> detectors, observables;  ///< and these
};
/// "2,3:4,5,6:D7:L0": points, detectors and observables; an empty point is every detector's. Throws
/// Error(kUsage).
SliceFilter parse_slice_filter(std::string_view text);

/// What is drawn, as the flags of Stim's diagram say it.
struct DiagramOptions {
  DiagramKind kind = DiagramKind::kTimeline;
  std::string ticks;                 ///< for parse_tick_range(), or empty: all of a time line
  std::optional<std::string> shown;  ///< for parse_slice_filter(); all that there is without
  bool remove_noise = false;         ///< before it is drawn
};

/// A drawing of a circuit; `name` is that of its source. Throws Error(kUsage) where a detector slice
/// has no ticks, a match graph has some or is to be drawn without noise, another drawing has a
/// filter, and what the drawing's own function throws.
std::string circuit_svg(const circuit::StabilizerCircuit& circuit, const std::string& name,
                        const DiagramOptions& options);
/// The match graph of a model. Throws Error(kUsage) for another kind, and for the other options.
std::string model_svg(const circuit::ErrorModel& model, const DiagramOptions& options);

/// The operations of these time steps. Throws Error(kUsage) where there are none, Error(kResources)
/// for too many.
std::string timeline_svg(const circuit::StabilizerCircuit& circuit, TickRange range);

/// A drawing for each TICK from `first` to `last`, side by side; 0 is the circuit's start. Without a
/// filter it shows all detectors and observables. Throws Error(kUsage) where there are no ticks or
/// more than 64, Error(kResources) where the circuit behind takes too much work.
std::string detector_slice_svg(const circuit::StabilizerCircuit& circuit, TickRange ticks,
                               const std::optional<SliceFilter>& filter = {});

/// The model that a circuit's match graph is drawn of: errors decomposed where they can be.
circuit::ErrorModel match_graph_model(const StabProgram& program);
/// Throws Error(kResources) for a model of too many errors.
std::string match_graph_svg(const circuit::ErrorModel& model);

}  // namespace tilewave::stabilizer
