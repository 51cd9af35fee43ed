// Pauli frames: a frame is a Pauli (bits x, z a qubit) that a Clifford circuit carries along:
//   H: x <-> z   S: z ^= x   CX a b: x_b ^= x_a, z_a ^= z_b   M: record x, z ^= coin
//   R: x = 0, z = coin   flip: x ^= (1 with probability 1/16)
// The same circuit by six kernels: from one launch a gate and one frame a thread (a thread moves
// one bit of a 32-bit word) to 32 shots a word in shared memory and the whole circuit in one
// launch. Random words are Philox of (operation, group of 32 shots), so every kernel gives the same
// bits as the CPU, and is compared with it before it is timed.
#include <numeric>
#include <random>

#include "common/ladder.cuh"
#include "tilewave/base/philox.h"

namespace {

using ladder::check;
using ladder::Device;
using Word = std::uint32_t;

enum Code : std::uint16_t { kH, kS, kCx, kFlip, kMeasure, kReset };
struct Gate {
  std::uint16_t code, a, b, record;
};

// Operations in layers: no qubit twice in a layer.
struct Circuit {
  int qubits, records = 0;
  std::vector<Gate> gates;
  std::vector<int> layers{0};  // first gate of each layer, and the end
};

// Resets, then rounds of: H or S on half of the qubits, CX on random pairs, and on a quarter of the
// qubits a flip, a measurement and a reset.
Circuit make_circuit(int qubits, int rounds) {
  Circuit c{qubits};
  std::mt19937 random(1);
  std::vector<std::uint16_t> order(static_cast<std::size_t>(qubits));
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  const auto layer = [&](int count, auto&& gate) {
    for (int i = 0; i < count; ++i) c.gates.push_back(gate(i));
    c.layers.push_back(static_cast<int>(c.gates.size()));
  };
  layer(qubits, [&](int i) { return Gate{kReset, order[i], 0, 0}; });
  for (int r = 0; r < rounds; ++r) {
    std::shuffle(order.begin(), order.end(), random);
    layer(qubits / 2, [&](int i) { return Gate{i % 2 ? kH : kS, order[i], 0, 0}; });
    std::shuffle(order.begin(), order.end(), random);
    layer(qubits / 2, [&](int i) { return Gate{kCx, order[2 * i], order[2 * i + 1], 0}; });
    std::shuffle(order.begin(), order.end(), random);
    layer(qubits / 4, [&](int i) { return Gate{kFlip, order[i], 0, 0}; });
    layer(qubits / 4, [&](int i) {
      return Gate{kMeasure, order[i], 0, static_cast<std::uint16_t>(c.records++)};
    });
    layer(qubits / 4, [&](int i) { return Gate{kReset, order[i], 0, 0}; });
  }
  return c;
}

// The random word of operation `tick` for shots 32 unit .. 32 unit + 31.
__host__ __device__ inline Word random_word(Code code, Word tick, Word unit) {
  const tilewave::Philox4x32 r = tilewave::philox4x32({{tick, unit, 0, 0}}, 12345, 67890);
  return code == kFlip ? r.v[0] & r.v[1] & r.v[2] & r.v[3] : r.v[0];
}
__host__ __device__ inline bool is_random(Code code) { return code >= kFlip; }

// The algebra, whatever a word's bits are. Returns what a measurement records.
__host__ __device__ inline Word apply(Code code, Word& xa, Word& za, Word& xb, Word& zb,
                                      Word random) {
  Word record = 0;
  switch (code) {
    case kH: {
      const Word x = xa;
      xa = za;
      za = x;
      break;
    }
    case kS:
      za ^= xa;
      break;
    case kCx:
      xb ^= xa;
      za ^= zb;
      break;
    case kFlip:
      xa ^= random;
      break;
    case kMeasure:
      record = xa;
      za ^= random;
      break;
    case kReset:
      xa = 0;
      za = random;
      break;
  }
  return record;
}

// ---- a frame a thread: frames[shot][x words, z words], records[m][shot] in bytes ----

struct Frames {
  Word* words;
  std::uint8_t* records;
  int words_a_part;
  Word shots;
};

__device__ __forceinline__ void apply_to_frame(const Frames& f, Gate g, Word tick, Word shot) {
  Word* x = f.words + static_cast<std::size_t>(shot) * 2 * f.words_a_part;
  Word* z = x + f.words_a_part;
  const Code code = static_cast<Code>(g.code);
  const int wa = g.a / 32, sa = g.a % 32, wb = g.b / 32, sb = g.b % 32;
  Word xa = (x[wa] >> sa) & 1, za = (z[wa] >> sa) & 1, xb = 0, zb = 0;
  if (code == kCx) xb = (x[wb] >> sb) & 1, zb = (z[wb] >> sb) & 1;
  const Word random = is_random(code) ? (random_word(code, tick, shot / 32) >> (shot % 32)) & 1 : 0;
  const Word record = apply(code, xa, za, xb, zb, random);
  x[wa] = (x[wa] & ~(Word{1} << sa)) | xa << sa;
  z[wa] = (z[wa] & ~(Word{1} << sa)) | za << sa;
  if (code == kCx) x[wb] = (x[wb] & ~(Word{1} << sb)) | xb << sb;
  if (code == kMeasure)
    f.records[static_cast<std::size_t>(g.record) * f.shots + shot] =
        static_cast<std::uint8_t>(record);
}
__device__ __noinline__ void call_to_frame(const Frames& f, Gate g, Word tick, Word shot) {
  apply_to_frame(f, g, tick, shot);
}

__global__ void one_gate(Frames f, Gate g, Word tick) {
  const Word shot = blockIdx.x * blockDim.x + threadIdx.x;
  if (shot < f.shots) apply_to_frame(f, g, tick, shot);
}

constexpr int kBatch = 200;
struct Batch {
  Gate gates[kBatch];
  int count;
  Word first;
};
template <bool kInline>
__global__ void one_batch(Frames f, const __grid_constant__ Batch b) {
  const Word shot = blockIdx.x * blockDim.x + threadIdx.x;
  if (shot >= f.shots) return;
  for (int i = 0; i < b.count; ++i) {
    if constexpr (kInline) {
      apply_to_frame(f, b.gates[i], b.first + i, shot);
    } else {
      call_to_frame(f, b.gates[i], b.first + i, shot);
    }
  }
}

__global__ void gate_list(Frames f, const Gate* __restrict__ gates, int count) {
  const Word shot = blockIdx.x * blockDim.x + threadIdx.x;
  if (shot >= f.shots) return;
  for (int i = 0; i < count; ++i) apply_to_frame(f, gates[i], i, shot);
}

// ---- 32 shots a word: x[qubit][unit], z[qubit][unit], records[m][unit] ----

// `stride` words from a qubit to the next, my unit's at x and z.
__device__ __forceinline__ void apply_to_unit(Word* x, Word* z, std::size_t stride, Gate g,
                                              Word tick, Word unit, Word* records, Word units) {
  const Code code = static_cast<Code>(g.code);
  const std::size_t a = g.a * stride, b = g.b * stride;
  Word xa = x[a], za = z[a], xb = 0, zb = 0;
  if (code == kCx) xb = x[b], zb = z[b];
  const Word record =
      apply(code, xa, za, xb, zb, is_random(code) ? random_word(code, tick, unit) : 0);
  x[a] = xa, z[a] = za;
  if (code == kCx) x[b] = xb;
  if (code == kMeasure) records[static_cast<std::size_t>(g.record) * units + unit] = record;
}

__global__ void packed_global(Word* x, Word* z, Word* records, Word units,
                              const Gate* __restrict__ gates, int count) {
  const Word unit = blockIdx.x * blockDim.x + threadIdx.x;
  if (unit >= units) return;
  for (int i = 0; i < count; ++i)
    apply_to_unit(x + unit, z + unit, units, gates[i], i, unit, records, units);
}

// 32 units a block, a warp: the frames stay in shared memory for the whole circuit.
__global__ void packed_shared(Word* records, Word units, int qubits, const Gate* __restrict__ gates,
                              int count) {
  extern __shared__ Word state[];
  Word *x = state + threadIdx.x, *z = x + 32 * qubits;
  const Word unit = blockIdx.x * 32 + threadIdx.x;
  for (int i = 0; i < count; ++i) apply_to_unit(x, z, 32, gates[i], i, unit, records, units);
}

// The gates of a layer are dealt to the block's warps; a barrier between layers.
constexpr int kWorkers = 16;
__global__ void __launch_bounds__(32 * kWorkers)
    packed_layers(Word* records, Word units, int qubits, const Gate* __restrict__ gates,
                  const int* __restrict__ layers, int num_layers) {
  extern __shared__ Word state[];
  const int lane = threadIdx.x % 32, worker = threadIdx.x / 32;
  Word *x = state + lane, *z = x + 32 * qubits;
  const Word unit = blockIdx.x * 32 + lane;
  for (int k = 0; k < num_layers; ++k) {
    for (int i = layers[k] + worker; i < layers[k + 1]; i += kWorkers)
      apply_to_unit(x, z, 32, gates[i], i, unit, records, units);
    __syncthreads();
  }
}

// ---- host ----

std::vector<Word> reference(const Circuit& c, Word units) {
  std::vector<Word> records(static_cast<std::size_t>(c.records) * units);
#pragma omp parallel
  {
    std::vector<Word> x(static_cast<std::size_t>(c.qubits)), z(x.size());
#pragma omp for
    for (Word unit = 0; unit < units; ++unit) {
      for (std::size_t i = 0; i < c.gates.size(); ++i) {
        const Gate g = c.gates[i];
        const Code code = static_cast<Code>(g.code);
        const Word random =
            is_random(code) ? random_word(code, static_cast<Word>(i), unit) : Word{0};
        const Word record = apply(code, x[g.a], z[g.a], x[g.b], z[g.b], random);
        if (code == kMeasure) records[static_cast<std::size_t>(g.record) * units + unit] = record;
      }
    }
  }
  return records;
}

int run(int argc, char** argv) {
  long long qubits = 256, rounds = 12, log_shots = 20, samples = 5;
  ladder::Arguments args("Pauli frames of one circuit, from a launch a gate to shared memory.");
  args.flag("--size", &log_shots, 10, 24, "2^N shots")
      .flag("--qubits", &qubits, 32, 768, "qubits, a multiple of 32")
      .flag("--rounds", &rounds, 1, 100, "rounds of the circuit")
      .flag("--samples", &samples, 1, 100, "timings of a step, the median counts");
  if (!args.parse(argc, argv)) return 0;
  if (qubits % 32 != 0) throw std::runtime_error("--qubits must be a multiple of 32");
  std::printf("%s\n", ladder::machine().c_str());
  const Circuit c = make_circuit(static_cast<int>(qubits), static_cast<int>(rounds));
  const Word shots = Word{1} << log_shots, units = shots / 32;
  const int count = static_cast<int>(c.gates.size());
  std::printf("%d qubits, %d operations in %d layers, %d records, %u shots\n", c.qubits, count,
              static_cast<int>(c.layers.size()) - 1, c.records, shots);
  const std::vector<Word> right = reference(c, units);
  std::int64_t ones = 0;
  for (const Word w : right) ones += __builtin_popcount(w);
  std::printf("share of ones in the records: %.4f\n",
              static_cast<double>(ones) / (32.0 * static_cast<double>(right.size())));

  const Device<Gate> gates(c.gates);
  const Device<int> layers(c.layers);
  Device<Word> words(static_cast<std::size_t>(shots) * 2 * qubits / 32);
  Device<Word> packed_records(right.size());
  Device<std::uint8_t> byte_records(static_cast<std::size_t>(c.records) * shots);
  const Frames f{words.get(), byte_records.get(), static_cast<int>(qubits / 32), shots};
  const unsigned frame_blocks = (shots + 255) / 256, unit_blocks = (units + 127) / 128,
                 groups = units / 32;
  const int shared_bytes = static_cast<int>(qubits) * 2 * 32 * 4;
  check(cudaFuncSetAttribute(packed_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             shared_bytes),
        "shared memory");
  check(cudaFuncSetAttribute(packed_layers, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             shared_bytes),
        "shared memory");
  std::vector<Batch> batches;
  for (int first = 0; first < count; first += kBatch) {
    Batch b{};
    b.count = std::min(kBatch, count - first);
    b.first = static_cast<Word>(first);
    std::copy_n(c.gates.begin() + first, b.count, b.gates);
    batches.push_back(b);
  }

  ladder::Report report("frames", {"step", "launches", "ms", "ps an operation x shot", "M shots/s",
                                   "registers", "occupancy %"});
  const auto step = [&](const char* name, long long launches, bool bytes,
                        const ladder::KernelCost& cost, auto&& body) {
    words.poison();
    packed_records.poison();
    byte_records.poison();
    body();
    check(cudaGetLastError(), name);
    bool good = true;
    if (bytes) {
      const std::vector<std::uint8_t> got = byte_records.take();
#pragma omp parallel for reduction(&& : good)
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(right.size()); ++i) {
        for (int k = 0; k < 32; ++k) good = good && got[32 * i + k] == ((right[i] >> k) & 1);
      }
    } else {
      good = packed_records.take() == right;
    }
    if (!good) throw std::runtime_error(std::string(name) + " is wrong");
    const double ms = ladder::median_ms(static_cast<int>(samples), body);
    report.row({std::string(name), launches, ms, 1e9 * ms / count / shots, shots / ms / 1e3,
                static_cast<long long>(cost.registers),
                static_cast<long long>(cost.occupancy_percent)});
  };
  step("a launch a gate, a frame a thread", count, true, ladder::kernel_cost(one_gate, 256), [&] {
    for (int i = 0; i < count; ++i) one_gate<<<frame_blocks, 256>>>(f, c.gates[i], i);
  });
  step("200 gates a launch, called", static_cast<long long>(batches.size()), true,
       ladder::kernel_cost(one_batch<false>, 256), [&] {
         for (const Batch& b : batches) one_batch<false><<<frame_blocks, 256>>>(f, b);
       });
  step("200 gates a launch, inlined", static_cast<long long>(batches.size()), true,
       ladder::kernel_cost(one_batch<true>, 256), [&] {
         for (const Batch& b : batches) one_batch<true><<<frame_blocks, 256>>>(f, b);
       });
  step("the gate list as data", 1, true, ladder::kernel_cost(gate_list, 256),
       [&] { gate_list<<<frame_blocks, 256>>>(f, gates.get(), count); });
  step("32 shots a word, global memory", 1, false, ladder::kernel_cost(packed_global, 128), [&] {
    packed_global<<<unit_blocks, 128>>>(words.get(), words.get() + std::size_t{units} * qubits,
                                        packed_records.get(), units, gates.get(), count);
  });
  step("32 shots a word, shared memory", 1, false,
       ladder::kernel_cost(packed_shared, 32, shared_bytes), [&] {
         packed_shared<<<groups, 32, shared_bytes>>>(packed_records.get(), units, c.qubits,
                                                     gates.get(), count);
       });
  step("layers dealt to 16 warps", 1, false,
       ladder::kernel_cost(packed_layers, 32 * kWorkers, shared_bytes), [&] {
         packed_layers<<<groups, 32 * kWorkers, shared_bytes>>>(
             packed_records.get(), units, c.qubits, gates.get(), layers.get(),
             static_cast<int>(c.layers.size()) - 1);
       });
  ladder::write_json(args.json, "ladder_frames --size " + std::to_string(log_shots), {&report});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ladder::guarded([&] { return run(argc, argv); });
}
