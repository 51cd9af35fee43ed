// Times local entropy and fused maps on the CPU, one line a case: nanoseconds a pixel and core.
//
//   bench_fields entropy [--width N] [--height N] [--threads T] [--rounds R] [--json FILE]
//   bench_fields map     [the same]
//
// Entropy: window and number of classes as in docs/entropy.md, on classes that are uniform random
// (the hardest) and on a smooth image with noise (a sum of waves and +-12 of 256 grey values, as
// photographs have). Map: v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1)) on 10..265. Each case runs
// once to warm up, then R times; the median is printed, with the fastest beside it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/field/entropy.h"
#include "tilewave/field/map.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/runtime/timer.h"

namespace {

using namespace tilewave;

struct Settings {
  std::int64_t width = 2560, height = 2560;
  int threads = 1, rounds = 5;
  std::string what, json, only;
};

struct Timing {
  double median_s, least_s;
};

Timing time(int rounds, const std::function<void()>& prepare, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int r = 0; r <= rounds; ++r) {
    prepare();
    runtime::Timer timer;
    run();
    if (r > 0) seconds.push_back(timer.elapsed_s());
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front()};
}

class Report {
 public:
  explicit Report(const Settings& s) : settings_(s) {
    std::printf("%-28s %-10s %9s %9s %14s\n", "case", "algorithm", "ms", "fastest",
                "ns/pixel/core");
  }
  void line(const std::string& name, const std::string& algorithm, Timing t) {
    const int threads = runtime::resolve_num_threads(settings_.threads);
    const double pixels = static_cast<double>(settings_.width * settings_.height);
    const double ns = t.median_s * 1e9 / pixels * threads;
    std::printf("%-28s %-10s %9.3f %9.3f %14.3f\n", name.c_str(), algorithm.c_str(),
                t.median_s * 1e3, t.least_s * 1e3, ns);
    std::fflush(stdout);
    char text[300];
    std::snprintf(
        text, sizeof text,
        R"(  {"case": "%s", "algorithm": "%s", "width": %lld, "height": %lld, "threads": %d, )"
        R"("median_s": %.6g, "least_s": %.6g, "ns_pixel_core": %.4g})",
        name.c_str(), algorithm.c_str(), static_cast<long long>(settings_.width),
        static_cast<long long>(settings_.height), threads, t.median_s, t.least_s, ns);
    lines_.emplace_back(text);
  }
  void save() const {
    if (settings_.json.empty()) return;
    std::ofstream out(settings_.json);
    out << "[\n";
    for (std::size_t i = 0; i < lines_.size(); ++i)
      out << lines_[i] << (i + 1 < lines_.size() ? ",\n" : "\n");
    out << "]\n";
    if (!out) throw Error(ExitCode::kInput, settings_.json + ": cannot be written");
  }

 private:
  const Settings& settings_;
  std::vector<std::string> lines_;
};

std::vector<std::uint8_t> random_classes(const Settings& s, int levels) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(s.width * s.height));
  std::mt19937 draw(1);
  for (auto& c : codes) c = static_cast<std::uint8_t>(draw() % static_cast<unsigned>(levels));
  return codes;
}

std::vector<std::uint8_t> smooth_image(const Settings& s, int levels) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(s.width * s.height));
  std::mt19937 draw(2);
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      const double wave = 128 + 60 * std::sin(static_cast<double>(x) / 40) +
                          50 * std::cos(static_cast<double>(y + x / 3) / 61);
      const double grey = std::clamp(wave + static_cast<double>(draw() % 25) - 12, 0.0, 255.0);
      codes[static_cast<std::size_t>(y * s.width + x)] =
          static_cast<std::uint8_t>(grey * levels / 256);
    }
  }
  return codes;
}

void entropy_case(const Settings& s, Report& report, const std::string& name,
                  const std::vector<std::uint8_t>& codes, int levels, int side,
                  field::EntropyAlgorithm algorithm) {
  field::EntropyOptions o;
  o.levels = levels;
  o.window = field::Footprint::rectangle(side, side);
  o.threads = s.threads;
  o.algorithm = algorithm;
  const field::EntropyPlan plan(o, s.width, s.height);
  const std::string full = name + " " + std::to_string(side) + "x" + std::to_string(side) +
                           " K=" + std::to_string(levels);
  if (!s.only.empty() && full.find(s.only) == std::string::npos) return;
  std::vector<float> out(codes.size());
  const field::CodeRows<std::uint8_t> rows{codes.data(), s.width, s.width, s.height, 0, s.height};
  const Timing t = time(
      s.rounds, [] {}, [&] { field::entropy_cpu(plan, rows, 0, s.height, out.data(), s.width); });
  report.line(full, field::algorithm_name(plan.cpu_algorithm()), t);
}

void entropy(const Settings& s, Report& report, bool every_algorithm) {
  using A = field::EntropyAlgorithm;
  struct Row {
    int levels, side;
  };
  const Row rows[] = {{16, 5},  {16, 7},  {16, 11},  {16, 21},  {16, 51},  {16, 101},
                      {64, 21}, {256, 5}, {256, 11}, {256, 21}, {256, 51}, {256, 101}};
  for (const Row& row : rows) {
    const auto random = random_classes(s, row.levels), smooth = smooth_image(s, row.levels);
    for (const A a : {A::kAuto, A::kPlane, A::kSliding, A::kColumn}) {
      if (!every_algorithm && a != A::kAuto) continue;
      try {
        entropy_case(s, report, "random", random, row.levels, row.side, a);
        entropy_case(s, report, "smooth", smooth, row.levels, row.side, a);
      } catch (const Error&) {  // that algorithm does not serve this window
      }
    }
  }
}

void map(const Settings& s, Report& report) {
  std::vector<float> input(static_cast<std::size_t>(s.width * s.height));
  std::uint32_t state = 1;
  for (float& v : input) {  // the study's generator
    state = state * 214013u + 2531011u;
    v = static_cast<float>(10 + (state >> 16 & 0x7FFF) % 256);
  }
  struct Row {
    const char *name, *expression;
  };
  const Row rows[] = {{"parity", "v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))"},
                      {"log", "log(v)"},
                      {"cos", "cos(v)"},
                      {"exp", "exp(v/100)"},
                      {"sqrt", "sqrt(v)"},
                      {"add", "v+1"}};
  struct Precision {
    const char* name;
    field::MapPrecision precision;
  };
  for (const Row& row : rows) {
    const auto e = field::MapExpression::parse(row.expression);
    for (const int repeat : {1, 10}) {
      if (repeat > 1 && row.name != rows[0].name) continue;
      for (const Precision& p : {Precision{"precise", field::MapPrecision::kPrecise},
                                 Precision{"fast", field::MapPrecision::kFast},
                                 Precision{"lut", field::MapPrecision::kLut}}) {
        field::MapOptions o;
        o.repeat = repeat;
        o.precision = p.precision;
        o.threads = s.threads;
        std::vector<float> values(input.size());
        const Timing t = time(
            s.rounds,
            [&] { std::memcpy(values.data(), input.data(), input.size() * sizeof(float)); },
            [&] { field::map_cpu(e, o, s.width, 0, s.height, values.data()); });
        report.line(std::string(row.name) + (repeat > 1 ? " x10" : ""), p.name, t);
      }
    }
  }
}

Settings parse(int argc, char** argv) {
  Settings s;
  if (argc < 2) throw Error(ExitCode::kUsage, "say what to time: entropy, algorithms or map");
  s.what = argv[1];
  if (s.what == "map") s.width = s.height = 2048;
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i];
    if (i + 1 == argc) throw Error(ExitCode::kUsage, flag + " needs a value");
    const char* value = argv[++i];
    if (flag == "--width") {
      s.width = std::atoll(value);
    } else if (flag == "--height") {
      s.height = std::atoll(value);
    } else if (flag == "--threads") {
      s.threads = std::atoi(value);
    } else if (flag == "--rounds") {
      s.rounds = std::max(1, std::atoi(value));
    } else if (flag == "--json") {
      s.json = value;
    } else if (flag == "--only") {
      s.only = value;
    } else {
      throw Error(ExitCode::kUsage, "unknown option " + flag);
    }
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings s = parse(argc, argv);
    Report report(s);
    if (s.what == "entropy" || s.what == "algorithms") {
      entropy(s, report, s.what == "algorithms");
    } else if (s.what == "map") {
      map(s, report);
    } else {
      throw Error(ExitCode::kUsage, "unknown case " + s.what + ": use entropy, algorithms or map");
    }
    report.save();
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_fields: %s\n", e.what());
    return static_cast<int>(e.code());
  }
  return 0;
}
