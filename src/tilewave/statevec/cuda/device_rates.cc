// The rates of a CUDA device, measured: passes over 512 MiB without actions, then with n and 2 n of
// a kind. What an action adds to a pass is its cost. n is large enough that arithmetic decides how
// long both passes take: few actions hide behind the memory, the more of them the slower it is, and
// would seem to cost nothing.
#include <algorithm>
#include <bit>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/statevec/cuda/cuda_tuning.h"
#include "tilewave/statevec/cuda/tile_launch.h"
#include "tilewave/statevec/device_costs.h"
#include "tilewave/statevec/tile/device_numbers.h"
#include "tilewave/statevec/tile/probe_pass.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec {

namespace cuda {

namespace {

namespace rc = runtime::cuda;
using tile::ProbeKind;

constexpr int kRepeats = 7;
constexpr int kFewestActions = 24, kMostActions = 96;
constexpr double kArithmeticDecides = 1.25;  // times an empty pass

template <class T>
class Probe {
 public:
  /// The device must be current.
  explicit Probe(const runtime::CudaDevice& device)
      : launchers_(state_launchers<T>(device)),
        arena_((sizeof(Complex<T>) << kQubits) + kProgram, "a test of the device's rates") {
    state_ = arena_.take<Complex<T>>(std::size_t{1} << kQubits);
    code_ = arena_.take<std::byte>(kProgram - 4096);
    rc::check(rc::driver().fill(state_, 0x3c, sizeof(Complex<T>) << kQubits, stream_.get()),
              "fill device memory");
  }

  /// Seconds of a pass, the shortest of some: others may be using the device meanwhile.
  double pass_s(std::size_t kernel, ProbeKind kind, int num_actions) {
    TileLauncher<T>& launcher = launchers_[kernel];
    const Plan plan =
        tile::probe_pass(kQubits, launcher.shape(), kQubits / 2 - 5, kind, num_actions);
    const tile::TilePass pass = tile::lower_pass(plan, 0, launcher.shape());
    const std::size_t tables = (pass.code.size() + 255) / 256 * 256;
    TW_CHECK(tables + pass.tables.size() <= kProgram - 4096, "a test pass is too long");
    rc::copy(code_, pass.code.data(), pass.code.size(), stream_);
    rc::copy(code_ + tables, pass.tables.data(), pass.tables.size(), stream_);
    double shortest_s = 0;
    for (int k = 0; k <= kRepeats; ++k) {
      rc::Event before, after;
      before.record(stream_);
      launcher.launch(pass.frame, state_, code_, code_ + tables, stream_);
      after.record(stream_);
      const double taken_s = after.seconds_since(before);
      if (k) shortest_s = k == 1 ? taken_s : std::min(shortest_s, taken_s);
    }
    return shortest_s;
  }

  /// Of the largest tile.
  std::size_t last() const { return launchers_.size() - 1; }

  /// Seconds an amplitude of one action.
  double action_s(std::size_t kernel, ProbeKind kind, double empty_s) {
    int n = kFewestActions;
    double some_s = pass_s(kernel, kind, n), more_s = pass_s(kernel, kind, 2 * n);
    while (some_s < kArithmeticDecides * empty_s && n < kMostActions) {
      n *= 2;
      some_s = std::exchange(more_s, pass_s(kernel, kind, 2 * n));
    }
    const double each_s = std::max(more_s - some_s, 1e-9) / n;
    return each_s / static_cast<double>(std::uint64_t{1} << kQubits);
  }

  static double bytes() { return 2.0 * static_cast<double>(sizeof(Complex<T>) << kQubits); }

 private:
  static constexpr int kQubits = sizeof(T) == 8 ? 25 : 26;
  static constexpr std::size_t kProgram = std::size_t{4} << 20;
  std::vector<TileLauncher<T>> launchers_;
  rc::Stream stream_;
  rc::DeviceArena arena_;
  Complex<T>* state_ = nullptr;
  std::byte* code_ = nullptr;
};

// Of one precision, measured in a moment: bytes a second, then seconds an amplitude.
struct QuickRates {
  double bandwidth, wide_bandwidth, lift_s, rotate_s, phase_s, multiply_s;
};
constexpr std::size_t kNumRates = sizeof(QuickRates) / sizeof(double);

template <class T>
QuickRates measure(const runtime::CudaDevice& device) {
  rc::use_device(device.index);
  Probe<T> probe(device);
  const std::size_t wide = probe.last();
  for (int k = 0; k < 4; ++k) probe.pass_s(0, ProbeKind::kLift, 0);  // clocks rise
  QuickRates r{};
  const double empty_s = probe.pass_s(0, ProbeKind::kLift, 0);
  const double wide_s = wide ? probe.pass_s(wide, ProbeKind::kLift, 0) : empty_s;
  r.bandwidth = probe.bytes() / empty_s;
  r.wide_bandwidth = probe.bytes() / wide_s;
  r.lift_s = probe.action_s(0, ProbeKind::kLift, empty_s);
  r.rotate_s = probe.action_s(0, ProbeKind::kRotate, empty_s);
  r.phase_s = std::max(probe.action_s(0, ProbeKind::kLinear, empty_s) - r.lift_s, r.lift_s);
  r.multiply_s = probe.action_s(0, ProbeKind::kDense2, empty_s) / 4;  // a row of four
  return r;
}

// `numbers` with what can be measured in a moment.
void measure_some(const runtime::CudaDevice& device, Precision precision,
                  tile::DeviceNumbers& numbers) {
  const bool is_double = precision == Precision::kDouble;
  const std::vector<double> all = runtime::cached_costs(
      runtime::cost_key(device, is_double ? "pass_rates_double" : "pass_rates_single"), kNumRates,
      [&] {
        const QuickRates r = is_double ? measure<double>(device) : measure<float>(device);
        const auto list = std::bit_cast<std::array<double, kNumRates>>(r);
        return std::vector<double>(list.begin(), list.end());
      });
  std::array<double, kNumRates> list{};
  std::copy(all.begin(), all.end(), list.begin());
  const auto r = std::bit_cast<QuickRates>(list);
  const double flip_lifts = numbers.flip_s / numbers.lift_s;
  numbers.byte_s = 1 / r.bandwidth;
  numbers.wide_byte_s = 1 / r.wide_bandwidth;
  numbers.lift_s = r.lift_s;
  numbers.flip_s = flip_lifts * r.lift_s;
  numbers.rotate_s = r.rotate_s;
  numbers.phase_s = r.phase_s;
  numbers.multiply_s = r.multiply_s;
}

template <class T>
std::vector<tile::Shape> shapes_of(const runtime::CudaDevice& device) {
  std::vector<tile::Shape> shapes;
  for (const TileLauncher<T>& launcher : state_launchers<T>(device))
    shapes.push_back(launcher.shape());
  return shapes;
}

}  // namespace

}  // namespace cuda

CostModel cuda_cost_model(const runtime::CudaDevice& device, Precision precision, bool measures,
                          CostOrigin* origin) {
  CostOrigin found;
  const auto list = tile::device_number_list();
  std::shared_ptr<const rates::RatesFile> file = rates::find(rates::Kind::kCuda, device.name, list);
  if (file) {
    found = {CostSource::kTuned, file};
  } else {
    file = rates::shipped(rates::Kind::kCuda, device.name, list);
    found = {file ? CostSource::kShipped : CostSource::kModel, file};
  }
  tile::DeviceNumbers numbers = file ? rates::from_flat<tile::DeviceNumbers>(file->of(precision))
                                     : tile::model_numbers(device, precision);
  // shipped rates that were checked against times of circuits are better than a moment's measurement
  const bool is_checked = file && !file->checks.empty();
  if (measures && found.source != CostSource::kTuned && !is_checked) {
    try {
      cuda::measure_some(device, precision, numbers);
      found.source = CostSource::kMeasured;
    } catch (const Error& e) {
      if (e.code() != ExitCode::kResources) throw;  // a full device: rates change no result
    }
  }
  if (origin) *origin = found;
  const bool is_double = precision == Precision::kDouble;
  const std::vector<tile::Shape> shapes =
      is_double ? cuda::shapes_of<double>(device) : cuda::shapes_of<float>(device);
  CostModel cost;
  cost.tile_qubits = shapes[0].tile_qubits;
  cost.row_bits = shapes[0].row_bits;
  if (shapes.size() > 1) {
    cost.wide_tile_qubits = shapes[1].tile_qubits;
    cost.wide_from_s = cuda::kWideFrom_s;
    cost.mixed_tiles = true;
  }
  tile::set_costs(cost, numbers, precision, found.source == CostSource::kTuned || is_checked);
  cost.late_phases = true;
  return cost;
}

std::string compiled_passes() {
  std::string why;
  const runtime::cuda::JitCache* const cache = runtime::cuda::JitCache::of_process(&why);
  return cache ? cache->description() : "none: " + why;
}

std::string refused_passes() {
  const runtime::cuda::JitCache* const cache = runtime::cuda::JitCache::if_made();
  const std::string refusal = cache ? cache->refusal() : "";
  if (refusal.empty()) return "";
  return "passes are interpreted, which may take several times as long: their kernels do not "
         "compile here (" +
         refusal.substr(0, refusal.find('\n')) + ")";
}

}  // namespace tilewave::statevec
