#include "tilewave/io/circuit_file.h"

#include "tilewave/base/error.h"
#include "tilewave/io/qasm2.h"
#include "tilewave/io/qasm2_expression.h"
#include "tilewave/io/qasm2_lexer.h"
#include "tilewave/io/qsim_text.h"
#include "tilewave/io/text_source.h"

namespace tilewave::io {

circuit::Circuit read_circuit_file(const std::string& path, const ProgramInputs& inputs) {
  return parse_circuit(read_text_file(path), path == "-" ? "<stdin>" : path, inputs);
}

circuit::Circuit parse_circuit(std::string_view text, const std::string& name,
                               const ProgramInputs& inputs) {
  text = without_byte_order_mark(text);
  if (is_qasm3(text)) return parse_qasm3(text, name, inputs);
  if (!inputs.empty()) {
    throw Error(ExitCode::kInput, concat({name, ": only programs in OpenQASM 3 have inputs: '",
                                          inputs.begin()->first, "' is not one"}));
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool starts_with_number =
      first != std::string_view::npos && text[first] >= '0' && text[first] <= '9';
  return starts_with_number ? parse_qsim_text(text, name) : parse_qasm2(text, name);
}

double parse_constant(std::string_view text, const std::string& name) {
  const TextSource source{name, text};
  qasm2::Lexer lexer(source);
  const double value = qasm2::parse_constant(lexer);
  if (lexer.token().kind != qasm2::TokenKind::kEnd) {
    fail_at(source, lexer.token().offset, "the expression ends here");
  }
  return value;
}

}  // namespace tilewave::io
