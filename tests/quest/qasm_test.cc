// The recorded OpenQASM 2 read by a strict reader of the language: it knows the gates of the
// qelib1.inc that the language's authors published, no others, numbers as the grammar has them, and
// what the text itself defines. Readers differ in the phases of rz, crz and cu3 (a rotation of
// determinant 1, or diag(1, e^{i angle})), so every record is read both ways; the state must be
// that of the register up to a global phase.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include <unistd.h>

#include "calls.h"
#include "dense.h"

using namespace dense;

namespace {

struct Bad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Reader {
 public:
  Reader(const std::string& text, bool is_special) : text_(text), is_special_(is_special) { run(); }
  const State& state() const { return state_; }

 private:
  struct Gate {
    std::vector<std::string> params, qubits;
    std::size_t begin;  // of the body in the text
  };
  using Values = std::map<std::string, double>;
  using Places = std::map<std::string, int>;

  char peek() {
    while (at_ < text_.size()) {
      if (text_.compare(at_, 2, "//") == 0) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return text_[at_];
      }
    }
    return 0;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void want(char c) {
    if (!take(c)) throw Bad(std::string("wanted '") + c + "' at " + text_.substr(at_, 40));
  }
  // [a-z][A-Za-z0-9_]*, or the built-in U and CX
  std::string name() {
    peek();
    const std::size_t first = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    const std::string word = text_.substr(first, at_ - first);
    if (word.empty() || !std::islower(static_cast<unsigned char>(word[0])))
      throw Bad("no name at " + text_.substr(first, 40));
    return word;
  }
  int whole() {
    peek();
    const std::size_t first = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::stoi(text_.substr(first, at_ - first));
  }
  // integers, or digits with a point and perhaps an exponent
  double number() {
    const std::size_t first = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    };
    digits();
    bool has_point = false;
    if (at_ < text_.size() && text_[at_] == '.') {
      has_point = true;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      if (!has_point) throw Bad("an exponent without a point: " + text_.substr(first, 20));
      ++at_;
      if (text_[at_] == '+' || text_[at_] == '-') ++at_;
      digits();
    }
    return std::stod(text_.substr(first, at_ - first));
  }
  double factor(const Values& values) {
    if (take('-')) return -factor(values);
    if (take('(')) {
      const double x = sum(values);
      want(')');
      return x;
    }
    if (std::isalpha(static_cast<unsigned char>(peek()))) {
      const std::string word = name();
      if (word == "pi") return std::numbers::pi;
      return values.at(word);
    }
    return number();
  }
  double product(const Values& values) {
    double x = factor(values);
    while (true) {
      if (take('*')) {
        x *= factor(values);
      } else if (take('/')) {
        x /= factor(values);
      } else {
        return x;
      }
    }
  }
  double sum(const Values& values) {
    double x = product(values);
    while (true) {
      if (take('+')) {
        x += product(values);
      } else if (take('-')) {
        x -= product(values);
      } else {
        return x;
      }
    }
  }

  static Matrix u3(double theta, double phi, double lambda) {
    const double c = std::cos(theta / 2), s = std::sin(theta / 2);
    return {c, -std::polar(s, lambda), std::polar(s, phi), std::polar(c, phi + lambda)};
  }
  Matrix maybe_special(Matrix m, double phase) const {
    if (is_special_)
      for (cplx& x : m) x *= std::polar(1.0, -phase / 2);
    return m;
  }

  // A gate of qelib1.inc; false where it has none of this name.
  bool known(const std::string& gate, const std::vector<double>& p, const Bits& q) {
    const cplx i = kI;
    const double r = std::sqrt(0.5), pi = std::numbers::pi;
    const std::map<std::string, Matrix> fixed = {{"id", {1, 0, 0, 1}},
                                                 {"x", {0, 1, 1, 0}},
                                                 {"y", {0, -i, i, 0}},
                                                 {"z", {1, 0, 0, -1}},
                                                 {"h", {r, r, r, -r}},
                                                 {"s", {1, 0, 0, i}},
                                                 {"sdg", {1, 0, 0, -i}},
                                                 {"t", {1, 0, 0, std::polar(1.0, pi / 4)}},
                                                 {"tdg", {1, 0, 0, std::polar(1.0, -pi / 4)}}};
    static const std::map<std::string, std::pair<std::size_t, std::size_t>> shape = {
        {"id", {0, 1}},  {"x", {0, 1}},   {"y", {0, 1}},  {"z", {0, 1}},   {"h", {0, 1}},
        {"s", {0, 1}},   {"sdg", {0, 1}}, {"t", {0, 1}},  {"tdg", {0, 1}}, {"u1", {1, 1}},
        {"u2", {2, 1}},  {"u3", {3, 1}},  {"rx", {1, 1}}, {"ry", {1, 1}},  {"rz", {1, 1}},
        {"cx", {0, 2}},  {"cy", {0, 2}},  {"cz", {0, 2}}, {"ch", {0, 2}},  {"ccx", {0, 3}},
        {"crz", {1, 2}}, {"cu1", {1, 2}}, {"cu3", {3, 2}}};
    const auto found = shape.find(gate);
    if (found == shape.end()) return false;
    if (found->second != std::pair(p.size(), q.size())) throw Bad(gate + ": wrong arguments");
    std::string base = gate;  // without its controls
    while (base.size() > 1 && base[0] == 'c') base.erase(0, 1);
    Matrix m;
    if (const auto f = fixed.find(base); f != fixed.end()) {
      m = f->second;
    } else if (base == "u1") {
      m = {1, 0, 0, std::polar(1.0, p[0])};
    } else if (base == "u2") {
      m = u3(pi / 2, p[0], p[1]);
    } else if (base == "u3") {
      m = maybe_special(u3(p[0], p[1], p[2]), p[1] + p[2]);
    } else if (base == "rx") {
      m = u3(p[0], -pi / 2, pi / 2);
    } else if (base == "ry") {
      m = u3(p[0], 0, 0);
    } else if (gate == "crz") {  // this one has determinant 1 everywhere
      m = {std::polar(1.0, -p[0] / 2), 0, 0, std::polar(1.0, p[0] / 2)};
    } else {
      m = maybe_special({1, 0, 0, std::polar(1.0, p[0])}, p[0]);
    }
    state_.left({q.back()}, m, Bits(q.begin(), q.end() - 1));
    return true;
  }

  // One application, to the end of its statement.
  void apply(const std::string& gate, const Values& values, const Places& places) {
    std::vector<double> params;
    if (take('(')) {
      do params.push_back(sum(values));
      while (take(','));
      want(')');
    }
    std::vector<Bits> operands;
    do {
      const std::string word = name();
      if (!places.empty()) {
        operands.push_back({places.at(word)});
        continue;
      }
      if (word != "q") throw Bad("no register " + word);
      operands.emplace_back();
      if (take('[')) {
        operands.back().push_back(whole());
        want(']');
        if (operands.back()[0] >= state_.n) throw Bad("out of range");
      } else {
        for (int k = 0; k < state_.n; ++k) operands.back().push_back(k);
      }
    } while (take(','));
    want(';');
    for (std::size_t k = 0; k < operands[0].size(); ++k) {
      Bits q;
      for (const Bits& o : operands) q.push_back(o[o.size() == 1 ? 0 : k]);
      for (std::size_t a = 0; a < q.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
          if (q[a] == q[b]) throw Bad(gate + " names a qubit twice");
      if (known(gate, params, q)) continue;
      if (!gates_.count(gate)) throw Bad("no gate " + gate);
      const Gate& g = gates_.at(gate);
      if (g.params.size() != params.size() || g.qubits.size() != q.size())
        throw Bad(gate + ": wrong arguments");
      Values inner;
      Places named;
      for (std::size_t p = 0; p < params.size(); ++p) inner[g.params[p]] = params[p];
      for (std::size_t p = 0; p < q.size(); ++p) named[g.qubits[p]] = q[p];
      const std::size_t back = at_;
      at_ = g.begin;
      while (!take('}')) apply(name(), inner, named);
      at_ = back;
    }
  }

  void define() {
    const std::string gate = name();
    if (gates_.count(gate)) throw Bad(gate + " is defined twice");
    Gate g;
    if (take('(')) {
      do g.params.push_back(name());
      while (take(','));
      want(')');
    }
    do g.qubits.push_back(name());
    while (take(','));
    want('{');
    g.begin = at_;
    at_ = text_.find('}', at_) + 1;
    gates_[gate] = g;
  }

  void run() {
    const std::string head = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n";
    if (text_.rfind(head, 0) != 0) throw Bad("another head");
    at_ = head.size();
    while (peek()) {
      const std::string word = name();
      if (word == "gate") {
        define();
      } else if (word == "qreg" || word == "creg") {
        if (name() != (word == "qreg" ? "q" : "c")) throw Bad("another register");
        want('[');
        const int n = whole();
        want(']');
        want(';');
        if (word == "creg") continue;
        state_ = {n, false, std::vector<cplx>(std::size_t{1} << n, 0.0)};
        state_.a[0] = 1;
      } else if (word == "reset") {
        if (name() != "q") throw Bad("another register");
        want(';');
        state_.a.assign(state_.a.size(), 0.0);
        state_.a[0] = 1;
      } else {
        apply(word, {}, {});
      }
    }
  }

  std::string text_;
  bool is_special_;
  std::size_t at_ = 0;
  std::map<std::string, Gate> gates_;
  State state_;
};

std::string record_of(Qureg q) {
  std::string name = testing::TempDir() + "quest_record_read_" + std::to_string(getpid()) + ".qasm";
  writeRecordedQASMToFile(q, name.data());
  std::FILE* file = std::fopen(name.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  std::remove(name.c_str());
  return text;
}

// Records f after gates that make all amplitudes different, and reads the record.
void expect_read(const std::string& what, int n, const std::function<void(Qureg)>& f,
                 const std::string& wanted = "") {
  Qureg q = createQureg(n, environment());
  startRecordingQASM(q);
  initPlusState(q);
  for (int k = 0; k < n; ++k) {
    rotateY(q, k, qreal(0.4 + 0.3 * k));
    rotateZ(q, k, qreal(1.1 - 0.2 * k));
    if (k) controlledNot(q, k - 1, k);
  }
  f(q);
  const std::string text = record_of(q);
  SCOPED_TRACE(what + "\n" + text);
  EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  EXPECT_EQ(text.find("//"), std::string::npos);
  for (const bool is_special : {false, true}) {
    try {
      const Reader reader(text, is_special);
      cplx overlap = 0;
      for (std::size_t k = 0; k < reader.state().a.size(); ++k) {
        const ::Complex z = getAmp(q, static_cast<long long>(k));
        overlap += std::conj(cplx(z.real, z.imag)) * reader.state().a[k];
      }
      EXPECT_NEAR(std::abs(overlap), 1, kTolerance);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  destroyQureg(q, environment());
}

}  // namespace

TEST(Qasm, ControlledGatesOfEveryKind) {
  if (environment().numRanks > 1) GTEST_SKIP() << "the record is that of rank 0";
  constexpr int kQubits = 8;
  const cplx phase = std::polar(1.0, 0.7);
  const std::vector<std::pair<std::string, Matrix>> matrices = {
      {"X", pauli(1)},
      {"Y", pauli(2)},
      {"Z", pauli(3)},
      {"minus one", {-1, 0, 0, -1}},
      {"a phase", {1, 0, 0, phase}},
      {"two phases", {phase, 0, 0, std::conj(phase)}},
      {"a global phase", {phase, 0, 0, phase}},
      {"X with a phase", {0, phase, phase, 0}},
      {"almost one", {std::polar(1.0, 1e-9), 0, 0, 1}},
      {"random", random_unitary(1)},
      {"random, again", random_unitary(1)},
  };
  for (int m = 0; m <= 6; ++m) {
    for (const auto& [name, matrix] : matrices) {
      Bits c = random_qubits(kQubits, m + 1), values;
      const int target = c.back();
      for (int k = 0; k < m; ++k) values.push_back(static_cast<int>(random_number(0, 2)));
      expect_read(name + " under " + std::to_string(m), kQubits, [&](Qureg q) {
        if (m == 0) {
          unitary(q, target, matrix2(matrix));
        } else {
          multiControlledUnitary(q, c.data(), m, target, matrix2(matrix));
          multiStateControlledUnitary(q, c.data(), values.data(), m, target, matrix2(matrix));
        }
      });
    }
    Bits c = random_qubits(kQubits, m + 1);
    expect_read("phases of " + std::to_string(m + 1), kQubits, [&](Qureg q) {
      multiControlledPhaseFlip(q, c.data(), m + 1);
      multiControlledPhaseShift(q, c.data(), m + 1, qreal(0.4));
    });
    if (m == 0) continue;
    Bits t = random_qubits(kQubits, m + 2);
    expect_read("X and rotations under " + std::to_string(m), kQubits, [&](Qureg q) {
      multiControlledMultiQubitNot(q, t.data(), m, t.data() + m, 2);
      multiControlledMultiRotateZ(q, t.data(), m, t.data() + m, 2, qreal(0.3));
      pauliOpType codes[2] = {PAULI_Y, PAULI_X};
      multiControlledMultiRotatePauli(q, t.data(), m, t.data() + m, codes, 2, qreal(0.9));
    });
  }
}

TEST(Qasm, GatesByName) {
  if (environment().numRanks > 1) GTEST_SKIP() << "the record is that of rank 0";
  expect_read("gates", 4, [](Qureg q) {
    hadamard(q, 0), pauliX(q, 1), pauliY(q, 2), pauliZ(q, 3), sGate(q, 0), tGate(q, 1);
    phaseShift(q, 2, qreal(1e-5)), u1Gate(q, 0, 2), u2Gate(q, 1, qreal(0.1), 3);
    u3Gate(q, 2, qreal(0.1), 2, 3), SqX(q, 0), SqY(q, 1), SqW(q, 2), swapGate(q, 0, 3);
    rotateX(q, 0, qreal(0.2)), rotateAroundAxis(q, 1, qreal(0.4), {1, 2, 3});
    controlledPauliY(q, 0, 1), controlledPhaseFlip(q, 1, 2);
    controlledPhaseShift(q, 2, 3, qreal(-0.4)), controlledRotateX(q, 3, 0, qreal(0.5));
    controlledRotateY(q, 0, 2, qreal(0.6)), controlledRotateZ(q, 1, 3, qreal(0.7));
    controlledRotateAroundAxis(q, 1, 0, qreal(0.8), {1, -1, 0});
    controlledCompactUnitary(q, 0, 1, {qreal(0.6), 0}, {0, qreal(0.8)});
    applyFullQFT(q);
    sqrtSwapGate(q, 2, 1);
  });
  // short where the language has a gate
  int two[3] = {0, 1, 2};
  expect_read(
      "Toffoli", 3, [&](Qureg q) { multiControlledUnitary(q, two, 2, 2, matrix2(pauli(1))); },
      "ccx q[0],q[1],q[2];");
  expect_read(
      "a phase", 3, [&](Qureg q) { controlledPhaseShift(q, 0, 2, qreal(0.5)); },
      "cu1(0.5) q[0],q[2];");
  expect_read(
      "Y", 3, [&](Qureg q) { controlledUnitary(q, 2, 0, matrix2(pauli(2))); }, "cy q[2],q[0];");
  // many controls: the text stays short, however many gates it means
  Qureg wide = createQureg(26, environment());
  startRecordingQASM(wide);
  std::vector<int> all(26);
  for (int k = 0; k < 26; ++k) all[k] = k;
  multiControlledPhaseShift(wide, all.data(), 26, qreal(0.1));
  const std::string text = record_of(wide);
  EXPECT_LT(text.size(), 60000u);
  EXPECT_NE(text.find("gate mcu1_25(a)"), std::string::npos);
  destroyQureg(wide, environment());
}

// What the language cannot say is named in a comment, and changes by other calls too.
TEST(Qasm, Comments) {
  if (environment().numRanks > 1) GTEST_SKIP() << "the record is that of rank 0";
  Pair s(3, false), other(3, false), rho(2, true);
  startRecordingQASM(s.q);
  startRecordingQASM(rho.q);
  const auto expect_comment = [](Qureg q, const std::string& words, const Call<>& f) {
    clearRecordedQASM(q);
    f();
    const std::string text = record_of(q);
    EXPECT_NE(text.find("// "), std::string::npos) << words;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  expect_comment(s.q, "a matrix on q[0],q[1]",
                 [&] { twoQubitUnitary(s.q, 0, 1, matrix4(random_unitary(2))); });
  expect_comment(s.q, "a matrix on q[2]", [&] { applyMatrix2(s.q, 2, matrix2({2, 0, 0, 1})); });
  expect_comment(rho.q, "from the left", [&] { applyMatrix2(rho.q, 1, matrix2(pauli(1))); });
  expect_comment(s.q, "another register", [&] { cloneQureg(s.q, other.q); });
  expect_comment(s.q, "debugging", [&] { initDebugState(s.q); });
  expect_comment(s.q, "stateVec", [&] {
    s.q.stateVec.real[1] = qreal(0.5);
    calcTotalProb(s.q);
  });
  expect_comment(rho.q, "pure state", [&] {
    Pair pure(2, false);
    initPureState(rho.q, pure.q);
  });
}
