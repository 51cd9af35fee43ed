// Plain statements, most of every long program: `name(angles) q[1], r;` with angles made of
// numbers, pi, + - * / and parentheses, and `c[0] = measure q[1];`. They are run without a tree.
// Whatever else stands there is left to the parser, which reads the statement again from its start
// and words every error.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr int kMaxDepth = 16;

struct Number {
  bool is_real = true;
  std::int64_t i = 0;
  double d = 0;
};

template <class T>
bool read(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

bool plain_number(Lexer& lexer, Number& out) {
  const Token& t = lexer.token();
  bool found = false;
  if (t.kind == TokenKind::kInteger) {
    out.is_real = false;
    found = read(t.text, out.i);
    out.d = static_cast<double>(out.i);
  } else if (t.kind == TokenKind::kReal) {
    out.is_real = true;
    found = read(t.text, out.d);
  } else if (t.is_word("pi")) {
    out = {true, 0, std::numbers::pi};
    found = true;
  }
  if (found) lexer.advance();
  return found;
}

bool plain_sum(Lexer& lexer, Number& out, int depth);

// [-] number, or a sum in parentheses
bool plain_factor(Lexer& lexer, Number& out, int depth) {
  const bool minus = lexer.accept('-');
  if (lexer.accept('(')) {
    if (depth == kMaxDepth || !plain_sum(lexer, out, depth + 1) || !lexer.accept(')')) return false;
  } else if (!plain_number(lexer, out)) {
    return false;
  }
  if (minus) out.d = out.is_real ? -out.d : static_cast<double>(out.i = -out.i);
  return true;
}

// Operations of two integers, whose results are integers, are left to the parser.
bool apply(char op, Number& a, const Number& b) {
  if (!a.is_real && !b.is_real) return false;
  a.is_real = true;
  switch (op) {
    case '+':
      a.d += b.d;
      return true;
    case '-':
      a.d -= b.d;
      return true;
    case '*':
      a.d *= b.d;
      return true;
    default:
      a.d /= b.d;
      return b.d != 0;
  }
}

bool plain_sum(Lexer& lexer, Number& out, int depth) {
  bool first = true;
  char sign = '+';
  do {
    Number term, factor;
    if (!plain_factor(lexer, term, depth)) return false;
    while (lexer.token().is('*') || lexer.token().is('/')) {
      const char op = lexer.take().text[0];
      if (!plain_factor(lexer, factor, depth) || !apply(op, term, factor)) return false;
    }
    if (first) out = term;
    if (!first && !apply(sign, out, term)) return false;
    first = false;
    sign = lexer.token().is('+') ? '+' : '-';
  } while (lexer.accept('+') || lexer.accept('-'));
  return true;
}

}  // namespace

bool Interpreter::plain_wire(Lexer& lexer, Variable::Kind kind, std::uint32_t& wire) {
  const Token name = lexer.token();
  if (name.kind != TokenKind::kIdentifier) return false;
  PlainName& last = plain_names_[kind == Variable::Kind::kQubits];
  if (!last.variable || last.name != name.text) last = {name.text, memory_.find(name.text)};
  const Variable* v = last.variable;
  if (!v || v->kind != kind || v->alias) return false;
  lexer.advance();
  std::uint64_t index = 0;
  if (v->is_array) {
    if (!lexer.accept('[') || lexer.token().kind != TokenKind::kInteger ||
        !read(lexer.token().text, index)) {
      return false;
    }
    lexer.advance();
    if (!lexer.accept(']')) return false;
  }
  if (index >= v->wires.size()) return false;
  wire = v->wires[index];
  return true;
}

bool Interpreter::read_plain_call(Lexer& lexer, const Gate& gate) {
  lexer.advance();
  plain_params_.resize(gate.num_params);
  plain_qubits_.resize(gate.num_qubits);
  if (gate.num_params > 0 && !lexer.accept('(')) return false;
  for (std::size_t k = 0; k < gate.num_params; ++k) {
    Number angle;
    if ((k > 0 && !lexer.accept(',')) || !plain_sum(lexer, angle, 0)) return false;
    if (!std::isfinite(angle.d)) return false;
    plain_params_[k] = angle.d;
  }
  if (gate.num_params > 0 && !lexer.accept(')')) return false;
  for (std::size_t k = 0; k < gate.num_qubits; ++k) {
    if ((k > 0 && !lexer.accept(',')) ||
        !plain_wire(lexer, Variable::Kind::kQubits, plain_qubits_[k]))
      return false;
    const auto here = plain_qubits_.begin() + static_cast<std::ptrdiff_t>(k);
    if (std::find(plain_qubits_.begin(), here, *here) != here) return false;
  }
  return lexer.token().is(';');
}

// c[0] = measure q[1];
bool Interpreter::plain_measure(Lexer& lexer) {
  const Token start = lexer.token();
  std::uint32_t bit = 0, qubit = 0;
  if (!plain_wire(lexer, Variable::Kind::kBits, bit) || !lexer.accept('=') ||
      !lexer.token().is_word("measure")) {
    if (lexer.token().offset != start.offset) lexer.go_back(start);
    return false;
  }
  const Token at = lexer.take();
  if (!plain_wire(lexer, Variable::Kind::kQubits, qubit) || !lexer.token().is(';')) {
    lexer.go_back(start);
    return false;
  }
  charge_operations(start, 1);
  guarded(at, [&] { memory_.measure(qubit, bit, at.line); });
  lexer.advance();
  return true;
}

bool Interpreter::plain_statement(Lexer& lexer) {
  const Token start = lexer.token();
  if (start.kind != TokenKind::kIdentifier) return false;
  const bool is_hidden = !hidden_gates_.empty() && hidden_gates_.count(start.text);
  const Gate* gate = is_hidden ? nullptr : lookup(start.text);
  if (!gate) return plain_measure(lexer);
  if (gate->num_qubits == 0) return false;
  if (!read_plain_call(lexer, *gate)) {
    lexer.go_back(start);
    return false;
  }
  apply(start, *gate, plain_params_, plain_qubits_);
  lexer.advance();
  return true;
}

}  // namespace tilewave::language::qasm3
