// See shared_state.h.
#include "tilewave/parametric/shared_state.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/cpu/kernels.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::parametric {
namespace {

constexpr int kSharedTileRowBits = 11;
constexpr std::size_t kPieceRows = std::size_t{1} << 16;  // 8 MiB that are exchanged at a time

}  // namespace

template <class T>
struct SharedState::Shards {
  std::vector<std::unique_ptr<Run<T>>> runs;  // of the stretches; one of them has the states
  std::size_t at = 0;                         // which
  runtime::HostBuffer other, out, in;
};

SharedState::SharedState(const circuit::Circuit& circuit,
                         const std::vector<circuit::PauliSum>& observables,
                         const FunctionOptions& options, std::shared_ptr<runtime::Ranks> ranks)
    : ranks_(std::move(ranks)), options_(options), actions_(lower(circuit)) {
  if (options.cuda_device >= 0) {
    fail(ExitCode::kUsage,
         "a state that processes share has derivatives on CPUs: use device cpu, or let the "
         "processes share sets of values");
  }
  const auto size = static_cast<std::uint64_t>(ranks_->size());
  const int lane_bits = options.precision == Precision::kDouble ? 3 : 4;
  const int kept = lane_bits, bits = std::bit_width(size) - 1;
  local_ = actions_.num_wires - bits;
  if (!std::has_single_bit(size) || local_ <= kept) {
    fail(ExitCode::kUsage, size, " processes cannot share a state of ", actions_.num_wires,
         " qubits: use a power of two, at most ",
         actions_.num_wires > kept + 1 ? bit(actions_.num_wires - kept - 1) : 1);
  }
  stretches_ = make_stretches(actions_, bits, kept);
  strings_ = make_strings(observables, stretches_.place_of_qubit);
  std::vector<bool> is_read;
  for (const circuit::AffineAngle& angle : actions_.angles) is_read.push_back(!angle.terms.empty());
  const int row_bits = options.tile_row_bits > 0 ? options.tile_row_bits : kSharedTileRowBits;
  for (const Stretch& stretch : stretches_.list)
    programs_.push_back(
        {make_passes(stretch.actions, lane_bits, row_bits, is_read, {.from_zero = false}), {}});
  programs_.back().sweeps = make_sweeps(strings_, programs_.back().passes);
  for (const StringSweep& sweep : programs_.back().sweeps)
    reaches_others_ |= (sweep.flip_outer >> local_) != 0;
}

SharedState::~SharedState() = default;

template <class T>
SharedState::Shards<T>& SharedState::shards() {
  auto& own = std::get<std::unique_ptr<Shards<T>>>(shards_);
  if (own) return *own;
  auto fresh = std::make_unique<Shards<T>>();
  const std::uint64_t shard = static_cast<std::uint64_t>(ranks_->rank()) << local_;
  const int threads = runtime::resolve_num_threads(options_.num_threads);
  for (std::size_t k = 0; k < programs_.size(); ++k)
    fresh->runs.push_back(
        std::make_unique<Run<T>>(programs_[k], stretches_.list[k].actions, threads, shard));
  fresh->runs[0]->need_shards(reaches_others_);
  const std::size_t row_bytes = Run<T>::row_numbers() * sizeof(T),
                    rows = fresh->runs[0]->num_rows();
  const std::size_t piece = std::min(kPieceRows, rows);
  if (reaches_others_) fresh->other = runtime::HostBuffer(rows * row_bytes);
  fresh->out = runtime::HostBuffer(piece * row_bytes);
  fresh->in = runtime::HostBuffer(piece * row_bytes);
  own = std::move(fresh);
  return *own;
}

void SharedState::need_finite(std::span<const double> values) const {
  circuit::need_values(actions_.parameters, values);
}

void SharedState::prepare() {
  options_.precision == Precision::kDouble ? (void)shards<double>() : (void)shards<float>();
}

// Adds everyone's sums, in the order of processes.
void SharedState::add_up(std::span<double> sums) {
  if (sums.empty()) return;
  std::vector<double> all(sums.size() * static_cast<std::size_t>(ranks_->size()));
  ranks_->gather(sums.data(), all.data(), sums.size_bytes());
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t k = 0; k < all.size(); ++k) sums[k % sums.size()] += all[k];
}

// A place in memory and one of processes change: amplitudes whose bit in memory is not that of this
// process go to the process that differs in it, and its come into their places.
template <class T>
void SharedState::exchange(Shards<T>& s, T* state, std::pair<int, int> places) {
  const int lane_bits = programs_[0].passes.lane_bits;
  const std::uint64_t process_bit = bit(places.second - local_);
  const auto rank = static_cast<std::uint64_t>(ranks_->rank());
  const std::uint64_t row_bit = bit(places.first - lane_bits);
  const std::uint64_t mine = (rank & process_bit) ? 0 : row_bit;
  const std::size_t numbers = Run<T>::row_numbers(), row_bytes = numbers * sizeof(T);
  const std::uint64_t rows = s.runs[0]->num_rows(), half = rows / 2;
  const std::size_t piece = std::min<std::uint64_t>(kPieceRows, half);
  const auto row = [&](std::uint64_t k) {  // the k-th that goes
    return ((k & ~(row_bit - 1)) << 1) | (k & (row_bit - 1)) | mine;
  };
  for (std::uint64_t first = 0; first < half; first += piece) {
    T *const out = s.out.template as<T>(), *const in = s.in.template as<T>();
    for (std::uint64_t k = 0; k < piece; ++k)
      std::memcpy(out + k * numbers, state + row(first + k) * numbers, row_bytes);
    ranks_->start_swap(0, static_cast<int>(rank ^ process_bit), out, piece * row_bytes, in,
                       piece * row_bytes);
    ranks_->finish_swap(0);
    for (std::uint64_t k = 0; k < piece; ++k)
      std::memcpy(state + row(first + k) * numbers, in + k * numbers, row_bytes);
  }
}

template <class T>
void SharedState::forward(Shards<T>& s, const double* values) {
  for (auto& run : s.runs) run->bind(values, 1, num_parameters());
  if (s.at != 0) s.runs[0]->take_states(*s.runs[s.at]);
  s.at = 0;
  s.runs[0]->start_shard();
  for (std::size_t k = 0;; ++k) {
    s.runs[k]->forward_shard();
    for (const auto& places : stretches_.list[k].exchanges) exchange(s, s.runs[k]->psi(), places);
    if (k + 1 == s.runs.size()) break;
    s.runs[k + 1]->take_states(*s.runs[k]);
    s.at = k + 1;
  }
}

// f(sweep, the psi that its strings act on) for every sweep; another process's psi comes once for all
// sweeps that want it.
template <class T, class F>
void SharedState::for_sweeps(Shards<T>& s, F f) {
  Run<T>& run = *s.runs.back();
  const auto& sweeps = programs_.back().sweeps;
  std::vector<std::size_t> order(sweeps.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sweeps[a].flip_outer >> local_ < sweeps[b].flip_outer >> local_;
  });
  std::uint64_t here = 0;
  const std::size_t row_bytes = Run<T>::row_numbers() * sizeof(T);
  for (const std::size_t k : order) {
    const std::uint64_t wanted = sweeps[k].flip_outer >> local_;
    if (wanted != 0 && wanted != here) {
      const auto peer = static_cast<int>(static_cast<std::uint64_t>(ranks_->rank()) ^ wanted);
      auto *const from = reinterpret_cast<std::byte*>(run.psi()), *const to =
                                                                      s.other
                                                                          .template as<std::byte>();
      const std::size_t bytes = run.num_rows() * row_bytes, piece = kPieceRows * row_bytes;
      for (std::size_t at = 0; at < bytes; at += piece) {
        const std::size_t now = std::min(piece, bytes - at);
        ranks_->start_swap(0, peer, from + at, now, to + at, now);
        ranks_->finish_swap(0);
      }
      here = wanted;
    }
    f(run, sweeps[k], wanted ? s.other.template as<T>() : run.psi());
  }
}

template <class T>
void SharedState::read(Shards<T>& s, double* out) {
  constexpr auto kL = static_cast<std::size_t>(cpu::kLanes<T>);
  std::vector<double> strings(strings_.strings.size() * kL), sums(strings_.strings.size());
  for_sweeps(s, [&](Run<T>& run, const StringSweep& sweep, const T* ket) {
    run.read_sweep(sweep, ket, strings);
  });
  for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = strings[j * kL];
  add_up(sums);
  std::fill(out, out + num_observables(), 0.0);
  for (const Strings::Share& share : strings_.shares)
    out[share.observable] += share.coefficient * sums[share.string];
}

template <class T>
void SharedState::derive(Shards<T>& s, const double* v, double* gradient) {
  constexpr auto kL = static_cast<std::size_t>(cpu::kLanes<T>);
  std::vector<double> weights(strings_.strings.size() * kL);
  for (const Strings::Share& share : strings_.shares) {
    weights[share.string * kL] += share.coefficient * v[share.observable];
  }
  bool is_first = true;
  for_sweeps(s, [&](Run<T>& run, const StringSweep& sweep, const T* ket) {
    run.add_sweep(sweep, ket, weights, is_first);
    is_first = false;
  });
  std::fill(gradient, gradient + num_parameters(), 0.0);
  if (is_first) return;  // no strings
  for (std::size_t k = s.runs.size(); k-- > 0;) {
    Run<T>& run = *s.runs[k];
    const auto angles = run.read_angles();
    std::vector<double> reads(std::max<std::size_t>(angles.size(), 1) * kL);
    run.backward(reads, k > 0);
    for (std::size_t j = 0; j < angles.size(); ++j) {
      for (const circuit::AffineTerm& t : actions_.angles[angles[j]].terms)
        gradient[t.parameter] += t.coefficient * reads[j * kL];
    }
    if (k == 0) break;
    s.runs[k - 1]->take_states(run);
    s.at = k - 1;
    const auto& exchanges = stretches_.list[k - 1].exchanges;
    for (std::size_t j = exchanges.size(); j-- > 0;) {
      exchange(s, s.runs[k - 1]->psi(), exchanges[j]);
      exchange(s, s.runs[k - 1]->lam(), exchanges[j]);
    }
  }
  add_up({gradient, num_parameters()});
}

void SharedState::expectations(const double* values, double* out) {
  const auto run = [&](auto& s) {
    forward(s, values);
    read(s, out);
  };
  options_.precision == Precision::kDouble ? run(shards<double>()) : run(shards<float>());
}

void SharedState::vjp(const double* values, const double* v, double* expectations,
                      double* gradient) {
  const auto run = [&](auto& s) {
    forward(s, values);
    if (expectations) read(s, expectations);
    derive(s, v, gradient);
  };
  options_.precision == Precision::kDouble ? run(shards<double>()) : run(shards<float>());
}

std::string SharedState::explain() const {
  std::size_t passes = 0, exchanges = 0;
  for (const Program& program : programs_) passes += program.passes.passes.size();
  for (const Stretch& stretch : stretches_.list) exchanges += stretch.exchanges.size();
  return std::to_string(num_qubits()) + " qubits, " + std::to_string(num_parameters()) +
         " parameters; a state shared by " + std::to_string(ranks_->size()) + " processes over " +
         ranks_->kind() + ": " + std::to_string(passes) + " passes in " +
         std::to_string(programs_.size()) + " stretches, between which " +
         std::to_string(exchanges) + " qubits change places, forward and as many backward\n";
}

}  // namespace tilewave::parametric
