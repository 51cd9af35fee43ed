// The random numbers of measurements: the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998)
// seeded by its init_by_array, so that a program with given seeds finds the outcomes it always did.
#pragma once

#include <span>

namespace tilewave::quest {

/// Starts the sequence anew; the keys are taken modulo 2^32.
void seed_random(std::span<const unsigned long> keys);
/// Uniform in [0, 1] with 32 bits, both ends included.
double next_random();

}  // namespace tilewave::quest
