// Entropy on one CUDA device: the bands of a host image go through three slots, each with a stream
// and buffers of its own, so that the copy in, the kernel and the copy out of neighbouring bands
// overlap (from pinned host memory).
#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/cuda/entropy_kernels.cuh"

namespace tilewave::field {
namespace {

constexpr int kSlots = 3;
constexpr std::int64_t kBandBytes = std::int64_t{24} << 20;  // of output; found on an H200
constexpr int kSlidingSegment = 256;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const ExitCode code =
      status == cudaErrorMemoryAllocation ? ExitCode::kResources : ExitCode::kInternal;
  throw Error(code, std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

// Device memory that grows on demand.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  template <class T>
  T* reserve(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > bytes_) {
      cudaFree(data_);
      data_ = nullptr;
      bytes_ = 0;
      check(cudaMalloc(&data_, bytes), "no memory for the image: use --device cpu");
      bytes_ = bytes;
    }
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* upload(const std::vector<T>& values) {
    T* to = reserve<T>(std::max<std::size_t>(values.size(), 1));
    check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "copying tables");
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace

struct EntropyCuda::State {
  EntropyPlan plan;
  int device;
  bool packed = false;
  int warps = 4;  // a block of the sliding kernel
  std::size_t shared_bytes = 0;
  device::Tables tables{};
  DeviceBuffer sums, log_n, inverse, log_n_wide, inverse_wide, cells;
  const device::Cell* cell_list = nullptr;
  int num_cells = 0, num_changes = 0;
  struct Slot {
    cudaStream_t stream = nullptr;
    DeviceBuffer in, out;
  } slots[kSlots];

  State(const EntropyPlan& p, int index) : plan(p), device(index) {}
  ~State() {
    cudaSetDevice(device);
    for (Slot& slot : slots) {
      if (slot.stream != nullptr) cudaStreamDestroy(slot.stream);
    }
  }

  void upload() {
    const EntropyTables& t = plan.tables();
    tables = {sums.upload(t.sums),
              log_n.upload(t.log_n),
              inverse.upload(t.inverse),
              log_n_wide.upload(t.log_n_wide),
              inverse_wide.upload(t.inverse_wide),
              t.max_count,
              t.narrow};
    const Footprint& window = plan.window();
    std::vector<device::Cell> list;
    for (const Footprint::Span& s : window.spans()) {
      for (int dx = s.dx_begin; dx < s.dx_end; ++dx)
        list.push_back({static_cast<std::int16_t>(dx), static_cast<std::int16_t>(s.dy)});
    }
    num_cells = static_cast<int>(list.size());
    num_changes = static_cast<int>(window.spans().size());
    for (const Footprint::Span& s : window.spans())
      list.push_back({static_cast<std::int16_t>(s.dx_end - 1), static_cast<std::int16_t>(s.dy)});
    for (const Footprint::Span& s : window.spans())
      list.push_back({static_cast<std::int16_t>(s.dx_begin - 1), static_cast<std::int16_t>(s.dy)});
    cell_list = cells.upload(list);
  }

  device::Geometry geometry(std::int64_t row_begin, std::int64_t row_end, std::int64_t pitch,
                            std::int64_t y_begin, std::int64_t y_end,
                            std::int64_t out_stride) const {
    const EntropyOptions& o = plan.options();
    return {plan.width(),
            plan.height(),
            row_begin,
            row_end,
            pitch,
            y_begin,
            y_end,
            out_stride,
            static_cast<int>(o.border),
            o.constant_code < o.levels ? o.constant_code : o.levels,
            o.levels};
  }

  template <int W>
  void launch_packed(const std::uint8_t* in, float* out, const device::Geometry& g,
                     cudaStream_t stream) const {
    const bool aligned = g.pitch % 4 == 0 && g.out_stride % 4 == 0 &&
                         reinterpret_cast<std::uintptr_t>(in) % 4 == 0 &&
                         reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
    const std::int64_t strips = (g.width + device::kPackedPixels - 1) / device::kPackedPixels;
    const std::int64_t rows = g.y_end - g.y_begin;
    // Enough warps to fill the device several times, tall enough to pay for the first rows.
    const std::int64_t wanted = 132 * 64 * 3;
    const int tall = static_cast<int>(std::clamp<std::int64_t>(rows * strips / wanted, 16, 128));
    const dim3 grid(
        static_cast<unsigned>((strips + device::kPackedWarps - 1) / device::kPackedWarps),
        static_cast<unsigned>((rows + tall - 1) / tall));
    TW_CHECK(rows / tall < 65535, "too many rows in a band");
    if (aligned) {
      device::entropy_packed_kernel<W, W, true>
          <<<grid, 32 * device::kPackedWarps, 0, stream>>>(in, out, g, tables, tall);
    } else {
      device::entropy_packed_kernel<W, W, false>
          <<<grid, 32 * device::kPackedWarps, 0, stream>>>(in, out, g, tables, tall);
    }
  }

  template <class Code>
  void launch(const Code* in, float* out, const device::Geometry& g, cudaStream_t stream) const {
    if constexpr (sizeof(Code) == 1) {
      if (packed) {
        plan.window().width() == 5 ? launch_packed<5>(in, out, g, stream)
                                   : launch_packed<3>(in, out, g, stream);
        check(cudaGetLastError(), "starting the packed kernel");
        return;
      }
    }
    const Footprint& w = plan.window();
    const std::int64_t segments = (g.width + kSlidingSegment - 1) / kSlidingSegment;
    const std::int64_t blocks = (segments * (g.y_end - g.y_begin) + warps - 1) / warps;
    device::entropy_sliding_kernel<Code>
        <<<static_cast<unsigned>(blocks), 32 * warps, shared_bytes, stream>>>(
            in, out, g, tables, cell_list, num_cells, num_changes,
            make_int4(w.left(), w.right(), w.top(), w.bottom()), kSlidingSegment);
    check(cudaGetLastError(), "starting the sliding kernel");
  }

  template <class Code>
  void run(const CodeRows<Code>& codes, std::int64_t y_begin, std::int64_t y_end, float* out,
           std::int64_t out_stride) {
    TW_CHECK(
        codes.row_begin <= plan.needed_begin(y_begin) && codes.row_end >= plan.needed_end(y_end),
        "rows of the halo are missing");
    check(cudaSetDevice(device), "choosing the device");
    const std::int64_t width = plan.width();
    const std::int64_t pitch = (width + 127) / 128 * 128;
    const std::int64_t out_pitch = (width + 3) / 4 * 4;
    const std::int64_t tall =
        std::max<std::int64_t>(kBandBytes / (4 * out_pitch), 2 * plan.window().height());
    int k = 0;
    for (std::int64_t y = y_begin; y < y_end; y += tall, k = (k + 1) % kSlots) {
      const std::int64_t end = std::min(y + tall, y_end);
      const std::int64_t from = plan.needed_begin(y), to = plan.needed_end(end);
      Slot& slot = slots[k];
      auto* in = slot.in.reserve<Code>(static_cast<std::size_t>(pitch * (to - from)));
      auto* result = slot.out.reserve<float>(static_cast<std::size_t>(out_pitch * (end - y)));
      check(cudaMemcpy2DAsync(in, pitch * sizeof(Code),
                              codes.data + (from - codes.row_begin) * codes.stride,
                              codes.stride * sizeof(Code), width * sizeof(Code), to - from,
                              cudaMemcpyHostToDevice, slot.stream),
            "copying the image in");
      launch(in, result, geometry(from, to, pitch, y, end, out_pitch), slot.stream);
      check(cudaMemcpy2DAsync(out + (y - y_begin) * out_stride, out_stride * sizeof(float), result,
                              out_pitch * sizeof(float), width * sizeof(float), end - y,
                              cudaMemcpyDeviceToHost, slot.stream),
            "copying the result out");
    }
    for (Slot& slot : slots) check(cudaStreamSynchronize(slot.stream), "computing entropy");
  }
};

EntropyCuda::EntropyCuda(const EntropyPlan& plan, int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw Error(ExitCode::kResources,
                std::string("no CUDA device can be used: ") +
                    (status == cudaSuccess ? "none found" : cudaGetErrorString(status)) +
                    ": use --device cpu");
  }
  if (device < 0 || device >= count) {
    throw Error(ExitCode::kResources, "CUDA device " + std::to_string(device) +
                                          " does not exist (there are " + std::to_string(count) +
                                          "): use cuda:0.." + std::to_string(count - 1));
  }
  state_ = std::make_unique<State>(plan, device);
  State& s = *state_;
  check(cudaSetDevice(device), "choosing the device");
  for (State::Slot& slot : s.slots)
    check(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking), "making a stream");
  s.upload();
  const Footprint& w = plan.window();
  s.packed = w.is_rectangle() && w.width() == w.height() && (w.width() == 3 || w.width() == 5) &&
             plan.options().levels <= 16;
  if (s.packed) return;
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking the device");
  const std::size_t histogram =
      sizeof(std::int32_t) * (static_cast<std::size_t>(plan.options().levels) + 1);
  while (s.warps > 1 && s.warps * histogram > 48 * 1024) --s.warps;
  s.shared_bytes = s.warps * histogram;
  if (s.shared_bytes > static_cast<std::size_t>(most)) {
    throw Error(ExitCode::kResources, std::to_string(plan.options().levels) + " levels need " +
                                          std::to_string(histogram) +
                                          " bytes of shared memory, the device has " +
                                          std::to_string(most) + ": use --device cpu");
  }
  const auto bytes = static_cast<int>(s.shared_bytes);
  check(cudaFuncSetAttribute(device::entropy_sliding_kernel<std::uint8_t>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory");
  check(cudaFuncSetAttribute(device::entropy_sliding_kernel<std::uint16_t>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory");
}

EntropyCuda::~EntropyCuda() = default;

void EntropyCuda::run(const CodeRows<std::uint8_t>& codes, std::int64_t y_begin, std::int64_t y_end,
                      float* out, std::int64_t out_stride) {
  state_->run(codes, y_begin, y_end, out, out_stride);
}
void EntropyCuda::run(const CodeRows<std::uint16_t>& codes, std::int64_t y_begin,
                      std::int64_t y_end, float* out, std::int64_t out_stride) {
  state_->run(codes, y_begin, y_end, out, out_stride);
}

void EntropyCuda::run_on_device(const std::uint8_t* codes, float* out, void* stream) {
  const EntropyPlan& plan = state_->plan;
  check(cudaSetDevice(state_->device), "choosing the device");
  state_->launch(codes, out,
                 state_->geometry(0, plan.height(), plan.width(), 0, plan.height(), plan.width()),
                 static_cast<cudaStream_t>(stream));
}

std::string EntropyCuda::explain() const {
  return state_->plan.explain() + "; cuda:" + std::to_string(state_->device) + ", " +
         (state_->packed ? "packed" : "sliding") + " kernel";
}

}  // namespace tilewave::field
