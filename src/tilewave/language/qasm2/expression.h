// Angles of OpenQASM 2: numbers, pi, parameters, + - * / ^, unary signs, sin cos tan exp ln sqrt.
// Powers bind tightest and to the right, then unary signs, then * /, then + -. Everything is real
// arithmetic in double precision (1/2 is one half). An expression without parameters is folded to a
// number while it is read; one in the body of a gate definition becomes instructions for a small
// stack machine, constants folded into them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/language/qasm2/lexer.h"

namespace tilewave::language::qasm2 {

enum class Operation : std::uint8_t {
  kParameter,  ///< push parameter `index`
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kNegate,
  kSin,
  kCos,
  kTan,
  kExp,
  kLn,
  kSqrt,
};

/// Where the operands of a two-sided operation are.
enum class Operands : std::uint8_t { kStackStack, kConstantStack, kStackConstant };

struct Instruction {
  Operation operation = Operation::kParameter;
  Operands operands = Operands::kStackStack;
  std::uint32_t index = 0;
  double constant = 0;
};

/// An expression in the parameters of a gate: a constant when `code` is empty.
struct Expression {
  double constant = 0;
  std::vector<Instruction> code;
};

/// Reads one expression; an identifier must be one of `parameters`. Throws at the place of a
/// syntax error, a division by zero or a result that is not finite, as far as constants show it.
Expression parse_expression(Lexer& lexer, std::span<const std::string_view> parameters);

/// Reads an expression without parameters: its value, finite.
double parse_constant(Lexer& lexer);

/// A number written out or as OpenQASM 2 writes angles: pi, + - * / ^, parentheses, sin, cos, tan,
/// exp, ln and sqrt in real arithmetic, so that 1/2 is one half. Throws Error(kInput), with `name`
/// in the message.
double parse_constant(std::string_view text, const std::string& name);

/// The value for these parameters; not finite when a division by zero or an overflow occurs.
double evaluate(const Expression& expression, std::span<const double> parameters);

/// True for pi and the names of functions, which cannot name anything else.
bool is_reserved_in_expressions(std::string_view name);

}  // namespace tilewave::language::qasm2
