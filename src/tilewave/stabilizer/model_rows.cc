#include "tilewave/stabilizer/model_rows.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"

namespace tilewave::stabilizer {

ModelRows model_rows(const circuit::ErrorModel& model, bool with_errors, const std::string& name) {
  constexpr std::uint64_t kMostBits = std::uint64_t{1} << 31;  // of the sparse engine
  const circuit::ModelSize size = circuit::size_of(model);
  circuit::need_unrollable(size);
  const std::uint64_t bits = saturating_add(saturating_add(size.detectors, size.observables),
                                            with_errors ? size.errors : 0);
  if (bits >= kMostBits) {
    fail(ExitCode::kResources, name, ": shots of ", bits,
         " bits are too large, below 2^31 are sampled: shorten the model's repeat blocks");
  }
  ModelRows m;
  m.name = name;
  m.num_detectors = size.detectors;
  m.num_observables = size.observables;
  m.with_errors = with_errors;
  m.errors.reserve(size.errors);
  std::vector<std::uint64_t> flips;  // of one error
  circuit::for_each_error(model.instructions,
                          [&](const circuit::DemInstruction& op, std::uint64_t offset) {
                            flips.clear();
                            for (const circuit::DemTarget& t : op.targets) {
                              if (t.kind == circuit::DemTarget::Kind::kDetector)
                                flips.push_back(offset + t.index);
                              if (t.kind == circuit::DemTarget::Kind::kObservable)
                                flips.push_back(m.num_detectors + t.index);
                            }
                            circuit::keep_odd(flips);
                            if (with_errors) flips.push_back(m.first_error() + m.errors.size());
                            IndependentError& to = m.errors.emplace_back();
                            to.probability = op.args[0];
                            to.bits.reserve(flips.size());
                            for (std::uint64_t b : flips)
                              to.bits.push_back(static_cast<std::uint32_t>(b));
                          });
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
