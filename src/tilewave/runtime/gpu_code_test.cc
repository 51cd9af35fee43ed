// What runs where, by the rules of the CUDA programming guide (binary and PTX compatibility), spelt
// out device by device.
#include "tilewave/runtime/gpu_code.h"

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::runtime {
namespace {

std::string taken(const char* list, int major, int minor) {
  const auto code = gpu_code_for(parse_gpu_code(list), major, minor);
  return code ? code->text() : "none";
}

TEST(GpuCode, is_read_as_CMake_lists_it) {
  const auto all = parse_gpu_code("75-real;90,100f-virtual");
  const std::vector<GpuCode> expected = {
      {75, false, '\0'}, {90, false, '\0'}, {90, true, '\0'}, {100, true, 'f'}};
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(parse_gpu_code("").empty());
  for (const char* wrong : {"native", "90-rael", "x", "9", "90b"})
    EXPECT_THROW(parse_gpu_code(wrong), Error) << wrong;
}

TEST(GpuCode, is_taken_as_the_driver_takes_it) {
  const char* const wheel = "75-real;80-real;86-real;90-real;100-real;120-real;120-virtual";
  struct Row {
    int major, minor;
    const char* expected;
  };
  for (const Row& row :
       {Row{7, 0, "none"}, Row{7, 5, "sm_75"}, Row{8, 0, "sm_80"}, Row{8, 6, "sm_86"},
        Row{8, 9, "sm_86"}, Row{9, 0, "sm_90"}, Row{10, 0, "sm_100"}, Row{10, 3, "sm_100"},
        Row{11, 0, "none"}, Row{12, 0, "sm_120"}, Row{12, 1, "sm_120"}, Row{13, 0, "compute_120"}})
    EXPECT_EQ(taken(wheel, row.major, row.minor), row.expected) << row.major << "." << row.minor;
  EXPECT_EQ(taken("80-virtual", 9, 0), "compute_80");
  EXPECT_EQ(taken("80-real", 9, 0), "none");
  EXPECT_EQ(taken("90-virtual", 8, 9), "none");
  EXPECT_EQ(taken("75-virtual;80", 9, 0), "compute_80");  // the newest PTX
  EXPECT_EQ(taken("90a-real;80-virtual", 9, 0), "sm_90a");
  EXPECT_EQ(taken("100a;80-virtual", 10, 3), "compute_80");
  EXPECT_EQ(taken("100f;80-virtual", 10, 3), "sm_100f");
  EXPECT_EQ(taken("100f;80-virtual", 12, 0), "compute_80");
}

TEST(GpuCode, is_told_in_words) {
  EXPECT_EQ(gpu_code_text(parse_gpu_code("80-real;90")),
            "machine code for sm_80, sm_90; PTX for compute_90 and later");
  EXPECT_EQ(gpu_code_text(parse_gpu_code("80-real")), "machine code for sm_80; no PTX");
  EXPECT_EQ(gpu_code_text(parse_gpu_code("80-virtual")),
            "no machine code; PTX for compute_80 and later");
  EXPECT_EQ(gpu_code_text({}), "none");
}

TEST(GpuCode, a_build_with_CUDA_says_what_it_holds) {
  EXPECT_EQ(built_gpu_code().empty(), !built_with_cuda());
}

}  // namespace
}  // namespace tilewave::runtime
