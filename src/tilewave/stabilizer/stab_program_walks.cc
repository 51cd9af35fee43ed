// Walks over a stabilizer program that check or count: every block once, times its repetitions.
#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;

// Records must exist before they are looked back at; called with the records before the block.
std::uint64_t check_lookbacks_of(const StabProgram& program, std::uint32_t block,
                                 std::uint64_t before) {
  std::uint64_t records = before;
  const auto need = [&](const Prim& p, std::uint64_t back) {
    if (back > records) {
      throw Error(ExitCode::kInput,
                  program.place(p) + "rec[-" + std::to_string(back) +
                      "] looks back past the first record: only " + std::to_string(records) +
                      (records == 1 ? " record precedes it" : " records precede it"));
    }
  };
  for (const Prim& p : program.blocks[block]) {
    switch (p.kind) {
      case P::kMeasure:
      case P::kPad:
      case P::kFrameSign:
        records = saturating_add(records, 1);
        break;
      case P::kHerald:
      case P::kLeakHerald:
        records = saturating_add(records, p.count);
        break;
      case P::kFeedback:
        need(p, p.b);
        break;
      case P::kDetector:
      case P::kObservable:
        for (std::uint32_t back : program.list(p)) need(p, back);
        break;
      case P::kRepeat: {
        const std::uint64_t after = check_lookbacks_of(program, p.a, records);
        records =
            saturating_add(records, saturating_multiply(after - records, program.repeats[p.b]));
        break;
      }
      default:
        break;
    }
  }
  return records;
}

std::uint64_t branches_of(const StabProgram& program, std::uint32_t block) {
  std::uint64_t total = 0;
  for (const Prim& p : program.blocks[block]) {
    if (p.kind == P::kPauli1) total += 3 * p.count;
    if (p.kind == P::kPauli2) total += 15 * (p.count / 2);
    if (p.kind == P::kRecordFlip || p.kind == P::kCorrelated) total += p.count;
    if (p.kind == P::kHerald) total += 4 * p.count;
    if (p.kind == P::kRepeat) {
      total = saturating_add(total,
                             saturating_multiply(program.repeats[p.b], branches_of(program, p.a)));
    }
  }
  return total;
}

std::uint64_t unrolled_of(const StabProgram& program, std::uint32_t block) {
  std::uint64_t total = 0;
  for (const Prim& p : program.blocks[block]) {
    const bool loops = p.kind == P::kRepeat;
    total = saturating_add(
        total, loops ? saturating_multiply(program.repeats[p.b], unrolled_of(program, p.a)) : 1);
  }
  return total;
}

}  // namespace

std::vector<bool> used_qubits(const StabProgram& program) {
  std::vector<bool> used(program.counts.qubits);
  for (const auto& block : program.blocks) {
    for (const Prim& p : block) {
      for_each_qubit(program, p, [&](std::uint32_t q) { used[q] = true; });
    }
  }
  return used;
}

void check_lookbacks(const StabProgram& program) { check_lookbacks_of(program, 0, 0); }

std::uint64_t count_unrolled(const StabProgram& program) { return unrolled_of(program, 0); }

std::uint64_t count_branches(const StabProgram& program) { return branches_of(program, 0); }

}  // namespace tilewave::stabilizer
