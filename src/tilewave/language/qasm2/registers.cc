#include "tilewave/language/qasm2/registers.h"
#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"

#include <algorithm>
#include <bit>

namespace tilewave::language::qasm2 {

std::string Operand::text() const {
  return whole ? std::string(reg->name) : concat(reg->name, "[", index, "]");
}

const RegisterInfo& RegisterScope::find(const Lexer& lexer, const Token& name, bool quantum) const {
  const auto it = registers_.find(name.text);
  if (it == registers_.end()) {
    std::vector<std::string_view> known;
    for (const auto& [key, reg] : registers_) {
      if (reg.quantum == quantum) known.push_back(key);
    }
    lexer.fail(name, "register '", name.text, "' is not declared", did_you_mean(name.text, known));
  }
  if (it->second.quantum != quantum) {
    lexer.fail(name, "'", name.text, "' is a ",
               quantum ? "classical register, a qubit is needed"
                       : "quantum register, a classical one is needed");
  }
  return it->second;
}

Operand RegisterScope::operand(Lexer& lexer, bool quantum) const {
  Operand o;
  o.at = lexer.expect(TokenKind::kIdentifier, quantum ? "a qubit" : "a classical bit");
  o.reg = &find(lexer, o.at, quantum);
  if (!lexer.accept(TokenKind::kLeftBracket)) {
    o.whole = true;
    return o;
  }
  const Token index = lexer.expect(TokenKind::kInteger, "an index");
  lexer.expect(TokenKind::kRightBracket, "']'");
  const std::uint64_t value = small_integer(index.text, kMaxRegisterBits);
  if (value >= o.reg->size) {
    const std::uint32_t size = o.reg->size;
    lexer.fail(index, "index ", index.text.substr(0, 40), " is out of range: register '",
               o.reg->name, "' has ", counted(size, quantum ? "qubit" : "classical bit"),
               size > 1 ? concat(", 0 to ", size - 1) : "");
  }
  o.index = static_cast<std::uint32_t>(value);
  return o;
}

std::uint32_t broadcast_size(const Lexer& lexer, const Token& name,
                             const std::vector<Operand>& operands) {
  const Operand* whole = nullptr;
  for (std::size_t a = 0; a < operands.size(); ++a) {
    const Operand& o = operands[a];
    for (std::size_t b = 0; b < a; ++b) {
      const Operand& p = operands[b];
      if (o.reg == p.reg && (o.whole || p.whole || o.index == p.index)) {
        lexer.fail(o.at, "gate '", name.text, "' names the qubit ", p.whole ? o.text() : p.text(),
                   " twice: use distinct qubits");
      }
    }
    if (!o.whole) continue;
    if (whole && whole->reg->size != o.reg->size) {
      lexer.fail(o.at, "registers of different sizes in one call: ", whole->text(), " has ",
                 counted(whole->reg->size, "qubit"), ", ", o.text(), " has ", o.reg->size);
    }
    whole = &o;
  }
  return whole ? whole->reg->size : 1;
}

std::uint64_t small_integer(std::string_view digits, std::uint64_t limit) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (value > limit) return limit + 1;
  }
  return value;
}

std::vector<std::uint64_t> big_integer(std::string_view digits, std::size_t max_words) {
  std::vector<std::uint64_t> words;
  while (!digits.empty() && words.size() <= max_words) {
    const std::size_t take = std::min<std::size_t>(18, digits.size());
    std::uint64_t scale = 1, carry = 0;
    for (std::size_t k = 0; k < take; ++k) {
      scale *= 10;
      carry = carry * 10 + static_cast<std::uint64_t>(digits[k] - '0');
    }
    for (std::uint64_t& w : words) {
      __extension__ using Wide = unsigned __int128;
      const Wide product = static_cast<Wide>(w) * scale + carry;
      w = static_cast<std::uint64_t>(product);
      carry = static_cast<std::uint64_t>(product >> 64);
    }
    if (carry) words.push_back(carry);
    digits.remove_prefix(take);
  }
  return words;
}

bool fits(const std::vector<std::uint64_t>& words, std::uint32_t bits) {
  if (words.empty()) return true;
  const std::uint64_t width =
      64 * words.size() - static_cast<std::uint64_t>(std::countl_zero(words.back()));
  return width <= bits;
}

}  // namespace tilewave::language::qasm2
