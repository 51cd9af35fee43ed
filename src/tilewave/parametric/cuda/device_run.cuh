// What DeviceRun is made of (device_run.h), which shards of a state use as well (device_shard.cuh). A pass is
// one kernel, which reads and writes every tile once. Derivatives are summed in a fixed order, so that a
// device gives the same bits again.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/parametric/cuda/compiled_run.cuh"
#include "tilewave/parametric/cuda/compiled_sweep.cuh"
#include "tilewave/parametric/cuda/device_program.cuh"
#include "tilewave/parametric/cuda/device_run.h"
#include "tilewave/parametric/cuda/pass_kernels.cuh"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::parametric {

namespace cuda = runtime::cuda;
// what kernels work on
using device::Amplitude, device::Array, device::DeviceString, device::StringSegment, device::Tiles;
using device::CompiledRun, device::CompiledSweep, device::DeviceProgram, device::KeptSweeps;
using device::PassArguments, device::Shape, device::StringArguments, device::StringWeights;
// kernels, and how they are started
using device::add_blocks, device::run_dot, device::run_pass, device::run_strings;
using device::blocks_at_a_time, device::free_shared_bytes, device::properties_of;
using device::kBankBits, device::kMostSumBytes, device::kRow;

template <class T>
struct DeviceRun<T>::Data {
  using A = Amplitude<T>;
  using S = Shape<T, true>;  // of the sums over strings, too

  Actions actions;
  Strings strings;
  Program planned;
  StageProgram program, back;  // the same passes, other registers
  int index;                   // of the device
  std::uint32_t multiprocessors = 1;
  cuda::Stream stream;
  std::optional<DeviceProgram<T>> program_there, back_there;
  std::map<std::pair<const void*, std::size_t>, std::uint32_t> blocks_known;
  double spent_s[2] = {}, swept_s[2] = {};  // forward and back; without lam and with it
  std::optional<CompiledRun<T, false>> compiled;
  std::optional<CompiledRun<T, true>> compiled_back;
  Array<A> psi, lam, factors, start;
  Array<double> sums, totals, far_sums;
  std::vector<std::pair<T, T>> host_factors;  // as `factors`
  std::vector<double> share;                  // of an angle that its cosine is of
  std::complex<double> global = 1;            // the state's factor
  bool from_zero = true;
  std::uint64_t shard;          // wires beyond those in memory that are 1 here (Tiles)
  std::vector<double> lam_dot;  // Re and Im of <lam|psi>, where they are known

  Data(const Actions& of, const Strings& s, const Program& p, int device,
       std::uint64_t of_shard = 0)
      : actions(of), strings(s), planned(p), index(device), shard(of_shard) {
    use();
    const cudaDeviceProp properties = properties_of(index);
    multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
    actions.num_wires = std::max(actions.num_wires, kRow);  // further wires stay |0>
    program = make_stages(planned.passes, {Shape<T, false>::kReg, kBankBits<T>,
                                           free_shared_bytes<T, false>(properties), false, true});
    back = make_stages(planned.passes,
                       {S::kReg, kBankBits<T>, free_shared_bytes<T, true>(properties), true, true});
    program_there.emplace(program, stream);
    back_there.emplace(back, stream);
    share.assign(actions.angles.size(), 1.0);
    for (const Action& a : actions.actions) {
      if (a.kind == ActionKind::kRotate) share[a.angle] = 0.5;
    }
    host_factors.resize(std::max<std::size_t>(share.size(), 1));
    factors = Array<A>(host_factors.size(), "the angles");
    start = Array<A>(1, "an amplitude");
    totals = Array<double>(std::max<std::size_t>(program.read_angle.size(), 2), "derivatives");
  }

  void bind(std::span<const double> values) {
    use();
    global = std::polar(1.0, actions.global_phase.value(values));
    for (std::size_t k = 0; k < share.size(); ++k) {
      const double angle = share[k] * actions.angles[k].value(values);
      host_factors[k] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
    }
    static_assert(sizeof(A) == sizeof(std::pair<T, T>));
    cuda::copy(factors.data(), host_factors.data(), host_factors.size() * sizeof(A), stream);
    program_there->bind(factors.data(), stream);
    back_there->bind(factors.data(), stream);
    if (compiled) compiled->bind(factors.data(), stream);
    if (compiled_back) compiled_back->bind(factors.data(), stream);
  }

  runtime::CudaDevice use() const {
    cuda::withdraw_idle(this);
    return cuda::use_device(index);
  }
  ~Data() { cuda::withdraw_idle(this); }

  // ---- kernels ----
  static std::size_t sum_bytes(std::uint32_t count) {
    const std::size_t bytes = std::size_t{S::kThreads / 32} * count * sizeof(double);
    return bytes <= kMostSumBytes / S::kBlocks ? bytes : 0;
  }
  std::uint32_t blocks_for(const void* kernel, int threads, std::size_t shared,
                           std::uint64_t tiles) {
    const auto [at, is_new] = blocks_known.try_emplace({kernel, shared}, 0);
    if (is_new) at->second = blocks_at_a_time(index, kernel, threads, shared);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, at->second));
  }
  template <bool kBack>
  auto& compiled_of() {
    if constexpr (kBack) {
      return compiled_back;
    } else {
      return compiled;
    }
  }
  static bool is_worth(double each_s) {
    return cuda::JitCache::serves(0) ||  // all are
           (each_s >= cuda::kJitAfter_s && cuda::JitCache::serves(each_s));
  }
  // Passes have run for so long: from some point on kernels of their own are worth their compiling.
  template <bool kBack>
  void note(double seconds) {
    auto& own = compiled_of<kBack>();
    if (own) return;
    spent_s[kBack] += seconds;
    if (!is_worth(spent_s[kBack] / static_cast<double>(program.passes.size() + 1))) return;
    own.emplace(planned.passes, use(), properties_of(index), stream);
    own->bind(factors.data(), stream);
  }

  Tiles tiles_of(std::uint64_t active, std::uint64_t zeros) const {
    Tiles tiles{};
    int k = 0;
    for_each_bit(active, [&](int w) { tiles.rows.wire[k++] = static_cast<std::uint8_t>(w); });
    tiles.outer = low_mask(program.num_wires) & ~active & ~zeros;
    tiles.shard = shard;
    tiles.count = bit(std::popcount(tiles.outer));
    return tiles;
  }

  // Room for the sums of `blocks` blocks.
  void need_sums(std::uint32_t blocks, std::uint32_t count) {
    const std::size_t all = std::size_t{blocks} * std::max<std::uint32_t>(count, 1);
    if (sums.count() < all) sums = Array<double>(all, "derivatives of blocks");
  }
  // The same for their warps; null where that is in shared memory.
  double* need_far_sums(std::uint32_t blocks, std::uint32_t count) {
    if (count == 0 || sum_bytes(count)) return nullptr;
    const std::size_t all = std::size_t{blocks} * count;
    if (far_sums.count() < all * (S::kThreads / 32))
      far_sums = Array<double>(all * (S::kThreads / 32), "derivatives");
    return far_sums.data();
  }

  void add_up(std::uint32_t blocks, std::uint32_t count, double* total) {
    if (count == 0) return;
    cuda::launch(&add_blocks, dim3((count + 127) / 128), dim3(128), 0, stream,
                 static_cast<const double*>(sums.data()), blocks, count, total);
  }

  // ---- states ----
  // Where amplitude 0 of the whole state would be, for the shard with these wires.
  static A* from_zero_of(A* data, std::uint64_t wires) {
    return reinterpret_cast<A*>(reinterpret_cast<std::uintptr_t>(data) - wires * sizeof(A));
  }
  std::size_t num_amplitudes() const { return std::size_t{1} << program.num_wires; }
  void need_states(int count) {
    for (Array<A>* array : {&psi, &lam}) {
      if (count-- <= 0 || array->count()) continue;
      *array = Array<A>(num_amplitudes(), "a state of " + std::to_string(actions.num_wires) +
                                              " qubits (a gradient needs two)");
    }
  }
  void clear(Array<A>& state, std::size_t amplitudes) {
    cuda::check(cuda::driver().fill(state.data(), 0, amplitudes * sizeof(A), stream.get()),
                "clear a state");
  }
  std::uint64_t zeros_before(std::size_t pass) const {
    if (!from_zero) return 0;
    return pass < program.passes.size() ? program.passes[pass].zeros : program.zeros;
  }

  template <bool kBack>
  void launch_pass(std::size_t k, bool stores, std::uint64_t load_zeros, std::uint64_t zeros) {
    using P = Shape<T, kBack>;
    const StagePass& pass = (kBack ? back : program).passes[k];
    const std::uint32_t reads = kBack ? pass.num_reads : 0;
    PassArguments<T> a{};
    const DeviceProgram<T>& there = kBack ? *back_there : *program_there;
    a.program = there.view();
    a.table = there.table();
    a.tiles = tiles_of(pass.active, zeros);
    a.pass = static_cast<std::uint32_t>(k);
    a.stores = stores;
    a.load_zeros = load_zeros;
    a.store_zeros = kBack ? zeros : 0;
    a.psi = from_zero_of(psi.data(), shard);
    a.lam = kBack ? from_zero_of(lam.data(), shard) : nullptr;
    a.op_factors = there.op_factors();
    a.term_factors = there.term_factors();
    a.start = kBack && k == 0 ? start.data() : nullptr;
    auto& own = compiled_of<kBack>();
    const void* const kernel = own ? own->kernel(k) : nullptr;
    const int threads = kernel ? own->threads() : P::kThreads;
    const std::size_t shared = kernel
                                   ? own->shared_bytes(k)
                                   : P::kTileBytes + pass.kept_program_bytes + sum_bytes(reads) +
                                         P::kThreads * (pass.num_accumulators * kAccumulatorBytes +
                                                        pass.num_kept * kAddressBytes);
    const auto interpreter = &run_pass<T, kBack>;
    const std::uint32_t blocks =
        blocks_for(kernel ? kernel : reinterpret_cast<const void*>(interpreter), threads, shared,
                   a.tiles.count);
    a.tiles.stride = deposit_bits(blocks, a.tiles.outer);
    if (kBack) need_sums(blocks, reads);
    if (kBack && !kernel) a.far_sums = need_far_sums(blocks, reads);
    a.sums = sums.data();
    if (kernel) {
      own->launch(kernel, k, blocks, a, host_factors, stream);
    } else {
      cuda::launch(interpreter, dim3(blocks), dim3(threads), shared, stream, a);
    }
    if (kBack) add_up(blocks, reads, totals.data() + pass.first_read);
  }

  void move_forward() {
    const runtime::Timer timer;
    for (std::size_t k = 0; k < program.passes.size(); ++k) {
      check_interrupt();
      const std::uint64_t zeros = zeros_before(k);
      launch_pass<false>(k, true, zeros, zeros);
    }
    stream.synchronize();
    note<false>(timer.elapsed_s());
  }

  // Brings both states back: derivatives [read]. Unless they are wanted there (`keeps`), it ends where
  // nothing more is read.
  void move_back(std::span<double> reads, bool keeps) {
    const auto& passes = program.passes;
    const runtime::Timer timer;
    std::fill(reads.begin(), reads.end(), 0.0);
    std::size_t first_pass = 0;  // before it nothing is read
    while (!keeps && first_pass < passes.size() && passes[first_pass].num_reads == 0) ++first_pass;
    cuda::check(
        cuda::driver().fill(totals.data(), 0, totals.count() * sizeof(double), stream.get()),
        "clear derivatives");
    for (std::size_t k = passes.size(); k-- > first_pass;) {
      check_interrupt();
      launch_pass<true>(k, keeps || k > first_pass, zeros_before(k + 1), zeros_before(k));
    }
    cuda::copy(reads.data(), totals.data(), program.read_angle.size() * sizeof(double), stream);
    A first = {static_cast<T>(global.real()), static_cast<T>(global.imag())};
    if (first_pass == 0 && from_zero && !passes.empty())
      cuda::copy(&first, start.data(), sizeof first, stream);
    stream.synchronize();
    note<true>(timer.elapsed_s());
    const double tolerance = sizeof(T) == 8 ? 1e-8 : 1e-2;
    const std::complex<double> amplitude =
        std::complex<double>(first.re, first.im) * std::conj(global);
    if (std::abs(amplitude - 1.0) > tolerance) {
      throw Error(ExitCode::kVerification,
                  "the state does not come back to |0...0> where a circuit is undone (its "
                  "amplitude is " +
                      std::to_string(amplitude.real()) +
                      "): this is a defect, or memory that loses bits; please report it");
    }
  }

  // ---- strings ----
  KeptSweeps<T> of_lam, of_observables;

  // Runs the sweeps; the sums go to `out`: Re and Im of each. `psi_of(wires)` is the psi of the
  // process that differs in these wires, as its amplitudes lie there; sweeps that want the same one
  // follow each other.
  template <bool kLam, class F>
  void run_sweeps(KeptSweeps<T>& kept, const StringWeights& weights, std::uint32_t num_sums,
                  std::vector<double>& out, F psi_of) {
    const std::vector<StringSweep>& sweeps = planned.sweeps;
    const auto other = [&](const StringSweep& sweep) {
      return sweep.flip_outer & ~low_mask(program.num_wires);
    };
    std::vector<std::size_t> order(sweeps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t j, std::size_t k) {
      return other(sweeps[j]) < other(sweeps[k]);
    });
    kept.keep(sweeps, weights, num_sums, stream);
    const runtime::Timer timer;
    cuda::check(cuda::driver().fill(kept.totals.data(), 0, kept.totals.count() * sizeof(double),
                                    stream.get()),
                "clear sums");
    for (const std::size_t k : order) {
      check_interrupt();
      StringArguments<T> a{};
      a.strings = {kept.segments[k].data(), kept.strings[k].data(),
                   static_cast<std::uint32_t>(kept.segments[k].count())};
      a.tiles = tiles_of(sweeps[k].active, 0);
      a.flip_outer = sweeps[k].flip_outer;
      a.num_sums = 2 * num_sums;
      a.adds = k != order.front();
      a.psi = from_zero_of(psi.data(), shard);
      const std::uint64_t wires = other(sweeps[k]);
      a.ket = wires ? from_zero_of(psi_of(wires), shard ^ wires) : a.psi;
      a.lam = from_zero_of(lam.data(), shard);
      const void* const own = kept.compiled.empty() ? nullptr : kept.compiled[k].kernel();
      const auto interpreter = &run_strings<T, kLam>;
      const std::size_t shared =
          own ? CompiledSweep<T>::kSharedBytes : S::kTileBytes + sum_bytes(a.num_sums);
      const std::uint32_t blocks =
          blocks_for(own ? own : reinterpret_cast<const void*>(interpreter),
                     own ? CompiledSweep<T>::kThreads : S::kThreads, shared, a.tiles.count);
      a.tiles.stride = deposit_bits(blocks, a.tiles.outer);
      need_sums(blocks, a.num_sums);
      if (!own) a.far_sums = need_far_sums(blocks, a.num_sums);
      a.sums = sums.data();
      if (own) {
        kept.compiled[k].launch(own, blocks, a, stream);
      } else {
        cuda::launch(interpreter, dim3(blocks), dim3(S::kThreads), shared, stream, a);
      }
      add_up(blocks, a.num_sums, kept.totals.data());
    }
    out.resize(2 * std::size_t{num_sums});
    cuda::copy(out.data(), kept.totals.data(), out.size() * sizeof(double), stream);
    stream.synchronize();
    swept_s[kLam] += timer.elapsed_s();
    if (!kept.compiled.empty() || sweeps.empty() ||
        !is_worth(swept_s[kLam] / static_cast<double>(sweeps.size())))
      return;
    for (const StringSweep& sweep : sweeps)
      kept.compiled.emplace_back(sweep, weights, num_sums, kLam, use(), properties_of(index));
  }

  // Adds <psi|O|psi> of every observable; of a shard, its part.
  template <class F>
  void read_observables(double* out, F psi_of) {
    StringWeights of_string(strings.strings.size());
    for (const Strings::Share& each : strings.shares)
      of_string[each.string].push_back({each.observable, each.coefficient});
    std::vector<double> found;
    run_sweeps<false>(of_observables, of_string, strings.num_observables, found, psi_of);
    for (std::uint32_t m = 0; m < strings.num_observables; ++m) out[m] += found[2 * m];
  }
  // lam = sum_j weights[j] P_j psi.
  template <class F>
  void make_lam(std::span<const double> weights, F psi_of) {
    if (planned.sweeps.empty()) clear(lam, num_amplitudes());
    StringWeights of_string(weights.size());
    for (std::size_t j = 0; j < weights.size(); ++j) of_string[j].push_back({0, weights[j]});
    run_sweeps<true>(of_lam, of_string, 1, lam_dot, psi_of);
  }
  // Of a state that is here whole.
  static A* nobody(std::uint64_t) {
    fail(ExitCode::kInternal, "a Pauli string acts on a qubit that the state does not have");
  }

  // ---- amplitudes of the host ----
  void write_state(const Array<A>& state, const std::vector<int>& wires,
                   const std::complex<double>* amplitudes, std::complex<double> factor) {
    std::vector<A> host(num_amplitudes());
    for (std::uint64_t x = 0; x < bit(static_cast<int>(wires.size())); ++x) {
      const std::complex<double> value = factor * amplitudes[x];
      host[place(x, wires)] = {static_cast<T>(value.real()), static_cast<T>(value.imag())};
    }
    cuda::copy(state.data(), host.data(), host.size() * sizeof(A), stream);
    stream.synchronize();
  }
  static std::uint64_t place(std::uint64_t index, const std::vector<int>& wires) {
    std::uint64_t on = 0;
    for_each_bit(index, [&](int q) { on |= bit(wires[static_cast<std::size_t>(q)]); });
    return on;
  }
};

}  // namespace tilewave::parametric
