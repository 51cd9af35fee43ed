// Entropy on one CUDA device: the bands of a host image go through three slots, each with a stream
// and buffers of its own, so that the copy in, the kernel and the copy out of neighbouring bands
// overlap (from pinned host memory).
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/field/cuda/device_buffer.cuh"
#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/cuda/entropy_packed.cuh"
#include "tilewave/field/cuda/entropy_rolling.cuh"
#include "tilewave/field/cuda/entropy_sliding.cuh"
#include "tilewave/runtime/cuda/driver.h"

namespace tilewave::field {
namespace {

constexpr int kSlots = 3;
constexpr std::int64_t kBandBytes = std::int64_t{24} << 20;  // of output; found on an H200
constexpr std::int64_t kLeastBandBytes = std::int64_t{2} << 20;
constexpr int kSlidingSegment = 256;

}  // namespace

// Rows a block takes, where `across` blocks stand side by side, `resident` run at once and a block
// pays `start` rows before its first: the number of rounds that is done soonest. A block too many
// for the last round costs a round; blocks at the edges take up to twice as long, so one more is
// counted.
std::int64_t choose_rows(std::int64_t rows, std::int64_t across, std::int64_t resident,
                         std::int64_t start) {
  std::int64_t best = rows, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t rounds = 1; rounds <= 8; ++rounds) {
    const std::int64_t down = std::clamp<std::int64_t>(rounds * resident / across, 1, rows);
    const std::int64_t tall = (rows + down - 1) / down;
    const std::int64_t needed = (across * ((rows + tall - 1) / tall) + resident - 1) / resident;
    if ((needed + 1) * (tall + start) < least) {
      least = (needed + 1) * (tall + start);
      best = tall;
    }
  }
  return std::max(best, (rows + 65534) / 65535);
}

enum class Kernel : std::uint8_t { kPacked, kRolling, kSliding };

struct EntropyCuda::State {
  EntropyPlan plan;
  int device;
  Kernel kernel = Kernel::kRolling;
  int threads = 128;  // a block of the rolling or the sliding kernel
  int num_steps = 0;  // differences of the table in shared memory
  bool byte_counts = false;
  std::size_t shared_bytes = 0;
  std::int64_t resident = 1;  // blocks the device runs at once
  device::Tables tables{};
  device::Shape shape{};
  DeviceBuffer sums, steps, long_sums, long_steps, log_n, inverse, log_n_wide, inverse_wide, cells,
      spans;
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
    // The sliding kernel lets cells in before it lets others out, the rolling one reads an entry
    // too far: what they read behind the table cancels.
    const std::size_t more = plan.window().spans().size() + 1;
    const auto padded = [more](auto values) {
      if (!values.empty()) values.resize(values.size() + more);
      return values;
    };
    tables = {sums.upload(padded(t.sums)),
              steps.upload(padded(t.steps)),
              long_sums.upload(padded(t.long_sums)),
              long_steps.upload(padded(t.long_steps)),
              log_n.upload(t.log_n),
              inverse.upload(t.inverse),
              log_n_wide.upload(t.log_n_wide),
              inverse_wide.upload(t.inverse_wide),
              t.max_count,
              t.narrow};
    const Footprint& window = plan.window();
    if (kernel == Kernel::kRolling) upload_columns();
    if (kernel != Kernel::kSliding) return;
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

  // The shape by columns, each cut into runs of consecutive cells.
  void upload_columns() {
    const Footprint& w = plan.window();
    std::vector<std::vector<bool>> in(w.width(), std::vector<bool>(w.height() + 1, false));
    for (const Footprint::Span& s : w.spans()) {
      for (int dx = s.dx_begin; dx < s.dx_end; ++dx) in[dx + w.left()][s.dy + w.top()] = true;
    }
    std::vector<device::ColumnSpan> list;
    for (int x = 0; x < w.width(); ++x) {
      int begin = -1;
      for (int y = 0; y <= w.height(); ++y) {
        if (in[x][y] && begin < 0) begin = y;
        if (in[x][y] || begin < 0) continue;
        list.push_back({static_cast<std::int16_t>(x - w.left()),
                        static_cast<std::int16_t>(begin - w.top()),
                        static_cast<std::int16_t>(y - w.top())});
        begin = -1;
      }
    }
    shape = {spans.upload(list), static_cast<int>(list.size()),
             w.is_rectangle(),   w.left(),
             w.right(),          w.top(),
             w.bottom()};
  }

  // Threads and shared memory of the rolling kernel; false where the histograms do not fit.
  bool fit_rolling(std::size_t most) {
    const Footprint& w = plan.window();
    const auto cells_of_window = static_cast<std::size_t>(w.num_cells());
    if (cells_of_window > 65535) return false;
    byte_counts = cells_of_window <= 255;
    const std::size_t in_word = byte_counts ? 4 : 2;
    const std::size_t histogram =
        4 * ((static_cast<std::size_t>(plan.options().levels) + 1 + in_word - 1) / in_word);
    num_steps = cells_of_window <= 4096 ? static_cast<int>(cells_of_window) + 1 : 0;
    const std::size_t table =
        (plan.tables().is_long ? sizeof(std::int64_t) : sizeof(std::int32_t)) *
        static_cast<std::size_t>(num_steps);
    for (threads = 128; threads >= 32; threads /= 2) {
      shared_bytes = table + static_cast<std::size_t>(threads) * histogram;
      if (shared_bytes <= most / 2 || (threads == 32 && shared_bytes <= most)) return true;
    }
    return false;
  }

  // Calls use(kernel) with the form of the rolling kernel that serves this plan.
  template <class Code, class Use>
  void with_rolling(Use&& use) const {
    if constexpr (sizeof(Code) == 2) {  // long sums: more than 256 classes and cells
      if (plan.tables().is_long) {
        if (num_steps > 0) {
          use(device::entropy_rolling_kernel<Code, 16, true, std::int64_t>);
        } else {
          use(device::entropy_rolling_kernel<Code, 16, false, std::int64_t>);
        }
        return;
      }
    }
    TW_CHECK(!plan.tables().is_long, "long sums come with 16-bit codes");
    if (byte_counts) {
      use(device::entropy_rolling_kernel<Code, 8, true, std::int32_t>);
    } else if (num_steps > 0) {
      use(device::entropy_rolling_kernel<Code, 16, true, std::int32_t>);
    } else {
      use(device::entropy_rolling_kernel<Code, 16, false, std::int32_t>);
    }
  }

  // The same for the sliding kernel.
  template <class Code, class Use>
  void with_sliding(Use&& use) const {
    if constexpr (sizeof(Code) == 2) {
      if (plan.tables().is_long) return use(device::entropy_sliding_kernel<Code, std::int64_t>);
    }
    TW_CHECK(!plan.tables().is_long, "long sums come with 16-bit codes");
    use(device::entropy_sliding_kernel<Code, std::int32_t>);
  }

  template <class Function>
  void count_resident(Function* function) {
    int blocks = 0, processors = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes),
          "ask the device");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "ask the device");
    resident = std::max(1, blocks * processors);
  }

  void choose_kernel() {
    const Footprint& w = plan.window();
    const int levels = plan.options().levels;
    if (packed_kernel_serves(plan)) {
      kernel = Kernel::kPacked;
      threads = 32 * device::kPackedWarps;
      count_resident(w.width() == 5 ? device::entropy_packed_kernel<5, 5, true>
                                    : device::entropy_packed_kernel<3, 3, true>);
      return;
    }
    const std::size_t most = runtime::cuda::properties_of(device).sharedMemPerBlockOptin;
    if (fit_rolling(most)) {
      kernel = Kernel::kRolling;
      const auto allow = [&](auto* function) {
        runtime::cuda::allow_shared(device, reinterpret_cast<const void*>(function), shared_bytes);
        check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, 100),
              "ask for shared memory");
      };
      with_rolling<std::uint16_t>(allow);
      const auto count = [this](auto* function) { count_resident(function); };
      if (plan.tables().is_long) {
        with_rolling<std::uint16_t>(count);
      } else {
        with_rolling<std::uint8_t>(allow);
        with_rolling<std::uint8_t>(count);
      }
      return;
    }
    kernel = Kernel::kSliding;
    const std::size_t histogram = sizeof(std::int32_t) * (static_cast<std::size_t>(levels) + 1);
    int warps = 4;
    while (warps > 1 && warps * histogram > 48 * 1024) --warps;
    threads = 32 * warps;
    shared_bytes = warps * histogram;
    if (shared_bytes > most) {
      throw Error(ExitCode::kResources, std::to_string(levels) + " levels need " +
                                            std::to_string(histogram) +
                                            " bytes of shared memory, the device has " +
                                            std::to_string(most) + ": use --device cpu");
    }
    const auto allow = [&](auto* function) {
      runtime::cuda::allow_shared(device, reinterpret_cast<const void*>(function), shared_bytes);
    };
    with_sliding<std::uint16_t>(allow);
    if (!plan.tables().is_long) with_sliding<std::uint8_t>(allow);
  }

  device::Geometry geometry(const Region& held, std::int64_t pitch, const Region& region,
                            std::int64_t out_stride) const {
    const EntropyOptions& o = plan.options();
    return {plan.width(),
            plan.height(),
            held.y_begin,
            held.y_end,
            held.x_begin,
            held.x_end,
            pitch,
            region.y_begin,
            region.y_end,
            region.x_begin,
            region.x_end,
            out_stride,
            static_cast<int>(o.border),
            o.constant_code,
            o.levels};
  }

  template <int W>
  void launch_packed(const std::uint8_t* in, float* out, const device::Geometry& g,
                     cudaStream_t stream) const {
    const bool aligned = g.pitch % 4 == 0 && g.out_stride % 4 == 0 && g.x_begin % 4 == 0 &&
                         reinterpret_cast<std::uintptr_t>(in) % 4 == 0 &&
                         reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
    const std::int64_t strips =
        (g.x_end - g.x_begin + device::kPackedPixels - 1) / device::kPackedPixels;
    const std::int64_t rows = g.y_end - g.y_begin;
    const std::int64_t tall = choose_rows(rows, strips, resident * device::kPackedWarps, W + 2);
    const std::int64_t pieces = strips * ((rows + tall - 1) / tall);
    const auto grid =
        static_cast<unsigned>((pieces + device::kPackedWarps - 1) / device::kPackedWarps);
    const auto kernel_of = aligned ? device::entropy_packed_kernel<W, W, true>
                                   : device::entropy_packed_kernel<W, W, false>;
    kernel_of<<<grid, 32 * device::kPackedWarps, 0, stream>>>(
        in, out, g, tables, static_cast<int>(strips), static_cast<int>(tall));
  }

  template <class Code>
  void launch_rolling(const Code* in, float* out, const device::Geometry& g,
                      cudaStream_t stream) const {
    const std::int64_t rows = g.y_end - g.y_begin, columns = g.x_end - g.x_begin;
    const std::int64_t across = (columns + threads - 1) / threads;
    const std::int64_t tall = choose_rows(rows, across, resident, plan.window().height() / 2 + 1);
    const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>((rows + tall - 1) / tall));
    with_rolling<Code>([&](auto* function) {
      function<<<grid, threads, shared_bytes, stream>>>(in, out, g, tables, shape, num_steps,
                                                        static_cast<int>(tall));
    });
  }

  // `in`: where pixel (0, held row 0) would be; `out`: where the result of (0, y_begin) would be.
  template <class Code>
  void launch(const Code* in, float* out, const device::Geometry& g, cudaStream_t stream) const {
    if (g.x_begin == g.x_end || g.y_begin == g.y_end) return;
    if constexpr (sizeof(Code) == 1) {
      if (kernel == Kernel::kPacked) {
        plan.window().width() == 5 ? launch_packed<5>(in, out, g, stream)
                                   : launch_packed<3>(in, out, g, stream);
        check(cudaGetLastError(), "start the packed kernel");
        return;
      }
    }
    TW_CHECK(kernel != Kernel::kPacked, "16 classes and fewer come as 8-bit codes");
    if (kernel == Kernel::kRolling) {
      launch_rolling(in, out, g, stream);
      check(cudaGetLastError(), "start the rolling kernel");
      return;
    }
    const Footprint& w = plan.window();
    const std::int64_t segments = (g.x_end - g.x_begin + kSlidingSegment - 1) / kSlidingSegment;
    const int warps = threads / 32;
    const std::int64_t blocks = (segments * (g.y_end - g.y_begin) + warps - 1) / warps;
    with_sliding<Code>([&](auto* function) {
      function<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(
          in, out, g, tables, cell_list, num_cells, num_changes,
          make_int4(w.left(), w.right(), w.top(), w.bottom()), kSlidingSegment);
    });
    check(cudaGetLastError(), "start the sliding kernel");
  }

  // Few classes in 16-bit codes: the packed kernel takes bytes.
  void run_as_bytes(const CodeRows<std::uint16_t>& codes, const Region& region, float* out,
                    std::int64_t out_stride) {
    const Region held = plan.needed(region);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(codes.width * held.height()));
    for (std::int64_t y = held.y_begin; y < held.y_end; ++y) {
      const std::uint16_t* from = codes.data + (y - codes.row_begin) * codes.stride;
      std::uint8_t* to = bytes.data() + (y - held.y_begin) * codes.width;
      for (std::int64_t x = held.x_begin; x < held.x_end; ++x)
        to[x] = static_cast<std::uint8_t>(std::min<unsigned>(from[x], 255));
    }
    run(CodeRows<std::uint8_t>{bytes.data(), codes.width, codes.width, codes.height, held.y_begin,
                               held.y_end},
        region, out, out_stride);
  }

  template <class Code>
  void run(const CodeRows<Code>& codes, const Region& region, float* out, std::int64_t out_stride) {
    if constexpr (sizeof(Code) == 2) {
      if (kernel == Kernel::kPacked) return run_as_bytes(codes, region, out, out_stride);
    }
    if (region.width() == 0 || region.height() == 0) return;
    const Region whole = plan.needed(region);
    TW_CHECK(codes.row_begin <= whole.y_begin && codes.row_end >= whole.y_end,
             "rows of the halo are missing");
    TW_CHECK(region.x_begin >= 0 && region.x_begin <= region.x_end && region.x_end <= codes.width,
             "columns outside the image");
    check(cudaSetDevice(device), "choose the device");
    // Columns held start on an even word, so that the packed kernel reads words.
    const std::int64_t first = whole.x_begin / 4 * 4, columns = whole.x_end - first;
    const std::int64_t pitch = (columns + 127) / 128 * 128;
    const std::int64_t out_pitch = (region.width() + 3) / 4 * 4;
    // At least a few bands, so that copies and kernels overlap; none so thin that the halo costs.
    const std::int64_t most = kBandBytes / (4 * out_pitch),
                       least = kLeastBandBytes / (4 * out_pitch);
    const std::int64_t tall = std::max<std::int64_t>(
        std::min(most, std::max(least, (region.height() + kSlots) / (kSlots + 1))),
        2 * plan.window().height());
    int k = 0;
    for (std::int64_t y = region.y_begin; y < region.y_end; y += tall, k = (k + 1) % kSlots) {
      const Region band{region.x_begin, region.x_end, y, std::min(y + tall, region.y_end)};
      Region held = plan.needed(band);
      held.x_begin = first;
      Slot& slot = slots[k];
      auto* in = slot.in.reserve<Code>(static_cast<std::size_t>(pitch * held.height()));
      auto* result = slot.out.reserve<float>(static_cast<std::size_t>(out_pitch * band.height()));
      check(cudaMemcpy2DAsync(in, pitch * sizeof(Code),
                              codes.data + (held.y_begin - codes.row_begin) * codes.stride + first,
                              codes.stride * sizeof(Code), columns * sizeof(Code), held.height(),
                              cudaMemcpyHostToDevice, slot.stream),
            "copy the image to the device");
      launch(in - first, result - region.x_begin, geometry(held, pitch, band, out_pitch),
             slot.stream);
      check(cudaMemcpy2DAsync(out + (y - region.y_begin) * out_stride, out_stride * sizeof(float),
                              result, out_pitch * sizeof(float), region.width() * sizeof(float),
                              band.height(), cudaMemcpyDeviceToHost, slot.stream),
            "copy the result from the device");
    }
    for (Slot& slot : slots)
      check(cudaStreamSynchronize(slot.stream), "finish the entropy on the device");
  }

  template <class Code>
  void run_on_device(const Code* codes, std::int64_t pitch, const Region& region, float* out,
                     std::int64_t out_stride, void* stream) const {
    check(cudaSetDevice(device), "choose the device");
    const Region held = plan.needed(region);
    launch(codes - held.x_begin, out - region.x_begin, geometry(held, pitch, region, out_stride),
           static_cast<cudaStream_t>(stream));
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
  runtime::cuda::use_device(device);
  for (State::Slot& slot : s.slots)
    check(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking), "make a stream");
  s.choose_kernel();
  s.upload();
}

EntropyCuda::~EntropyCuda() = default;

void EntropyCuda::run(const CodeRows<std::uint8_t>& codes, const Region& region, float* out,
                      std::int64_t out_stride) {
  state_->run(codes, region, out, out_stride);
}
void EntropyCuda::run(const CodeRows<std::uint16_t>& codes, const Region& region, float* out,
                      std::int64_t out_stride) {
  state_->run(codes, region, out, out_stride);
}

void EntropyCuda::run_on_device(const std::uint8_t* codes, std::int64_t pitch, const Region& region,
                                float* out, std::int64_t out_stride, void* stream) {
  state_->run_on_device(codes, pitch, region, out, out_stride, stream);
}
void EntropyCuda::run_on_device(const std::uint16_t* codes, std::int64_t pitch,
                                const Region& region, float* out, std::int64_t out_stride,
                                void* stream) {
  state_->run_on_device(codes, pitch, region, out, out_stride, stream);
}

int EntropyCuda::device() const { return state_->device; }

const char* EntropyCuda::kernel() const {
  switch (state_->kernel) {
    case Kernel::kPacked:
      return "packed";
    case Kernel::kRolling:
      return "rolling";
    default:
      return "sliding";
  }
}

std::string EntropyCuda::explain() const {
  return state_->plan.explain() + "; cuda:" + std::to_string(state_->device) + ", " + kernel() +
         " kernel";
}

int num_cuda_devices() { return static_cast<int>(runtime::cuda_devices().size()); }

bool pin_host_memory(void* data, std::size_t num_bytes) {
  const bool pinned = cudaHostRegister(data, num_bytes, cudaHostRegisterPortable) == cudaSuccess;
  if (!pinned) cudaGetLastError();  // nothing is wrong: copies are slower
  return pinned;
}

void unpin_host_memory(void* data) { cudaHostUnregister(data); }

}  // namespace tilewave::field
