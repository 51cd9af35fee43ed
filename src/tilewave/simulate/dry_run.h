// Runs that stop after planning.
#pragma once

#include "tilewave/simulate/program.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

/// Fills in the plan, the device and the memory of the run that `options` ask for, on this machine
/// or on the one of options.topology_path. `program` as its engine runs it. Throws Error(kUsage)
/// for a topology without a dry run, and as the run would.
void dry_run(const Program& program, const Options& options, Result& result);

}  // namespace tilewave::simulate
