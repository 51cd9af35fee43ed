// What a checkpoint is of: the first word of its record, so that nobody goes on with another's.
#pragma once

#include <cstdint>

#include "tilewave/simulate/checkpoint/bytes.h"

namespace tilewave::simulate {

enum class RecordKind : std::uint64_t {
  kRun = 0x316e757220776c74,       ///< of a circuit: `tilewave run`, Python's run, Session::run
  kRegister = 0x3267657220776c74,  ///< a register that a program keeps
  kShots = 0x31746f6873776c74,     ///< files of shots: `tilewave sample`, detect, sample_dem
};

void put_kind(ByteWriter& out, RecordKind kind);
/// Throws Error(kUsage) where the record is of another kind.
void need_kind(ByteReader& in, RecordKind kind);

}  // namespace tilewave::simulate
