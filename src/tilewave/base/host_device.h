// The one macro that lets a functor be written once and called from host and device code.
#pragma once

#if defined(__CUDACC__)
#define TW_HD __host__ __device__ __forceinline__
#else
#define TW_HD inline
#endif
