// A build without CUDA has no state on a device, and says so.
#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/device_view.h"
#include "tilewave/statevec/device_costs.h"
#include "tilewave/statevec/distributed/transport.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {

std::unique_ptr<State> make_cuda_state(int, Precision, int, double) { throw NoCudaError(); }

CostModel cuda_cost_model(const runtime::CudaDevice&, Precision, bool, CostOrigin*) {
  throw NoCudaError();
}

std::string compiled_passes() { return "none: this build has no CUDA back end"; }
std::string refused_passes() { return ""; }

DeviceView view_on_device(State& state) {
  throw Error(ExitCode::kUsage, "the state lies on " + state.device() +
                                    ", not on one CUDA device: this build has no CUDA back end");
}

std::unique_ptr<State> make_streamed_cuda_state(int num_qubits, Precision precision,
                                                const std::vector<int>&, std::uint64_t, double) {
  return make_cuda_state(num_qubits, precision, 0);
}

std::unique_ptr<State> make_multi_cuda_state(int num_qubits, Precision precision,
                                             const std::vector<int>&, int, double,
                                             const std::string&) {
  return make_cuda_state(num_qubits, precision, 0);
}

namespace distributed {
std::shared_ptr<Transport> make_device_process_transport(std::shared_ptr<runtime::Ranks> ranks,
                                                         Precision precision, int, int) {
  return make_process_transport(std::move(ranks), precision);
}
}  // namespace distributed

}  // namespace tilewave::statevec
