// What every ladder shares: flags, checked CUDA calls, medians of event times, what a kernel costs
// (registers, local memory, occupancy), and one report printed as a table and written as JSON.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace ladder {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

/// Device memory of n values.
template <class T>
class Device {
 public:
  explicit Device(std::size_t n = 0) : size_(n) {
    if (n > 0) check(cudaMalloc(&data_, n * sizeof(T)), "device memory");
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) { put(values); }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* get() const { return data_; }
  void put(const std::vector<T>& values) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "copying in");
  }
  std::vector<T> take() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
          "copying out");
    return values;
  }
  /// Fills with bytes no answer has, so that what a kernel leaves unwritten fails its check.
  void poison() { check(cudaMemset(data_, 0xff, size_ * sizeof(T)), "poisoning"); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// `program [--flag value]...`; a flag has a number and a line of help.
class Arguments {
 public:
  Arguments(const char* purpose) : purpose_(purpose) {}
  Arguments& flag(const char* name, long long* value, long long least, long long most,
                  const char* help) {
    flags_.push_back({name, value, least, most, help});
    return *this;
  }
  /// False where help was asked for.
  bool parse(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      if (name == "--help" || name == "-h") {
        std::printf("%s\n\n%s [flags]\n", purpose_, argv[0]);
        for (const Flag& f : flags_)
          std::printf("  %-10s N  %s (%lld..%lld, now %lld)\n", f.name, f.help, f.least, f.most,
                      *f.value);
        std::printf("  --json     F  write the numbers as JSON\n");
        return false;
      }
      if (i + 1 == argc) throw std::runtime_error(name + " needs a value: see --help");
      const char* text = argv[++i];
      if (name == "--json") {
        json = text;
        continue;
      }
      const auto f = std::find_if(flags_.begin(), flags_.end(),
                                  [&](const Flag& candidate) { return name == candidate.name; });
      if (f == flags_.end()) throw std::runtime_error("unknown flag " + name + ": see --help");
      char* end = nullptr;
      const long long value = std::strtoll(text, &end, 10);
      if (end == text || *end != 0 || value < f->least || value > f->most)
        throw std::runtime_error(name + " " + text + " is not a number in " +
                                 std::to_string(f->least) + ".." + std::to_string(f->most));
      *f->value = value;
    }
    return true;
  }
  std::string json;

 private:
  struct Flag {
    const char* name;
    long long* value;
    long long least, most;
    const char* help;
  };
  const char* purpose_;
  std::vector<Flag> flags_;
};

/// Milliseconds of body() on the default stream, by events: the samples after one warm-up, sorted.
/// `before` runs ahead of each sample and is not timed.
template <class Before, class Body>
std::vector<double> sample_ms(int samples, Before&& before, Body&& body) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "event");
  check(cudaEventCreate(&stop), "event");
  std::vector<double> times;
  for (int k = -1; k < samples; ++k) {
    before();
    check(cudaEventRecord(start), "event");
    body();
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(stop), "event");
    check(cudaEventSynchronize(stop), "running");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, stop), "event");
    if (k >= 0) times.push_back(ms);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(times.begin(), times.end());
  return times;
}
template <class Body>
double median_ms(int samples, Body&& body) {
  return sample_ms(
      samples, [] {}, body)[static_cast<std::size_t>(samples) / 2];
}

/// What the compiler made of a kernel and how full a multiprocessor gets with it.
struct KernelCost {
  int registers = 0, local_bytes = 0, shared_bytes = 0, occupancy_percent = 0;
};
template <class Kernel>
KernelCost kernel_cost(Kernel kernel, int threads, std::size_t dynamic_shared = 0) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, kernel), "asking a kernel");
  int blocks = 0, device = 0, most = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic_shared),
        "occupancy");
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device), "device");
  return {a.numRegs, static_cast<int>(a.localSizeBytes),
          static_cast<int>(a.sharedSizeBytes + dynamic_shared), 100 * blocks * threads / most};
}

/// A table: printed row by row, and as JSON at the end.
class Report {
 public:
  using Cell = std::variant<std::string, double, long long>;

  Report(std::string name, std::vector<std::string> columns)
      : name_(std::move(name)), columns_(std::move(columns)) {}
  void row(std::vector<Cell> cells) {
    if (cells.size() != columns_.size()) throw std::logic_error("a row of the wrong length");
    if (rows_.empty()) print_head();
    std::printf("|");
    for (const Cell& c : cells) std::printf(" %s |", text(c).c_str());
    std::printf("\n");
    std::fflush(stdout);
    rows_.push_back(std::move(cells));
  }
  std::string json() const {
    std::string out = "    \"" + name_ + "\": [";
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      out += r == 0 ? "\n      {" : ",\n      {";
      for (std::size_t k = 0; k < columns_.size(); ++k) {
        const bool quoted = std::holds_alternative<std::string>(rows_[r][k]);
        const std::string value = text(rows_[r][k]);
        out += (k == 0 ? "\"" : ", \"") + columns_[k] + "\": ";
        out += quoted ? "\"" + value + "\"" : value == "-" ? "null" : value;
      }
      out += "}";
    }
    return out + "\n    ]";
  }

 private:
  void print_head() const {
    std::printf("\n%s\n\n|", name_.c_str());
    for (const std::string& c : columns_) std::printf(" %s |", c.c_str());
    std::printf("\n|");
    for (std::size_t k = 0; k < columns_.size(); ++k) std::printf("---|");
    std::printf("\n");
  }
  static std::string text(const Cell& c) {
    if (const auto* s = std::get_if<std::string>(&c)) return *s;
    if (const auto* n = std::get_if<long long>(&c)) return std::to_string(*n);
    if (!std::isfinite(std::get<double>(c))) return "-";  // not measured
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.4g", std::get<double>(c));
    return buffer;
  }
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// "NVIDIA H200 x 1, CUDA 13.0, 2026-11-21".
inline std::string machine() {
  cudaDeviceProp p{};
  int devices = 0, version = 0;
  check(cudaGetDeviceCount(&devices), "no device");
  check(cudaGetDeviceProperties(&p, 0), "asking the device");
  check(cudaRuntimeGetVersion(&version), "version");
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return std::string(p.name) + " x " + std::to_string(devices) + ", CUDA " +
         std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) + ", " + date;
}

inline void write_json(const std::string& path, const std::string& command,
                       const std::vector<const Report*>& reports) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << "{\n  \"machine\": \"" << machine() << "\",\n  \"command\": \"" << command
       << "\",\n  \"tables\": {\n";
  for (std::size_t k = 0; k < reports.size(); ++k)
    file << reports[k]->json() << (k + 1 < reports.size() ? ",\n" : "\n");
  file << "  }\n}\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// main() of a ladder: errors in one line, exit status 1.
template <class Body>
int guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}

}  // namespace ladder
