// What owners of larger states ask of a state on a device: runs of amplitudes in and out, and
// passes on a part of its memory. And the state that streams chunks through a device from host
// memory.
#include <algorithm>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.h"

namespace tilewave::statevec {

namespace cuda {

namespace rc = runtime::cuda;

template <class T>
void CudaState<T>::start_passes(const Plan& plan, std::uint64_t first) {
  Workspace::Lease lease(*workspace_, stream_);
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    TileLauncher<T>& launcher = launcher_of(plan.passes[p]);
    for (const tile::TilePass& program : lower(plan, p))
      start(launcher, upload(program, p), open_memory() + first, nullptr);
  }
}

template <class T>
void CudaState<T>::load_runs(std::span<const std::uint64_t> firsts, int run_bits,
                             std::span<void* const> from) {
  use_device();
  forget_answers();
  for (std::size_t k = 0; k < firsts.size(); ++k)
    rc::copy(amps_ + firsts[k], from[k], sizeof(Complex<T>) << run_bits, stream_);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::save_runs(std::span<const std::uint64_t> firsts, int run_bits,
                             std::span<void* const> to) const {
  use_device();
  for (std::size_t k = 0; k < firsts.size(); ++k)
    rc::copy(to[k], amps_ + firsts[k], sizeof(Complex<T>) << run_bits, stream_);
  stream_.synchronize();
}

template <class T>
void CudaState<T>::read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const {
  std::vector<void*> places;
  for (std::size_t k = 0; k < firsts.size(); ++k)
    places.push_back(static_cast<Complex<T>*>(to) + (k << run_bits));
  save_runs(firsts, run_bits, places);
}

template <class T>
void CudaState<T>::write_runs(std::span<const std::uint64_t> firsts, int run_bits,
                              const void* from) {
  std::vector<void*> places;
  for (std::size_t k = 0; k < firsts.size(); ++k)
    places.push_back(const_cast<Complex<T>*>(static_cast<const Complex<T>*>(from)) +
                     (k << run_bits));
  load_runs(firsts, run_bits, places);
}

#define TW_RUNS_OF(T)                                                                      \
  template void CudaState<T>::start_passes(const Plan&, std::uint64_t);                    \
  template void CudaState<T>::load_runs(std::span<const std::uint64_t>, int,               \
                                        std::span<void* const>);                           \
  template void CudaState<T>::save_runs(std::span<const std::uint64_t>, int,               \
                                        std::span<void* const>) const;                     \
  template void CudaState<T>::read_runs(std::span<const std::uint64_t>, int, void*) const; \
  template void CudaState<T>::write_runs(std::span<const std::uint64_t>, int, const void*)
TW_RUNS_OF(float);
TW_RUNS_OF(double);

}  // namespace cuda

std::unique_ptr<State> make_streamed_cuda_state(int num_qubits, Precision precision, int device,
                                                std::uint64_t device_bytes,
                                                double memory_fraction) {
  constexpr int kWorkers = 3;  // one copied in, one worked on, one copied out
  constexpr int kMinChunkQubits = 16;
  const auto worker_bytes = [&](int chunk) {
    const std::uint64_t bytes = amplitude_bytes(precision) << chunk;
    return bytes + cuda::Workspace::bytes_for(bytes);
  };
  int chunk = std::min(num_qubits - 1, kMaxQubits);
  while (chunk >= kMinChunkQubits && kWorkers * worker_bytes(chunk) > device_bytes) --chunk;
  if (chunk < kMinChunkQubits) {
    throw Error(ExitCode::kResources,
                "cannot stream " + std::to_string(num_qubits) + " qubits through " +
                    std::to_string(device_bytes >> 20) + " MiB of device memory: allow at least " +
                    std::to_string((kWorkers * worker_bytes(kMinChunkQubits) >> 20) + 1) +
                    " MiB, and have more than " + std::to_string(kMinChunkQubits) + " qubits");
  }
  const runtime::CudaDevice info = runtime::cuda::use_device(device);
  auto pinned =
      std::make_shared<runtime::cuda::PinnedBuffer>(amplitude_bytes(precision) << num_qubits);
  std::vector<std::unique_ptr<State>> workers;
  std::shared_ptr<runtime::cuda::DeviceReservation> reservation;
  if (memory_fraction > 0) {
    reservation = std::make_shared<runtime::cuda::DeviceReservation>(info, memory_fraction);
  }
  for (int k = 0; k < kWorkers; ++k)
    workers.push_back(cuda::make_state_apart(chunk, precision, device, reservation));
  return make_streamed_state(num_qubits, precision, chunk,
                             std::shared_ptr<void>(pinned, pinned->data()), std::move(workers));
}

}  // namespace tilewave::statevec
