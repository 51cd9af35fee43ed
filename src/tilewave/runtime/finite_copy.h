// Copies of many numbers between arrays of a caller and page-locked memory.
#pragma once

#include <cstddef>
#include <limits>

namespace tilewave::runtime {

/// By all threads where there is much: one does not keep up with the link of a device. Says whether all
/// are finite numbers of at most `most` (up to rounding), which takes no further reading of them.
bool copy_on_threads(double* to, const double* from, std::size_t count,
                     double most = std::numeric_limits<double>::max());

}  // namespace tilewave::runtime
