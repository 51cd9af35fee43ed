// See shared_state.h.
#include "tilewave/parametric/shared_state.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::parametric {
namespace {

constexpr int kSharedTileRowBits = 11;

// Places that never leave memory: the lanes of a CPU's rows; on a device, so many that what lies beside
// each other in memory is copied fast.
constexpr int kKeptOnDevice = 8;

}  // namespace

SharedState::SharedState(const circuit::Circuit& circuit,
                         const std::vector<circuit::PauliSum>& observables,
                         const FunctionOptions& options, std::shared_ptr<runtime::Ranks> ranks)
    : ranks_(std::move(ranks)),
      plan_(std::make_unique<ShardPlan>()),
      on_device_(options.cuda_device >= 0) {
  ShardPlan& plan = *plan_;
  plan.actions = lower(circuit);
  const auto size = static_cast<std::uint64_t>(ranks_->size());
  const int host_lanes = options.precision == Precision::kDouble ? 3 : 4;
  const int lane_bits = on_device_ ? 0 : host_lanes, kept = on_device_ ? kKeptOnDevice : lane_bits;
  const int least = on_device_ ? kDeviceRowBits : kept + 1;  // wires in memory
  const int bits = std::bit_width(size) - 1, wires = plan.actions.num_wires;
  plan.local = wires - bits;
  if (!std::has_single_bit(size) || plan.local < least) {
    fail(ExitCode::kUsage, size, " processes cannot share a state of ", wires, " qubits",
         on_device_ ? " on CUDA devices" : "", ": use a power of two, at most ",
         wires > least ? bit(wires - least) : 1);
  }
  plan.stretches = make_stretches(plan.actions, bits, kept);
  plan.strings = make_strings(observables, plan.stretches.place_of_qubit);
  std::vector<bool> is_read;
  for (const circuit::AffineAngle& angle : plan.actions.angles)
    is_read.push_back(!angle.terms.empty());
  const int host_rows = options.tile_row_bits > 0 ? options.tile_row_bits : kSharedTileRowBits;
  PassOptions passes{.from_zero = false};
  if (on_device_) passes = {kMostDeviceCost, kDeviceRowBits, true, false};
  for (const Stretch& stretch : plan.stretches.list) {
    plan.programs.push_back({make_passes(stretch.actions, lane_bits,
                                         on_device_ ? kDeviceRowBits : host_rows, is_read, passes),
                             {}});
  }
  plan.programs.back().sweeps =
      make_sweeps(plan.strings, plan.programs.back().passes, on_device_ ? kKeptLowWires : 0);
  for (const StringSweep& sweep : plan.programs.back().sweeps)
    plan.reaches_others |= plan.process_of(sweep.flip_outer) != 0;
  const auto make = [&]<class T>(T) {
    return on_device_ ? make_device_shard<T>(plan, options.cuda_device, ranks_)
                      : make_host_shard<T>(plan, options.num_threads, ranks_);
  };
  shard_ = options.precision == Precision::kDouble ? make(double{}) : make(float{});
}

void SharedState::need_finite(std::span<const double> values) const {
  need_angles(plan_->actions, values);
}

void SharedState::prepare() { shard_->prepare(); }

void SharedState::connect() {
  if (!is_connected_) shard_->connect();
  is_connected_ = true;
}

// Adds everyone's sums, in the order of processes.
void SharedState::add_up(std::span<double> sums) {
  if (sums.empty()) return;
  std::vector<double> all(sums.size() * static_cast<std::size_t>(ranks_->size()));
  ranks_->gather(sums.data(), all.data(), sums.size_bytes());
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t k = 0; k < all.size(); ++k) sums[k % sums.size()] += all[k];
}

void SharedState::forward(const double* values) {
  prepare();
  connect();
  shard_->bind(values, num_parameters());
  shard_->start();
  const auto& stretches = plan_->stretches.list;
  for (std::size_t k = 0; k < stretches.size(); ++k) {
    shard_->forward(k);
    for (const auto& places : stretches[k].exchanges) shard_->exchange(places, false);
  }
}

void SharedState::read(double* out) {
  shard_->read(out);
  add_up({out, num_observables()});
}

void SharedState::expectations(const double* values, double* out) {
  forward(values);
  read(out);
  shard_->rest();
}

void SharedState::vjp(const double* values, const double* v, double* expectations,
                      double* gradient) {
  forward(values);
  if (expectations) read(expectations);
  std::fill(gradient, gradient + num_parameters(), 0.0);
  const auto& stretches = plan_->stretches.list;
  if (shard_->make_lam(v)) {
    for (std::size_t k = stretches.size(); k-- > 0;) {
      shard_->backward(k, gradient);
      if (k == 0) break;
      const auto& exchanges = stretches[k - 1].exchanges;
      for (std::size_t j = exchanges.size(); j-- > 0;) shard_->exchange(exchanges[j], true);
    }
    add_up({gradient, num_parameters()});
  }
  shard_->rest();
}

std::string SharedState::explain() const {
  std::size_t passes = 0, exchanges = 0;
  for (const Program& program : plan_->programs) passes += program.passes.passes.size();
  for (const Stretch& stretch : plan_->stretches.list) exchanges += stretch.exchanges.size();
  return std::to_string(num_qubits()) + " qubits, " + std::to_string(num_parameters()) +
         " parameters; a state shared by " + std::to_string(ranks_->size()) + " processes" +
         (on_device_ ? ", a CUDA device each, " : " ") + "over " + shard_->link() + ": " +
         std::to_string(passes) + " passes in " + std::to_string(plan_->programs.size()) +
         " stretches, between which " + std::to_string(exchanges) +
         " qubits change places, forward and as many backward\n";
}

}  // namespace tilewave::parametric
