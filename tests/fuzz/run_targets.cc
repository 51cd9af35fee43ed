// Circuits made of the bytes: planned for several machines, lowered to tile programs and run by the
// emulator, and run by the engines, each compared with the gates one by one.
#include "target.h"

#include <cmath>
#include <limits>
#include <set>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/circuit/without_noise.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/stabilizer/diagram/diagram.h"
#include "tilewave/stabilizer/graphlike_error.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/statevec/plan/pieces.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/testing/reference.h"
#include "tilewave/statevec/tile/emulator_test.h"
#include "tilewave/statevec/tile/program.h"
#include "tilewave/statevec/tile/random_pass.h"

namespace tilewave::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;
using statevec::Plan;
using statevec::PlanOptions;
using statevec::testing::Amplitudes;

constexpr double kAllowed = 1e-10;

circuit::Circuit draw_circuit(Draw& draw, int num_qubits, int most_gates) {
  circuit::Circuit c(static_cast<std::uint32_t>(num_qubits));
  const auto table = circuit::gate_table();
  for (int g = 0; g < most_gates && !draw.is_done(); ++g) {
    std::vector<circuit::Qubit> order(static_cast<std::size_t>(num_qubits));
    for (std::size_t q = 0; q < order.size(); ++q) order[q] = static_cast<circuit::Qubit>(q);
    for (std::size_t q = 0; q < std::min<std::size_t>(order.size(), 5); ++q)
      std::swap(order[q], order[q + draw.byte() % (order.size() - q)]);
    const circuit::GateInfo& info = table[draw.byte() % table.size()];
    const int arity = info.num_controls + info.num_targets;
    const int extra = draw.byte() % 8 == 0 ? 1 : 0;
    if (arity + extra > num_qubits) continue;
    std::vector<double> params(static_cast<std::size_t>(info.num_params));
    for (double& p : params) p = draw.angle();
    c.add_controlled_gate(
        info.id, std::span(order).first(static_cast<std::size_t>(extra)), draw.byte(),
        std::span(order).subspan(static_cast<std::size_t>(extra), static_cast<std::size_t>(arity)),
        params);
  }
  return c;
}

Amplitudes zeros(int num_qubits) {
  Amplitudes a(bit(num_qubits));
  a[0] = 1;
  return a;
}

void expect_near(const Amplitudes& a, const Amplitudes& b, const char* what) {
  const double difference = statevec::testing::max_difference(a, b);
  if (!(difference < kAllowed))
    found(std::string(what) + ": " + std::to_string(difference) + " apart");
}

// Plans for machines of small tiles, alone and on ranks, whole and cut.
void plan(Bytes bytes) {
  Draw draw(bytes);
  const int n = 3 + static_cast<int>(draw.below(6));
  PlanOptions options;
  options.cost.shard_bits = n > 6 ? static_cast<int>(draw.below(3)) : 0;
  options.cost.tile_qubits =
      std::min<int>(n - options.cost.shard_bits, 5 + static_cast<int>(draw.below(3)));
  options.cost.row_bits =
      std::min<int>(options.cost.tile_qubits - 1, static_cast<int>(draw.below(3)));
  options.from_zeros = draw.byte() % 2;
  options.restore_layout = draw.byte() % 4 == 0;
  options.effort = draw.byte() % 4 == 0 ? Effort::kRepeated : Effort::kOnce;
  const std::size_t cut_at = draw.byte();
  const circuit::Circuit c = draw_circuit(draw, n, 60);
  const Plan plan = statevec::make_plan(c, options);
  Amplitudes expected = zeros(n), physical = expected;
  statevec::testing::apply_circuit(expected, c);
  const std::size_t cut = plan.passes.empty() ? 0 : cut_at % plan.passes.size();
  statevec::testing::run_plan(physical,
                              statevec::piece_of(plan, 0, cut ? cut : plan.passes.size()));
  if (cut) {
    const statevec::RestOfPlan rest = statevec::rest_of(plan, cut);
    PlanOptions other;
    other.cost.tile_qubits = std::min(n, 6);
    other.cost.row_bits = 1;
    other.known_zero = plan.passes[cut - 1].known_zero_after;
    other.effort = Effort::kOnce;
    const Plan anew = statevec::make_plan(rest.circuit, other);
    statevec::testing::run_plan(physical, anew);
    for (cplx& x : physical) x = std::isnan(x.real()) ? 0 : x;
    expect_near(statevec::testing::in_order(
                    physical, statevec::layout_of_rest(plan, rest, anew.layout_after), n),
                expected, "the rest of a plan");
    return;
  }
  for (cplx& x : physical) x = std::isnan(x.real()) ? 0 : x;
  expect_near(statevec::testing::in_order(physical, plan.layout_after, n), expected, "a plan");
}

// Passes as programs of a GPU.
void tile(Bytes bytes) {
  Draw draw(bytes);
  const statevec::tile::Shape shapes[] = {{12, 4, 3, statevec::Precision::kDouble},
                                          {12, 5, 3, statevec::Precision::kDouble},
                                          {12, 5, 4, statevec::Precision::kSingle}};
  const auto& shape = shapes[draw.below(3)];
  const int n = 3 + static_cast<int>(draw.below(7));
  PlanOptions options;
  options.precision = shape.precision;
  options.cost.tile_qubits = shape.tile_qubits;
  options.cost.row_bits = shape.row_bits;
  options.effort = Effort::kOnce;
  const circuit::Circuit c = draw_circuit(draw, n, 40);
  const Plan plan = statevec::make_plan(c, options);
  Amplitudes reference(bit(n));
  reference[0] = 1;
  std::vector<Complex<double>> wide(bit(std::max(n, shape.tile_qubits)));
  std::vector<Complex<float>> narrow(wide.size());
  wide[0] = {1, 0};
  narrow[0] = {1, 0};
  const bool is_double = shape.precision == statevec::Precision::kDouble;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    statevec::testing::run_pass(reference, plan, plan.passes[p]);
    const auto program = statevec::tile::lower_pass(plan, p, shape);
    if (is_double) {
      statevec::tile::emulate_pass(program, std::span(wide));
    } else {
      statevec::tile::emulate_pass(program, std::span(narrow));
    }
  }
  double worst = 0;
  for (std::uint64_t x = 0; x < reference.size(); ++x) {
    const cplx got = is_double ? cplx(wide[x].re, wide[x].im) : cplx(narrow[x].re, narrow[x].im);
    worst = std::max(worst, std::abs(got - reference[x]));
  }
  if (!(worst < (is_double ? kAllowed : 1e-3)))
    found("a tile program: " + std::to_string(worst) + " apart");
}

// The engine of this machine, on one rank and on four.
void engine(Bytes bytes) {
  Draw draw(bytes);
  const int n = 3 + static_cast<int>(draw.below(5));
  const int ranks = 1 << draw.below(3);
  const circuit::Circuit first = draw_circuit(draw, n, 20), second = draw_circuit(draw, n, 40);
  Amplitudes expected = zeros(n);
  statevec::testing::apply_circuit(expected, first);
  statevec::testing::apply_circuit(expected, second);
  std::unique_ptr<statevec::State> state;
  if (ranks == 1 || n < 6) {
    state = statevec::make_cpu_state(n, statevec::Precision::kDouble, 1);
  } else {
    state = statevec::make_logical_state(n, statevec::Precision::kDouble, 1, ranks);
  }
  state->apply(first, first.ops());
  state->apply(second, second.ops());
  std::vector<std::uint64_t> all(bit(n));
  for (std::uint64_t x = 0; x < all.size(); ++x) all[x] = x;
  expect_near(state->amplitudes(all), expected, "the engine");
}

// Whatever a Stim circuit says: samples of few shots, and its detectors.
void sampler(Bytes bytes) {
  const circuit::StabilizerCircuit c = language::parse_stim(text_of(bytes));
  if (bytes.size() > 300 || c.counts().qubits > 40 ||
      text_of(bytes).find("REPEAT") != std::string_view::npos ||
      text_of(bytes).find("repeat") != std::string_view::npos)
    return;                                     // it would take long
  constexpr std::uint64_t kMostRotations = 12;  // and so many active qubits
  const stabilizer::StabProgram program =
      stabilizer::lower(c, "<circuit>", stabilizer::Rotations::kKeep, stabilizer::Leakage::kKeep);
  if (program.num_rotations > kMostRotations) return;
  stabilizer::SampleOptions options;
  options.num_shots = 64;
  options.seed = 5;
  options.num_threads = 1;
  for (const auto output : {stabilizer::ShotOutput::kRecords, stabilizer::ShotOutput::kDetectors}) {
    options.output = output;
    const auto source = stabilizer::make_shot_source(program, options);
    stabilizer::ShotPipeline pipeline;
    pipeline.format = [&](std::uint8_t* data, std::size_t count, formats::ByteBuffer&) {
      return std::span(reinterpret_cast<const char*>(data), count * source->row_stride());
    };
    pipeline.write = [](std::span<const char>, std::size_t) { return true; };
    stabilizer::run_shots(*source, options, pipeline);
  }
}

// Pictures of a text in Stim's language; the first byte chooses a moment.
void diagram(Bytes bytes) {
  if (bytes.empty()) return;
  const circuit::StabilizerCircuit circuit = language::parse_stim(text_of(bytes.subspan(1)));
  stabilizer::timeline_svg(circuit, {});
  stabilizer::timeline_svg(circuit, {bytes[0], bytes[0] + 1ULL});
  const stabilizer::SliceFilter filter{{{static_cast<double>(bytes[0] % 4)}}, {bytes[0]}, {0}};
  stabilizer::detector_slice_svg(circuit, {bytes[0], bytes[0]}, filter);
  stabilizer::timeline_svg(circuit::without_noise(circuit), {});
}

// The picture and the shortest logical error of an error model, whose errors flip no detector.
void model(Bytes bytes) {
  const circuit::ErrorModel given = language::parse_dem(text_of(bytes));
  if (circuit::size_of(given).errors > 10'000) return;
  stabilizer::match_graph_svg(given);
  for (const bool ignore : {true, false}) {
    std::set<std::uint64_t> flipped;
    for (const auto& error : stabilizer::shortest_graphlike_error(given, ignore)) {
      for (std::uint64_t d : error.detectors)
        if (!flipped.insert(d).second) flipped.erase(d);
    }
    if (!flipped.empty()) found("a shortest logical error fires a detector");
  }
}

constexpr Target kTargets[] = {{"plan", plan},       {"tile", tile},       {"engine", engine},
                               {"sampler", sampler}, {"diagram", diagram}, {"model", model}};

}  // namespace

std::span<const Target> run_targets() { return kTargets; }

}  // namespace tilewave::fuzz
