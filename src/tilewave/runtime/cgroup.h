// What the control groups of this process leave it: batch systems, containers and systemd put their
// limits there, in the process's own group or in any group above it. Both versions are read.
#pragma once

#include <cstdint>
#include <string>

namespace tilewave::runtime {

struct GroupLimits {
  /// Bytes that may still be allocated: of all groups the least of limit - use, where files that
  /// the system keeps in memory and may drop do not count as used.
  std::uint64_t memory_bytes = ~std::uint64_t{0};
  /// The least quota of processor time, in processors; 0: none.
  double cpus = 0;
};

/// `root` stands before every path: "" on a running system. What cannot be read limits nothing.
GroupLimits read_group_limits(const std::string& root = {});

}  // namespace tilewave::runtime
