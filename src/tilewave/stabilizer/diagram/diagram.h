// Drawings of circuits and error models as SVG, laid out by rules of our own:
//   time line         qubits are rows, operations stand in columns as early as their rows are free,
//                     ticks are dashed lines, blocks are frames that are drawn once
//   detector slices   which Paulis every detector checks at a moment: the sensitivity of a place,
//                     by a walk backwards from the end (sensitivity.h), on the qubits' coordinates
//   match graph       detectors at their coordinates, errors of two detectors as lines, of one as
//                     stubs, of more as stars; what flips an observable is red
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tilewave/circuit/error_model.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/stabilizer/diagram/circuit_ticks.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

enum class DiagramKind : std::uint8_t { kTimeline, kDetectorSlice, kMatchGraph };

/// "timeline-svg", "detslice-svg" or "matchgraph-svg" (Stim's other spellings, too). Throws
/// Error(kUsage) for other names.
DiagramKind parse_diagram_kind(std::string_view name);
/// "3", "3:7", ":7" or "3:", both ends included. Throws Error(kUsage).
TickRange parse_tick_range(std::string_view text);

/// A drawing of a circuit; `ticks` as parse_tick_range() reads them, or empty: all of a time line.
/// `name` is that of the circuit's source. Throws Error(kUsage) where a detector slice has no ticks
/// or a match graph has some, and what the drawing's own function throws.
std::string circuit_svg(const circuit::StabilizerCircuit& circuit, const std::string& name,
                        DiagramKind kind, std::string_view ticks);
/// The match graph of a model. Throws Error(kUsage) for another kind, and for ticks.
std::string model_svg(const circuit::ErrorModel& model, DiagramKind kind, std::string_view ticks);

/// The operations of these time steps. Throws Error(kUsage) where there are none, Error(kResources)
/// for too many.
std::string timeline_svg(const circuit::StabilizerCircuit& circuit, TickRange range);

/// A drawing for each TICK from `first` to `last`, side by side; 0 is the circuit's start. Throws
/// Error(kUsage) where there are none or more than 64, Error(kResources) where the circuit behind
/// takes too much work.
std::string detector_slice_svg(const circuit::StabilizerCircuit& circuit, TickRange ticks);

/// The model that a circuit's match graph is drawn of: errors decomposed where they can be.
circuit::ErrorModel match_graph_model(const StabProgram& program);
/// Throws Error(kResources) for a model of too many errors.
std::string match_graph_svg(const circuit::ErrorModel& model);

}  // namespace tilewave::stabilizer
