// Circuits as OpenQASM 2 text. Angles are the shortest decimals that read back to the same number.
#include <algorithm>
#include <charconv>
#include <set>

#include "tilewave/base/bits.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/language/qasm2/gates.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

using circuit::Circuit;
using circuit::GateInfo;
using circuit::Op;
using circuit::OpKind;
using circuit::Register;

// The name, or one like it that a register may have: no other register's and no gate's, which
// could then not be called.
std::string usable_name(std::string name, std::set<std::string>& names) {
  const bool is_word = qasm2::is_free_name(name + '_');
  if (!is_word) name = "r";
  while (!qasm2::is_free_name(name) || names.contains(name) ||
         circuit::find_gate(circuit::Language::kQasm, name)) {
    name += '_';
  }
  names.insert(name);
  return name;
}

// The registers under usable names where they hold all bits in order, else one that does.
std::vector<Register> declared(std::span<const Register> registers, std::uint32_t total,
                               std::string name, std::set<std::string>& names) {
  std::uint32_t next = 0;
  bool in_order = true;
  for (const Register& r : registers) {
    in_order = in_order && r.first == next;
    next += r.size;
  }
  if (!in_order || next != total) return {{usable_name(std::move(name), names), 0, total}};
  std::vector<Register> usable;
  for (const Register& r : registers) {
    if (r.size > 0) usable.push_back({usable_name(r.name, names), r.first, r.size});
  }
  return usable;
}

// Natural number from words, lowest first.
std::string decimal(std::vector<std::uint64_t> words) {
  std::string digits;
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (auto w = words.rbegin(); w != words.rend(); ++w) {
      __extension__ using Wide = unsigned __int128;
      const Wide value = (static_cast<Wide>(rest) << 64) | *w;
      *w = static_cast<std::uint64_t>(value / 10);
      rest = static_cast<std::uint64_t>(value % 10);
    }
    digits += static_cast<char>('0' + rest);
    while (!words.empty() && words.back() == 0) words.pop_back();
  }
  std::reverse(digits.begin(), digits.end());
  return digits.empty() ? "0" : digits;
}

class Printer {
 public:
  explicit Printer(const Circuit& c) : circuit_(c) {
    std::set<std::string> names;
    qregs_ = declared(c.qregs(), c.num_qubits(), "q", names);
    cregs_ = declared(c.cregs(), c.num_clbits(), "c", names);
  }

  std::string print() {
    out_ = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n";
    for (const Register& r : qregs_) declare("qreg ", r);
    for (const Register& r : cregs_) declare("creg ", r);
    InterruptCounter now_and_then(1024);
    for (const Op& op : circuit_.ops()) {
      now_and_then.step();
      switch (op.kind) {
        case OpKind::kGate:
          gate(op);
          break;
        case OpKind::kRuntimeGate:
          fail(op, "its angles are computed while the circuit runs");
        case OpKind::kMatrix:
          fail(op, "a matrix has no text in OpenQASM 2");
        case OpKind::kMeasure:
          condition(op);
          out_ += "measure ";
          bit(qregs_, circuit_.targets(op)[0]);
          out_ += " -> ";
          bit(cregs_, op.clbit);
          out_ += ";\n";
          break;
        case OpKind::kReset:
          condition(op);
          out_ += "reset ";
          bit(qregs_, circuit_.targets(op)[0]);
          out_ += ";\n";
          break;
        case OpKind::kChannel:
          fail(op, "the language has no noise");
        case OpKind::kJump:
        case OpKind::kAssign:
          fail(op, "the language has no control flow");
        case OpKind::kBarrier:
          barrier();
          break;
      }
    }
    return std::move(out_);
  }

 private:
  void barrier() {
    if (circuit_.num_qubits() == 0) return;
    out_ += "barrier ";
    for (const Register& r : qregs_) (out_ += r.name) += &r == &qregs_.back() ? ";\n" : ",";
  }

  void declare(const char* word, const Register& r) {
    if (r.size > 0) out_ += concat(word, r.name, "[", r.size, "];\n");
  }

  template <class... Parts>
  [[noreturn]] void fail(const Op& op, const Parts&... why) const {
    const auto index = &op - circuit_.ops().data();
    tilewave::fail(ExitCode::kInput, "operation ", index,
                   " cannot be written as OpenQASM 2: ", why...);
  }

  void bit(const std::vector<Register>& registers, std::uint32_t index) {
    const auto after =
        std::upper_bound(registers.begin(), registers.end(), index,
                         [](std::uint32_t i, const Register& r) { return i < r.first; });
    const Register& r = *(after - 1);
    out_ += concat(r.name, "[", index - r.first, "]");
  }

  void condition(const Op& op) {
    if (op.condition < 0) return;
    const circuit::Condition& c = circuit_.conditions()[static_cast<std::size_t>(op.condition)];
    if (!c.expr.empty()) fail(op, "its condition is an expression");
    const auto r = std::find_if(cregs_.begin(), cregs_.end(), [&](const Register& reg) {
      return reg.first == c.first && reg.size == c.size;
    });
    if (r == cregs_.end()) fail(op, "its condition is not on one whole classical register");
    std::vector<std::uint64_t> value = c.value;
    while (!value.empty() && value.back() == 0) value.pop_back();
    out_ += concat("if(", r->name, "==", decimal(std::move(value)), ") ");
  }

  // Further controls become a gate of the table that has them; those on 0 stand between two x.
  void gate(const Op& op) {
    const GateInfo& base = circuit::gate_info(op.gate);
    const int extra = op.num_controls - base.num_controls;
    const GateInfo* info = circuit::find_controlled(op.gate, extra);
    if (!info) {
      fail(op, "no gate is '", base.name, "' under ", extra, " controls");
    }
    const std::uint64_t zeros = ~op.control_values & low_mask(op.num_controls);
    flip(op, zeros);
    condition(op);
    out_ += info->qasm.substr(0, info->qasm.find(' '));
    const auto params = circuit_.params(op);
    for (std::size_t k = 0; k < params.size(); ++k) {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, params[k]).ptr;
      out_ += k == 0 ? '(' : ',';
      out_.append(text, end);
    }
    if (!params.empty()) out_ += ')';
    char separator = ' ';
    for (const circuit::Qubit q : circuit_.qubits(op)) {
      out_ += separator;
      bit(qregs_, q);
      separator = ',';
    }
    out_ += ";\n";
    flip(op, zeros);
  }

  void flip(const Op& op, std::uint64_t which) {
    for_each_bit(which, [&](int k) {
      condition(op);
      out_ += "x ";
      bit(qregs_, circuit_.controls(op)[static_cast<std::size_t>(k)]);
      out_ += ";\n";
    });
  }

  const Circuit& circuit_;
  std::vector<Register> qregs_, cregs_;
  std::string out_;
};

}  // namespace

std::string to_qasm2(const Circuit& circuit) {
  circuit::need_bound(circuit);
  return Printer(circuit).print();
}

}  // namespace tilewave::language
