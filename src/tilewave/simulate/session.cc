#include "tilewave/simulate/session.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::simulate {

namespace {

// Bytes of values one after the other: equal for equal lists, other for others.
class Key {
 public:
  template <class T>
  void add(T value) {
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(bool value) { add(static_cast<std::uint8_t>(value)); }

  void add(const circuit::Circuit& circuit, const circuit::Op& op) {
    add(static_cast<std::uint32_t>(op.kind) << 24 | static_cast<std::uint32_t>(op.gate));
    add(std::uint32_t{op.num_controls} << 16 | op.num_targets);
    if (op.num_controls) add(op.control_values);
    for (const circuit::Qubit q : circuit.qubits(op)) add(static_cast<std::uint8_t>(q));
    if (op.kind == circuit::OpKind::kMatrix) {
      for (const cplx& z : circuit.matrix(op)) add(z.real()), add(z.imag());
    } else if (op.kind == circuit::OpKind::kGate) {
      for (const double p : circuit.params(op)) add(p);
    }
  }
  void add(const statevec::PlanOptions& o, int num_qubits) {
    add(static_cast<std::uint8_t>(num_qubits));
    add(static_cast<std::uint8_t>(o.precision));
    add(static_cast<std::uint8_t>(o.effort));
    add(o.restore_layout);
    add(o.from_zeros ? low_mask(num_qubits) : o.known_zero);
    add(o.layout.flips);
    for (int q = 0; q < num_qubits; ++q) add(o.layout.position[static_cast<std::size_t>(q)]);
    for (const std::uint64_t word : statevec::words_of(o.cost)) add(word);
    add(o.rewrites.forced.bits());
    add(o.rewrites.forbidden.bits());
    static_assert(sizeof(statevec::PlanOptions) == 472,
                  "what planning reads is part of the key: add the new fields above");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::size_t bytes_of(const statevec::Plan& plan) {
  std::size_t bytes = sizeof plan + sizeof(statevec::PhaseTerm) * plan.terms.size() +
                      sizeof(cplx) * plan.matrices.size() +
                      sizeof(statevec::Exchange) * plan.exchanges.size() +
                      sizeof(statevec::PlanCandidate) * plan.candidates.size();
  for (const statevec::Pass& pass : plan.passes)
    bytes += sizeof pass + 128 + sizeof(statevec::Action) * pass.actions.size();
  return bytes;
}

// What is planned in a moment beside its run is not worth much memory.
std::size_t most_bytes(int num_qubits, Precision precision) {
  constexpr int kQuickQubits = 20;  // above, a run takes longer than what is made for it
  if (num_qubits <= kQuickQubits) return std::size_t{32} << 20;
  return std::max(std::size_t{1} << 20, (amplitude_bytes(precision) << num_qubits) / 256);
}

std::size_t matrix_bytes(std::span<const circuit::Op> ops) {
  std::size_t bytes = 0;
  for (const circuit::Op& op : ops) {
    if (op.kind == circuit::OpKind::kMatrix) bytes += sizeof(cplx) << 2 * op.num_targets;
  }
  return bytes;
}

// Whether a search could make it another one.
bool can_be_better(const statevec::Plan& plan, const statevec::PlanOptions& options) {
  const statevec::CostModel& cost = options.cost;
  return plan.passes.size() > 1 && options.effort == Effort::kAuto && cost.shard_bits == 0 &&
         plan.effort == Effort::kOnce &&
         (plan.num_qubits >= cost.search_from_qubits || cost.wide_tile_qubits > cost.tile_qubits);
}

}  // namespace

Session::Session() : table_room_(std::make_shared<std::atomic<std::int64_t>>(kMostTableBytes)) {}
Session::~Session() = default;

const std::shared_ptr<Session>& Session::of_process() {
  static const auto session = std::make_shared<Session>();
  return session;
}

PlanPtr Session::make(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                      statevec::PlanOptions options, bool runs) {
  options.memory = &memory_;
  // a look is no run, after which the next one would be searched for; one that is told to search may
  // as well be remembered
  options.learns = runs || options.effort != Effort::kAuto;
  auto made = std::make_shared<StoredPlan>();
  made->plan = statevec::make_plan(circuit, ops, options);
  made->tables = std::make_unique<statevec::KeptPasses>(table_room_);
  return made;
}

void Session::run(statevec::State& state, const circuit::Circuit& circuit,
                  std::span<const circuit::Op> ops, Effort effort) {
  if (state.is_tiny() && circuit.parameters().empty()) {
    state.apply_tiny(circuit, ops);
    return;
  }
  statevec::PlanOptions options = state.plan_options();
  options.effort = effort;
  const PlanPtr stored = plan(circuit, ops, options);
  if (effort == Effort::kBest) state.prepare(stored->plan);
  statevec::RunObserver observer;
  observer.tables = stored->tables.get();
  state.run(stored->plan, observer);
}

PlanPtr Session::plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                      const statevec::PlanOptions& options) {
  return find_or_make(circuit, ops, options, true);
}

PlanPtr Session::look_at_plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                              const statevec::PlanOptions& options) {
  return find_or_make(circuit, ops, options, false);
}

PlanPtr Session::find_or_make(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                              const statevec::PlanOptions& options, bool runs) {
  // keys and plans hold the matrices
  if (2 * matrix_bytes(ops) > most_bytes(static_cast<int>(circuit.num_qubits()), options.precision))
    return make(circuit, ops, options, runs);
  Key text;
  text.add(options, static_cast<int>(circuit.num_qubits()));
  for (const circuit::Op& op : ops) text.add(circuit, op);
  std::string key = text.take();
  bool searches = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      plans_.splice(plans_.begin(), plans_, found->second);
      Entry& entry = *found->second;
      searches = runs && entry.was_run && !entry.is_final;
      entry.was_run |= runs;
      if (!searches) return entry.plan;
      entry.is_final = true;  // others need not search meanwhile
    } else {
      key.shrink_to_fit();
    }
  }
  PlanPtr made;
  try {
    made = make(circuit, ops, options, runs);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = by_key_.find(key); searches && found != by_key_.end())
      found->second->is_final = false;
    throw;
  }
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    keep(std::move(key), made, runs, searches || !can_be_better(made->plan, options));
    return made;
  }
  Entry& entry = *found->second;
  if (!searches) {  // another thread made it meanwhile
    entry.was_run |= runs;
    return entry.plan;
  }
  plan_bytes_ += bytes_of(made->plan) - bytes_of(entry.plan->plan);
  entry.plan = made;
  drop_oldest();
  return made;
}

void Session::keep(std::string key, PlanPtr plan, bool was_run, bool is_final) {
  const std::size_t bytes = bytes_of(plan->plan) + key.size() + sizeof(Entry);
  if (bytes > most_bytes(plan->plan.num_qubits, plan->plan.precision)) return;
  plans_.push_front({std::move(key), std::move(plan), was_run, is_final});
  by_key_.emplace(plans_.front().key, plans_.begin());
  plan_bytes_ += bytes;
  drop_oldest();
}

void Session::drop_oldest() {
  while (plan_bytes_ > kMostPlanBytes && plans_.size() > 1) {
    const Entry& oldest = plans_.back();
    plan_bytes_ -= bytes_of(oldest.plan->plan) + oldest.key.size() + sizeof(Entry);
    by_key_.erase(oldest.key);
    plans_.pop_back();
  }
}

std::unique_ptr<statevec::State> Session::take_state(std::uint32_t num_qubits, Precision precision,
                                                     int num_threads, const DeviceSet& device,
                                                     const Distribution& distribution) {
  const bool is_shared = distribution.num_ranks() != 1 || distribution.device_bytes != 0 ||
                         distribution.memory_fraction != 0;
  const auto serves = [&](const statevec::State& s) {
    return !is_shared && spare_threads_ == runtime::wanted_num_threads(num_threads) &&
           s.num_qubits() == static_cast<int>(num_qubits) && s.precision() == precision &&
           (s.device() == "cpu" ? runs_on_cpu(num_qubits, precision, device)
                                : spare_device_ == device);
  };
  std::unique_ptr<statevec::State> spare;
  bool takes = false;
  {
    const std::scoped_lock lock(mutex_);
    takes = spare_ && serves(*spare_) && spare_->wake();
    // one that does not fit is in the way of what is made now
    if (takes || (spare_ && spare_->memory_bytes() > kMostSpareBytes / 64)) spare.swap(spare_);
  }
  if (takes) {
    spare->set_zero_state();
    return spare;
  }
  spare.reset();
  return make_state(num_qubits, precision, num_threads, device, distribution);
}

void Session::give_back(std::unique_ptr<statevec::State> state, int num_threads,
                        const DeviceSet& device, double most_device_share) {
  const bool stays = state->device() == "cpu" ? state->memory_bytes() <= kMostSpareBytes
                                              : state->rest(most_device_share);
  if (!stays) return;
  const std::scoped_lock lock(mutex_);
  spare_.swap(state);  // the old one is freed behind the lock
  spare_threads_ = runtime::wanted_num_threads(num_threads);
  spare_device_ = device;
}

void Session::clear() {
  const std::scoped_lock lock(mutex_);
  spare_.reset();
  by_key_.clear();
  plans_.clear();
  plan_bytes_ = 0;
  memory_.clear();
}

std::size_t Session::num_bytes() const {
  const std::scoped_lock lock(mutex_);
  return plan_bytes_ + memory_.num_bytes() + (spare_ ? spare_->memory_bytes() : 0) +
         static_cast<std::size_t>(kMostTableBytes - table_room_->load());
}

}  // namespace tilewave::simulate
