// Which version of OpenQASM a text is written in.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewave::io {

enum class QasmVersion : std::uint8_t { kUnknown, k2, k3 };

/// What the version line says, if there is one.
QasmVersion version_line(std::string_view text);

/// What the statements look like, up to the first that only one version has: `qreg` and qelib1.inc
/// stand for version 2, `qubit`, stdgates.inc, assignments, modifiers and such for version 3. With
/// `whole` only a sign of version 3 decides, anywhere in the text: for what version 2 cannot read.
QasmVersion guess_version(std::string_view text, bool whole);

/// True for a version line of OpenQASM 3, or where there is none and the text looks like it.
bool is_qasm3(std::string_view text);

}  // namespace tilewave::io
