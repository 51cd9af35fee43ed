// The instruction sets of files whose vectors are members of structs and captured by lambdas, which those of SVE, of no fixed size,
// cannot be: NEON takes its place. To be included before hwy/foreach_target.h.
#pragma once

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
