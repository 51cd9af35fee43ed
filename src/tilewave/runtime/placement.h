// Which device is which rank, where links differ: an exchange of one bit of the rank's number waits
// for the slowest link between two ranks that differ in it, so devices are numbered such that low
// bits have fast links.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
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

/// Devices in the order of ranks, and a sentence for reports where that is not the order in which
/// they were named or could not be found out.
struct DeviceOrder {
  std::vector<int> devices;
  std::string remark;
};
/// By the links that `measure` finds, bytes a second from every device of `num_all` to every one,
/// row by row; it is not called for fewer than four devices, where there is nothing to choose. As
/// they were named where it throws an Error.
DeviceOrder order_devices(const std::vector<int>& devices, std::size_t num_all,
                          const std::function<std::vector<double>()>& measure);

/// Empty where the ranks of every host have neighbouring numbers, so that exchanges of low bits
/// stay inside hosts; otherwise what is so and how to start them, for reports.
std::string remark_on_hosts(std::span<const std::string> host_of_rank);

}  // namespace tilewave::runtime
