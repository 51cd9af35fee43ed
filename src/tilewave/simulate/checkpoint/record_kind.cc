#include "tilewave/simulate/checkpoint/record_kind.h"

#include <string>

#include "tilewave/base/error.h"

namespace tilewave::simulate {

namespace {

std::string name_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kRun:
      return "the run of a circuit";
    case RecordKind::kRegister:
      return "a register";
    case RecordKind::kShots:
      return "files of shots";
  }
  return "";
}

}  // namespace

void put_kind(ByteWriter& out, RecordKind kind) { out.put(static_cast<std::uint64_t>(kind)); }

void need_kind(ByteReader& in, RecordKind kind) {
  const auto found = static_cast<RecordKind>(in.get<std::uint64_t>());
  if (found == kind) return;
  const std::string other = name_of(found);
  if (other.empty()) in.fail();
  throw Error(ExitCode::kUsage, in.name() + ": the checkpoint is of " + other + ", not of " +
                                    name_of(kind) + ": name another folder");
}

}  // namespace tilewave::simulate
