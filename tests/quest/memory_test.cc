// A register holds its state and next to nothing else, whatever is called on it: the peak memory of
// a program of its own per case.
#if !defined(__SANITIZE_ADDRESS__)  // whose own memory would count
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#ifdef TW_TEST_CUDA
#include <cuda_runtime_api.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "dense.h"

using namespace dense;

namespace {

constexpr int kQubits = sizeof(qreal) == 8 ? 24 : 25;  // 256 MiB

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// Runs f on a register of about kQubits state qubits; exits with 0 where the peak stayed
// within 1.04 times the state: threads' tiles and the matrices of the calls included.
void run_measured(bool is_density, const std::function<void(Qureg)>& f) {
  setenv("TILEWAVE_DEVICE", "cpu", 1);
  omp_set_num_threads(2);  // each has buffers of its own, whose number must not follow the machine
  environment();
  const int qubits = is_density ? 24 : kQubits;
  const Qureg small = createQureg(12, environment());  // brings the code that runs into memory
  f(small);
  destroyQureg(small, environment());
  const double before = peak_bytes(), state = sizeof(qreal) * 2.0 * (1 << qubits);
  const Qureg q = is_density ? createDensityQureg(qubits / 2, environment())
                             : createQureg(qubits, environment());
  f(q);
  const double held = peak_bytes() - before;
  std::fprintf(stderr, "peak %.1f MB, state %.1f MB\n", held / 1e6, state / 1e6);
  std::exit(held > 0.99 * state && held <= 1.04 * state ? 0 : 1);
}

void gates(Qureg q) {
  const int n = q.numQubitsRepresented;
  for (int k = 0; k < n; ++k) {
    hadamard(q, k % n);
    controlledRotateX(q, k % n, (k + 5) % n, qreal(0.3));
    tGate(q, (k + 7) % n);
  }
  applyFullQFT(q);
  calcTotalProb(q);
}

void observe(Qureg q) {
  gates(q);
  const int n = q.numQubitsRepresented;
  for (int k = 0; k < n; ++k) calcProbOfOutcome(q, k, 1);
  int targets[3] = {0, 4, n - 1};
  pauliOpType codes[3] = {PAULI_X, PAULI_Y, PAULI_Z};
  calcExpecPauliProd(q, targets, codes, 3, q);
  qreal p[8];
  calcProbOfAllOutcomes(p, q, targets, 3);
  measure(q, n - 1);
  collapseToOutcome(q, 0, calcProbOfOutcome(q, 0, 1) > qreal(0.5));
  if (q.isDensityMatrix) {
    calcPurity(q);
    calcDensityInnerProduct(q, q);
  } else {
    calcInnerProduct(q, q);
  }
}

void whole_state(Qureg q) {
  int targets[8] = {3, 1, 4, 0, 5, 9, 2, 6}, controls[3] = {7, 8, 11};
  const MatrixN wide(random_unitary(5)), wider([] {
    Matrix m(256 * 256, 0);
    for (std::size_t k = 0; k < 256; ++k) m[k * 256 + (k ^ 5)] = 1;
    return m;
  }());
  multiQubitUnitary(q, targets, 5, wide.value);
  applyMultiControlledGateMatrixN(q, controls, 3, targets, 8, wider.value);
  qreal coefficient = 1, exponent = 2;
  applyPhaseFunc(q, targets, 8, UNSIGNED, &coefficient, &exponent, 1);
  SubDiagonalOp op = createSubDiagonalOp(8);
  for (int k = 0; k < 256; ++k) op.real[k] = 1;
  diagonalUnitary(q, targets, 8, op);
  destroySubDiagonalOp(op);
  qreal values[4] = {1, 0, 0, 0};
  if (q.isDensityMatrix) {
    setDensityAmps(q, 1, 0, values, values, 4);
    mixDepolarising(q, 3, qreal(0.1));
    mixTwoQubitDepolarising(q, 0, 7, qreal(0.1));
  } else {
    setAmps(q, 100, values, values, 4);
  }
  initDebugState(q);
  initPlusState(q);
  calcTotalProb(q);
}

}  // namespace

TEST(MemoryDeathTest, OneState) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (bool is_density : {false, true}) {
    EXPECT_EXIT(run_measured(is_density, observe), testing::ExitedWithCode(0), "peak");
    EXPECT_EXIT(run_measured(is_density, whole_state), testing::ExitedWithCode(0), "peak");
  }
}

#ifdef TW_TEST_CUDA
namespace {

double free_on_device() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return static_cast<double>(free);
}

void run_all(Qureg q) {
  gates(q);
  observe(q);
  whole_state(q);
}

}  // namespace

// The same on a device. CUDA's context and the code of its kernels are there before: every kernel
// has run on small registers.
TEST(Memory, OneStateOnTheDevice) {
  const char* device = std::getenv("TILEWAVE_DEVICE");
  if (!device || std::string(device).rfind("cuda", 0) != 0) {
    GTEST_SKIP() << "set TILEWAVE_DEVICE=cuda:0 to measure a device";
  }
  for (bool is_density : {false, true}) {
    const Qureg small =
        is_density ? createDensityQureg(12, environment()) : createQureg(12, environment());
    run_all(small);
    destroyQureg(small, environment());
  }
  const double before = free_on_device();
  // scratch memory of a fixed size is beside the state: it counts, so the state is large
  int n = 30;
  const auto state_bytes = [](int qubits) { return sizeof(qreal) * 2.0 * std::ldexp(1, qubits); };
  while (n > 24 && 1.1 * state_bytes(n) > before) n -= 2;
  for (bool is_density : {false, true}) {
    std::atomic<bool> is_done = false;
    std::atomic<double> least = before;
    std::thread watcher([&] {
      while (!is_done) {
        least = std::min(least.load(), free_on_device());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    const Qureg q =
        is_density ? createDensityQureg(n / 2, environment()) : createQureg(n, environment());
    run_all(q);
    is_done = true;
    watcher.join();
    destroyQureg(q, environment());
    const double held = before - least, state = state_bytes(n);
    std::printf("%d qubits: %.1f MiB held, %.4f of the state\n", n, held / (1 << 20), held / state);
    EXPECT_GE(held, 0.99 * state);
    EXPECT_LE(held, 1.04 * state);
  }
}
#endif
#endif
