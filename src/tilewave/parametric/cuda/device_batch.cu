// See device_batch.h.
#include "tilewave/parametric/cuda/device_batch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/parametric/cuda/batch_machine.cuh"
#include "tilewave/parametric/cuda/device_array.cuh"
#include "tilewave/runtime/finite_copy.h"

namespace tilewave::parametric {
namespace {

using device::Amplitude;
using device::Array;
using device::BatchClass;
using device::BatchSegment;
using device::BatchStrings;
using device::BatchView;
using device::DeviceBatchOp;
using device::TeamShape;
namespace cuda = runtime::cuda;

constexpr int kReg = 4, kHeld = 1 << kReg;
constexpr std::size_t kOwnBytes = std::size_t{1} << 10;  // of shared memory, of the kernel itself
// Bytes of values of the sets that a kernel takes: enough for all blocks of a device, and little enough
// that copies of other sets beside it are a part of the whole.
constexpr std::size_t kValueBytes = std::size_t{16} << 20;
constexpr std::size_t kFewestSets = 4096;  // unless there are fewer

/// A sum of terms, most often of one.
struct alignas(16) DeviceSum {
  double constant = 0, coefficient = 0;
  std::uint32_t of = 0;               // of the first term: a parameter, or a slot
  std::uint32_t first = 0, more = 0;  // the others
  std::uint32_t shears = 0;           // an angle whose rotation is three of them
};
struct DeviceTerm {
  std::uint32_t of;
  double coefficient;
};
static_assert(sizeof(DeviceSum) == 32);

template <class T>
struct BatchArguments {
  BatchView<T> program;
  BatchStrings<T> strings;
  const DeviceSum *angles, *derivatives;  // of each slot, of each parameter
  const DeviceTerm* terms;                // of both
  std::uint32_t num_slots, num_parameters, num_observables, sets;
  const double *values, *v;         // v: of gradients
  double *expectations, *gradient;  // [set][observable], [set][parameter]
  unsigned char* far;  // [team]: slots and sums, where shared memory has no room for them
};

// Blocks of a multiprocessor are as many as registers allow: a state takes 64 of a thread in double
// precision.
constexpr int kBlockThreads = 128;
constexpr int kAtATime = 4;  // angles of a thread
template <class T, int kRow, bool kGradient>
struct BatchShape : TeamShape<T, kRow, kReg> {
  using Team = TeamShape<T, kRow, kReg>;
  static constexpr int kBlock = Team::kThreads < kBlockThreads ? kBlockThreads : Team::kThreads;
  static constexpr int kTeams = kBlock / Team::kThreads;
  static constexpr int kWarpsAtLeast =
      sizeof(T) == 8 ? (kGradient ? 8 : 16) : (kGradient ? 16 : 24);
  static constexpr int kBlocks = kWarpsAtLeast * 32 / kBlock;

  // What a team has beside its tile.
  __host__ __device__ static std::size_t slot_bytes(std::size_t slots) {
    return sizeof(Amplitude<T>) * ((slots + 1) / 2 * 2);
  }
  __host__ __device__ static std::size_t team_bytes(std::size_t slots, std::size_t observables) {
    const std::size_t sums = (kGradient ? slots : 0) + observables;
    return slot_bytes(slots) + (Team::kWarps * sums + 1) / 2 * 2 * sizeof(double);
  }
};

__device__ inline double more_of(const DeviceSum& sum, const DeviceTerm* terms,
                                 const double* values) {
  double x = 0;
#pragma unroll 1
  for (std::uint32_t k = 0; k < sum.more; ++k)
    x += terms[sum.first + k].coefficient * values[terms[sum.first + k].of];
  return x;
}

/// What a slot keeps of its angle: cosine and sine, or what three shears are made with.
template <class T>
__device__ Amplitude<T> factor_of(double angle, bool shears) {
  double s, c;
  sincos(angle, &s, &c);
  if (shears) {
    // the half turn that is left out is a sign of the whole state
    if (c < 0) c = -c, s = -s;
    c = s / (1 + c);
  }
  return {static_cast<T>(c), static_cast<T>(s)};
}

template <class T, int kRow, bool kGradient, bool kFar>
__global__ __launch_bounds__(
    BatchShape<T, kRow, kGradient>::kBlock,
    BatchShape<T, kRow, kGradient>::kBlocks) void run_batch(const BatchArguments<T> a) {
  using S = BatchShape<T, kRow, kGradient>;
  constexpr int kThreads = S::kThreads;
  const std::uint32_t thread = threadIdx.x % kThreads, team = threadIdx.x / kThreads;
  const std::uint32_t num_reads = kGradient ? a.num_slots : 0;
  const std::uint32_t num_sums = num_reads + a.num_observables;  // observables behind derivatives
  // all of the team: its first warp's sums
  device::TeamSlots<T, kFar> all;
  const auto own_bytes = static_cast<std::uint32_t>(S::team_bytes(a.num_slots, a.num_observables));
  all.tile = team * static_cast<std::uint32_t>(S::kTileBytes);
  all.own = kFar ? 0 : S::kTeams * static_cast<std::uint32_t>(S::kTileBytes) + team * own_bytes;
  all.own_sums = all.own + static_cast<std::uint32_t>(S::slot_bytes(a.num_slots));
  all.far_base = kFar ? a.far + std::uint64_t{blockIdx.x * S::kTeams + team} * own_bytes : nullptr;
  device::TeamSlots<T, kFar> slots = all;
  slots.own_sums += thread / 32 * num_sums * static_cast<std::uint32_t>(sizeof(double));

#pragma unroll 1
  for (std::uint32_t base = blockIdx.x * S::kTeams; base < a.sets; base += gridDim.x * S::kTeams) {
    const std::uint32_t set = min(base + team, a.sets - 1);  // the last one more than once
    const double* values = a.values + std::uint64_t{set} * a.num_parameters;
    S::sync();  // the set before is finished

    // angles first, several on their way at a time
#pragma unroll 1
    for (std::uint32_t first = thread; first < a.num_slots; first += kAtATime * kThreads) {
      DeviceSum of[kAtATime];
      double x[kAtATime];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i)
        of[i] = a.angles[min(first + i * kThreads, a.num_slots - 1)];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) x[i] = of[i].coefficient != 0 ? values[of[i].of] : 0;
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
        x[i] = of[i].constant + of[i].coefficient * x[i] + more_of(of[i], a.terms, values);
        const std::uint32_t k = first + i * kThreads;
        if (k < a.num_slots) slots.factor(k) = factor_of<T>(x[i], of[i].shears);
      }
    }
    if (thread % 32 == 0) {
      for (std::uint32_t k = num_reads; k < num_sums; ++k) slots.sum(k) = 0;
    }
    S::sync();

    device::Team<T, kRow, kReg, false, kFar> forward;
    forward.slots = slots;
    forward.thread = thread;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) forward.psi[k] = {k == 0 && thread == 0 ? T(1) : T(0), T(0)};
    forward.run(a.program);
    if constexpr (kGradient) {
      device::Team<T, kRow, kReg, true, kFar> back;
      back.slots = slots;
      back.thread = thread;
#pragma unroll
      for (int k = 0; k < kHeld; ++k) back.lam[k] = {0, 0};
      forward.template add_strings<true>(a.strings, num_reads, back.lam,
                                         a.v + std::uint64_t{set} * a.num_observables);
#pragma unroll
      for (int k = 0; k < kHeld; ++k) back.psi[k] = forward.psi[k];
      back.run(a.program);
    } else {
      forward.template add_strings<false>(a.strings, num_reads, nullptr, nullptr);
    }
    S::sync();
    if constexpr (S::kWarps > 1) {
      for (std::uint32_t k = thread; k < num_sums; k += kThreads) {
        double sum = all.sum(k);
        for (int w = 1; w < S::kWarps; ++w) sum += all.sum(w * num_sums + k);
        all.sum(k) = sum;
      }
      S::sync();
    }
    if (base + team != set) continue;
    for (std::uint32_t m = thread; m < a.num_observables; m += kThreads)
      a.expectations[std::uint64_t{set} * a.num_observables + m] = all.sum(num_reads + m);
    if constexpr (kGradient) {
#pragma unroll 4
      for (std::uint32_t p = thread; p < a.num_parameters; p += kThreads) {
        const DeviceSum of = a.derivatives[p];
        double x = of.coefficient != 0 ? of.coefficient * all.sum(of.of) : 0;
        if (of.more) x += more_of(of, a.terms, &all.sum(0));
        a.gradient[std::uint64_t{set} * a.num_parameters + p] = x;
      }
    }
  }
}

// How a kernel is launched.
template <class T>
struct Launch {
  void (*near)(BatchArguments<T>) = nullptr;  // slots in shared memory
  void (*far)(BatchArguments<T>) = nullptr;   // null where a larger tile serves such circuits
  int block = 0, teams = 0;
  std::size_t tile_bytes = 0;
  std::size_t (*team_bytes)(std::size_t slots, std::size_t observables) = nullptr;

  // Of a block.
  std::size_t tiles_bytes() const { return static_cast<std::size_t>(teams) * tile_bytes; }
  std::size_t own_bytes(std::size_t slots, std::size_t observables) const {
    return static_cast<std::size_t>(teams) * team_bytes(slots, observables);
  }
};
template <class T, int kRow, bool kGradient>
Launch<T> launch_of() {
  using S = BatchShape<T, kRow, kGradient>;
  Launch<T> launch{&run_batch<T, kRow, kGradient, false>,
                   nullptr,
                   S::kBlock,
                   S::kTeams,
                   S::kTileBytes,
                   &S::team_bytes};
  if constexpr (kRow == 8 || kRow == kMostBatchWires)
    launch.far = &run_batch<T, kRow, kGradient, true>;
  return launch;
}
// Tiles of 4, 6, 8, 10 and 12 bits: states of up to as many qubits.
constexpr int row_bits_for(int wires) { return std::max(4, (wires + 1) / 2 * 2); }
template <class T, bool kGradient>
Launch<T> launch_for(int row_bits) {
  switch (row_bits) {
    case 4:
      return launch_of<T, 4, kGradient>();
    case 6:
      return launch_of<T, 6, kGradient>();
    case 8:
      return launch_of<T, 8, kGradient>();
    case 10:
      return launch_of<T, 10, kGradient>();
    default:
      return launch_of<T, 12, kGradient>();
  }
}

// A program's arrays on a device.
template <class T>
class DeviceBatchProgram {
 public:
  static constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;

  DeviceBatchProgram(const BatchProgram& p, const cuda::Stream& stream)
      : num_ops_(static_cast<std::uint32_t>(p.ops.size())),
        phases_(p.phases, stream),
        matrices_(p.matrices, stream) {
    constexpr std::uint32_t kBytes = sizeof(Amplitude<T>);
    std::vector<DeviceBatchOp> ops;
    for (const BatchOp& op : p.ops) {
      DeviceBatchOp own{};
      own.what = static_cast<std::uint32_t>(op.kind) | std::uint32_t{op.bits} << 8 |
                 std::uint32_t{op.registers} << 16 | std::uint32_t{op.register_value} << 24;
      own.threads = op.thread | std::uint32_t{op.thread_value} << 16;
      own.index = op.index;
      own.slot = op.slot;
      own.from[0] = op.reads > 0;
      if (op.kind == BatchOpKind::kExchange) {
        const Exchange& e = p.exchanges[op.index];
        TW_CHECK(!e.num_conditions, "all wires are in the tile");
        own.from[0] = 0;
        for (int b = 0; b < p.register_bits; ++b) {
          own.from[b / 2] |= e.from[b] * kBytes << 16 * (b % 2);
          own.to[b / 2] |= e.to[b] * kBytes << 16 * (b % 2);
        }
      }
      ops.push_back(own);
    }
    std::vector<std::uint32_t> addresses;
    const int thread_bits = p.row_bits - p.register_bits;
    for (const Exchange& e : p.exchanges) {
      for (std::uint32_t t = 0; t < 1u << thread_bits; ++t) {
        std::uint32_t from = e.plus, to = 0;
        for (int b = 0; b < thread_bits; ++b) {
          if (!(t >> b & 1)) continue;
          from ^= e.from[p.register_bits + b];
          to ^= e.to[p.register_bits + b];
        }
        addresses.push_back(from * kBytes | to * kBytes << 16);
      }
    }
    std::vector<std::uint16_t> threads;
    for (const BatchSlot& s : p.slots) threads.push_back(s.thread);
    std::vector<Amplitude<T>> entries;
    for (const cplx& x : p.entries)
      entries.push_back({static_cast<T>(x.real()), static_cast<T>(x.imag())});
    ops_ = Array<DeviceBatchOp>(ops, stream);
    addresses_ = Array<std::uint32_t>(addresses, stream);
    threads_ = Array<std::uint16_t>(threads, stream);
    entries_ = Array<Amplitude<T>>(entries, stream);
    stream.synchronize();
  }
  BatchView<T> view() const {
    return {ops_.data(),      addresses_.data(), phases_.data(), threads_.data(),
            matrices_.data(), entries_.data(),   num_ops_};
  }

 private:
  std::uint32_t num_ops_;
  Array<DeviceBatchOp> ops_;
  Array<BatchPhases> phases_;
  Array<BatchMatrix> matrices_;
  Array<std::uint32_t> addresses_;
  Array<std::uint16_t> threads_;
  Array<Amplitude<T>> entries_;
};

}  // namespace

template <class T>
struct DeviceBatch<T>::Data {
  int index;
  std::uint32_t num_parameters, num_observables, num_slots;
  cuda::Stream stream;
  DeviceBatchProgram<T> there;
  Array<BatchSegment> segments;
  Array<BatchClass> classes;
  Array<device::DeviceString<T>> strings;
  Array<DeviceSum> angles, derivatives;
  Array<DeviceTerm> terms;
  std::uint32_t num_segments = 0;

  // Expectations alone, and with gradients.
  struct Kernel {
    Launch<T> launch;
    void (*run)(BatchArguments<T>) = nullptr;
    std::size_t shared = 0, far = 0;  // bytes of a block, of all teams
    std::uint32_t blocks = 0;
  };
  Kernel kernels[2];

  // A part of the sets on its way: one is copied while another is computed.
  struct Slot {
    cuda::Stream stream;
    Array<unsigned char> far;
    Array<double> values, v, expectations, gradient;
    cuda::PinnedBuffer in, out;  // values and v; expectations and gradient
    std::size_t first = 0, count = 0;
  };
  Slot slots[2];

  runtime::CudaDevice use() const { return cuda::use_device(index); }

  Data(const Actions& actions, const Strings& s, const std::vector<bool>& is_read, int device)
      : Data(actions, s, make(actions, s.num_observables, is_read, device), device) {}

 private:
  friend class DeviceBatch;

  struct Made {
    Passes passes;
    BatchProgram program;
  };
  static Made make(Actions actions, std::size_t num_observables, const std::vector<bool>& is_read,
                   int device) {
    const cudaDeviceProp properties = device::properties_of(device);
    for (actions.num_wires = row_bits_for(actions.num_wires);; actions.num_wires += 2) {
      // further wires stay |0>
      Made made{make_passes(actions, 0, actions.num_wires, is_read), {}};
      made.program =
          make_batch_program(made.passes, actions.angles, kReg, DeviceBatchProgram<T>::kBankBits);
      const auto serves = [&](const Launch<T>& launch) {
        return launch.far ||
               !is_far(launch, made.program.slots.size(), num_observables, properties);
      };
      if (serves(launch_for<T, false>(actions.num_wires)) &&
          serves(launch_for<T, true>(actions.num_wires)))
        return made;
    }
  }
  Data(const Actions& actions, const Strings& s, const Made& made, int device)
      : index(device),
        num_parameters(static_cast<std::uint32_t>(actions.parameters.size())),
        num_observables(s.num_observables),
        num_slots(static_cast<std::uint32_t>(made.program.slots.size())),
        there(made.program, stream) {
    const BatchProgram& program = made.program;
    const std::vector<StringSweep> sweeps = make_sweeps(s, made.passes);
    device::StringWeights of_string(s.strings.size());
    for (const Strings::Share& share : s.shares)
      of_string[share.string].push_back({share.observable, share.coefficient});
    device::Segments<T, kReg> all;
    if (!sweeps.empty())
      all = device::segments_of<T, kReg>(sweeps[0], of_string, program.row_bits - kReg);
    std::vector<BatchSegment> list;
    std::vector<BatchClass> held;
    for (const auto& segment : all.segments) {
      for (std::uint32_t kind = 0; kind < 2; ++kind) {
        const auto first = static_cast<std::uint32_t>(held.size());
        for (std::uint32_t m = 0; m < kHeld; ++m) {
          const std::uint32_t begin = segment.first[kind][m], end = segment.first[kind][m + 1];
          if (begin < end) held.push_back({m, begin, end});
        }
        const auto end = static_cast<std::uint32_t>(held.size());
        if (first < end) list.push_back({segment.flip, segment.sum, first, end, kind});
      }
    }
    num_segments = static_cast<std::uint32_t>(list.size());
    segments = Array<BatchSegment>(list, stream);
    classes = Array<BatchClass>(held, stream);
    strings = Array<device::DeviceString<T>>(all.strings, stream);

    std::vector<std::vector<DeviceTerm>> of_slot, of_parameter(num_parameters);
    std::vector<double> constants;
    for (std::uint32_t k = 0; k < num_slots; ++k) {
      const BatchSlot& slot = program.slots[k];
      constants.push_back(slot.share * slot.angle.constant);
      of_slot.emplace_back();
      for (const circuit::AffineTerm& t : slot.angle.terms) {
        of_slot.back().push_back({t.parameter, slot.share * t.coefficient});
        if (slot.is_read) of_parameter[t.parameter].push_back({k, t.coefficient});
      }
    }
    std::vector<DeviceTerm> rest;
    std::vector<DeviceSum> list_of_slots = sums_of(constants, of_slot, rest);
    for (const BatchOp& op : program.ops) {
      if (op.kind != BatchOpKind::kRotations) continue;
      for (int b = 0; b < kReg; ++b)
        list_of_slots[op.slot + static_cast<std::uint32_t>(b)].shears = 1;
    }
    angles = Array<DeviceSum>(list_of_slots, stream);
    constants.assign(num_parameters, 0);
    derivatives = Array<DeviceSum>(sums_of(constants, of_parameter, rest), stream);
    terms = Array<DeviceTerm>(rest, stream);
    stream.synchronize();
    place(kernels[0], launch_for<T, false>(program.row_bits));
    place(kernels[1], launch_for<T, true>(program.row_bits));
  }

  static std::vector<DeviceSum> sums_of(const std::vector<double>& constants,
                                        const std::vector<std::vector<DeviceTerm>>& all,
                                        std::vector<DeviceTerm>& rest) {
    std::vector<DeviceSum> out;
    for (std::size_t k = 0; k < all.size(); ++k) {
      DeviceSum sum;
      sum.constant = constants[k];
      if (!all[k].empty()) {
        sum.of = all[k][0].of;
        sum.coefficient = all[k][0].coefficient;
        sum.first = static_cast<std::uint32_t>(rest.size());
        sum.more = static_cast<std::uint32_t>(all[k].size() - 1);
        rest.insert(rest.end(), all[k].begin() + 1, all[k].end());
      }
      out.push_back(sum);
    }
    return out;
  }

  // Whether slots have no room beside the tiles: two blocks of a multiprocessor at least, or all that is
  // there beside a large tile.
  static bool is_far(const Launch<T>& launch, std::size_t num_slots, std::size_t num_observables,
                     const cudaDeviceProp& properties) {
    const std::size_t tiles = launch.tiles_bytes(), most = properties.sharedMemPerBlockOptin;
    return tiles + launch.own_bytes(num_slots, num_observables) + kOwnBytes >
           std::min(most, std::max(most / 2, tiles + tiles / 4));
  }

  // What is in shared memory, and how many blocks there are.
  void place(Kernel& kernel, const Launch<T>& launch) {
    const cudaDeviceProp properties = device::properties_of(index);
    const std::size_t tiles = launch.tiles_bytes(),
                      own = launch.own_bytes(num_slots, num_observables);
    if (properties.sharedMemPerBlockOptin < tiles + kOwnBytes)
      device::refuse_shared(tiles + kOwnBytes, properties);
    const bool far = is_far(launch, num_slots, num_observables, properties);
    kernel.launch = launch;
    kernel.run = far ? launch.far : launch.near;
    kernel.shared = tiles + (far ? 0 : own);
    kernel.blocks = device::blocks_at_a_time(index, reinterpret_cast<const void*>(kernel.run),
                                             launch.block, kernel.shared);
    kernel.far = far ? own * kernel.blocks : 0;
  }

  // ---- parts of the sets ----
  void need(Slot& slot, std::size_t count, bool gradients) {
    const std::size_t p = num_parameters, m = num_observables;
    const std::size_t in = count * (p + m), out = count * (m + (gradients ? p : 0));
    if (slot.values.count() < count * p)
      slot.values = Array<double>(count * p, "values of a batch");
    if (slot.expectations.count() < count * m)
      slot.expectations = Array<double>(count * m, "expectations of a batch");
    if (gradients && slot.gradient.count() < count * p) {
      slot.gradient = Array<double>(count * p, "derivatives of a batch");
      slot.v = Array<double>(count * m, "weights of a batch");
    }
    if (slot.in.num_bytes() < in * sizeof(double))
      slot.in = cuda::PinnedBuffer(in * sizeof(double));
    if (slot.out.num_bytes() < out * sizeof(double))
      slot.out = cuda::PinnedBuffer(out * sizeof(double));
    const std::size_t far = kernels[gradients].far;
    if (slot.far.count() < far) slot.far = Array<unsigned char>(far, "angles of a batch");
  }

  // Whether all values are finite; otherwise nothing is computed.
  bool send(Slot& slot, const double* all_values, const double* all_v) {
    const std::size_t p = num_parameters, m = num_observables, count = slot.count;
    auto* in = static_cast<double*>(slot.in.data());
    if (!runtime::copy_on_threads(in, all_values + slot.first * p, count * p)) return false;
    cuda::copy(slot.values.data(), in, count * p * sizeof(double), slot.stream);
    if (all_v) {
      runtime::copy_on_threads(in + count * p, all_v + slot.first * m, count * m);
      cuda::copy(slot.v.data(), in + count * p, count * m * sizeof(double), slot.stream);
    }
    const Kernel& kernel = kernels[all_v != nullptr];
    BatchArguments<T> a{};
    a.program = there.view();
    a.strings = {segments.data(), classes.data(), strings.data(), num_segments};
    a.angles = angles.data();
    a.derivatives = derivatives.data();
    a.terms = terms.data();
    a.num_slots = num_slots;
    a.num_parameters = num_parameters;
    a.num_observables = num_observables;
    a.sets = static_cast<std::uint32_t>(count);
    a.values = slot.values.data();
    a.v = all_v ? slot.v.data() : nullptr;
    a.expectations = slot.expectations.data();
    a.gradient = slot.gradient.data();
    a.far = kernel.far ? slot.far.data() : nullptr;
    const auto teams = static_cast<std::size_t>(kernel.launch.teams);
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::size_t>((count + teams - 1) / teams, kernel.blocks));
    cuda::launch(kernel.run, dim3(blocks), dim3(static_cast<unsigned>(kernel.launch.block)),
                 kernel.shared, slot.stream, a);
    auto* out = static_cast<double*>(slot.out.data());
    cuda::copy(out, slot.expectations.data(), count * m * sizeof(double), slot.stream);
    if (all_v)
      cuda::copy(out + count * m, slot.gradient.data(), count * p * sizeof(double), slot.stream);
    return true;
  }

  void receive(Slot& slot, double* all_expectations, double* all_gradients) {
    if (!slot.count) return;
    slot.stream.synchronize();
    const std::size_t p = num_parameters, m = num_observables, count = slot.count;
    const auto* out = static_cast<const double*>(slot.out.data());
    if (all_expectations)
      runtime::copy_on_threads(all_expectations + slot.first * m, out, count * m);
    if (all_gradients)
      runtime::copy_on_threads(all_gradients + slot.first * p, out + count * m, count * p);
    slot.count = 0;
  }
};

template <class T>
DeviceBatch<T>::DeviceBatch(const Actions& actions, const Strings& strings,
                            const std::vector<bool>& is_read, int device) {
  cuda::use_device(device);
  data_ = std::make_unique<Data>(actions, strings, is_read, device);
}
template <class T>
DeviceBatch<T>::~DeviceBatch() = default;

template <class T>
bool DeviceBatch<T>::run(const double* values, std::size_t sets, const double* v,
                         double* expectations, double* gradient) {
  Data& d = *data_;
  d.use();
  const std::size_t set_bytes = std::max<std::size_t>(d.num_parameters, 1) * sizeof(double);
  // parts of which one is copied while another is computed; all teams of the device a whole number of
  // times, where they do not take more sets than that at once
  std::size_t each = std::max(kFewestSets, std::min(kValueBytes / set_bytes, sets / 4));
  const typename Data::Kernel& kernel = d.kernels[v != nullptr];
  const std::size_t wave =
      std::size_t{kernel.blocks} * static_cast<std::size_t>(kernel.launch.teams);
  if (wave < each) each = (each + wave - 1) / wave * wave;
  each = std::min(each, sets);
  for (typename Data::Slot& slot : d.slots) {
    d.need(slot, each, v != nullptr);
    slot.count = 0;  // a call that failed may have left some
    if (each == sets) break;
  }
  std::size_t part = 0;
  for (std::size_t first = 0; first < sets; first += each, ++part) {
    check_interrupt();
    typename Data::Slot& slot = d.slots[part % 2];
    d.receive(slot, expectations, gradient);
    slot.first = first;
    slot.count = std::min(each, sets - first);
    if (!d.send(slot, values, v)) {
      slot.count = 0;
      return false;
    }
  }
  d.receive(d.slots[part % 2], expectations, gradient);
  d.receive(d.slots[(part + 1) % 2], expectations, gradient);
  return true;
}

template class DeviceBatch<float>;
template class DeviceBatch<double>;

}  // namespace tilewave::parametric
