#include "tilewave/stabilizer/diagram/circuit_ticks.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabCounts;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;

// shift += times * by, where the shorter one is filled up with zeros
void add_shift(std::vector<double>& shift, std::span<const double> by, double times = 1) {
  shift.resize(std::max(shift.size(), by.size()));
  for (std::size_t k = 0; k < by.size(); ++k) shift[k] += times * by[k];
}

// What a circuit shifts the coordinates behind it by.
std::vector<double> shift_of(const StabilizerCircuit& circuit) {
  std::vector<double> shift;
  for (const StabInstruction& op : circuit.instructions()) {
    if (op.kind == StabKind::kRepeat) {
      add_shift(shift, shift_of(circuit.block(op)), static_cast<double>(op.repeat));
    } else if (op.kind == StabKind::kShiftCoords) {
      add_shift(shift, circuit.args(op));
    }
  }
  return shift;
}

class DetectorPlaces {
 public:
  explicit DetectorPlaces(const std::set<std::uint64_t>& wanted) : wanted_(wanted) {}
  std::map<std::uint64_t, std::vector<double>> places;

  // `next`: the number of the circuit's first detector
  void walk(const StabilizerCircuit& circuit, std::uint64_t next, std::vector<double> shift) {
    for (const StabInstruction& op : circuit.instructions()) {
      if (op.kind == StabKind::kRepeat) {
        const StabilizerCircuit& body = circuit.block(op);
        const std::uint64_t each = body.counts().detectors;
        const std::vector<double> by = shift_of(body);
        const std::uint64_t end = saturating_add(next, saturating_multiply(each, op.repeat));
        for (auto it = wanted_.lower_bound(next); it != wanted_.end() && *it < end;) {
          const std::uint64_t turn = (*it - next) / each;
          std::vector<double> before = shift;
          add_shift(before, by, static_cast<double>(turn));
          walk(body, next + turn * each, std::move(before));
          it = wanted_.lower_bound(saturating_add(next, (turn + 1) * each));
        }
        add_shift(shift, by, static_cast<double>(op.repeat));
        next = end;
      } else if (op.kind == StabKind::kShiftCoords) {
        add_shift(shift, circuit.args(op));
      } else if (op.kind == StabKind::kDetector) {
        if (wanted_.contains(next)) {
          const auto args = circuit.args(op);
          std::vector<double> at(args.begin(), args.end());
          for (std::size_t k = 0; k < std::min(at.size(), shift.size()); ++k) at[k] += shift[k];
          places.emplace(next, std::move(at));
        }
        next = saturating_add(next, 1);
      }
    }
  }

 private:
  const std::set<std::uint64_t>& wanted_;
};

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
        add_shift(shift, args);
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

std::map<std::uint64_t, std::vector<double>> detector_coordinates(
    const StabilizerCircuit& circuit, const std::set<std::uint64_t>& detectors) {
  DetectorPlaces found(detectors);
  found.walk(circuit, 0, {});
  return std::move(found.places);
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
