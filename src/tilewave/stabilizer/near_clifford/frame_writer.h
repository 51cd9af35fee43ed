// Writes the frame program of a near-Clifford circuit: the circuit's own primitives without loops,
// with their records counted anew between the records that the compiler adds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

using PauliFactors = std::vector<std::pair<std::uint32_t, circuit::Pauli>>;

class FrameWriter {
 public:
  /// `records`: every record becomes a detector, and the circuit's own detectors and observables are
  /// left out.
  FrameWriter(const StabProgram& source, bool records);

  /// Copies a primitive that is no loop or rotation and makes no record; records it names are found.
  void copy(const Prim& p);
  /// Copies a primitive that makes a record; its noise of `flip` (an index of params, or kNoFlip)
  /// follows it.
  static constexpr std::uint32_t kNoFlip = ~std::uint32_t{0};
  void copy_record(const Prim& p, std::uint32_t flip);
  /// A record of the sign of a Pauli product; returns its number.
  std::uint32_t frame_sign(const PauliFactors& factors, std::uint32_t source);
  /// A record that is 0; returns its number.
  std::uint32_t zero_record(std::uint32_t source);
  /// The frame gains these factors where a record flips.
  void feedback(const PauliFactors& factors, std::uint32_t record, std::uint32_t source);
  /// A further observable: these records add up to sign `index`.
  void observe(std::uint32_t index, std::span<const std::uint32_t> records, std::uint32_t source);

  std::uint64_t num_records() const { return record_of_.size(); }  ///< of the circuit, so far
  /// Observables of the circuit, which come before those of observe().
  std::uint64_t num_observables() const { return records_only_ ? 0 : source_.counts.observables; }
  StabProgram finish(std::uint64_t num_signs);

 private:
  std::uint32_t back(std::uint32_t record);  // how far back it lies
  std::uint32_t back_of(std::uint32_t lookback) {
    return back(record_of_[record_of_.size() - lookback]);
  }
  void controlled(const std::pair<std::uint32_t, circuit::Pauli>& f, std::uint32_t q,
                  circuit::Pauli p, std::uint32_t source);
  void set_list(Prim& p, std::span<const std::uint32_t> values);
  void emit(const Prim& p);

  const StabProgram& source_;
  bool records_only_;
  StabProgram out_;
  std::vector<std::uint32_t> record_of_;
  std::uint32_t records_ = 0;  // written
  std::uint32_t max_back_ = 0;
};

}  // namespace tilewave::stabilizer
