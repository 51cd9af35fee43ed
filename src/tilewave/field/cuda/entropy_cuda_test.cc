// The device against the CPU, bit for bit; skipped where there is no device.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/rasters_test.h"
#include "tilewave/field/run/entropy_runner.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::field {
namespace {

struct Case {
  std::int64_t width, height;
  int levels, w, h, disk;
  Border border;
  double share_invalid;
};

template <class Code>
void check(const Case& c) {
  EntropyOptions o;
  o.window = c.disk > 0 ? Footprint::disk(c.disk) : Footprint::rectangle(c.w, c.h);
  o.levels = c.levels;
  o.border = c.border;
  o.constant_code = 1;
  const EntropyPlan plan(o, c.width, c.height);
  std::mt19937 draw(static_cast<unsigned>(c.width + c.levels));
  std::vector<Code> codes(static_cast<std::size_t>(c.width * c.height));
  for (auto& code : codes) {
    code = static_cast<Code>(draw() % 2 == 0 ? draw() % c.levels : draw() % 2);
    if (draw() / 4294967296.0 < c.share_invalid) code = static_cast<Code>(c.levels);
  }
  if (!cuda_serves(plan, runtime::cuda_devices().front())) {  // of smaller ones some
    EXPECT_THROW(EntropyCuda(plan, 0), Error) << c.levels << " levels";
    return;
  }
  const CodeRows<Code> rows = all_rows(codes.data(), c.width, c.height);
  const std::vector<float> cpu = entropy_of(codes, c.width, o);
  std::vector<float> cuda(codes.size());
  EntropyCuda device(plan, 0);
  const std::string what = device.explain() + " " + std::to_string(c.width) + "x" +
                           std::to_string(c.height) + " border " +
                           std::to_string(static_cast<int>(c.border)) + " invalid " +
                           std::to_string(c.share_invalid);
  device.run(rows, {0, c.width, 0, c.height}, cuda.data(), c.width);
  EXPECT_TRUE(same_bits(cpu, cuda)) << what;
  // in pieces, whose edges are nowhere special
  std::fill(cuda.begin(), cuda.end(), -1.0f);
  const std::int64_t cut_x = c.width / 3, cut_y = 2 * c.height / 3;
  for (const Region& r : {Region{0, cut_x, 0, cut_y}, Region{cut_x, c.width, 0, cut_y},
                          Region{0, c.width, cut_y, c.height}}) {
    device.run(rows, r, cuda.data() + r.y_begin * c.width + r.x_begin, c.width);
  }
  EXPECT_TRUE(same_bits(cpu, cuda)) << what << " in pieces";
  // on every device, and shared with the CPU
  std::vector<int> all(static_cast<std::size_t>(num_cuda_devices()));
  std::iota(all.begin(), all.end(), 0);
  for (const DeviceSet& set : {DeviceSet::cuda(all), DeviceSet::cpu_and_cuda(all)}) {
    EntropyRunner runner(plan, set);
    std::fill(cuda.begin(), cuda.end(), -1.0f);
    runner.run(rows, {0, c.width, 0, c.height}, cuda.data(), c.width);
    EXPECT_TRUE(same_bits(cpu, cuda)) << runner.explain() << " " << what;
  }
}

TEST(EntropyCuda, SameBitsAsTheCpu) {
  if (runtime::cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  const Border borders[] = {Border::kCrop,     Border::kReflect, Border::kNearest,
                            Border::kConstant, Border::kValid,   Border::kStudy2020};
  for (const Border border : borders) {
    const double missing = border == Border::kStudy2020 ? 0.0 : 0.05;
    for (const double share : {0.0, missing}) {
      check<std::uint8_t>({517, 133, 16, 5, 5, 0, border, share});
      check<std::uint8_t>({512, 64, 7, 3, 3, 0, border, share});
      check<std::uint8_t>({97, 61, 16, 7, 4, 0, border, share});
      check<std::uint8_t>({97, 61, 200, 21, 21, 0, border, share});
      check<std::uint8_t>({397, 61, 200, 70, 71, 0, border, share});
      check<std::uint16_t>({97, 61, 1000, 9, 9, 0, border, share});
    }
  }
  check<std::uint8_t>({200, 90, 16, 0, 0, 4, Border::kCrop, 0.1});
  check<std::uint16_t>({200, 90, 256, 0, 0, 7, Border::kReflect, 0.1});
  check<std::uint16_t>({200, 90, 12, 5, 5, 0, Border::kNearest, 0.1});      // bytes for the device
  check<std::uint16_t>({120, 90, 5000, 11, 11, 0, Border::kNearest, 0.1});  // few threads a block
  check<std::uint16_t>({60, 50, 40000, 15, 15, 0, Border::kCrop, 0.1});     // the sliding kernel
  check<std::uint8_t>({300, 20, 16, 300, 300, 0, Border::kReflect, 0});     // 90,000 cells: sliding
  check<std::uint16_t>({97, 61, 1000, 40, 41, 0, Border::kReflect, 0.1});   // long sums
  check<std::uint16_t>({97, 61, 1000, 70, 71, 0, Border::kCrop, 0.1});  // too many for own steps
  check<std::uint16_t>({60, 50, 40000, 45, 45, 0, Border::kNearest, 0.1});  // the sliding kernel
  check<std::uint8_t>({1, 1, 16, 5, 5, 0, Border::kCrop, 0});
  check<std::uint8_t>({3, 4001, 16, 5, 5, 0, Border::kCrop, 0});
  check<std::uint8_t>({400001, 3, 16, 5, 5, 0, Border::kReflect, 0});
  check<std::uint8_t>({4099, 4099, 16, 5, 5, 0, Border::kCrop, 0});  // several bands
}

TEST(EntropyCuda, AnAbsentDeviceIsNamed) {
  EXPECT_THROW(EntropyCuda(EntropyPlan(EntropyOptions(), 8, 8), 99), Error);
}

TEST(EntropyCuda, MeasuredCostsAreSound) {
  if (num_cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  const CudaCosts c = measure_cuda_costs(0);
  EXPECT_GT(c.start_s, 0);
  EXPECT_GT(c.call_s, 0);
  EXPECT_GT(c.packed_s, 0);
  EXPECT_GT(c.update_s, 0);
  EXPECT_LT(c.packed_s, 1e-9);
  EXPECT_LT(c.update_s, 1e-9);
  EXPECT_GT(c.in_bytes_per_s, 1e8);
  EXPECT_GT(c.out_bytes_per_s, 1e8);
}

}  // namespace
}  // namespace tilewave::field
