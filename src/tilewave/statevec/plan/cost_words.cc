#include "tilewave/statevec/plan/cost_words.h"

#include <bit>

namespace tilewave::statevec {

std::vector<std::uint64_t> words_of(const CostModel& c) {
  static_assert(sizeof(CostModel) == 352, "a new field is one more word below");
  std::vector<std::uint64_t> words;
  for (const int n :
       {c.tile_qubits, c.row_bits, c.wide_tile_qubits, c.block_bits, c.threads, c.move_positions,
        c.small_tile_qubits, c.search_from_qubits, c.shard_bits, c.overlap.slice_bits,
        c.overlap.min_local_qubits, int{c.mixed_tiles}, int{c.late_phases}})
    words.push_back(static_cast<std::uint64_t>(n));
  for (const double x :
       {c.bandwidth, c.wide_bandwidth, c.exposed, c.wide_exposed, c.wide_from_s, c.lift_s, c.flip_s,
        c.rotate_s, c.phase_s, c.multiply_s, c.factored_share, c.pass_overhead_s,
        c.exchange_bandwidth, c.exchange_overhead_s, c.overlap.hidden, c.touch_byte_s})
    words.push_back(std::bit_cast<std::uint64_t>(x));
  StepRates steps = c.steps;
  for (const double* s : steps.all()) words.push_back(std::bit_cast<std::uint64_t>(*s));
  TrafficRates traffic = c.traffic;
  for (const double* s : traffic.all()) words.push_back(std::bit_cast<std::uint64_t>(*s));
  words.push_back(reinterpret_cast<std::uintptr_t>(c.writer));
  words.push_back(reinterpret_cast<std::uintptr_t>(c.price));
  return words;
}

}  // namespace tilewave::statevec
