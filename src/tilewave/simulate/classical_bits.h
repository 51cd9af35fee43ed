// The classical bits of a shot: what a circuit computes from them while it runs, and how often they end
// alike, as the bit strings people read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/program.h"

namespace tilewave::simulate {

inline bool get_bit(const Bits& bits, std::uint32_t k) { return bits[k / 64] >> (k % 64) & 1; }
inline void set_bit(Bits& bits, std::uint32_t k, bool value) {
  const std::uint64_t mask = std::uint64_t{1} << (k % 64);
  bits[k / 64] = value ? bits[k / 64] | mask : bits[k / 64] & ~mask;
}

/// The value of an expression that `op` holds; errors name the line of the operation.
std::uint64_t evaluate_at(const circuit::ClassicalExpr& expr, const circuit::Op& op,
                          const Bits& bits);

/// Of a kAssign operation.
void assign(const circuit::Circuit& circuit, const circuit::Op& op, Bits& bits);

/// The angles that a kRuntimeGate has now.
std::vector<double> angles_at(const circuit::Circuit& circuit, const circuit::Op& op,
                              const Bits& bits);

/// One jump more since the last measurement. Throws Error(kInput) for a loop that does not end.
void count_jump(std::uint64_t& jumps);

/// Writes outcomes as keys of Result::counts.
class Counter {
 public:
  explicit Counter(const Program& program);

  /// `count` shots that end with these classical bits (of all qubits when nothing is measured).
  /// Quicker where outcomes arrive in ascending order.
  void add(const Bits& bits, std::uint64_t count);

  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void set(std::map<std::string, std::uint64_t> counts) { counts_ = std::move(counts); }
  std::map<std::string, std::uint64_t> take() { return std::move(counts_); }

 private:
  std::string key(const Bits& bits) const;

  const Program& program_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace tilewave::simulate
