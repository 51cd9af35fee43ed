// See device_batch.h.
#include "tilewave/parametric/cuda/device_batch.h"

#include <algorithm>
#include <optional>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/parametric/cuda/device_program.cuh"
#include "tilewave/parametric/cuda/host_copy.h"
#include "tilewave/parametric/cuda/string_sums.cuh"

namespace tilewave::parametric {
namespace {

using device::Amplitude;
using device::Array;
using device::ProgramView;
using device::StringView;
namespace cuda = runtime::cuda;

constexpr int kReg = 3, kHeld = 1 << kReg;
// What a block keeps in shared memory at most, so that enough blocks stand on a multiprocessor.
constexpr std::size_t kOwnBytes = std::size_t{2} << 10;  // of the kernel itself
constexpr std::size_t kMostFactorBytes = std::size_t{16} << 10,
                      kMostSumBytes = std::size_t{32} << 10;
// Bytes of values of the sets that a kernel takes: enough for all blocks of a device, and little enough
// that copies of other sets beside it are a part of the whole.
constexpr std::size_t kValueBytes = std::size_t{16} << 20;
constexpr std::size_t kFewestSets = 4096;  // unless there are fewer

/// An angle: a constant and terms, and what its cosine is of.
struct DeviceAngle {
  double constant, share;
  std::uint32_t first, end;
};
struct DeviceTerm {
  std::uint32_t of;  // a parameter, or a derivative
  double coefficient;
};

template <class T>
struct BatchArguments {
  ProgramView<T> program;
  StringView<T, kReg> strings;
  const DeviceAngle* angles;
  const DeviceTerm* angle_terms;
  const std::uint32_t* first_of_parameter;  // [parameter + 1], in parameter_terms
  const DeviceTerm* parameter_terms;
  std::uint32_t num_angles, num_parameters, num_observables, num_reads;
  std::uint32_t sets;
  const double *values, *v;         // v: null for expectations alone
  double *expectations, *gradient;  // [set][observable], [set][parameter]
  Amplitude<T>* far_factors;        // [block][angle], where shared memory has no room for them
  double* far_sums;                 // [block][warp][sum]
};

template <class T, int kRow>
__global__ __launch_bounds__(1 << (kRow - kReg)) void run_batch(const BatchArguments<T> a) {
  using A = Amplitude<T>;
  constexpr int kThreads = 1 << (kRow - kReg), kWarps = kThreads / 32, kThreadBits = kRow - kReg;
  constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* shared = reinterpret_cast<A*>(memory);
  unsigned char* room = memory + (sizeof(A) << kRow);
  A* factors = reinterpret_cast<A*>(room);
  if (a.far_factors) {
    factors = a.far_factors + std::uint64_t{blockIdx.x} * a.num_angles;
  } else {
    room += a.num_angles * sizeof(A);
  }
  // of every warp: derivatives, then Re and Im of expectations
  const std::uint32_t num_sums = a.num_reads + 2 * a.num_observables;
  double* all_sums = a.far_sums ? a.far_sums + std::uint64_t{blockIdx.x} * kWarps * num_sums
                                : reinterpret_cast<double*>(room);
  double* sums = all_sums + threadIdx.x / 32 * num_sums;
  const StagePass pass = a.program.passes[0];
  const StageOp* ops = a.program.ops;

  for (std::uint32_t set = blockIdx.x; set < a.sets; set += gridDim.x) {
    __syncthreads();  // the set before is finished
    const double* values = a.values + std::uint64_t{set} * a.num_parameters;
    for (std::uint32_t k = threadIdx.x; k < a.num_angles; k += kThreads) {
      const DeviceAngle angle = a.angles[k];
      double x = angle.constant;
      for (std::uint32_t t = angle.first; t < angle.end; ++t)
        x += a.angle_terms[t].coefficient * values[a.angle_terms[t].of];
      double s, c;
      sincos(angle.share * x, &s, &c);
      factors[k] = {static_cast<T>(c), static_cast<T>(s)};
    }
    for (std::uint32_t k = threadIdx.x; k < kWarps * num_sums; k += kThreads) all_sums[k] = 0;
    __syncthreads();

    A psi[kHeld], lam[kHeld];
    {
      device::Tile<T, kRow, kReg, false, false> tile;
      tile.shared = shared;
      tile.factors = factors;
      tile.outer = 0;
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        tile.psi[k] = {k == 0 && threadIdx.x == 0 ? T(1) : T(0), T(0)};
      tile.run(a.program, pass, ops, a.program.phases, a.program.terms);
#pragma unroll
      for (int k = 0; k < kHeld; ++k) psi[k] = tile.psi[k], lam[k] = {0, 0};
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      shared[swizzle(threadIdx.x | k << kThreadBits, kBankBits)] = psi[k];
    __syncthreads();
    double* expectations = sums + a.num_reads;
    if (a.v) {
      device::add_strings<T, kRow, kReg, true>(a.strings, 0, threadIdx.x, psi, shared, lam,
                                               expectations,
                                               a.v + std::uint64_t{set} * a.num_observables);
      device::Tile<T, kRow, kReg, true, false> tile;
      tile.shared = shared;
      tile.factors = factors;
      tile.sums = sums;
      tile.outer = 0;
#pragma unroll
      for (int k = 0; k < kHeld; ++k) tile.psi[k] = psi[k], tile.lam[k] = lam[k];
      tile.run(a.program, pass, ops, a.program.phases, a.program.terms);
    } else {
      device::add_strings<T, kRow, kReg, false>(a.strings, 0, threadIdx.x, psi, shared, lam,
                                                expectations);
    }
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < num_sums; k += kThreads) {
      double sum = all_sums[k];
      for (int w = 1; w < kWarps; ++w) sum += all_sums[w * num_sums + k];
      all_sums[k] = sum;
      const std::uint32_t of = k - a.num_reads;
      if (a.expectations && k >= a.num_reads && of % 2 == 0)
        a.expectations[std::uint64_t{set} * a.num_observables + of / 2] = sum;
    }
    if (!a.v) continue;
    __syncthreads();
    for (std::uint32_t p = threadIdx.x; p < a.num_parameters; p += kThreads) {
      double sum = 0;
      for (std::uint32_t t = a.first_of_parameter[p]; t < a.first_of_parameter[p + 1]; ++t)
        sum += a.parameter_terms[t].coefficient * all_sums[a.parameter_terms[t].of];
      a.gradient[std::uint64_t{set} * a.num_parameters + p] = sum;
    }
  }
}

template <class T>
using Kernel = void (*)(BatchArguments<T>);

// Tiles of 8, 10 and 12 bits: states of up to as many qubits.
constexpr int row_bits_for(int wires) { return wires <= 8 ? 8 : wires <= 10 ? 10 : 12; }
template <class T>
Kernel<T> kernel_for(int row_bits) {
  return row_bits == 8 ? &run_batch<T, 8> : row_bits == 10 ? &run_batch<T, 10> : &run_batch<T, 12>;
}

}  // namespace

template <class T>
struct DeviceBatch<T>::Data {
  using A = Amplitude<T>;
  static constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;

  int index, row_bits;
  std::uint32_t num_parameters, num_observables, most_blocks = 1;
  std::size_t shared = 0;
  bool has_far_factors = false, has_far_sums = false;
  cuda::Stream stream;
  StageProgram program;
  std::optional<device::DeviceProgram<T>> there;
  Array<device::StringSegment<kHeld>> segments;
  Array<device::DeviceString<T>> strings;
  Array<DeviceAngle> angles;
  Array<DeviceTerm> angle_terms, parameter_terms;
  Array<std::uint32_t> first_of_parameter;
  std::uint32_t num_segments = 0;
  std::size_t num_angles = 0, sums_of_block = 0;

  // A part of the sets on its way: one is copied while another is computed.
  struct Slot {
    cuda::Stream stream;
    Array<A> far_factors;
    Array<double> far_sums, values, v, expectations, gradient;
    cuda::PinnedBuffer in, out;  // values and v; expectations and gradient
    std::size_t first = 0, count = 0;
  };
  Slot slots[2];

  runtime::CudaDevice use() const { return cuda::use_device(index); }

  Data(const Actions& of, const Strings& s, const std::vector<bool>& is_read, int device)
      : index(device),
        row_bits(row_bits_for(of.num_wires)),
        num_parameters(static_cast<std::uint32_t>(of.parameters.size())),
        num_observables(s.num_observables) {
    Actions actions = of;
    actions.num_wires = row_bits;  // further wires stay |0>
    const Passes passes = make_passes(actions, 0, row_bits, is_read);
    TW_CHECK(passes.passes.size() == 1, "a state that fits a tile has one pass");
    program = make_stages(passes, {kReg, kBankBits, 0, true, false});
    there.emplace(program, stream);
    const std::vector<StringSweep> sweeps = make_sweeps(s, passes);
    device::StringWeights of_string(s.strings.size());
    for (const Strings::Share& share : s.shares)
      of_string[share.string].push_back({share.observable, share.coefficient});
    device::Segments<T, kReg> all;
    if (!sweeps.empty()) all = device::segments_of<T, kReg>(sweeps[0], of_string, row_bits - kReg);
    num_segments = static_cast<std::uint32_t>(all.segments.size());
    segments = Array<device::StringSegment<kHeld>>(all.segments, stream);
    strings = Array<device::DeviceString<T>>(all.strings, stream);

    std::vector<DeviceAngle> list;
    std::vector<DeviceTerm> terms;
    for (const circuit::AffineAngle& angle : actions.angles) {
      const auto first = static_cast<std::uint32_t>(terms.size());
      for (const circuit::AffineTerm& t : angle.terms)
        terms.push_back({t.parameter, t.coefficient});
      list.push_back({angle.constant, 1, first, static_cast<std::uint32_t>(terms.size())});
    }
    for (const Action& a : actions.actions) {
      if (a.kind == ActionKind::kRotate) list[a.angle].share = 0.5;
    }
    angles = Array<DeviceAngle>(list, stream);
    angle_terms = Array<DeviceTerm>(terms, stream);
    std::vector<std::vector<DeviceTerm>> of_parameter(num_parameters);
    for (std::uint32_t r = 0; r < program.read_angle.size(); ++r) {
      for (const circuit::AffineTerm& t : actions.angles[program.read_angle[r]].terms)
        of_parameter[t.parameter].push_back({r, t.coefficient});
    }
    std::vector<DeviceTerm> back;
    std::vector<std::uint32_t> first{0};
    for (const auto& own : of_parameter) {
      back.insert(back.end(), own.begin(), own.end());
      first.push_back(static_cast<std::uint32_t>(back.size()));
    }
    parameter_terms = Array<DeviceTerm>(back, stream);
    first_of_parameter = Array<std::uint32_t>(first, stream);
    stream.synchronize();
    num_angles = list.size();
    place();
  }

  // What is in shared memory, and how many blocks there are.
  void place() {
    const int threads = 1 << (row_bits - kReg);
    const std::size_t factor_bytes = num_angles * sizeof(A);
    const std::size_t sum_bytes = (program.read_angle.size() + 2 * num_observables) *
                                  static_cast<std::size_t>(threads / 32) * sizeof(double);
    const cudaDeviceProp properties = device::properties_of(index);
    const std::size_t tile_bytes = sizeof(A) << row_bits;
    if (properties.sharedMemPerBlockOptin < tile_bytes + kOwnBytes)
      device::refuse_shared(tile_bytes + kOwnBytes, properties);
    const std::size_t room = properties.sharedMemPerBlockOptin - tile_bytes - kOwnBytes;
    has_far_factors = factor_bytes > std::min(kMostFactorBytes, room / 3);
    has_far_sums = sum_bytes > std::min(kMostSumBytes, room / 2);
    shared = tile_bytes + (has_far_factors ? 0 : (factor_bytes + 15) / 16 * 16) +
             (has_far_sums ? 0 : sum_bytes);
    most_blocks = device::blocks_at_a_time(
        index, reinterpret_cast<const void*>(kernel_for<T>(row_bits)), threads, shared);
    sums_of_block = sum_bytes / sizeof(double);
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
    if (has_far_factors && !slot.far_factors.count())
      slot.far_factors = Array<A>(num_angles * most_blocks, "angles of a batch");
    if (has_far_sums && !slot.far_sums.count())
      slot.far_sums = Array<double>(sums_of_block * most_blocks, "derivatives of a batch");
  }

  void send(Slot& slot, const double* all_values, const double* all_v) {
    const std::size_t p = num_parameters, m = num_observables, count = slot.count;
    auto* in = static_cast<double*>(slot.in.data());
    copy_on_threads(in, all_values + slot.first * p, count * p);
    cuda::copy(slot.values.data(), in, count * p * sizeof(double), slot.stream);
    if (all_v) {
      copy_on_threads(in + count * p, all_v + slot.first * m, count * m);
      cuda::copy(slot.v.data(), in + count * p, count * m * sizeof(double), slot.stream);
    }
    BatchArguments<T> a{};
    a.program = there->view();
    a.strings = {segments.data(), strings.data(), num_segments};
    a.angles = angles.data();
    a.angle_terms = angle_terms.data();
    a.first_of_parameter = first_of_parameter.data();
    a.parameter_terms = parameter_terms.data();
    a.num_angles = static_cast<std::uint32_t>(num_angles);
    a.num_parameters = num_parameters;
    a.num_observables = num_observables;
    a.num_reads = static_cast<std::uint32_t>(program.read_angle.size());
    a.sets = static_cast<std::uint32_t>(count);
    a.values = slot.values.data();
    a.v = all_v ? slot.v.data() : nullptr;
    a.expectations = slot.expectations.data();
    a.gradient = slot.gradient.data();
    a.far_factors = has_far_factors ? slot.far_factors.data() : nullptr;
    a.far_sums = has_far_sums ? slot.far_sums.data() : nullptr;
    const auto blocks = static_cast<std::uint32_t>(std::min<std::size_t>(count, most_blocks));
    cuda::launch(kernel_for<T>(row_bits), dim3(blocks), dim3(1u << (row_bits - kReg)), shared,
                 slot.stream, a);
    auto* out = static_cast<double*>(slot.out.data());
    cuda::copy(out, slot.expectations.data(), count * m * sizeof(double), slot.stream);
    if (all_v)
      cuda::copy(out + count * m, slot.gradient.data(), count * p * sizeof(double), slot.stream);
  }

  void receive(Slot& slot, double* all_expectations, double* all_gradients) {
    if (!slot.count) return;
    slot.stream.synchronize();
    const std::size_t p = num_parameters, m = num_observables, count = slot.count;
    const auto* out = static_cast<const double*>(slot.out.data());
    if (all_expectations) copy_on_threads(all_expectations + slot.first * m, out, count * m);
    if (all_gradients) copy_on_threads(all_gradients + slot.first * p, out + count * m, count * p);
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
void DeviceBatch<T>::run(const double* values, std::size_t sets, const double* v,
                         double* expectations, double* gradient) {
  Data& d = *data_;
  d.use();
  const std::size_t set_bytes = std::max<std::size_t>(d.num_parameters, 1) * sizeof(double);
  const std::size_t each = std::min(sets, std::max(kFewestSets, kValueBytes / set_bytes));
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
    d.send(slot, values, v);
  }
  d.receive(d.slots[part % 2], expectations, gradient);
  d.receive(d.slots[(part + 1) % 2], expectations, gradient);
}

template class DeviceBatch<float>;
template class DeviceBatch<double>;

}  // namespace tilewave::parametric
