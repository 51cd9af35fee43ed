#include "tilewave/language/qasm2/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"

namespace tilewave::language::qasm2 {
namespace {

constexpr int kMaxDepth = 256;
// An open operand of each of the three precedence levels a depth can wait on the stack.
constexpr int kMaxStack = 4 * kMaxDepth + 8;

struct Function {
  std::string_view name;
  Operation operation;
};
constexpr Function kFunctions[] = {{"sin", Operation::kSin}, {"cos", Operation::kCos},
                                   {"tan", Operation::kTan}, {"exp", Operation::kExp},
                                   {"ln", Operation::kLn},   {"sqrt", Operation::kSqrt}};

double apply(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kMultiply:
      return a * b;
    case Operation::kDivide:
      return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a / b;
    case Operation::kPower:
      return std::pow(a, b);
    case Operation::kNegate:
      return -a;
    case Operation::kSin:
      return std::sin(a);
    case Operation::kCos:
      return std::cos(a);
    case Operation::kTan:
      return std::tan(a);
    case Operation::kExp:
      return std::exp(a);
    case Operation::kLn:
      return std::log(a);
    case Operation::kSqrt:
      return std::sqrt(a);
    case Operation::kParameter:
      break;
  }
  throw Error(ExitCode::kInternal, "an expression holds an unknown operation");
}

// Recursive descent. An operand is a constant, or code already emitted that leaves it on the stack.
class ExpressionParser {
 public:
  ExpressionParser(Lexer& lexer, std::span<const std::string_view> parameters)
      : lexer_(lexer), parameters_(parameters) {}

  struct Operand {
    bool is_constant = true;
    double value = 0;
  };

  // sum: product (('+' | '-') product)*
  Operand sum() {
    Operand a = product();
    while (lexer_.token().kind == TokenKind::kPlus || lexer_.token().kind == TokenKind::kMinus) {
      const Token sign = lexer_.take();
      const Operand b = product();
      a = combine(sign.kind == TokenKind::kPlus ? Operation::kAdd : Operation::kSubtract, a, b,
                  sign);
    }
    return a;
  }

  std::vector<Instruction> code;

 private:
  // product: signed (('*' | '/') signed)*
  Operand product() {
    Operand a = signed_power();
    while (lexer_.token().kind == TokenKind::kStar || lexer_.token().kind == TokenKind::kSlash) {
      const Token sign = lexer_.take();
      const Operand b = signed_power();
      a = combine(sign.kind == TokenKind::kStar ? Operation::kMultiply : Operation::kDivide, a, b,
                  sign);
    }
    return a;
  }

  // signed: ('+' | '-') signed | primary ['^' signed]
  Operand signed_power() {
    const Depth deeper(*this);
    if (lexer_.accept(TokenKind::kPlus)) return signed_power();
    if (lexer_.token().kind == TokenKind::kMinus) {
      const Token sign = lexer_.take();
      return combine(Operation::kNegate, signed_power(), {}, sign);
    }
    const Operand a = primary();
    if (lexer_.token().kind != TokenKind::kCaret) return a;
    const Token sign = lexer_.take();
    return combine(Operation::kPower, a, signed_power(), sign);
  }

  Operand primary() {
    const Token t = lexer_.token();
    switch (t.kind) {
      case TokenKind::kInteger:
      case TokenKind::kReal:
        lexer_.advance();
        return {true, number(t)};
      case TokenKind::kLeftParen: {
        lexer_.advance();
        const Operand inner = sum();
        lexer_.expect(TokenKind::kRightParen, "')'");
        return inner;
      }
      case TokenKind::kIdentifier:
        lexer_.advance();
        return named(t);
      default:
        lexer_.fail_expected("a number, pi, a parameter, a function or '('");
    }
  }

  Operand named(const Token& name) {
    if (name.text == "pi") return {true, std::numbers::pi};
    for (const Function& f : kFunctions) {
      if (f.name != name.text) continue;
      lexer_.expect(TokenKind::kLeftParen, "'(' after a function's name");
      const Operand argument = sum();
      lexer_.expect(TokenKind::kRightParen, "')'");
      return combine(f.operation, argument, {}, name);
    }
    const auto it = std::find(parameters_.begin(), parameters_.end(), name.text);
    if (it == parameters_.end()) fail_unknown(name);
    Instruction push;
    push.index = static_cast<std::uint32_t>(it - parameters_.begin());
    code.push_back(push);
    return {false, 0};
  }

  [[noreturn]] void fail_unknown(const Token& name) const {
    std::vector<std::string_view> known(parameters_.begin(), parameters_.end());
    known.push_back("pi");
    for (const Function& f : kFunctions) known.push_back(f.name);
    lexer_.fail(name, "unknown name '", name.text, "' in an expression",
                did_you_mean(name.text, known));
  }

  double number(const Token& t) const {
    const double value = read_double(t.text).value;
    if (!std::isfinite(value)) lexer_.fail(t, "this number is too large for a double");
    return value;
  }

  Operand combine(Operation operation, Operand a, Operand b, const Token& at) {
    const bool one_sided = operation >= Operation::kNegate;
    if (operation == Operation::kDivide && b.is_constant && b.value == 0) {
      lexer_.fail(at, "division by zero");
    }
    if (a.is_constant && (one_sided || b.is_constant)) {
      const double value = apply(operation, a.value, b.value);
      if (!std::isfinite(value)) lexer_.fail(at, "the result is not a finite number");
      return {true, value};
    }
    Instruction i;
    i.operation = operation;
    if (!one_sided && a.is_constant) {
      i.operands = Operands::kConstantStack, i.constant = a.value;
    } else if (!one_sided && b.is_constant) {
      i.operands = Operands::kStackConstant, i.constant = b.value;
    }
    code.push_back(i);
    return {false, 0};
  }

  struct Depth {
    explicit Depth(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) {
        parser.lexer_.fail(parser.lexer_.token(), "an expression may be nested 256 deep, no more");
      }
    }
    ~Depth() { --parser.depth_; }
    ExpressionParser& parser;
  };

  Lexer& lexer_;
  std::span<const std::string_view> parameters_;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(Lexer& lexer, std::span<const std::string_view> parameters) {
  ExpressionParser parser(lexer, parameters);
  const auto value = parser.sum();
  return {value.value, std::move(parser.code)};
}

double parse_constant(Lexer& lexer) { return ExpressionParser(lexer, {}).sum().value; }

double parse_constant(std::string_view text, const std::string& name) {
  const TextSource source{name, text};
  Lexer lexer(source);
  const double value = parse_constant(lexer);
  if (lexer.token().kind != TokenKind::kEnd) {
    fail_at(source, lexer.token().offset, "the expression ends here");
  }
  return value;
}

double evaluate(const Expression& expression, std::span<const double> parameters) {
  if (expression.code.empty()) return expression.constant;
  double stack[kMaxStack];
  int top = -1;
  for (const Instruction& i : expression.code) {
    if (i.operation == Operation::kParameter) {
      stack[++top] = parameters[i.index];
    } else if (i.operation >= Operation::kNegate) {
      stack[top] = apply(i.operation, stack[top], 0);
    } else if (i.operands == Operands::kConstantStack) {
      stack[top] = apply(i.operation, i.constant, stack[top]);
    } else if (i.operands == Operands::kStackConstant) {
      stack[top] = apply(i.operation, stack[top], i.constant);
    } else {
      --top;
      stack[top] = apply(i.operation, stack[top], stack[top + 1]);
    }
  }
  return stack[0];
}

bool is_reserved_in_expressions(std::string_view name) {
  return name == "pi" || std::any_of(std::begin(kFunctions), std::end(kFunctions),
                                     [&](const Function& f) { return f.name == name; });
}

}  // namespace tilewave::language::qasm2
