// Recursive descent over the statements of OpenQASM 3; see syntax.h.
#include <algorithm>
#include <unordered_set>

#include "tilewave/language/qasm3/syntax.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::string_view kPulseWords[] = {"cal", "defcal", "durationof", "defcalgrammar"};
constexpr std::string_view kOtherWords[] = {"complex", "mutable", "readonly", "opaque"};

constexpr std::string_view kAssignments[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**=", "<<=", ">>="};

}  // namespace

Base base_of(std::string_view word) {
  constexpr std::pair<std::string_view, Base> kTypes[] = {
      {"bit", Base::kBit},     {"bool", Base::kBool},         {"int", Base::kInt},
      {"uint", Base::kUint},   {"float", Base::kFloat},       {"angle", Base::kAngle},
      {"qubit", Base::kQubit}, {"duration", Base::kDuration}, {"stretch", Base::kDuration}};
  for (const auto& [name, base] : kTypes) {
    if (name == word) return base;
  }
  return Base::kVoid;
}

// Throws at a word that starts a part of the language that is not read.
void Parser::check_is_read(const Token& word) const {
  if (contains(kPulseWords, word.text)) {
    lexer_.fail(word, "'", word.text,
                "' belongs to the pulse-level part of OpenQASM 3, which is not "
                "simulated: remove it");
  }
  if (contains(kOtherWords, word.text)) {
    lexer_.fail(word, "'", word.text, "' of OpenQASM 3 is not read");
  }
  if (word.text == "extern") {
    lexer_.fail(word, "an extern function is computed outside of the program: write it as a 'def'");
  }
}

void Parser::version() {
  if (!lexer_.accept_word("OPENQASM")) return;
  const Token number = lexer_.take();
  const bool is_number = number.kind == TokenKind::kReal || number.kind == TokenKind::kInteger;
  if (!is_number || !(number.text == "3" || number.text.starts_with("3."))) {
    lexer_.fail(number, "expected a version such as 3.0");
  }
  lexer_.expect(";");
}

Block Parser::block() {
  lexer_.expect("{");
  Block out;
  while (!lexer_.accept("}")) {
    if (at_end()) lexer_.fail_expected("'}'");
    out.push_back(std::make_shared<Stmt>(statement()));
  }
  return out;
}

// A block or one statement. A lone ; is none: behind `if (c)` it would be a slip that says nothing.
Block Parser::body(const char* of) {
  if (lexer_.token().is('{')) return block();
  if (lexer_.token().is(';')) {
    lexer_.fail(lexer_.token(), "'", of, "' needs a statement or a block here, not ';'");
  }
  Block out;
  out.push_back(std::make_shared<Stmt>(statement()));
  return out;
}

Token Parser::new_name(const char* what) {
  const Token name = lexer_.expect_identifier(what);
  if (name.text[0] == '$') lexer_.fail(name, "a name cannot start with $");
  return name;
}

Stmt Parser::statement() {
  const Depth deeper(*this);
  const bool has_skipped = skip_lines();
  Stmt s;
  s.at = lexer_.token();
  if (at_end() || (has_skipped && lexer_.token().is('}'))) return s;
  if (lexer_.token().is('{')) {
    s.kind = StmtKind::kBlock;
    s.body = block();
    return s;
  }
  if (lexer_.accept(";")) return s;
  const Token word = lexer_.expect_identifier("a statement");
  const std::string_view w = word.text;
  check_is_read(word);
  if (w == "OPENQASM") lexer_.fail(word, "the version must be the first statement of a file");
  if (w == "if") {
    if_statement(s);
  } else if (w == "while") {
    s.kind = StmtKind::kWhile;
    s.value = enclosed("(", ")");
    s.body = body("while");
  } else if (w == "for") {
    for_statement(s);
  } else if (w == "switch") {
    switch_statement(s);
  } else if (w == "box") {
    s.kind = StmtKind::kBlock;
    if (lexer_.token().is('[')) s.value = enclosed("[", "]");
    s.body = block();
  } else if (w == "gate") {
    gate(s);
  } else if (w == "def") {
    subroutine(s);
  } else {
    simple(s, word);
  }
  return s;
}

// Pragmas and annotations. A pragma that changes what the circuit does is not left out.
bool Parser::skip_lines() {
  bool any = false;
  while (lexer_.token().is('#') || lexer_.token().is('@') || lexer_.token().is_word("pragma")) {
    const Token at = lexer_.token();
    if (!at.is('@')) {
      const std::string_view rest = lexer_.source().text.substr(at.offset);
      std::string_view line = rest.substr(0, rest.find('\n'));
      const auto take = [&](std::string_view word) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        const bool found = line.starts_with(word);
        if (found) line.remove_prefix(word.size());
        return found;
      };
      if (take("#"), take("pragma") && take("braket") && (take("unitary") || take("noise"))) {
        lexer_.fail(
            at,
            "this pragma of Amazon Braket changes what the circuit does and is not read here: "
            "run the program with Braket's LocalSimulator(\"tilewave\"), which reads it");
      }
      skipped_.push_back(at);
    }
    lexer_.skip_line();
    any = true;
  }
  return any;
}

// if (value) body { else if (value) body } [else body]; a chain of any length is one statement
void Parser::if_statement(Stmt& s) {
  s.kind = StmtKind::kIf;
  do {
    Case arm;
    arm.values.push_back(enclosed("(", ")"));
    arm.body = body("if");
    s.cases.push_back(std::move(arm));
    if (!lexer_.accept_word("else")) return;
  } while (lexer_.accept_word("if"));
  s.otherwise = body("else");
}

// Statements that end in a semicolon.
void Parser::simple(Stmt& s, const Token& word) {
  const std::string_view w = word.text;
  if (w == "include") {
    s.kind = StmtKind::kInclude;
    if (lexer_.token().kind != TokenKind::kString) {
      lexer_.fail_expected("the name of a file in quotes");
    }
    s.name = lexer_.take();
  } else if (w == "break" || w == "continue" || w == "end") {
    s.kind = w == "break"      ? StmtKind::kBreak
             : w == "continue" ? StmtKind::kContinue
                               : StmtKind::kEnd;
  } else if (w == "return") {
    s.kind = StmtKind::kReturn;
    if (!lexer_.token().is(';')) s.value = value();
  } else if (w == "reset" || w == "barrier") {
    s.kind = w == "reset" ? StmtKind::kReset : StmtKind::kBarrier;
    if (w == "reset" || !lexer_.token().is(';')) operands(s);
  } else if (w == "delay" || w == "nop") {
    s.kind = StmtKind::kDelay;
    if (w == "delay") s.value = enclosed("[", "]");
    if (!lexer_.token().is(';')) operands(s);
  } else if (w == "measure") {
    s.kind = StmtKind::kMeasure;
    s.operands.push_back(expression());
    if (lexer_.accept("->")) s.args.push_back(postfix());
  } else if (w == "let") {
    s.kind = StmtKind::kAlias;
    s.name = new_name("a name");
    lexer_.expect("=");
    s.value = lexer_.token().is('{') ? set_or_range() : expression();
  } else if (w == "qreg" || w == "creg") {
    s.kind = StmtKind::kDeclare;
    old_register(s.type, s.name, w == "qreg");
  } else if (w == "const" || w == "input" || w == "output") {
    s.op = w;
    const Token type_word = lexer_.expect_identifier("a type");
    check_is_read(type_word);
    if (base_of(type_word.text) == Base::kVoid && type_word.text != "array") {
      lexer_.fail(type_word, "expected a type, found '", type_word.text, "'");
    }
    declaration(s, type_word);
  } else if (base_of(w) != Base::kVoid || w == "array") {
    declaration(s, word);
  } else if (w == "ctrl" || w == "negctrl" || w == "inv" || w == "pow") {
    modified_call(s, word);
  } else {
    call_or_assignment(s, word);
  }
  lexer_.expect(";");
}

// array[type, size, ...], or of a parameter array[type, #dim = n]
TypeName Parser::array_type() {
  lexer_.expect("[");
  const Token word = lexer_.expect_identifier("a type");
  if (word.text == "array" || word.text == "qubit" || word.text == "stretch") {
    lexer_.fail(word, "an array has no elements of this type");
  }
  TypeName t = type(word);
  t.is_array = true;
  lexer_.expect(",");
  if (lexer_.accept("#")) {
    if (!lexer_.accept_word("dim")) lexer_.fail_expected("'dim'");
    lexer_.expect("=");
    t.num_dims = expression();
  } else {
    list_of([&] { t.dims.push_back(expression()); }, [&] { return lexer_.token().is(']'); });
  }
  lexer_.expect("]");
  return t;
}

// {value, ...}, rows in braces of their own, or another array
ExprPtr Parser::array_value() {
  const Depth deeper(*this);
  if (!lexer_.token().is('{')) return expression();
  auto e = make_expr(ExprKind::kSet, lexer_.take());
  while (!lexer_.accept("}")) {
    e->args.push_back(array_value());
    if (!lexer_.token().is('}')) lexer_.expect(",");
  }
  return e;
}

TypeName Parser::type(const Token& word) {
  if (word.text == "array") return array_type();
  TypeName t;
  t.base = base_of(word.text);
  if (t.base == Base::kVoid) {
    check_is_read(word);
    lexer_.fail(word, "expected a type, found '", word.text, "'");
  }
  if (lexer_.token().is('[')) t.width = enclosed("[", "]");
  return t;
}

void Parser::declaration(Stmt& s, const Token& word) {
  s.kind = StmtKind::kDeclare;
  s.type = type(word);
  s.name = new_name("a name");
  if (lexer_.accept("=")) s.value = s.type.is_array ? array_value() : value();
}

void Parser::old_register(TypeName& type, Token& name, bool quantum) {
  type.base = quantum ? Base::kQubit : Base::kBit;
  name = new_name("a name");
  if (lexer_.token().is('[')) type.width = enclosed("[", "]");
}

void Parser::call_or_assignment(Stmt& s, const Token& word) {
  const auto is_assignment = [&] {
    return lexer_.token().kind == TokenKind::kPunctuation &&
           contains(kAssignments, lexer_.token().text);
  };
  if (!lexer_.token().is('[') && !is_assignment()) return call(s, word);
  s.kind = StmtKind::kAssign;
  s.args.push_back(with_indices(make_expr(ExprKind::kName, word, word.text)));
  if (!is_assignment()) lexer_.fail_expected("'='");
  s.op = lexer_.take().text;
  s.value = lexer_.token().is('{') ? array_value() : value();
}

void Parser::modified_call(Stmt& s, Token word) {
  while (true) {
    Modifier m;
    m.at = word;
    m.kind = word.text == "ctrl"      ? ModifierKind::kCtrl
             : word.text == "negctrl" ? ModifierKind::kNegctrl
             : word.text == "inv"     ? ModifierKind::kInv
                                      : ModifierKind::kPow;
    if (m.kind == ModifierKind::kPow || (m.kind != ModifierKind::kInv && lexer_.token().is('('))) {
      m.argument = enclosed("(", ")");
    }
    lexer_.expect("@");
    s.modifiers.push_back(std::move(m));
    word = lexer_.expect_identifier("a gate");
    if (word.text != "ctrl" && word.text != "negctrl" && word.text != "inv" && word.text != "pow") {
      break;
    }
  }
  call(s, word);
}

void Parser::call(Stmt& s, const Token& word) {
  s.kind = StmtKind::kCall;
  s.name = word;
  if (lexer_.accept("(")) s.args = list(")");
  if (!lexer_.token().is(';')) operands(s);
}

void Parser::operands(Stmt& s) {
  list_of([&] { s.operands.push_back(expression()); }, [&] { return lexer_.token().is(';'); });
}

// gate name[(params)] qubits { body }
void Parser::gate(Stmt& s) {
  s.kind = StmtKind::kGate;
  auto d = std::make_shared<Definition>();
  d->name = new_name("the name of a gate");
  if (lexer_.accept("(") && !lexer_.accept(")")) {
    list_of(
        [&] {
          d->params.push_back({{Base::kAngle, nullptr}, new_name("a parameter")});
        },
        [&] { return lexer_.token().is(')'); });
    lexer_.expect(")");
  }
  if (!lexer_.token().is('{')) {
    list_of([&] { d->qubits.push_back(new_name("a qubit")); },
            [&] { return lexer_.token().is('{'); });
  }
  std::unordered_set<std::string_view> names;
  for (const Parameter& p : d->params) names.insert(p.name.text);
  for (const Token& q : d->qubits) {
    if (!names.insert(q.text).second) lexer_.fail(q, "the name '", q.text, "' is used twice");
  }
  d->body = block();
  s.definition = d;
}

// def name(type name, ...) [-> type] { body }
void Parser::subroutine(Stmt& s) {
  s.kind = StmtKind::kDef;
  auto d = std::make_shared<Definition>();
  d->name = new_name("the name of a subroutine");
  lexer_.expect("(");
  if (!lexer_.accept(")")) {
    list_of([&] { d->params.push_back(parameter()); }, [&] { return lexer_.token().is(')'); });
    lexer_.expect(")");
  }
  if (lexer_.accept("->")) d->result = type(lexer_.expect_identifier("a type"));
  d->body = block();
  s.definition = d;
}

Parameter Parser::parameter() {
  Token word = lexer_.expect_identifier("a type");
  Parameter p;
  const bool is_readonly = word.text == "readonly";
  const bool by_reference = is_readonly || word.text == "mutable";
  if (by_reference) word = lexer_.expect_identifier("'array'");
  if (by_reference != (word.text == "array")) {
    lexer_.fail(word, "an array is given as 'readonly array' or 'mutable array'");
  }
  if (word.text == "qreg" || word.text == "creg") {
    old_register(p.type, p.name, word.text == "qreg");
    return p;
  }
  check_is_read(word);
  p.type = type(word);
  p.type.is_readonly = is_readonly;
  p.name = new_name("a name");
  return p;
}

// for [type] name in range { body }
void Parser::for_statement(Stmt& s) {
  s.kind = StmtKind::kFor;
  Token word = lexer_.expect_identifier("a type or a name");
  if (base_of(word.text) != Base::kVoid) {
    s.type = type(word);
    word = new_name("a name");
  }
  s.name = word;
  if (!lexer_.accept_word("in")) lexer_.fail_expected("'in'");
  s.value = lexer_.token().is('[')   ? index()
            : lexer_.token().is('{') ? set_or_range()
                                     : expression();
  s.body = body("for");
}

// switch (value) { case 0, 1 { } default { } }, or an older form: case 0: case 1: ... break;
void Parser::switch_statement(Stmt& s) {
  s.kind = StmtKind::kSwitch;
  s.value = enclosed("(", ")");
  lexer_.expect("{");
  while (!lexer_.accept("}")) {
    Case c;
    bool is_default = false;
    if (!s.cases.empty() && s.cases.back().values.empty()) {
      lexer_.fail(lexer_.token(), "'default' must be the last case");
    }
    do {
      const Token word = lexer_.expect_identifier("'case' or 'default'");
      if (word.text == "case") {
        list_of([&] { c.values.push_back(expression()); },
                [&] { return lexer_.token().is('{') || lexer_.token().is(':'); });
      } else if (word.text == "default") {
        is_default = true;
      } else {
        lexer_.fail(word, "expected 'case' or 'default', found '", word.text, "'");
      }
    } while (lexer_.accept(":") &&
             (lexer_.token().is_word("case") || lexer_.token().is_word("default")));
    if (is_default) c.values.clear();
    c.body = case_body();
    s.cases.push_back(std::move(c));
  }
}

Block Parser::case_body() {
  if (lexer_.token().is('{')) {
    Block body = block();
    if (lexer_.accept_word("break")) lexer_.expect(";");
    return body;
  }
  Block body;
  while (!lexer_.accept_word("break")) {
    if (at_end() || lexer_.token().is('}') || lexer_.token().is_word("case") ||
        lexer_.token().is_word("default")) {
      lexer_.fail_expected("'{', or 'break;' at the end of the case");
    }
    body.push_back(std::make_shared<Stmt>(statement()));
  }
  lexer_.expect(";");
  return body;
}

}  // namespace tilewave::language::qasm3
