// The reference of these tests: states and density matrices as plain arrays, every operator as a
// dense matrix, in double precision. Element (row, column) of a density matrix is at row + column
// 2^n. Also random states and matrices, and both forms of one register side by side.
#pragma once

#include <complex>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "QuEST.h"

namespace dense {

using cplx = std::complex<double>;
using Matrix = std::vector<cplx>;  // row-major
using Bits = std::vector<int>;
inline constexpr cplx kI(0, 1);

struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct State {
  int n = 0;
  bool is_density = false;
  std::vector<cplx> a;

  int num_state_qubits() const { return is_density ? 2 * n : n; }
  /// A matrix on targets where each control has its value (all 1 when values is empty).
  void left(const Bits& targets, const Matrix& m, const Bits& controls = {},
            const Bits& values = {});
  /// The same on both sides of a density matrix.
  void both(const Bits& targets, const Matrix& m, const Bits& controls = {},
            const Bits& values = {});
  /// sum_k K rho K^dagger.
  void channel(const Bits& targets, const std::vector<Matrix>& ops);
  cplx element(std::size_t row, std::size_t column) const { return a[row + (column << n)]; }
};

Matrix product(const Matrix& a, const Matrix& b);
Matrix adjoint(const Matrix& a);
/// b on the higher bits.
Matrix kronecker(const Matrix& b, const Matrix& a);
/// The matrix with these values on its diagonal.
Matrix diagonal(const std::vector<cplx>& values);
Matrix pauli(int code);
/// The matrix of codes, the first on bit 0.
Matrix pauli_string(const std::vector<int>& codes);
/// exp(-i angle/2 P).
Matrix pauli_rotation(const std::vector<int>& codes, double angle);
Matrix random_matrix(int num_qubits);
Matrix random_unitary(int num_qubits);
double random_number(double low, double high);
/// `count` distinct qubits of n.
Bits random_qubits(int n, int count);

ComplexMatrix2 matrix2(const Matrix& m);
ComplexMatrix4 matrix4(const Matrix& m);
/// Lives until the end of the test program's scope that made it.
struct MatrixN {
  explicit MatrixN(const Matrix& m);
  ~MatrixN();
  MatrixN(const MatrixN&) = delete;
  MatrixN& operator=(const MatrixN&) = delete;
  ComplexMatrixN value;
};

extern const double kTolerance;
/// An invalid call prints its message and exits with status 3 instead of throwing.
extern bool g_exit_on_misuse;
QuESTEnv environment();

/// A register with a random state and its reference.
struct Pair {
  Pair(int n, bool is_density);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  Qureg q;
  State ref;
  /// Of several processes each sees its share and takes the rest for right.
  std::vector<cplx> amplitudes() const;
  /// The register is what the reference is.
  void check(const std::string& what) const;
};

/// Runs f on a state vector of 7 qubits and a density matrix of 5, several times, and compares;
/// on as many as `needed` where that is more.
void on_both(const std::string& what, const std::function<void(Pair&)>& f, int needed = 0);
/// On density matrices only.
void on_density(const std::string& what, const std::function<void(Pair&)>& f, int needed = 0);

}  // namespace dense
