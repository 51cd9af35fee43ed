// Times local entropy and fused maps on CUDA devices, one line a case.
//
//   bench_fields_gpu [--json FILE]
//
// Kernels alone, on data already there: medians of replays of a graph of ten launches divided by
// ten (15 replays for entropy, 51 for maps). End to end: from page-locked host memory and back,
// wall clock, medians of 7; on one device, on two where there are two, and shared with the CPU.
// Maps: v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1)) on 2048^2 values in place, beside
// cub::DeviceTransform with the same functions on four values at once, in graphs of the same form.
// Lookups are checked with the table of the expression, then timed with one of the same size that
// maps its domain to itself, so that a launch finds what the one before left; the scan that proves
// the domain is not in that time, and has a line of its own. Every entropy is compared with the
// CPU's bits first (on a part of the rows), every map with double precision.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <cub/device/device_transform.cuh>

#include "tilewave/base/error.h"
#include "tilewave/field/jit/map_cuda.h"
#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/runtime/cost_cache.h"

namespace {

using namespace tilewave;
using namespace tilewave::field;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ExitCode::kInternal, std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
struct OnDevice {
  T* data = nullptr;
  explicit OnDevice(std::size_t n) { check(cudaMalloc(&data, n * sizeof(T)), "memory"); }
  ~OnDevice() { cudaFree(data); }
};
template <class T>
struct Pinned {
  T* data = nullptr;
  explicit Pinned(std::size_t n) {
    check(cudaHostAlloc(&data, n * sizeof(T), cudaHostAllocPortable), "pinned memory");
  }
  ~Pinned() { cudaFreeHost(data); }
};

std::FILE* json = nullptr;
bool first_line = true;

void line(const std::string& what, const std::string& how, double ms) {
  std::printf("%-44s %-34s %10.4f ms\n", what.c_str(), how.c_str(), ms);
  std::fflush(stdout);
  if (json == nullptr) return;
  std::fprintf(json, "%s\n  {\"case\": \"%s\", \"how\": \"%s\", \"median_ms\": %.5g}",
               first_line ? "" : ",", what.c_str(), how.c_str(), ms);
  first_line = false;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Milliseconds of what `launch` puts on the stream.
double event_ms(int rounds, cudaStream_t stream, const std::function<void()>& launch) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> ms;
  for (int r = 0; r < rounds + 2; ++r) {
    check(cudaEventRecord(begin, stream), "event");
    launch();
    check(cudaEventRecord(end, stream), "event");
    check(cudaEventSynchronize(end), "run");
    float t = 0;
    check(cudaEventElapsedTime(&t, begin, end), "event");
    if (r >= 2) ms.push_back(static_cast<double>(t));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return median(ms);
}

// Milliseconds a launch, in a graph of ten.
double graph_ms(int rounds, const std::function<void(cudaStream_t)>& launch) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int k = 0; k < 10; ++k) launch(stream);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&ready, graph, 0), "graph");
  const double ms =
      event_ms(rounds, stream, [&] { check(cudaGraphLaunch(ready, stream), "graph"); });
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return ms / 10;
}

double wall_ms(int rounds, const std::function<void()>& run) {
  std::vector<double> ms;
  for (int r = 0; r < rounds + 2; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> t = std::chrono::steady_clock::now() - begin;
    if (r >= 2) ms.push_back(t.count());
  }
  return median(ms);
}

std::string name_of(std::int64_t side, const EntropyOptions& o) {
  return std::to_string(side) + "^2 " + std::to_string(o.window.width()) + "x" +
         std::to_string(o.window.height()) + (o.window.is_rectangle() ? "" : " disk") +
         " K=" + std::to_string(o.levels);
}

void fill(std::uint8_t* codes, std::size_t n, int levels) {
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    codes[i] = static_cast<std::uint8_t>((state >> 12) % static_cast<unsigned>(levels));
  }
}

// The first rows, against the CPU.
void compare(const EntropyPlan& plan, const CodeRows<std::uint8_t>& rows, const float* got,
             const std::string& what) {
  const std::int64_t h = std::min<std::int64_t>(rows.height, 40);
  std::vector<float> want(static_cast<std::size_t>(h * rows.width));
  entropy_cpu(plan, rows, 0, h, want.data(), rows.width);
  if (std::memcmp(want.data(), got, want.size() * sizeof(float)) != 0)
    throw Error(ExitCode::kVerification, what + ": not the bits of the CPU");
}

void kernels(std::int64_t side, const std::vector<EntropyOptions>& cases) {
  const auto n = static_cast<std::size_t>(side * side);
  std::vector<std::uint8_t> codes(n);
  std::vector<float> back(static_cast<std::size_t>(side * 40));
  OnDevice<std::uint8_t> in(n);
  OnDevice<float> out(n);
  for (const EntropyOptions& o : cases) {
    fill(codes.data(), n, o.levels);
    check(cudaMemcpy(in.data, codes.data(), n, cudaMemcpyHostToDevice), "copy");
    const EntropyPlan plan(o, side, side);
    EntropyCuda device(plan, 0);
    const auto launch = [&](cudaStream_t stream) {
      device.run_on_device(in.data, side, {0, side, 0, side}, out.data, side, stream);
    };
    launch(nullptr);
    check(cudaMemcpy(back.data(), out.data, back.size() * 4, cudaMemcpyDeviceToHost), "copy");
    const std::string what = name_of(side, o);
    compare(plan, {codes.data(), side, side, side, 0, side}, back.data(), what);
    line(what, std::string("kernel, ") + device.kernel(), graph_ms(15, launch));
  }
}

void end_to_end(std::int64_t side, const EntropyOptions& o, const std::vector<std::string>& sets) {
  const auto n = static_cast<std::size_t>(side * side);
  Pinned<std::uint8_t> codes(n);
  Pinned<float> out(n);
  fill(codes.data, n, o.levels);
  const EntropyPlan plan(o, side, side);
  const CodeRows<std::uint8_t> rows{codes.data, side, side, side, 0, side};
  for (const std::string& text : sets) {
    const DeviceSet set = DeviceSet::parse(text);
    if (set.has_cuda() && set.cuda().back() >= num_cuda_devices()) continue;
    EntropyRunner runner(plan, set);
    const Region all{0, side, 0, side};
    std::fill_n(out.data, n, -1.0f);
    runner.run(rows, all, out.data, side);
    compare(plan, rows, out.data, text);
    std::string how = "end to end, " + text;
    if (set.has_cpu() && set.has_cuda()) {
      const std::string why = runner.explain();
      how += why.substr(why.rfind(", "));
    }
    line(name_of(side, o), how, wall_ms(7, [&] { runner.run(rows, all, out.data, side); }));
  }
}

// ---- maps ----

struct Precise {
  __device__ float log_root(float v) const { return v + sqrtf(logf(v) + 1.0f); }
  __device__ float cos_root(float v) const { return v + sqrtf(cosf(v) + 1.0f); }
};
struct Fast {
  __device__ static float root(float x) {
    float r;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
  }
  __device__ static float reduced(float x) {
    const float k = rintf(x * 0.15915494f);
    return fmaf(k, 1.7484556e-7f, fmaf(k, -6.2831855f, x));
  }
  __device__ float log_root(float v) const { return v + root(__logf(v) + 1.0f); }
  __device__ float cos_root(float v) const { return v + root(__cosf(reduced(v)) + 1.0f); }
};
template <class Functions>
struct FourValues {
  int repeat;
  __device__ float4 operator()(float4 v) const {
    const Functions f;
    for (int r = 0; r < repeat; ++r)
      v = make_float4(f.cos_root(v.x), f.log_root(v.y), f.cos_root(v.z), f.log_root(v.w));
    return v;
  }
};

constexpr std::int64_t kSide = 2048;
constexpr std::int64_t kValues = kSide * kSide;

void maps() {
  const auto e = MapExpression::parse("v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))");
  std::vector<float> input(kValues), result(kValues);
  std::uint32_t state = 1;
  for (float& v : input) {
    state = state * 214013u + 2531011u;
    v = static_cast<float>(10 + (state >> 16 & 0x7FFF) % 256);
  }
  OnDevice<float> values(kValues);
  const auto reset = [&] {
    check(cudaMemcpy(values.data, input.data(), kValues * 4, cudaMemcpyHostToDevice), "copy");
  };
  const auto verify = [&](int repeat, double most, const std::string& what) {
    check(cudaMemcpy(result.data(), values.data, kValues * 4, cudaMemcpyDeviceToHost), "copy");
    MapError error;
    verify_map(e, repeat, kSide, 0, 64, input.data(), result.data(), error);
    if (!(error.absolute < most) || error.mismatched > 0)
      throw Error(ExitCode::kVerification, what + ": off by " + std::to_string(error.absolute));
  };
  for (const int repeat : {1, 10}) {
    const std::string what =
        "map 2048^2, " + std::to_string(repeat) + (repeat == 1 ? " repetition" : " repetitions");
    for (const bool fast : {false, true}) {
      MapOptions o;
      o.repeat = repeat;
      o.precision = fast ? MapPrecision::kFast : MapPrecision::kPrecise;
      MapCuda map(e, o, kSide, 0);
      const std::string precision = fast ? ", fast" : ", precise";
      const double most = fast ? 5e-3 : 5e-4;
      reset();
      map.run_on_device(0, kValues, values.data, nullptr);
      verify(repeat, most, what + precision);
      line(what + precision, "tilewave",
           graph_ms(51, [&](cudaStream_t s) { map.run_on_device(0, kValues, values.data, s); }));
      auto* four = reinterpret_cast<float4*>(values.data);
      const auto with_cub = [&](cudaStream_t s) {
        const auto in = ::cuda::std::make_tuple(four);
        check(fast ? cub::DeviceTransform::Transform(in, four, kValues / 4,
                                                     FourValues<Fast>{repeat}, s)
                   : cub::DeviceTransform::Transform(in, four, kValues / 4,
                                                     FourValues<Precise>{repeat}, s),
              "cub");
      };
      reset();
      with_cub(nullptr);
      verify(repeat, most, "cub");
      line(what + precision, "cub::DeviceTransform", graph_ms(51, with_cub));
    }
    MapOptions o;
    o.repeat = repeat;
    o.precision = MapPrecision::kLut;
    MapCuda map(e, o, kSide, 0);
    const MapTable table = make_map_table(e, o, kSide, 0, kSide, input.data());
    reset();
    map.look_up_on_device(table, 0, kValues, values.data, nullptr);
    verify(repeat, 5e-4, "lut");
    line(what + ", lut", "proof of the domain, on the host",
         wall_ms(7, [&] { make_map_table(e, o, kSide, 0, kSide, input.data()); }));
    MapTable same = table;
    for (std::size_t i = 0; i < same.entries.size(); ++i) {
      const auto k = static_cast<std::int64_t>(i);
      same.entries[i] = static_cast<float>(same.least + k % same.size);
    }
    reset();
    map.look_up_on_device(same, 0, kValues, values.data, nullptr);  // copies the table
    line(what + ", lut", "tilewave", graph_ms(51, [&](cudaStream_t s) {
           map.look_up_on_device(same, 0, kValues, values.data, s);
         }));
  }
}

void run(const char* json_path) {
  if (json_path != nullptr) {
    json = std::fopen(json_path, "w");
    if (json == nullptr)
      throw Error(ExitCode::kInput, std::string(json_path) + ": cannot be written");
    std::fprintf(json, "[");
  }
  const auto options = [](int side, int levels, bool disk = false) {
    EntropyOptions o;
    o.window = disk ? Footprint::disk(side / 2) : Footprint::rectangle(side, side);
    o.levels = levels;
    return o;
  };
  std::printf("%d device(s): %s\n", num_cuda_devices(),
              runtime::cost_key(runtime::cuda_devices().at(0), "entropy").c_str());
  maps();
  kernels(10240, {options(3, 16), options(5, 16), options(7, 16), options(11, 16), options(51, 16),
                  options(5, 256), options(11, 256), options(21, 256), options(51, 256),
                  options(101, 256), options(21, 256, true)});
  kernels(2560, {options(5, 16), options(51, 256)});
  kernels(400, {options(5, 16)});
  const std::vector<std::string> sets = {"cuda:0", "cuda:0-1", "cpu", "cpu+cuda:0", "cpu+cuda:0-1"};
  for (const std::int64_t side : {400, 2560, 10240}) end_to_end(side, options(5, 16), sets);
  end_to_end(10240, options(51, 256), {"cuda:0", "cuda:0-1", "cpu+cuda:0"});
  const CudaCosts c = measure_cuda_costs(0);
  std::printf(
      "costs: call %.1f us, in %.2f GB/s, out %.2f GB/s (pageable), packed %.2f ps a pixel, "
      "update %.2f ps\n",
      c.call_s * 1e6, c.in_bytes_per_s * 1e-9, c.out_bytes_per_s * 1e-9, c.packed_s * 1e12,
      c.update_s * 1e12);
  if (json != nullptr) {
    std::fprintf(json, "\n]\n");
    std::fclose(json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc == 3 && std::string(argv[1]) == "--json" ? argv[2] : nullptr);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_fields_gpu: %s\n", e.what());
    return static_cast<int>(e.code());
  }
  return 0;
}
