// The programs of a plan on a CUDA device: how passes are written as programs, while the device is busy
// with those before them and in the background, and their place on the device.
#include <cstring>
#include <functional>

#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.cuh"
#include "tilewave/statevec/plan/pass_price.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

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
PassWriter CudaState<T>::writer() const {
  std::vector<PassWriter::Tile> tiles;
  for (const TileLauncher<T>& launcher : launchers_) {
    tiles.push_back({launcher.shape(), {}});
    for (std::size_t set = 0; set < tiles.back().blocks.size(); ++set)
      tiles.back().blocks[set] = launcher.blocks(static_cast<tile::OpSet>(set));
  }
  return {std::move(tiles), workspace_->program_bytes(), cost_, info_,
          improves() && JitCache::of_process()};
}

template <class T>
std::optional<std::vector<tile::PassWays::Pass>> CudaState<T>::known_ways(const Plan& plan) {
  if (!improves()) return std::nullopt;
  return workspace_->background().ways().find(writer().ways_key(plan), plan.passes.size());
}

template <class T>
LoweredPlan::Step CudaState<T>::upload(const tile::TilePass& program, std::size_t pass,
                                       const PassKernel* kernel) {
  const std::size_t size = aligned(program.code.size()) + aligned(program.tables.size());
  LoweredPlan::Step step;
  step.frame = program.frame;
  step.pass = pass;
  step.paid = program.paid;
  if (kernel) {
    step.jit = kernel->entry;
    step.numbers = kernel->numbers;
    step.kernel = JitCache::of_process()->function(*step.jit);
  }
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
PassKernel CudaState<T>::kernel_now(const CompiledPass& compiled) const {
  return JitCache::is_too_long(*compiled.kernel.entry) ? writer().kernel_of(compiled.program)
                                                       : compiled.kernel;
}

template <class T>
void CudaState<T>::for_each_step(const ProgramStore::Plan& programs, const Plan& plan,
                                 std::size_t pass,
                                 const std::function<void(const LoweredPlan::Step&)>& f) {
  const auto run = [&](const tile::TilePass& program, std::size_t count, const PassKernel* kernel,
                       const std::shared_ptr<JitCache::Entry>& next) {
    LoweredPlan::Step step = upload(program, pass, kernel);
    step.predicted_s = plan.passes[pass].predicted_s / static_cast<double>(count);
    if (next) step.jit = next;
    f(step);
  };
  std::shared_ptr<JitCache::Entry> next;  // what is not made yet
  if (pass < programs.compiled.size() && !programs.compiled[pass].empty()) {
    const std::vector<CompiledPass>& all = programs.compiled[pass];
    JitCache* const cache = JitCache::of_process();
    bool has_all = false;
    std::vector<PassKernel> kernels;
    for (const CompiledPass& compiled : all) {
      PassKernel kernel = cache ? kernel_now(compiled) : PassKernel{};
      has_all = kernel.entry != nullptr;  // otherwise all sources of one were too long
      if (!has_all) break;
      if (kernel.is_wanted) cache->request(*kernel.entry);
      if (!cache->function(*kernel.entry)) next = kernel.entry;
      kernels.push_back(std::move(kernel));
    }
    if (has_all && !next) {
      for (std::size_t k = 0; k < all.size(); ++k)
        run(all[k].program, all.size(), &kernels[k], nullptr);
      return;
    }
    if (!has_all) next = nullptr;
  }
  const std::vector<tile::TilePass>& all = programs.programs[pass];
  TW_CHECK(!all.empty(), "a pass without a program");
  for (const tile::TilePass& program : all) run(program, all.size(), nullptr, next);
}

template <class T>
void CudaState<T>::lower_ahead(const Plan& plan, std::size_t first, std::size_t last,
                               double spare_s,
                               const std::optional<std::vector<tile::PassWays::Pass>>& ways,
                               ProgramStore::Plan& to) {
  constexpr double kSlowerHost =
      4;  // several threads at once, on any machine, than tile::try_s says
  const PassWriter writer = this->writer();
  to.programs.resize(plan.passes.size());
  to.compiled.resize(plan.passes.size());
  to.is_final = ways.has_value();
  const int each = ways ? 2 : 1;
  detail::side_by_side(each * static_cast<int>(last - first), [&](int k) {
    const std::size_t p = first + static_cast<std::size_t>(k / each);
    if (!ways) {
      to.programs[p] = writer.write(plan, p, tries_of(plan.passes[p], spare_s / kSlowerHost));
    } else if (k % 2 == 0) {
      to.programs[p] = writer.write(plan, p, (*ways)[p].interpreted);
    } else if ((*ways)[p].compiled) {
      to.compiled[p] = writer.write_compiled(plan, p, *(*ways)[p].compiled);
    }
  });
}

template <class T>
void CudaState<T>::improve(const Plan& plan, std::uint64_t key, const ProgramStore::Plan* kept) {
  if (!improves() || !kept || kept->is_final) return;
  workspace_->background().begin(plan, key, writer(), false);
}

template <class T>
void CudaState<T>::take_written() {
  for (const auto& programs : workspace_->take_written()) request_kernels(*programs);
}

template <class T>
void CudaState<T>::prepare(const Plan& plan, bool waits) {
  TW_CHECK(plan.num_qubits == num_qubits_ && plan.precision == precision_,
           "the plan is for another state");
  if (is_reproducible_) return;  // not all of its pieces would be prepared
  use_device();
  const std::uint64_t key = key_of(plan);
  {
    Workspace::Lease lease(*workspace_, stream_);
    take_written();
    const auto kept = workspace_->kept_programs(key);
    if (!kept || !kept->is_final) {
      workspace_->background().begin(plan, key, writer(), true);
    } else {
      request_kernels(*kept);
    }
  }
  // the code of some kernels may come out too long
  for (int k = 0; waits && k <= tile::kJitMostShortenings + 1; ++k) {
    JitCache::wait();
    Workspace::Lease lease(*workspace_, stream_);
    take_written();
    const auto kept = workspace_->kept_programs(key);
    if (!kept || !request_kernels(*kept)) break;
  }
}

template <class T>
bool CudaState<T>::request_kernels(const ProgramStore::Plan& programs) {
  JitCache* const cache = JitCache::of_process();
  bool any = false;
  for (std::size_t p = 0; cache && p < programs.compiled.size(); ++p) {
    for (const CompiledPass& compiled : programs.compiled[p]) {
      const PassKernel kernel = kernel_now(compiled);
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
  const auto kept = workspace_->kept_programs(key_of(plan));
  if (!kept) return plan.predicted_s;
  double seconds = 0;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    if (p < kept->compiled.size() && !kept->compiled[p].empty()) {
      for (const CompiledPass& compiled : kept->compiled[p])
        seconds += program_s(compiled.program.paid, true, plan.passes[p]);
    } else {
      for (const tile::TilePass& program : kept->programs[p])
        seconds += program_s(program.paid, false, plan.passes[p]);
    }
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
