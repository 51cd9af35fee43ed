// Which coins of the frame engine matter. After a collapse, a Pauli that acts trivially is
// multiplied into a random half of the frames; where no output depends on it, the draw is left out.
// In an error-correction circuit whose detectors are all determined, that is every one of them.
//
// A walk backwards as in sensitivity.h, but of a set of symptoms only a fingerprint is kept: the
// exclusive or of a random 64-bit number per symptom. The cost is one word a gate, however large
// the sets; a set that is not empty looks empty with probability 2^-64.
#pragma once

#include <vector>

#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

struct NeededCoins {
  std::vector<bool> start;                ///< of every qubit
  std::vector<std::vector<bool>> blocks;  ///< of every primitive of every block
};

/// `records`: the outputs are the records, else detectors and observables. Circuits whose unrolled
/// loops are too long to walk keep all coins.
NeededCoins needed_coins(const StabProgram& program, bool records);

}  // namespace tilewave::stabilizer
