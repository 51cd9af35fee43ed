// A run that goes on: its checkpoint, compared with what it is asked now.
#pragma once

#include <memory>

#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/checkpoint/folder.h"
#include "tilewave/simulate/checkpoint/record_kind.h"
#include "tilewave/simulate/saved_walk.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

struct ResumedRun {
  explicit ResumedRun(const std::string& folder) : saved(folder), rest(saved.record(), folder) {
    need_kind(rest, RecordKind::kRun);
    header = get_header(rest);
  }
  SavedRun saved;
  ByteReader rest;  // of its record: the answers and the walk
  RunHeader header;
};

/// The run that options.checkpoint.resume names; null where it names none, or the folder for new
/// checkpoints while that is still empty. Throws Error(kInput) for a damaged checkpoint, Error(kUsage)
/// for one of another version, circuit, precision, engine, noise model, shots, seed or questions.
std::unique_ptr<ResumedRun> open_resumed(const circuit::Circuit& circuit, const Options& options);

}  // namespace tilewave::simulate
