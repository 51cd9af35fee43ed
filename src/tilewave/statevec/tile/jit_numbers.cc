#include "tilewave/statevec/tile/jit_numbers.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

std::vector<Number> numbers_at(const Operations& operations, std::size_t at,
                               const std::vector<int>& uses) {
  std::vector<Number> all;
  for (const int each : uses) {
    all.push_back({operations.number_bytes() == 8 ? operations.read<std::uint64_t>(at)
                                                  : operations.read<std::uint32_t>(at),
                   each});
    at += operations.number_bytes();
  }
  return all;
}

std::vector<Number> numbers_of_phase(const Operations& operations, OpWord word,
                                     std::size_t payload) {
  const std::uint32_t code = word.code();
  const bool lifts = code >= kPhaseLift, is_constant = word.factor() == FactorClass::kConstant;
  const std::uint32_t kind = code - (lifts ? kPhaseLift : kPhase) + kPhase;
  std::vector<Number> own(2);
  const auto append = [&](const std::vector<Number>& more) {
    own.insert(own.end(), more.begin(), more.end());
  };
  if (is_constant) own = numbers_at(operations, payload, {kLiftUses, kLiftUses});
  if (lifts) {
    append(numbers_at(operations, payload + 16, {is_constant ? 0 : 2, kLiftUses}));
  } else {
    own.resize(4);
  }
  if (kind < kPhaseUpper) return own;
  const std::uint32_t lowest = kind < kPhasePairs ? kind - kPhaseUpper : 0;
  std::vector<int> uses;
  for (std::uint32_t b = 0; b + 1 < kMaxRegisterBits; ++b) {
    const int each = b < lowest ? 0 : 2 << (kMaxRegisterBits - 2 - b);
    uses.insert(uses.end(), 2, each);
  }
  append(numbers_at(operations, payload + 32, uses));
  return own;
}

std::vector<Number> numbers_of_choice(const Operations& operations, const ListedOp& op,
                                      std::size_t payload) {
  constexpr int kPairs = 1 << (kMaxRegisterBits - 1);
  const bool is_signed = static_cast<std::uint32_t>(op.word.factor()) & ChoiceLift::kSigned;
  std::vector<int> uses(static_cast<std::size_t>(ChoiceLift::num_numbers(op.pairs, is_signed)));
  uses[0] = kLiftUses;
  for (int k = 0; k < kPairs && !is_signed; ++k) {
    const std::size_t c = ChoiceLift::of_pair(op.pairs, k);
    if (c == 0) {
      uses[1] += 2;
    } else {
      uses[ChoiceLift::kFirstFactor + 2 * c] += 2;
      uses[ChoiceLift::kFirstFactor + 2 * c + 1] += 2;
    }
  }
  return numbers_at(operations, payload, uses);
}

std::vector<std::byte> KernelArguments::bytes(std::size_t number_bytes) const {
  std::vector<std::byte> all(std::max<std::size_t>(bits.size(), 1) * number_bytes);
  for (std::size_t n = 0; n < bits.size(); ++n)
    std::memcpy(all.data() + n * number_bytes, &bits[n], number_bytes);
  return all;
}

namespace {

/// Those that so many instructions of an operation need. Equal ones are one argument as long as few
/// others come between them: the assembler keeps an argument in a uniform register from its first
/// to its last use and, where those are too many, reads it again for every instruction.
KernelArguments arguments(const std::vector<std::vector<Number>>& wanted, int least_uses,
                          std::size_t number_bytes) {
  const std::size_t most_known = std::size_t{kJitKnownBytes} / number_bytes;
  KernelArguments chosen;
  std::map<std::uint64_t, std::uint32_t> known;  // to its place + 1
  for (const std::vector<Number>& numbers : wanted) {
    std::map<std::uint64_t, int> uses;
    for (const Number& x : numbers) uses[x.bits] += x.uses;
    std::size_t added = 0;
    for (const auto& [bits, count] : uses) added += count >= least_uses && !known.contains(bits);
    if (known.size() + added > most_known) known.clear();
    std::vector<std::uint32_t>& list = chosen.lists.emplace_back();
    for (const Number& x : numbers) {
      list.push_back(0);
      if (x.uses == 0 || uses[x.bits] < least_uses) continue;
      const auto next = static_cast<std::uint32_t>(chosen.bits.size() + 1);
      const auto [place, is_new] = known.try_emplace(x.bits, next);
      if (is_new) chosen.bits.push_back(x.bits);
      list.back() = place->second;
    }
    while (!list.empty() && list.back() == 0) list.pop_back();
  }
  return chosen;
}

}  // namespace

KernelArguments choose_arguments(const CodeBlocks& shared,
                                 const std::vector<std::vector<Number>>& numbers,
                                 std::size_t number_bytes) {
  std::vector<std::vector<Number>> wanted(numbers.size());
  for (const CodeBlocks::Step& step : shared.steps) {
    const CodeBlocks::Block& block = shared.blocks[step.block];
    for (std::size_t k = block.first; k < block.last; ++k) {
      const std::vector<Number>& now = numbers[step.first + (k - block.first)];
      if (step.first == block.first) wanted[k] = now;
      TW_CHECK(now.size() == wanted[k].size(), "operations that share code have other numbers");
      for (std::size_t n = 0; n < now.size(); ++n) {
        if (now[n].bits != wanted[k][n].bits) wanted[k][n].uses = 0;
      }
    }
  }
  const std::size_t most = std::size_t{kJitNumberBytes} / number_bytes;
  for (int least_uses = 1;; least_uses *= 2) {
    KernelArguments chosen = arguments(wanted, least_uses, number_bytes);
    if (chosen.bits.size() <= most) return chosen;
  }
}

}  // namespace tilewave::statevec::tile
