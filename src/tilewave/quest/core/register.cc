// See register.h.
#include "tilewave/quest/core/register.h"

#include <algorithm>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/density.h"
#include "tilewave/quest/core/read_blocks.h"
#include "tilewave/quest/core/settings.h"
#include "tilewave/runtime/multiversion.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/statevec/density.h"

namespace tilewave::quest {
namespace {

constexpr std::size_t kMaxPending = 2000;  // gates; planning them takes milliseconds

circuit::Circuit empty_circuit(int num_qubits) {
  return circuit::Circuit(static_cast<std::uint32_t>(num_qubits));
}

// x <- M x; scratch: 4 dim numbers.
TW_MULTIVERSION void multiply(const double* columns, cplx* x, std::size_t dim, double* scratch) {
  double *re = scratch, *im = scratch + dim, *in = scratch + 2 * dim;
  for (std::size_t j = 0; j < dim; ++j) {
    in[2 * j] = x[j].real();
    in[2 * j + 1] = x[j].imag();
    re[j] = im[j] = 0;
  }
  for (std::size_t j = 0; j < dim; ++j) {
    const double *cr = columns + 2 * j * dim, *ci = cr + dim;
    const double xr = in[2 * j], xi = in[2 * j + 1];
    for (std::size_t i = 0; i < dim; ++i) {
      re[i] += cr[i] * xr - ci[i] * xi;
      im[i] += cr[i] * xi + ci[i] * xr;
    }
  }
  for (std::size_t i = 0; i < dim; ++i) x[i] = {re[i], im[i]};
}

}  // namespace

Register::Register(int num_qubits, bool is_density, statevec::Precision precision)
    : num_qubits_(num_qubits),
      is_density_(is_density),
      precision_(precision),
      state_(simulate::make_state(static_cast<std::uint32_t>(num_state_qubits()), precision,
                                  settings().num_threads, settings().device)),
      pending_(empty_circuit(num_state_qubits())),
      mirror_(num_amplitudes(), precision == statevec::Precision::kDouble ? 8 : 4,
              [this](void* real, void* imag) {
                const bool is_double = precision_ == statevec::Precision::kDouble;
                read_blocks(state(), [&](std::uint64_t first, std::span<const cplx> block) {
                  for (std::size_t k = 0; k < block.size(); ++k) {
                    if (is_double) {
                      static_cast<double*>(real)[first + k] = block[k].real();
                      static_cast<double*>(imag)[first + k] = block[k].imag();
                    } else {
                      static_cast<float*>(real)[first + k] = static_cast<float>(block[k].real());
                      static_cast<float*>(imag)[first + k] = static_cast<float>(block[k].imag());
                    }
                  }
                });
              }),
      log_(num_qubits) {}

void Register::changed() {
  norm_ = -1;
  diagonal_.clear();
  if (!mirror_.is_closed()) mirror_.close();
}

void Register::upload() {
  norm_ = -1;
  diagonal_.clear();
  pending_ = empty_circuit(num_state_qubits());
  if (is_fresh_) state_->set_zero_state();
  is_fresh_ = false;
  const void *real = mirror_.real(), *imag = mirror_.imag();
  const bool is_double = precision_ == statevec::Precision::kDouble;
  state_->update_blocks([&](std::uint64_t first, std::span<cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      block[k] = is_double ? cplx(static_cast<const double*>(real)[first + k],
                                  static_cast<const double*>(imag)[first + k])
                           : cplx(static_cast<const float*>(real)[first + k],
                                  static_cast<const float*>(imag)[first + k]);
    }
  });
  mirror_.clean();
}

statevec::State& Register::state() {
  if (is_fresh_) {
    state_->set_zero_state();
    is_fresh_ = false;
  }
  if (!pending_.ops().empty()) {
    const circuit::Circuit work = std::move(pending_);
    pending_ = empty_circuit(num_state_qubits());
    state_->apply(work, work.ops());
  }
  return *state_;
}

void Register::restart() {
  changed();
  pending_ = empty_circuit(num_state_qubits());
  is_fresh_ = true;
}

void Register::gate(GateId gate, Controls controls, std::span<const Qubit> targets,
                    std::span<const double> params, Sides sides) {
  changed();
  pending_.add_controlled_gate(gate, controls.qubits, controls.values, targets, params);
  if (log_.is_recording()) log_.gate(gate, controls.qubits, controls.values, targets, params);
  if (is_density_ && sides == Sides::kBoth) {
    circuit::add_column_gate(pending_, static_cast<std::uint32_t>(num_qubits_), gate,
                             controls.qubits, controls.values, targets, params);
  }
  if (pending_.ops().size() >= kMaxPending) state();
}

void Register::append_matrix(Controls controls, std::span<const Qubit> targets,
                             std::vector<cplx> m) {
  if (targets.size() > statevec::kMaxTargets) {
    apply_wide(controls, targets, m);
    return;
  }
  pending_.add_matrix(controls.qubits, controls.values, targets, std::move(m));
  if (pending_.ops().size() >= kMaxPending) state();
}

void Register::matrix(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m,
                      Sides sides) {
  changed();
  if (log_.is_recording()) log_.matrix(controls.qubits, controls.values, targets, m);
  if (is_density_ && sides == Sides::kBoth) {
    const auto n = static_cast<std::uint32_t>(num_qubits_);
    append_matrix({circuit::column_qubits(controls.qubits, n), controls.values},
                  circuit::column_qubits(targets, n), circuit::conjugate(m));
  }
  append_matrix(controls, targets, std::move(m));
}

void Register::superoperator(std::span<const Qubit> targets, std::vector<cplx> s) {
  changed();
  if (targets.size() <= 2) {
    circuit::add_superoperator(pending_, static_cast<std::uint32_t>(num_qubits_), targets,
                               std::move(s));
    if (pending_.ops().size() >= kMaxPending) state();
    return;
  }
  std::vector<Qubit> both(targets.begin(), targets.end());
  for (Qubit q : targets) both.push_back(q + static_cast<Qubit>(num_qubits_));
  append_matrix({}, both, std::move(s));
}

// Matrices on more qubits than the planner takes: the targets are swapped to the lowest qubits,
// where the amplitudes that a product needs stand side by side, and back.
void Register::apply_wide(Controls controls, std::span<const Qubit> targets,
                          const std::vector<cplx>& m) {
  std::vector<Qubit> place(static_cast<std::size_t>(num_state_qubits()));  // of each qubit
  std::iota(place.begin(), place.end(), Qubit{0});
  std::vector<std::pair<Qubit, Qubit>> swaps;
  for (Qubit k = 0; k < targets.size(); ++k) {
    const Qubit here = place[targets[k]];
    if (here == k) continue;
    *std::find(place.begin(), place.end(), k) = here;
    place[targets[k]] = k;
    swaps.emplace_back(here, k);
    pending_.add_gate(GateId::kSwap, {here, k});
  }
  std::uint64_t mask = 0, value = 0;
  for (std::size_t k = 0; k < controls.qubits.size(); ++k) {
    const Qubit at = place[controls.qubits[k]];
    mask |= std::uint64_t{1} << at;
    value |= (controls.values >> k & 1) << at;
  }
  const std::size_t dim = std::size_t{1} << targets.size();
  std::vector<double> columns(2 * dim * dim);  // real parts of a column, then its imaginary parts
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      columns[2 * j * dim + i] = m[i * dim + j].real();
      columns[(2 * j + 1) * dim + i] = m[i * dim + j].imag();
    }
  }
  state().update_blocks([&](std::uint64_t first, std::span<cplx> block) {
    TW_CHECK(block.size() % dim == 0, "a block holds whole products");
    std::vector<double> scratch(4 * dim);
    for (std::size_t base = 0; base < block.size(); base += dim) {
      if (((first + base) & mask) == value) {
        multiply(columns.data(), block.data() + base, dim, scratch.data());
      }
    }
  });
  for (auto s = swaps.rbegin(); s != swaps.rend(); ++s) {
    pending_.add_gate(GateId::kSwap, {s->first, s->second});
  }
}

void Register::set_basis_state(std::uint64_t index) {
  restart();
  log_.basis_state(index);
  for_each_bit(index, [&](int q) {
    const auto row = static_cast<Qubit>(q);
    pending_.add_gate(GateId::kX, {row});
    if (is_density_) pending_.add_gate(GateId::kX, {row + static_cast<Qubit>(num_qubits_)});
  });
}

void Register::set_plus_state() {
  restart();
  log_.plus_state();
  for (int q = 0; q < num_state_qubits(); ++q) {
    pending_.add_gate(GateId::kH, {static_cast<Qubit>(q)});
  }
}

void Register::set_blank() {
  changed();
  log_.comment("the state is set to zero amplitudes here");
  pending_ = empty_circuit(num_state_qubits());
  is_fresh_ = false;
  const std::vector<cplx> zeros(static_cast<std::size_t>(2 * num_state_qubits()), 0);
  state_->set_product_state(zeros);
}

void Register::update(const std::function<void(std::uint64_t first, std::span<cplx>)>& f) {
  statevec::State& s = state();
  changed();
  s.update_blocks(f);
}

void Register::clone_from(Register& other) {
  changed();
  pending_ = empty_circuit(num_state_qubits());
  is_fresh_ = false;
  statevec::State& source = other.state();
  state_.reset();  // never three states
  try {
    state_ = source.clone();
  } catch (...) {
    state_ = simulate::make_state(static_cast<std::uint32_t>(num_state_qubits()), precision_,
                                  settings().num_threads, settings().device);
    throw;
  }
}

void Register::collapse(Qubit qubit, int outcome, double scale) {
  statevec::State& s = state();
  changed();
  s.collapse(qubit, outcome, scale);
  if (is_density_) s.collapse(qubit + static_cast<Qubit>(num_qubits_), outcome, 1);
}

double Register::norm() {
  if (norm_ < 0) norm_ = state().norm();
  return norm_;
}

const std::vector<cplx>& Register::diagonal() {
  if (diagonal_.empty()) {
    diagonal_ = statevec::density_diagonal(state());
  }
  return diagonal_;
}

double Register::total_probability() {
  if (!is_density_) return norm();
  double sum = 0;
  for (const cplx& x : diagonal()) sum += x.real();
  return sum;
}

double Register::probability(Qubit qubit, int outcome) {
  if (!is_density_) {
    const double one = state().marginals()[qubit];
    return outcome ? one : norm() - one;
  }
  double sum = 0;
  const std::vector<cplx>& d = diagonal();
  for (std::uint64_t k = 0; k < d.size(); ++k) {
    if (static_cast<int>(k >> qubit & 1) == outcome) sum += d[k].real();
  }
  return sum;
}

std::vector<double> Register::probabilities(std::span<const Qubit> qubits) {
  if (!is_density_) return state().joint_probabilities(qubits);
  return statevec::density_probabilities(diagonal(), qubits);
}

cplx Register::amplitude(std::uint64_t index) { return state().amplitudes({&index, 1})[0]; }

std::vector<cplx> Register::all_amplitudes() {
  std::vector<cplx> all(num_amplitudes());
  read_blocks(state(), [&](std::uint64_t first, std::span<const cplx> block) {
    std::copy(block.begin(), block.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return all;
}

std::vector<double> Register::expectations(const circuit::PauliSum& sum) {
  if (!is_density_) return state().expectations(sum);
  return statevec::density_expectations(state(), sum);
}

}  // namespace tilewave::quest
