#include "tilewave/language/stim/text.h"

#include <charconv>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/circuit/rotations.h"
#include "tilewave/language/stim/scanner.h"
#include "tilewave/language/stim/tagged_gate.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

using circuit::Pauli;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;

constexpr std::uint32_t kMaxIndex = (1u << 24) - 1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

StabTarget read_target(StimScanner& in) {
  using TK = StabTarget::Kind;
  StabTarget t;
  if (in.accept('*')) {
    t.kind = TK::kCombiner;
    return t;
  }
  const std::size_t first = in.position();
  t.inverted = in.accept('!');
  const auto index = [&](std::string_view what) {
    return static_cast<std::uint32_t>(in.read_uint(kMaxIndex, what));
  };
  const char c = in.peek();
  if (is_digit(c)) {
    t.value = index("a qubit index");
  } else if (in.accept_word("rec[-")) {
    t.kind = TK::kRecord;
    t.value = index("how far back the record lies");
    if (t.value == 0) in.fail_at(first, "rec[-0] is no record: rec[-1] is the last one");
    in.expect(']', "after the record's offset");
  } else if (in.accept_word("sweep[")) {
    t.kind = TK::kSweep;
    t.value = index("a sweep index");
    in.expect(']', "after the sweep index");
  } else if (c == 'X' || c == 'Y' || c == 'Z' || c == 'x' || c == 'y' || c == 'z') {
    in.take();
    t.kind = TK::kPauli;
    t.pauli = (c | 32) == 'x' ? Pauli::kX : (c | 32) == 'y' ? Pauli::kY : Pauli::kZ;
    t.value = index("a qubit index after the Pauli");
  } else {
    in.fail("expected a target: a qubit such as 5, !5, X5, rec[-1] or sweep[0]");
  }
  if (t.inverted && (t.kind == TK::kRecord || t.kind == TK::kSweep)) {
    in.fail_at(first, "a classical bit cannot be inverted");
  }
  return t;
}

[[noreturn]] void fail_unknown(StimScanner& in, std::size_t at, const std::string& name) {
  const std::vector<std::string_view> known = circuit::stabilizer_names();
  in.fail_at(at, "unknown instruction '" + name + "'" + did_you_mean(name, known));
}

// `records`: those measured so far, of loops in their first iteration.
void read_block(StimScanner& in, StabilizerCircuit& out, int depth, std::size_t opened,
                std::uint64_t& records) {
  while (in.next_instruction(depth, opened)) {
    const std::size_t first = in.position();
    const std::string name = in.read_name();
    if (name.empty()) in.fail("expected an instruction name");
    circuit::StabName found = circuit::find_stabilizer_op(name);
    if (!found.found) fail_unknown(in, first, name);
    const std::size_t tag_at = in.position();
    std::string tag = in.read_tag();
    const std::uint32_t line = in.line_of(first);
    if (found.kind == StabKind::kRepeat) {
      const StimScanner::Repeat repeat = in.read_repeat(depth);
      if (repeat.count == 0) in.fail_at(repeat.count_at, "REPEAT needs at least one iteration");
      StabilizerCircuit body;
      const std::uint64_t before = records;
      read_block(in, body, depth + 1, repeat.brace, records);
      records = saturating_add(before, saturating_multiply(records - before, repeat.count));
      out.append_repeat(repeat.count, std::move(body), tag, line);
      continue;
    }
    std::vector<double> args = in.read_args();
    std::optional<TaggedGate> meant;
    try {
      meant = tagged_gate(found, tag);
    } catch (const Error& e) {
      in.fail_at(tag_at, e.what());
    }
    if (meant) {
      if (!args.empty()) in.fail_at(first, "a gate that its tag names takes no arguments");
      found = {true, meant->kind, circuit::GateId::kId};
      tag = std::move(meant->tag);
      args = std::move(meant->args);
    }
    std::vector<StabTarget> targets;
    while (true) {
      const std::size_t before = in.position();
      in.skip(false);
      if (in.at_line_end()) break;
      if (in.peek() == '{') in.fail("only REPEAT takes a block");
      if (in.peek() == '}') in.fail("'}' must stand on its own line");
      const bool glued = in.position() == before;
      const bool product = in.peek() == '*' ||
                           (!targets.empty() && targets.back().kind == StabTarget::Kind::kCombiner);
      if (glued && !product) in.fail("expected a space before the target");
      const std::size_t at = in.position();
      targets.push_back(read_target(in));
      const StabTarget& t = targets.back();
      if (t.kind == StabTarget::Kind::kRecord && t.value > records) {
        in.fail_at(at, "rec[-", t.value, "] looks back past the first record: only ", records,
                   records == 1 ? " record precedes it" : " records precede it");
      }
    }
    try {
      out.append(found.kind, found.gate, targets, args, tag, line);
    } catch (const Error& e) {
      in.fail_at(first, e.what());
    }
    records = saturating_add(records, circuit::count_measurements(found.kind, targets));
  }
}

void print_target(const StabTarget& t, std::string& out) {
  if (t.inverted) out += '!';
  switch (t.kind) {
    case StabTarget::Kind::kQubit:
      out += std::to_string(t.value);
      break;
    case StabTarget::Kind::kPauli:
      out += "IXYZ"[static_cast<int>(t.pauli)];
      out += std::to_string(t.value);
      break;
    case StabTarget::Kind::kRecord:
      out.append("rec[-").append(std::to_string(t.value)) += ']';
      break;
    case StabTarget::Kind::kSweep:
      out.append("sweep[").append(std::to_string(t.value)) += ']';
      break;
    case StabTarget::Kind::kCombiner:
      out += '*';
      break;
  }
}

void print_targets(std::span<const StabTarget> targets, std::string& out) {
  bool glue = false;
  for (const StabTarget& t : targets) {
    const bool combiner = t.kind == StabTarget::Kind::kCombiner;
    if (!glue && !combiner) out += ' ';
    print_target(t, out);
    glue = combiner;
  }
  out += '\n';
}

// The shortest digits that read back as `value`, without an exponent.
std::string decimal_number(double value) {
  if (value == 0) return "0";
  char buffer[400];  // 5e-324 has 326 characters, others up to 16 more
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return {buffer, end};
}

std::string in_parentheses(std::span<const double> numbers, std::string (*text_of)(double)) {
  std::string out;
  for (const double x : numbers) out.append(out.empty() ? "(" : ", ").append(text_of(x));
  return out.empty() ? out : out + ")";
}

class Printer {
 public:
  explicit Printer(StimSpelling spelling) : spelling_(spelling) {}

  void block(const StabilizerCircuit& c, int indent) {
    const std::string margin(static_cast<std::size_t>(indent) * 4, ' ');
    for (const StabInstruction& op : c.instructions()) {
      if (op.kind == StabKind::kRepeat) {
        head(margin, c.name(op), c.tag(op));
        out.append(" ").append(std::to_string(op.repeat)).append(" {\n");
        block(c.block(op), indent + 1);
        out.append(margin).append("}\n");
        continue;
      }
      std::string_view name = c.name(op);
      std::string tag = c.tag(op);
      std::span<const double> args = c.args(op);
      if (spelling_ == StimSpelling::kTags) {
        if (auto tagged = gate_tag(op.kind, args, tag)) {
          name = tagged->name;
          tag = std::move(tagged->tag);
          args = {};
        }
      }
      for_each_line(op.kind, c.targets(op), [&](std::span<const StabTarget> targets) {
        head(margin, name, tag);
        out += in_parentheses(
            args, spelling_ == StimSpelling::kDecimals ? decimal_number : shortest_number);
        print_targets(targets, out);
      });
    }
  }

  std::string out;

 private:
  void head(const std::string& margin, std::string_view name, const std::string& tag) {
    out.append(margin).append(name);
    if (!tag.empty()) out.append("[").append(escape_tag(tag)) += ']';
  }

  template <class F>
  void for_each_line(StabKind kind, std::span<const StabTarget> targets, F f) const {
    if (targets.empty()) return f(targets);  // a line all the same: it keeps its neighbours apart
    const bool is_pair =
        kind == StabKind::kRotXX || kind == StabKind::kRotYY || kind == StabKind::kRotZZ;
    if (spelling_ == StimSpelling::kTags && is_pair) {
      const Pauli p = circuit::basis_of(kind);
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        const StabTarget product[] = {circuit::pauli_target(p, targets[i].value),
                                      {0, StabTarget::Kind::kCombiner, Pauli::kI, false},
                                      circuit::pauli_target(p, targets[i + 1].value)};
        f(std::span<const StabTarget>(product));
      }
    } else if (kind == StabKind::kRotPauli &&
               (spelling_ == StimSpelling::kOneProductALine || spelling_ == StimSpelling::kTags)) {
      for (std::size_t i = 0; i < targets.size();) {
        const std::size_t end = circuit::end_of_product(targets, i);
        f(targets.subspan(i, end - i));
        i = end;
      }
    } else {
      f(targets);
    }
  }

  StimSpelling spelling_;
};

}  // namespace

StabilizerCircuit parse_stim(std::string_view text, std::string_view file) {
  StimScanner in(text, file);
  in.hide_unless_like("a circuit in Stim's language", circuit::stabilizer_names());
  StabilizerCircuit out;
  std::uint64_t records = 0;
  read_block(in, out, 0, 0, records);
  return out;
}

std::string print_stim(const StabilizerCircuit& circuit, StimSpelling spelling) {
  Printer printer(spelling);
  printer.block(circuit, 0);
  return std::move(printer.out);
}

std::string shortest_number(double value) {
  const double magnitude = value < 0 ? -value : value;
  if (value == 0 || (magnitude >= 1e-5 && magnitude < 1e15)) return decimal_number(value);
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string in_parentheses(std::span<const double> numbers) {
  return in_parentheses(numbers, shortest_number);
}

std::string escape_tag(std::string_view tag) {
  std::string out;
  for (char c : tag) {
    const std::size_t escape = kTagEscaped.find(c);
    if (escape != std::string_view::npos) out += '\\';
    out += escape == std::string_view::npos ? c : kTagEscapes[escape];
  }
  return out;
}

}  // namespace tilewave::language
