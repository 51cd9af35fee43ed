// The CUDA back end of a build without CUDA: it says so.
#include "tilewave/base/error.h"
#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {

struct EntropyCuda::State {};

EntropyCuda::EntropyCuda(const EntropyPlan&, int) {
  throw Error(ExitCode::kResources,
              "no CUDA device can be used: this build has no CUDA back end: use --device cpu, or "
              "build the cuda preset");
}
EntropyCuda::~EntropyCuda() = default;
void EntropyCuda::run(const CodeRows<std::uint8_t>&, std::int64_t, std::int64_t, float*,
                      std::int64_t) {}
void EntropyCuda::run(const CodeRows<std::uint16_t>&, std::int64_t, std::int64_t, float*,
                      std::int64_t) {}
void EntropyCuda::run_on_device(const std::uint8_t*, float*, void*) {}
std::string EntropyCuda::explain() const { return ""; }

}  // namespace tilewave::field
