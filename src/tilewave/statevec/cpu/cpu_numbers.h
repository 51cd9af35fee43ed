// The numbers of the CPU engine's cost model in one precision, as `tilewave tune` finds them and files
// of rates keep them (rates/rates_file.h). Without such a file they are those of CpuRates: a few
// measured in a moment, the others in fixed proportion to them.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "tilewave/statevec/cpu/pass_costs.h"
#include "tilewave/statevec/rates/question_rates.h"
#include "tilewave/statevec/rates/rates_file.h"

namespace tilewave::statevec::cpu {

/// States of which the traffic is measured apart: 1 MiB, 4 MiB, 16 MiB and 64 MiB; larger ones are
/// `kFarBytes`.
inline constexpr std::array<double, 4> kNearBytes = {0x1p20, 0x1p22, 0x1p24, 0x1p26};
inline constexpr double kFarBytes = 0x1p28;

struct CpuNumbers {
  /// By Term. Bytes: read + written, with all threads, of a state that no cache holds. Amplitudes:
  /// of one thread.
  Terms rates{};
  double alone_byte_s = 0;                 ///< a byte moved in full tiles by one thread
  std::array<double, 4> near{1, 1, 1, 1};  ///< of a byte's time, where the state has kNearBytes
  double touch_byte_s = 0;                 ///< CostModel::touch_byte_s
  /// What circuits are lowered by: seconds an amplitude of an action, of one thread.
  double lift_s = 0, flip_s = 0, rotate_s = 0, phase_s = 0, multiply_s = 0;
  rates::QuestionRates questions;

  /// Of a byte's time, in a state of so many bytes.
  double near_share(double state_bytes) const;
};
inline constexpr std::size_t kNumCpuNumbers = sizeof(CpuNumbers) / sizeof(double);

/// In the order of the list.
std::span<const rates::NumberInfo> cpu_number_list();

/// What the program takes without a file, for this precision: rates of the machine that the engine
/// was tuned on.
CpuNumbers model_numbers(bool is_double);

/// The processor's model, its key in files of rates.
const std::string& processor();
/// The file of this machine; null where nobody has tuned it. See rates::find().
std::shared_ptr<const rates::RatesFile> tuned_cpu();

/// Sets what a state of n qubits on so many threads costs by these numbers.
void set_costs(CostModel& cost, const CpuNumbers& numbers, double state_bytes, int threads);

}  // namespace tilewave::statevec::cpu
