#include "tilewave/stabilizer/needed_coins.h"

#include <bit>

#include "tilewave/base/interrupt.h"
#include "tilewave/base/philox.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;

constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 24;  // primitives: a tenth of a second
constexpr std::uint64_t kSeed = 0x5DEECE66D1CE4E5Bull;

std::uint64_t steps_of(const StabProgram& program, std::uint32_t block) {
  std::uint64_t steps = program.blocks[block].size();
  for (const Prim& p : program.blocks[block]) {
    if (p.kind == P::kRepeat) {
      steps =
          saturating_add(steps, saturating_multiply(program.repeats[p.b], steps_of(program, p.a)));
    }
  }
  return steps;
}

class CoinWalk {
 public:
  CoinWalk(const StabProgram& program, bool records, NeededCoins& out)
      : program_(program),
        by_record_(records),
        out_(out),
        x_(program.counts.qubits),
        z_(program.counts.qubits),
        records_(std::bit_ceil(program.counts.max_lookback + 1)),
        num_records_(program.counts.measurements),
        num_detectors_(program.counts.detectors) {}

  void run() {
    block(0);
    for (std::size_t q = 0; q < z_.size(); ++q) out_.start[q] = z_[q] != 0;
  }

 private:
  static std::uint64_t fingerprint(std::uint64_t stream, std::uint64_t index) {
    return random_bits(kSeed, stream, index);
  }
  std::uint64_t& record(std::uint64_t back) {
    return records_[(num_records_ - back) & (records_.size() - 1)];
  }
  std::uint64_t flips(Pauli p, std::uint32_t q) const {
    return p == Pauli::kX ? x_[q] : p == Pauli::kZ ? z_[q] : x_[q] ^ z_[q];
  }
  void anticommuting(Pauli p, std::uint32_t q, std::uint64_t symptoms) {
    if (p != Pauli::kX) x_[q] ^= symptoms;
    if (p != Pauli::kZ) z_[q] ^= symptoms;
  }
  std::uint64_t take_record() {
    const std::uint64_t symptoms = record(1);
    record(1) = 0;
    --num_records_;
    return by_record_ ? fingerprint(0, num_records_) ^ symptoms : symptoms;
  }

  void block(std::uint32_t index) {
    const std::vector<Prim>& prims = program_.blocks[index];
    std::vector<bool>& needed = out_.blocks[index];
    for (std::size_t i = prims.size(); i-- > 0;) {
      check_interrupt_once_in<256>();
      const Prim& p = prims[i];
      switch (p.kind) {
        case P::kClifford1: {
          const Clifford1& c = program_.cliffords[p.first];
          const std::uint64_t x = flips(c.x, p.a), z = flips(c.z, p.a);
          x_[p.a] = x, z_[p.a] = z;
          break;
        }
        case P::kControlled: {
          const std::uint64_t a = flips(p.p, p.a), b = flips(p.q, p.b);
          anticommuting(p.p, p.a, b);
          anticommuting(p.q, p.b, a);
          break;
        }
        case P::kSwap:
          std::swap(x_[p.a], x_[p.b]);
          std::swap(z_[p.a], z_[p.b]);
          break;
        case P::kMeasure:
          if (flips(p.p, p.a)) needed[i] = true;
          [[fallthrough]];
        case P::kFrameSign:
          anticommuting(p.p, p.a, take_record());
          break;
        case P::kReset:
          if (flips(p.p, p.a)) needed[i] = true;
          x_[p.a] = z_[p.a] = 0;
          break;
        case P::kPad:
          take_record();
          break;
        case P::kHerald:
        case P::kLeakHerald:
          for (std::uint32_t k = 0; k < p.count; ++k) take_record();
          break;
        case P::kFeedback:
          record(p.b) ^= flips(p.p, p.a);
          break;
        case P::kDetector:
          --num_detectors_;
          if (by_record_) break;
          for (std::uint32_t back : program_.list(p))
            record(back) ^= fingerprint(1, num_detectors_);
          break;
        case P::kObservable:
          if (by_record_) break;
          for (std::uint32_t back : program_.list(p)) record(back) ^= fingerprint(2, p.a);
          break;
        case P::kObservablePauli:
          if (!by_record_) anticommuting(p.p, p.b, fingerprint(2, p.a));
          break;
        case P::kRepeat:
          for (std::uint64_t k = 0; k < program_.repeats[p.b]; ++k) block(p.a);
          break;
        case P::kRecordFlip:
        case P::kPauli1:
        case P::kPauli2:
        case P::kCorrelated:
        case P::kSweep:
        case P::kShift:
        case P::kRotation:
        case P::kLeak:
        case P::kLeakPair:
        case P::kSeal:
        case P::kScramble:
        case P::kScramblePartner:
        case P::kSpread:
        case P::kLeakPauli1:
        case P::kLeakPauli2:
          break;
      }
    }
  }

  const StabProgram& program_;
  bool by_record_;
  NeededCoins& out_;
  std::vector<std::uint64_t> x_, z_, records_;
  std::uint64_t num_records_, num_detectors_;
};

}  // namespace

NeededCoins needed_coins(const StabProgram& program, bool records) {
  const bool all = steps_of(program, 0) > kMostSteps;
  NeededCoins out;
  out.start.assign(program.counts.qubits, all);
  for (const auto& block : program.blocks) out.blocks.emplace_back(block.size(), all);
  if (!all) CoinWalk(program, records, out).run();
  return out;
}

}  // namespace tilewave::stabilizer
