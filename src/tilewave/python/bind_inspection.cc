// What a circuit holds, copies of it as bytes, circuits behind each other, and what conversions
// from other packages need besides: labels, and angles that are filled in later.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/append_circuit.h"
#include "tilewave/circuit/listing.h"
#include "tilewave/formats/circuit_bytes.h"
#include "tilewave/language/text/source.h"
#include "tilewave/python/arguments-inl.h"
#include "tilewave/python/arrays-inl.h"
#include "tilewave/python/bind-inl.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

using circuit::Circuit;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;
using Class = nb::class_<PyCircuit>;

std::vector<circuit::Clbit> written_bits(const Circuit& circuit, const Op& op) {
  if (op.kind == OpKind::kMeasure) return {op.clbit};
  std::vector<circuit::Clbit> bits;
  if (op.kind == OpKind::kAssign) {
    const circuit::Assignment& a = circuit.assignment(op);
    for (std::uint32_t k = 0; k < a.size; ++k) bits.push_back(a.first + k);
  }
  return bits;
}

// Angle k of an operation: a number, or the constant and the terms of an expression.
nb::object angle_of(const Circuit& circuit, const Op& op, std::size_t k) {
  const circuit::AffineAngle* affine = circuit.affine(op, k);
  if (!affine) return nb::float_(circuit.params(op)[k]);
  nb::list terms;
  for (const circuit::AffineTerm& t : affine->terms)
    terms.append(nb::make_tuple(circuit.parameters()[t.parameter], t.coefficient));
  return nb::make_tuple(affine->constant, terms);
}

// name, qubits, params, clbits, num_controls, control_values, conditional, label
using Listed = std::tuple<std::string, std::vector<Qubit>, nb::list, std::vector<circuit::Clbit>,
                          int, std::uint64_t, bool, std::string>;

Listed list_operation(const PyCircuit& self, std::size_t k) {
  const Circuit& circuit = self.get();
  const auto ops = circuit.ops();
  if (k >= ops.size()) {
    throw nb::index_error(
        ("the circuit has " + std::to_string(ops.size()) + " operations").c_str());
  }
  const Op& op = ops[k];
  const auto qubits = circuit.qubits(op);
  nb::list params;
  for (std::size_t j = 0; j < circuit.params(op).size(); ++j)
    params.append(angle_of(circuit, op, j));
  return {circuit::operation_name(circuit, op),
          {qubits.begin(), qubits.end()},
          params,
          written_bits(circuit, op),
          op.num_controls,
          op.control_values & low_mask(op.num_controls),
          op.condition >= 0,
          circuit.label(op)};
}

void bind_bytes(Class& c) {
  c.def("_to_bytes", [](const PyCircuit& self) {
    const std::string bytes = formats::circuit_to_bytes(self.get());
    return nb::bytes(bytes.data(), bytes.size());
  });
  c.def_static(
      "_from_bytes",
      [](const nb::bytes& bytes) {
        return new PyCircuit(formats::circuit_from_bytes({bytes.c_str(), bytes.size()}));
      },
      "bytes"_a, nb::rv_policy::take_ownership);
  c.def(
      "_equals",
      [](const PyCircuit& self, const PyCircuit& other) {
        return self.share() == other.share() ||
               formats::has_same_operations(self.get(), other.get());
      },
      "other"_a);
}

void bind_conversion(Class& c) {
  c.def(
      "_append",
      [](PyCircuit& self, const PyCircuit& other, nb::handle qubits, nb::handle clbits,
         const std::vector<std::pair<std::string, std::uint32_t>>& new_registers,
         std::uint32_t more_bits) {
        const auto from = other.share();  // may be this circuit
        const auto q = qubits_of(qubits, self.get().num_qubits(), {"compose", "qubits"});
        Circuit& to = self.change();
        to.all_or_nothing([&] {
          for (const auto& [name, size] : new_registers) to.add_creg(name, size);
          to.add_clbits(more_bits);
          const auto b = clbits_of(clbits, to.num_clbits(), {"compose", "clbits"});
          circuit::append_circuit(to, *from, q, b);
        });
      },
      "other"_a, "qubits"_a, "clbits"_a, "new_registers"_a, "more_bits"_a);
  c.def(
      "_append_controlled",
      [](PyCircuit& self, const PyCircuit& other, const std::vector<Qubit>& qubits,
         const std::vector<Qubit>& controls, std::uint64_t values) {
        const auto from = other.share();
        if (qubits.size() != from->num_qubits()) {
          throw Error(ExitCode::kUsage, "every qubit of the other circuit needs a place");
        }
        circuit::append_controlled(self.change(), *from, qubits, controls, values);
      },
      "other"_a, "qubits"_a, "controls"_a, "values"_a);
  c.def(
      "_add_replaced",
      [](PyCircuit& self, const std::string& name) { self.change().add_replaced(name); }, "name"_a);
  c.def(
      "_add_label",
      [](PyCircuit& self, const std::string& label) { return self.change().add_label(label); },
      "label"_a);
  c.def(
      "_label_from",
      [](PyCircuit& self, std::size_t first, std::uint16_t label) {
        Circuit& circuit = self.change();
        for (std::size_t k = first; k < circuit.ops().size(); ++k) circuit.set_label(k, label);
      },
      "first"_a, "label"_a);
  // Angle angles[j] of operation ops[j] becomes values[j].
  c.def(
      "_with_angles",
      [](const PyCircuit& self, ConstArray<std::uint32_t> ops, ConstArray<std::uint32_t> angles,
         ConstArray<double> values) {
        if (ops.size() != angles.size() || ops.size() != values.size()) {
          throw Error(ExitCode::kUsage, "operations, angles and values are lists of one length");
        }
        Circuit circuit = self.get();
        for (std::size_t j = 0; j < ops.size(); ++j) {
          circuit.set_param(ops.data()[j], angles.data()[j], values.data()[j]);
        }
        return new PyCircuit(std::move(circuit));
      },
      "ops"_a, "angles"_a, "values"_a, nb::rv_policy::take_ownership);
}

void bind_parameters(Class& c) {
  c.def_prop_ro("_parameter_names", [](const PyCircuit& self) {
    const auto names = self.get().parameters();
    return std::vector<std::string>(names.begin(), names.end());
  });
  c.def_prop_ro(
      "num_parameters", [](const PyCircuit& self) { return self.get().parameters().size(); },
      "The number of parameters that angles hold.");
  c.def(
      "_add_parameters",
      [](PyCircuit& self, const std::vector<std::string>& names) {
        for (const std::string& name : names) self.change().add_parameter(name);
      },
      "names"_a);
  c.def(
      "_bind",
      [](const PyCircuit& self, ConstArray<double> values) {
        return new PyCircuit(self.get().bind({values.data(), values.size()}));
      },
      "values"_a, nb::rv_policy::take_ownership);
}

}  // namespace

void bind_inspection(Class& c) {
  bind_bytes(c);
  bind_conversion(c);
  bind_parameters(c);
  c.def("_operation", &list_operation, "index"_a);
  c.def(
      "depth", [](const PyCircuit& self) { return circuit::depth(self.get()); },
      "Operations on the longest path through qubits and classical bits. Barriers count for "
      "nothing; jumps are not followed.");
  c.def("_count_ops", [](const PyCircuit& self) {
    std::map<std::string, std::uint64_t> counts;
    for (const Op& op : self.get().ops()) ++counts[circuit::operation_name(self.get(), op)];
    return counts;
  });
  c.def_prop_ro(
      "is_noisy",
      [](const PyCircuit& self) {
        const auto ops = self.get().ops();
        return std::any_of(ops.begin(), ops.end(),
                           [](const Op& op) { return op.kind == OpKind::kChannel; });
      },
      "Whether it holds noise channels.");
  c.def("__len__", [](const PyCircuit& self) { return self.get().ops().size(); });
  c.def("__repr__", [](const PyCircuit& self) {
    const Circuit& circuit = self.get();
    return "<tilewave.Circuit: " + counted(circuit.num_qubits(), "qubit") + ", " +
           counted(circuit.num_clbits(), "classical bit") + ", " +
           counted(circuit.ops().size(), "operation") + ">";
  });
}

}  // namespace tilewave::python
