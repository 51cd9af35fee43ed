// The registers of a program, their bits as operands, and its natural numbers of any length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tilewave/language/qasm2/lexer.h"

namespace tilewave::language::qasm2 {

/// Bits that all registers of a kind may have together.
constexpr std::uint64_t kMaxRegisterBits = 1 << 20;

struct RegisterInfo {
  bool quantum = true;
  std::uint32_t first = 0;
  std::uint32_t size = 0;
  std::string_view name;
};

/// A register, or one bit of it.
struct Operand {
  Token at;
  const RegisterInfo* reg = nullptr;
  bool whole = false;
  std::uint32_t index = 0;

  std::uint32_t size() const { return whole ? reg->size : 1; }
  std::uint32_t bit(std::uint32_t k) const { return reg->first + (whole ? k : index); }
  std::string text() const;  ///< as it is written: q or q[3]
};

class RegisterScope {
 public:
  bool contains(std::string_view name) const { return registers_.count(name) > 0; }
  void add(const RegisterInfo& reg) { registers_.emplace(reg.name, reg); }

  /// The register of this name; throws at `name` where there is none of this kind.
  const RegisterInfo& find(const Lexer& lexer, const Token& name, bool quantum) const;

  /// Reads `name` or `name[index]`.
  Operand operand(Lexer& lexer, bool quantum) const;

 private:
  std::unordered_map<std::string_view, RegisterInfo> registers_;
};

/// How often a call of a gate is repeated over whole registers; throws where two of its operands
/// name one qubit, or their registers differ in size.
std::uint32_t broadcast_size(const Lexer& lexer, const Token& name,
                             const std::vector<Operand>& operands);

/// A natural number up to `limit`; anything larger gives limit + 1.
std::uint64_t small_integer(std::string_view digits, std::uint64_t limit);

/// A natural number of any length as words, lowest first, without leading zeros; stops growing
/// beyond `max_words` words.
std::vector<std::uint64_t> big_integer(std::string_view digits, std::size_t max_words);

/// True when a number from big_integer is below 2^bits.
bool fits(const std::vector<std::uint64_t>& words, std::uint32_t bits);

}  // namespace tilewave::language::qasm2
