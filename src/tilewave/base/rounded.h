// Operations rounded one by one: device compilers would contract plain operators into fused
// multiply-adds. What is computed with these has the same bits on host and device.
#pragma once

#include "tilewave/base/host_device.h"

namespace tilewave {

#if defined(__CUDA_ARCH__)
TW_HD double mul_rn(double a, double b) { return __dmul_rn(a, b); }
TW_HD double add_rn(double a, double b) { return __dadd_rn(a, b); }
TW_HD double div_rn(double a, double b) { return __ddiv_rn(a, b); }
#else
TW_HD double mul_rn(double a, double b) { return a * b; }
TW_HD double add_rn(double a, double b) { return a + b; }
TW_HD double div_rn(double a, double b) { return a / b; }
#endif

}  // namespace tilewave
