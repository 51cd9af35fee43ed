// What a primitive says of itself: its operands and its probabilities, and none of another one's.
#include "tilewave/stabilizer/stab_program.h"

#include <gtest/gtest.h>

#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {
namespace {

TEST(StabProgram, primitives_have_their_own_operands_and_probabilities) {
  const StabProgram program = lower(language::parse_stim(
      "PAULI_CHANNEL_1(0.1,0.2,0.3) 5 7\nH 0\nM(0.4) 0 1 2 3 4 5 6\nDEPOLARIZE2(0.15) 1 2\n"
      "E(0.25) X3 Z4\nHERALDED_PAULI_CHANNEL_1(0.1,0.2,0.3,0.4) 6\nDETECTOR(8,9) rec[-1]\n"
      "DETECTOR(8)\nSHIFT_COORDS(1,2)\n",
      "f"));
  std::vector<PrimKind> kinds;
  for (const Prim& p : program.blocks[0]) {
    std::vector<std::uint32_t> list;
    std::vector<double> probabilities;
    switch (p.kind) {
      case PrimKind::kPauli1:
        list = {5, 7}, probabilities = {0.1, 0.2, 0.3};
        break;
      case PrimKind::kRecordFlip:
        EXPECT_EQ(p.count, 7u);
        probabilities = {0.4};
        break;
      case PrimKind::kPauli2:
        list = {1, 2}, probabilities.assign(15, 0.15 / 15);
        break;
      case PrimKind::kCorrelated:
        list = {3, static_cast<std::uint32_t>(Pauli::kX), 4, static_cast<std::uint32_t>(Pauli::kZ)};
        probabilities = {0.25};
        break;
      case PrimKind::kHerald:
        list = {6}, probabilities = {0.1, 0.2, 0.3, 0.4};
        break;
      case PrimKind::kDetector:
        if (p.b == 2) list = {1};
        break;
      default:
        break;
    }
    const auto got = program.list(p);
    const auto odds = program.probabilities(p);
    const auto at = kinds.size();
    EXPECT_EQ(std::vector<std::uint32_t>(got.begin(), got.end()), list) << "primitive " << at;
    EXPECT_EQ(std::vector<double>(odds.begin(), odds.end()), probabilities) << "primitive " << at;
    if (kinds.empty() || kinds.back() != p.kind) kinds.push_back(p.kind);
  }
  using P = PrimKind;
  EXPECT_EQ(kinds, (std::vector{P::kPauli1, P::kClifford1, P::kMeasure, P::kRecordFlip, P::kPauli2,
                                P::kCorrelated, P::kHerald, P::kDetector, P::kShift}));
}

}  // namespace
}  // namespace tilewave::stabilizer
