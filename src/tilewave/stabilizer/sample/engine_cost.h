// What a shot costs on either engine, from what its program does: the choice between them.
#pragma once

#include <string>

#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// Of one shot of the frame engine.
struct FrameWork {
  double targets = 0;      ///< of operations without noise
  double streams = 0;      ///< random streams begun, a 32nd of one for a shot
  double events = 0;       ///< of operations of one probability
  double site_events = 0;  ///< of lists of sites
  double rows = 0;         ///< output bits
};
FrameWork work_of(const FrameProgram& program);

/// Seconds a shot on one core.
double frame_seconds(const FrameWork& work);
double sparse_seconds(const SparseProgram& program);

/// The work in a line, for --explain.
std::string describe(const FrameWork& work);
/// The same in a few lines.
std::string describe(const SparseProgram& program);

}  // namespace tilewave::stabilizer
