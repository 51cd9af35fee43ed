#include "tilewave/stabilizer/model_rows.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {

ModelRows model_rows(const circuit::ErrorModel& model, bool with_errors, const std::string& name) {
  constexpr std::uint64_t kMostBits = std::uint64_t{1} << 31;  // of the sparse engine
  const circuit::FlatModel flat = circuit::flatten(model);
  const std::uint64_t bits =
      saturating_add(saturating_add(flat.num_detectors, flat.num_observables),
                     with_errors ? flat.errors.size() : 0);
  if (bits >= kMostBits) {
    fail(ExitCode::kResources, name, ": shots of ", bits,
         " bits are too large, below 2^31 are sampled: shorten the model's repeat blocks");
  }
  ModelRows m;
  m.name = name;
  m.num_detectors = flat.num_detectors;
  m.num_observables = flat.num_observables;
  m.with_errors = with_errors;
  m.errors.reserve(flat.errors.size());
  for (const circuit::FlatError& e : flat.errors) {
    auto& to = m.errors.emplace_back();
    to.probability = e.probability;
    for (std::uint64_t d : e.detectors) to.bits.push_back(static_cast<std::uint32_t>(d));
    for (std::uint64_t l : e.observables)
      to.bits.push_back(static_cast<std::uint32_t>(m.num_detectors + l));
    if (with_errors)
      to.bits.push_back(static_cast<std::uint32_t>(m.first_error() + m.errors.size() - 1));
  }
  return m;
}

SparseProgram ModelRows::program() const {
  return build_sparse(errors, num_detectors, num_bits() - num_detectors);
}

FaultProgram ModelRows::faults() const {
  return build_faults(errors, num_detectors, num_bits() - num_detectors);
}

void ModelRows::replay(const std::uint8_t* drawn, std::size_t stride, std::size_t num_shots,
                       std::uint8_t* rows) const {
  const std::size_t bytes = row_bytes();
  std::fill_n(rows, num_shots * bytes, std::uint8_t{0});
  for (std::size_t s = 0; s < num_shots; ++s, drawn += stride, rows += bytes) {
    for (std::size_t e = 0; e < errors.size(); ++e) {
      if (!((drawn[e / 8] >> (e % 8)) & 1)) continue;
      for (std::uint32_t b : errors[e].bits)
        rows[b / 8] ^= static_cast<std::uint8_t>(1u << (b % 8));
    }
  }
}

}  // namespace tilewave::stabilizer
