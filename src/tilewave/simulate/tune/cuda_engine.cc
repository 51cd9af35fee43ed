// A CUDA device's numbers from timed passes, through the state's interface alone. What is moved and
// what operations a program has are known (tile/device_numbers.h); where arithmetic decides how long
// a pass takes, its time is a sum of rates.
#include <algorithm>
#include <cmath>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/tune/device_fit.h"
#include "tilewave/simulate/tune/engine.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::simulate {

namespace {

using namespace statevec;  // NOLINT: names of the engine that is measured
using rates::ProbeShape;
using rates::Step;
using tile::DeviceNumbers;

constexpr int kRepeats = 7;

class CudaEngine final : public Engine {
 public:
  explicit CudaEngine(int device) {
    std::string problem;
    const std::vector<runtime::CudaDevice> all = runtime::cuda_devices(&problem);
    if (device >= static_cast<int>(all.size())) {
      fail(ExitCode::kResources, "there is no CUDA device ", device, " to tune",
           all.empty() ? ": " + problem : ": this machine has " + std::to_string(all.size()));
    }
    info_ = all[static_cast<std::size_t>(device)];
  }

  rates::Kind kind() const override { return rates::Kind::kCuda; }
  std::string device() const override { return info_.name; }
  std::string machine() const override {
    return runtime::describe_machine().cpu_model + ", CUDA " +
           std::to_string(info_.driver_version / 1000) + "." +
           std::to_string(info_.driver_version % 1000 / 10) + ", " +
           std::to_string(info_.num_multiprocessors) + " multiprocessors";
  }
  int threads() const override { return runtime::default_num_threads(); }
  std::span<const rates::NumberInfo> list() const override { return tile::device_number_list(); }
  std::unique_ptr<State> make_state(int num_qubits, Precision precision) const override {
    return make_cuda_state(num_qubits, precision, info_.index);
  }
  int most_qubits(Precision precision) const override {
    const double bytes = 0.8 * static_cast<double>(info_.total_memory_bytes);
    const double amplitudes = bytes / static_cast<double>(amplitude_bytes(precision));
    return std::min(30, static_cast<int>(std::floor(std::log2(amplitudes))));
  }

  Probes probe(Precision precision, int num_qubits) override {
    DeviceNumbers& n = known_[precision == Precision::kSingle];
    const auto shipped = rates::shipped(kind(), info_.name, list());
    n = shipped ? rates::from_flat<tile::DeviceNumbers>(shipped->of(precision))
                : tile::model_numbers(info_, precision);
    const auto state = make_state(num_qubits, precision);
    const CostModel cost = state->cost_model();
    const std::vector<cplx> product(static_cast<std::size_t>(2 * num_qubits), std::sqrt(0.5));
    state->set_product_state(product);
    const auto shape = [&](int qubits, int tile) {
      return ProbeShape{qubits, precision, tile, cost.row_bits};
    };
    const int tile = cost.tile_qubits, wide = cost.wide_tile_qubits;

    struct Wanted {
      Step step;
      int tile, layers;
    };
    std::vector<Wanted> wanted = {{Step::kNothing, tile, 1}};
    if (wide > tile) wanted.push_back({Step::kNothing, wide, 1});
    // so many that arithmetic decides, and twice as many
    for (const int layers : {1, 2}) {
      for (const Wanted& w : {Wanted{Step::kLifts, tile, 6}, Wanted{Step::kEqualLifts, tile, 6},
                              Wanted{Step::kPhases, tile, 5}, Wanted{Step::kLinear, tile, 12},
                              Wanted{Step::kFlips, tile, 4}, Wanted{Step::kRotations, tile, 24},
                              Wanted{Step::kMatrix1, tile, 24}, Wanted{Step::kMatrix2, tile, 12}})
        wanted.push_back({w.step, w.tile, layers * w.layers});
      if (wide > tile) wanted.push_back({Step::kLifts, wide, 6 * layers});
    }
    std::vector<Plan> plans;
    for (const Wanted& w : wanted)
      plans.push_back(rates::probe_plan(shape(num_qubits, w.tile), w.step, w.layers));
    const std::vector<PlanTiming> timings = time_in_turns(*state, plans, kRepeats);
    Probes out;
    std::vector<double> spreads;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const std::string name = std::to_string(wanted[k].layers) + " x " +
                               rates::kStepNames[static_cast<int>(wanted[k].step)] +
                               ", tile of 2^" + std::to_string(wanted[k].tile);
      for (TimedPass& pass : passes_of(name, plans[k], timings[k]))
        out.passes.push_back(std::move(pass));
      spreads.push_back(timings[k].spread);
    }

    n.questions = time_questions(*state);

    // what a pass costs by itself, from a state that is moved in no time
    const int least = std::max(tile, wide) + 4;
    const auto small = make_state(least, precision);
    small->set_product_state(std::span(product).first(static_cast<std::size_t>(2 * least)));
    const PlanTiming launch =
        time_in_turns(*small, {rates::probe_plan(shape(least, tile), Step::kNothing, 1)}, 31)[0];
    const double pass_s = launch.passes[0].seconds;
    n.pass_s = std::clamp(pass_s, 1e-7, 1e-3);
    const auto byte_s = [&](const TimedPass& pass) {
      return (pass.seconds - n.pass_s) /
             (2 * std::ldexp(static_cast<double>(amplitude_bytes(precision)), num_qubits));
    };
    n.byte_s = byte_s(out.passes[0]);
    n.wide_byte_s = wide > tile ? byte_s(out.passes[1]) : n.byte_s;
    out.spread = median_of(spreads);
    return out;
  }

  std::vector<double> actions_of(const Plan& plan, const Pass& pass,
                                 const std::vector<double>& terms) const override {
    return tile::action_terms(plan, pass, terms[1] > 0);
  }

  std::vector<double> fit(Precision precision, std::span<const TimedPass> passes) const override {
    return fit_device(known_[precision == Precision::kSingle], passes);
  }
  double predict(std::span<const double> numbers, const TimedPass& pass) const override {
    return predict_device(numbers, pass);
  }

 private:
  runtime::CudaDevice info_;
  DeviceNumbers known_[2];
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(int device) {
  return std::make_unique<CudaEngine>(device);
}

}  // namespace tilewave::simulate
