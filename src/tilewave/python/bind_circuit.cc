// Circuits: a method for every gate of the gate table, angles first, then qubits.
#include <algorithm>
#include <array>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/error.h"
#include "tilewave/circuit/from_stabilizer.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/io/circuit_file.h"
#include "tilewave/io/qasm2.h"
#include "tilewave/io/stim_text.h"
#include "tilewave/io/text_source.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind.h"
#include "tilewave/python/rooms-inl.h"
#include "tilewave/simulate/program.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {

using circuit::Circuit;
using circuit::GateId;
using circuit::GateInfo;
using circuit::Qubit;

std::shared_ptr<simulate::PlanCache> PyCircuit::plans(statevec::Precision precision, int threads,
                                                      const std::string& device) const {
  const std::scoped_lock lock(mutex_);
  has_plans_ = true;
  auto& plans = plans_[{precision, threads, device}];
  if (!plans) plans = std::make_shared<simulate::PlanCache>();
  return plans;
}

bool PyCircuit::is_dynamic() const {
  if (!is_dynamic_) is_dynamic_ = simulate::prepare(*circuit_).dynamic;
  return *is_dynamic_;
}

void PyCircuit::drop_plans() {
  const std::scoped_lock lock(mutex_);
  plans_.clear();
  has_plans_ = false;
}

namespace {

using Class = nb::class_<PyCircuit>;
using Names = std::array<const char*, 5>;

template <std::size_t>
using Angle = double;
template <std::size_t>
using Wire = Qubit;

// A method with the gate's own number of angles and qubits, so that Python checks them.
template <std::size_t... P, std::size_t... Q>
void add_gate_method(Class& c, const char* name, const GateInfo& info, const Names& params,
                     const Names& qubits, std::index_sequence<P...>, std::index_sequence<Q...>) {
  const GateId id = info.id;
  c.def(
      name,
      [id](PyCircuit& self, Angle<P>... angles, Wire<Q>... wires) -> PyCircuit& {
        const std::array<double, sizeof...(P)> a{angles...};
        const std::array<Qubit, sizeof...(Q)> w{wires...};
        self.change().add_gate(id, std::span<const Qubit>(w.data(), w.size()),
                               std::span<const double>(a.data(), a.size()));
        return self;
      },
      nb::arg(params[P])..., nb::arg(qubits[Q])..., nb::rv_policy::reference, info.help.data());
}

Names param_names(const GateInfo& info) {
  if (info.num_params == 1) return {info.id == GateId::kU0 ? "length" : "angle"};
  if (info.id == GateId::kU2) return {"phi", "lam"};
  if (info.id == GateId::kXxPlusYy || info.id == GateId::kXxMinusYy) return {"theta", "beta"};
  return {"theta", "phi", "lam", "gamma"};
}

Names qubit_names(const GateInfo& info) {
  if (info.num_controls == 0) {
    if (info.num_targets == 1) return {"qubit"};
    return {"a", "b", "c", "d"};
  }
  Names names{"control1", "control2", "control3", "control4"};
  if (info.num_controls == 1) names[0] = "control";
  names[info.num_controls] = info.num_targets == 1 ? "target" : "target1";
  if (info.num_targets == 2) names[info.num_controls + 1] = "target2";
  return names;
}

void add_gate_methods(Class& c, const GateInfo& info, const char* name) {
  const Names params = param_names(info), qubits = qubit_names(info);
  const int arity = info.num_controls + info.num_targets;
  const auto add = [&](auto num_params, auto num_qubits) {
    if (info.num_params != static_cast<int>(num_params()) ||
        arity != static_cast<int>(num_qubits())) {
      return false;
    }
    add_gate_method(c, name, info, params, qubits, std::make_index_sequence<num_params()>(),
                    std::make_index_sequence<num_qubits()>());
    return true;
  };
  using std::integral_constant;
  constexpr integral_constant<std::size_t, 0> k0;
  constexpr integral_constant<std::size_t, 1> k1;
  constexpr integral_constant<std::size_t, 2> k2;
  constexpr integral_constant<std::size_t, 3> k3;
  constexpr integral_constant<std::size_t, 4> k4;
  constexpr integral_constant<std::size_t, 5> k5;
  const bool added = add(k0, k1) || add(k0, k2) || add(k0, k3) || add(k0, k4) || add(k0, k5) ||
                     add(k1, k0) || add(k1, k1) || add(k1, k2) || add(k1, k3) || add(k2, k1) ||
                     add(k2, k2) || add(k3, k1) || add(k3, k2) || add(k4, k2);
  TW_CHECK(added, "gate " + std::string(info.name) +
                      " has a number of angles and qubits that no "
                      "method was made for");
}

const GateInfo& find_named(const std::string& name) {
  const GateInfo* info = circuit::find_gate(circuit::Language::kQasm, name);
  if (!info) info = circuit::find_gate(circuit::Language::kTilewave, name);
  if (!info) throw Error(ExitCode::kInput, "there is no gate '" + name + "'");
  return *info;
}

// Control k acts on bit k of `values`; all ones where none is given.
std::uint64_t control_values(std::optional<std::uint64_t> values) {
  return values.value_or(~std::uint64_t{0});
}

void bind_editing(Class& c) {
  c.def(
      "gate",
      [](PyCircuit& self, const std::string& name, const std::vector<Qubit>& qubits,
         const std::vector<double>& params, const std::vector<Qubit>& controls,
         std::optional<std::uint64_t> values) -> PyCircuit& {
        self.change().add_controlled_gate(find_named(name).id, controls, control_values(values),
                                          qubits, params);
        return self;
      },
      "name"_a, "qubits"_a, "params"_a = nb::make_tuple(), "controls"_a = nb::make_tuple(),
      "control_values"_a = nb::none(), nb::rv_policy::reference,
      "Adds a gate by name, under further controls. Bit k of `control_values` is the value control "
      "k acts on (default: all ones).");
  c.def(
      "unitary",
      [](PyCircuit& self, ConstArray<std::complex<double>> matrix,
         const std::vector<Qubit>& targets, const std::vector<Qubit>& controls,
         std::optional<std::uint64_t> values) -> PyCircuit& {
        std::vector<cplx> entries(matrix.data(), matrix.data() + matrix.size());
        self.change().add_matrix(controls, control_values(values), targets, std::move(entries));
        return self;
      },
      "matrix"_a, "targets"_a, "controls"_a = nb::make_tuple(), "control_values"_a = nb::none(),
      nb::rv_policy::reference,
      "Adds a matrix of 2^t x 2^t complex numbers; bit k of a row or column is targets[k].");
  c.def(
      "measure",
      [](PyCircuit& self, Qubit qubit, circuit::Clbit clbit) -> PyCircuit& {
        self.change().add_measure(qubit, clbit);
        return self;
      },
      "qubit"_a, "clbit"_a, nb::rv_policy::reference, "Measures a qubit into a classical bit.");
  c.def(
      "measure_all",
      [](PyCircuit& self) -> PyCircuit& {
        Circuit& circuit = self.change();
        const auto first = circuit.add_creg("meas", circuit.num_qubits());
        for (Qubit q = 0; q < circuit.num_qubits(); ++q) circuit.add_measure(q, first + q);
        return self;
      },
      nb::rv_policy::reference, "Measures every qubit into a new classical register `meas`.");
  c.def(
      "reset",
      [](PyCircuit& self, Qubit qubit) -> PyCircuit& {
        self.change().add_reset(qubit);
        return self;
      },
      "qubit"_a, nb::rv_policy::reference, "Sets a qubit to |0>.");
  c.def(
      "barrier",
      [](PyCircuit& self) -> PyCircuit& {
        self.change().add_barrier();
        return self;
      },
      nb::rv_policy::reference, "A mark for readers; gates may be merged across.");
  c.def(
      "add_qreg",
      [](PyCircuit& self, const std::string& name, std::uint32_t size) {
        return self.change().add_qreg(name, size);
      },
      "name"_a, "size"_a, "Adds a quantum register; returns its first qubit.");
  c.def(
      "add_creg",
      [](PyCircuit& self, const std::string& name, std::uint32_t size) {
        return self.change().add_creg(name, size);
      },
      "name"_a, "size"_a, "Adds a classical register; returns its first bit.");
  c.def(
      "c_if",
      [](PyCircuit& self, circuit::Clbit first, const nb::int_& value,
         std::uint32_t size) -> PyCircuit& {
        Circuit& circuit = self.change();
        if (circuit.ops().empty()) {
          throw Error(ExitCode::kUsage, "c_if needs an operation before it");
        }
        if (std::uint64_t{first} + size > circuit.num_clbits()) {
          throw Error(ExitCode::kInput, "c_if: classical bits " + std::to_string(first) + " to " +
                                            std::to_string(std::uint64_t{first} + size - 1) +
                                            " do not all exist: there are " +
                                            std::to_string(circuit.num_clbits()));
        }
        circuit::Condition condition{first, size, {}, {}};
        nb::object rest = value;
        for (std::uint32_t word = 0; word < (size + 63) / 64; ++word) {
          condition.value.push_back(nb::cast<std::uint64_t>(rest & nb::int_(~std::uint64_t{0})));
          rest = rest >> nb::int_(64);
        }
        circuit.set_condition(circuit.ops().size() - 1, std::move(condition));
        return self;
      },
      "first"_a, "value"_a = 1, "size"_a = 1, nb::rv_policy::reference,
      "The last operation happens only where classical bits first..first+size-1 hold `value`.");
}

// Operation, type, width, first and second operand, value; see circuit/classical.h.
using Nodes = std::vector<std::tuple<int, int, int, int, int, std::uint64_t>>;

circuit::ClassicalExpr to_expr(const Nodes& nodes) {
  circuit::ClassicalExpr expr;
  for (const auto& [op, type, width, a, b, value] : nodes) {
    if (op < 0 || op > static_cast<int>(circuit::ClassicalOp::kIndex) || type < 0 ||
        type > static_cast<int>(circuit::ClassicalType::kFloat)) {
      throw Error(ExitCode::kInput, "a classical expression has an unknown operation or type");
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
  c.def(
      "__init__",
      [](PyCircuit* self, std::uint32_t num_qubits, std::uint32_t num_clbits) {
        Circuit circuit;
        if (num_qubits) circuit.add_qreg("q", num_qubits);
        if (num_clbits) circuit.add_creg("c", num_clbits);
        new (self) PyCircuit(std::move(circuit));
      },
      "num_qubits"_a = 0, "num_clbits"_a = 0);
  c.def(nb::init<const PyCircuit&>(), "circuit"_a);
  c.def_static(
      "_from_text",
      [](const std::string& text, const std::string& name, const io::ProgramInputs& inputs) {
        const nb::gil_scoped_release release;
        return std::make_unique<PyCircuit>(io::parse_circuit(text, name, inputs)).release();
      },
      "text"_a, "name"_a, "inputs"_a, nb::rv_policy::take_ownership);
  c.def_static(
      "_from_stim_text",
      [](const std::string& text, const std::string& name) {
        const nb::gil_scoped_release release;
        return std::make_unique<PyCircuit>(circuit::from_stabilizer(io::parse_stim(text, name)))
            .release();
      },
      "text"_a, "name"_a, nb::rv_policy::take_ownership);
  for (const GateInfo& info : circuit::gate_table()) {
    std::string names = std::string(info.name) + ' ' + std::string(info.qasm);
    std::string done = " ";
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(' ', at), names.size());
      const std::string name = names.substr(at, end - at);
      at = end + 1;
      if (done.find(' ' + name + ' ') != std::string::npos) continue;
      done += name + ' ';
      add_gate_methods(c, info, name.c_str());
    }
  }
  bind_editing(c);
  bind_control_flow(c);
  c.def(
      "inverse", [](const PyCircuit& self) { return new PyCircuit(circuit::inverse(self.get())); },
      nb::rv_policy::take_ownership, "The circuit that undoes this one, which must be unitary.");
  c.def(
      "to_qasm", [](const PyCircuit& self) { return io::to_qasm2(self.get()); },
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
  c.def("__len__", [](const PyCircuit& self) { return self.get().ops().size(); });
  c.def("__repr__", [](const PyCircuit& self) {
    const Circuit& circuit = self.get();
    return "<tilewave.Circuit: " + std::to_string(circuit.num_qubits()) + " qubits, " +
           std::to_string(circuit.num_clbits()) + " classical bits, " +
           std::to_string(circuit.ops().size()) + " operations>";
  });
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
