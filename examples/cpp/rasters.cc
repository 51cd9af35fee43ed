// Local entropy of a picture of two halves, and a formula applied to every pixel.
#include <cstdio>
#include <vector>

#include <tilewave/raster.h>

int main() {
  constexpr int kWidth = 64, kHeight = 32;
  std::vector<std::uint8_t> classes(kWidth * kHeight);
  for (int k = 0; k < kWidth * kHeight; ++k) classes[k] = k % kWidth < kWidth / 2 ? 3 : 8;
  const std::vector<float> entropy =
      tilewave::local_entropy(tilewave::Image<std::uint8_t>{classes, kWidth, kHeight});
  std::printf("inside %.4f, at the border %.4f\n", entropy[kWidth], entropy[kWidth + kWidth / 2]);

  const std::vector<float> heights(kWidth * kHeight, 2.0f);
  const std::vector<float> mapped =
      tilewave::map("sqrt(v) + ix % 2", tilewave::Image<float>{heights, kWidth, kHeight});
  std::printf("%.4f %.4f\n", mapped[0], mapped[1]);
  return entropy[kWidth] == 0 && entropy[kWidth + kWidth / 2] > 0.6f ? 0 : 1;
}
