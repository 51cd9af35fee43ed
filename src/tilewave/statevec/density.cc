// See density.h.
#include "tilewave/statevec/density.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "tilewave/base/error.h"

namespace tilewave::statevec {
namespace {

int num_rows_log2(const State& state) { return state.num_qubits() / 2; }

class DensityState final : public State {
 public:
  explicit DensityState(std::unique_ptr<State> state)
      : State(state->num_qubits(), state->precision()), state_(std::move(state)) {
    TW_CHECK(num_qubits_ % 2 == 0, "a density matrix has as many row as column qubits");
    follow();
  }

  CostModel cost_model() const override { return state_->cost_model(); }
  std::string device() const override { return state_->device(); }
  void set_zero_state() override {
    state_->set_zero_state();
    changed();
  }
  void set_product_state(std::span<const cplx> a) override {
    state_->set_product_state(a);
    changed();
  }
  void set_amplitudes(std::span<const cplx> amplitudes) override {
    state_->set_amplitudes(amplitudes);
    changed();
  }
  void prepare(const Plan& plan, bool waits) override { state_->prepare(plan, waits); }
  void set_reproducible(bool value) override { state_->set_reproducible(value); }
  void run(const Plan& plan, const RunObserver& observer) override {
    state_->run(plan, observer);
    changed();
  }
  void materialize() override {
    state_->materialize();
    follow();
  }

  double norm() override {
    double trace = 0;
    for (const cplx& x : diagonal()) trace += x.real();
    return trace;
  }
  std::vector<double> marginals() override {
    std::vector<double> out(static_cast<std::size_t>(num_rows_log2(*this)));
    const std::vector<cplx>& d = diagonal();
    for (std::size_t q = 0; q < out.size(); ++q) {
      for (std::size_t k = 0; k < d.size(); ++k) {
        if (k >> q & 1) out[q] += d[k].real();
      }
    }
    return out;
  }
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override {
    return density_probabilities(diagonal(), qubits);
  }
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override {
    return state_->amplitudes(indices);
  }
  std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) override {
    const std::vector<cplx>& d = diagonal();
    const double trace = norm();
    std::vector<std::uint64_t> out;
    out.reserve(sorted_u.size());
    std::uint64_t at = 0, last = 0;  // last: with a probability above zero
    double sum = 0;
    for (const double u : sorted_u) {
      while (at < d.size() && sum + std::max(d[at].real(), 0.0) <= u * trace) {
        if (d[at].real() > 0) last = at;
        sum += std::max(d[at++].real(), 0.0);
      }
      out.push_back(at < d.size() ? at : last);
    }
    return out;
  }
  std::vector<double> expectations(const circuit::PauliSum& sum) override {
    auto out = density_expectations(*state_, sum);
    follow();
    return out;
  }
  void collapse(circuit::Qubit qubit, int outcome, double scale) override {
    // the scale of a pure state counts twice in its probabilities
    state_->collapse(qubit, outcome, scale * scale);
    state_->collapse(qubit + static_cast<circuit::Qubit>(num_rows_log2(*this)), outcome, 1);
    changed();
  }
  std::unique_ptr<State> clone() const override {
    return std::make_unique<DensityState>(state_->clone());
  }
  void copy_from(const State& other) override {
    const auto* from = dynamic_cast<const DensityState*>(&other);
    TW_CHECK(from, "a density matrix takes over a density matrix");
    state_->copy_from(*from->state_);
    changed();
  }
  void for_each_block(
      const std::function<void(std::uint64_t first, std::span<const cplx>)>& f) override {
    state_->for_each_block(f);
    follow();
  }
  void update_blocks(const std::function<void(std::uint64_t first, std::span<cplx>)>& f) override {
    state_->update_blocks(f);
    changed();
  }
  runtime::HostBuffer take_amplitudes() override { return state_->take_amplitudes(); }
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override {
    state_->read_runs(firsts, run_bits, to);
  }
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override {
    state_->write_runs(firsts, run_bits, from);
    changed();
  }
  void save_physical(int slice_bits, const SliceOut& f) override {
    state_->save_physical(slice_bits, f);
  }
  void load_physical(const Layout& layout, std::uint64_t known_zero, int slice_bits,
                     const SliceIn& f) override {
    state_->load_physical(layout, known_zero, slice_bits, f);
    changed();
  }
  std::uint64_t memory_bytes() const override { return state_->memory_bytes(); }

 private:
  void follow() { assume(state_->layout(), state_->known_zero()); }
  void changed() {
    diagonal_.clear();
    follow();
  }
  const std::vector<cplx>& diagonal() {
    if (diagonal_.empty()) diagonal_ = density_diagonal(*state_);
    follow();
    return diagonal_;
  }

  std::unique_ptr<State> state_;
  std::vector<cplx> diagonal_;  // empty until asked for
};

}  // namespace

std::vector<cplx> density_diagonal(State& state) {
  const std::uint64_t dim = std::uint64_t{1} << num_rows_log2(state);
  std::vector<std::uint64_t> indices(dim);
  for (std::uint64_t k = 0; k < dim; ++k) indices[k] = k * (dim + 1);
  return state.amplitudes(indices);
}

std::vector<double> density_probabilities(std::span<const cplx> diagonal,
                                          std::span<const circuit::Qubit> qubits) {
  std::vector<double> out(std::size_t{1} << qubits.size(), 0.0);
  for (std::uint64_t k = 0; k < diagonal.size(); ++k) {
    std::size_t outcome = 0;
    for (std::size_t j = 0; j < qubits.size(); ++j) outcome |= (k >> qubits[j] & 1) << j;
    out[outcome] += diagonal[k].real();
  }
  return out;
}

std::vector<double> density_expectations(State& state, const circuit::PauliSum& sum) {
  // Tr(P rho) = sum_r <r|P|r ^ x> rho[r ^ x, r]
  const std::uint64_t dim = std::uint64_t{1} << num_rows_log2(state);
  std::vector<std::size_t> order(sum.size());  // terms of one flip mask read the same elements
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sum[a].x < sum[b].x; });
  std::vector<double> out(sum.size());
  std::vector<std::uint64_t> indices(dim);
  std::vector<cplx> elements;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const circuit::PauliTerm& term = sum[order[k]];
    if (k == 0 || sum[order[k - 1]].x != term.x) {
      for (std::uint64_t r = 0; r < dim; ++r) indices[r] = (r ^ term.x) + r * dim;
      elements = state.amplitudes(indices);
    }
    static const cplx kPowers[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    cplx total = 0;
    for (std::uint64_t r = 0; r < dim; ++r) {
      // P|s> = i^num_y (-1)^{s.z} |s ^ x> with s = r ^ x
      total += std::popcount((r ^ term.x) & term.z) & 1 ? -elements[r] : elements[r];
    }
    out[order[k]] = (total * kPowers[std::popcount(term.x & term.z) & 3]).real();
  }
  return out;
}

std::unique_ptr<State> make_density_state(std::unique_ptr<State> state) {
  return std::make_unique<DensityState>(std::move(state));
}

}  // namespace tilewave::statevec
