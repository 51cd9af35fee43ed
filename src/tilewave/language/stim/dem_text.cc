#include "tilewave/language/stim/dem_text.h"

#include <algorithm>
#include <charconv>

#include "tilewave/language/stim/scanner.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::language {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;

constexpr std::uint64_t kMaxDetector = (std::uint64_t{1} << 62) - 1;
// In the order of DemKind: as they are written, and as the scanner gives them.
constexpr const char* kNames[] = {"error", "detector", "logical_observable", "shift_detectors",
                                  "repeat"};
constexpr std::string_view kUpperNames[] = {"ERROR", "DETECTOR", "LOGICAL_OBSERVABLE",
                                            "SHIFT_DETECTORS", "REPEAT"};

DemTarget read_dem_target(StimScanner& in) {
  DemTarget t;
  if (in.accept('^')) {
    t.kind = DemTarget::Kind::kSeparator;
  } else if (in.accept('D') || in.accept('d')) {
    t.index = in.read_uint(kMaxDetector, "a detector number");
  } else if (in.accept('L') || in.accept('l')) {
    t.kind = DemTarget::Kind::kObservable;
    t.index = in.read_uint(0xFFFFFFFFu, "an observable number");
  } else {
    in.fail("expected a target such as D5, L0 or ^");
  }
  return t;
}

void read_targets(StimScanner& in, DemInstruction& op) {
  while (true) {
    const std::size_t before = in.position();
    in.skip(false);
    if (in.at_line_end()) return;
    const std::size_t at = in.position();
    if (at == before) in.fail("targets are separated by spaces");
    const DemTarget t = read_dem_target(in);
    const bool wrong =
        (op.kind == DemKind::kDetector && t.kind != DemTarget::Kind::kDetector) ||
        (op.kind == DemKind::kLogicalObservable && t.kind != DemTarget::Kind::kObservable) ||
        op.kind == DemKind::kShiftDetectors;
    if (wrong) in.fail_at(at, kNames[static_cast<int>(op.kind)], " does not take this target");
    const bool separator = t.kind == DemTarget::Kind::kSeparator;
    if (separator &&
        (op.targets.empty() || op.targets.back().kind == DemTarget::Kind::kSeparator)) {
      in.fail_at(at, "nothing stands before this ^");
    }
    op.targets.push_back(t);
  }
}

// What the targets are in number, and which instructions have arguments.
void check_counts(StimScanner& in, const DemInstruction& op, std::size_t first) {
  const bool declares = op.kind == DemKind::kDetector || op.kind == DemKind::kLogicalObservable;
  const std::string name = kNames[static_cast<int>(op.kind)];
  if (declares && op.targets.size() != 1) in.fail_at(first, name + " takes one target");
  if (op.kind == DemKind::kLogicalObservable && !op.args.empty())
    in.fail_at(first, name + " takes no arguments");
  if (!op.targets.empty() && op.targets.back().kind == DemTarget::Kind::kSeparator)
    in.fail_at(first, "nothing stands behind the last ^");
}

void read_block(StimScanner& in, std::vector<DemInstruction>& out, int depth, std::size_t opened) {
  while (in.next_instruction(depth, opened)) {
    const std::size_t first = in.position();
    const std::string name = in.read_name();
    const auto* const known = std::ranges::find(kUpperNames, name);
    if (known == std::end(kUpperNames)) {
      in.fail_at(first,
                 "unknown instruction: use error, detector, logical_observable, shift_detectors or "
                 "repeat");
    }
    DemInstruction op;
    op.kind = static_cast<DemKind>(known - std::begin(kUpperNames));
    op.tag = in.read_tag();
    if (op.kind == DemKind::kRepeat) {
      const StimScanner::Repeat repeat = in.read_repeat(depth);
      op.count = repeat.count;
      read_block(in, op.body, depth + 1, repeat.brace);
      out.push_back(std::move(op));
      continue;
    }
    const std::size_t args_at = in.position();
    op.args = in.read_args();
    if (op.kind == DemKind::kError &&
        (op.args.size() != 1 || !(op.args[0] >= 0 && op.args[0] <= 1))) {
      in.fail_at(args_at, "error takes one probability in [0, 1]");
    }
    if (op.kind == DemKind::kShiftDetectors) {
      in.skip(false);
      op.count = in.read_uint(kMaxDetector, "by how many detectors to shift");
    }
    read_targets(in, op);
    check_counts(in, op, first);
    out.push_back(std::move(op));
  }
}

void append_number(std::uint64_t value, std::string& out) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void DemWriter::begin(const DemInstruction& op) {
  text_.append(indent_, ' ');
  text_ += kNames[static_cast<int>(op.kind)];
  if (!op.tag.empty()) text_.append("[").append(escape_tag(op.tag)) += ']';
}

void DemWriter::instruction(const DemInstruction& op) {
  begin(op);
  for (std::size_t k = 0; k < op.args.size(); ++k) {
    if (op.args[k] != last_ || last_text_.empty())
      last_ = op.args[k], last_text_ = shortest_number(last_);
    text_.append(k ? ", " : "(").append(last_text_);
  }
  if (!op.args.empty()) text_ += ')';
  if (op.kind == DemKind::kShiftDetectors) text_ += ' ', append_number(op.count, text_);
  for (const DemTarget& t : op.targets) {
    text_ += ' ';
    if (t.kind == DemTarget::Kind::kSeparator) {
      text_ += '^';
    } else {
      text_ += t.kind == DemTarget::Kind::kDetector ? 'D' : 'L';
      append_number(t.index, text_);
    }
  }
  end_line();
}

void DemWriter::open_repeat(const DemInstruction& repeat) {
  begin(repeat);
  text_ += ' ';
  append_number(repeat.count, text_);
  text_ += " {";
  end_line();
  indent_ += 4;
}

void DemWriter::close_repeat() {
  indent_ -= 4;
  text_.append(indent_, ' ') += '}';
  end_line();
}

void DemWriter::end_line() {
  text_ += '\n';
  if (text_.size() >= kPiece) flush();
}

void DemWriter::flush() {
  write_(text_);
  text_.clear();
}

circuit::ErrorModel parse_dem(std::string_view text, std::string_view file) {
  StimScanner in(text, file);
  in.hide_unless_like("a detector error model", kUpperNames);
  circuit::ErrorModel model;
  read_block(in, model.instructions, 0, 0);
  return model;
}

bool is_dem(std::string_view text) {
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r}"), line.size()));
    if (line.empty() || line[0] == '#') continue;
    const std::size_t end =
        std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"),
                 line.size());
    std::string name(line.substr(0, end));
    for (char& c : name) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
    if (name == "ERROR" || name == "LOGICAL_OBSERVABLE" || name == "SHIFT_DETECTORS") return true;
    if (name == "REPEAT") continue;  // its body tells
    if (name != "DETECTOR") return false;
    // DETECTOR(coordinates) rec[-1] or detector(coordinates) D0; with neither it is a circuit's
    std::size_t at = end;
    const auto skip = [&](char open, char close) {
      if (at < line.size() && line[at] == open)
        at = std::min(line.find(close, at), line.size() - 1) + 1;
    };
    skip('[', ']');
    skip('(', ')');
    at = std::min(line.find_first_not_of(" \t", at), line.size());
    return at < line.size() && (line[at] == 'D' || line[at] == 'd');
  }
  return false;
}

std::string print_dem(const circuit::ErrorModel& model) {
  std::string out;
  DemWriter writer([&](std::string_view text) { out += text; });
  circuit::send(model, writer);
  writer.flush();
  return out;
}

}  // namespace tilewave::language
