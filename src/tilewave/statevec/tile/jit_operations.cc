#include "tilewave/statevec/tile/jit_operations.h"

#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

int pairs_of(const ListedOp& op, std::uint32_t bit) {
  int pairs = 0;
  for (std::uint32_t j = 0; j < 1u << kMaxRegisterBits; ++j)
    pairs += !(j >> bit & 1) && (op.pairs >> j & 1);
  return pairs;
}

std::vector<int> uses_of_numbers(const ListedOp& op) {
  const std::uint32_t code = op.word.code();
  if (code >= kRotate && code < kMatrix1) {
    const int uses = 2 * pairs_of(op, code - kRotate);
    return {2 * uses, uses};
  }
  if (code >= kMatrix1 && code < kMatrix2)
    return std::vector<int>(8, 2 * pairs_of(op, code - kMatrix1));
  if (code >= kTauOne && code < kPhase) return {kLiftUses};
  if (code >= kLift && code < kTable) return {kLiftUses, kLiftUses};
  const bool is_phase = code == kPhaseAll || code == kPhaseSet;
  if (is_phase && op.word.factor() == FactorClass::kConstant) return {kLiftUses, kLiftUses};
  return {};
}

int bytes_of(const ListedOp& op, Precision precision) {
  const std::uint32_t code = op.word.code();
  if (code >= kLift && code < kTable) return kJitLiftBytes;
  if (code >= kChoiceLift) {
    constexpr int kPairs = 1 << (kMaxRegisterBits - 1);
    const bool is_signed = static_cast<std::uint32_t>(op.word.factor()) & ChoiceLift::kSigned;
    return kJitLiftBytes +
           (kPairs - (is_signed ? 0 : ChoiceLift::count(op.pairs, 0))) * kJitTurnedPairBytes;
  }
  if (code >= kPhaseLift) return code_bytes(code - kPhaseLift + kPhase) * 2 / 3 - kJitLiftBytes / 2;
  if (code == kExchange) return kJitExchangeBytes;
  if (code >= kFlip && code < kRotate) {
    if (!op.word.controlled()) return 0;  // registers take other names
    const auto words = static_cast<int>(amplitude_bytes(precision) / 4);
    return kJitOtherBytes + pairs_of(op, code - kFlip) * words * kJitFlippedWordBytes;
  }
  if (code >= kRotate && code < kMatrix1)
    return kJitOtherBytes + pairs_of(op, code - kRotate) * kJitRotatedPairBytes;
  if (code >= kMatrix1 && code < kMatrix2) return kJitMatrix1Bytes;
  if (code >= kMatrix2 && code < kTauOne) return kJitMatrix2Bytes;
  return code_bytes(code) * 2 / 3 - (code >= kTauOne && code < kGeneral ? kJitLiftBytes : 0);
}

}  // namespace tilewave::statevec::tile
