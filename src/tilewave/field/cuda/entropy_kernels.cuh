// The kernels of local entropy, one a file.
#pragma once

#include "tilewave/field/cuda/entropy_packed.cuh"
#include "tilewave/field/cuda/entropy_rolling.cuh"
#include "tilewave/field/cuda/entropy_sliding.cuh"
