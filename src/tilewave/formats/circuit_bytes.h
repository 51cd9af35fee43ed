// A circuit as bytes, for copies in other processes: everything it holds comes back as it was. The
// form belongs to the version that writes it; gates go by their names.
#pragma once

#include <string>
#include <string_view>

#include "tilewave/circuit/circuit.h"

namespace tilewave::formats {

/// The same circuit gives the same bytes.
std::string circuit_to_bytes(const circuit::Circuit& circuit);

/// Whether both hold the same bits, registers and operations; notes and lines of a source do not count.
bool has_same_operations(const circuit::Circuit& a, const circuit::Circuit& b);

/// Throws Error(kInput) for bytes that are no circuit, or one of another version.
circuit::Circuit circuit_from_bytes(std::string_view bytes);

}  // namespace tilewave::formats
