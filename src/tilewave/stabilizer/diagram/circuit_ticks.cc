#include "tilewave/stabilizer/diagram/circuit_ticks.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabCounts;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;

class Cutter {
 public:
  explicit Cutter(TickRange range) : range_(range) {}
  CircuitTicks out;

  void walk(const StabilizerCircuit& circuit) {
    for (const StabInstruction& op : circuit.instructions()) {
      if (tick_ > range_.last) return;
      if (op.kind == StabKind::kRepeat) {
        repeat(circuit, op);
        continue;
      }
      const bool inside = tick_ >= range_.first;
      tick_ += op.kind == StabKind::kTick;
      if (!inside || tick_ > range_.last) {
        if (!inside) {
          out.records += count_measurements(circuit, op);
          out.detectors += op.kind == StabKind::kDetector;
        }
        continue;
      }
      if (++written_ > kMostWritten) {
        fail(ExitCode::kResources, "the chosen ticks have more than ", kMostWritten,
             " instructions, written out: choose fewer");
      }
      out.part.append(op.kind, op.gate, circuit.targets(op), circuit.args(op), circuit.tag(op),
                      op.line);
    }
  }

 private:
  static constexpr std::uint64_t kMostWritten = 1'000'000;

  void repeat(const StabilizerCircuit& circuit, const StabInstruction& op) {
    const StabilizerCircuit& body = circuit.block(op);
    const StabCounts c = body.counts();
    std::uint64_t left = op.repeat;
    if (tick_ < range_.first && c.ticks > 0) {  // turns that lie before the range, tails included
      const std::uint64_t skipped = std::min(left, (range_.first - 1 - tick_) / c.ticks);
      skip(c, skipped);
      left -= skipped;
    } else if (tick_ < range_.first) {
      skip(c, left);
      return;
    }
    if (left > 0 && tick_ < range_.first) {
      walk(body);
      --left;
    }
    if (left == 0 || tick_ > range_.last) return;
    // The block has a last TICK at `end`, so that what follows it in the turn is inside where the
    // step that begins there is.
    const std::uint64_t whole =
        c.ticks == 0 ? left : std::min(left, (range_.last - tick_) / c.ticks);
    if (whole == 1) {
      walk(body);
    } else if (whole > 1) {
      out.part.append_repeat(whole, body, circuit.tag(op), op.line);
      tick_ = saturating_add(tick_, saturating_multiply(whole, c.ticks));
    }
    if (whole < left) walk(body);
  }

  void skip(const StabCounts& c, std::uint64_t times) {
    tick_ += times * c.ticks;
    out.records = saturating_add(out.records, saturating_multiply(times, c.measurements));
    out.detectors = saturating_add(out.detectors, saturating_multiply(times, c.detectors));
  }

  TickRange range_;
  std::uint64_t tick_ = 0, written_ = 0;
};

}  // namespace

std::vector<std::uint32_t> touched_qubits(const StabilizerCircuit& circuit) {
  std::vector<bool> touched(circuit.counts().qubits);
  const auto walk = [&](const auto& self, const StabilizerCircuit& block) -> void {
    for (const StabInstruction& op : block.instructions()) {
      if (op.kind == StabKind::kRepeat) self(self, block.block(op));
      if (op.kind == StabKind::kMpad || op.kind == StabKind::kQubitCoords) continue;
      for (const circuit::StabTarget& t : block.targets(op)) {
        if (t.kind == circuit::StabTarget::Kind::kQubit ||
            t.kind == circuit::StabTarget::Kind::kPauli)
          touched[t.value] = true;
      }
    }
  };
  walk(walk, circuit);
  std::vector<std::uint32_t> qubits;
  for (std::uint32_t q = 0; q < touched.size(); ++q)
    if (touched[q]) qubits.push_back(q);
  return qubits;
}

QubitCoordinates qubit_coordinates(const StabilizerCircuit& circuit) {
  QubitCoordinates out;
  std::vector<double> shift;
  const auto walk = [&](const auto& self, const StabilizerCircuit& block) -> void {
    for (const StabInstruction& op : block.instructions()) {
      const auto args = block.args(op);
      if (op.kind == StabKind::kRepeat) {
        const std::vector<double> before = shift;
        self(self, block.block(op));
        for (std::size_t k = 0; k < shift.size(); ++k)  // as much in every turn
          shift[k] +=
              (shift[k] - (k < before.size() ? before[k] : 0)) * static_cast<double>(op.repeat - 1);
      } else if (op.kind == StabKind::kShiftCoords) {
        shift.resize(std::max(shift.size(), args.size()));
        for (std::size_t k = 0; k < args.size(); ++k) shift[k] += args[k];
      } else if (op.kind == StabKind::kQubitCoords) {
        std::vector<double> at(args.begin(), args.end());
        for (std::size_t k = 0; k < std::min(at.size(), shift.size()); ++k) at[k] += shift[k];
        for (const circuit::StabTarget& t : block.targets(op)) out[t.value] = at;
      }
    }
  };
  walk(walk, circuit);
  return out;
}

TickRange existing_ticks(const StabilizerCircuit& circuit, TickRange range) {
  const std::uint64_t ticks = circuit.counts().ticks;
  if (range.first > ticks) {
    fail(ExitCode::kUsage, "the circuit has ", ticks, " ticks, there is none with number ",
         range.first);
  }
  return {range.first, std::min(range.last, ticks)};
}

CircuitTicks cut_ticks(const StabilizerCircuit& circuit, TickRange range) {
  Cutter cutter(range);
  cutter.walk(circuit);
  return std::move(cutter.out);
}

}  // namespace tilewave::stabilizer
