// Which device is which rank, where links differ: an exchange of one bit of the rank's number waits
// for the slowest link between two ranks that differ in it, so devices are numbered such that low
// bits have fast links.
#pragma once

#include <vector>

namespace tilewave::runtime {

struct Placement {
  std::vector<int> order;         ///< the device of every rank, as rows of the matrix
  std::vector<double> bit_rates;  ///< slowest rate over the links of each bit, both ways
};

/// rates[a][b]: bytes a second from a to b, a power of two of them (see measure_links). Of all
/// orders of at most 8 devices the one with the least time for an exchange of every bit in turn,
/// the fastest bit lowest; the given order where none is better by a twentieth or for more devices.
Placement place_ranks(const std::vector<std::vector<double>>& rates);

}  // namespace tilewave::runtime
