#include "tilewave/language/circuit_file.h"

#include <new>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/language/qasm/version.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/qsim/text.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

void need_no_inputs(const std::string& name, const ProgramInputs& inputs) {
  if (inputs.empty()) return;
  fail(ExitCode::kInput, printable(concat(name, ": only programs in OpenQASM 3 have inputs: '",
                                          inputs.begin()->first, "' is not one")));
}

circuit::Circuit parse(std::string_view text, const std::string& name, const ProgramInputs& inputs,
                       std::vector<std::string>* included, const Reading& reading) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] >= '0' && text[first] <= '9') {
    need_no_inputs(name, inputs);
    circuit::Circuit circuit = parse_qsim_text(text, name);  // nothing in it expands
    if (circuit.ops().size() > reading.most_steps) {
      fail(ExitCode::kInput, without_controls(name), ": the circuit has more than ",
           reading.most_steps, " operations");
    }
    return circuit;
  }
  if (is_qasm3(text)) return parse_qasm3(text, name, inputs, included, reading);
  const auto may_be_version_3 = [&] {
    return version_line(text) == QasmVersion::kUnknown &&
           guess_version(text, true) == QasmVersion::k3;
  };
  if (!inputs.empty() && may_be_version_3())
    return parse_qasm3(text, name, inputs, included, reading);
  need_no_inputs(name, inputs);
  if (version_line(text) == QasmVersion::kUnknown && name.ends_with(".stim")) {
    fail(ExitCode::kInput, without_controls(name),
         ": circuits in Stim's language are sampled by 'tilewave sample --in' and 'tilewave "
         "detect --in', and state vectors take them from Python: Circuit.from_stim");
  }
  try {
    return parse_qasm2(text, name, included, reading);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kInput || !may_be_version_3()) throw;
  }
  return parse_qasm3(text, name, inputs, included, reading);
}

}  // namespace

circuit::Circuit read_circuit_file(const std::string& path, const ProgramInputs& inputs,
                                   std::vector<std::string>* included, const Reading& reading) {
  return parse_circuit(read_text_file(path), path == "-" ? "<stdin>" : path, inputs, included,
                       reading);
}

circuit::Circuit parse_circuit(std::string_view text, const std::string& name,
                               const ProgramInputs& inputs, std::vector<std::string>* included,
                               const Reading& reading) {
  try {
    return parse(without_byte_order_mark(text), name, inputs, included, reading);
  } catch (const std::bad_alloc&) {
    fail_memory(without_controls(name),
                ": the circuit does not fit this machine's memory: it expands to too many "
                "operations, look for loops, powers or definitions that multiply each other");
  }
}

}  // namespace tilewave::language
