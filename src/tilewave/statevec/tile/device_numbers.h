// The numbers of a CUDA device's cost model in one precision, as `tilewave tune` finds them and files
// of rates keep them (rates/rates_file.h): what passes move and what actions take, by which plans are
// compared, and what operations of programs take, by which passes are written (tile_tuning.h).
#pragma once

#include <span>
#include <vector>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/rates/question_rates.h"
#include "tilewave/statevec/rates/rates_file.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

struct DeviceNumbers {
  double byte_s = 0;                     ///< a byte of a pass without actions, read + written
  double wide_byte_s = 0;                ///< with the tile of two blocks
  double pass_s = 0;                     ///< starting a pass
  double exposed = 0, wide_exposed = 0;  ///< see CostModel
  double lift_s = 0, flip_s = 0, rotate_s = 0, phase_s = 0, multiply_s = 0;
  rates::QuestionRates questions;
  OpCosts interpreted, compiled;
};
inline constexpr std::size_t kNumDeviceNumbers = sizeof(DeviceNumbers) / sizeof(double);
/// Where those start that terms of a step are multiplied by: the passes', then the programs'.
inline constexpr std::size_t kNumActionTerms = 10, kFirstInterpreted = 14,
                             kFirstCompiled = kFirstInterpreted + kNumOpCosts;

/// In the order of the list.
std::span<const rates::NumberInfo> device_number_list();

/// Of a device that nobody has measured: the H200's, arithmetic by the number of multiprocessors.
DeviceNumbers model_numbers(const runtime::CudaDevice& device, Precision precision);
/// The machine of these numbers and the day they were found.
inline constexpr const char* kModelOf = "NVIDIA H200, 2026-11-21";

/// Sets what plans are compared by. `writer`: whether programs are written by these numbers too,
/// which stay until the process ends.
void set_costs(CostModel& cost, const DeviceNumbers& numbers, Precision precision, bool writer);

/// What the numbers are multiplied by in the prediction of a pass without a look at its program: by
/// action, as price_pass() adds it up. `wide`: with the tile of two blocks.
std::vector<double> action_terms(const Plan& plan, const Pass& pass, bool wide);
/// The same of a program of a pass, by its operations, as program_s() adds it up.
std::vector<double> program_terms(const OpCosts& paid, bool compiled, const Pass& pass,
                                  int num_qubits, bool wide);

/// Seconds of a tile program without its start: that of its traffic, or of its operations and the share
/// of the traffic that does not hide behind them. `paid`: TilePass::paid; `memory_s`: of the traffic;
/// `worked`: amplitudes that it works on; `slower`: than the device that the costs are from.
double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower);

}  // namespace tilewave::statevec::tile
