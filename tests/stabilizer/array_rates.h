// Arrays of shots that stay on a GPU, through the door of Python's samplers (ShotSource::keep_on_device),
// beside the same shots counted there. A rate is that of calls for `batch` shots each, whose arrays are
// let go when those of the next call are there. Rounds of all of them follow each other, medians are
// taken over rounds, and the first shots are compared with the CPU's before.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "stabilizer/shot_rows.h"
#include "tilewave/base/error.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

struct ArrayKind {
  const char* name;
  DeviceLayout layout;
  bool is_split;  // the observables apart
};
constexpr ArrayKind kArrayKinds[] = {{"packed", DeviceLayout::kPacked, false},
                                     {"packed, observables apart", DeviceLayout::kPacked, true},
                                     {"detector-major", DeviceLayout::kBitRows, true},
                                     {"lists", DeviceLayout::kLists, false},
                                     {"bools", DeviceLayout::kBytes, false}};

inline std::vector<BitRange> parts_of(const ArrayKind& kind, const StabProgram& p) {
  const std::uint64_t dets = p.counts.detectors, obs = p.counts.observables;
  if (kind.is_split) return {{0, dets}, {dets, obs}};
  return {{0, dets + obs}};
}

/// Entries of the arrays that are not those of `rows`, of `row_bytes` bytes a shot.
inline std::uint64_t wrong_entries(const ArrayKind& kind, const std::vector<BitRange>& parts,
                                   const std::vector<DeviceShots>& made,
                                   const std::vector<std::uint8_t>& rows, std::uint64_t row_bytes) {
  std::uint64_t wrong = 0;
  const std::uint64_t shots = rows.size() / row_bytes;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto [first, count] = parts[k];
    const bool is_list = kind.layout == DeviceLayout::kLists;
    const auto data =
        to_host<std::uint8_t>(made[k].memory, made[k].rows * (is_list ? 4 : made[k].row_bytes));
    const auto offsets = to_host<std::int64_t>(made[k].offsets, is_list ? shots + 1 : 0);
    for (std::uint64_t s = 0; s < shots; ++s) {
      std::uint64_t next = is_list ? static_cast<std::uint64_t>(offsets[s]) : 0;
      for (std::uint64_t b = 0; b < count; ++b) {
        const bool want = bit(rows.data() + s * row_bytes, first + b);
        bool got = false;
        switch (kind.layout) {
          case DeviceLayout::kPacked:
            got = bit(data.data() + s * made[k].row_bytes, b);
            break;
          case DeviceLayout::kBytes:
            got = data[s * count + b] != 0;
            break;
          case DeviceLayout::kBitRows:
            got = bit(data.data() + b * made[k].row_bytes, s);
            break;
          case DeviceLayout::kLists: {
            std::uint32_t one = 0;
            if (next < static_cast<std::uint64_t>(offsets[s + 1]))
              std::memcpy(&one, data.data() + 4 * next, sizeof one);
            got = next < static_cast<std::uint64_t>(offsets[s + 1]) && one == b;
            next += got;
            break;
          }
        }
        wrong += got != want;
      }
    }
  }
  return wrong;
}

class ArrayRates {
 public:
  ArrayRates(std::string name, const StabProgram& program, Engine engine)
      : name_(std::move(name)), program_(program) {
    SampleOptions o;
    o.engine = engine;
    o.num_threads = 4;
    cpu_ = make_shot_source(program, o);
    o.gpus = {0};
    gpu_ = make_shot_source(program, o);
  }

  /// Compares, measures and prints; false where arrays are wrong.
  bool run() {
    constexpr std::uint64_t kChecked = 20'000;
    const std::vector<std::uint8_t> want = rows_of(*cpu_, kSeed, 0, kChecked);
    for (const ArrayKind& kind : kArrayKinds) {
      const auto parts = parts_of(kind, program_);
      const auto made = keep(kind, kChecked);
      const std::uint64_t wrong = wrong_entries(kind, parts, made, want, cpu_->row_bytes());
      if (wrong) {
        std::printf("%s, %s: %llu entries are WRONG\n", name_.c_str(), kind.name,
                    static_cast<unsigned long long>(wrong));
        return false;
      }
    }
    std::vector<Row> rows;
    for (const ArrayKind& kind : kArrayKinds) {
      for (std::uint64_t batch : {std::uint64_t{1} << 20, std::uint64_t{1} << 22}) {
        const std::uint64_t bits = program_.counts.detectors + program_.counts.observables;
        const bool bytes = kind.layout == DeviceLayout::kBytes;
        if (batch * (bytes ? bits : bits / 8) > kLargestBytes) continue;
        rows.push_back({&kind, batch, {}, 0});
        measure(rows.back());  // once before: memory is reserved, and how many calls fill a round
      }
    }
    std::vector<double> counted;
    (void)counted_seconds();
    for (int round = 0; round < kRounds; ++round) {
      counted.push_back(counted_seconds());
      for (Row& row : rows) row.seconds.push_back(measure(row));
    }
    const double count = median_of(counted);
    std::printf("%s, counted: %.1f M shots/s (%.1f to %.1f)\n", name_.c_str(), 1e-6 / count,
                1e-6 / *std::max_element(counted.begin(), counted.end()),
                1e-6 / *std::min_element(counted.begin(), counted.end()));
    for (Row& row : rows) {
      const double s = median_of(row.seconds) / static_cast<double>(row.batch);
      std::printf("%s, %-26s %8llu a call: %8.1f M shots/s, %.3f ms a call, %.3f of counted\n",
                  name_.c_str(), row.kind->name, static_cast<unsigned long long>(row.batch),
                  1e-6 / s, 1e3 * median_of(row.seconds), count / s);
    }
    std::fflush(stdout);
    return true;
  }

 private:
  static constexpr std::uint64_t kSeed = 1, kLargestBytes = std::uint64_t{12} << 30;
  static constexpr int kRounds = 7;
  static constexpr double kRoundSeconds = 0.02;

  struct Row {
    const ArrayKind* kind;
    std::uint64_t batch;
    std::vector<double> seconds;  // a call, of every round
    int calls;
  };

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static double median_of(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
  std::vector<DeviceShots> keep(const ArrayKind& kind, std::uint64_t shots) {
    return gpu_->keep_on_device({kSeed, next_, shots}, parts_of(kind, program_), kind.layout, {});
  }
  // Of a call, the mean of a round.
  double measure(Row& row) {
    const bool is_first = row.calls == 0;
    std::vector<DeviceShots> held;
    const auto some = [&](int calls) {
      const double start = now();
      for (int k = 0; k < calls; ++k, next_ += row.batch) held = keep(*row.kind, row.batch);
      return now() - start;
    };
    (void)some(2);  // both arrays of a turn
    if (is_first) row.calls = std::max(3, static_cast<int>(kRoundSeconds / (some(2) / 2)));
    return some(row.calls) / row.calls;
  }
  // Of a shot, beyond a short run.
  double counted_seconds() {
    const std::uint64_t block = gpu_->block_shots();
    const auto time = [&](std::uint64_t shots) {
      std::vector<std::uint64_t> table(gpu_->num_bits());
      const double start = now();
      gpu_->summarize(kSeed, 0, shots / block, false, gpu_->num_bits(), table);
      return now() - start;
    };
    const std::uint64_t few = std::max<std::uint64_t>(1, (std::uint64_t{1} << 22) / block) * block;
    const std::uint64_t many =
        std::max<std::uint64_t>(16, (std::uint64_t{1} << 26) / block) * block;
    const double start = time(few);
    return (time(few + many) - start) / static_cast<double>(many);
  }

  std::string name_;
  const StabProgram& program_;
  std::unique_ptr<ShotSource> cpu_, gpu_;
  std::uint64_t next_ = 0;  // shots made
};

}  // namespace tilewave::stabilizer
