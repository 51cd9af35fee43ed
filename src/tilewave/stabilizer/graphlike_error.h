// The fewest errors of a detector error model that flip an observable and no detector, among the
// errors that flip at most two detectors: the distance of a code whose decoder matches detectors.
//
// The errors are the edges of a graph of detectors, with a boundary at the other end of those that
// flip one detector only. A set that flips no detector is a sum of cycles, so the fewest are one
// simple cycle on which some observable is flipped an odd number of times. For each observable, the
// graph is taken twice, with an edge that flips it leading from one copy to the other: the cycle is
// a shortest path from a vertex to its twin. It passes an edge that flips the observable, so it is
// enough to begin at vertices that touch all of those, and each is removed once it was looked at.
// The boundary touches nearly all in usual codes. Cost: a breadth-first search a vertex of that
// cover, each as far as half the length of what was found before.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/circuit/error_model.h"

namespace tilewave::stabilizer {

/// The detectors (at most two) and the observables that an error flips, in ascending order.
struct GraphlikeError {
  std::vector<std::uint64_t> detectors, observables;
};

/// Errors of probability 0 do not count. Others flip at most two detectors, or are decomposed into
/// parts that do and that count one by one; with `ignore_ungraphlike`, decomposed errors and those
/// of more detectors are left out, as the number found then bounds the distance for every decoder.
/// Throws Error(kInput) for an error that is neither, and where no such set exists;
/// Error(kResources) for a model that is too large.
std::vector<GraphlikeError> shortest_graphlike_error(const circuit::ErrorModel& model,
                                                     bool ignore_ungraphlike);

/// As a model of errors that happen.
circuit::ErrorModel as_model(const std::vector<GraphlikeError>& errors);

}  // namespace tilewave::stabilizer
