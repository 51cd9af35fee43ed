// What owners of larger states ask of a state on a device: runs of amplitudes in and out, and
// passes on a part of its memory. And the state that streams chunks through a device from host
// memory.
#include <algorithm>
#include <memory>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/statevec/cuda/cuda_state.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

template <class T>
void CudaState<T>::start_passes(const Plan& plan, std::uint64_t first, bool is_busy) {
  Workspace::Lease lease(*workspace_, stream_);
  take_written();
  const std::uint64_t key = key_of(plan);
  auto kept = workspace_->kept_programs(key);
  const bool comes_again = kept != nullptr;
  const auto ways = kept ? std::nullopt : known_ways(plan);
  ProgramStore::Plan made;
  double busy_s = is_busy ? plan.passes.back().predicted_s : 0;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    TileLauncher<T>& launcher = launcher_of(plan.passes[p]);
    if (!kept) lower_ahead(plan, p, p + 1, 0.5 * busy_s, ways, made);
    busy_s = plan.passes[p].predicted_s;
    for_each_step(kept ? *kept : made, plan, p, [&](const LoweredPlan::Step& step) {
      start(launcher, step, open_memory() + first, {});
    });
  }
  if (!kept) kept = workspace_->store().keep(key, std::move(made));
  if (comes_again) improve(plan, key, kept.get());
}

namespace {

// Where the runs of a shape lie; `far`: in the other memory.
cudaPitchedPtr box(const void* first, const RunShape& shape, bool far, std::size_t amplitude) {
  const std::size_t pitch = (far ? shape.rows.far_step : shape.rows.step) * amplitude;
  const std::size_t plane = (far ? shape.planes.far_step : shape.planes.step) * amplitude;
  return {const_cast<void*>(first), pitch, pitch,
          shape.planes.bits ? plane / pitch : bit(shape.rows.bits)};
}

void start_copy(const void* from, void* to, const RunShape& shape, bool in, std::size_t amplitude,
                const rc::Stream& stream) {
  const std::size_t run_bytes = amplitude << shape.run_bits;
  if (!shape.rows.bits) return rc::copy(to, from, run_bytes, stream);
  cudaMemcpy3DParms parms{};
  parms.srcPtr = box(from, shape, in, amplitude);
  parms.dstPtr = box(to, shape, !in, amplitude);
  parms.extent = {run_bytes, bit(shape.rows.bits), bit(shape.planes.bits)};
  parms.kind = cudaMemcpyDefault;
  rc::copy(parms, stream);
}

}  // namespace

template <class T>
void CudaState<T>::load_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                             std::span<void* const> from) {
  use_device();
  forget_answers();
  for (std::size_t k = 0; k < firsts.size(); ++k)
    start_copy(from[k], amps_ + firsts[k], shape, true, sizeof(Complex<T>), stream_);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::save_runs(std::span<const std::uint64_t> firsts, const RunShape& shape,
                             std::span<void* const> to) const {
  use_device();
  for (std::size_t k = 0; k < firsts.size(); ++k)
    start_copy(amps_ + firsts[k], to[k], shape, false, sizeof(Complex<T>), stream_);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const {
  std::vector<void*> places;
  for (std::size_t k = 0; k < firsts.size(); ++k)
    places.push_back(static_cast<Complex<T>*>(to) + (k << run_bits));
  save_runs(firsts, {run_bits, {}, {}}, places);
}

template <class T>
void CudaState<T>::write_runs(std::span<const std::uint64_t> firsts, int run_bits,
                              const void* from) {
  std::vector<void*> places;
  for (std::size_t k = 0; k < firsts.size(); ++k)
    places.push_back(const_cast<Complex<T>*>(static_cast<const Complex<T>*>(from)) +
                     (k << run_bits));
  load_runs(firsts, {run_bits, {}, {}}, places);
}

#define TW_RUNS_OF(T)                                                                      \
  template void CudaState<T>::start_passes(const Plan&, std::uint64_t, bool);              \
  template void CudaState<T>::load_runs(std::span<const std::uint64_t>, const RunShape&,   \
                                        std::span<void* const>);                           \
  template void CudaState<T>::save_runs(std::span<const std::uint64_t>, const RunShape&,   \
                                        std::span<void* const>) const;                     \
  template void CudaState<T>::read_runs(std::span<const std::uint64_t>, int, void*) const; \
  template void CudaState<T>::write_runs(std::span<const std::uint64_t>, int, const void*)
TW_RUNS_OF(float);
TW_RUNS_OF(double);

}  // namespace cuda

namespace {

/// Blocks of a streamed state in pinned host memory and on devices.
struct StreamBlocks {
  runtime::cuda::PinnedBuffer host;
  std::vector<runtime::cuda::DeviceArena> devices;
};

// Before a state relies on it: known numbers go from a worker to scattered places of the memory by
// its kernel, are found there by copies, and come back. False where they do not.
bool can_scatter(State& worker, const StreamMemory& memory, const StreamLayout& layout) {
  constexpr int kTried = 12;  // log2 of the numbers; the other positions are said to be zero
  const int n = layout.chunk_qubits;
  std::vector<cplx> product;
  for (int q = 0; q < n; ++q) {
    product.push_back(1);
    product.push_back(std::polar(0.6 + 0.02 * q, 1.0 + q));
  }
  std::vector<int> address_bit;  // the low positions to the top of a chunk's addresses
  for (int p = 0; p < n; ++p) address_bit.push_back(p < kTried ? n - 1 - p : p - kTried);
  const std::uint64_t far = bit(layout.num_qubits - 1), zero = low_mask(n) & ~low_mask(kTried);
  const BlockMap map{memory.blocks, layout.block_qubits, far, address_bit};
  std::vector<std::uint64_t> indices;
  for (std::uint64_t k = 0; k < 256; ++k) indices.push_back(k * 16 + k % 16);
  worker.set_product_state(product);
  const std::vector<cplx> wanted = worker.amplitudes(indices);
  bool good = worker.scatter(map, zero);
  for (std::size_t k = 0; good && k < indices.size(); ++k) {
    std::uint64_t a = far;
    for (int p = 0; p < kTried; ++p)
      a |= (indices[k] >> p & 1) << address_bit[static_cast<std::size_t>(p)];
    const char* at = static_cast<const char*>(memory.blocks[a >> layout.block_qubits]) +
                     (a & low_mask(layout.block_qubits)) * layout.amplitude_bytes;
    Complex<double> z{};
    Complex<float> narrow{};
    if (layout.amplitude_bytes == sizeof z) {
      memory.copy(&z, at, sizeof z);
    } else {
      memory.copy(&narrow, at, sizeof narrow);
      z = {narrow.re, narrow.im};
    }
    good = z.re == wanted[k].real() && z.im == wanted[k].imag();
  }
  std::fill(product.begin(), product.end(), cplx(0.5));
  worker.set_product_state(product);
  return good && worker.gather(map, zero) && worker.amplitudes(indices) == wanted;
}

}  // namespace

std::unique_ptr<State> make_streamed_cuda_state(int num_qubits, Precision precision,
                                                const std::vector<int>& devices,
                                                std::uint64_t device_bytes,
                                                double memory_fraction) {
  namespace rc = runtime::cuda;
  const StreamLayout layout =
      plan_stream(num_qubits, precision, device_bytes, static_cast<int>(devices.size()));
  if (devices.size() > 1) rc::connect(devices);  // a chunk's resident part may be the other's
  auto memory = std::make_shared<StreamBlocks>();
  std::vector<std::unique_ptr<State>> workers;
  std::vector<char*> next;  // block of every device
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const runtime::CudaDevice info = rc::use_device(devices[k]);
    std::shared_ptr<rc::DeviceReservation> reservation;
    if (memory_fraction > 0)
      reservation = std::make_shared<rc::DeviceReservation>(info, memory_fraction);
    for (int w = 0; w < layout.workers_each; ++w)
      workers.push_back(
          cuda::make_state_apart(layout.chunk_qubits, precision, devices[k], reservation));
    const std::uint64_t bytes = layout.resident_bytes(static_cast<int>(k));
    if (bytes == 0) {
      memory->devices.emplace_back();
      next.push_back(nullptr);
      continue;
    }
    memory->devices.emplace_back(bytes, "the part of the state that stays", reservation);
    next.push_back(memory->devices.back().take<char>(bytes));
  }
  // neighbours in the list are on devices in turn, so that all links are in use
  std::vector<std::unique_ptr<State>> in_turn;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    const auto each = static_cast<std::size_t>(layout.workers_each);
    in_turn.push_back(std::move(workers[w % devices.size() * each + w / devices.size()]));
  }
  memory->host = rc::PinnedBuffer(layout.host_bytes());
  auto* host = static_cast<char*>(memory->host.data());
  StreamMemory stream;
  for (const int device : layout.device_of_block) {
    char*& at = device == StreamLayout::kHostBlock ? host : next[static_cast<std::size_t>(device)];
    stream.blocks.push_back(at);
    at += layout.block_bytes();
  }
  stream.owner = memory;
  stream.copy = [device = devices[0]](void* to, const void* from, std::size_t num_bytes) {
    rc::use_device(device);
    const rc::Stream here;
    rc::copy(to, from, num_bytes, here);
    here.synchronize();
  };
  stream.can_scatter = true;
  for (std::size_t k = 0; k < devices.size(); ++k)
    stream.can_scatter = stream.can_scatter && can_scatter(*in_turn[k], stream, layout);
  return make_streamed_state(layout, precision, std::move(stream), std::move(in_turn));
}

}  // namespace tilewave::statevec
