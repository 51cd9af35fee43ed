// What looks at a register. See register.h.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "tilewave/base/error.h"
#include "tilewave/quest/core/register.h"
#include "tilewave/quest/core/session.h"
#include "tilewave/quest/core/slots.h"
#include "tilewave/statevec/density.h"

namespace tilewave::quest {

namespace {

constexpr std::size_t kMaxStrings = 1 << 15;  // remembered: 2 MiB

// What a process says of itself when all meet.
struct Note {
  char call[40] = {};
  std::uint64_t id = 0, calls = 0, wrote = 0;
};

}  // namespace

void Register::meet() {
  const auto& ranks = processes();
  if (!ranks) return;
  Note mine;
  std::snprintf(mine.call, sizeof mine.call, "%s", current_call);
  mine.id = id_;
  mine.calls = calls_;
  mine.wrote = wrote_;
  std::vector<Note> all(static_cast<std::size_t>(ranks->size()));
  ranks->gather(&mine, all.data(), sizeof mine);
  std::vector<std::uint64_t> writers;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Note& note = all[r];
    if (note.id != all[0].id || note.calls != all[0].calls) {
      fail(ExitCode::kCommunication, "the processes do not make the same calls: ", all[0].call,
           " on rank 0 (change ", all[0].calls, " of register ", all[0].id, "), ", note.call,
           " on rank ", r, " (change ", note.calls, " of register ", note.id,
           "): let every rank make every call, and call syncQuESTEnv before one rank alone looks "
           "at stateVec");
    }
    if (note.wrote) writers.push_back(r);
  }
  if (!writers.empty()) take_over(writers);
}

// Where every process holds the whole register, each gets what others wrote to their shares.
void Register::take_over(const std::vector<std::uint64_t>& writers) {
  forget_answers();
  if (!is_divided_) {
    state_->settle();
    const std::uint64_t count = share_shown().count;
    for (const std::uint64_t r : writers) {
      std::vector<cplx> part = static_cast<int>(r) == rank() ? written_ : std::vector<cplx>(count);
      processes()->broadcast(part.data(), count * sizeof(cplx), static_cast<int>(r));
      state_->write_local(r * count, part);
    }
  }
  wrote_ = false;
  written_.clear();
}

statevec::State& Register::state() {
  meet();
  flush();
  return *state_;
}

statevec::State& Register::settled() {
  statevec::State& s = state();
  s.settle();
  return s;
}

void Register::sync() {
  if (is_synced_) return;
  settled();
  is_synced_ = true;
}

void Register::share(void* answer, std::size_t num_bytes) const {
  if (!is_divided_) agree(answer, num_bytes);
}

statevec::State::Range Register::share_shown() const {
  const std::uint64_t count = num_amplitudes() / static_cast<std::uint64_t>(num_ranks());
  return {static_cast<std::uint64_t>(rank()) * count, count};
}

void Register::for_each_shown(const std::function<void(std::uint64_t, std::span<const cplx>)>& f,
                              bool in_order) {
  const statevec::State::Range shown = share_shown();
  const statevec::State& s = *state_;
  const std::uint64_t size = std::min(transfer_size(s), shown.count), count = shown.count / size;
  std::exception_ptr failure;
  const int threads = in_order ? 1 : s.host_threads();
#pragma omp parallel num_threads(threads) if (count >= 8 && threads > 1)
  {
    std::vector<cplx> block;
#pragma omp for schedule(static)
    for (std::uint64_t b = 0; b < count; ++b) {
      try {
        block.resize(size);
        s.read_local(shown.first + b * size, block);
        f(shown.first + b * size, block);
      } catch (...) {
#pragma omp critical(tw_quest_shown)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// The arrays are about to be looked at. Where calls wait and there are other processes, these have
// to come along: all bring all their registers up to date, in the same order, as syncQuESTEnv does.
void Register::copy_to_arrays(void* real, void* imag) {
  if (processes() && !is_synced_) {
    current_call = "stateVec";
    for_each_register([](Register& r) { r.sync(); });
  } else {
    sync();
  }
  const bool is_double = precision_ == statevec::Precision::kDouble;
  const std::uint64_t begin = share_shown().first;
  for_each_shown([&](std::uint64_t first, std::span<const cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      const std::uint64_t at = first - begin + k;
      if (is_double) {
        static_cast<double*>(real)[at] = block[k].real();
        static_cast<double*>(imag)[at] = block[k].imag();
      } else {
        static_cast<float*>(real)[at] = static_cast<float>(block[k].real());
        static_cast<float*>(imag)[at] = static_cast<float>(block[k].imag());
      }
    }
  });
}

double Register::norm() {
  statevec::State& s = state();
  if (norm_ < 0) {
    norm_ = s.norm();
    share(&norm_, sizeof norm_);
  }
  return norm_;
}

const std::vector<cplx>& Register::diagonal() {
  statevec::State& s = state();
  if (diagonal_.empty()) {
    diagonal_ = statevec::density_diagonal(s);
    share(diagonal_.data(), diagonal_.size() * sizeof(cplx));
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
  if (is_tiny_ && !is_density_) {
    const double zero = state().probability(qubit, 0);
    return outcome ? 1 - zero : zero;
  }
  if (!is_density_) {
    double p[2] = {norm(), state_->marginals()[qubit]};
    share(p, sizeof p);
    return outcome ? 1 - (p[0] - p[1]) : p[0] - p[1];
  }
  double zero = 0;
  const std::vector<cplx>& d = diagonal();
  for (std::uint64_t k = 0; k < d.size(); ++k) {
    if (!(k >> qubit & 1)) zero += d[k].real();
  }
  return outcome ? 1 - zero : zero;
}

std::vector<double> Register::probabilities(std::span<const Qubit> qubits) {
  if (!is_density_) {
    std::vector<double> out = state().joint_probabilities(qubits);
    share(out.data(), out.size() * sizeof(double));
    return out;
  }
  return statevec::density_probabilities(diagonal(), qubits);
}

// Programs print states amplitude by amplitude: who asks for the next one gets a block of them, as
// each question to a device or to other processes takes long.
cplx Register::amplitude(std::uint64_t index) {
  constexpr std::uint64_t kBlock = 1024;
  statevec::State& s = state();
  const bool is_next = index == last_asked_ + 1;
  last_asked_ = index;
  if (index - window_first_ >= window_.size()) {
    const std::uint64_t count = is_next ? std::min(kBlock, num_amplitudes() - index) : 1;
    std::vector<std::uint64_t> indices(count);
    for (std::uint64_t k = 0; k < count; ++k) indices[k] = index + k;
    window_ = s.amplitudes(indices);
    window_first_ = index;
    share(window_.data(), window_.size() * sizeof(cplx));
  }
  return window_[index - window_first_];
}

std::vector<cplx> Register::all_amplitudes() {
  std::vector<cplx> all(num_amplitudes());
  const auto put = [&](std::uint64_t first, std::span<const cplx> block) {
    std::copy(block.begin(), block.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  };
  if (is_divided_) {
    state().for_each_block(put);
  } else {
    statevec::State& s = settled();
    const std::uint64_t size = std::min(transfer_size(s), s.num_amplitudes());
    for (std::uint64_t first = 0; first < all.size(); first += size)
      s.read_local(first, std::span(all).subspan(first, size));
    share(all.data(), all.size() * sizeof(cplx));
  }
  return all;
}

std::vector<double> Register::expectations(const circuit::PauliSum& sum) {
  statevec::State& s = state();
  std::vector<double> out(sum.size());
  circuit::PauliSum unknown;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < sum.size(); ++k) {
    if (const auto known = strings_.find({sum[k].x, sum[k].z}); known != strings_.end()) {
      out[k] = known->second;
    } else {
      unknown.push_back(sum[k]);
      places.push_back(k);
    }
  }
  if (unknown.empty()) return out;
  std::vector<double> values =
      is_density_ ? statevec::density_expectations(s, unknown) : s.expectations(unknown);
  share(values.data(), values.size() * sizeof(double));
  for (std::size_t k = 0; k < values.size(); ++k) {
    out[places[k]] = values[k];
    if (strings_.size() < kMaxStrings) strings_[{unknown[k].x, unknown[k].z}] = values[k];
  }
  return out;
}

}  // namespace tilewave::quest
