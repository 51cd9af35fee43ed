// The run this process belongs to. Started by a launcher (mpirun, srun) among others, every process
// makes the same calls of the API and holds a share of each register: process r the amplitudes
// [r 2^n / ranks, (r + 1) 2^n / ranks). Started alone, it holds all.
#pragma once

#include <cstddef>
#include <memory>

#include "tilewave/runtime/ranks.h"

namespace tilewave::quest {

/// The processes; null when this one is alone. Joins them at the first call; throws Error(kUsage)
/// where they are no power of two.
const std::shared_ptr<runtime::Ranks>& processes();
int rank();
int num_ranks();
inline bool is_root() { return rank() == 0; }
/// CPU threads of this process: as the environment says, or its share of the machine.
int num_threads();

/// The root's bytes become everyone's.
void agree(void* data, std::size_t num_bytes);
/// True where all processes say so.
bool all_agree(bool value);

/// Environments that are open. When all are closed the process may leave the run: it does so at its
/// end, as a library may leave only once.
void open_environment();
void close_environment();

/// The function of the API that is being called, for messages; set by the functions themselves.
inline thread_local constinit const char* current_call = "the first call";
/// What the exception that is being handled says of an invalid call, without the function's name;
/// as QuEST says it where the environment asks for that. On this thread the text stays until the
/// next: handlers may keep or throw it.
const char* describe_error();

}  // namespace tilewave::quest
