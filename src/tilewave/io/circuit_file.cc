#include "tilewave/io/circuit_file.h"

#include "tilewave/io/qasm2.h"
#include "tilewave/io/text_source.h"

namespace tilewave::io {

circuit::Circuit read_circuit_file(const std::string& path) {
  const std::string text = read_text_file(path);
  return parse_qasm2(text, path);
}

}  // namespace tilewave::io
