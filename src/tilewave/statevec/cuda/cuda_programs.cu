// The programs of a plan on a CUDA device: what stands for them, how passes are written as programs
// and written better while the device is busy, and their place on the device.
#include <algorithm>
#include <functional>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/statevec/cuda/cuda_state.cuh"
#include "tilewave/statevec/cuda/jit_files.h"
#include "tilewave/statevec/plan/pass_price.h"
#include "tilewave/statevec/tile/device_numbers.h"
#include "tilewave/statevec/tile/jit_source.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

// Of everything that a lowered plan depends on.
std::uint64_t fingerprint(const Plan& plan) {
  Fingerprint f;
  f.add(static_cast<std::uint64_t>(plan.num_qubits) << 8 |
        static_cast<std::uint64_t>(plan.precision));
  for (const Pass& pass : plan.passes) {
    for (std::size_t i = 0; i < pass.active.size(); ++i) {
      f.add(static_cast<std::uint64_t>(pass.active[i]) << 8 | pass.dest[i]);
    }
    f.add(pass.store_flips);
    f.add(pass.known_zero_before);
    f.add(pass.known_zero_after);
    f.add(pass.scale.real());
    f.add(pass.scale.imag());
    for (const Action& a : pass.actions) {
      f.add(static_cast<std::uint64_t>(a.kind) << 32 |
            static_cast<std::uint64_t>(a.num_targets) << 40 | a.count);
      for (int t = 0; t < a.num_targets; ++t)
        f.add(std::uint64_t{a.targets[static_cast<std::size_t>(t)]});
      f.add(a.control_mask);
      f.add(a.control_value);
      for (double x : a.m) f.add(x);
      f.add(a.pre_turns);
      f.add(std::uint64_t{a.first});
    }
  }
  for (const PhaseTerm& t : plan.terms) {
    f.add(t.mask);
    f.add(t.turns);
  }
  for (const cplx& z : plan.matrices) {
    f.add(z.real());
    f.add(z.imag());
  }
  return f.value();
}

template <class T>
bool CudaState<T>::may_compile(const Pass& pass) const {
  // small circuits have the same bits every time
  return !is_reproducible_ && JitCache::serves(pass.predicted_s) &&
         num_qubits_ >= cost_.search_from_qubits && JitCache::of_process();
}

template <class T>
std::uint64_t CudaState<T>::key_of(const Plan& plan) const {
  constexpr std::uint64_t kReproducible = 0x9e3779b97f4a7c15;
  return fingerprint(plan) ^ (is_reproducible_ ? kReproducible : 0);
}

template <class T>
int CudaState<T>::tries_of(const Pass& pass, double spare_s) const {
  constexpr double kShare = 0.1;  // of the time of the pass, which another one takes about too
  return tile::tries_within(pass, is_reproducible_ ? kShare * pass.predicted_s : spare_s);
}

template <class T>
CudaState<T>::Kernel CudaState<T>::kernel_of(const tile::TilePass& program, const Pass& pass) {
  if (!may_compile(pass)) return {};
  const int blocks = launcher_of(pass).blocks(program.frame.op_set);
  JitCache* const cache = JitCache::of_process();
  for (int shortenings = 0; shortenings <= tile::kJitMostShortenings; ++shortenings) {
    std::optional<tile::JitSource> source = tile::jit_source(program, blocks, shortenings);
    if (!source) break;
    std::shared_ptr<JitCache::Entry> entry = cache->entry(pass_kernels(), source->text, info_);
    if (JitCache::is_too_long(*entry)) continue;
    if (shortenings > 0) cache->request(*entry);  // the longer one was worth it
    return {std::move(entry), std::move(source->numbers)};
  }
  return {};
}

template <class T>
LoweredPlan::Step CudaState<T>::upload(const tile::TilePass& program, std::size_t pass,
                                       Kernel kernel) {
  const std::size_t size = aligned(program.code.size()) + aligned(program.tables.size());
  LoweredPlan::Step step;
  step.frame = program.frame;
  step.pass = pass;
  step.paid = program.paid;
  step.jit = std::move(kernel.entry);
  step.numbers = std::move(kernel.numbers);
  if (step.jit) step.kernel = JitCache::of_process()->function(*step.jit);
  TW_CHECK(step.kernel || !program.needs_kernel, "a program without the kernel it needs");
  step.code = workspace_->place(size, stream_);
  step.tables = step.code + aligned(program.code.size());
  std::byte* staged = workspace_->staged(step.code);
  std::memcpy(staged, program.code.data(), program.code.size());
  std::memcpy(staged + (step.tables - step.code), program.tables.data(), program.tables.size());
  rc::copy(workspace_->programs() + step.code, staged, size, stream_);
  return step;
}

template <class T>
void CudaState<T>::for_each_step(const ProgramStore::Plan& programs, const Plan& plan,
                                 std::size_t pass,
                                 const std::function<void(const LoweredPlan::Step&)>& f) {
  const auto kernels_of = [&](const std::vector<tile::TilePass>& all) {
    std::vector<Kernel> kernels;
    for (const tile::TilePass& program : all)
      kernels.push_back(kernel_of(program, plan.passes[pass]));
    return kernels;
  };
  const std::vector<tile::TilePass>* steps = &programs.programs[pass];
  std::vector<Kernel> kernels;
  std::shared_ptr<JitCache::Entry> next;  // what is not made yet
  if (pass < programs.compiled.size() && !programs.compiled[pass].empty()) {
    kernels = kernels_of(programs.compiled[pass]);
    if (std::ranges::all_of(kernels, [](const Kernel& k) { return k.entry != nullptr; })) {
      for (const Kernel& kernel : kernels) {
        if (!JitCache::of_process()->function(*kernel.entry)) next = kernel.entry;
      }
      if (!next) steps = &programs.compiled[pass];
    } else {
      kernels.clear();  // all sources of one were too long
    }
  }
  if (next || kernels.empty()) kernels = kernels_of(*steps);
  for (std::size_t k = 0; k < steps->size(); ++k) {
    LoweredPlan::Step step = upload((*steps)[k], pass, std::move(kernels[k]));
    step.predicted_s = plan.passes[pass].predicted_s / static_cast<double>(steps->size());
    if (next) step.jit = next;
    f(step);
  }
}

template <class T>
std::vector<tile::TilePass> CudaState<T>::lower(const Plan& plan, std::size_t pass, int tries,
                                                bool compiled) {
  constexpr std::size_t kPadding = 512;  // of code and tables
  const tile::Shape shape = launcher_of(plan.passes[pass]).shape();
  return tile::lower_within(plan, pass, shape, workspace_->program_bytes() - kPadding,
                            tile::chunk_limits(shape), tries, compiled, cost_.writer);
}

template <class T>
void CudaState<T>::lower_ahead(const Plan& plan, std::size_t first, std::size_t last,
                               double spare_s, ProgramStore::Programs& to) {
  to.resize(plan.passes.size());
  detail::side_by_side(static_cast<int>(last - first), [&](int k) {
    const std::size_t p = first + static_cast<std::size_t>(k);
    to[p] = lower(plan, p, tries_of(plan.passes[p], spare_s / slower_host_));
  });
}

template <class T>
void CudaState<T>::lower_well(const Plan& plan, std::size_t first, std::size_t last, int tries,
                              ProgramStore::Plan& to) {
  to.programs.resize(plan.passes.size());
  to.compiled.resize(plan.passes.size());
  detail::side_by_side(2 * static_cast<int>(last - first), [&](int k) {
    const std::size_t p = first + static_cast<std::size_t>(k / 2);
    if (k % 2 == 0) {
      to.programs[p] = lower(plan, p, tile::kManyTries);
    } else if (may_compile(plan.passes[p])) {
      to.compiled[p] = lower(plan, p, tries, true);
    }
  });
  for (std::size_t p = first; p < last; ++p) {
    if (std::any_of(to.compiled[p].begin(), to.compiled[p].end(),
                    [&](const tile::TilePass& program) {
                      return !kernel_of(program, plan.passes[p]).entry;
                    }))
      to.compiled[p].clear();  // too long
  }
}

template <class T>
bool CudaState<T>::refine(const Plan& plan, std::uint64_t key) {
  ProgramStore& store = workspace_->store();
  const auto kept = store.find(key);
  std::size_t p = store.num_final(key);
  if (!kept || p == plan.passes.size()) return false;
  ProgramStore::Plan better = *kept;
  const runtime::Timer timer;
  const double most_s = 0.6 * plan.predicted_s;
  const std::size_t first = p;
  bool any = false;
  while (p < plan.passes.size()) {
    // As many passes at once as fit, by the one that takes longest.
    const double left_s = (p == first ? 2 : 1) * most_s - timer.elapsed_s();
    std::size_t last = p;
    double tries_s = 0;
    for (; last < plan.passes.size() && last - p < at_once(); ++last) {
      const double own_s = tile::kManyTries * tile::try_s(plan.passes[last]) * slower_host_;
      if (own_s > left_s) break;
      tries_s = std::max(tries_s, own_s);
    }
    if (last == p) {
      if (p != first) break;  // in the next run
      ++p;                    // never fits: stays as it is
      continue;
    }
    const runtime::Timer own;
    lower_well(plan, p, last, tile::kManyTries, better);
    slower_host_ = std::max(slower_host_ * own.elapsed_s() / tries_s, 1.0);
    any = true;
    p = last;
  }
  store.keep(key, std::move(better), p);
  return any;
}

template <class T>
void CudaState<T>::prepare(const Plan& plan, bool waits) {
  TW_CHECK(plan.num_qubits == num_qubits_ && plan.precision == precision_,
           "the plan is for another state");
  if (is_reproducible_) return;  // not all of its pieces would be prepared
  use_device();
  JitCache* const cache = JitCache::of_process();
  const std::uint64_t key = key_of(plan);
  std::shared_ptr<const ProgramStore::Plan> kept;
  {
    Workspace::Lease lease(*workspace_, stream_);
    if (!workspace_->store().is_prepared(key)) prepare_programs(plan, key);
    kept = workspace_->store().find(key);
  }
  if (!cache || !waits) return;
  cache->wait();
  for (int k = 0; kept && k < tile::kJitMostShortenings; ++k) {  // the code of some is too long
    if (!request_kernels(plan, *kept, 0)) break;
    cache->wait();
  }
}

template <class T>
void CudaState<T>::prepare_programs(const Plan& plan, std::uint64_t key) {
  ProgramStore::Plan programs;
  for (std::size_t first = 0; first < plan.passes.size(); first += at_once()) {
    const std::size_t last = std::min(first + at_once(), plan.passes.size());
    lower_well(plan, first, last, tile::kTriesAhead, programs);
    request_kernels(plan, programs, first);
  }
  workspace_->store().keep(key, std::move(programs), plan.passes.size(), true);
  lowered_.key = 0;
}

template <class T>
bool CudaState<T>::request_kernels(const Plan& plan, const ProgramStore::Plan& programs,
                                   std::size_t first) {
  JitCache* const cache = JitCache::of_process();
  bool any = false;
  for (std::size_t p = first; p < programs.compiled.size(); ++p) {
    for (const tile::TilePass& program : programs.compiled[p]) {
      const Kernel kernel = kernel_of(program, plan.passes[p]);
      if (!kernel.entry || cache->function(*kernel.entry) || !cache->why_not(*kernel.entry).empty())
        continue;
      cache->request(*kernel.entry);
      any = true;
    }
  }
  return any;
}

template <class T>
double CudaState<T>::program_s(const tile::OpCosts& paid, bool compiled, const Pass& pass) const {
  const tile::WriterCosts& costs =
      cost_.writer ? *cost_.writer : tile::shipped_costs(this->precision_);
  const double bandwidth = is_wide(pass) ? cost_.wide_bandwidth : cost_.bandwidth;
  return cost_.pass_overhead_s +
         tile::program_s(
             paid, compiled ? costs.compiled : costs.interpreted, pass.bytes / bandwidth,
             statevec::detail::worked_amplitudes(pass, num_qubits_), cost_.lift_s / costs.lift_s);
}

// By the programs that are kept of it: where nothing is, or not all of it, by the plan.
template <class T>
double CudaState<T>::predicted_s(const Plan& plan) {
  Workspace::Lease lease(*workspace_, stream_);
  const auto kept = workspace_->store().find(key_of(plan));
  if (!kept) return plan.predicted_s;
  double seconds = 0;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    const bool compiled = p < kept->compiled.size() && !kept->compiled[p].empty();
    for (const tile::TilePass& program : compiled ? kept->compiled[p] : kept->programs[p])
      seconds += program_s(program.paid, compiled, plan.passes[p]);
  }
  return seconds;
}

template <class T>
void CudaState<T>::predict_step(const Plan& plan, std::size_t p, bool wants_terms,
                                StepTime& out) const {
  const Pass& pass = plan.passes[p];
  out.predicted_s = 0;
  std::vector<double> terms;
  for (const LoweredPlan::Step& step : lowered_.steps) {
    if (step.pass != p) continue;
    const bool compiled = step.kernel != nullptr;
    out.predicted_s += program_s(step.paid, compiled, pass);
    if (!wants_terms) continue;
    const std::vector<double> own =
        tile::program_terms(step.paid, compiled, pass, num_qubits_, is_wide(pass));
    terms.resize(own.size());
    for (std::size_t k = 0; k < own.size(); ++k) terms[k] += own[k];
  }
  out.terms = std::move(terms);
}

template class CudaState<float>;
template class CudaState<double>;

}  // namespace tilewave::statevec::cuda
