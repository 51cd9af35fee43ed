// What can run beside an exchange: passes on both sides of it that leave some positions alone.
// These positions number slices of the state; passes over one slice run while another is exchanged.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec {

/// How a machine runs exchanges beside passes.
struct Overlap {
  int slice_bits = 0;        ///< log2 of the slices; 0: it does not
  int min_local_qubits = 0;  ///< smaller shards are exchanged before they overlap
  double hidden = 0;  ///< share of an exchange, or of the passes beside it, that costs nothing

  int bits_for(int local_qubits) const { return local_qubits >= min_local_qubits ? slice_bits : 0; }
};

/// Passes [first, last) run slice by slice around an exchange, the positions of `mask` number the
/// slices; none when it cannot.
struct Around {
  std::size_t first = 0, last = 0;
  std::uint64_t mask = 0;
};
/// Passes before `done` have run.
Around slices_around(const Plan& plan, const Exchange& step, std::size_t done, int slice_bits);

/// Seconds that an exchange and the passes around it take less than one after the other.
double hidden_s(const Plan& plan, const Exchange& step, const Around& around,
                const Overlap& overlap);
/// ... of all exchanges of the plan.
double hidden_s(const Plan& plan, const Overlap& overlap);

}  // namespace tilewave::statevec
