#pragma once

#include <cmath>
#include <cstdint>

namespace tilewave::statevec::detail {

/// A product of very many positive numbers, to a relative error of 2^-53 a factor. A sum of their
/// logarithms would lose the digits that its size takes.
class RunningProduct {
 public:
  RunningProduct& operator*=(double factor) {
    int of_factor = 0, of_product = 0;
    mantissa_ = std::frexp(mantissa_ * std::frexp(factor, &of_factor), &of_product);
    exponent_ += of_factor + of_product;
    return *this;
  }
  double log2() const { return std::log2(mantissa_) + static_cast<double>(exponent_); }

 private:
  double mantissa_ = 1;
  std::int64_t exponent_ = 0;
};

}  // namespace tilewave::statevec::detail
