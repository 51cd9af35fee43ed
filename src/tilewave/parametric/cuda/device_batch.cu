// See device_batch.h.
#include "tilewave/parametric/cuda/device_batch.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/parametric/cuda/batch_arguments.cuh"
#include "tilewave/parametric/cuda/device_array.cuh"
#include "tilewave/runtime/finite_copy.h"

namespace tilewave::parametric {
namespace {

using device::Amplitude;
using device::Array;
using device::BatchArguments;
using device::BatchClass;
using device::BatchLaunch;
using device::BatchSegment;
using device::BatchStates;
using device::BatchView;
using device::DeviceBatchOp;
using device::DeviceSum;
using device::DeviceTerm;
using device::kHeld;
using device::kReg;
namespace cuda = runtime::cuda;

constexpr std::size_t kOwnBytes = std::size_t{1} << 10;  // of shared memory, of the kernel itself
// Bytes of values of the sets that a kernel takes: enough for all blocks of a device, and little enough
// that copies of other sets beside it are a part of the whole.
constexpr std::size_t kValueBytes = std::size_t{16} << 20;
constexpr std::size_t kFewestSets = 4096;  // unless there are fewer
// of all that a part has in page-locked memory, which is made of whole states where they are asked for
constexpr std::size_t kMostPartBytes = std::size_t{64} << 20;

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
  Array<DeviceSum> angles, derivatives, derivatives_of_states;
  Array<DeviceTerm> terms;
  std::uint32_t num_segments = 0;
  std::vector<int> wire_of_qubit;
  Array<double> shared_initial;

  // Expectations alone, and with gradients; the same with whole states.
  struct Kernel {
    BatchLaunch<T> launch;
    void (*run)(BatchArguments<T>) = nullptr;
    std::size_t shared = 0, far = 0;  // bytes of a block, of all teams
    std::uint32_t blocks = 0;
  };
  Kernel kernels[4];

  // A part of the sets on its way: one is copied while another is computed.
  struct Slot {
    cuda::Stream stream;
    Array<unsigned char> far;
    Array<double> values, v, initial, g, expectations, gradient, results;
    cuda::PinnedBuffer in, out;
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
    for (actions.num_wires = device::row_bits_for(actions.num_wires);; actions.num_wires += 2) {
      // further wires stay |0>
      Made made{make_passes(actions, 0, actions.num_wires, is_read), {}};
      made.program =
          make_batch_program(made.passes, actions.angles, kReg, DeviceBatchProgram<T>::kBankBits);
      made.program.slots.push_back({actions.global_phase, 1, 0, false});  // the last one
      const auto serves = [&](const BatchLaunch<T>& launch) {
        return launch.far ||
               !is_far(launch, made.program.slots.size(), num_observables, properties);
      };
      if (serves(device::batch_launch<T>(actions.num_wires, false, false)) &&
          serves(device::batch_launch<T>(actions.num_wires, true, false)))
        return made;
    }
  }
  Data(const Actions& actions, const Strings& s, const Made& made, int device)
      : index(device),
        num_parameters(static_cast<std::uint32_t>(actions.parameters.size())),
        num_observables(s.num_observables),
        num_slots(static_cast<std::uint32_t>(made.program.slots.size())),
        there(made.program, stream),
        wire_of_qubit(actions.wire_of_qubit) {
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
    for (const circuit::AffineTerm& t : program.slots.back().angle.terms)
      of_parameter[t.parameter].push_back({num_slots - 1, t.coefficient});
    derivatives_of_states = Array<DeviceSum>(sums_of(constants, of_parameter, rest), stream);
    terms = Array<DeviceTerm>(rest, stream);
    stream.synchronize();
    place(kernels[0], device::batch_launch<T>(program.row_bits, false, false));
    place(kernels[1], device::batch_launch<T>(program.row_bits, true, false));
    place(kernels[2], device::batch_launch<T>(program.row_bits, false, true));
    place(kernels[3], device::batch_launch<T>(program.row_bits, true, true));
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
  static bool is_far(const BatchLaunch<T>& launch, std::size_t num_slots,
                     std::size_t num_observables, const cudaDeviceProp& properties) {
    const std::size_t tiles = launch.tiles_bytes(), most = properties.sharedMemPerBlockOptin;
    return tiles + launch.own_bytes(num_slots, num_observables) + kOwnBytes >
           std::min(most, std::max(most / 2, tiles + tiles / 4));
  }

  // What is in shared memory, and how many blocks there are.
  void place(Kernel& kernel, const BatchLaunch<T>& launch) {
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
  // Numbers that each set has on the device and, of most of them, with the caller.
  struct Row {
    std::size_t values, v, initial, g, expectations, gradient, results;
    std::size_t in() const { return values + v + initial + g; }
    std::size_t out() const { return expectations + gradient + results; }
  };
  Row row_of(const BatchCall& call) const {
    const std::size_t state = std::size_t{2} << wire_of_qubit.size();
    Row row{};
    row.values = num_parameters;
    row.v = call.v ? num_observables : 0;
    row.initial = call.initial && !call.shares_initial ? state : 0;
    row.g = call.g ? state : 0;
    row.expectations = call.expectations ? num_observables : 0;
    row.gradient = call.gradient ? num_parameters : 0;
    row.results = call.states          ? state
                  : call.probabilities ? std::size_t{1} << call.qubits.size()
                                       : (call.shots ? call.num_shots : 0);
    return row;
  }

  static bool is_whole(const BatchCall& call) {
    return call.initial || call.g || call.states || call.probabilities || call.shots;
  }
  const Kernel& kernel_of(const BatchCall& call) const {
    return kernels[(call.gradient ? 1 : 0) + (is_whole(call) ? 2 : 0)];
  }

  void need(Slot& slot, std::size_t count, const Row& row, std::size_t far) {
    const auto need_array = [&](Array<double>& array, std::size_t each, const char* what) {
      if (array.count() < count * each) array = Array<double>(count * each, what);
    };
    need_array(slot.values, row.values, "values of a batch");
    need_array(slot.v, row.v, "weights of a batch");
    need_array(slot.initial, row.initial, "initial states of a batch");
    need_array(slot.g, row.g, "states of a batch");
    need_array(slot.expectations, num_observables, "expectations of a batch");
    need_array(slot.gradient, row.gradient, "derivatives of a batch");
    need_array(slot.results, row.results, "results of a batch");
    const std::size_t in = count * row.in() * sizeof(double);
    const std::size_t out = count * row.out() * sizeof(double);
    if (slot.in.num_bytes() < in) slot.in = cuda::PinnedBuffer(in);
    if (slot.out.num_bytes() < out) slot.out = cuda::PinnedBuffer(out);
    if (slot.far.count() < far) slot.far = Array<unsigned char>(far, "angles of a batch");
  }

  BatchStates states_of(const Slot& slot, const BatchCall& call) const {
    BatchStates s{};
    s.num_qubits = static_cast<std::uint32_t>(wire_of_qubit.size());
    std::copy(wire_of_qubit.begin(), wire_of_qubit.end(), s.wires);
    if (call.initial) {
      const Array<double>& from = call.shares_initial ? shared_initial : slot.initial;
      s.initial = reinterpret_cast<const double2*>(from.data());
      s.initial_of = call.shares_initial ? 0 : std::uint64_t{1} << s.num_qubits;
    }
    if (call.g) s.g = reinterpret_cast<const double2*>(slot.g.data());
    if (call.states) s.states = reinterpret_cast<double2*>(slot.results.data());
    if (call.probabilities) {
      s.probabilities = slot.results.data();
      s.num_chosen = static_cast<std::uint32_t>(call.qubits.size());
      for (std::uint32_t j = 0; j < s.num_chosen; ++j) s.chosen[j] = s.wires[call.qubits[j]];
    }
    if (call.shots) {
      s.shots = reinterpret_cast<std::uint64_t*>(slot.results.data());
      s.num_shots = call.num_shots;
      s.seed = call.seed;
      s.first_set = call.first_set + slot.first;
    }
    return s;
  }

  // Whether no value is larger than the most that may be; otherwise nothing is computed.
  bool send(Slot& slot, const BatchCall& call) {
    const std::size_t count = slot.count;
    const Row row = row_of(call);
    auto* in = static_cast<double*>(slot.in.data());
    constexpr double kAny = std::numeric_limits<double>::max();
    const auto send_rows = [&](Array<double>& to, const void* from, std::size_t each, double most) {
      if (each == 0) return true;
      const std::size_t numbers = count * each;
      const bool small = runtime::copy_on_threads(
          in, static_cast<const double*>(from) + slot.first * each, numbers, most);
      cuda::copy(to.data(), in, numbers * sizeof(double), slot.stream);
      in += numbers;
      return small;
    };
    if (!send_rows(slot.values, call.values, row.values, call.most_value)) return false;
    send_rows(slot.v, call.v, row.v, kAny);
    send_rows(slot.initial, call.initial, row.initial, kAny);
    send_rows(slot.g, call.g, row.g, kAny);
    const Kernel& kernel = kernel_of(call);
    BatchArguments<T> a{};
    a.program = there.view();
    a.strings = {segments.data(), classes.data(), strings.data(), num_segments};
    a.states = states_of(slot, call);
    a.angles = angles.data();
    a.derivatives = (call.g ? derivatives_of_states : derivatives).data();
    a.terms = terms.data();
    // the last slot, of the global phase, has as many terms as there are such rotations; kernels have one
    a.num_slots = is_whole(call) ? num_slots : std::max<std::uint32_t>(num_slots - 1, 1);
    a.num_parameters = num_parameters;
    a.num_observables = num_observables;
    a.sets = static_cast<std::uint32_t>(count);
    a.values = slot.values.data();
    a.v = call.v ? slot.v.data() : nullptr;
    a.expectations = slot.expectations.data();
    a.gradient = slot.gradient.data();
    a.far = kernel.far ? slot.far.data() : nullptr;
    const auto teams = static_cast<std::size_t>(kernel.launch.teams);
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::size_t>((count + teams - 1) / teams, kernel.blocks));
    cuda::launch(kernel.run, dim3(blocks), dim3(static_cast<unsigned>(kernel.launch.block)),
                 kernel.shared, slot.stream, a);
    auto* out = static_cast<double*>(slot.out.data());
    const auto bring_rows = [&](const Array<double>& from, std::size_t each) {
      if (each == 0) return;
      cuda::copy(out, from.data(), count * each * sizeof(double), slot.stream);
      out += count * each;
    };
    bring_rows(slot.expectations, row.expectations);
    bring_rows(slot.gradient, row.gradient);
    bring_rows(slot.results, row.results);
    return true;
  }

  void receive(Slot& slot, const BatchCall& call) {
    if (!slot.count) return;
    slot.stream.synchronize();
    const Row row = row_of(call);
    const auto* out = static_cast<const double*>(slot.out.data());
    const auto take_rows = [&](void* to, std::size_t each) {
      if (each == 0) return;
      runtime::copy_on_threads(static_cast<double*>(to) + slot.first * each, out,
                               slot.count * each);
      out += slot.count * each;
    };
    take_rows(call.expectations, row.expectations);
    take_rows(call.gradient, row.gradient);
    take_rows(call.states          ? static_cast<void*>(call.states)
              : call.probabilities ? static_cast<void*>(call.probabilities)
                                   : call.shots,
              row.results);
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
bool DeviceBatch<T>::run(const BatchCall& call) {
  Data& d = *data_;
  d.use();
  const std::size_t sets = call.sets;
  const typename Data::Row row = d.row_of(call);
  const std::size_t value_bytes = std::max<std::size_t>(row.values, 1) * sizeof(double);
  const std::size_t set_bytes = std::max<std::size_t>(row.in() + row.out(), 1) * sizeof(double);
  // parts of which one is copied while another is computed; all teams of the device a whole number of
  // times, where they do not take more sets than that at once
  std::size_t each = std::max(kFewestSets, std::min(kValueBytes / value_bytes, sets / 4));
  each = std::min(each, std::max<std::size_t>(kMostPartBytes / set_bytes, 1));
  const typename Data::Kernel& kernel = d.kernel_of(call);
  const std::size_t wave =
      std::size_t{kernel.blocks} * static_cast<std::size_t>(kernel.launch.teams);
  if (wave < each) each = (each + wave - 1) / wave * wave;
  each = std::min(each, sets);
  if (call.initial && call.shares_initial) {
    const std::size_t numbers = std::size_t{2} << d.wire_of_qubit.size();
    if (!d.shared_initial.count())
      d.shared_initial = Array<double>(numbers, "the initial state of a batch");
    cuda::copy(d.shared_initial.data(), call.initial, numbers * sizeof(double), d.stream);
    d.stream.synchronize();
  }
  for (typename Data::Slot& slot : d.slots) {
    d.need(slot, each, row, kernel.far);
    slot.count = 0;  // a call that failed may have left some
    if (each == sets) break;
  }
  std::size_t part = 0;
  for (std::size_t first = 0; first < sets; first += each, ++part) {
    check_interrupt();
    typename Data::Slot& slot = d.slots[part % 2];
    d.receive(slot, call);
    slot.first = first;
    slot.count = std::min(each, sets - first);
    if (!d.send(slot, call)) {
      slot.count = 0;
      return false;
    }
  }
  d.receive(d.slots[part % 2], call);
  d.receive(d.slots[(part + 1) % 2], call);
  return true;
}

template class DeviceBatch<float>;
template class DeviceBatch<double>;

}  // namespace tilewave::parametric
