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
  const int n = q.numQubitsRepresented, wide = std::min(8, n - 3);
  int targets[8] = {3, 1, 4, 0, 5, 2, 6, 7}, controls[3] = {n - 3, n - 2, n - 1};
  const MatrixN five(random_unitary(5)), many([wide] {
    const std::size_t dim = std::size_t{1} << wide;
    Matrix m(dim * dim, 0);
    for (std::size_t k = 0; k < dim; ++k) m[k * dim + (k ^ 5)] = 1;
    return m;
  }());
  multiQubitUnitary(q, targets, 5, five.value);
  applyMultiControlledGateMatrixN(q, controls, 3, targets, wide, many.value);
  qreal coefficient = 1, exponent = 2;
  applyPhaseFunc(q, targets, wide, UNSIGNED, &coefficient, &exponent, 1);
  SubDiagonalOp op = createSubDiagonalOp(wide);
  for (int k = 0; k < 1 << wide; ++k) op.real[k] = 1;
  diagonalUnitary(q, targets, wide, op);
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

// Kernels' code is loaded with the context, not beside the first register that needs it.
[[maybe_unused]] const int g_eager = setenv("CUDA_MODULE_LOADING", "EAGER", 0);

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

// How many devices of this process share a register: "cuda:0-3".
int num_devices(const std::string& device) {
  const std::size_t colon = device.find(':'), dash = device.find('-');
  if (dash == std::string::npos) return 1;
  return std::stoi(device.substr(dash + 1)) - std::stoi(device.substr(colon + 1)) + 1;
}

// Runs everything on a register of n state qubits; what it held on one of its devices at most.
double held_by(int n, bool is_density) {
  int device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  const double before = free_on_device();
  std::atomic<bool> is_done = false;
  std::atomic<double> least = before;
  std::thread watcher([&] {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    while (!is_done) {
      least = std::min(least.load(), free_on_device());
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  const Qureg q =
      is_density ? createDensityQureg(n / 2, environment()) : createQureg(n, environment());
  try {
    run_all(q);
  } catch (const std::exception& e) {
    ADD_FAILURE() << n << " qubits: " << e.what();
  }
  is_done = true;
  watcher.join();
  destroyQureg(q, environment());
  return before - least;
}

}  // namespace

// The same on a device, or on several that share each register. What is there before: CUDA's
// context, NCCL's, the code of the kernels, and what all registers share, for which a small one
// stands; a first run of the same size brings these.
TEST(Memory, OneStateOnTheDevice) {
  const char* device = std::getenv("TILEWAVE_DEVICE");
  if (!device || std::string(device).rfind("cuda", 0) != 0) {
    GTEST_SKIP() << "set TILEWAVE_DEVICE=cuda:0 to measure a device";
  }
  const Qureg small = createQureg(16, environment());
  run_all(small);
  const int shares = num_devices(device) * environment().numRanks;
  const auto state_bytes = [&](int n) { return sizeof(qreal) * 2.0 * std::ldexp(1, n) / shares; };
  for (const int n : {20, 22, 24, 26, 28, 30}) {
    if (1.1 * state_bytes(n) > free_on_device()) continue;
    for (const bool is_density : {false, true}) {
      held_by(n, is_density);
      const double held = held_by(n, is_density), state = state_bytes(n);
      std::printf("%d qubits%s: %.1f MiB held, %.4f of the state\n", n,
                  is_density ? " (density matrix)" : "", held / (1 << 20), held / state);
      EXPECT_GE(held, 0.99 * state);
      EXPECT_LE(held, 1.04 * state);
    }
  }
  destroyQureg(small, environment());
}
#endif
#endif
