// See dense.h.
#include "dense.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

extern "C" void invalidQuESTInputError(const char* errMsg, const char* errFunc) {
  const std::string message = std::string(errFunc) + ": " + errMsg;
  if (dense::g_exit_on_misuse) {
    std::fprintf(stderr, "%s\n", message.c_str());
    _exit(3);
  }
  throw dense::Misuse(message);
}

// A sanitizer ends the program where memory runs out, unless told to do as others do.
extern "C" const char* __asan_default_options();  // NOLINT
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace dense {

bool g_exit_on_misuse = false;

namespace {

std::mt19937_64& generator() {
  static std::mt19937_64 instance(20260711);
  return instance;
}

std::size_t size_of(const Matrix& m) {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(m.size()))));
}

void apply(std::vector<cplx>& a, const Bits& targets, const Matrix& m, const Bits& controls,
           const Bits& values, int shift) {
  const std::size_t dim = std::size_t{1} << targets.size();
  std::vector<cplx> out = a;
  for (std::size_t x = 0; x < a.size(); ++x) {
    bool acts = true;
    for (std::size_t k = 0; k < controls.size(); ++k) {
      const int wanted = values.empty() ? 1 : values[k];
      if (static_cast<int>(x >> (controls[k] + shift) & 1) != wanted) acts = false;
    }
    if (!acts) continue;
    std::size_t row = 0;
    for (std::size_t k = 0; k < targets.size(); ++k) row |= (x >> (targets[k] + shift) & 1) << k;
    cplx sum = 0;
    for (std::size_t column = 0; column < dim; ++column) {
      std::size_t y = x;
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const std::size_t b = std::size_t{1} << (targets[k] + shift);
        y = column >> k & 1 ? y | b : y & ~b;
      }
      sum += m[row * dim + column] * a[y];
    }
    out[x] = sum;
  }
  a = std::move(out);
}

}  // namespace

#if QuEST_PREC == 1
const double kTolerance = 3e-5;
#else
const double kTolerance = 1e-11;
#endif

void State::left(const Bits& targets, const Matrix& m, const Bits& controls, const Bits& values) {
  apply(a, targets, m, controls, values, 0);
}

void State::both(const Bits& targets, const Matrix& m, const Bits& controls, const Bits& values) {
  left(targets, m, controls, values);
  if (!is_density) return;
  Matrix conjugate = m;
  for (cplx& x : conjugate) x = std::conj(x);
  apply(a, targets, conjugate, controls, values, n);
}

void State::channel(const Bits& targets, const std::vector<Matrix>& ops) {
  const std::vector<cplx> before = a;
  std::vector<cplx> sum(a.size(), 0);
  for (const Matrix& k : ops) {
    a = before;
    both(targets, k);
    for (std::size_t i = 0; i < a.size(); ++i) sum[i] += a[i];
  }
  a = sum;
}

Matrix product(const Matrix& a, const Matrix& b) {
  const std::size_t n = size_of(a);
  Matrix out(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return out;
}

Matrix adjoint(const Matrix& a) {
  const std::size_t n = size_of(a);
  Matrix out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = std::conj(a[j * n + i]);
  }
  return out;
}

Matrix kronecker(const Matrix& b, const Matrix& a) {
  const std::size_t na = size_of(a), nb = size_of(b), n = na * nb;
  Matrix out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out[i * n + j] = b[(i / na) * nb + j / na] * a[(i % na) * na + j % na];
    }
  }
  return out;
}

Matrix diagonal(const std::vector<cplx>& values) {
  Matrix m(values.size() * values.size(), 0);
  for (std::size_t k = 0; k < values.size(); ++k) m[k * values.size() + k] = values[k];
  return m;
}

Matrix pauli(int code) {
  switch (code) {
    case 0:
      return {1, 0, 0, 1};
    case 1:
      return {0, 1, 1, 0};
    case 2:
      return {0, -kI, kI, 0};
    default:
      return {1, 0, 0, -1};
  }
}

Matrix pauli_string(const std::vector<int>& codes) {
  Matrix out = {1};
  for (int code : codes) out = kronecker(pauli(code), out);
  return out;
}

Matrix pauli_rotation(const std::vector<int>& codes, double angle) {
  Matrix out = pauli_string(codes);
  const std::size_t n = size_of(out);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out[i * n + j] =
          cplx(0, -std::sin(angle / 2)) * out[i * n + j] + (i == j ? std::cos(angle / 2) : 0.0);
    }
  }
  return out;
}

double random_number(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(generator());
}

Matrix random_matrix(int num_qubits) {
  Matrix m(std::size_t{1} << (2 * num_qubits));
  for (cplx& x : m) x = {random_number(-1, 1), random_number(-1, 1)};
  return m;
}

Matrix random_unitary(int num_qubits) {
  const std::size_t n = std::size_t{1} << num_qubits;
  Matrix m = random_matrix(num_qubits);
  for (std::size_t i = 0; i < n; ++i) {  // Gram-Schmidt on rows, twice for rounding
    for (int round = 0; round < 2; ++round) {
      for (std::size_t k = 0; k < i; ++k) {
        cplx overlap = 0;
        for (std::size_t j = 0; j < n; ++j) overlap += std::conj(m[k * n + j]) * m[i * n + j];
        for (std::size_t j = 0; j < n; ++j) m[i * n + j] -= overlap * m[k * n + j];
      }
    }
    double norm = 0;
    for (std::size_t j = 0; j < n; ++j) norm += std::norm(m[i * n + j]);
    for (std::size_t j = 0; j < n; ++j) m[i * n + j] /= std::sqrt(norm);
  }
  return m;
}

Bits random_qubits(int n, int count) {
  Bits all(n);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), generator());
  all.resize(count);
  return all;
}

ComplexMatrix2 matrix2(const Matrix& m) {
  ComplexMatrix2 out;
  for (int k = 0; k < 4; ++k) {
    out.real[k / 2][k % 2] = static_cast<qreal>(m[k].real());
    out.imag[k / 2][k % 2] = static_cast<qreal>(m[k].imag());
  }
  return out;
}

ComplexMatrix4 matrix4(const Matrix& m) {
  ComplexMatrix4 out;
  for (int k = 0; k < 16; ++k) {
    out.real[k / 4][k % 4] = static_cast<qreal>(m[k].real());
    out.imag[k / 4][k % 4] = static_cast<qreal>(m[k].imag());
  }
  return out;
}

MatrixN::MatrixN(const Matrix& m) {
  const std::size_t n = size_of(m);
  int qubits = 0;
  while (std::size_t{1} << qubits < n) ++qubits;
  value = createComplexMatrixN(qubits);
  for (std::size_t k = 0; k < m.size(); ++k) {
    value.real[k / n][k % n] = static_cast<qreal>(m[k].real());
    value.imag[k / n][k % n] = static_cast<qreal>(m[k].imag());
  }
}

MatrixN::~MatrixN() { destroyComplexMatrixN(value); }

namespace {

// Closes the environment when all tests are done: processes leave their run together.
struct Closing : testing::Environment {
  void TearDown() override { destroyQuESTEnv(environment()); }
};

}  // namespace

QuESTEnv environment() {
  static const QuESTEnv env = [] {
    testing::AddGlobalTestEnvironment(new Closing);
    return createQuESTEnv();
  }();
  return env;
}

Pair::Pair(int n, bool is_density)
    : q(is_density ? createDensityQureg(n, environment()) : createQureg(n, environment())) {
  ref = {n, is_density, std::vector<cplx>(std::size_t{1} << (is_density ? 2 * n : n))};
  double norm = 0;
  for (cplx& x : ref.a) {
    x = {random_number(-1, 1), random_number(-1, 1)};
    norm += std::norm(x);
  }
  std::vector<qreal> re, im;
  for (cplx& x : ref.a) {
    x /= std::sqrt(norm);
    re.push_back(static_cast<qreal>(x.real()));
    im.push_back(static_cast<qreal>(x.imag()));
  }
  const auto count = static_cast<long long>(re.size());
  if (is_density && random_number(0, 1) < 0.5) {
    setDensityAmps(q, 0, 0, re.data(), im.data(), count);
  } else {
    initStateFromAmps(q, re.data(), im.data());
  }
}

Pair::~Pair() { destroyQureg(q, environment()); }

std::vector<cplx> Pair::amplitudes() const {
  std::vector<cplx> out(ref.a.size());
  if (q.numChunks > 1) {  // the share of this process, the rest as wanted
    out = ref.a;
    copyStateFromGPU(q);
    const auto first = static_cast<std::size_t>(q.chunkId * q.numAmpsPerChunk);
    for (std::size_t k = 0; k < static_cast<std::size_t>(q.numAmpsPerChunk); ++k)
      out[first + k] = {q.stateVec.real[k], q.stateVec.imag[k]};
    return out;
  }
  if (out.size() > 1024) {  // one transfer where the state is on a device
    copyStateFromGPU(q);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {q.stateVec.real[k], q.stateVec.imag[k]};
    return out;
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto index = static_cast<long long>(k);
    const long long rows = 1LL << ref.n;
    const ::Complex z =
        ref.is_density ? getDensityAmp(q, index % rows, index / rows) : getAmp(q, index);
    out[k] = {z.real, z.imag};
  }
  return out;
}

void Pair::check(const std::string& what) const {
  const std::vector<cplx> got = amplitudes();
  double worst = 0, scale = 1;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double d = std::abs(got[k] - ref.a[k]);
    if (!(d <= worst)) worst = d;
    scale = std::max(scale, std::abs(ref.a[k]));
  }
  EXPECT_LE(worst, kTolerance * scale) << what << (ref.is_density ? " on a density matrix" : "");
}

void on_both(const std::string& what, const std::function<void(Pair&)>& f, int needed) {
  for (int round = 0; round < 3; ++round) {
    Pair state(std::max(7, needed), false);
    f(state);
    state.check(what);
  }
  on_density(what, f, needed);
}

void on_density(const std::string& what, const std::function<void(Pair&)>& f, int needed) {
  const int n = std::max(5, needed);
  for (int round = 0; round < (n > 7 ? 1 : 2); ++round) {
    Pair state(n, true);
    f(state);
    state.check(what);
  }
}

}  // namespace dense
