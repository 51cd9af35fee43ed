// What answers about a state take, as `tilewave tune` finds it: for predictions of a run's last steps.
#pragma once

#include <cstdint>

namespace tilewave::statevec::rates {

/// Of a whole state: seconds a byte of it. 0 where nobody has measured them.
struct QuestionRates {
  double norm_byte_s = 0;
  double marginals_byte_s = 0;
  double sample_byte_s = 0;  ///< a walk over the state in which samples are found
  double shot_s = 0;         ///< more for every sample

  double norm_s(double state_bytes) const { return norm_byte_s * state_bytes; }
  double marginals_s(double state_bytes) const { return marginals_byte_s * state_bytes; }
  double sample_s(double state_bytes, std::uint64_t shots) const {
    return sample_byte_s * state_bytes + shot_s * static_cast<double>(shots);
  }
};

}  // namespace tilewave::statevec::rates
