// tilewave._core: what the Python package is made of. Errors become the exceptions Python has for
// them, with the library's message.
#include <regex>
#include <string>

#include <nanobind/nanobind.h>

#include "tilewave/base/error.h"
#include "tilewave/python/bind-inl.h"
#include "tilewave/runtime/machine.h"

namespace nb = nanobind;

namespace {

PyObject* exception_of(tilewave::ExitCode code) {
  switch (code) {
    case tilewave::ExitCode::kUsage:
    case tilewave::ExitCode::kInput:
      return PyExc_ValueError;
    case tilewave::ExitCode::kResources:
      return PyExc_MemoryError;
    case tilewave::ExitCode::kVerification:
      return PyExc_ArithmeticError;
    case tilewave::ExitCode::kCommunication:
      return PyExc_ConnectionError;
    default:
      return PyExc_RuntimeError;
  }
}

// Flags of the program are keywords here: `--precision single` becomes precision="single", and
// `--shots N` shots=N.
std::string as_python(const std::string& message) {
  static const std::regex input(R"(--input (\w+)=(<number>|<bits>))"),
      choice(R"(--(precision|device|engine) )"
             R"((single|double|cpu|cuda(?:[:+][\w:,+-]*\w)?|auto|density|trajectories|statevector|)"
             R"(stabilizer|frame|sparse)\b)"),
      number(R"(--(shots|seed|threads) (\d+|N)\b)"),
      flag(R"(--(precision|device|engine|noise|shots|seed|threads)\b)");
  std::string text = std::regex_replace(message, input, R"(inputs={"$1": $2})");
  text = std::regex_replace(text, choice, R"($1="$2")");
  text = std::regex_replace(text, number, "$1=$2");
  return std::regex_replace(text, flag, "$1");
}

}  // namespace

NB_MODULE(_core, m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const tilewave::NoCudaError& e) {  // nothing is short: something else must be asked
      PyErr_SetString(PyExc_ValueError, as_python(e.what()).c_str());
    } catch (const tilewave::Error& e) {
      PyErr_SetString(exception_of(e.code()), as_python(e.what()).c_str());
    }
  });
  m.doc() = "The compiled part of the package tilewave.";
  m.attr("__version__") = TW_VERSION;
  m.def("built_with_cuda", &tilewave::runtime::built_with_cuda,
        "Whether this build has the CUDA back end.");
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // objects that outlive the interpreter are no fault of a program
#endif
  tilewave::python::bind_interrupt(m);
  tilewave::python::bind_circuit(m);
  tilewave::python::bind_noise(m);
  tilewave::python::bind_result(m);
  tilewave::python::bind_state(m);
  tilewave::python::bind_simulate(m);
  tilewave::python::bind_sampler(m);
  tilewave::python::bind_strata(m);
  tilewave::python::bind_stabilizer(m);
  tilewave::python::bind_field(m);
  tilewave::python::bind_parametric(m);
}
