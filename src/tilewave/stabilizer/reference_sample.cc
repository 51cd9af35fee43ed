#include "tilewave/stabilizer/reference_sample.h"

#include <algorithm>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/loop_period.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;
constexpr std::uint64_t kMaxRecords = std::uint64_t{1} << 36;  // 8 GiB of bits

class Reference {
 public:
  explicit Reference(const StabProgram& program)
      : program_(program), places_(places_of(program)), tableau_(num_used(places_)) {
    bits_.resize((program.counts.measurements + 63) / 64);
  }

  std::vector<std::uint64_t> run() {
    block(0);
    return std::move(bits_);
  }

 private:
  static constexpr std::uint32_t kNowhere = ~0u;

  // Where a qubit has its rows in the tableau, whose size is the square of the qubits that are used.
  static std::vector<std::uint32_t> places_of(const StabProgram& program) {
    std::vector<std::uint32_t> places(program.counts.qubits, kNowhere);
    for (const std::vector<Prim>& prims : program.blocks) {
      for (const Prim& p : prims) {
        if (uses_tableau(p)) for_each_qubit(program, p, [&](std::uint32_t q) { places[q] = 0; });
      }
    }
    std::uint32_t next = 0;
    for (std::uint32_t& place : places) {
      if (place != kNowhere) place = next++;
    }
    return places;
  }
  static std::uint32_t num_used(const std::vector<std::uint32_t>& places) {
    return static_cast<std::uint32_t>(places.size()) -
           static_cast<std::uint32_t>(std::count(places.begin(), places.end(), kNowhere));
  }
  std::uint32_t at(std::uint32_t q) const { return places_[q]; }

  void put(bool value) {
    if (value) bits_[count_ / 64] |= std::uint64_t{1} << (count_ % 64);
    ++count_;
  }
  bool record(std::uint64_t index) const { return (bits_[index / 64] >> (index % 64)) & 1; }

  void block(std::uint32_t index) {
    const std::vector<Prim>& prims = program_.blocks[index];
    for (std::size_t i = 0; i < prims.size(); ++i) {
      check_interrupt_once_in<64>();
      const Prim& p = prims[i];
      if (all_read_ && uses_tableau(p)) continue;
      switch (p.kind) {
        case P::kClifford1:
          tableau_.apply(program_.cliffords[p.first], at(p.a));
          break;
        case P::kControlled:
          tableau_.apply_controlled(p.p, at(p.a), p.q, at(p.b));
          break;
        case P::kSwap:
          tableau_.swap(at(p.a), at(p.b));
          break;
        case P::kMeasure:
        case P::kReset:
          i = collapses(prims, i, index == 0);
          break;
        case P::kPad:
          put(p.flag);
          break;
        case P::kHerald:
        case P::kLeakHerald:
          for (std::uint32_t k = 0; k < p.count; ++k) put(false);
          break;
        case P::kFeedback:
          if (record(count_ - p.b)) tableau_.apply_pauli(p.p, at(p.a));
          break;
        case P::kRepeat:
          loop(p);
          break;
        default:
          break;
      }
    }
  }

  // Primitives that change or read the tableau.
  static bool uses_tableau(const Prim& p) {
    switch (p.kind) {
      case P::kClifford1:
      case P::kControlled:
      case P::kSwap:
      case P::kMeasure:
      case P::kReset:
      case P::kFeedback:
      case P::kRepeat:
        return true;
      default:
        return false;
    }
  }

  // A run of measurements and resets: their qubits are made determined together, then read one by
  // one. Returns the index of the run's last primitive.
  std::size_t collapses(const std::vector<Prim>& prims, std::size_t first, bool outermost) {
    std::size_t end = first;
    std::vector<std::uint32_t> places;
    // A run may touch a qubit again in the same basis only (measure, then reset).
    basis_.resize(tableau_.num_qubits(), Pauli::kI);
    for (; end < prims.size() && (prims[end].kind == P::kMeasure || prims[end].kind == P::kReset ||
                                  prims[end].kind == P::kRecordFlip);
         ++end) {
      const Prim& p = prims[end];
      if (p.kind == P::kRecordFlip) continue;
      const std::uint32_t place = at(p.a);
      if (basis_[place] == Pauli::kI) {
        basis_[place] = p.p;
        to_z(p.p, place);
        places.push_back(place);
      } else if (basis_[place] != p.p) {
        break;
      }
    }
    // Gates behind the last measurement, such as those that undo the ones of an MPP, are left out.
    const bool last =
        outermost &&
        std::none_of(prims.begin() + static_cast<std::ptrdiff_t>(end), prims.end(),
                     [](const Prim& p) { return p.kind == P::kMeasure || p.kind == P::kRepeat; });
    all_read_ = last;
    tableau_.collapse_z(places, last);
    for (std::size_t i = first; i < end; ++i) {
      const Prim& p = prims[i];
      if (p.kind == P::kMeasure) put(tableau_.outcome_z(at(p.a)) != p.flag);
      if (p.kind == P::kReset && tableau_.outcome_z(at(p.a)))
        tableau_.apply_pauli(Pauli::kX, at(p.a));
    }
    for (const std::uint32_t place : places) {
      if (!last) to_z(basis_[place], place);
      basis_[place] = Pauli::kI;
    }
    return end - 1;
  }
  // An involution that exchanges the basis with Z.
  void to_z(Pauli basis, std::uint32_t place) {
    if (basis == Pauli::kX) tableau_.apply(circuit::gate_clifford1(circuit::GateId::kH), place);
    if (basis == Pauli::kY) tableau_.apply(circuit::gate_clifford1(circuit::GateId::kHyz), place);
  }

  void loop(const Prim& p) {
    const std::uint64_t iterations = program_.repeats[p.b];
    // State and records looked back at -> iteration.
    std::unordered_map<std::uint64_t, std::uint64_t> seen;
    const std::uint64_t start = count_;
    std::uint64_t per_iteration = 0;
    for (std::uint64_t k = 0; k < iterations; ++k) {
      if (seen.size() >= LoopPeriod::kMostStates) {
        if (iterations - k > LoopPeriod::kMostStates) throw_no_period(program_, p, k);
      } else if (iterations > 4) {
        const std::uint64_t state = state_hash(count_);
        const auto [it, fresh] = seen.emplace(state, k);
        if (!fresh) {
          const std::uint64_t rest = fold(start, per_iteration, it->second, k, iterations);
          for (std::uint64_t i = 0; i < rest; ++i) block(p.a);
          return;
        }
      }
      block(p.a);
      if (k == 0) per_iteration = count_ - start;
    }
  }
  // The tableau and the records that feedback may still look at.
  std::uint64_t state_hash(std::uint64_t end) {
    std::uint64_t h = tableau_.hash();
    const std::uint64_t window = std::min(end, program_.counts.max_lookback);
    for (std::uint64_t k = 1; k <= window; ++k) h = (h ^ record(end - k)) * 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 29);
  }
  // Iteration `k` starts as iteration `since` did: copies the records of whole periods. Returns how
  // many iterations are left to simulate; they bring the state to where the loop ends.
  std::uint64_t fold(std::uint64_t start, std::uint64_t per_iteration, std::uint64_t since,
                     std::uint64_t k, std::uint64_t iterations) {
    const std::uint64_t period = (k - since) * per_iteration;
    const std::uint64_t rest = (iterations - k) % (k - since);
    const std::uint64_t end = start + (iterations - rest) * per_iteration;
    bool any = false;
    for (std::uint64_t r = count_ - period; r < count_ && !any; ++r) any = record(r);
    if (any) {
      for (std::uint64_t r = count_; r < end; ++r) {
        if (record(r - period)) bits_[r / 64] |= std::uint64_t{1} << (r % 64);
      }
    }
    count_ = end;
    return rest;
  }

  const StabProgram& program_;
  const std::vector<std::uint32_t> places_;
  Tableau tableau_;
  std::vector<std::uint64_t> bits_;
  std::vector<Pauli> basis_;
  std::uint64_t count_ = 0;
  bool all_read_ = false;  // nothing reads the tableau any more
};

}  // namespace

std::vector<std::uint64_t> reference_sample(const StabProgram& program) {
  if (program.counts.measurements > kMaxRecords) {
    fail(ExitCode::kResources, "the circuit makes ", program.counts.measurements,
         " measurement records a shot, which do not fit memory: shorten its REPEAT blocks");
  }
  return Reference(program).run();
}

}  // namespace tilewave::stabilizer
