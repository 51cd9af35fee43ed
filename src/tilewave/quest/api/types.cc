// Matrices, Hamiltonians and diagonal operators: plain memory that belongs to the program.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include "tilewave/base/read_double.h"
#include "tilewave/quest/api/call.h"
#include "tilewave/quest/api/hamil.h"
#include "tilewave/runtime/memory.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

template <class T>
using Owned = std::unique_ptr<T[], decltype(&std::free)>;

// Memory is handed out without a promise, so what is large is refused where there is none.
template <class T>
Owned<T> allocate(std::size_t count) {
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  const std::size_t bytes = count * sizeof(T);
  if (bytes > kLarge && bytes > tilewave::runtime::available_host_bytes()) throw std::bad_alloc();
  Owned<T> out(static_cast<T*>(std::calloc(count, sizeof(T))), std::free);
  if (!out) throw std::bad_alloc();
  return out;
}

// Both or none.
void allocate_parts(qreal*& real, qreal*& imag, long long count) {
  auto both = std::pair(allocate<qreal>(static_cast<std::size_t>(count)),
                        allocate<qreal>(static_cast<std::size_t>(count)));
  real = both.first.release();
  imag = both.second.release();
}

PauliHamil make_hamil(int num_qubits, int num_terms) {
  check_range(num_qubits, 1, 60, "numQubits",
              num_qubits < 1 ? Words::kHamilSize : Words::kTooManyQubits);
  check_range(num_terms, 1, 1 << 30, "numSumTerms", Words::kHamilSize);
  PauliHamil h{};
  h.numQubits = num_qubits;
  h.numSumTerms = num_terms;
  auto coefficients = allocate<qreal>(static_cast<std::size_t>(num_terms));
  auto codes = allocate<pauliOpType>(static_cast<std::size_t>(num_terms) * num_qubits);
  h.termCoeffs = coefficients.release();
  h.pauliCodes = codes.release();
  return h;
}

DiagonalOp make_diagonal(int num_qubits, const QuESTEnv& env, const char* name = "numQubits") {
  check_new_qubits(num_qubits, 40, Words::kTooManyQubits, name);
  check_share(1LL << num_qubits, env.numRanks, num_qubits, "operator", Words::kTooFewDiagonalQubits,
              name);
  DiagonalOp op{};
  op.numQubits = num_qubits;
  op.numChunks = num_ranks();
  op.chunkId = rank();
  op.numElemsPerChunk = (1LL << num_qubits) / op.numChunks;
  try {
    allocate_parts(op.real, op.imag, op.numElemsPerChunk);
  } catch (const std::bad_alloc&) {
    fail(Words::kDiagonalMemory, "out of memory: use fewer qubits or free registers");
  }
  return op;
}

PauliHamil read_hamil(const char* name) {
  check_pointer(name, "fn");
  std::ifstream file(name);
  if (!file) fail(filled(Words::kFile, name), "file ", name, " cannot be read: check its name");
  std::vector<double> coefficients;
  std::vector<int> codes;
  std::size_t num_qubits = 0;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    const auto bad = [&](const std::string& kind, const auto&... what) {
      fail(kind, "file ", name, ", line ", number, ": ", what...);
    };
    const std::optional<double> coefficient = tilewave::whole_double(word);
    if (!coefficient)
      bad(filled(Words::kHamilFileCoefficient, name), "'", word,
          "' is no coefficient: write a number, then codes 0 1 2 3");
    coefficients.push_back(coefficient.value_or(0));
    std::size_t count = 0;
    while (words >> word) {
      if (word.size() != 1 || word[0] < '0' || word[0] > '3') {
        const bool is_number = word.find_first_not_of("0123456789-") == std::string::npos;
        bad(is_number ? filled(Words::kHamilFileCodeRange, name, word)
                      : filled(Words::kHamilFileCode, name),
            "'", word, "' is no Pauli code: use 0 1 2 3 for I X Y Z");
      }
      codes.push_back(word[0] - '0');
      ++count;
    }
    if (count == 0)
      bad(filled(Words::kHamilFileSize, name), "no Pauli codes stand after the coefficient");
    if (num_qubits == 0) num_qubits = count;
    if (count != num_qubits) {
      bad(filled(Words::kHamilFileCode, name), count, " codes, but the first line has ",
          num_qubits);
    }
  }
  if (coefficients.empty())
    fail(filled(Words::kHamilFileSize, name), "file ", name, " has no terms");
  PauliHamil h = make_hamil(static_cast<int>(num_qubits), static_cast<int>(coefficients.size()));
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    h.termCoeffs[k] = static_cast<qreal>(coefficients[k]);
  }
  for (std::size_t k = 0; k < codes.size(); ++k)
    h.pauliCodes[k] = static_cast<pauliOpType>(codes[k]);
  return h;
}

void fill_diagonal(const DiagonalOp& op, const PauliHamil& hamil, const char* name) {
  if (hamil.numQubits != op.numQubits) {
    fail(Words::kHamilDiagonalSize, "op and hamil have ", op.numQubits, " and ", hamil.numQubits,
         " qubits: they must have equally many");
  }
  const tilewave::circuit::PauliSum sum = pauli_sum(hamil);
  for (const auto& term : sum) {
    if (term.x)
      fail(Words::kHamilNotDiagonal, name, " has an X or a Y: only sums of I and Z are diagonal");
  }
  for (long long k = 0; k < op.numElemsPerChunk; ++k) {
    const auto index = static_cast<std::uint64_t>(k + op.chunkId * op.numElemsPerChunk);
    double total = 0;
    for (const auto& term : sum) {
      const bool odd = std::popcount(index & term.z) & 1;
      total += odd ? -term.coefficient : term.coefficient;
    }
    op.real[k] = static_cast<qreal>(total);
    op.imag[k] = 0;
  }
}

// Elements [first, first + count); of these the share of this process is kept.
void set_elements(const DiagonalOp& op, long long first, const qreal* real, const qreal* imag,
                  long long count) {
  check_pointer(op.real, "op.real", Words::kDiagonalNotCreated);
  check_pointer(op.imag, "op.imag", Words::kDiagonalNotCreated);
  const long long all = op.numElemsPerChunk * op.numChunks;
  check_range(first, 0, all - 1, "startInd", Words::kElementIndex);
  check_range(count, 0, all - first, "numElems",
              count < 0 || count > all ? Words::kNumElements : Words::kElementsBeyondEnd);
  check_pointer(real, "real");
  check_pointer(imag, "imag");
  const long long begin = op.chunkId * op.numElemsPerChunk;
  const long long from = std::max(first, begin),
                  to = std::min(first + count, begin + op.numElemsPerChunk);
  if (from >= to) return;
  std::copy(real + (from - first), real + (to - first), op.real + (from - begin));
  std::copy(imag + (from - first), imag + (to - first), op.imag + (from - begin));
}

void free_rows(qreal** rows, int num_qubits) {
  for (int k = 0; rows && k < 1 << num_qubits; ++k) std::free(rows[k]);
  std::free(rows);
}

}  // namespace

ComplexMatrixN createComplexMatrixN(int numQubits) {
  return call(__func__, [&] {
    check_range(numQubits, 1, 12, "numQubits", Words::kNumNewQubits);
    const std::size_t dim = std::size_t{1} << numQubits;
    const auto give_back = [numQubits](qreal** rows) { free_rows(rows, numQubits); };
    std::unique_ptr<qreal*[], decltype(give_back)> real(allocate<qreal*>(dim).release(), give_back);
    std::unique_ptr<qreal*[], decltype(give_back)> imag(allocate<qreal*>(dim).release(), give_back);
    for (std::size_t k = 0; k < dim; ++k)
      allocate_parts(real[k], imag[k], static_cast<long long>(dim));
    return ComplexMatrixN{numQubits, real.release(), imag.release()};
  });
}

void destroyComplexMatrixN(ComplexMatrixN matr) {
  call(__func__, [&] {
    check_pointer(matr.real, "matr.real", Words::kMatrixNotCreated);
    check_pointer(matr.imag, "matr.imag", Words::kMatrixNotCreated);
    free_rows(matr.real, matr.numQubits);
    free_rows(matr.imag, matr.numQubits);
  });
}

// The two functions with arrays of variable length in their C prototypes: the same arguments here.
extern "C" void initComplexMatrixN(ComplexMatrixN m, qreal* real, qreal* imag);
extern "C" void initComplexMatrixN(ComplexMatrixN m, qreal* real, qreal* imag) {
  call("initComplexMatrixN", [&] {
    check_pointer(m.real, "m.real", Words::kMatrixNotCreated);
    check_pointer(real, "real");
    check_pointer(imag, "imag");
    const std::size_t dim = std::size_t{1} << m.numQubits;
    for (std::size_t k = 0; k < dim; ++k) {
      std::copy_n(real + k * dim, dim, m.real[k]);
      std::copy_n(imag + k * dim, dim, m.imag[k]);
    }
  });
}

extern "C" ComplexMatrixN bindArraysToStackComplexMatrixN(int numQubits, qreal* re, qreal* im,
                                                          qreal** reStorage, qreal** imStorage);
extern "C" ComplexMatrixN bindArraysToStackComplexMatrixN(int numQubits, qreal* re, qreal* im,
                                                          qreal** reStorage, qreal** imStorage) {
  return call("bindArraysToStackComplexMatrixN", [&] {
    check_range(numQubits, 1, 12, "numQubits");
    check_pointer(reStorage, "reStorage");
    check_pointer(imStorage, "imStorage");
    const std::size_t dim = std::size_t{1} << numQubits;
    for (std::size_t k = 0; k < dim; ++k) {
      reStorage[k] = re + k * dim;
      imStorage[k] = im + k * dim;
    }
    return ComplexMatrixN{numQubits, reStorage, imStorage};
  });
}

PauliHamil createPauliHamil(int numQubits, int numSumTerms) {
  return call(__func__, [&] { return make_hamil(numQubits, numSumTerms); });
}

void destroyPauliHamil(PauliHamil hamil) {
  std::free(hamil.termCoeffs);
  std::free(hamil.pauliCodes);
}

PauliHamil createPauliHamilFromFile(char* fn) {
  return call(__func__, [&] { return read_hamil(fn); });
}

void initPauliHamil(PauliHamil hamil, qreal* coeffs, pauliOpType* codes) {
  call(__func__, [&] {
    check_range(hamil.numQubits, 1, tilewave::statevec::kMaxQubits, "hamil.numQubits",
                Words::kHamilSize);
    check_range(hamil.numSumTerms, 1, std::numeric_limits<int>::max(), "hamil.numSumTerms",
                Words::kHamilSize);
    check_pointer(hamil.termCoeffs, "hamil.termCoeffs");
    check_pointer(hamil.pauliCodes, "hamil.pauliCodes");
    check_pointer(coeffs, "coeffs");
    check_pointer(codes, "codes");
    const auto count = static_cast<std::size_t>(hamil.numSumTerms) * hamil.numQubits;
    for (std::size_t k = 0; k < count; ++k) {
      check_pauli_code(reinterpret_cast<const int*>(codes)[k]);
    }
    std::copy_n(coeffs, hamil.numSumTerms, hamil.termCoeffs);
    std::copy_n(codes, count, hamil.pauliCodes);
  });
}

void reportPauliHamil(PauliHamil hamil) {
  call(__func__, [&] {
    pauli_sum(hamil);
    if (!is_root()) return;
    for (int t = 0; t < hamil.numSumTerms; ++t) {
      // the shortest decimal that reads back as the same number
      char text[40] = {};
      std::to_chars(text, text + sizeof text - 1, hamil.termCoeffs[t]);
      std::printf("%s", text);
      for (int q = 0; q < hamil.numQubits; ++q) {
        std::printf("%c%d", q == 0 ? '\t' : ' ',
                    static_cast<int>(hamil.pauliCodes[t * hamil.numQubits + q]));
      }
      std::printf("\n");
    }
  });
}

DiagonalOp createDiagonalOp(int numQubits, QuESTEnv env) {
  return call(__func__, [&] { return make_diagonal(numQubits, env); });
}

void destroyDiagonalOp(DiagonalOp op, QuESTEnv) {
  std::free(op.real);
  std::free(op.imag);
}

void syncDiagonalOp(DiagonalOp op) {
  call(__func__, [&] { check_pointer(op.real, "op.real", Words::kDiagonalNotCreated); });
}

void initDiagonalOp(DiagonalOp op, qreal* real, qreal* imag) {
  call(__func__, [&] { set_elements(op, 0, real, imag, op.numElemsPerChunk * op.numChunks); });
}

void initDiagonalOpFromPauliHamil(DiagonalOp op, PauliHamil hamil) {
  call(__func__, [&] {
    check_range(hamil.numQubits, 1, 60, "hamil.numQubits", Words::kHamilSize);
    check_range(hamil.numSumTerms, 1, 1 << 30, "hamil.numSumTerms", Words::kHamilSize);
    check_pointer(op.real, "op.real", Words::kDiagonalNotCreated);
    fill_diagonal(op, hamil, "hamil");
  });
}

DiagonalOp createDiagonalOpFromPauliHamilFile(char* fn, QuESTEnv env) {
  return call(__func__, [&] {
    const PauliHamil hamil = read_hamil(fn);
    const std::unique_ptr<qreal, decltype(&std::free)> coefficients(hamil.termCoeffs, std::free);
    const std::unique_ptr<pauliOpType, decltype(&std::free)> codes(hamil.pauliCodes, std::free);
    const DiagonalOp op = make_diagonal(hamil.numQubits, env, "the number of codes a line");
    try {
      fill_diagonal(op, hamil, "the file of fn");
    } catch (...) {
      std::free(op.real);
      std::free(op.imag);
      throw;
    }
    return op;
  });
}

void setDiagonalOpElems(DiagonalOp op, long long int startInd, qreal* real, qreal* imag,
                        long long int numElems) {
  call(__func__, [&] { set_elements(op, startInd, real, imag, numElems); });
}

SubDiagonalOp createSubDiagonalOp(int numQubits) {
  return call(__func__, [&] {
    check_new_qubits(numQubits, 40, Words::kTooManyDiagonalQubits);
    SubDiagonalOp op{};
    op.numQubits = numQubits;
    op.numElems = 1LL << numQubits;
    allocate_parts(op.real, op.imag, op.numElems);
    return op;
  });
}

void destroySubDiagonalOp(SubDiagonalOp op) {
  std::free(op.real);
  std::free(op.imag);
}
