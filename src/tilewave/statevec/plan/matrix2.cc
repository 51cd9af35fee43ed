#include "tilewave/statevec/plan/matrix2.h"

#include <numbers>

namespace tilewave::statevec::detail {

namespace {

// 2^11 / 2^64 of a turn is 7e-16 rad: the rounding of a double angle
constexpr std::uint64_t kNegligibleTurns = std::uint64_t{1} << 11;
constexpr std::uint64_t kRoundingTurns = 8 * kNegligibleTurns;  // of a sum of angles of entries

}  // namespace

bool is_negligible(std::uint64_t turns) { return turns + kNegligibleTurns < 2 * kNegligibleTurns; }

std::uint64_t turns_of(double angle) {
  if (angle < 0) return ~turns_of(-angle) + 1;
  const long double turns = static_cast<long double>(angle) / (2 * std::numbers::pi_v<long double>);
  const long double scaled = (turns - std::floor(turns)) * 0x1p64L;
  const std::uint64_t exact = scaled >= 0x1p64L ? 0 : static_cast<std::uint64_t>(scaled);
  // angles such as pi/2^k are rounded to double by their writers: within one such rounding, take
  // the exact fraction
  const std::uint64_t grid = std::uint64_t{1} << 40;
  const std::uint64_t nearest = (exact + grid / 2) / grid * grid;
  const std::uint64_t distance = nearest > exact ? nearest - exact : exact - nearest;
  return distance < kNegligibleTurns ? nearest : exact;
}

bool Matrix2::is_unitary() const {
  const double unitarity = std::abs(std::norm(m[0]) + std::norm(m[2]) - 1) +
                           std::abs(std::norm(m[1]) + std::norm(m[3]) - 1) +
                           std::abs(std::conj(m[0]) * m[1] + std::conj(m[2]) * m[3]);
  return unitarity < 1e-10;
}

bool Matrix2::are_zero(int j, int k) const {
  const double size = std::abs(m[0]) + std::abs(m[1]) + std::abs(m[2]) + std::abs(m[3]);
  return std::abs(m[j]) <= kZero * size && std::abs(m[k]) <= kZero * size;
}

EulerTurns euler_turns(const Matrix2& m) {
  const std::uint64_t g = turns_of(arg(m.m[0]));
  const std::uint64_t post = turns_of(arg(m.m[2])) - g;
  std::uint64_t pre = turns_of(arg(-m.m[1])) - g;
  if (std::abs(m.m[2]) <= std::abs(m.m[0])) {
    // a product's small entry may have any angle: what counts is that of m[3]
    const std::uint64_t missing = turns_of(arg(m.m[3])) - (g + post + pre);
    if (missing + kRoundingTurns >= 2 * kRoundingTurns) pre += missing;
  }
  return {g, post, pre};
}

}  // namespace tilewave::statevec::detail
