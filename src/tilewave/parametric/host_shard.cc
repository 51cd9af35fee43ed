// A shard in the memory of a process. Rows travel through two buffers, some MiB at a time.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/parametric/plan/shard.h"
#include "tilewave/parametric/run.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {
namespace {

constexpr std::size_t kPieceRows = std::size_t{1} << 16;  // 8 MiB that are exchanged at a time

template <class T>
class HostShard final : public Shard {
 public:
  HostShard(const ShardPlan& plan, int num_threads, std::shared_ptr<runtime::Ranks> ranks)
      : plan_(plan),
        ranks_(std::move(ranks)),
        threads_(runtime::resolve_num_threads(num_threads)) {}

  void prepare() override {
    if (!runs_.empty()) return;
    const std::uint64_t shard = static_cast<std::uint64_t>(ranks_->rank()) << plan_.local;
    std::vector<std::unique_ptr<Run<T>>> runs;
    for (std::size_t k = 0; k < plan_.programs.size(); ++k) {
      runs.push_back(std::make_unique<Run<T>>(plan_.programs[k], plan_.stretches.list[k].actions,
                                              threads_, shard));
    }
    runs[0]->need_shards(plan_.reaches_others);
    const std::size_t rows = runs[0]->num_rows(), piece = std::min(kPieceRows, rows);
    if (plan_.reaches_others) other_ = runtime::HostBuffer(rows * kRowBytes);
    out_ = runtime::HostBuffer(piece * kRowBytes);
    in_ = runtime::HostBuffer(piece * kRowBytes);
    runs_ = std::move(runs);
  }
  void connect() override {}
  std::string link() const override { return ranks_->kind(); }
  void rest() override {}

  void bind(const double* values, std::size_t num_parameters) override {
    for (auto& run : runs_) run->bind(values, 1, num_parameters);
  }
  void start() override { at(0).start_shard(); }
  void forward(std::size_t stretch) override { at(stretch).forward_shard(); }

  // Amplitudes whose bit in memory is not that of this process go to the process that differs in it,
  // and its come into their places.
  void exchange(std::pair<int, int> places, bool both) override {
    exchange_state(at_now().psi(), places);
    if (both) exchange_state(at_now().lam(), places);
  }

  void read(double* of_observables) override {
    std::vector<double> strings(plan_.strings.strings.size() * kL);
    for_sweeps([&](Run<T>& run, const StringSweep& sweep, const T* ket) {
      run.read_sweep(sweep, ket, strings);
    });
    std::fill_n(of_observables, plan_.strings.num_observables, 0.0);
    for (const Strings::Share& share : plan_.strings.shares)
      of_observables[share.observable] += share.coefficient * strings[share.string * kL];
  }

  bool make_lam(const double* v) override {
    std::vector<double> weights(plan_.strings.strings.size() * kL);
    for (const Strings::Share& share : plan_.strings.shares)
      weights[share.string * kL] += share.coefficient * v[share.observable];
    bool is_first = true;
    for_sweeps([&](Run<T>& run, const StringSweep& sweep, const T* ket) {
      run.add_sweep(sweep, ket, weights, is_first);
      is_first = false;
    });
    return !is_first;
  }

  void backward(std::size_t stretch, double* of_parameters) override {
    Run<T>& run = at(stretch);
    const auto angles = run.read_angles();
    std::vector<double> reads(std::max<std::size_t>(angles.size(), 1) * kL);
    run.backward(reads, stretch > 0);
    add_derivatives(
        plan_.actions, angles, [&](std::size_t j) { return reads[j * kL]; }, of_parameters);
  }

 private:
  static constexpr auto kL = static_cast<std::size_t>(cpu::kLanes<T>);
  static constexpr std::size_t kRowNumbers = Run<T>::row_numbers(),
                               kRowBytes = kRowNumbers * sizeof(T);

  Run<T>& at_now() { return *runs_[at_]; }
  // The run of a stretch, which takes the states over.
  Run<T>& at(std::size_t stretch) {
    if (stretch != at_) runs_[stretch]->take_states(*runs_[at_]);
    at_ = stretch;
    return *runs_[at_];
  }

  void exchange_state(T* state, std::pair<int, int> places) {
    const int lane_bits = plan_.programs[0].passes.lane_bits;
    const std::uint64_t process_bit = bit(places.second - plan_.local);
    const auto rank = static_cast<std::uint64_t>(ranks_->rank());
    const std::uint64_t row_bit = bit(places.first - lane_bits);
    const std::uint64_t mine = (rank & process_bit) ? 0 : row_bit;
    const std::uint64_t half = at_now().num_rows() / 2;
    const std::size_t piece = std::min<std::uint64_t>(kPieceRows, half);
    const auto row = [&](std::uint64_t k) {  // the k-th that goes
      return ((k & ~(row_bit - 1)) << 1) | (k & (row_bit - 1)) | mine;
    };
    T *const out = out_.as<T>(), *const in = in_.as<T>();
    for (std::uint64_t first = 0; first < half; first += piece) {
      for (std::uint64_t k = 0; k < piece; ++k)
        std::memcpy(out + k * kRowNumbers, state + row(first + k) * kRowNumbers, kRowBytes);
      swap(rank ^ process_bit, out, in, piece * kRowBytes);
      for (std::uint64_t k = 0; k < piece; ++k)
        std::memcpy(state + row(first + k) * kRowNumbers, in + k * kRowNumbers, kRowBytes);
    }
  }

  void swap(std::uint64_t peer, const void* out, void* in, std::size_t bytes) {
    ranks_->start_swap(0, static_cast<int>(peer), out, bytes, in, bytes);
    ranks_->finish_swap(0);
  }

  // f(run, sweep, the psi that its strings act on) for every sweep; another process's psi comes once
  // for all sweeps that want it.
  template <class F>
  void for_sweeps(F f) {
    Run<T>& run = at_now();
    const auto& sweeps = plan_.programs.back().sweeps;
    std::vector<std::size_t> order(sweeps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return plan_.process_of(sweeps[a].flip_outer) < plan_.process_of(sweeps[b].flip_outer);
    });
    std::uint64_t here = 0;
    for (const std::size_t k : order) {
      const std::uint64_t wanted = plan_.process_of(sweeps[k].flip_outer);
      if (wanted != 0 && wanted != here) {
        const auto peer = static_cast<std::uint64_t>(ranks_->rank()) ^ wanted;
        auto *const from = reinterpret_cast<std::byte*>(run.psi()), *const to =
                                                                        other_.as<std::byte>();
        const std::size_t bytes = run.num_rows() * kRowBytes, piece = kPieceRows * kRowBytes;
        for (std::size_t first = 0; first < bytes; first += piece)
          swap(peer, from + first, to + first, std::min(piece, bytes - first));
        here = wanted;
      }
      f(run, sweeps[k], wanted ? other_.as<T>() : run.psi());
    }
  }

  const ShardPlan& plan_;
  std::shared_ptr<runtime::Ranks> ranks_;
  int threads_;
  std::vector<std::unique_ptr<Run<T>>> runs_;  // of the stretches; one of them has the states
  std::size_t at_ = 0;                         // which
  runtime::HostBuffer other_, out_, in_;
};

}  // namespace

template <class T>
std::unique_ptr<Shard> make_host_shard(const ShardPlan& plan, int num_threads,
                                       std::shared_ptr<runtime::Ranks> ranks) {
  return std::make_unique<HostShard<T>>(plan, num_threads, std::move(ranks));
}
template std::unique_ptr<Shard> make_host_shard<float>(const ShardPlan&, int,
                                                       std::shared_ptr<runtime::Ranks>);
template std::unique_ptr<Shard> make_host_shard<double>(const ShardPlan&, int,
                                                        std::shared_ptr<runtime::Ranks>);

}  // namespace tilewave::parametric
