// --ranks and mpirun: who shares the state.
#pragma once

#include <string>

#include "tilewave/simulate/make_state.h"

namespace tilewave::cli {

/// The processes a launcher started, or the ranks of the flag (empty: one).
simulate::Distribution read_distribution(const std::string& ranks_flag);

/// Throws Error(kUsage) when a launcher started several processes: `command` uses one.
void need_one_process(const std::string& command);

}  // namespace tilewave::cli
