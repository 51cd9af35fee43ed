// Noise models, from the text of docs/noise.md's format.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "tilewave/language/noise/json.h"
#include "tilewave/python/bind.h"
#include "tilewave/python/modules-inl.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewave::python {

void bind_noise(nb::module_& m) {
  nb::class_<PyNoise> c(m, "_Noise", "A noise model that was read and checked.");
  c.def(
      "__init__",
      [](PyNoise* self, const std::string& text, const std::string& name) {
        auto model = std::make_shared<circuit::NoiseModel>(language::parse_noise_model(text, name));
        new (self) PyNoise{std::move(model)};
      },
      "text"_a, "name"_a = "noise");
  c.def_prop_ro("num_rules", [](const PyNoise& n) { return n.model->rules.size(); });
}

}  // namespace tilewave::python
