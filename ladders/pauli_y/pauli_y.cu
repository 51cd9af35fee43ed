// Pauli-Y on a state vector, a thread a pair of amplitudes: a0' = -i a1, a1' = i a0. No arithmetic
// but signs, so the order of loads and stores is all there is to see. The study keeps real and
// imaginary parts in two arrays through pointers that may alias; written value by value the
// compiler must keep a load behind the stores before it. Read everything, then write everything,
// and the loads of a pair are in flight together. Pauli-X moves the same bytes: 16 in, 16 out an
// amplitude.
#include "common/ladder.cuh"

namespace {

using ladder::check;
using ladder::Device;
using Index = unsigned long long;

// Index of pair i's amplitude whose bit `target` is 0.
__device__ __forceinline__ Index low_of(Index i, int target) {
  const Index below = (Index{1} << target) - 1;
  return ((i & ~below) << 1) | (i & below);
}
__device__ __forceinline__ Index thread_index() {
  return blockIdx.x * static_cast<Index>(blockDim.x) + threadIdx.x;
}

// The study's order: the upper value is saved, then every part is read where it is written.
__global__ void y_interleaved(double* re, double* im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double re_low = re[low], im_low = im[low];
  re[low] = im[high];
  im[low] = -re[high];
  re[high] = -im_low;
  im[high] = re_low;
}

// The same lines with the promise that the arrays do not overlap. It does not help: what binds the
// order is within an array, re[low] before re[high].
__global__ void y_restrict(double* __restrict__ re, double* __restrict__ im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double re_low = re[low], im_low = im[low];
  re[low] = im[high];
  im[low] = -re[high];
  re[high] = -im_low;
  im[high] = re_low;
}

// One part at a time: load two, store two, twice.
__global__ void y_by_parts(double* re, double* im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double first = re[low];
  re[low] = im[high];
  im[high] = first;
  const double second = im[low];
  im[low] = -re[high];
  re[high] = -second;
}

// Four loads, then four stores.
__global__ void y_batched(double* re, double* im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double re_low = re[low], im_low = im[low], re_high = re[high], im_high = im[high];
  re[low] = im_high;
  im[low] = -re_high;
  re[high] = -im_low;
  im[high] = re_low;
}

__global__ void x_interleaved(double* re, double* im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double re_low = re[low], im_low = im[low];
  re[low] = re[high];
  im[low] = im[high];
  re[high] = re_low;
  im[high] = im_low;
}

__global__ void x_batched(double* re, double* im, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double re_low = re[low], im_low = im[low], re_high = re[high], im_high = im[high];
  re[low] = re_high;
  im[low] = im_high;
  re[high] = re_low;
  im[high] = im_low;
}

// One array of complex numbers: a load or store of 16 bytes an amplitude.
__global__ void y_complex(double2* amps, int target) {
  const Index low = low_of(thread_index(), target), high = low | Index{1} << target;
  const double2 a = amps[low], b = amps[high];
  amps[low] = {b.y, -b.x};
  amps[high] = {-a.y, a.x};
}

// Four pairs a thread, a quarter of the pairs apart: eight loads of 16 bytes in flight.
__global__ void y_complex_fours(double2* amps, int target) {
  const Index quarter = gridDim.x * static_cast<Index>(blockDim.x);
  double2 a[4], b[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Index low = low_of(thread_index() + k * quarter, target);
    a[k] = amps[low];
    b[k] = amps[low | Index{1} << target];
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Index low = low_of(thread_index() + k * quarter, target);
    amps[low] = {b[k].y, -b[k].x};
    amps[low | Index{1} << target] = {-a[k].y, a[k].x};
  }
}

// A value of an index that no other has.
__global__ void fill(double* parts, Index n) {
  for (Index i = thread_index(); i < n; i += gridDim.x * static_cast<Index>(blockDim.x))
    parts[i] = 1.0 + static_cast<double>(i);
}

// How far the imaginary parts start behind 2^qubits real ones, in numbers; 0: a power of two apart.
constexpr Index kShift = 17 * 4096 + 16;

struct Step {
  const char* name;
  bool is_y, complex_pairs;
  int pairs_a_thread;
  Index shift;
  void (*split)(double*, double*, int);
  void (*joint)(double2*, int);
};
constexpr Step kSteps[] = {
    {"Y interleaved", true, false, 1, 0, y_interleaved, nullptr},
    {"Y interleaved, __restrict__", true, false, 1, 0, y_restrict, nullptr},
    {"Y part by part", true, false, 1, 0, y_by_parts, nullptr},
    {"Y batched", true, false, 1, 0, y_batched, nullptr},
    {"X interleaved", false, false, 1, 0, x_interleaved, nullptr},
    {"X batched", false, false, 1, 0, x_batched, nullptr},
    {"Y interleaved, shifted", true, false, 1, kShift, y_interleaved, nullptr},
    {"Y batched, shifted", true, false, 1, kShift, y_batched, nullptr},
    {"X batched, shifted", false, false, 1, kShift, x_batched, nullptr},
    {"Y batched, complex", true, true, 1, 0, nullptr, y_complex},
    {"Y batched, complex, 4 pairs", true, true, 4, 0, nullptr, y_complex_fours},
};

// parts: 2^qubits real then as many imaginary parts, or pairs of them.
void launch(const Step& s, double* parts, int qubits, int target) {
  constexpr int kThreads = 256;
  const Index n = Index{1} << qubits, threads = n / 2 / s.pairs_a_thread;
  const auto blocks = static_cast<unsigned>(threads / kThreads);
  if (s.complex_pairs) {
    s.joint<<<blocks, kThreads>>>(reinterpret_cast<double2*>(parts), target);
  } else {
    s.split<<<blocks, kThreads>>>(parts, parts + n + s.shift, target);
  }
  check(cudaGetLastError(), "launch");
}

// Every target on a small state against the definition.
void verify(const Step& s, int qubits) {
  const std::size_t n = std::size_t{1} << qubits;
  Device<double> parts(2 * n + kShift);
  const auto at = [&](std::size_t i, int part) {
    return s.complex_pairs ? 2 * i + part : part * (n + s.shift) + i;
  };
  for (int target = 0; target < qubits; ++target) {
    fill<<<1024, 256>>>(parts.get(), 2 * n + kShift);
    const std::vector<double> before = parts.take();
    launch(s, parts.get(), qubits, target);
    const std::vector<double> after = parts.take();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t other = i ^ std::size_t{1} << target;
      const double re = before[at(other, 0)], im = before[at(other, 1)];
      const bool high = (i >> target) & 1;
      // Y |0> = i |1>, Y |1> = -i |0>
      const double right_re = !s.is_y ? re : high ? -im : im;
      const double right_im = !s.is_y ? im : high ? re : -re;
      if (after[at(i, 0)] != right_re || after[at(i, 1)] != right_im)
        throw std::runtime_error(std::string(s.name) + " is wrong for target " +
                                 std::to_string(target));
    }
  }
}

int run(int argc, char** argv) {
  long long qubits = 30, samples = 3, targets = 0;
  ladder::Arguments args("Pauli-Y with loads and stores interleaved and batched, beside Pauli-X.");
  args.flag("--size", &qubits, 12, 33, "qubits: 16 bytes x 2^qubits")
      .flag("--samples", &samples, 1, 100, "timings of a target")
      .flag("--targets", &targets, 0, 1, "1: print every target qubit");
  if (!args.parse(argc, argv)) return 0;
  std::printf("%s\n", ladder::machine().c_str());
  for (const Step& s : kSteps) verify(s, std::min(16, static_cast<int>(qubits)));

  const Index n = Index{1} << qubits;
  Device<double> parts(2 * n + kShift);
  fill<<<4096, 256>>>(parts.get(), 2 * n + kShift);
  check(cudaDeviceSynchronize(), "filling");
  const double bytes = 32.0 * static_cast<double>(n);
  ladder::Report report("pauli_y", {"step", "calls", "mean ms", "max ms", "slowest target",
                                    "GB/s of the mean", "registers"});
  ladder::Report each("pauli_y by target", {"step", "target", "ms", "GB/s"});
  std::vector<std::vector<ladder::Report::Cell>> lines;
  for (const Step& s : kSteps) {
    double sum = 0, most = 0;
    int slowest = 0;
    for (int target = 0; target < qubits; ++target) {
      const auto times = ladder::sample_ms(
          static_cast<int>(samples), [] {}, [&] { launch(s, parts.get(), qubits, target); });
      for (const double t : times) {
        sum += t;
        if (t > most) most = t, slowest = target;
      }
      const double middle = times[times.size() / 2];
      if (targets != 0)
        each.row(
            {std::string(s.name), static_cast<long long>(target), middle, bytes / middle / 1e6});
    }
    const double mean = sum / static_cast<double>(qubits * samples);
    const ladder::KernelCost cost =
        s.complex_pairs ? ladder::kernel_cost(s.joint, 256) : ladder::kernel_cost(s.split, 256);
    lines.push_back({std::string(s.name), qubits * samples, mean, most,
                     static_cast<long long>(slowest), bytes / mean / 1e6,
                     static_cast<long long>(cost.registers)});
  }
  std::printf("\n");
  for (auto& line : lines) report.row(std::move(line));
  ladder::write_json(args.json, "ladder_pauli_y --size " + std::to_string(qubits),
                     {&report, &each});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ladder::guarded([&] { return run(argc, argv); });
}
