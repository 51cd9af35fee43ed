// Local entropy of 16 classes in a 5 x 5 window, cells outside the image left out:
//   H = ln N - (1/N) sum_i n_i ln n_i, natural logarithm.
// The fifteen versions of a study of 2020, each one idea, then counters packed in registers and the
// kernel `tilewave entropy` runs. Floats in and out as in the study (8 bytes a pixel) unless the
// row says bytes (5 bytes). A version is a choice of where ln n comes from, what counts, what
// computes and how the image is read; one kernel template states them all. Every version is
// compared with double precision on the CPU before it is timed.
#include <memory>

#include "common/ladder.cuh"
#include "entropy/host_versions.h"
#include "entropy/study_kernels.cuh"
#include "tilewave/field/cuda/entropy_packed.cuh"
#include "tilewave/field/cuda/entropy_rolling.cuh"
#include "tilewave/field/cuda/entropy_sliding.cuh"
#include "tilewave/field/entropy_tables.h"

namespace {

using namespace study;
using ladder::check;
using ladder::Device;

// ---- host side ----

using Launch = std::function<void(const Job&, cudaStream_t)>;

template <class Kernel>
Launch by_tiles(Kernel kernel, int tile) {
  return [=](const Job& j, cudaStream_t s) {
    const dim3 grid((j.width + tile - 1) / tile, (j.y_end - j.y_begin + tile - 1) / tile);
    kernel<<<grid, dim3(32, 32), 0, s>>>(j);
  };
}

// The engine's kernel with its own tables.
class Engine {
 public:
  Engine()
      : tables_(tilewave::field::make_entropy_tables(kCells, 0, 0, kCells)),
        sums_(tables_.sums),
        log_n_(tables_.log_n),
        inverse_(tables_.inverse) {}
  void launch(const Job& j, cudaStream_t s) const {
    namespace device = tilewave::field::device;
    const device::Geometry g{j.width,       j.height,  0,       j.height, 0,       j.width,
                             j.width,       j.y_begin, j.y_end, 0,        j.width, j.width,
                             device::kCrop, kClasses,  kClasses};
    device::Tables t{};
    t.sums = sums_.get();
    t.log_n = log_n_.get();
    t.inverse = inverse_.get();
    t.max_count = kCells;
    t.narrow = true;
    const int strips = (j.width + device::kPackedPixels - 1) / device::kPackedPixels;
    const int rows = j.y_end - j.y_begin;
    const int tall =
        std::clamp<int>(static_cast<int>(std::int64_t{rows} * strips / (132 * 32 * 3)), 8, 256);
    const int pieces = strips * ((rows + tall - 1) / tall);
    const int grid = (pieces + device::kPackedWarps - 1) / device::kPackedWarps;
    float* out = j.out + std::int64_t{j.y_begin} * j.width;
    if (j.width % 4 == 0) {
      device::entropy_packed_kernel<5, 5, true>
          <<<grid, 32 * device::kPackedWarps, 0, s>>>(j.bytes, out, g, t, strips, tall);
    } else {
      device::entropy_packed_kernel<5, 5, false>
          <<<grid, 32 * device::kPackedWarps, 0, s>>>(j.bytes, out, g, t, strips, tall);
    }
  }

 private:
  tilewave::field::EntropyTables tables_;
  Device<std::int32_t> sums_;
  Device<float> log_n_, inverse_;
};

struct Version {
  const char *name, *idea;
  bool bytes;
  ladder::KernelCost cost;
  Launch launch;
  double tolerance;
};

template <class Kernel>
Version version(const char* name, const char* idea, Kernel kernel, double tolerance,
                bool bytes = false, int tile = 32) {
  return {name, idea, bytes, ladder::kernel_cost(kernel, 1024), by_tiles(kernel, tile), tolerance};
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource) {
  cudaTextureDesc t{};
  t.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  check(cudaCreateTextureObject(&object, &resource, &t, nullptr), "texture");
  return object;
}

cudaTextureObject_t table_texture(const float* data, int n) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeLinear;
  r.res.linear = {const_cast<float*>(data), cudaCreateChannelDesc<float>(), n * sizeof(float)};
  return texture_of(r);
}

// The image as a 2-D texture. A texture's rows start at multiples of what the device says; an image
// of another width is read from a copy whose rows do (made once: copies in are timed without it).
class ImageTexture {
 public:
  ImageTexture(const float* data, int width, int height) {
    int device = 0, align = 1;
    check(cudaGetDevice(&device), "device");
    check(cudaDeviceGetAttribute(&align, cudaDevAttrTexturePitchAlignment, device), "device");
    std::size_t pitch = width * sizeof(float);
    if (pitch % static_cast<std::size_t>(align) != 0) {
      check(cudaMallocPitch(&copy_, &pitch, width * sizeof(float), height), "memory");
      check(cudaMemcpy2D(copy_, pitch, data, width * sizeof(float), width * sizeof(float), height,
                         cudaMemcpyDeviceToDevice),
            "copying rows apart");
    }
    cudaResourceDesc r{};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D = {copy_ != nullptr ? copy_ : const_cast<float*>(data),
                     cudaCreateChannelDesc<float>(), static_cast<std::size_t>(width),
                     static_cast<std::size_t>(height), pitch};
    object_ = texture_of(r);
  }
  ~ImageTexture() {
    cudaDestroyTextureObject(object_);
    cudaFree(copy_);
  }
  ImageTexture(const ImageTexture&) = delete;
  ImageTexture& operator=(const ImageTexture&) = delete;
  cudaTextureObject_t get() const { return object_; }

 private:
  float* copy_ = nullptr;
  cudaTextureObject_t object_ = 0;
};

template <class T>
struct Pinned {
  T* data = nullptr;
  explicit Pinned(std::size_t n) { check(cudaMallocHost(&data, n * sizeof(T)), "pinned memory"); }
  ~Pinned() { cudaFreeHost(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// A device's part of the image: rows of its own and of the halo, in and out (v14).
class Slab {
 public:
  Slab(int device, int width, int height, int y_begin, int y_end)
      : device_(device),
        width_(width),
        from_(std::max(0, y_begin - kRadius)),
        to_(std::min(height, y_end + kRadius)),
        height_(height),
        y_begin_(y_begin),
        y_end_(y_end) {
    check(cudaSetDevice(device), "device");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    in_ = std::make_unique<Device<float>>(std::size_t(to_ - from_) * width);
    out_ = std::make_unique<Device<float>>(std::size_t(y_end - y_begin) * width);
  }
  ~Slab() { cudaStreamDestroy(stream_); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  void copy_in(const float* image) {
    check(cudaSetDevice(device_), "device");
    check(cudaMemcpyAsync(in_->get(), image + std::int64_t{from_} * width_,
                          std::size_t(to_ - from_) * width_ * 4, cudaMemcpyHostToDevice, stream_),
          "copying in");
  }
  void compute(const Launch& launch) {
    check(cudaSetDevice(device_), "device");
    launch({in_->get() - std::int64_t{from_} * width_, nullptr, 0, 0,
            out_->get() - std::int64_t{y_begin_} * width_, width_, height_, y_begin_, y_end_},
           stream_);
    check(cudaGetLastError(), "launch");
  }
  void copy_out(float* image) {
    check(cudaSetDevice(device_), "device");
    check(cudaMemcpyAsync(image + std::int64_t{y_begin_} * width_, out_->get(),
                          std::size_t(y_end_ - y_begin_) * width_ * 4, cudaMemcpyDeviceToHost,
                          stream_),
          "copying out");
  }
  void wait() {
    check(cudaSetDevice(device_), "device");
    check(cudaStreamSynchronize(stream_), "running");
  }

 private:
  int device_, width_, from_, to_, height_, y_begin_, y_end_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Device<float>> in_, out_;
};

int run(int argc, char** argv) {
  long long size = 10240, host_size = 2560, samples = 7;
  ladder::Arguments args(
      "Local entropy, 16 classes, 5 x 5: fifteen versions of a study, then ours.");
  args.flag("--size", &size, 8, 32768, "side of the image on the device")
      .flag("--host-size", &host_size, 0, 10240, "side of the image on the CPU, 0: not there")
      .flag("--samples", &samples, 1, 100, "timings of a version, the median counts");
  if (!args.parse(argc, argv)) return 0;
  std::printf("%s\n", ladder::machine().c_str());
  const int w = static_cast<int>(size), h = w;
  const auto n = static_cast<std::size_t>(w) * h;
  const std::vector<Byte> codes = host::random_codes(n, kClasses);
  const std::vector<double> right = host::reference(codes, w, h, kRadius, kClasses);

  Pinned<float> floats_in(n), result(n);
  Pinned<Byte> bytes_in(n);
  std::copy(codes.begin(), codes.end(), floats_in.data);
  std::copy(codes.begin(), codes.end(), bytes_in.data);
  const auto verify = [&](const char* name, double tolerance) {
    const double error = host::largest_error(result.data, right);
    if (!(error <= tolerance))
      throw std::runtime_error(std::string(name) + " is wrong by " + std::to_string(error));
    return error;
  };

  Device<float> image(n), out(n), logs_float(host::logs_as_floats(kCells)), parts(kParts * n);
  Device<Byte> image_bytes(n);
  check(cudaMemcpy(image.get(), floats_in.data, n * 4, cudaMemcpyHostToDevice), "copying in");
  check(cudaMemcpy(image_bytes.get(), bytes_in.data, n, cudaMemcpyHostToDevice), "copying in");
  const ImageTexture image_texture(image.get(), w, h);
  const Job job{image.get(),
                image_bytes.get(),
                image_texture.get(),
                table_texture(logs_float.get(), kCells + 1),
                out.get(),
                w,
                h,
                0,
                h};
  const Engine engine;

  using Small = signed char;
  // Floats alone lose the digits the study found; half a unit of the fifth decimal elsewhere.
  const double fine = 5e-6, coarse = 5e-4;
  const Version versions[] = {
      version("v0", "a logarithm in doubles for every class",
              window<int, double, Computed<double>, FromFloats>, fine),
      version("v0 float", "a logarithm in floats", window<int, float, Computed<float>, FromFloats>,
              coarse),
      version("v0 fast", "what -use_fast_math makes of it",
              window<int, float, ComputedFast, FromFloats>, coarse),
      version("v1", "ln n in a table of the thread",
              window<int, double, InRegisters<double>, FromFloats>, fine),
      version("v2", "the table in shared memory", window<int, double, InShared, FromFloats>, fine),
      version("v3", "in constant memory", window<int, double, InConstant, FromFloats>, fine),
      version("v4", "in device memory", window<int, double, InDevice, FromFloats>, fine),
      version("v5", "in floats through a texture", window<int, double, InTexture, FromFloats>,
              fine),
      version("v6", "v1 with counters of 8 bits",
              window<Small, double, InRegisters<double>, FromFloats>, fine),
      version("v7", "v6, table in floats, sums in doubles",
              window<Small, double, InRegisters<float>, FromFloats>, fine),
      version("v7 float", "v7, sums in floats too",
              window<Small, float, InRegisters<float>, FromFloats>, coarse),
      version("v8", "v7, image through a 2-D texture",
              window<Small, double, InRegisters<float>, FromTexture>, fine),
      version("v9", "v7, image tiled in shared memory", tiled, fine, false, kInner),
      version("v7 bytes", "v7, image in bytes",
              window<Small, double, InRegisters<float>, FromBytes>, fine, true),
      version("packed", "counters packed in registers, n ln n in floats",
              packed_counters<FromFloats>, fine),
      version("packed bytes", "the same, image in bytes", packed_counters<FromBytes>, fine, true),
      {"tilewave", "column histograms of nibbles rolled down the rows, pairs looked up", true,
       ladder::kernel_cost(tilewave::field::device::entropy_packed_kernel<5, 5, true>, 128),
       [&](const Job& j, cudaStream_t s) { engine.launch(j, s); }, fine},
  };

  ladder::Report report("entropy", {"version", "idea", "kernel ms", "ps a pixel", "end to end ms",
                                    "registers", "local bytes", "occupancy %", "largest error"});
  const int runs = static_cast<int>(samples);
  const auto add = [&](const char* name, const char* idea, double ms, double total,
                       const ladder::KernelCost& cost, double error) {
    report.row({std::string(name), std::string(idea), ms, 1e9 * ms / static_cast<double>(n), total,
                static_cast<long long>(cost.registers), static_cast<long long>(cost.local_bytes),
                static_cast<long long>(cost.occupancy_percent), error});
  };
  for (const Version& v : versions) {
    out.poison();
    v.launch(job, nullptr);
    check(cudaGetLastError(), v.name);
    check(cudaMemcpy(result.data, out.get(), n * 4, cudaMemcpyDeviceToHost), "copying out");
    const double error = verify(v.name, v.tolerance);
    const double kernel = ladder::median_ms(runs, [&] { v.launch(job, nullptr); });
    const double total = ladder::median_ms(3, [&] {
      if (v.bytes) {
        check(cudaMemcpyAsync(image_bytes.get(), bytes_in.data, n, cudaMemcpyHostToDevice), "in");
      } else {
        check(cudaMemcpyAsync(image.get(), floats_in.data, n * 4, cudaMemcpyHostToDevice), "in");
      }
      v.launch(job, nullptr);
      check(cudaMemcpyAsync(result.data, out.get(), n * 4, cudaMemcpyDeviceToHost), "out");
    });
    add(v.name, v.idea, kernel, total, v.cost, error);
  }
  const auto named = [&](const std::string& name) -> const Version& {
    return *std::find_if(std::begin(versions), std::end(versions),
                         [&](const Version& v) { return name == v.name; });
  };
  const Version& v7 = named("v7");

  {  // splitting by class
    const dim3 grid((w + 31) / 32, (h + 31) / 32), block(32, 32);
    out.poison();
    parts.poison();
    const auto part = [&](int k) { class_part<<<grid, block>>>(job, k, parts.get() + k * n); };
    for (int k = 0; k < kParts; ++k) part(k);
    add_parts<<<grid, block>>>(job, parts.get());
    check(cudaMemcpy(result.data, out.get(), n * 4, cudaMemcpyDeviceToHost), "copying out");
    const double error = verify("split by class", fine);
    const double one = ladder::median_ms(runs, [&] { part(1); });
    const double sum =
        ladder::median_ms(runs, [&] { add_parts<<<grid, block>>>(job, parts.get()); });
    add("class split, a part", "4 of 16 classes, whole image: one of four GPUs", one, NAN,
        ladder::kernel_cost(class_part, 1024), error);
    add("class split, adding", "adding four planes of partial sums", sum, NAN,
        ladder::kernel_cost(add_parts, 1024), error);
    Job quarter = job;
    quarter.y_end = h / 4;
    const Version& packed = named("packed");
    const double rows = ladder::median_ms(runs, [&] { packed.launch(quarter, nullptr); });
    add("row split, a part", "packed on a quarter of the rows: one of four GPUs", rows, NAN,
        packed.cost, NAN);
  }
  {  // v14: slabs of rows with their halo, dealt to the devices
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "devices");
    std::vector<std::unique_ptr<Slab>> slabs;
    constexpr int kSlabs = 4;
    for (int k = 0; k < kSlabs; ++k)
      slabs.push_back(
          std::make_unique<Slab>(k % devices, w, h, h * k / kSlabs, h * (k + 1) / kSlabs));
    const auto all = [&](bool copies) {
      if (copies)
        for (auto& s : slabs) s->copy_in(floats_in.data);
      for (auto& s : slabs) s->compute(v7.launch);
      if (copies)
        for (auto& s : slabs) s->copy_out(result.data);
      for (auto& s : slabs) s->wait();
    };
    std::fill(result.data, result.data + n, NAN);
    all(true);
    const double error = verify("v14", fine);
    const double kernel = host::median_ms(runs, [&] { all(false); });
    const double total = host::median_ms(3, [&] { all(true); });
    const std::string idea = "v7 on four slabs, " + std::to_string(devices) + " device(s)";
    add("v14", idea.c_str(), kernel, total, v7.cost, error);
    check(cudaSetDevice(0), "device");
  }
  {  // ours in bands, three streams: copies and kernels of neighbouring bands overlap
    constexpr int kStreams = 3;
    cudaStream_t streams[kStreams];
    for (auto& s : streams) check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
    const int band = std::max(8, (24 << 20) / (4 * w));
    cudaEvent_t arrived[2];
    for (auto& e : arrived) check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "event");
    const auto all = [&] {
      int held = 0;
      for (int y = 0, k = 0; y < h; y += band, ++k) {
        cudaStream_t s = streams[k % kStreams];
        const int end = std::min(h, y + band), to = std::min(h, end + kRadius);
        // Rows in by one stream after another; a band waits for the rows of the one before.
        if (k > 0) check(cudaStreamWaitEvent(s, arrived[(k - 1) % 2]), "waiting");
        if (to > held)
          check(cudaMemcpyAsync(image_bytes.get() + std::int64_t{held} * w,
                                bytes_in.data + std::int64_t{held} * w, std::size_t(to - held) * w,
                                cudaMemcpyHostToDevice, s),
                "in");
        held = std::max(held, to);
        check(cudaEventRecord(arrived[k % 2], s), "event");
        Job part = job;
        part.y_begin = y, part.y_end = end;
        engine.launch(part, s);
        check(cudaMemcpyAsync(result.data + std::int64_t{y} * w, out.get() + std::int64_t{y} * w,
                              std::size_t(end - y) * w * 4, cudaMemcpyDeviceToHost, s),
              "out");
      }
      for (auto s : streams) check(cudaStreamSynchronize(s), "running");
    };
    std::fill(result.data, result.data + n, NAN);
    check(cudaMemset(image_bytes.get(), 0xff, n), "clearing");
    check(cudaDeviceSynchronize(), "clearing");
    all();
    const double error = verify("tilewave in bands", fine);
    add("tilewave, bands", "copies and kernels of bands overlap on three streams", NAN,
        host::median_ms(5, all), named("tilewave").cost, error);
    for (auto& e : arrived) cudaEventDestroy(e);
    for (auto s : streams) cudaStreamDestroy(s);
  }

  ladder::Report cpu("entropy on the CPU", {"version", "window", "classes", "ms",
                                            "ns a pixel x core", "threads", "largest error"});
  ladder::Report sweep("prefix sums against counting",
                       {"window", "classes", "counting ms (v12)", "prefix sums ms (v13)", "ratio"});
  if (host_size > 0) host::run_versions(static_cast<int>(host_size), cpu, sweep);
  ladder::write_json(args.json, "ladder_entropy --size " + std::to_string(size),
                     {&report, &cpu, &sweep});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ladder::guarded([&] { return run(argc, argv); });
}
