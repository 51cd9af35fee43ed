// Where a program touches the arrays of a register: one handler for SIGSEGV serves all mirrors and
// passes every other fault to the program's handler, installed before or after (signal_calls.cc). A
// system call given such an array would fail with EFAULT instead of faulting, so the calls programs
// use to write and read files (io_calls.cc) open the arrays first.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "tilewave/quest/core/mirror.h"

namespace tilewave::quest {

/// Serves the faults of this mirror from now on; the first call installs the handler.
void watch(Mirror* mirror);
void unwatch(Mirror* mirror);

/// Opens the arrays that [address, address + bytes) reaches into. Where that fails the message goes
/// to invalidQuESTInputError.
void open_arrays(std::uintptr_t address, std::size_t bytes, Access wanted);

/// Makes `action` (unless null) the program's handler for faults that are none of ours; the one of
/// before goes to `before` (unless null). False while ours is not installed.
bool exchange_handler(const struct sigaction* action, struct sigaction* before);
/// sigaction of the system.
int system_sigaction(int number, const struct sigaction* action, struct sigaction* before);

/// Takes part in the link only: the file calls of io_calls.cc are in the program.
void link_file_calls();

}  // namespace tilewave::quest
