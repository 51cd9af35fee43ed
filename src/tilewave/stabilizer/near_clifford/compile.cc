// From a program with rotations to a near-Clifford program (program.h). The compiler keeps, for the
// state in which no sign is set, a symplectic basis of signed Paulis, one pair (d, s) a qubit: a
// dormant pair has the stabilizer s and a d that anticommutes with it alone; an active pair is the X
// and Z of a logical qubit. The amplitudes refer to |b> = (product of d^b over active pairs) |0>,
// where |0> is the common + eigenstate of all s. Every gate conjugates all of them.
//
// Rotations wait: a rotation is run when a measurement comes that does not commute with it, or with
// a later one that has to be run. So k grows late, and what nothing measured depends on is never
// run. While it waits, |psi> = F R |phi> with R the product of those that wait, so whatever Pauli
// comes out of |phi> changes, on its way to F, the signs of those it anticommutes with.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/near_clifford/dense_state.h"
#include "tilewave/stabilizer/near_clifford/frame_writer.h"
#include "tilewave/stabilizer/near_clifford/pauli_rows.h"
#include "tilewave/stabilizer/near_clifford/program.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// A rotation that waits.
struct Waiting {
  std::uint32_t row;  // of its Pauli
  double half_turns;
  std::vector<std::uint32_t> signs;  // records of the frame program that add up to its sign
  std::uint32_t source;
  bool is_stale = false;  // since then its sign may have become another than the frame's
};

void toggle_records(std::vector<std::uint32_t>& a, std::span<const std::uint32_t> b) {
  for (std::uint32_t r : b) {
    const auto it = std::find(a.begin(), a.end(), r);
    if (it == a.end()) {
      a.push_back(r);
    } else {
      a.erase(it);
    }
  }
}

class NearCliffordCompiler {
 public:
  NearCliffordCompiler(const StabProgram& source, FrameOutput output, std::uint32_t most_active)
      : source_(source),
        most_active_(most_active),
        n_(static_cast<std::uint32_t>(source.counts.qubits)),
        rows_(n_),
        writer_(source, output == FrameOutput::kRecords),
        coordinate_(n_, kNone) {
    if (source.counts.qubits > kMostQubits) {
      fail(ExitCode::kResources, "circuits with gates beyond Clifford may have ", kMostQubits,
           " qubits, not ", source.counts.qubits);
    }
    using circuit::Pauli;
    for (Pauli p : {Pauli::kX, Pauli::kZ}) {
      for (std::uint32_t q = 0; q < n_; ++q) rows_.add(PauliFactors{{q, p}});
    }
    measured_ = rows_.add();
    product_ = rows_.add();
  }

  NearCliffordProgram run() {
    block(0);
    out_.frame = writer_.finish(out_.num_signs);
    out_.num_bits = out_.frame.counts.detectors + writer_.num_observables();
    out_.reference = std::move(reference_);
    return std::move(out_);
  }

 private:
  static constexpr std::uint64_t kMostQubits = 1 << 14;
  std::uint32_t d(std::uint32_t pair) const { return pair; }
  std::uint32_t s(std::uint32_t pair) const { return n_ + pair; }
  bool is_active(std::uint32_t pair) const { return coordinate_[pair] != kNone; }

  // ---- reading the circuit

  // Noise of records, which stands behind a run of measurements, is put behind each of them.
  std::vector<std::uint32_t> flips_of(const std::vector<Prim>& prims) const {
    std::vector<std::uint32_t> flips(prims.size(), FrameWriter::kNoFlip);
    for (std::size_t i = 0; i < prims.size(); ++i) {
      if (prims[i].kind != PrimKind::kRecordFlip) continue;
      std::uint32_t left = prims[i].count;
      for (std::size_t j = i; left > 0 && j-- > 0;) {
        if (prims[j].kind == PrimKind::kMeasure || prims[j].kind == PrimKind::kPad)
          flips[j] = prims[i].param, --left;
      }
      TW_CHECK(left == 0, "noise of records follows its measurements");
    }
    return flips;
  }

  void block(std::uint32_t index) {
    const std::vector<Prim>& prims = source_.blocks[index];
    const std::vector<std::uint32_t> flips = flips_of(prims);
    for (std::size_t i = 0; i < prims.size(); ++i) {
      check_interrupt_once_in<64>();
      prim(prims[i], flips[i]);
    }
  }

  void prim(const Prim& p, std::uint32_t flip) {
    switch (p.kind) {
      case PrimKind::kClifford1:
        rows_.apply(source_.cliffords[p.first], p.a);
        return writer_.copy(p);
      case PrimKind::kControlled:
        rows_.apply_controlled(p.p, p.a, p.q, p.b);
        return writer_.copy(p);
      case PrimKind::kSwap:
        rows_.apply_swap(p.a, p.b);
        return writer_.copy(p);
      case PrimKind::kMeasure: {
        const bool one = collapse(p);
        writer_.copy_record(p, flip);
        return put(one != p.flag);
      }
      case PrimKind::kReset:
        if (collapse(p)) rows_.apply_pauli(other(p.p), p.a);
        disturb(other(p.p), p.a);
        return writer_.copy(p);
      case PrimKind::kPad:
        writer_.copy_record(p, flip);
        return put(p.flag);
      case PrimKind::kHerald:
        disturb_by_noise(p);
        writer_.copy_record(p, flip);
        while (64 * reference_.size() < writer_.num_records()) reference_.push_back(0);
        return;
      case PrimKind::kFeedback:
        if (record(writer_.num_records() - p.b)) rows_.apply_pauli(p.p, p.a);
        disturb(p.p, p.a);
        return writer_.copy(p);
      case PrimKind::kRecordFlip:
        return;  // stands behind each measurement already
      case PrimKind::kRotation:
        return rotation(p);
      case PrimKind::kRepeat:
        for (std::uint64_t k = 0; k < source_.repeats[p.b]; ++k) block(p.a);
        return;
      case PrimKind::kObservablePauli:
        throw Error(ExitCode::kInput,
                    source_.place(p) +
                        "an observable that names a Pauli has no value in a circuit with gates "
                        "beyond Clifford: measure the product and include its record");
      case PrimKind::kSweep:
        disturb(p.p, p.a);
        return writer_.copy(p);
      default:
        disturb_by_noise(p);
        return writer_.copy(p);
    }
  }
  static circuit::Pauli other(circuit::Pauli p) {
    return p == circuit::Pauli::kZ ? circuit::Pauli::kX : circuit::Pauli::kZ;
  }

  void put(bool value) {
    const std::uint64_t r = writer_.num_records() - 1;
    if (r / 64 == reference_.size()) reference_.push_back(0);
    if (value) reference_[r / 64] |= std::uint64_t{1} << (r % 64);
  }
  bool record(std::uint64_t r) const { return (reference_[r / 64] >> (r % 64)) & 1; }

  void rotation(const Prim& p) {
    ++out_.num_rotations;
    const auto list = source_.list(p);
    PauliFactors factors;
    for (std::size_t i = 0; i < list.size(); i += 2)
      factors.emplace_back(list[i], static_cast<circuit::Pauli>(list[i + 1]));
    const double half_turns = source_.params[p.param];
    rows_.assign(measured_, factors);
    if (fuse(measured_, half_turns)) return;
    const std::uint32_t sign = writer_.frame_sign(factors, p.source);
    waiting_.push_back({rows_.add(factors), half_turns, {sign}, p.source});
  }

  // Adds the angle to one that waits about the same Pauli, has the same sign in every shot, and has
  // nothing behind it that it does not commute with.
  bool fuse(std::uint32_t row, double half_turns) {
    for (std::size_t j = waiting_.size(); j-- > 0;) {
      Waiting& w = waiting_[j];
      if (rows_.same_body(w.row, row)) {
        if (w.is_stale) return false;
        ++out_.num_fused;
        w.half_turns += rows_.phase(w.row) == rows_.phase(row) ? half_turns : -half_turns;
        return true;
      }
      if (rows_.anticommute(w.row, row)) return false;
    }
    return false;
  }

  // The frame may gain this Pauli here, which the signs of what waits do not know.
  void disturb(circuit::Pauli p, std::uint32_t q) {
    if (waiting_.empty() || p == circuit::Pauli::kI) return;
    rows_.assign(measured_, PauliFactors{{q, p}});
    for (Waiting& w : waiting_) w.is_stale |= rows_.anticommute(w.row, measured_);
  }
  void disturb_all(std::uint32_t q) {
    disturb(circuit::Pauli::kX, q);
    disturb(circuit::Pauli::kZ, q);
  }
  // Noise by channel: which Paulis may happen at all.
  void disturb_by_noise(const Prim& p) {
    const auto list = source_.list(p);
    const auto probability = source_.probabilities(p);
    switch (p.kind) {
      case PrimKind::kPauli1:
        for (std::uint32_t q : list) {
          for (std::size_t k = 0; k < 3; ++k) {
            if (probability[k] > 0) disturb(static_cast<circuit::Pauli>(k + 1), q);
          }
        }
        break;
      case PrimKind::kPauli2:
      case PrimKind::kHerald:
        for (std::uint32_t q : list) disturb_all(q);
        break;
      case PrimKind::kCorrelated:
        for (std::size_t k = 0; k < list.size(); k += 2)
          disturb(static_cast<circuit::Pauli>(list[k + 1]), list[k]);
        break;
      default:
        break;
    }
  }

  // ---- where a Pauli stands to the state

  struct Place {
    std::uint32_t dormant = kNone;  // a pair whose stabilizer it anticommutes with
    DensePauli p;                   // otherwise: on the amplitudes
  };
  Place place_of(std::uint32_t row) {
    Place out;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (!is_active(i) && rows_.anticommute(row, s(i))) {
        out.dormant = i;
        return out;
      }
    }
    rows_.clear(product_);
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (is_active(i) && rows_.anticommute(row, s(i))) {
        rows_.multiply(product_, d(i));
        out.p.x |= 1u << coordinate_[i];
      }
    }
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (!rows_.anticommute(row, d(i))) continue;
      rows_.multiply(product_, s(i));
      if (is_active(i)) out.p.z |= 1u << coordinate_[i];
    }
    out.p.phase = static_cast<std::uint8_t>((rows_.phase(row) - rows_.phase(product_)) & 3);
    return out;
  }

  // Rows of the basis that anticommute with `row` gain `by`, which anticommutes with it; `but` is
  // left alone.
  void make_commute(std::uint32_t row, std::uint32_t by, std::uint32_t but) {
    for (std::uint32_t r = 0; r < 2 * n_; ++r) {
      if (r != by && r != but && rows_.anticommute(r, row)) rows_.multiply(r, by);
    }
  }

  // ---- rotations

  // Runs those that must come before a measurement of the Pauli in `row`.
  void run_before(std::uint32_t row) {
    const std::size_t count = waiting_.size();
    std::vector<bool> needed(count, false);
    std::size_t num_needed = 0;
    for (std::size_t j = count; j-- > 0;) {
      bool must = rows_.anticommute(waiting_[j].row, row);
      for (std::size_t i = j + 1; i < count && !must; ++i)
        must = needed[i] && rows_.anticommute(waiting_[j].row, waiting_[i].row);
      needed[j] = must;
      num_needed += must;
    }
    while (num_needed > 0) {
      // The first that keeps k, or else the first.
      std::size_t chosen = count;
      for (std::size_t j = 0; j < count; ++j) {
        if (!needed[j]) continue;
        bool ready = true;
        for (std::size_t i = 0; i < j && ready; ++i)
          ready = !needed[i] || !rows_.anticommute(waiting_[i].row, waiting_[j].row);
        if (!ready) continue;
        if (chosen == count) chosen = j;
        if (place_of(waiting_[j].row).dormant == kNone) {
          chosen = j;
          break;
        }
      }
      needed[chosen] = false;
      --num_needed;
      done_.push_back(static_cast<std::uint32_t>(chosen));
      run_rotation(chosen);
    }
    remove_done();
  }

  void remove_done() {
    if (done_.empty()) return;
    std::vector<Waiting> rest;
    std::uint32_t row = product_ + 1;
    for (std::size_t j = 0; j < waiting_.size(); ++j) {
      if (is_done(j)) continue;
      rows_.copy(row, waiting_[j].row);
      waiting_[j].row = row++;
      rest.push_back(std::move(waiting_[j]));
    }
    while (rows_.size() > row) rows_.pop();
    waiting_ = std::move(rest);
    done_.clear();
  }

  void run_rotation(std::size_t index) {
    Waiting& w = waiting_[index];
    const Place place = place_of(w.row);
    DenseOp op;
    const double angle = std::numbers::pi / 2 * w.half_turns;
    op.c = std::cos(angle), op.s = std::sin(angle);
    op.k = state_.k();
    if (place.dormant == kNone) {
      if (place.p.x == 0 && place.p.z == 0) return;  // a phase
      op.kind = DenseKind::kRotate;
      op.p = place.p;
      op.sign = out_.num_signs++;
      writer_.observe(op.sign, w.signs, w.source);
      return dense(op);
    }
    if (state_.k() == most_active_) {
      fail(ExitCode::kResources, "the circuit needs states of more than ", most_active_,
           " logical qubits: it has too many gates beyond Clifford between measurements");
    }
    // The stabilizer g becomes the Z of a new logical qubit, the Pauli its X.
    const std::uint32_t pair = place.dormant, g = s(pair);
    const PauliFactors factors = rows_.factors(g);
    for (std::uint32_t record : w.signs) writer_.feedback(factors, record, w.source);
    for (std::size_t j = 0; j < waiting_.size(); ++j) {
      if (j != index && !is_done(j) && rows_.anticommute(waiting_[j].row, g))
        toggle_records(waiting_[j].signs, w.signs);
    }
    make_commute(w.row, g, d(pair));
    rows_.copy(d(pair), w.row);
    coordinate_[pair] = state_.k();
    op.kind = DenseKind::kPromote;
    dense(op);
  }
  bool is_done(std::size_t j) const {
    return std::find(done_.begin(), done_.end(), static_cast<std::uint32_t>(j)) != done_.end();
  }

  void dense(const DenseOp& op) {
    state_.apply(op, false);
    out_.dense.push_back(op);
    out_.most_k = std::max(out_.most_k, state_.k());
  }

  // ---- measurements

  // Measures p.p on qubit p.a; returns the outcome in the default history.
  bool collapse(const Prim& p) {
    const std::uint32_t row = measured_;
    rows_.assign(row, PauliFactors{{p.a, p.p}});
    run_before(row);
    const Place place = place_of(row);
    if (place.dormant != kNone) {
      const std::uint32_t pair = place.dormant;
      make_commute(row, s(pair), d(pair));
      rows_.copy(d(pair), s(pair));
      rows_.copy(s(pair), row);
      return false;
    }
    if (place.p.x == 0 && place.p.z == 0) return place.p.phase == 2;
    DenseOp op;
    op.kind = DenseKind::kMeasure;
    op.p = place.p;
    op.k = state_.k();
    const std::uint32_t mask = place.p.x ? place.p.x : place.p.z;
    op.pivot = static_cast<std::uint32_t>(std::bit_width(mask) - 1);
    // The more likely outcome is the default, or 0: what the Born bit tells is whether it was the
    // other.
    const bool outcome = state_.chance(op) > 0.5 + kTie;
    if (outcome) op.p.phase ^= 2, rows_.negate(row);
    out_.default_chance.push_back(state_.chance(op));
    state_.project(op, false);
    out_.dense.push_back(op);
    std::uint32_t pair = 0;
    while (coordinate_[pair] != op.pivot) ++pair;
    const std::uint32_t by = place.p.x ? s(pair) : d(pair);
    const PauliFactors factors = rows_.factors(by);
    const std::uint32_t born = writer_.zero_record(p.source);
    out_.born_record.push_back(born);
    ++out_.num_born;
    writer_.feedback(factors, born, p.source);
    for (Waiting& w : waiting_) {
      if (rows_.anticommute(w.row, by)) toggle_records(w.signs, {&born, 1});
    }
    make_commute(row, by, place.p.x ? d(pair) : s(pair));
    if (by != d(pair)) rows_.copy(d(pair), by);
    rows_.copy(s(pair), row);
    coordinate_[pair] = kNone;
    for (std::uint32_t& c : coordinate_) {
      if (c != kNone && c > op.pivot) --c;
    }
    return outcome;
  }

  const StabProgram& source_;
  std::uint32_t most_active_;
  std::uint32_t n_;
  PauliRows rows_;  // d, s, one that is measured, a product, those that wait
  FrameWriter writer_;
  std::vector<std::uint32_t> coordinate_;  // of active pairs
  std::uint32_t measured_ = 0, product_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> done_;
  DenseState state_;  // in the default history
  std::vector<std::uint64_t> reference_;
  NearCliffordProgram out_;
};

}  // namespace

double NearCliffordProgram::amplitude_steps() const {
  double steps = 0;
  for (const DenseOp& op : dense) steps += std::ldexp(1.0, static_cast<int>(op.k));
  return steps;
}

NearCliffordProgram compile_near_clifford(const StabProgram& program, FrameOutput output,
                                          std::uint32_t most_active) {
  // numbers of qubits may have gaps
  return NearCliffordCompiler(with_used_qubits(program), output, most_active).run();
}

std::string describe(const NearCliffordProgram& program) {
  std::size_t promotions = 0, rotations = 0, measurements = 0;
  for (const DenseOp& op : program.dense) {
    promotions += op.kind == DenseKind::kPromote;
    rotations += op.kind == DenseKind::kRotate;
    measurements += op.kind == DenseKind::kMeasure;
  }
  std::string out =
      "rotations " + std::to_string(program.num_rotations) + ", of which " +
      std::to_string(program.num_fused) + " are added to earlier ones and " +
      std::to_string(program.num_rotations - program.num_fused - promotions - rotations) +
      " change nothing measured\nactive qubits at most " + std::to_string(program.most_k) + "; " +
      std::to_string(promotions) + " rotations that add one, " + std::to_string(rotations) +
      " that do not, " + std::to_string(measurements) +
      " measurements that take one away\nactive qubits over time";
  // Runs of operations at one k: `k x operations`.
  for (std::size_t i = 0; i < program.dense.size();) {
    std::size_t end = i;
    while (end < program.dense.size() && program.dense[end].k == program.dense[i].k) ++end;
    out += " " + std::to_string(program.dense[i].k);
    if (end - i > 1) out += "x" + std::to_string(end - i);
    i = end;
  }
  out += "\namplitudes of a shot that shares nothing " +
         std::to_string(static_cast<std::uint64_t>(program.amplitude_steps())) + ", about " +
         std::to_string(static_cast<std::uint64_t>(8 * program.amplitude_steps())) +
         " floating-point operations, at most " +
         std::to_string(std::uint64_t{16} << program.most_k) + " bytes\n";
  return out;
}

}  // namespace tilewave::stabilizer
