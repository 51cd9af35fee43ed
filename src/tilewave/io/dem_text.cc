#include "tilewave/io/dem_text.h"

#include "tilewave/io/stim_scanner.h"
#include "tilewave/io/stim_text.h"

namespace tilewave::io {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;

constexpr std::uint64_t kMaxDetector = (std::uint64_t{1} << 62) - 1;
constexpr int kMaxNesting = 1000;
constexpr const char* kNames[] = {"error", "detector", "logical_observable", "shift_detectors",
                                  "repeat"};

DemTarget read_target(StimScanner& in) {
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

void read_block(StimScanner& in, std::vector<DemInstruction>& out, int depth, std::size_t opened) {
  while (true) {
    in.skip(true);
    if (in.at_end()) {
      if (depth) in.fail_at(opened, "the block is not closed: add '}'");
      return;
    }
    if (in.peek() == '}') {
      if (!depth) in.fail("'}' closes no block");
      in.take();
      return;
    }
    const std::size_t first = in.position();
    const std::string name = in.read_name();
    DemInstruction op;
    if (name == "ERROR")
      op.kind = DemKind::kError;
    else if (name == "DETECTOR")
      op.kind = DemKind::kDetector;
    else if (name == "LOGICAL_OBSERVABLE")
      op.kind = DemKind::kLogicalObservable;
    else if (name == "SHIFT_DETECTORS")
      op.kind = DemKind::kShiftDetectors;
    else if (name == "REPEAT")
      op.kind = DemKind::kRepeat;
    else
      in.fail_at(first,
                 "unknown instruction: use error, detector, logical_observable, shift_detectors or "
                 "repeat");
    op.tag = in.read_tag();
    if (op.kind == DemKind::kRepeat) {
      in.skip(false);
      op.count = in.read_uint(~std::uint64_t{0}, "the number of repetitions");
      in.skip(false);
      const std::size_t brace = in.position();
      in.expect('{', "after the number of repetitions");
      if (depth >= kMaxNesting) in.fail_at(brace, "blocks are nested too deeply");
      read_block(in, op.body, depth + 1, brace);
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
    while (true) {
      in.skip(false);
      if (in.at_line_end()) break;
      const std::size_t at = in.position();
      const DemTarget t = read_target(in);
      const bool wrong =
          (op.kind == DemKind::kDetector && t.kind != DemTarget::Kind::kDetector) ||
          (op.kind == DemKind::kLogicalObservable && t.kind != DemTarget::Kind::kObservable) ||
          op.kind == DemKind::kShiftDetectors;
      if (wrong)
        in.fail_at(at,
                   std::string(kNames[static_cast<int>(op.kind)]) + " does not take this target");
      op.targets.push_back(t);
    }
    out.push_back(std::move(op));
  }
}

void print_block(const std::vector<DemInstruction>& list, std::size_t indent, std::string& out) {
  for (const DemInstruction& op : list) {
    out.append(indent, ' ');
    out += kNames[static_cast<int>(op.kind)];
    if (!op.tag.empty()) out.append("[").append(escape_tag(op.tag)) += ']';
    if (op.kind == DemKind::kRepeat) {
      out.append(" ").append(std::to_string(op.count)).append(" {\n");
      print_block(op.body, indent + 4, out);
      out.append(indent, ' ');
      out += "}\n";
      continue;
    }
    for (std::size_t k = 0; k < op.args.size(); ++k)
      out.append(k ? ", " : "(").append(shortest_number(op.args[k]));
    if (!op.args.empty()) out += ')';
    if (op.kind == DemKind::kShiftDetectors) out.append(" ").append(std::to_string(op.count));
    for (const DemTarget& t : op.targets) {
      out += ' ';
      if (t.kind == DemTarget::Kind::kSeparator) {
        out += '^';
      } else {
        out += t.kind == DemTarget::Kind::kDetector ? 'D' : 'L';
        out += std::to_string(t.index);
      }
    }
    out += '\n';
  }
}

}  // namespace

circuit::ErrorModel parse_dem(std::string_view text, std::string_view file) {
  StimScanner in(text, file);
  circuit::ErrorModel model;
  read_block(in, model.instructions, 0, 0);
  return model;
}

std::string print_dem(const circuit::ErrorModel& model) {
  std::string out;
  print_block(model.instructions, 0, out);
  return out;
}

}  // namespace tilewave::io
