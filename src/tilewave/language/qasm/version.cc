// Which version of OpenQASM a text is written in. Version 3 makes the version line optional;
// without one, what statements start with and a few characters tell, and only version 2 has `qreg`
// first.
#include "tilewave/language/qasm/version.h"

#include <algorithm>

#include "tilewave/circuit/gate_table.h"
#include "tilewave/language/text/cursor.h"
#include "tilewave/language/text/source.h"

namespace tilewave::language {
namespace {

// clang-format off
constexpr std::string_view kVersion3Words[] = {  // that start a statement
    "qubit", "bit", "bool", "int", "uint", "float", "angle", "duration", "stretch", "complex", "const",
    "input", "output", "let", "array", "def", "defcal", "cal", "defcalgrammar", "extern", "for",
    "while", "switch", "box", "delay", "nop", "end", "return", "break", "continue", "ctrl", "negctrl",
    "inv", "pow", "pragma", "else"};
// clang-format on
constexpr std::string_view kVersion2Words[] = {"qreg", "opaque"};
constexpr std::string_view kCommonWords[] = {"OPENQASM", "include", "creg",    "gate", "measure",
                                             "reset",    "barrier", "if",      "U",    "CX",
                                             "gphase",   "defcal",  "duration"};
constexpr std::size_t kLongStart = 400;  // characters of a first statement with a slip

// Words, strings and single characters, without comments; no text is an error.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(without_byte_order_mark(text)) {}

  bool has_block_comment() const { return has_block_comment_; }

  /// An empty view at the end.
  std::string_view next() {
    skip_blanks();
    if (at_ >= text_.size()) return {};
    std::size_t size = 1;
    const char c = text_[at_];
    if (is_word(c)) {
      while (at_ + size < text_.size() && is_word(text_[at_ + size])) ++size;
    } else if (c == '"' || c == '\'') {
      const std::size_t close = text_.find_first_of(c == '"' ? "\"\n" : "'\n", at_ + 1);
      size = std::min(close, text_.size() - 1) - at_ + 1;
    } else if (text_.substr(at_, 2) == "==") {
      size = 2;
    }
    at_ += size;
    return text_.substr(at_ - size, size);
  }

 private:
  static bool is_word(char c) {
    const std::uint8_t k = detail::class_of(c);
    return k == detail::kDigit || k == detail::kLetter || k == detail::kBeyond;
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool block = text_.substr(at_, 2) == "/*";
      if (detail::class_of(c) == detail::kBlank || c == '\n') {
        ++at_;
      } else if (block || text_.substr(at_, 2) == "//") {
        has_block_comment_ |= block;
        const std::size_t end = text_.find(block ? "*/" : "\n", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + (block ? 2 : 1);
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool has_block_comment_ = false;
};

}  // namespace

QasmVersion version_line(std::string_view text) {
  Scanner scanner(text);
  if (scanner.next() != "OPENQASM") return QasmVersion::kUnknown;
  return scanner.next().starts_with("3") ? QasmVersion::k3 : QasmVersion::k2;
}

QasmVersion guess_version(std::string_view text, bool whole) {
  Scanner scanner(text);
  bool starts = true, is_include = false;  // a statement; the word before
  for (std::string_view word = scanner.next(); !word.empty(); word = scanner.next()) {
    const char c = word[0];
    if (is_include && word.size() > 2) {
      const std::string_view file = word.substr(1, word.size() - 2);
      if (file == "stdgates.inc") return QasmVersion::k3;
      if (file == "qelib1.inc" && !whole) return QasmVersion::k2;
    }
    is_include = starts && word == "include";
    if (starts && contains(kVersion3Words, word)) return QasmVersion::k3;
    if (starts && !whole && contains(kVersion2Words, word)) return QasmVersion::k2;
    const bool is_string = c == '"' || c == '\'';
    const bool has_letters_beyond = !is_string && std::any_of(word.begin(), word.end(), [](char b) {
      return detail::class_of(b) == detail::kBeyond;
    });
    if (has_letters_beyond) return QasmVersion::k3;
    if (c == '@' || c == '#' || c == '$' || word == "=") return QasmVersion::k3;
    starts = c == ';' || c == '{' || c == '}';
  }
  return whole && scanner.has_block_comment() ? QasmVersion::k3 : QasmVersion::kUnknown;
}

bool starts_like_qasm(std::string_view text, bool may_err) {
  Scanner scanner(text);
  const std::string_view first = scanner.next();
  if (first.empty()) return true;  // comments at most
  if (first == "@") return true;
  if (first == "#") return scanner.next() == "pragma";
  if (contains(kVersion3Words, first) || contains(kVersion2Words, first) ||
      contains(kCommonWords, first))
    return true;
  for (const circuit::Language language :
       {circuit::Language::kQasm, circuit::Language::kTilewave}) {
    if (circuit::find_gate(language, first)) return true;
  }
  if (!may_err || (first != ";" && detail::class_of(first[0]) < detail::kLetter)) return false;
  for (std::string_view word = first; !word.empty(); word = scanner.next()) {
    if (word[0] == ';' || word[0] == '{') return true;
    const auto size = static_cast<std::size_t>(word.data() + word.size() - text.data());
    if (size > kLongStart || word[0] == ':' || word[0] == '<') return false;
  }
  return false;
}

bool is_qasm3(std::string_view text) {
  const QasmVersion version = version_line(text);
  return (version == QasmVersion::kUnknown ? guess_version(text, false) : version) ==
         QasmVersion::k3;
}

}  // namespace tilewave::language
