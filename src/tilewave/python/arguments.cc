// See arguments-inl.h.
#include "tilewave/python/arguments-inl.h"

#include <limits>
#include <string>

#include "tilewave/base/error.h"

namespace nb = nanobind;

namespace tilewave::python {
namespace {

[[noreturn]] void fail_type(nb::handle value, const ArgumentName& name, const char* wanted) {
  if (value.is_none()) {
    const std::string text =
        std::string(name.call) + ": " + name.argument + " is missing: give " + wanted + name.hint;
    throw nb::type_error(text.c_str());
  }
  std::string shown = nb::repr(value).c_str();
  constexpr std::size_t kMost = 60;
  if (shown.size() > kMost) shown = shown.substr(0, kMost) + "...";
  const std::string text = std::string(name.call) + ": " + name.argument + " is " + shown + " (" +
                           nb::cast<std::string>(value.type().attr("__name__")) + "): give " +
                           wanted + name.hint;
  throw nb::type_error(text.c_str());
}

// -1 for what does not fit.
std::int64_t whole_number(nb::handle value, const ArgumentName& name) {
  PyObject* object = value.ptr();
  PyObject* whole = nullptr;
  if (!PyLong_CheckExact(object)) {
    if (PyFloat_Check(object) || !PyIndex_Check(object)) fail_type(value, name, "one whole number");
    whole = PyNumber_Index(object);
    if (!whole) {
      PyErr_Clear();
      fail_type(value, name, "one whole number");
    }
    object = whole;
  }
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(object, &overflow);
  Py_XDECREF(whole);
  return overflow ? -1 : x;
}

std::uint32_t index_of(nb::handle value, std::uint32_t count, const ArgumentName& name,
                       const char* kind, const char* kinds) {
  const std::int64_t x = whole_number(value, name);
  if (x >= 0 && x < count) return static_cast<std::uint32_t>(x);
  throw Error(ExitCode::kInput, std::string(name.call) + ": " + kind + ' ' +
                                    nb::str(value).c_str() + " is out of range: the circuit has " +
                                    std::to_string(count) + ' ' + (count == 1 ? kind : kinds));
}

template <class F>
void for_each_item(nb::handle value, const ArgumentName& name, const char* wanted, F f) {
  if (PyUnicode_Check(value.ptr())) fail_type(value, name, wanted);
  PyObject* iterator = PyObject_GetIter(value.ptr());
  if (!iterator) {
    PyErr_Clear();
    fail_type(value, name, wanted);
  }
  const nb::object owner = nb::steal(iterator);
  while (PyObject* item = PyIter_Next(iterator)) f(nb::steal(item));
  if (PyErr_Occurred()) throw nb::python_error();
}

}  // namespace

circuit::Qubit qubit_of(nb::handle value, std::uint32_t num_qubits, const ArgumentName& name) {
  return index_of(value, num_qubits, name, "qubit", "qubits");
}

circuit::Clbit clbit_of(nb::handle value, std::uint32_t num_clbits, const ArgumentName& name) {
  return index_of(value, num_clbits, name, "classical bit", "classical bits");
}

std::vector<circuit::Qubit> qubits_of(nb::handle value, std::uint32_t num_qubits,
                                      const ArgumentName& name) {
  if (PyIndex_Check(value.ptr())) return {qubit_of(value, num_qubits, name)};
  std::vector<circuit::Qubit> out;
  for_each_item(value, name, "a list of whole numbers",
                [&](nb::handle item) { out.push_back(qubit_of(item, num_qubits, name)); });
  return out;
}

std::vector<circuit::Clbit> clbits_of(nb::handle value, std::uint32_t num_clbits,
                                      const ArgumentName& name) {
  if (PyIndex_Check(value.ptr())) return {clbit_of(value, num_clbits, name)};
  std::vector<circuit::Clbit> out;
  for_each_item(value, name, "a list of whole numbers",
                [&](nb::handle item) { out.push_back(clbit_of(item, num_clbits, name)); });
  return out;
}

std::uint32_t count_of(nb::handle value, const ArgumentName& name) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t x = whole_number(value, name);
  if (x >= 0 && x <= kMost) return static_cast<std::uint32_t>(x);
  throw Error(ExitCode::kInput, std::string(name.call) + ": " + name.argument + " is " +
                                    nb::str(value).c_str() + ": give 0 to " +
                                    std::to_string(kMost));
}

double number_of(nb::handle value, const ArgumentName& name) {
  const double x = PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail_type(value, name, "a number");
  }
  return x;
}

std::vector<double> numbers_of(nb::handle value, const ArgumentName& name) {
  std::vector<double> out;
  for_each_item(value, name, "a list of numbers",
                [&](nb::handle item) { out.push_back(number_of(item, name)); });
  return out;
}

circuit::NamedAngle angle_of(nb::handle value, const ArgumentName& name) {
  if (PyFloat_CheckExact(value.ptr())) return {PyFloat_AsDouble(value.ptr())};
  if (nb::hasattr(value, "_affine")) {
    const nb::object affine = value.attr("_affine")();
    circuit::NamedAngle angle{nb::cast<double>(affine[0])};
    for (const nb::handle term : affine[1])
      angle.terms.emplace_back(nb::cast<std::string>(term[0]), nb::cast<double>(term[1]));
    return angle;
  }
  const double x = PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail_type(value, name, "a number, or an expression of parameters");
  }
  return {x};
}

std::vector<circuit::NamedAngle> angles_of(nb::handle value, const ArgumentName& name) {
  std::vector<circuit::NamedAngle> out;
  for_each_item(value, name, "a list of numbers",
                [&](nb::handle item) { out.push_back(angle_of(item, name)); });
  return out;
}

}  // namespace tilewave::python
