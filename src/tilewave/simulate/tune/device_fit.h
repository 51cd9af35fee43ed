// The numbers of a CUDA device from timed passes: what their programs are made of is known, and where
// arithmetic decides how long a pass takes, its time is a sum.
#pragma once

#include <span>
#include <vector>

#include "tilewave/simulate/tune/engine.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::simulate {

/// The flat numbers that agree best with the times. Of `known` the rates of traffic and what a pass
/// costs by itself are taken as they are, the others are where the fit starts.
std::vector<double> fit_device(const statevec::tile::DeviceNumbers& known,
                               std::span<const TimedPass> passes);

/// Seconds that flat numbers predict for a pass: those of its traffic, or of its operations and the
/// share of the traffic that they do not hide.
double predict_device(std::span<const double> numbers, const TimedPass& pass);

}  // namespace tilewave::simulate
