#include "tilewave/statevec/state.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <typeinfo>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/runtime/team.h"

namespace tilewave::statevec {

PlanOptions State::plan_options() const {
  PlanOptions options;
  options.precision = precision_;
  options.layout = layout_;
  options.known_zero = known_zero_;
  options.cost = cost_model();
  return options;
}

void State::apply(const circuit::Circuit& circuit, std::span<const circuit::Op> ops) {
  TW_CHECK(static_cast<int>(circuit.num_qubits()) == num_qubits_,
           "circuit and state differ in their number of qubits");
  run(make_plan(circuit, ops, plan_options()));
}

void State::apply_tiny(std::uint64_t, std::uint64_t, std::span<const circuit::Qubit>,
                       std::span<const cplx>) {
  TW_CHECK(false, "a matrix is applied at once to a tiny state");
}

void State::apply_tiny(const circuit::Circuit& circuit, std::span<const circuit::Op> ops) {
  for (const circuit::Op& op : ops) {
    std::uint64_t mask = 0, value = 0;
    const auto controls = circuit.controls(op);
    for (std::size_t k = 0; k < controls.size(); ++k) {
      mask |= bit(static_cast<int>(controls[k]));
      value |= (op.control_values >> k & 1) << controls[k];
    }
    apply_tiny(mask, value, circuit.targets(op), circuit.matrix(op));
  }
}

double State::probability(circuit::Qubit qubit, int value) {
  return joint_probabilities({&qubit, 1})[static_cast<std::size_t>(value)];
}

std::unique_ptr<State> State::clone_into(std::unique_ptr<State> spare) const {
  const State* const there = spare.get();
  const bool alike = there && typeid(*there) == typeid(*this) &&
                     there->num_qubits_ == num_qubits_ && there->precision_ == precision_;
  if (!alike) {
    spare.reset();
    return clone();
  }
  spare->copy_from(*this);
  return spare;
}

void State::check_plan(const Plan& plan) const {
  TW_CHECK(plan.num_qubits == num_qubits_ && plan.precision == precision_,
           "the plan is for another state");
  TW_CHECK(plan.layout_before.flips == layout_.flips &&
               std::equal(layout_.position.begin(), layout_.position.begin() + num_qubits_,
                          plan.layout_before.position.begin()),
           "the plan is for another layout of the state");
}

void State::check_strings(const circuit::PauliSum& sum) const {
  for (std::size_t k = 0; k < sum.size(); ++k) {
    if ((sum[k].x | sum[k].z) & ~low_mask(num_qubits_)) {
      fail(ExitCode::kUsage, "Pauli string ", k, " acts on a qubit the state does not have");
    }
  }
}

void check_joint_qubits(std::span<const circuit::Qubit> qubits, std::size_t most) {
  for (std::size_t k = 0; k < qubits.size(); ++k) {
    const auto before = qubits.first(k);
    if (std::find(before.begin(), before.end(), qubits[k]) != before.end())
      fail(ExitCode::kUsage, "qubit ", qubits[k], " is asked for twice");
  }
  if (qubits.size() > most) {
    fail(ExitCode::kUsage, "joint probabilities of ", qubits.size(), " qubits have 2^",
         qubits.size(), " outcomes: ask for at most ", most, " qubits, or draw shots");
  }
}

void State::check_joint(std::span<const circuit::Qubit> qubits) const {
  check_joint_qubits(qubits);
  for (const circuit::Qubit q : qubits) {
    if (static_cast<int>(q) >= num_qubits_) fail(ExitCode::kUsage, "qubit ", q, " is out of range");
  }
}

void State::check_index(std::uint64_t index) const {
  if (index < num_amplitudes()) return;
  fail(ExitCode::kUsage, "amplitude ", index, " is out of range: the state has 2^", num_qubits_,
       " amplitudes");
}

void State::check_drawable(double norm) {
  if (!(norm > 0) || !std::isfinite(norm))
    fail(ExitCode::kVerification, "cannot draw shots: the norm of the state is ",
         std::to_string(norm));
}

void State::restore_layout() {
  if (!layout_.is_identity(num_qubits_)) {
    PlanOptions options = plan_options();
    options.restore_layout = true;
    run(make_plan(circuit::Circuit(static_cast<std::uint32_t>(num_qubits_)), {}, options));
  }
  materialize();
}

void State::for_each_block(
    const std::function<void(std::uint64_t first, std::span<const cplx>)>& f) {
  restore_layout();
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 18;
  std::vector<cplx> block(std::min(kBlock, num_amplitudes()));
  for (std::uint64_t first = 0; first < num_amplitudes(); first += block.size()) {
    read_local(first, block);
    f(first, block);
  }
}

void State::update_blocks(const std::function<void(std::uint64_t first, std::span<cplx>)>& f) {
  restore_layout();
  constexpr std::uint64_t kTransfer = std::uint64_t{1} << 20;
  std::vector<cplx> block(std::min(kTransfer, num_amplitudes()));
  for (std::uint64_t first = 0; first < num_amplitudes(); first += block.size()) {
    read_local(first, block);
    f(first, block);
    write_local(first, block);
  }
}

runtime::HostBuffer State::take_amplitudes() {
  runtime::HostBuffer all(amplitude_bytes(precision_) << num_qubits_);
  const bool is_double = precision_ == Precision::kDouble;
  for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    if (is_double) {
      std::copy(block.begin(), block.end(), all.as<cplx>() + first);
    } else {
      std::transform(block.begin(), block.end(), all.as<std::complex<float>>() + first,
                     [](const cplx& a) { return std::complex<float>(a); });
    }
  });
  return all;
}

namespace {

// f(index, offset in the other memory) of every run of a shape.
template <class F>
void for_each_run(std::uint64_t first, const RunShape& shape, F f) {
  for (std::uint64_t p = 0; p < bit(shape.planes.bits); ++p) {
    for (std::uint64_t r = 0; r < bit(shape.rows.bits); ++r) {
      f(first + p * shape.planes.step + r * shape.rows.step,
        p * shape.planes.far_step + r * shape.rows.far_step);
    }
  }
}

}  // namespace

void State::load_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                      std::span<void* const> from) {
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    for_each_run(firsts[k], shape, [&](std::uint64_t index, std::uint64_t offset) {
      write_runs({&index, 1}, shape.run_bits,
                 static_cast<const char*>(from[k]) + offset * amplitude_bytes(precision_));
    });
  }
}

void State::save_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                      std::span<void* const> to) const {
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    for_each_run(firsts[k], shape, [&](std::uint64_t index, std::uint64_t offset) {
      read_runs({&index, 1}, shape.run_bits,
                static_cast<char*>(to[k]) + offset * amplitude_bytes(precision_));
    });
  }
}

namespace {

// f(first index) of every slice that holds what may not be zero.
template <class F>
void for_each_slice(int num_qubits, int slice_bits, std::uint64_t known_zero, F f) {
  for (std::uint64_t first = 0; first < bit(num_qubits); first += bit(slice_bits)) {
    if (!(first & known_zero)) f(first);
  }
}

void clear_known_zeros(std::span<std::byte> slice, std::size_t bytes_each,
                       std::uint64_t known_zero) {
  for (std::uint64_t k = 0; known_zero && k < slice.size() / bytes_each; ++k) {
    if (k & known_zero) std::memset(slice.data() + k * bytes_each, 0, bytes_each);
  }
}

}  // namespace

void State::save_physical(int slice_bits, const SliceOut& f) {
  const int bits = std::min(slice_bits, num_qubits_);
  const std::size_t bytes_each = amplitude_bytes(precision_);
  std::vector<std::byte> slice(bytes_each << bits);
  for_each_slice(num_qubits_, bits, known_zero_, [&](std::uint64_t first) {
    read_runs({&first, 1}, bits, slice.data());
    clear_known_zeros(slice, bytes_each, known_zero_ & low_mask(bits));
    f(first, slice);
  });
}

void State::load_physical(const Layout& layout, std::uint64_t known_zero, int slice_bits,
                          const SliceIn& f) {
  const int bits = std::min(slice_bits, num_qubits_);
  std::vector<std::byte> slice(amplitude_bytes(precision_) << bits);
  for_each_slice(num_qubits_, bits, known_zero, [&](std::uint64_t first) {
    f(first, slice);
    write_runs({&first, 1}, bits, slice.data());
  });
  assume(layout, known_zero);
}

std::vector<std::uint64_t> sample(State& state, std::uint64_t shots, std::uint64_t seed) {
  constexpr std::uint64_t kSampleStream = 0x73616d706c65;  // "sample"
  struct Draw {
    double u;
    std::uint64_t shot;
  };
  std::vector<Draw> draws(shots);
  constexpr std::uint64_t kManyShots = 10000;
  // Uniform numbers: into buckets by their leading bits, then every bucket alone.
  const std::uint64_t num_buckets = shots > kManyShots ? 4096 : 1;
  const auto bucket_of = [&](double u) {
    return static_cast<std::size_t>(u * static_cast<double>(num_buckets));
  };
  std::vector<double> drawn_u(shots);
  const int threads = shots > kManyShots ? omp_get_max_threads() : 1;
  runtime::for_all(threads, shots,
                   [&](std::uint64_t s) { drawn_u[s] = random_uniform(seed, kSampleStream, s); });
  std::vector<std::uint64_t> first(num_buckets + 1);
  for (double u : drawn_u) ++first[bucket_of(u) + 1];
  for (std::size_t b = 0; b < num_buckets; ++b) first[b + 1] += first[b];
  std::vector<std::uint64_t> next(first.begin(), first.end() - 1);
  for (std::uint64_t s = 0; s < shots; ++s) draws[next[bucket_of(drawn_u[s])]++] = {drawn_u[s], s};
  runtime::for_all(threads, num_buckets, [&](std::uint64_t b) {
    std::sort(
        draws.begin() + static_cast<std::ptrdiff_t>(first[b]),
        draws.begin() + static_cast<std::ptrdiff_t>(first[b + 1]),
        [](const Draw& x, const Draw& y) { return x.u < y.u || (x.u == y.u && x.shot < y.shot); });
  });
  std::vector<double> sorted(shots);
  for (std::uint64_t s = 0; s < shots; ++s) sorted[s] = draws[s].u;
  const std::vector<std::uint64_t> drawn = state.sample_sorted(sorted);
  std::vector<std::uint64_t> result(shots);
  runtime::for_all(threads, shots, [&](std::uint64_t s) { result[draws[s].shot] = drawn[s]; });
  return result;
}

}  // namespace tilewave::statevec
