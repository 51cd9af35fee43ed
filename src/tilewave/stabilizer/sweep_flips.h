// What every sweep bit flips. A frame is linear in the Paulis that enter it, so that a shot with
// sweep bits is a shot without them whose bits are flipped once more: out = shot ^ sweep * flips.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

/// flips[k]: the bits of a row of `kind` (records; or detectors, then observables) that flip where
/// sweep bit k is 1, in no order.
std::vector<std::vector<std::uint32_t>> sweep_flips(const StabProgram& program, SymptomKind kind);

/// Flips the bits of a packed row for the packed sweep bits of its shot.
void flip_swept(std::span<const std::vector<std::uint32_t>> flips, const std::uint8_t* sweep,
                std::uint8_t* row);

}  // namespace tilewave::stabilizer
