// Ctrl-C and cancelled jobs: what long computations ask (base/interrupt.h).
#include <atomic>
#include <memory>

#include <nanobind/nanobind.h>

#include "tilewave/base/interrupt.h"
#include "tilewave/python/bind-inl.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {
namespace {

// Shared by the job that may be cancelled and the thread that computes for it.
struct CancelToken {
  std::shared_ptr<std::atomic<bool>> is_set = std::make_shared<std::atomic<bool>>(false);
};

thread_local std::shared_ptr<std::atomic<bool>> watched;

// Called with the interpreter's lock or without it.
void poll() {
  const bool is_cancelled = watched && *watched;
  const nb::gil_scoped_acquire acquire;
  if (is_cancelled) {
    const nb::object kind = nb::module_::import_("concurrent.futures").attr("CancelledError");
    PyErr_SetString(kind.ptr(), "the job was cancelled");
    throw nb::python_error();
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_interrupt(nb::module_& m) {
  nb::class_<CancelToken>(m, "_CancelToken", "Ends the computations of threads that watch it.")
      .def(nb::init<>())
      .def("cancel", [](CancelToken& t) { *t.is_set = true; })
      .def_prop_ro("is_cancelled", [](const CancelToken& t) { return t.is_set->load(); });
  m.def(
      "_watch", [](CancelToken* token) { watched = token ? token->is_set : nullptr; },
      "token"_a.none(), "This thread's computations end with CancelledError once it is cancelled.");
  set_interrupt_poll(&poll);
}

}  // namespace tilewave::python
