// The time line: operations become items of one column and some rows, then columns get their
// widths. Numbers of records and detectors inside of blocks depend on the turn: "4+8i" is 4 in the
// first, and 8 more in every other one.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/circuit/rotations.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/diagram/diagram.h"
#include "tilewave/stabilizer/diagram/svg.h"

namespace tilewave::stabilizer {
namespace {

using circuit::GateId;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using circuit::TargetRule;

constexpr double kRowHeight = 46, kBoxHeight = 26, kFont = 13, kSmall = 9, kTop = 46, kGap = 8;
constexpr std::size_t kMostItems = 50'000;

enum class MarkShape : std::uint8_t { kBox, kDot, kPlus, kCross, kRound };
enum class MarkKind : std::uint8_t { kGate, kMeasurement, kReset, kNoise, kDetector, kObservable };

constexpr Paint kPaints[] = {{"white", "#333333"},   {"#dcdcdc", "#333333"},
                             {"#f6ead0", "#8a6d2f"}, {"#fbdada", "#b03030"},
                             {"#dcebfb", "#2a6cb0"}, {"#e0f4da", "#2f8a3c"}};

struct Mark {
  std::uint32_t row = 0;
  MarkShape shape = MarkShape::kBox;
  std::string text, below;
};

struct Item {
  std::uint32_t column = 0;
  MarkKind kind = MarkKind::kGate;
  std::vector<Mark> marks;
  std::string title;
};

struct Frame {
  std::uint32_t first_column = 0, last_column = 0;
  std::size_t depth = 0;
  std::string text;
};

// A number that grows by `steps[d]` in every turn of the block at depth d.
struct Count {
  std::uint64_t base = 0;  // below 0 wraps round
  std::vector<std::uint64_t> steps;

  std::string minus(std::uint32_t back) const {
    std::string out = std::to_string(static_cast<std::int64_t>(base - back));
    for (std::size_t d = 0; d < steps.size(); ++d) {
      if (steps[d] == 0) continue;
      out += '+';
      if (steps[d] != 1) out += std::to_string(steps[d]);
      out += static_cast<char>('i' + d % 18);
    }
    return out;
  }
};

MarkKind kind_of(StabKind kind) {
  switch (kind) {
    case StabKind::kR:
    case StabKind::kRX:
    case StabKind::kRY:
      return MarkKind::kReset;
    case StabKind::kDetector:
      return MarkKind::kDetector;
    case StabKind::kObservableInclude:
      return MarkKind::kObservable;
    default:
      if (circuit::is_measurement(kind)) return MarkKind::kMeasurement;
      return circuit::stabilizer_op(kind).probabilities ? MarkKind::kNoise : MarkKind::kGate;
  }
}

// What stands in a box: short, as the reader knows it.
std::string label_of(std::string_view name) {
  static const std::map<std::string_view, const char*> kShort = {
      {"X_ERROR", "err X"},
      {"Y_ERROR", "err Y"},
      {"Z_ERROR", "err Z"},
      {"DEPOLARIZE1", "dep 1"},
      {"DEPOLARIZE2", "dep 2"},
      {"PAULI_CHANNEL_1", "chan 1"},
      {"PAULI_CHANNEL_2", "chan 2"},
      {"HERALDED_ERASE", "erase"},
      {"HERALDED_PAULI_CHANNEL_1", "herald"},
      {"ELSE_CORRELATED_ERROR", "else E"}};
  if (const auto it = kShort.find(name); it != kShort.end()) return it->second;
  std::string out(name);
  if (out.starts_with("SQRT_")) out.replace(0, 5, "√");
  if (out.ends_with("_DAG")) out.replace(out.size() - 4, 4, "†");
  return out;
}

// What stands before the Pauli of a product's factor.
std::string product_label(StabKind kind, std::string_view name) {
  if (kind == StabKind::kMPP) return "M";
  if (kind == StabKind::kSPP) return "√";
  if (kind == StabKind::kSPPDag) return "√†";
  return label_of(name) + " ";
}

MarkShape control_shape(char axis) {
  return axis == 'Z' ? MarkShape::kDot : axis == 'X' ? MarkShape::kPlus : MarkShape::kRound;
}

// The axes of a controlled Pauli: "ZX" for CX, "ZZX" for CCX; nothing for another gate.
std::string axes_of(std::string_view name) {
  if (name == "CCX" || name == "CCZ") return std::string("ZZ") + name[2];
  if (name == "CX" || name == "CY" || name == "CZ") return std::string("Z") + name[1];
  const auto is_axis = [](char c) { return c == 'X' || c == 'Y' || c == 'Z'; };
  if (name.size() == 3 && name[1] == 'C' && is_axis(name[0]) && is_axis(name[2]))
    return {name[0], name[2]};
  return "";
}

class Timeline {
 public:
  Timeline(const CircuitTicks& cut, QubitCoordinates coords) : coords_(std::move(coords)) {
    std::uint32_t row = 0;
    for (std::uint32_t qubit : touched_qubits(cut.part)) rows_[qubit] = row++;
    free_.resize(std::max<std::size_t>(1, rows_.size()));
    records_.base = cut.records;
    detectors_.base = cut.detectors;
    walk(cut.part);
  }

  std::string draw(std::uint64_t first_tick) const;

 private:
  std::uint32_t now() const { return *std::max_element(free_.begin(), free_.end()); }
  void wait_until(std::uint32_t column) { std::fill(free_.begin(), free_.end(), column); }

  void add(Item item) {
    check_interrupt_once_in<1024>();
    if (item.marks.empty()) return;
    if (items_.size() >= kMostItems) {
      fail(ExitCode::kResources, "the time line has more than ", kMostItems,
           " operations: choose ticks, such as 0:9");
    }
    const auto [low, high] =
        std::minmax_element(item.marks.begin(), item.marks.end(),
                            [](const Mark& a, const Mark& b) { return a.row < b.row; });
    const auto first = free_.begin() + low->row, last = free_.begin() + high->row + 1;
    item.column = *std::max_element(first, last);
    std::fill(first, last, item.column + 1);
    items_.push_back(std::move(item));
  }

  void walk(const StabilizerCircuit& circuit);
  void repeat(const StabilizerCircuit& circuit, const StabInstruction& op);
  void operation(const StabilizerCircuit& circuit, const StabInstruction& op);
  void annotation(const StabilizerCircuit& circuit, const StabInstruction& op,
                  const std::string& title);
  std::string next_record(std::uint32_t row) {
    std::string name = "rec[" + records_.minus(0) + "]";
    ++records_.base;
    record_rows_.push_back(row);
    return name;
  }
  std::string title_of(const StabilizerCircuit& circuit, const StabInstruction& op) const {
    std::string title(circuit.name(op));
    if (!circuit.tag(op).empty()) title += "[" + circuit.tag(op) + "]";
    return title + language::in_parentheses(circuit.args(op));
  }

  QubitCoordinates coords_;
  std::map<std::uint32_t, std::uint32_t> rows_;  // of qubits
  std::vector<std::uint32_t> free_;              // the first column of a row that nothing stands in
  std::vector<Item> items_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> ticks_;  // columns that begin with a tick
  Count records_, detectors_;
  std::vector<std::uint32_t> record_rows_;  // of the records drawn so far
  std::size_t depth_ = 0;
};

void Timeline::walk(const StabilizerCircuit& circuit) {
  for (const StabInstruction& op : circuit.instructions()) {
    if (op.kind == StabKind::kRepeat) {
      repeat(circuit, op);
    } else if (op.kind == StabKind::kTick) {
      std::uint32_t column = now();
      if (!ticks_.empty() && ticks_.back() >= column) column = ticks_.back() + 1;  // an empty step
      ticks_.push_back(column);
      wait_until(column);
    } else if (op.kind != StabKind::kShiftCoords && op.kind != StabKind::kQubitCoords) {
      operation(circuit, op);
    }
  }
}

void Timeline::repeat(const StabilizerCircuit& circuit, const StabInstruction& op) {
  const StabilizerCircuit& body = circuit.block(op);
  const circuit::StabCounts c = body.counts();
  const std::size_t at = frames_.size();
  frames_.push_back({now(), 0, depth_, "REPEAT " + std::to_string(op.repeat)});
  wait_until(now() + 1);  // the frame's left side
  const std::uint64_t records = records_.base, detectors = detectors_.base;
  records_.steps.push_back(c.measurements), detectors_.steps.push_back(c.detectors);
  ++depth_;
  walk(body);
  --depth_;
  records_.steps.pop_back(), detectors_.steps.pop_back();
  records_.base = records + c.measurements * op.repeat;
  detectors_.base = detectors + c.detectors * op.repeat;
  frames_[at].last_column = std::max(now(), frames_[at].first_column + 1);
  if (!ticks_.empty())
    frames_[at].last_column = std::max(frames_[at].last_column, ticks_.back() + 1);
  wait_until(frames_[at].last_column + 1);
}

void Timeline::annotation(const StabilizerCircuit& circuit, const StabInstruction& op,
                          const std::string& title) {
  const bool is_detector = op.kind == StabKind::kDetector;
  Item item;
  item.kind = kind_of(op.kind);
  std::string parts;
  std::size_t num_parts = 0;
  std::uint32_t row = 0;  // of the newest record
  std::uint32_t nearest = ~std::uint32_t{0};
  for (const StabTarget& t : circuit.targets(op)) {
    parts += num_parts++ ? " ^ " : "";
    if (t.kind == StabTarget::Kind::kPauli) {
      parts += "IXYZ"[static_cast<int>(t.pauli)] + std::to_string(t.value);
      row = rows_.at(t.value);
      continue;
    }
    parts += "rec[" + records_.minus(t.value) + "]";
    if (t.value < nearest) {
      nearest = t.value;
      if (t.value <= record_rows_.size()) row = record_rows_[record_rows_.size() - t.value];
    }
  }
  Mark mark;
  mark.row = row;
  mark.text = is_detector ? "D" + detectors_.minus(0)
                          : "L" + std::to_string(static_cast<std::uint64_t>(circuit.args(op)[0]));
  if (num_parts <= 2) mark.below = parts;
  item.title = title + " " + mark.text + " = " + (parts.empty() ? "nothing" : parts);
  detectors_.base += is_detector;
  item.marks.push_back(std::move(mark));
  add(std::move(item));
}

void Timeline::operation(const StabilizerCircuit& circuit, const StabInstruction& op) {
  const std::string_view name = circuit.name(op);
  const std::string title = title_of(circuit, op);
  const auto targets = circuit.targets(op);
  if (op.kind == StabKind::kDetector || op.kind == StabKind::kObservableInclude)
    return annotation(circuit, op, title);
  if (op.kind == StabKind::kMpad) {
    for (const StabTarget& t : targets) {
      Item item;
      item.kind = MarkKind::kMeasurement;
      item.title = title;
      const std::string record = next_record(0);
      item.marks.push_back({0, MarkShape::kBox, "pad " + std::to_string(t.value), record});
      add(std::move(item));
    }
    return;
  }
  const auto args = circuit.args(op);
  std::string below;
  if (args.size() <= 2) {
    for (double a : args)
      below.append(below.empty() ? "" : ", ").append(language::shortest_number(a));
  }
  const std::string axes = axes_of(name);
  const bool is_chain =
      op.kind == StabKind::kCorrelatedError || op.kind == StabKind::kElseCorrelatedError;
  const TargetRule rule = circuit::stabilizer_op(op.kind).targets;
  const bool is_product = rule == TargetRule::kProducts;
  bool is_pair = rule == TargetRule::kPairs || rule == TargetRule::kMeasuredPairs;
  if (op.kind == StabKind::kGate) {
    const circuit::GateInfo& g = circuit::gate_info(op.gate);
    is_pair = g.num_controls + g.num_targets == 2;
  }
  for (std::size_t k = 0; k < targets.size();) {
    std::size_t end = k + (rule == TargetRule::kTriples ? 3 : is_pair ? 2 : 1);
    if (is_chain) end = targets.size();
    if (is_product) end = circuit::end_of_product(targets, k);
    Item item;
    item.kind = kind_of(op.kind);
    item.title = title;
    std::string classical;
    for (std::size_t i = k; i < end; ++i) {
      const StabTarget& t = targets[i];
      if (t.kind == StabTarget::Kind::kCombiner) continue;
      if (t.kind == StabTarget::Kind::kRecord || t.kind == StabTarget::Kind::kSweep) {
        classical = t.kind == StabTarget::Kind::kSweep ? "sweep[" + std::to_string(t.value) + "]"
                                                       : "rec[" + records_.minus(t.value) + "]";
        continue;
      }
      Mark mark;
      mark.row = rows_.at(t.value);
      mark.below = below;
      if (!axes.empty()) {
        mark.shape = control_shape(axes[i - k]);
        if (mark.shape == MarkShape::kRound) mark.text = "Y";
      } else if (name == "SWAP") {
        mark.shape = MarkShape::kCross;
      } else {
        mark.text = is_product ? product_label(op.kind, name) : label_of(name);
        if (t.kind == StabTarget::Kind::kPauli) {
          if (is_chain) mark.text += ' ';
          mark.text += "IXYZ"[static_cast<int>(t.pauli)];
        }
        if (t.inverted) mark.text.insert(0, "!");
        // a two-qubit gate whose qubits differ says which is which
        if (is_pair && op.kind == StabKind::kGate && name.find("SWAP") != std::string_view::npos &&
            name != "ISWAP" && name != "ISWAP_DAG")
          mark.below = i == k ? "first" : "second";
      }
      item.marks.push_back(std::move(mark));
    }
    if (!classical.empty() && item.marks.size() == 1) {  // a Pauli that a bit decides about
      Mark& mark = item.marks.front();
      const bool first_is_bit = targets[k].kind != StabTarget::Kind::kQubit;
      mark.shape = MarkShape::kBox;
      mark.text = axes.empty() ? label_of(name) : std::string(1, axes[first_is_bit ? 1 : 0]);
      mark.below = classical;
    }
    if (count_measurements(op.kind, targets.subspan(k, end - k)) > 0 && !item.marks.empty()) {
      Mark& mark = item.marks.front();
      if (!mark.below.empty()) mark.below += " ";
      mark.below += next_record(mark.row);
    }
    add(std::move(item));
    k = end;
  }
}

std::string Timeline::draw(std::uint64_t first_tick) const {
  std::uint32_t columns = 1;
  for (const Item& item : items_) columns = std::max(columns, item.column + 1);
  for (const Frame& f : frames_) columns = std::max(columns, f.last_column + 1);
  if (!ticks_.empty()) columns = std::max(columns, ticks_.back() + 1);
  std::vector<double> widths(columns, 10), lefts(columns + 1);
  const auto box_width = [](const Mark& m) {
    return m.shape == MarkShape::kBox ? std::max(kBoxHeight, text_width(m.text, kFont) + 8)
                                      : kBoxHeight * 0.7;
  };
  for (const Item& item : items_) {
    for (const Mark& m : item.marks) {
      widths[item.column] =
          std::max({widths[item.column], box_width(m), text_width(m.below, kSmall)});
    }
  }
  double label = 30;
  const auto name_of = [&](std::uint32_t qubit) {
    const auto it = coords_.find(qubit);
    const std::string name = "q" + std::to_string(qubit);
    return it == coords_.end() ? name : name + " " + language::in_parentheses(it->second);
  };
  for (const auto& [qubit, row] : rows_) label = std::max(label, text_width(name_of(qubit), kFont));
  lefts[0] = label + 16;
  for (std::uint32_t c = 0; c < columns; ++c) lefts[c + 1] = lefts[c] + widths[c] + kGap;
  const double right = lefts[columns] + 10;
  const auto y_of = [](std::uint32_t row) { return kTop + kRowHeight * (row + 0.5); };
  const double bottom =
      kTop + kRowHeight * static_cast<double>(std::max<std::size_t>(1, rows_.size()));

  Svg svg;
  for (const Frame& f : frames_) {
    const double inset = 4 * static_cast<double>(f.depth), x = lefts[f.first_column];
    svg.box({x, kTop - 14 + inset}, lefts[f.last_column] + widths[f.last_column] - x,
            bottom - kTop + 22 - 2 * inset, 5, {"#f4f4fb", "#7a7ab8", 1.5});
  }
  for (std::size_t k = 0; k < ticks_.size(); ++k) {
    const double x = lefts[ticks_[k]] - kGap / 2;
    svg.line({x, kTop - 16}, {x, bottom + 4}, {"none", "#b0b0b0", 1, 1, "3 3"});
  }
  for (const Frame& f : frames_) {
    svg.text({lefts[f.first_column] + 4, kTop - 22 - 11 * static_cast<double>(f.depth % 2)}, f.text,
             11, "#4a4a90", TextAnchor::kStart);
  }
  for (const auto& [qubit, row] : rows_) {
    const double y = y_of(row);
    svg.line({label + 12, y}, {right - 6, y}, {"none", "#909090"});
    svg.text({label + 6, y}, name_of(qubit), kFont, "black", TextAnchor::kEnd);
  }
  for (const Item& item : items_) {
    const double x = lefts[item.column] + widths[item.column] / 2;
    const Paint& paint = kPaints[static_cast<int>(item.kind)];
    if (item.marks.size() > 1) {
      auto [low, high] =
          std::minmax_element(item.marks.begin(), item.marks.end(),
                              [](const Mark& a, const Mark& b) { return a.row < b.row; });
      svg.line({x, y_of(low->row)}, {x, y_of(high->row)}, {"none", paint.stroke, 1.5});
    }
    for (const Mark& m : item.marks) {
      const double y = y_of(m.row);
      switch (m.shape) {
        case MarkShape::kBox:
          svg.box({x - box_width(m) / 2, y - kBoxHeight / 2}, box_width(m), kBoxHeight,
                  item.kind == MarkKind::kDetector || item.kind == MarkKind::kObservable ? 9 : 2,
                  paint, item.title);
          break;
        case MarkShape::kDot:
          svg.circle({x, y}, 4.5, {"#333333"}, item.title);
          break;
        case MarkShape::kPlus:
          svg.circle({x, y}, 9, {"white", "#333333", 1.5}, item.title);
          svg.line({x - 9, y}, {x + 9, y}, {"none", "#333333", 1.5});
          svg.line({x, y - 9}, {x, y + 9}, {"none", "#333333", 1.5});
          break;
        case MarkShape::kCross:
          svg.line({x - 6, y - 6}, {x + 6, y + 6}, {"none", "#333333", 2});
          svg.line({x - 6, y + 6}, {x + 6, y - 6}, {"none", "#333333", 2});
          break;
        case MarkShape::kRound:
          svg.circle({x, y}, 9, {"white", "#333333", 1.5}, item.title);
          break;
      }
      if (!m.text.empty())
        svg.text({x, y}, m.text, kFont, "black", TextAnchor::kMiddle, item.title);
      if (!m.below.empty()) svg.text({x, y + kBoxHeight / 2 + 6}, m.below, kSmall, "#555555");
    }
  }
  if (frames_.empty()) {  // steps are counted where none repeats
    for (std::size_t k = 0; k < ticks_.size(); ++k) {
      svg.text({lefts[ticks_[k]] - kGap / 2, kTop - 22}, std::to_string(first_tick + k + 1), kSmall,
               "#808080");
    }
  }
  return svg.finish(right, bottom + 16);
}

}  // namespace

std::string timeline_svg(const circuit::StabilizerCircuit& circuit, TickRange range) {
  const CircuitTicks cut = cut_ticks(circuit, existing_ticks(circuit, range));
  return Timeline(cut, qubit_coordinates(circuit)).draw(range.first);
}

}  // namespace tilewave::stabilizer
