// A method of circuits for every gate of the gate table: angles, then qubits.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "tilewave/base/error.h"
#include "tilewave/python/arguments-inl.h"
#include "tilewave/python/bind-inl.h"

namespace nb = nanobind;

namespace tilewave::python {
namespace {

using circuit::GateId;
using circuit::GateInfo;
using circuit::Qubit;
using Class = nb::class_<PyCircuit>;
using Names = std::array<const char*, 5>;

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

// What a method's messages need; it stays as long as the module.
struct Method {
  std::string name;
  const GateInfo* info;
  Names params, qubits;
  const char* hint() const {
    return info->num_params > 0 ? " (angles come first, then qubits)"
                                : ", and call it once for each gate";
  }
};

template <std::size_t>
using Given = nb::handle;

// With the gate's own number of angles and qubits. One that is missing is None, so that what is
// wrong is said in a sentence.
template <std::size_t... P, std::size_t... Q>
void add_gate_method(Class& c, const Method* m, std::index_sequence<P...>,
                     std::index_sequence<Q...>) {
  std::string text = "def " + m->name + "(self";
  for (std::size_t k = 0; k < sizeof...(P); ++k)
    text += std::string(", ") + m->params[k] + ": tilewave.angles.Angle";
  for (std::size_t k = 0; k < sizeof...(Q); ++k) text += std::string(", ") + m->qubits[k] + ": int";
  text += ") -> typing_extensions.Self";
  c.def(
      m->name.c_str(),
      [m](nb::handle_t<PyCircuit> self, Given<P>... angles, Given<Q>... wires) {
        auto& circuit = nb::cast<PyCircuit&>(self);
        [[maybe_unused]] const std::uint32_t n = circuit.get().num_qubits();
        const char* call = m->name.c_str();
        const std::array<circuit::NamedAngle, sizeof...(P)> a{
            angle_of(angles, {call, m->params[P], m->hint()})...};
        const std::array<Qubit, sizeof...(Q)> w{
            qubit_of(wires, n, {call, m->qubits[Q], m->hint()})...};
        add_controlled_gate(circuit.change(), m->info->id, {}, ~std::uint64_t{0},
                            std::span<const Qubit>(w.data(), w.size()),
                            std::span<const circuit::NamedAngle>(a.data(), a.size()));
        return nb::borrow(self);
      },
      (nb::arg(m->params[P]) = nb::none())..., (nb::arg(m->qubits[Q]) = nb::none())...,
      nb::sig(text.c_str()), m->info->help.data());
}

void add_gate_methods(Class& c, const Method& m) {
  const GateInfo& info = *m.info;
  const int arity = info.num_controls + info.num_targets;
  // Q: the numbers of qubits that gates with so many angles have
  const auto add = [&]<std::size_t... Q>(auto params, std::index_sequence<Q...>) {
    if (info.num_params != static_cast<int>(params.size())) return false;
    return ((arity == static_cast<int>(Q) &&
             (add_gate_method(c, &m, params, std::make_index_sequence<Q>()), true)) ||
            ...);
  };
  using std::index_sequence;
  const bool added = add(std::make_index_sequence<0>(), index_sequence<1, 2, 3, 4, 5>()) ||
                     add(std::make_index_sequence<1>(), index_sequence<0, 1, 2, 3>()) ||
                     add(std::make_index_sequence<2>(), index_sequence<1, 2>()) ||
                     add(std::make_index_sequence<3>(), index_sequence<1, 2>()) ||
                     add(std::make_index_sequence<4>(), index_sequence<2>());
  TW_CHECK(added, "gate " + std::string(info.name) +
                      " has a number of angles and qubits that no "
                      "method was made for");
}

}  // namespace

void bind_gates(Class& c) {
  static std::deque<Method> methods;
  for (const GateInfo& info : circuit::gate_table()) {
    const std::string names = std::string(info.name) + ' ' + std::string(info.qasm);
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(' ', at), names.size());
      const std::string name = names.substr(at, end - at);
      at = end + 1;
      if (std::any_of(methods.begin(), methods.end(),
                      [&](const Method& m) { return m.name == name; })) {
        continue;
      }
      methods.push_back({name, &info, param_names(info), qubit_names(info)});
      add_gate_methods(c, methods.back());
    }
  }
}

}  // namespace tilewave::python
