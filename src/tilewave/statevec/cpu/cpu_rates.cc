#include "tilewave/statevec/cpu/cpu_state.h"

namespace tilewave::statevec::cpu {

const CpuRates& cpu_rates() {
  static const CpuRates rates;
  return rates;
}

}  // namespace tilewave::statevec::cpu
