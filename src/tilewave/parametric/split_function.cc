// See split_function.h.
#include "tilewave/parametric/split_function.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <thread>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"

namespace tilewave::parametric {
namespace {

// Rows [first, first + count) of `all` are the k-th of `parts` parts.
struct Part {
  std::size_t first, count;
};
Part part_of(std::size_t all, std::size_t parts, std::size_t k) {
  const std::size_t first = all * k / parts;
  return {first, all * (k + 1) / parts - first};
}

Sets part_of(const Sets& sets, Part part, std::size_t num_parameters, std::uint32_t num_qubits) {
  Sets own = sets;
  own.values += part.first * num_parameters;
  own.count = part.count;
  own.first += part.first;
  own.all = std::max(sets.all, sets.count);
  if (sets.initial && !sets.shares_initial) own.initial += part.first << num_qubits;
  return own;
}

template <class T>
std::uint64_t fingerprint(const T* numbers, std::size_t count) {
  return fingerprint_of(std::as_bytes(std::span(numbers, numbers ? count : 0)));
}

// How a process fared, as all hear of it.
struct Report {
  std::uint64_t asked = 0;
  int code = 0;  // an ExitCode; 0: it went well
  std::array<char, 500> problem{};
};

}  // namespace

// Runs f and then hears of the others: throws where one of them failed or was asked something else.
template <class F>
void SplitFunction::together(std::uint64_t asked, F f) const {
  if (!ranks_) return f();
  Report mine;
  mine.asked = asked;
  std::exception_ptr failure;
  const auto failed = [&](ExitCode code, const char* problem) {
    failure = std::current_exception();
    mine.code = static_cast<int>(code);
    std::strncpy(mine.problem.data(), problem, mine.problem.size() - 1);
  };
  try {
    f();
  } catch (const Error& error) {
    failed(error.code(), error.what());
  } catch (const std::exception& error) {
    failed(ExitCode::kInternal, error.what());
  }
  std::vector<Report> all(static_cast<std::size_t>(ranks_->size()));
  ranks_->gather(&mine, all.data(), sizeof mine);
  if (failure) std::rethrow_exception(failure);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::string who = "rank " + std::to_string(r);
    if (all[r].code) fail(static_cast<ExitCode>(all[r].code), who + ": " + all[r].problem.data());
    if (all[r].asked != all[0].asked) {
      fail(ExitCode::kUsage, who,
           " was given another circuit, call or values than rank 0, or another kind of device: all "
           "processes that share a function make the same calls");
    }
  }
}

SplitFunction::SplitFunction(const circuit::Circuit& circuit,
                             const std::vector<circuit::PauliSum>& observables,
                             const FunctionOptions& options, const std::vector<int>& devices,
                             std::shared_ptr<runtime::Ranks> ranks, Shared shared)
    : one_at_a_time_(std::make_unique<std::mutex>()), ranks_(std::move(ranks)) {
  Fingerprint asked;
  asked.add(static_cast<std::uint64_t>(shared));
  if (shared == Shared::kState) asked.add(std::uint64_t{devices.front() >= 0});
  asked.add(circuit.fingerprint()).add(static_cast<std::uint64_t>(options.precision));
  for (const circuit::PauliSum& sum : observables) {
    asked.add(std::uint64_t{sum.size()});
    for (const circuit::PauliTerm& term : sum) asked.add(term.coefficient).add(term.x).add(term.z);
  }
  together(asked.value(), [&] {
    if (ranks_ && shared == Shared::kState) {
      FunctionOptions own = options;
      own.cuda_device = devices.front();
      state_ = std::make_unique<SharedState>(circuit, observables, own, ranks_);
      return;
    }
    for (const int device : devices) {
      FunctionOptions own = options;
      own.cuda_device = device;
      parts_.push_back(std::make_unique<Function>(circuit, observables, own));
      if (device >= 0) places_ += (places_.empty() ? "cuda:" : ",") + std::to_string(device);
    }
  });
  if (state_) state_->connect();
}

// What all processes are to agree on: `call` stands for what is asked beside the sets.
std::uint64_t SplitFunction::asked(const Sets& sets, std::uint64_t call) const {
  if (!ranks_) return 0;
  const std::size_t starts = sets.shares_initial ? 1 : sets.count;
  return Fingerprint()
      .add(call)
      .add(std::uint64_t{sets.count})
      .add(fingerprint(sets.values, sets.count * num_parameters()))
      .add(fingerprint(sets.initial, starts << num_qubits()))
      .value();
}

void SplitFunction::need_whole_states(const char* what) const {
  if (!state_) return;
  fail(ExitCode::kUsage, what,
       " needs a whole state, but processes share it: let them share sets of values, or ask for "
       "expectations and their derivatives");
}

// One set after the other on the state that the processes share.
void SplitFunction::on_state(const Sets& sets, const double* v, double* expectations,
                             double* gradient) const {
  const std::size_t m = num_observables(), p = num_parameters();
  if (sets.initial) need_whole_states("an initial state");
  const std::lock_guard lock(*one_at_a_time_);
  const std::uint64_t call = fingerprint(v, sets.count * m) ^ (expectations ? 8 : 9);
  together(asked(sets, call), [&] {
    for (std::size_t b = 0; b < sets.count; ++b) state_->need_finite({sets.values + b * p, p});
    state_->prepare();
  });
  for (std::size_t b = 0; b < sets.count; ++b) {
    const double* const values = sets.values + b * p;
    double* const e = expectations ? expectations + b * m : nullptr;
    gradient ? state_->vjp(values, v + b * m, e, gradient + b * p)
             : state_->expectations(values, e);
  }
}

// f(function, its sets, number of its first one) for the parts of this process; then everyone's rows of
// the results are gathered. `call` stands for what is asked beside the sets.
template <class F>
void SplitFunction::split(const Sets& sets, std::uint64_t call, const std::vector<Result>& results,
                          F f) const {
  const std::size_t p = num_parameters();
  const auto size = static_cast<std::size_t>(ranks_ ? ranks_->size() : 1);
  const Part mine =
      part_of(sets.count, size, static_cast<std::size_t>(ranks_ ? ranks_->rank() : 0));
  const auto run = [&](std::size_t k) {
    Part part = part_of(mine.count, parts_.size(), k);
    part.first += mine.first;
    if (part.count > 0) f(*parts_[k], part_of(sets, part, p, num_qubits()), part.first);
  };
  together(asked(sets, call), [&] {
    std::exception_ptr failure;
    std::mutex mutex;
    {
      std::vector<std::jthread> others;
      for (std::size_t k = 1; k < parts_.size(); ++k) {
        others.emplace_back([&, k] {
          try {
            run(k);
          } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
          }
        });
      }
      run(0);  // where a user can interrupt
    }
    if (failure) std::rethrow_exception(failure);
  });
  if (!ranks_) return;
  constexpr std::size_t kPieceBytes = std::size_t{1} << 26;  // of a rank at a time
  for (const Result& result : results) {
    if (!result.data || result.row_bytes == 0) continue;
    auto* const rows = static_cast<std::byte*>(result.data);
    const std::size_t most = (sets.count + size - 1) / size * result.row_bytes;
    const std::size_t piece = std::min(most, kPieceBytes);
    std::vector<std::byte> own(piece), all(piece * size);
    for (std::size_t at = 0; at < most; at += piece) {
      const auto within = [&](Part part) {  // the bytes of a part that this piece has
        const std::size_t bytes = part.count * result.row_bytes;
        return at < bytes ? std::min(piece, bytes - at) : 0;
      };
      if (within(mine) > 0)
        std::memcpy(own.data(), rows + mine.first * result.row_bytes + at, within(mine));
      ranks_->gather(own.data(), all.data(), piece);
      for (std::size_t r = 0; r < size; ++r) {
        const Part part = part_of(sets.count, size, r);
        if (within(part) > 0)
          std::memcpy(rows + part.first * result.row_bytes + at, all.data() + r * piece,
                      within(part));
      }
    }
  }
}

void SplitFunction::expectations(const Sets& sets, double* out) const {
  const std::size_t m = num_observables();
  if (state_) return on_state(sets, nullptr, out, nullptr);
  split(sets, 1, {{out, m * sizeof(double)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.expectations(own, out + first * m);
        });
}

void SplitFunction::vjp(const Sets& sets, const double* v, double* expectations,
                        double* gradient) const {
  const std::size_t m = num_observables(), p = num_parameters();
  if (state_) return on_state(sets, v, expectations, gradient);
  const std::uint64_t call = Fingerprint()
                                 .add(expectations ? std::uint64_t{2} : 3)
                                 .add(fingerprint(v, sets.count * m))
                                 .value();
  split(sets, call, {{expectations, m * sizeof(double)}, {gradient, p * sizeof(double)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.vjp(own, v + first * m, expectations ? expectations + first * m : nullptr,
                gradient + first * p);
        });
}

void SplitFunction::states(const Sets& sets, std::complex<double>* out) const {
  need_whole_states("the state");
  split(sets, 4, {{out, sizeof(std::complex<double>) << num_qubits()}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.states(own, out + (first << num_qubits()));
        });
}

void SplitFunction::state_vjp(const Sets& sets, const std::complex<double>* g,
                              double* gradient) const {
  need_whole_states("the derivative of a state");
  const std::size_t p = num_parameters();
  const std::uint64_t call =
      Fingerprint().add(std::uint64_t{5}).add(fingerprint(g, sets.count << num_qubits())).value();
  split(sets, call, {{gradient, p * sizeof(double)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.state_vjp(own, g + (first << num_qubits()), gradient + first * p);
        });
}

void SplitFunction::metric_tensor(const Sets& sets, double* out) const {
  need_whole_states("the metric tensor");
  const std::size_t p = num_parameters();
  split(sets, 6, {{out, p * p * sizeof(double)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.metric_tensor(own, out + first * p * p);
        });
}

void SplitFunction::probabilities(const Sets& sets, std::span<const std::uint32_t> qubits,
                                  double* out) const {
  need_whole_states("the probabilities");
  const std::uint64_t call =
      Fingerprint().add(std::uint64_t{8}).add(fingerprint(qubits.data(), qubits.size())).value();
  const std::size_t outcomes = std::size_t{1} << qubits.size();
  split(sets, call, {{out, outcomes * sizeof(double)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.probabilities(own, qubits, out + first * outcomes);
        });
}

void SplitFunction::samples(const Sets& sets, std::uint64_t shots, std::uint64_t seed,
                            std::uint64_t* out) const {
  need_whole_states("sampling");
  const std::uint64_t call = Fingerprint().add(std::uint64_t{7}).add(shots).add(seed).value();
  split(sets, call, {{out, shots * sizeof(std::uint64_t)}},
        [&](const Function& f, const Sets& own, std::size_t first) {
          f.samples(own, shots, seed, out + first * shots);
        });
}

std::string SplitFunction::explain() const {
  if (state_) return state_->explain();
  std::string text = parts_[0]->explain();
  if (parts_.size() > 1) text += "sets of values are shared by " + places_ + "\n";
  if (ranks_)
    text += "sets of values are shared by " + std::to_string(ranks_->size()) + " processes over " +
            ranks_->kind() + "\n";
  return text;
}

}  // namespace tilewave::parametric
