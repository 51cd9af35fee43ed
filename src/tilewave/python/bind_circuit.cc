// Circuits: a method for every gate of the gate table, angles first, then qubits.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/from_stabilizer.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/language/text/source.h"
#include "tilewave/python/arguments-inl.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/simulate/program.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {

using circuit::Circuit;
using circuit::GateId;
using circuit::GateInfo;
using circuit::Qubit;

bool PyCircuit::is_dynamic() const {
  if (!is_dynamic_) is_dynamic_ = simulate::prepare(*circuit_).dynamic;
  return *is_dynamic_;
}

void PyCircuit::add_channel(std::span<const Qubit> targets, circuit::Channel channel) {
  for (const auto& known : circuit_->channels()) {
    if (known->name != channel.name || known->kraus != channel.kraus) continue;
    const auto same = known;
    change().add_channel(targets, same);
    return;
  }
  change().add_channel(targets, std::make_shared<const circuit::Channel>(std::move(channel)));
}

namespace {

using Class = nb::class_<PyCircuit>;
using Self = nb::handle_t<PyCircuit>;

const GateInfo& find_named(const std::string& name) {
  const GateInfo* info = circuit::find_gate(circuit::Language::kQasm, name);
  if (!info) info = circuit::find_gate(circuit::Language::kTilewave, name);
  if (!info) {
    std::vector<std::string_view> known;
    for (const GateInfo& g : circuit::gate_table()) known.push_back(g.name);
    fail(ExitCode::kInput, "there is no gate '", name, "'",
         language::did_you_mean_gate(name, known));
  }
  return *info;
}

// Control k of `count` acts on bit k of `values`; all ones where none is given.
std::uint64_t control_values(nb::handle values, std::size_t count, const char* call) {
  std::uint64_t bits = ~std::uint64_t{0};
  if (values.is_none()) return bits;
  if (nb::try_cast(values, bits)) {
    if (count >= 64 || bits >> count == 0) return bits;
    fail(ExitCode::kInput, call, ": control_values is ", bits, ": there ",
         count == 1 ? "is 1 control" : "are " + std::to_string(count) + " controls",
         ", give a value for each in its bit");
  }
  fail(ExitCode::kInput, call, ": control_values is ", nb::repr(values).c_str(),
       ": give a whole number below 2^64, bit k for control k");
}

// The circuit itself, so that calls can follow each other.
template <class F>
nb::object changed(Self self, F f) {
  auto& circuit = nb::cast<PyCircuit&>(self);
  f(circuit, circuit.get().num_qubits());
  return nb::borrow(self);
}

// `name`, or name1, name2, ... where such a classical register is there.
std::string new_name(const Circuit& circuit, const std::string& name) {
  const auto registers = circuit.cregs();
  std::string tried = name;
  for (int k = 1; std::any_of(registers.begin(), registers.end(),
                              [&](const auto& r) { return r.name == tried; });
       ++k) {
    tried = name + std::to_string(k);
  }
  return tried;
}

void add_condition(Circuit& circuit, circuit::Clbit first, nb::handle value, std::uint32_t size) {
  if (circuit.ops().empty()) {
    fail(ExitCode::kUsage, "c_if needs an operation before it");
  }
  if (std::uint64_t{first} + size > circuit.num_clbits()) {
    fail(ExitCode::kInput, "c_if: classical bits ", first, " to ", std::uint64_t{first} + size - 1,
         " do not all exist: there are ", circuit.num_clbits());
  }
  circuit::Condition condition{first, size, {}, {}};
  nb::object rest = nb::steal(PyNumber_Index(value.ptr()));
  if (!rest.is_valid() || rest < nb::int_(0)) {
    PyErr_Clear();
    fail(ExitCode::kInput, "c_if: value is ", nb::repr(value).c_str(),
         ": give a whole number, 0 or more");
  }
  // the whole number, also what these bits cannot hold: such a condition never holds
  for (std::uint32_t word = 0; word < (size + 63) / 64 || !rest.equal(nb::int_(0)); ++word) {
    condition.value.push_back(nb::cast<std::uint64_t>(rest & nb::int_(~std::uint64_t{0})));
    rest = rest >> nb::int_(64);
  }
  circuit.set_condition(circuit.ops().size() - 1, std::move(condition));
}

void bind_gates_by_name(Class& c) {
  c.def(
      "gate",
      [](Self self, const std::string& name, nb::handle qubits, nb::handle params,
         nb::handle controls, nb::handle values) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          const GateId id = find_named(name).id;
          const auto on = qubits_of(controls, n, {"gate", "controls"});
          const auto targets = qubits_of(qubits, n, {"gate", "qubits"});
          const auto angles = angles_of(params, {"gate", "params"});
          add_controlled_gate(circuit.change(), id, on, control_values(values, on.size(), "gate"),
                              targets, angles);
        });
      },
      "name"_a, "qubits"_a, "params"_a = nb::make_tuple(), "controls"_a = nb::make_tuple(),
      "control_values"_a = nb::none(),
      nb::sig("def gate(self, name: str, qubits: int | Sequence[int] | NDArray[numpy.integer], "
              "params: Sequence[tilewave.angles.Angle] = (), "
              "controls: int | Sequence[int] | NDArray[numpy.integer] = (), control_values: int | "
              "None = None) -> "
              "typing_extensions.Self"),
      "Adds a gate by name, under further controls. Bit k of `control_values` is the value control "
      "k acts on (default: all ones).");
  c.def(
      "unitary",
      [](Self self, ConstArray<std::complex<double>> matrix, nb::handle targets,
         nb::handle controls, nb::handle values) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          const auto on = qubits_of(controls, n, {"unitary", "controls"});
          const auto of = qubits_of(targets, n, {"unitary", "targets"});
          std::vector<cplx> entries(matrix.data(), matrix.data() + matrix.size());
          circuit.change().add_matrix(on, control_values(values, on.size(), "unitary"), of,
                                      std::move(entries));
        });
      },
      "matrix"_a, "targets"_a, "controls"_a = nb::make_tuple(), "control_values"_a = nb::none(),
      nb::sig("def unitary(self, matrix: NDArray[numpy.complex128], targets: int | Sequence[int] | "
              "NDArray[numpy.integer], "
              "controls: int | Sequence[int] | NDArray[numpy.integer] = (), control_values: int | "
              "None = None) -> "
              "typing_extensions.Self"),
      "Adds a matrix of 2^t x 2^t complex numbers; bit k of a row or column is targets[k].");
  c.def(
      "_kraus",
      [](Self self, const std::string& name,
         const std::vector<ConstArray<std::complex<double>>>& operators, nb::handle targets) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          const auto of = qubits_of(targets, n, {"kraus", "qubits"});
          circuit::Channel channel;
          channel.name = name;
          channel.num_qubits = static_cast<int>(of.size());
          for (const auto& k : operators) channel.kraus.emplace_back(k.data(), k.data() + k.size());
          circuit.add_channel(of, std::move(channel));
        });
      },
      "name"_a, "operators"_a, "qubits"_a);
}

void bind_editing(Class& c) {
  c.def(
      "measure",
      [](Self self, nb::handle qubit, nb::handle clbit) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          const char* hint = ", and call it once for each qubit (measure_all takes several)";
          const Qubit q = qubit_of(qubit, n, {"measure", "qubit", hint});
          const auto b = clbit_of(clbit, circuit.get().num_clbits(), {"measure", "clbit", hint});
          circuit.change().add_measure(q, b);
        });
      },
      "qubit"_a = nb::none(), "clbit"_a = nb::none(),
      nb::sig("def measure(self, qubit: int, clbit: int) -> typing_extensions.Self"),
      "Measures a qubit into a classical bit.");
  c.def(
      "measure_all",
      [](Self self, nb::handle qubits) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          std::vector<Qubit> chosen;
          if (!qubits.is_none()) {
            chosen = qubits_of(qubits, n, {"measure_all", "qubits"});
            const std::set<Qubit> once(chosen.begin(), chosen.end());
            if (once.size() != chosen.size()) {
              fail(ExitCode::kInput, "measure_all: a qubit is named twice");
            }
          } else {
            runtime::need_host_bytes(n * (circuit::kMeasureBytes + sizeof(Qubit)),
                                     concat("measurements of ", n, " qubits do not fit memory"),
                                     "make a smaller circuit");
            chosen.resize(n);
            std::iota(chosen.begin(), chosen.end(), 0);
          }
          Circuit& changing = circuit.change();
          const auto first = changing.add_creg(new_name(changing, "meas"),
                                               static_cast<std::uint32_t>(chosen.size()));
          for (std::size_t k = 0; k < chosen.size(); ++k) {
            changing.add_measure(chosen[k], first + static_cast<circuit::Clbit>(k));
          }
        });
      },
      "qubits"_a = nb::none(),
      nb::sig("def measure_all(self, qubits: int | Sequence[int] | NDArray[numpy.integer] | None = "
              "None) -> "
              "typing_extensions.Self"),
      "Measures chosen qubits (default: every one) into a new classical register `meas`; bit k of "
      "it is the k-th of them.");
  c.def(
      "reset",
      [](Self self, nb::handle qubit) {
        return changed(self, [&](PyCircuit& circuit, std::uint32_t n) {
          const Qubit q =
              qubit_of(qubit, n, {"reset", "qubit", ", and call it once for each qubit"});
          circuit.change().add_reset(q);
        });
      },
      "qubit"_a, nb::sig("def reset(self, qubit: int) -> typing_extensions.Self"),
      "Sets a qubit to |0>.");
  c.def(
      "barrier",
      [](Self self) {
        return changed(self,
                       [](PyCircuit& circuit, std::uint32_t) { circuit.change().add_barrier(); });
      },
      nb::sig("def barrier(self) -> typing_extensions.Self"),
      "A mark for readers; gates may be merged across.");
  c.def(
      "add_qreg",
      [](PyCircuit& self, const std::string& name, nb::handle size) {
        return self.change().add_qreg(name, count_of(size, {"add_qreg", "size"}));
      },
      "name"_a, "size"_a, nb::sig("def add_qreg(self, name: str, size: int) -> int"),
      "Adds a quantum register; returns its first qubit.");
  c.def(
      "add_creg",
      [](PyCircuit& self, const std::string& name, nb::handle size) {
        return self.change().add_creg(name, count_of(size, {"add_creg", "size"}));
      },
      "name"_a, "size"_a, nb::sig("def add_creg(self, name: str, size: int) -> int"),
      "Adds a classical register; returns its first bit.");
  c.def(
      "c_if",
      [](Self self, nb::handle first, nb::handle value, nb::handle size) {
        return changed(self, [&](PyCircuit& changing, std::uint32_t) {
          add_condition(changing.change(), count_of(first, {"c_if", "first"}), value,
                        count_of(size, {"c_if", "size"}));
        });
      },
      "first"_a, "value"_a = 1, "size"_a = 1,
      nb::sig(
          "def c_if(self, first: int, value: int = 1, size: int = 1) -> typing_extensions.Self"),
      "The last operation happens only where classical bits first..first+size-1 hold `value`.");
}

// Operation, type, width, first and second operand, value; see circuit/classical.h.
using Nodes = std::vector<std::tuple<int, int, int, int, int, std::uint64_t>>;

circuit::ClassicalExpr to_expr(const Nodes& nodes) {
  circuit::ClassicalExpr expr;
  for (const auto& [op, type, width, a, b, value] : nodes) {
    if (op < 0 || op > static_cast<int>(circuit::ClassicalOp::kIndex) || type < 0 ||
        type > static_cast<int>(circuit::ClassicalType::kFloat)) {
      fail(ExitCode::kInput, "a classical expression has an unknown operation or type");
    }
    expr.add({static_cast<circuit::ClassicalOp>(op), static_cast<circuit::ClassicalType>(type),
              static_cast<std::uint8_t>(std::clamp(width, 0, 65)), a, b, value});
  }
  return expr;
}

// What control flow of other packages is converted to: jumps over conditions, and assignments.
void bind_control_flow(Class& c) {
  c.def(
      "_jump_if",
      [](PyCircuit& self, const Nodes& nodes) {
        Circuit& circuit = self.change();
        return circuit.add_jump(circuit.add_condition({0, 0, {}, to_expr(nodes)}));
      },
      "nodes"_a);
  c.def("_jump", [](PyCircuit& self) { return self.change().add_jump(); });
  c.def(
      "_land",
      [](PyCircuit& self, std::size_t jump, std::size_t op) {
        self.change().set_jump_target(jump, op);
      },
      "jump"_a, "op"_a);
  c.def(
      "_assign",
      [](PyCircuit& self, circuit::Clbit first, std::uint32_t size, const Nodes& nodes) {
        self.change().add_assign({first, size, to_expr(nodes)});
      },
      "first"_a, "size"_a, "nodes"_a);
  c.def(
      "_add_clbits",
      [](PyCircuit& self, std::uint32_t count) {
        Circuit& circuit = self.change();
        const std::uint32_t first = circuit.num_clbits();
        circuit.add_clbits(count);
        return first;
      },
      "count"_a);
}

}  // namespace

void bind_circuit(nb::module_& m) {
  Class c(m, "Circuit",
          "A list of operations on qubits and classical bits. Methods that add one return the "
          "circuit.");
  c.def(nb::init<const PyCircuit&>(), "circuit"_a);  // first: the other one takes anything
  c.def(
      "__init__",
      [](PyCircuit* self, nb::handle num_qubits, nb::handle num_clbits) {
        const std::uint32_t n = count_of(num_qubits, {"Circuit", "num_qubits"});
        const std::uint32_t bits = count_of(num_clbits, {"Circuit", "num_clbits"});
        Circuit circuit;
        if (n) circuit.add_qreg("q", n);
        if (bits) circuit.add_creg("c", bits);
        new (self) PyCircuit(std::move(circuit));
      },
      "num_qubits"_a.none() = 0, "num_clbits"_a.none() = 0,
      nb::sig("def __init__(self, num_qubits: int = 0, num_clbits: int = 0) -> None"));
  c.def_static(
      "_from_text",
      [](const std::string& text, const std::string& name, const language::ProgramInputs& inputs,
         bool include) {
        const nb::gil_scoped_release release;
        const auto includes = include ? language::Includes::kAllowed : language::Includes::kRefused;
        return std::make_unique<PyCircuit>(
                   language::parse_circuit(text, name, inputs, nullptr,
                                           {includes, language::UnboundInputs::kParameters}))
            .release();
      },
      "text"_a, "name"_a, "inputs"_a, "include"_a, nb::rv_policy::take_ownership);
  c.def_static(
      "_from_stim_text",
      [](const std::string& text, const std::string& name) {
        const nb::gil_scoped_release release;
        return std::make_unique<PyCircuit>(
                   circuit::from_stabilizer(language::parse_stim(text, name)))
            .release();
      },
      "text"_a, "name"_a, nb::rv_policy::take_ownership);
  bind_gates(c);
  bind_gates_by_name(c);
  bind_editing(c);
  bind_control_flow(c);
  bind_inspection(c);
  c.def(
      "inverse", [](const PyCircuit& self) { return new PyCircuit(circuit::inverse(self.get())); },
      nb::rv_policy::take_ownership, "The circuit that undoes this one, which must be unitary.");
  c.def(
      "to_qasm", [](const PyCircuit& self) { return language::to_qasm2(self.get()); },
      "The circuit as OpenQASM 2.");
  c.def_prop_ro("num_qubits", [](const PyCircuit& self) { return self.get().num_qubits(); });
  c.def_prop_ro("num_clbits", [](const PyCircuit& self) { return self.get().num_clbits(); });
  c.def_prop_ro(
      "cregs",
      [](const PyCircuit& self) {
        std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>> registers;
        for (const auto& r : self.get().cregs()) registers.emplace_back(r.name, r.first, r.size);
        return registers;
      },
      "Classical registers: name, first bit, size.");
  c.def_prop_ro(
      "is_unitary", [](const PyCircuit& self) { return self.get().is_unitary(); },
      "Whether it neither measures, resets nor branches.");
  c.def_prop_ro(
      "records",
      [](const PyCircuit& self) {
        const auto ops = self.get().ops();
        return std::any_of(ops.begin(), ops.end(), [](const circuit::Op& op) {
          return op.kind == circuit::OpKind::kMeasure || op.kind == circuit::OpKind::kAssign;
        });
      },
      "Whether some operation writes a classical bit.");
  c.def_prop_ro("is_dynamic", &PyCircuit::is_dynamic,
                "Whether it measures or resets in the middle, so that shots end in different "
                "states.");
  m.def(
      "_gate_matrix",
      [](const std::string& name, const std::vector<double>& params) {
        const GateInfo& info = find_named(name);
        Circuit circuit(static_cast<std::uint32_t>(info.num_controls + info.num_targets));
        std::vector<Qubit> qubits(circuit.num_qubits());
        std::iota(qubits.begin(), qubits.end(), 0);
        const std::size_t side = std::size_t{1} << qubits.size();
        return own_vector<std::complex<double>>(
            circuit.whole_matrix(circuit.add_gate(info.id, qubits, params)), {side, side});
      },
      "name"_a, "params"_a, "Of controls and targets: bit k of a row or column is the k-th qubit.");
  m.def("_counted", &counted, "count"_a, "what"_a, "1 qubit, 2 qubits.");
  m.def(
      "gate_names",
      [] {
        std::vector<std::string> names;
        for (const GateInfo& info : circuit::gate_table()) names.emplace_back(info.name);
        return names;
      },
      "The names of all gates.");
}

}  // namespace tilewave::python
