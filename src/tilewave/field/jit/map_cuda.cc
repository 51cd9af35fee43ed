// The driver through dlopen: only the calls needed, with the signatures of their public interfaces. Machine code is kept by its source, loaded kernels by source and device, so that a
// call with an expression of before compiles nothing.
#include "tilewave/field/jit/map_cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/field/jit/recent.h"
#include "tilewave/runtime/library_places.h"
#include "tilewave/runtime/nvrtc.h"

namespace tilewave::field {
namespace {

using Address = unsigned long long;  // CUdeviceptr

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int value;
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned num_attributes;
};
constexpr int kStreamSerialization = 6;  // programmatic: CU_LAUNCH_ATTRIBUTE_...

// A function of the driver, of the type that it is stored as.
struct Symbol {
  void* at;
  template <class F>
  operator F*() const {
    return reinterpret_cast<F*>(at);
  }
};

struct Driver {
  void* const library = open();  // kept: contexts may outlive us
  int (*init)(unsigned) = need("cuInit");
  int (*device_get)(int*, int) = need("cuDeviceGet");
  int (*attribute)(int*, int, int) = need("cuDeviceGetAttribute");
  int (*retain)(void**, int) = need("cuDevicePrimaryCtxRetain");
  int (*release)(int) = need("cuDevicePrimaryCtxRelease_v2");
  int (*set_current)(void*) = need("cuCtxSetCurrent");
  int (*load)(void**, const void*) = need("cuModuleLoadData");
  int (*unload)(void*) = need("cuModuleUnload");
  int (*function)(void**, void*, const char*) = need("cuModuleGetFunction");
  int (*alloc)(Address*, std::size_t) = need("cuMemAlloc_v2");
  int (*free_memory)(Address) = need("cuMemFree_v2");
  int (*to_device)(Address, const void*, std::size_t) = need("cuMemcpyHtoD_v2");
  int (*to_host)(void*, Address, std::size_t) = need("cuMemcpyDtoH_v2");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = need("cuLaunchKernel");
  int (*error_string)(int, const char**) = need("cuGetErrorString");
  int (*launch_extended)(const LaunchConfig*, void*, void**,
                         void**) = Symbol{dlsym(library, "cuLaunchKernelEx")};  // may be missing

  static void* open() {
    std::string why;
    void* const library = runtime::open_first({"libcuda.so.1", "libcuda.so"}, &why);
    if (library != nullptr) return library;
    fail(ExitCode::kResources, "the CUDA driver cannot be loaded (", why,
         "): use --device cpu, or install the driver");
  }
  Symbol need(const char* name) const {
    if (void* const at = dlsym(library, name)) return {at};
    fail(ExitCode::kResources, "the CUDA driver lacks ", name, ": update it");
  }

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

  void check(int status, const char* what) const {
    if (status == 0) return;
    const char* text = nullptr;
    error_string(status, &text);
    fail(ExitCode::kResources, "CUDA: ", what, ": ", text != nullptr ? text : "unknown error");
  }
};

// Source to machine code.
std::string compile(const std::string& source, int major, int minor) {
  std::string why;
  const auto* const nvrtc = runtime::cuda::Nvrtc::load({13, 12}, &why);
  if (nvrtc == nullptr) {
    fail(ExitCode::kResources, "the CUDA run-time compiler NVRTC cannot be loaded (", why,
         "): maps on a device need it: use --device cpu, or install it "
         "(pip install nvidia-cuda-nvrtc, or the CUDA toolkit)");
  }
  const std::string architecture = "sm_" + std::to_string(10 * major + minor);
  const std::string options[] = {"-arch=" + architecture, "-fmad=false", "-std=c++17"};
  runtime::cuda::Nvrtc::Program program = nvrtc->compile(source, {}, options);
  if (!program.binary.empty()) return std::move(program.binary);
  if (program.log.find("gpu-architecture") != std::string::npos) {  // a newer device than it knows
    fail(ExitCode::kResources, "the CUDA run-time compiler NVRTC found here does not know ",
         architecture,
         ", which maps on this device need: install a newer one (pip "
         "install -U nvidia-cuda-nvrtc), or use --device cpu");
  }
  fail(ExitCode::kInternal, "NVRTC cannot compile the map's kernel: ", program.log);
}

// A kernel on a device, whose context it holds.
struct Kernel {
  const Driver& cuda = Driver::get();
  int device = 0;
  unsigned threads = 0, values = 0;  // of map: a block's threads, a thread's values
  bool overlaps = false;             // launches may start before the one ahead has ended
  void *context = nullptr, *module = nullptr, *map = nullptr, *look_up = nullptr;

  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() {
    if (context == nullptr) return;
    cuda.set_current(context);
    if (module != nullptr) cuda.unload(module);
    cuda.release(device);
  }
};

constexpr std::size_t kMostKept = 64;

// Kept to the end of the process, when the driver may be gone before us.
template <class T>
Recent<T>& kept() {
  static auto* const all = new Recent<T>(kMostKept);
  return *all;
}

std::shared_ptr<Kernel> load_kernel(const MapExpression& expression, const MapOptions& options,
                                    std::int64_t width, int index) {
  const Driver& cuda = Driver::get();
  cuda.check(cuda.init(0), "no device can be used (try --device cpu)");
  int device = 0, major = 0, minor = 0;
  cuda.check(cuda.device_get(&device, index), "choosing the device");
  cuda.check(cuda.attribute(&major, 75, device), "asking the device");
  cuda.check(cuda.attribute(&minor, 76, device), "asking the device");
  const bool overlaps = major >= 9 && cuda.launch_extended != nullptr;
  const MapKernel made =
      make_map_kernel(expression, options.precision, width, options.repeat == 1, overlaps);
  const std::string& source = made.source;
  const std::string key = std::to_string(device) + ' ' + source;
  return kept<Kernel>().find(key, [&] {
    const std::string chip = std::to_string(10 * major + minor) + ' ';
    const auto code = kept<std::string>().find(chip + source, [&] {
      return std::make_shared<std::string>(compile(source, major, minor));
    });
    auto kernel = std::make_shared<Kernel>();
    kernel->device = device;
    kernel->threads = made.threads;
    kernel->values = made.values;
    kernel->overlaps = overlaps;
    void* context = nullptr;
    cuda.check(cuda.retain(&context, device), "opening the device");
    kernel->context = context;
    cuda.check(cuda.set_current(context), "opening the device");
    cuda.check(cuda.load(&kernel->module, code->data()), "loading the kernel");
    cuda.check(cuda.function(&kernel->map, kernel->module, "map_kernel"), "loading the kernel");
    cuda.check(cuda.function(&kernel->look_up, kernel->module, "look_up_kernel"),
               "loading the kernel");
    return kernel;
  });
}

}  // namespace

struct MapCuda::State {
  const Driver& cuda = Driver::get();
  std::shared_ptr<Kernel> kernel;
  MapExpression expression;
  MapOptions options;
  std::int64_t width;
  Address buffer = 0, table = 0;
  std::size_t buffer_bytes = 0, table_bytes = 0;
  std::vector<float> table_entries;  // what the table on the device holds
  int table_rows = 1;

  State(const MapExpression& e, const MapOptions& o, std::int64_t w)
      : expression(e), options(o), width(w) {}
  ~State() {
    if (kernel == nullptr) return;
    cuda.set_current(kernel->context);
    if (buffer != 0) cuda.free_memory(buffer);
    if (table != 0) cuda.free_memory(table);
  }

  void reserve(Address& memory, std::size_t& have, std::size_t bytes) {
    if (bytes <= have) return;
    if (memory != 0) cuda.free_memory(memory);
    memory = 0;
    have = 0;
    cuda.check(cuda.alloc(&memory, bytes), "no memory for the array: use --device cpu");
    have = bytes;
  }

  void start(void* function, unsigned threads, unsigned values, std::int64_t n, void** arguments,
             void* stream) const {
    const std::int64_t each = std::int64_t{threads} * values;
    const auto blocks = static_cast<unsigned>((n + each - 1) / each);
    if (kernel->overlaps) {
      LaunchAttribute attribute{};
      attribute.id = kStreamSerialization;
      attribute.value = 1;
      const LaunchConfig config{{blocks, 1, 1}, {threads, 1, 1}, 0, stream, &attribute, 1};
      cuda.check(cuda.launch_extended(&config, function, arguments, nullptr), "starting the map");
      return;
    }
    cuda.check(cuda.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
               "starting the map");
  }

  // Host values through the buffer on the device.
  template <class Launch>
  void through_device(std::int64_t count, float* values, Launch&& launch) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    if (bytes == 0 || options.repeat == 0) return;
    cuda.check(cuda.set_current(kernel->context), "choosing the device");
    reserve(buffer, buffer_bytes, bytes);
    cuda.check(cuda.to_device(buffer, values, bytes), "copying the array in");
    launch(reinterpret_cast<float*>(buffer));
    cuda.check(cuda.to_host(values, buffer, bytes), "copying the result out");
  }
};

MapCuda::MapCuda(const MapExpression& expression, const MapOptions& options, std::int64_t width,
                 int device)
    : state_(std::make_unique<State>(expression, options, width)) {
  State& s = *state_;
  s.kernel = load_kernel(expression, options, width, device);
  s.cuda.check(s.cuda.set_current(s.kernel->context), "opening the device");
}

MapCuda::~MapCuda() = default;

void MapCuda::run_on_device(std::int64_t first, std::int64_t count, float* values, void* stream) {
  TW_CHECK(state_->options.precision != MapPrecision::kLut, "a lookup needs a table");
  TW_CHECK(first + count <= kMostMapPixels, "a map takes arrays of at most 2^48 pixels");
  TW_CHECK(first % 16 == 0, "a piece of an array starts at a multiple of 16");
  long long n = count, width = state_->width, from = first;
  int repeat = state_->options.repeat;
  void* arguments[] = {&values, &n, &width, &from, &repeat};
  const Kernel& kernel = *state_->kernel;
  state_->start(kernel.map, kernel.threads, kernel.values, n, arguments, stream);
}

void MapCuda::look_up_on_device(const MapTable& table, std::int64_t first, std::int64_t count,
                                float* values, void* stream) {
  State& s = *state_;
  TW_CHECK(first % 16 == 0, "a piece of an array starts at a multiple of 16");
  if (s.table_entries != table.entries) {
    const std::size_t bytes = table.entries.size() * sizeof(float);
    s.reserve(s.table, s.table_bytes, bytes);
    s.cuda.check(s.cuda.to_device(s.table, table.entries.data(), bytes), "copying the table");
    s.table_entries = table.entries;
    const auto row = table.entries.size() / static_cast<std::size_t>(table.period);
    s.table_rows = 1;  // as many as differ: an expression without iy and idx needs no row
    for (std::size_t y = row; y < table.entries.size(); y += row) {
      if (std::memcmp(&table.entries[y], table.entries.data(), row * sizeof(float)) != 0)
        s.table_rows = table.period;
    }
  }
  long long n = count, width = s.width, from = first;
  int rows = s.table_rows, period = table.period;
  auto least = static_cast<int>(table.least), size = static_cast<int>(table.size);
  void* arguments[] = {&values, &n, &width, &from, &rows, &period, &least, &size, &s.table};
  s.start(s.kernel->look_up, 256, 4, n, arguments, stream);
}

void MapCuda::run_flat(std::int64_t first, std::int64_t count, float* values) {
  state_->through_device(
      count, values, [&](float* on_device) { run_on_device(first, count, on_device, nullptr); });
}

void MapCuda::look_up_flat(const MapTable& table, std::int64_t first, std::int64_t count,
                           float* values) {
  state_->through_device(count, values, [&](float* on_device) {
    look_up_on_device(table, first, count, on_device, nullptr);
  });
}

void MapCuda::run(std::int64_t y_begin, std::int64_t y_end, float* values) {
  State& s = *state_;
  const std::int64_t first = y_begin * s.width, count = (y_end - y_begin) * s.width;
  // a piece starts at a multiple of 16: pixels before it go along, and are not looked at
  const std::int64_t before = first % 16;
  if (s.options.precision == MapPrecision::kLut) {
    if (count == 0 || s.options.repeat == 0) return;
    const MapTable table = make_map_table(s.expression, s.options, s.width, y_begin, y_end, values);
    if (before == 0) return look_up_flat(table, first, count, values);
    std::vector<float> shifted(static_cast<std::size_t>(before + count),
                               static_cast<float>(table.least));
    std::copy_n(values, count, shifted.begin() + before);
    look_up_flat(table, first - before, before + count, shifted.data());
    std::copy_n(shifted.begin() + before, count, values);
    return;
  }
  if (before == 0) return run_flat(first, count, values);
  std::vector<float> shifted(static_cast<std::size_t>(before + count));
  std::copy_n(values, count, shifted.begin() + before);
  run_flat(first - before, before + count, shifted.data());
  std::copy_n(shifted.begin() + before, count, values);
}

}  // namespace tilewave::field
