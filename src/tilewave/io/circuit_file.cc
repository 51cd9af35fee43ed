#include "tilewave/io/circuit_file.h"

#include "tilewave/io/qasm2.h"
#include "tilewave/io/qsim_text.h"
#include "tilewave/io/text_source.h"

namespace tilewave::io {

circuit::Circuit read_circuit_file(const std::string& path) {
  const std::string text = read_text_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool starts_with_number =
      first != std::string::npos && text[first] >= '0' && text[first] <= '9';
  return starts_with_number ? parse_qsim_text(text, path) : parse_qasm2(text, path);
}

}  // namespace tilewave::io
