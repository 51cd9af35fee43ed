// Builds without CUDA: asking for the GPU is an error that says so.
#include "tilewave/base/error.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"

namespace tilewave::stabilizer {
namespace {
[[noreturn]] void refuse() { throw NoCudaError(); }
}  // namespace

std::unique_ptr<GpuRun> make_gpu_run(const FrameProgram&, const std::vector<std::uint64_t>&, int) {
  refuse();
}
std::unique_ptr<GpuRun> make_gpu_run(const SparseProgram&, int) { refuse(); }
std::unique_ptr<GpuRun> make_gpu_run(std::shared_ptr<const NearCliffordTables>, int) { refuse(); }
PinnedBuffer::PinnedBuffer(int, std::size_t num_bytes) : num_bytes_(num_bytes) { refuse(); }
PinnedBuffer::~PinnedBuffer() = default;

}  // namespace tilewave::stabilizer
