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

double real_number(nb::handle value, const ArgumentName& name, const char* wanted) {
  const double x = PyFloat_AsDouble(value.ptr());
  if (x == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail_type(value, name, wanted);
  }
  return x;
}

std::uint32_t index_of(nb::handle value, std::uint32_t count, const ArgumentName& name,
                       const char* kind, const char* kinds) {
  const std::int64_t x = whole_number(value, name);
  if (x >= 0 && x < count) return static_cast<std::uint32_t>(x);
  fail(ExitCode::kInput, name.call, ": ", kind, ' ', nb::str(value).c_str(),
       " is out of range: the circuit has ", count, ' ', count == 1 ? kind : kinds);
}

// Whether it is one whole number; arrays have the method that would make them one, too.
bool is_whole_number(nb::handle value) {
  if (PyLong_Check(value.ptr())) return true;
  if (!PyIndex_Check(value.ptr())) return false;
  PyObject* whole = PyNumber_Index(value.ptr());
  if (!whole) PyErr_Clear();
  Py_XDECREF(whole);
  return whole != nullptr;
}

// one(item) of every item.
template <class F>
auto list_of(nb::handle value, const ArgumentName& name, const char* wanted, F one) {
  std::vector<decltype(one(value))> out;
  if (PyUnicode_Check(value.ptr())) fail_type(value, name, wanted);
  PyObject* iterator = PyObject_GetIter(value.ptr());
  if (!iterator) {
    PyErr_Clear();
    fail_type(value, name, wanted);
  }
  const nb::object owner = nb::steal(iterator);
  while (PyObject* item = PyIter_Next(iterator)) out.push_back(one(nb::steal(item)));
  if (PyErr_Occurred()) throw nb::python_error();
  return out;
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
  if (is_whole_number(value)) return {qubit_of(value, num_qubits, name)};
  return list_of(value, name, "a list of whole numbers",
                 [&](nb::handle item) { return qubit_of(item, num_qubits, name); });
}

std::vector<circuit::Clbit> clbits_of(nb::handle value, std::uint32_t num_clbits,
                                      const ArgumentName& name) {
  if (is_whole_number(value)) return {clbit_of(value, num_clbits, name)};
  return list_of(value, name, "a list of whole numbers",
                 [&](nb::handle item) { return clbit_of(item, num_clbits, name); });
}

std::uint32_t count_of(nb::handle value, const ArgumentName& name) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t x = whole_number(value, name);
  if (x >= 0 && x <= kMost) return static_cast<std::uint32_t>(x);
  fail(ExitCode::kInput, name.call, ": ", name.argument, " is ", nb::str(value).c_str(),
       ": give 0 to ", kMost);
}

double number_of(nb::handle value, const ArgumentName& name) {
  return real_number(value, name, "a number");
}

std::vector<double> numbers_of(nb::handle value, const ArgumentName& name) {
  return list_of(value, name, "a list of numbers",
                 [&](nb::handle item) { return number_of(item, name); });
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
  return {real_number(value, name, "a number, or an expression of parameters")};
}

std::vector<circuit::NamedAngle> angles_of(nb::handle value, const ArgumentName& name) {
  return list_of(value, name, "a list of numbers",
                 [&](nb::handle item) { return angle_of(item, name); });
}

}  // namespace tilewave::python
