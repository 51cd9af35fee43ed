// Memory, plans and exchanges of a distributed state. Questions are in distributed_observe.cc.
#include "tilewave/statevec/distributed/distributed_state.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/placement.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::statevec {

int checked_shard_bits(int num_ranks, int num_qubits) {
  if (num_ranks < 1 || !std::has_single_bit(static_cast<unsigned>(num_ranks))) {
    fail(ExitCode::kUsage, num_ranks,
         " ranks cannot share a state: use a power of two (1, 2, 4, 8, ...)");
  }
  const int bits = std::countr_zero(static_cast<unsigned>(num_ranks));
  if (bits >= num_qubits && bits > 0) {
    fail(ExitCode::kUsage, num_ranks, " ranks are too many for ", num_qubits,
         " qubits: use at most ", 1 << std::max(0, num_qubits - 1));
  }
  return bits;
}

namespace distributed {

DistributedState::DistributedState(int num_qubits, Precision precision,
                                   std::shared_ptr<Transport> transport,
                                   std::vector<std::unique_ptr<State>> shards)
    : State(num_qubits, precision),
      transport_(std::move(transport)),
      shards_(std::move(shards)),
      shard_bits_(checked_shard_bits(transport_->num_ranks(), num_qubits)) {
  local_qubits_ = num_qubits - shard_bits_;
  TW_CHECK(static_cast<int>(shards_.size()) == num_local(), "one shard a rank");
  // one machine's knowledge for all, so that all make the same plans
  cost_ = shards_[0]->cost_model();
  transport_->broadcast(0, &cost_, sizeof cost_);
  cost_.price = shards_[0]->cost_model().price;  // an address of this process
  const double at_once = transport_->num_at_once();
  cost_.bandwidth *= at_once;
  cost_.wide_bandwidth *= at_once;
  cost_.share_arithmetic(at_once);
  for_each_rate(cost_.traffic, [&](double& s) { s /= at_once; });
  cost_.writer = nullptr;  // an address of another process
  cost_.shard_bits = shard_bits_;
  cost_.exchange_bandwidth = transport_->bandwidth();
  cost_.overlap = transport_->overlap();
  reset_names();
  known_zero_ = low_mask(num_qubits_);
}

std::string DistributedState::device() const {
  return std::to_string(num_ranks()) + " " + transport_->name() + " on " + shards_[0]->device();
}

std::uint64_t DistributedState::shard_positions() const {
  return low_mask(num_qubits_) & ~low_mask(local_qubits_);
}

std::uint64_t DistributedState::shard_of(int rank) const {
  std::uint64_t shard = 0;
  for (int k = 0; k < shard_bits_; ++k)
    shard |= (static_cast<std::uint64_t>(rank) >> rank_bits_[k] & 1) << k;
  return shard ^ inverted_;
}

int DistributedState::rank_of(std::uint64_t shard) const {
  int rank = 0;
  for (int k = 0; k < shard_bits_; ++k)
    rank |= static_cast<int>((shard ^ inverted_) >> k & 1) << rank_bits_[k];
  return rank;
}

bool DistributedState::is_idle(int rank, std::uint64_t known_zero) const {
  return (shard_of(rank) << local_qubits_ & known_zero) != 0;
}

void DistributedState::reset_names() {
  transport_->forget();
  rank_bits_.resize(shard_bits_);
  for (int k = 0; k < shard_bits_; ++k) rank_bits_[k] = k;
  inverted_ = 0;
  layout_ = Layout::identity();
}

// Every shard in the identity layout with the state's local known zeros.
void DistributedState::assume_shards() {
  for (const auto& shard : shards_)
    shard->assume(Layout::identity(), known_zero_ & low_mask(local_qubits_));
}

void DistributedState::clear(State& shard) {
  const Complex<double> zero{};
  const std::uint64_t first = 0;
  shard.write_runs({&first, 1}, 0, &zero);
  shard.assume(Layout::identity(), low_mask(local_qubits_));
  shard.materialize();
}

void DistributedState::set_zero_state() {
  reset_names();
  known_zero_ = low_mask(num_qubits_);
  transport_->for_each_shard([&](int k) { shards_[k]->set_zero_state(); });
}

void DistributedState::set_product_state(std::span<const cplx> a) {
  TW_CHECK(a.size() == static_cast<std::size_t>(2 * num_qubits_),
           "a product state needs two amplitudes a qubit");
  reset_names();
  known_zero_ = 0;
  transport_->for_each_shard([&](int k) {
    std::vector<cplx> own(a.begin(), a.begin() + 2 * local_qubits_);
    cplx factor = 1;
    for (int b = 0; b < shard_bits_; ++b)
      factor *= a[2 * (local_qubits_ + b) + (rank_of_local(k) >> b & 1)];
    own[0] *= factor, own[1] *= factor;
    shards_[k]->set_product_state(own);
  });
}

void DistributedState::set_amplitudes(std::span<const cplx> amplitudes) {
  TW_CHECK(amplitudes.size() == num_amplitudes(), "a state needs 2^n amplitudes");
  reset_names();
  known_zero_ = 0;
  transport_->for_each_shard([&](int k) {
    const auto first = static_cast<std::size_t>(rank_of_local(k)) << local_qubits_;
    shards_[k]->set_amplitudes(amplitudes.subspan(first, bit(local_qubits_)));
  });
}

void DistributedState::run_passes(const Plan& plan, std::size_t first, std::size_t last) {
  transport_->for_each_shard([&](int k) {
    // the shard positions known to be zero do not change between exchanges
    if (is_idle(rank_of_local(k), plan.passes[first].known_zero_before)) return;
    shards_[k]->run(local_plan(plan, first, last, shard_of(rank_of_local(k))));
  });
  known_zero_ = plan.passes[last - 1].known_zero_after;
  assume_shards();
}

namespace {

std::uint64_t swap_bits(std::uint64_t mask, int a, int b) {
  return (mask & ~(bit(a) | bit(b))) | (mask >> a & 1) << b | (mask >> b & 1) << a;
}

double flops_per_byte(const Plan& plan, const Around& around) {
  double flops = 0, bytes = 0;
  for (std::size_t p = around.first; p < around.last; ++p) {
    flops += plan.passes[p].flops;
    bytes += plan.passes[p].bytes;
  }
  return flops / bytes;
}

}  // namespace

ShardSwap DistributedState::swap_of(const Exchange& step) const {
  ShardSwap swap;
  swap.local_qubits = local_qubits_;
  swap.known_zero = known_zero_ & low_mask(local_qubits_);
  for (int rank = 0; rank < num_ranks(); ++rank) swap.idle.push_back(is_idle(rank, known_zero_));
  for (const auto& [a, b] : step.swaps) {
    const int k = b - local_qubits_;
    swap.local_bits.push_back(a);
    swap.rank_bits.push_back(rank_bits_[k]);
    swap.inverted |= (inverted_ >> k & 1) << rank_bits_[k];
  }
  return swap;
}

void DistributedState::swap_known_zeros(const Exchange& step) {
  for (const auto& [a, b] : step.swaps) known_zero_ = swap_bits(known_zero_, a, b);
}

void DistributedState::exchange(const Exchange& step) {
  for (const auto& [a, b] : step.relabels) {
    const int i = a - local_qubits_, j = b - local_qubits_;
    std::swap(rank_bits_[i], rank_bits_[j]);
    inverted_ = swap_bits(inverted_, i, j);
    known_zero_ = swap_bits(known_zero_, a, b);
  }
  if (step.bytes > 0) transport_->exchange(shards_, swap_of(step));
  swap_known_zeros(step);
  assume_shards();
  if (const std::uint64_t ended = step.flips & known_zero_) {
    transport_->for_each_shard([&](int k) {
      if (shard_of(rank_of_local(k)) << local_qubits_ & ended) clear(*shards_[k]);
    });
    known_zero_ &= ~ended;
    assume_shards();
  }
  inverted_ ^= step.flips >> local_qubits_;
  TW_CHECK(known_zero_ == step.known_zero_after, "an exchange lost track of known zeros");
}

void DistributedState::run_sliced(const Plan& plan, const Exchange& step, const Around& around) {
  SlicedExchange sliced;
  sliced.mask = around.mask;
  sliced.flops_per_byte = flops_per_byte(plan, around);
  for (std::uint64_t v = 0; v < bit(std::popcount(around.mask)); ++v)
    sliced.values.push_back(deposit_bits(v, around.mask));
  const auto passes_of = [&](std::size_t first, std::size_t last) {
    return [&, first, last](int rank, std::size_t slice) {
      return local_plan(plan, first, last, shard_of(rank), {sliced.mask, sliced.values[slice]});
    };
  };
  const auto idle_ranks = [&](std::uint64_t known_zero) {
    std::vector<bool> idle;
    for (int rank = 0; rank < num_ranks(); ++rank) idle.push_back(is_idle(rank, known_zero));
    return idle;
  };
  if (around.first < step.before_pass) {
    sliced.before = passes_of(around.first, step.before_pass);
    sliced.idle_before = idle_ranks(plan.passes[around.first].known_zero_before);
    known_zero_ = plan.passes[step.before_pass - 1].known_zero_after;
  }
  sliced.swap = swap_of(step);
  swap_known_zeros(step);
  TW_CHECK(known_zero_ == step.known_zero_after, "an exchange lost track of known zeros");
  if (around.last > step.before_pass) {
    sliced.after = passes_of(step.before_pass, around.last);
    sliced.idle_after = idle_ranks(known_zero_);
    known_zero_ = plan.passes[around.last - 1].known_zero_after;
  }
  transport_->exchange_sliced(shards_, sliced);
  assume_shards();
}

void DistributedState::run(const Plan& plan, const RunObserver& observer) {
  check_plan(plan);
  TW_CHECK(plan.shard_bits == shard_bits_, "the plan is for another state");
  assume_shards();                                 // a question may have written the zeros of some
  if (observer.on_part) transport_->take_parts();  // of what was before
  double done_s = 0;
  std::size_t done = 0;  // passes
  const runtime::Timer timer;
  double before_s = 0;
  const auto report = [&](const char* what, double predicted_s, double bytes) {
    const double now_s = timer.elapsed_s();
    done_s += predicted_s;
    if (observer.on_step) observer.on_step({what, predicted_s, now_s - before_s, bytes});
    if (observer.on_part) {
      for (const StepTime& part : transport_->take_parts()) observer.on_part(part);
    }
    if (observer.on_progress) observer.on_progress(done_s, plan.predicted_s);
    before_s = now_s;
  };
  const auto run_until = [&](std::size_t last) {
    if (done >= last) return;
    TW_CHECK((plan.passes[done].known_zero_before & ~known_zero_) == 0,
             "the plan takes positions for zero that are not");
    run_passes(plan, done, last);
    double predicted_s = 0, bytes = 0;
    for (; done < last; ++done) {
      predicted_s += plan.passes[done].predicted_s;
      bytes += plan.passes[done].bytes;
    }
    report("passes", predicted_s, bytes);
  };
  for (const Exchange& step : plan.exchanges) {
    const Around around = slices_around(plan, step, done, cost_.overlap.bits_for(local_qubits_));
    if (!around.mask) {
      run_until(step.before_pass);
      exchange(step);
      report("exchange", step.predicted_s, step.bytes);
      continue;
    }
    run_until(around.first);
    run_sliced(plan, step, around);
    double predicted_s = step.predicted_s - hidden_s(plan, step, around, cost_.overlap);
    for (; done < around.last; ++done) predicted_s += plan.passes[done].predicted_s;
    report("exchange beside passes", predicted_s, step.bytes);
  }
  run_until(plan.passes.size());
  layout_ = plan.layout_after;
}

void DistributedState::materialize() {
  if (!known_zero_) return;
  transport_->for_each_shard([&](int k) {
    if (is_idle_local(k)) {
      clear(*shards_[k]);
    } else {
      shards_[k]->materialize();
    }
  });
  known_zero_ = 0;
  assume_shards();
}

void DistributedState::collapse(circuit::Qubit qubit, int outcome, double scale) {
  assume_shards();  // a question may have written the zeros of some
  const int q = static_cast<int>(qubit), p = layout_.position[q];
  const int kept = outcome ^ static_cast<int>(layout_.flips >> q & 1);
  if (kept && known_zero_ >> p & 1) {  // an outcome that cannot be
    transport_->for_each_shard([&](int k) { clear(*shards_[k]); });
    known_zero_ = 0;
    assume_shards();
    return;
  }
  if (p < local_qubits_) {
    for_each_busy_shard(
        [&](int k) { shards_[k]->collapse(static_cast<circuit::Qubit>(p), kept, scale); });
  } else {
    if (kept) inverted_ ^= bit(p - local_qubits_);
    known_zero_ |= bit(p);
    if (scale != 1) {  // a pass that only scales
      Plan plan;
      plan.num_qubits = local_qubits_;
      plan.precision = precision_;
      plan.layout_before = plan.layout_after = Layout::identity();
      plan.known_zero_after = known_zero_ & low_mask(local_qubits_);
      plan.tile_qubits = std::min(cost_.tile_qubits, local_qubits_);
      plan.row_bits = std::min(cost_.row_bits, plan.tile_qubits);
      Pass pass;
      for (int a = 0; a < plan.tile_qubits; ++a)
        pass.active.push_back(static_cast<std::uint8_t>(a));
      pass.dest = pass.active;
      pass.known_zero_before = pass.known_zero_after = plan.known_zero_after;
      pass.scale = scale;
      plan.passes.push_back(pass);
      for_each_busy_shard([&](int k) { shards_[k]->run(plan); });
    }
  }
  if (kept) layout_.flips ^= bit(q);
  known_zero_ |= bit(p);
  assume_shards();
}

std::unique_ptr<State> DistributedState::clone() const {
  std::vector<std::unique_ptr<State>> shards(shards_.size());
  transport_->for_each_shard([&](int k) { shards[k] = shards_[k]->clone(); });
  auto copy =
      std::make_unique<DistributedState>(num_qubits_, precision_, transport_, std::move(shards));
  copy->layout_ = layout_;
  copy->known_zero_ = known_zero_;
  copy->rank_bits_ = rank_bits_;
  copy->inverted_ = inverted_;
  copy->assume_shards();
  return copy;
}

std::uint64_t DistributedState::memory_bytes() const {
  return num_ranks() / num_local() *
         (shards_.size() * shards_[0]->memory_bytes() + transport_->ring_bytes());
}

void DistributedState::for_each_busy_shard(const std::function<void(int)>& f) {
  std::vector<std::exception_ptr> failures(shards_.size());
  transport_->for_each_shard([&](int k) {
    if (is_idle_local(k)) return;
    try {
      f(k);
    } catch (...) {
      failures[k] = std::current_exception();
    }
  });
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void DistributedState::save_physical(int slice_bits, const SliceOut& f) {
  assume_shards();   // a question may have written the zeros of some
  std::mutex alone;  // shards of several devices take turns
  for_each_busy_shard([&](int k) {
    shards_[k]->save_physical(slice_bits,
                              [&](std::uint64_t first, std::span<const std::byte> bytes) {
                                const std::lock_guard lock(alone);
                                f(begin_of(k) | first, bytes);
                              });
  });
}

void DistributedState::load_physical(const Layout& layout, std::uint64_t known_zero, int slice_bits,
                                     const SliceIn& f) {
  reset_names();
  known_zero_ = known_zero;
  std::mutex alone;
  for_each_busy_shard([&](int k) {
    shards_[k]->load_physical(Layout::identity(), known_zero & low_mask(local_qubits_), slice_bits,
                              [&](std::uint64_t first, std::span<std::byte> bytes) {
                                const std::lock_guard lock(alone);
                                f(begin_of(k) | first, bytes);
                              });
  });
  layout_ = layout;
  assume_shards();
}

// A distributed state is nobody's part.
void DistributedState::read_runs(std::span<const std::uint64_t>, int, void*) const {
  TW_CHECK(false, "runs of a distributed state are read from its shards");
}
void DistributedState::write_runs(std::span<const std::uint64_t>, int, const void*) {
  TW_CHECK(false, "runs of a distributed state are written to its shards");
}

}  // namespace distributed

std::unique_ptr<State> make_logical_state(int num_qubits, Precision precision, int num_threads,
                                          int num_ranks) {
  const int bits = checked_shard_bits(num_ranks, num_qubits);
  std::vector<std::unique_ptr<State>> shards;
  for (int k = 0; k < num_ranks; ++k)
    shards.push_back(make_cpu_state(num_qubits - bits, precision, num_threads));
  return std::make_unique<distributed::DistributedState>(
      num_qubits, precision, distributed::make_logical_transport(num_ranks, precision),
      std::move(shards));
}

std::unique_ptr<State> make_process_state(int num_qubits, Precision precision, int num_threads,
                                          std::shared_ptr<runtime::Ranks> ranks, int cuda_device,
                                          int min_sliced_qubits) {
  const int bits = checked_shard_bits(ranks->size(), num_qubits);
  const std::string hosts = runtime::remark_on_hosts(ranks->hosts());
  std::vector<std::unique_ptr<State>> shards;
  shards.push_back(cuda_device == kOnCpu
                       ? make_cpu_state(num_qubits - bits, precision, num_threads)
                       : make_cuda_state(num_qubits - bits, precision, cuda_device));
  auto transport = cuda_device == kOnCpu
                       ? distributed::make_process_transport(std::move(ranks), precision)
                       : distributed::make_device_process_transport(std::move(ranks), precision,
                                                                    cuda_device, min_sliced_qubits);
  if (!hosts.empty()) {
    const std::string& way = transport->remark();
    transport->set_remark(way.empty() ? hosts : way + "; " + hosts);
  }
  return std::make_unique<distributed::DistributedState>(num_qubits, precision,
                                                         std::move(transport), std::move(shards));
}

}  // namespace tilewave::statevec
