// The CUDA back end of a build without CUDA: it says so.
#include "tilewave/base/error.h"
#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {
namespace {

[[noreturn]] void absent() { throw NoCudaError(); }

}  // namespace

struct EntropyCuda::State {};

EntropyCuda::EntropyCuda(const EntropyPlan&, int) { absent(); }
EntropyCuda::~EntropyCuda() = default;
void EntropyCuda::run(const CodeRows<std::uint8_t>&, const Region&, float*, std::int64_t) {}
void EntropyCuda::run(const CodeRows<std::uint16_t>&, const Region&, float*, std::int64_t) {}
void EntropyCuda::run_on_device(const std::uint8_t*, std::int64_t, const Region&, float*,
                                std::int64_t, void*) {}
void EntropyCuda::run_on_device(const std::uint16_t*, std::int64_t, const Region&, float*,
                                std::int64_t, void*) {}
int EntropyCuda::device() const { return 0; }
const char* EntropyCuda::kernel() const { return ""; }
std::string EntropyCuda::explain() const { return ""; }

int num_cuda_devices() { return 0; }
CudaCosts measure_cuda_costs(int) { absent(); }
bool pin_host_memory(void*, std::size_t) { return false; }
void unpin_host_memory(void*) {}

}  // namespace tilewave::field
