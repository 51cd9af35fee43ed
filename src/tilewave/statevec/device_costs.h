// What the planner is told of a CUDA device: the rates that its user measured with `tilewave tune`
// (rates/rates_file.h); those shipped for a device of its model, where they were checked against
// times; some measured on it once, in less than a second, and kept in the user's cache
// (runtime/cost_cache.h); or those of a model, which say whose they are.
#pragma once

#include <memory>
#include <string>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/rates/question_rates.h"
#include "tilewave/statevec/rates/rates_file.h"

namespace tilewave::statevec {

enum class CostSource : std::uint8_t { kModel, kShipped, kMeasured, kTuned };

struct CostOrigin {
  CostSource source = CostSource::kModel;
  std::shared_ptr<const rates::RatesFile> file;  ///< null where there is none
  /// For reports: "tuned on 2026-11-26, kept in ...", "a model: ...".
  std::string text() const;
};

/// Of one precision. `measures`: where nothing better is known and the device has 600 MiB free. Throws
/// Error(kInput) where the user's file is refused; a build without CUDA throws Error(kResources).
CostModel cuda_cost_model(const runtime::CudaDevice& device, Precision precision, bool measures,
                          CostOrigin* origin = nullptr);

/// What answers take of a CUDA device; zeros where its user has not tuned it.
rates::QuestionRates cuda_question_rates(const std::string& device_name, Precision precision);

/// What compiles passes for the device, and where the kernels are kept; or "none: " and why.
std::string compiled_passes();
/// A warning where the compiler refused the kernel of a pass in this process; otherwise empty.
std::string refused_passes();

}  // namespace tilewave::statevec
