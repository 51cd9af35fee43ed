#include "tilewave/statevec/device_costs.h"

#include "tilewave/base/concat.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/statevec/tile/device_numbers.h"

namespace tilewave::statevec {

std::string CostOrigin::text() const {
  const std::string others =
      file ? concat("shipped, ", file->origin()) : concat("a model, that of ", tile::kModelOf);
  switch (source) {
    case CostSource::kTuned:
      return concat("tuned on ", file->date.substr(0, 10), ", kept in ", file->path);
    case CostSource::kShipped:
      return concat(others,
                    file->checks.empty() ? " (too little memory is free to measure any)" : "");
    case CostSource::kMeasured: {
      const std::string kept = runtime::cost_file();
      return concat("some measured in a moment", kept.empty() ? "" : " and kept in ", kept,
                    ", the others ", others, "; 'tilewave tune' measures all");
    }
    case CostSource::kModel:
      break;
  }
  return concat(others, ", not measured on this device; 'tilewave tune' measures it");
}

rates::QuestionRates cuda_question_rates(const std::string& device_name, Precision precision) {
  const auto list = tile::device_number_list();
  auto file = rates::find(rates::Kind::kCuda, device_name, list);
  if (!file) file = rates::shipped(rates::Kind::kCuda, device_name, list);
  return file ? rates::from_flat<tile::DeviceNumbers>(file->of(precision)).questions
              : rates::QuestionRates{};
}

}  // namespace tilewave::statevec
