#include "tilewave/simulate/bench_floors.h"

namespace tilewave::simulate {

namespace {

struct Row {
  std::string_view name;
  int passes;
  double double_arithmetic_ms;
};
constexpr Row kRows[] = {{"qft_30", 3, 0},
                         {"ghz_30", 3, 0},
                         {"ghz_qft_30", 5, 0},
                         {"random_30", 7, 65},
                         {"supremacy_30", 10, 0},
                         {"quantum_volume_30", 13, 149},
                         {"ising_30", 6, 56},
                         {"qaoa_30", 6, 0},
                         {"bv_30", 3, 0},
                         {"contest_random_30", 8, 80},
                         {"contest_ghz_30", 3, 0},
                         {"contest_ghz_qft_29", 3, 0},
                         {"contest_invqft_30", 5, 0}};
constexpr double kSingleShare = 33.0 / 61.0;

}  // namespace

std::optional<CircuitFloor> circuit_floor(std::string_view name, statevec::Precision precision) {
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    const double share = precision == statevec::Precision::kDouble ? 1 : kSingleShare;
    return CircuitFloor{row.passes, 1e-3 * row.double_arithmetic_ms * share};
  }
  return std::nullopt;
}

}  // namespace tilewave::simulate
