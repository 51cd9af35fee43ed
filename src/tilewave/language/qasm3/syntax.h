// The syntax tree of one OpenQASM 3 statement, and the parser that reads a statement at a time:
// a statement outside a body is run and forgotten before the next is read. Words and names are
// views into the source.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tilewave/language/qasm3/lexer.h"

namespace tilewave::language::qasm3 {

enum class Base : std::uint8_t {
  kVoid,
  kBit,
  kBool,
  kInt,
  kUint,
  kFloat,
  kAngle,
  kDuration,  ///< also stretch
  kQubit
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct TypeName {
  Base base = Base::kVoid;
  ExprPtr width;  ///< between the brackets; null when there are none
  bool is_array = false;
  bool is_readonly = false;        ///< of an array parameter
  std::vector<ExprPtr> dims = {};  ///< of an array
  ExprPtr num_dims = {};           ///< of an array parameter of any sizes (#dim = n)
};

enum class ExprKind : std::uint8_t {
  kInteger,  ///< `integer`, or where it has a 64th bit a uint[64] of those bits
  kReal,
  kTime,  ///< in picoseconds; dt counts as a nanosecond
  kBool,
  kBits,     ///< "0101"
  kName,     ///< also a physical qubit such as $0
  kUnary,    ///< op args[0]
  kBinary,   ///< args[0] links[0] args[1] links[1] ..., operators of one level, from the left
  kCall,     ///< a function or a subroutine
  kIndex,    ///< args[0] [args[1]]
  kCast,     ///< type(args[0])
  kRange,    ///< args: first, step, last; each may be null
  kSet,      ///< {args...}
  kMeasure,  ///< measure args[0]
};

struct Expr {
  ExprKind kind = ExprKind::kInteger;
  Token at;
  std::string_view op;  ///< operator, or the name
  std::int64_t integer = 0;
  bool is_long = false;  ///< of kInteger: at least 2^63
  double real = 0;
  TypeName type;
  std::vector<ExprPtr> args;
  std::vector<Token> links = {};  ///< operators of kBinary; ++ joins registers
};

inline std::shared_ptr<Expr> make_expr(ExprKind kind, const Token& at, std::string_view op = {},
                                       std::vector<ExprPtr> args = {}) {
  auto e = std::make_shared<Expr>();
  e->kind = kind, e->at = at, e->op = op, e->args = std::move(args);
  return e;
}

/// The name that an expression with indices is about.
inline const Expr& without_indices(const Expr& e) {
  const Expr* root = &e;
  while (root->kind == ExprKind::kIndex) root = root->args[0].get();
  return *root;
}

enum class ModifierKind : std::uint8_t { kCtrl, kNegctrl, kInv, kPow };

struct Modifier {
  ModifierKind kind = ModifierKind::kInv;
  Token at;
  ExprPtr argument;
};

struct Stmt;
using Block = std::vector<std::shared_ptr<const Stmt>>;

struct Parameter {
  TypeName type;
  Token name;
};

/// A gate or a subroutine.
struct Definition {
  /// Steps that a call takes at least, as far as the text shows them; set where it is defined.
  mutable std::uint64_t least_steps = 0;
  Token name;
  std::vector<Parameter> params;
  std::vector<Token> qubits;  ///< of a gate
  TypeName result;            ///< of a subroutine
  Block body;
};

enum class StmtKind : std::uint8_t {
  kInclude,
  kDeclare,  ///< type name [= value], with the word const, input or output in `op`
  kAlias,    ///< let name = value
  kCall,     ///< gate, or subroutine where there are no operands
  kMeasure,  ///< measure operands[0] [-> args[0]]
  kAssign,   ///< args[0] op value
  kReset,
  kBarrier,
  kDelay,  ///< of `value`; without one nop
  kIf,     ///< a case for `if` and each `else if`, of one value: its condition
  kFor,    ///< name in value
  kWhile,
  kSwitch,
  kBreak,
  kContinue,
  kReturn,
  kEnd,
  kGate,
  kDef,
  kBlock,  ///< also box, of the duration `value`
  kEmpty,
};

struct Case {
  std::vector<ExprPtr> values;  ///< none: default
  Block body;
};

struct Stmt {
  StmtKind kind = StmtKind::kEmpty;
  Token at;
  Token name;
  std::string_view op;
  TypeName type;
  std::vector<Modifier> modifiers;
  std::vector<ExprPtr> args, operands;
  ExprPtr value;
  Block body, otherwise;
  std::vector<Case> cases;
  std::shared_ptr<const Definition> definition;
};

class Parser {
 public:
  explicit Parser(Lexer& lexer) : lexer_(lexer) {}

  bool at_end() const { return lexer_.token().kind == TokenKind::kEnd; }
  /// OPENQASM 3.0; at the start of a file, if it is there.
  void version();
  Stmt statement();
  /// The first tokens of lines that say nothing known here, since the last call: pragmas.
  std::vector<Token> take_skipped() { return std::exchange(skipped_, {}); }

 private:
  struct Depth {
    explicit Depth(Parser& p) : parser(p) {
      if (++parser.depth_ > 256) {
        parser.lexer_.fail(parser.lexer_.token(), "nested more than 256 deep");
      }
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  Block block();
  void simple(Stmt& s, const Token& word);
  void declaration(Stmt& s, const Token& word);
  void old_register(TypeName& type, Token& name, bool quantum);
  void call_or_assignment(Stmt& s, const Token& word);
  void modified_call(Stmt& s, Token word);
  void call(Stmt& s, const Token& word);
  void operands(Stmt& s);
  /// Reads items between commas, of which one may end the list, until `at_close` says so.
  template <class Read, class AtClose>
  void list_of(const Read& read, const AtClose& at_close) {
    do read();
    while (lexer_.accept(',') && !at_close());
  }
  void if_statement(Stmt& s);
  Block body(const char* of);
  void gate(Stmt& s);
  void subroutine(Stmt& s);
  Parameter parameter();
  void switch_statement(Stmt& s);
  void check_is_read(const Token& word) const;
  Block case_body();
  void for_statement(Stmt& s);
  TypeName type(const Token& word);
  TypeName array_type();
  ExprPtr array_value();
  Token new_name(const char* what);
  ExprPtr value();  // expression or measure
  ExprPtr expression();
  /// Between a pair of brackets.
  ExprPtr enclosed(std::string_view open, std::string_view close);
  ExprPtr binary(int level);
  ExprPtr unary();
  ExprPtr postfix();
  ExprPtr with_indices(ExprPtr a);
  ExprPtr primary();
  ExprPtr index();
  ExprPtr indexed(ExprPtr a);
  ExprPtr set_or_range();
  std::vector<ExprPtr> list(std::string_view close);

  bool skip_lines();  // whether there were any

  Lexer& lexer_;
  int depth_ = 0;
  std::vector<Token> skipped_;
};

/// The type that a word names; kVoid for any other word.
Base base_of(std::string_view word);

/// Of a number with its unit of time.
double picoseconds(std::string_view text);

}  // namespace tilewave::language::qasm3
