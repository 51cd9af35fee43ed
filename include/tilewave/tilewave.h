// All of Tilewave's C++ API. Headers of their own serve programs that need a part.
#pragma once

#include "tilewave/circuit.h"
#include "tilewave/error.h"
#include "tilewave/function.h"
#include "tilewave/raster.h"
#include "tilewave/sampling.h"
#include "tilewave/session.h"
#include "tilewave/settings.h"

/// Everything that Tilewave offers to C++ programs.
namespace tilewave {}
