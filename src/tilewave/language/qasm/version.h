// Which version of OpenQASM a text is written in.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewave::language {

enum class QasmVersion : std::uint8_t { kUnknown, k2, k3 };

/// What the version line says, if there is one.
QasmVersion version_line(std::string_view text);

/// What the statements look like, up to the first that only one version has: `qreg` and qelib1.inc
/// stand for version 2, `qubit`, stdgates.inc, assignments, modifiers and such for version 3. With
/// `whole` only a sign of version 3 decides, anywhere in the text: for what version 2 cannot read.
QasmVersion guess_version(std::string_view text, bool whole);

/// True for a version line of OpenQASM 3, or where there is none and the text looks like it.
bool is_qasm3(std::string_view text);

/// Whether the first statement is one of the language or a call of a known gate; with `may_err`
/// also whether it has the form of one, so that a slip in its first word can be shown.
bool starts_like_qasm(std::string_view text, bool may_err);

}  // namespace tilewave::language
