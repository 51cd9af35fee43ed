// Weighted sums of Pauli strings as people write them: `0.5 ZZI + 0.2 X0 Y3 - Z1`, on one line or
// one term a line, `#` starts a comment. A string is dense (one of I X Y Z a qubit; the order says
// which end is qubit 0; qubits it does not reach are I) or sparse (a letter and a qubit each,
// separated by blanks or *). A coefficient of 1 may be left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tilewave/circuit/pauli.h"

namespace tilewave::language {

/// Reads a sum. `name` stands in messages. Strings act on `num_qubits` qubits at most. Throws
/// Error(kInput): `name:line:column: problem`, the line and a caret.
circuit::WidePauliSum parse_pauli_sum(std::string_view text, const std::string& name,
                                      circuit::PauliOrder order, std::uint32_t num_qubits);

/// The same from a file.
circuit::WidePauliSum read_pauli_file(const std::string& path, circuit::PauliOrder order,
                                      std::uint32_t num_qubits);

/// One term as text, dense on `num_qubits` qubits: "-0.5 ZZI".
std::string to_text(const circuit::WidePauliTerm& term, circuit::PauliOrder order,
                    std::uint32_t num_qubits);

}  // namespace tilewave::language
