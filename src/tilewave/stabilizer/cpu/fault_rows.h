// Rows of shots with a given number of faults: what else is random is drawn by the sparse engine,
// then the faults of each shot flip their bits. A unit has one sequence of random words, which its
// shots use one after the other, whatever part of the unit is asked for: the bits depend on the
// seed, the range of faults, the unit and its size alone.
//
// In a class of n places, m of them are drawn by Floyd's method: for j = n - m ... n - 1 a number up
// to j, and j itself where that place has been taken. Every set has the same chance, and a fault costs
// one random word: its upper part is the place, what is left of it the outcome of the channel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tilewave/stabilizer/cpu/wide_rows.h"
#include "tilewave/stabilizer/fault_numbers.h"
#include "tilewave/stabilizer/fault_sites.h"

namespace tilewave::stabilizer {

/// A set of places in one thread's memory.
struct TakenPlaces {
  std::vector<std::uint64_t> bits, list;
};

/// The outcomes of a place: alias[first .. first + count), masks from `mask` on.
struct WidePlace {
  std::uint32_t first = 0, count = 1, mask = 0;
};

class FaultRows {
 public:
  /// Throws as FaultNumbers.
  FaultRows(FaultProgram program, FaultRange range);

  const FaultProgram& program() const { return program_; }
  const FaultNumbers& numbers() const { return *numbers_; }
  /// The next rows have so many faults. Not while rows are made. Throws as FaultNumbers.
  void set_range(FaultRange range);
  /// The same with numbers that are made already, of the program's classes.
  void set_numbers(std::shared_ptr<const FaultNumbers> numbers) { numbers_ = std::move(numbers); }

  /// The seed of the shots with this range of faults: streams of different ranges are independent.
  std::uint64_t seed_of(std::uint64_t seed) const;

  /// Memory of one thread.
  struct Scratch {
    std::vector<std::uint64_t> words;
    TakenPlaces taken;
  };
  /// Adds the faults of unit `unit`, of 2^log2_unit shots, to packed rows `stride` bytes apart. `seed`
  /// is one of seed_of().
  void add(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit, std::size_t stride,
           std::uint8_t* rows, Scratch& scratch) const;
  /// The same for rows of `words` words, 1, 2, 4 or 8.
  void add_wide(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit,
                std::uint32_t words, std::uint64_t* rows, Scratch& scratch) const;
  /// Whether rows may be wide ones: few bits, and not too many places, which do not move.
  bool is_wide() const { return !masks_.empty(); }

 private:
  template <class Rows>
  void add_faults(std::uint64_t seed, std::uint64_t unit, std::uint32_t log2_unit, const Rows& rows,
                  Scratch& scratch) const;

  void make_masks();

  FaultProgram program_;
  std::shared_ptr<const FaultNumbers> numbers_;
  // For wide rows every place has its outcomes written out, so that a fault takes no decisions: also
  // where it flips nothing, the one outcome in front.
  std::uint32_t mask_words_ = 0;
  std::vector<std::uint64_t> masks_;           // of outcomes, mask_words_ each
  std::vector<WidePlace> places_;              // class by class
  std::vector<std::uint64_t> first_of_class_;  // in places_
  std::vector<AliasEntry> alias_;
};

}  // namespace tilewave::stabilizer
