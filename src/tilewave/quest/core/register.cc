// See register.h. What looks at a state is in register_observe.cc.
#include "tilewave/quest/core/register.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/density.h"
#include "tilewave/quest/core/session.h"
#include "tilewave/quest/core/settings.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/session.h"

namespace tilewave::quest {
namespace {

constexpr std::size_t kMaxPending = 2000;  // gates; planning them takes milliseconds
// Of matrices that wait: little beside the state, or little at all.
constexpr std::uint64_t kPendingShare = 256, kLeastPendingBytes = 1 << 18;

circuit::Circuit empty_circuit(int num_qubits) {
  return circuit::Circuit(static_cast<std::uint32_t>(num_qubits));
}

// Amplitudes [first, first + count) of a settled state become f(0), f(1), ... Whole blocks are
// written, of others the rest stays.
template <class F>
void write_blocks(statevec::State& state, std::uint64_t first, std::uint64_t count, F f) {
  const std::uint64_t size = std::min(transfer_size(state), state.local_range().count);
  const std::uint64_t end = first + count, last = (end + size - 1) / size;
  const auto threads = state.host_threads();
#pragma omp parallel num_threads(threads) if (count >= 8 * size && threads > 1)
  {
    std::vector<cplx> block(size);
#pragma omp for schedule(static)
    for (std::uint64_t b = first / size; b < last; ++b) {
      const std::uint64_t at = b * size, from = std::max(at, first), to = std::min(at + size, end);
      if (to - from < size) state.read_local(at, block);
      for (std::uint64_t k = from; k < to; ++k) block[k - at] = f(k - first);
      state.write_local(at, block);
    }
  }
}

// Whether a state of so many qubits is large enough to be shared.
bool can_share(int num_qubits, int ranks) {
  return num_qubits - std::countr_zero(static_cast<unsigned>(ranks)) >= settings().share_from;
}

bool divides(int num_qubits) { return processes() && can_share(num_qubits, num_ranks()); }

// For the program one register: shared by all processes, by ranks or devices inside this one, or
// held whole.
std::unique_ptr<statevec::State> make_state(int num_qubits, statevec::Precision precision) {
  const Settings& s = settings();
  const auto n = static_cast<std::uint32_t>(num_qubits);
  if (divides(num_qubits)) {
    return simulate::make_state(n, precision, s.num_threads, s.device,
                                {.num_logical_ranks = 1,
                                 .device_bytes = 0,
                                 .memory_fraction = 0,
                                 .processes = processes()});
  }
  if (processes()) return simulate::make_state(n, precision, num_threads(), DeviceSet::cpu());
  if (s.num_ranks > 1 && can_share(num_qubits, s.num_ranks)) {
    return simulate::make_state(n, precision, s.num_threads, DeviceSet::cpu(),
                                {.num_logical_ranks = s.num_ranks,
                                 .device_bytes = 0,
                                 .memory_fraction = 0,
                                 .processes = nullptr});
  }
  DeviceSet device = s.device;
  if (device.cuda().size() > 1) {
    const int devices = simulate::count_ranks(n, precision, device, {});
    if (std::has_single_bit(static_cast<unsigned>(devices)) && !can_share(num_qubits, devices))
      device = DeviceSet::cuda({device.cuda()[0]});
  }
  return simulate::make_state(n, precision, s.num_threads, device);
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Parts::Parts(const std::vector<cplx>& values) {
  for (const cplx& z : values) {
    re_.push_back(z.real());
    im_.push_back(z.imag());
  }
}

statevec::Table Parts::table() const { return {re_.data(), im_.data(), true, 0, re_.size()}; }

Register::Register(int num_qubits, bool is_density, statevec::Precision precision)
    : num_qubits_(num_qubits),
      is_density_(is_density),
      precision_(precision),
      state_(make_state(num_state_qubits(), precision)),
      pending_(empty_circuit(num_state_qubits())),
      is_divided_(divides(num_state_qubits())),
      is_tiny_(!processes() && state_->is_tiny()),
      shard_qubits_(static_cast<std::size_t>(num_state_qubits() - state_->cost_model().shard_bits)),
      id_(next_id()),
      mirror_(share_shown().count, precision == statevec::Precision::kDouble ? 8 : 4,
              [this](void* real, void* imag) { copy_to_arrays(real, imag); }),
      log_(num_qubits) {
  state_->keep_shared_memory();
}

void Register::forget_answers() {
  norm_ = -1;
  diagonal_.clear();
  strings_.clear();
  window_.clear();
}

// Every change comes through here first.
void Register::changed() {
  ++calls_;
  forget_answers();
  is_synced_ = false;
  if (!mirror_.is_closed()) mirror_.close();
}

// Nothing waits while the arrays are open, and the state is as they show it.
void Register::upload() {
  forget_answers();
  log_.comment("amplitudes are written to stateVec here");
  const statevec::State::Range shown = share_shown();
  const void *real = mirror_.real(), *imag = mirror_.imag();
  const bool is_double = precision_ == statevec::Precision::kDouble;
  const auto value = [&](std::uint64_t k) {
    return is_double
               ? cplx(static_cast<const double*>(real)[k], static_cast<const double*>(imag)[k])
               : cplx(static_cast<const float*>(real)[k], static_cast<const float*>(imag)[k]);
  };
  wrote_ = processes() != nullptr;
  if (wrote_ && !is_divided_) {  // the others hear of it when all meet
    written_.resize(shown.count);
    for (std::uint64_t k = 0; k < shown.count; ++k) written_[k] = value(k);
  } else {
    write_blocks(*state_, shown.first, shown.count, value);
  }
  mirror_.clean();
}

void Register::flush() {
  if (is_fresh_) {
    state_->set_zero_state();
    is_fresh_ = false;
  }
  if (pending_.ops().empty()) return;
  if (is_tiny_) {
    state_->apply_tiny(pending_, pending_.ops());
    pending_ = empty_circuit(num_state_qubits());
    pending_bytes_ = 0;
    return;
  }
  const circuit::Circuit work = std::move(pending_);
  pending_ = empty_circuit(num_state_qubits());
  pending_bytes_ = 0;
  simulate::Session::of_process()->run(*state_, work, work.ops());
}

// What a gate or a matrix does to a state of a few amplitudes, which is over before a queue of gates
// would be made. False for other states.
bool Register::apply_now(Controls controls, std::span<const Qubit> targets,
                         std::span<const cplx> m) {
  if (!is_tiny_) return false;
  flush();
  std::uint64_t mask = 0, value = 0;
  for (std::size_t k = 0; k < controls.qubits.size(); ++k) {
    mask |= bit(static_cast<int>(controls.qubits[k]));
    value |= (controls.values >> k & 1) << controls.qubits[k];
  }
  state_->apply_tiny(mask, value, targets, m);
  return true;
}

void Register::limit_pending() {
  const std::uint64_t most =
      std::max(kLeastPendingBytes, num_amplitudes() * amplitude_bytes(precision_) / kPendingShare);
  if (pending_.ops().size() >= kMaxPending || pending_bytes_ > most) state();
}

void Register::drop_pending() {
  pending_ = empty_circuit(num_state_qubits());
  pending_bytes_ = 0;
  is_fresh_ = false;
  wrote_ = false;
  written_.clear();
}

void Register::restart() {
  changed();
  drop_pending();
  is_fresh_ = true;
}

void Register::gate(GateId gate, Controls controls, std::span<const Qubit> targets,
                    std::span<const double> params, Sides sides) {
  changed();
  if (log_.is_recording()) log_.gate(gate, controls.qubits, controls.values, targets, params);
  // what changes more qubits at once than a rank has is a matrix like others
  if (is_tiny_ || (targets.size() > shard_qubits_ && gate != GateId::kSwap)) {
    append_sides(controls, targets, circuit::gate_matrix(gate, params), sides);
    return;
  }
  pending_.add_controlled_gate(gate, controls.qubits, controls.values, targets, params);
  if (is_density_ && sides == Sides::kBoth) {
    circuit::add_column_gate(pending_, static_cast<std::uint32_t>(num_qubits_), gate,
                             controls.qubits, controls.values, targets, params);
  }
  limit_pending();
}

void Register::append_matrix(Controls controls, std::span<const Qubit> targets,
                             std::vector<cplx> m) {
  if (apply_now(controls, targets, m)) return;
  if (targets.size() > shard_qubits_) {
    apply_gathered(controls, targets, m);
    return;
  }
  if (targets.size() > statevec::kMaxTargets) {
    apply_wide(controls, targets, m);
    return;
  }
  pending_bytes_ += m.size() * sizeof(cplx);
  pending_.add_matrix(controls.qubits, controls.values, targets, std::move(m));
  limit_pending();
}

void Register::matrix(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m,
                      Sides sides) {
  changed();
  if (log_.is_recording()) {
    if (is_density_ && sides == Sides::kLeft) {
      log_.comment("a matrix from the left alone stands here: OpenQASM 2 has none");
    } else {
      log_.matrix(controls.qubits, controls.values, targets, m);
    }
  }
  append_sides(controls, targets, std::move(m), sides);
}

void Register::append_sides(Controls controls, std::span<const Qubit> targets, std::vector<cplx> m,
                            Sides sides) {
  if (is_density_ && sides == Sides::kBoth) {
    const auto n = static_cast<std::uint32_t>(num_qubits_);
    append_matrix({circuit::column_qubits(controls.qubits, n), controls.values},
                  circuit::column_qubits(targets, n), circuit::conjugate(m));
  }
  append_matrix(controls, targets, std::move(m));
}

void Register::superoperator(std::span<const Qubit> targets, std::vector<cplx> s) {
  changed();
  if (!is_tiny_ && targets.size() <= 2 && 2 * targets.size() <= shard_qubits_) {
    pending_bytes_ += s.size() * sizeof(cplx);
    circuit::add_superoperator(pending_, static_cast<std::uint32_t>(num_qubits_), targets,
                               std::move(s));
    limit_pending();
    return;
  }
  std::vector<Qubit> both(targets.begin(), targets.end());
  for (Qubit q : targets) both.push_back(q + static_cast<Qubit>(num_qubits_));
  append_matrix({}, both, std::move(s));
}

// Matrices on more qubits than a rank's share has: all ranks work on all amplitudes, which are few
// then.
void Register::apply_gathered(Controls controls, std::span<const Qubit> targets,
                              const std::vector<cplx>& m) {
  std::vector<cplx> all = all_amplitudes();
  std::uint64_t mask = 0, wanted = 0, changes = 0;
  for (std::size_t k = 0; k < controls.qubits.size(); ++k) {
    mask |= bit(static_cast<int>(controls.qubits[k]));
    wanted |= (controls.values >> k & 1) << controls.qubits[k];
  }
  const std::size_t dim = std::size_t{1} << targets.size();
  std::vector<std::uint64_t> offset(dim, 0);
  for (std::size_t k = 0; k < dim; ++k) {
    for_each_bit(k, [&](int t) { offset[k] |= bit(static_cast<int>(targets[t])); });
    changes |= offset[k];
  }
  std::vector<cplx> in(dim);
  for (std::uint64_t base = 0; base < all.size(); ++base) {
    if (base & changes || (base & mask) != wanted) continue;
    for (std::size_t k = 0; k < dim; ++k) in[k] = all[base | offset[k]];
    for (std::size_t row = 0; row < dim; ++row) {
      cplx sum = 0;
      for (std::size_t k = 0; k < dim; ++k) sum += m[row * dim + k] * in[k];
      all[base | offset[row]] = sum;
    }
  }
  assign(0, all.size(), [&](std::uint64_t k) { return all[k]; });
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
  statevec::DenseOp op;
  op.num_targets = static_cast<int>(targets.size());
  op.m = m;
  for (std::size_t k = 0; k < controls.qubits.size(); ++k) {
    const Qubit at = place[controls.qubits[k]];
    op.mask |= std::uint64_t{1} << at;
    op.value |= (controls.values >> k & 1) << at;
  }
  settled().apply_dense(op);
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
  drop_pending();
  const std::vector<cplx> zeros(static_cast<std::size_t>(2 * num_state_qubits()), 0);
  state_->set_product_state(zeros);
}

statevec::State& Register::settled_for_change() {
  statevec::State& s = settled();
  changed();
  return s;
}

statevec::State& Register::cleared_for_change() {
  changed();
  drop_pending();
  state_->set_zero_state();
  state_->settle();
  const cplx zero = 0;
  const statevec::State::Range here = state_->local_range();
  if (here.first == 0) state_->write_local(0, {&zero, 1});
  return *state_;
}

void Register::assign(std::uint64_t first, std::uint64_t count,
                      const std::function<cplx(std::uint64_t)>& value) {
  statevec::State& s = count == num_amplitudes() ? cleared_for_change() : settled_for_change();
  const statevec::State::Range here = s.local_range();
  const std::uint64_t begin = std::max(first, here.first),
                      end = std::min(first + count, here.first + here.count);
  if (begin >= end) return;
  write_blocks(s, begin, end - begin, [&](std::uint64_t k) { return value(begin - first + k); });
}

void Register::clone_from(Register& other) {
  changed();
  drop_pending();
  state_->copy_from(other.state());
}

void Register::collapse(Qubit qubit, int outcome, double scale) {
  statevec::State& s = state();
  changed();
  if (is_tiny_) {
    const cplx zero = outcome ? 0 : scale, one = outcome ? scale : 0;
    const std::array<cplx, 4> m = {zero, 0, 0, one},
                              other = {outcome ? 0.0 : 1.0, 0, 0, outcome ? 1.0 : 0.0};
    s.apply_tiny(0, 0, {&qubit, 1}, m);
    const Qubit column = qubit + static_cast<Qubit>(num_qubits_);
    if (is_density_) s.apply_tiny(0, 0, {&column, 1}, other);
    return;
  }
  s.collapse(qubit, outcome, scale);
  if (is_density_) s.collapse(qubit + static_cast<Qubit>(num_qubits_), outcome, 1);
}

}  // namespace tilewave::quest
