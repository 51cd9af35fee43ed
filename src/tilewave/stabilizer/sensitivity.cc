#include "tilewave/stabilizer/sensitivity.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/stabilizer/loop_period.h"

namespace tilewave::stabilizer {

namespace {
using P = PrimKind;
}  // namespace

void throw_random_symptoms(const SymptomSet& set, const std::string& place, bool collapse,
                           std::uint32_t qubit) {
  fail(ExitCode::kInput, place, set.back() & kObservableBit ? "observables" : "detectors",
       " are not deterministic: ", names_of(set), set.size() == 1 ? " flips" : " flip",
       " at random with the ", collapse ? "measurement or reset" : "start", " of qubit ", qubit,
       ": fix the circuit", set.back() & kObservableBit ? "" : " or use --allow_gauge_detectors");
}

void throw_no_period(const StabProgram& program, const Prim& p, std::uint64_t iterations) {
  fail(ExitCode::kResources, program.place(p),
       "the REPEAT block is in a new state after every one of its last ", iterations,
       " iterations, so it cannot be folded: repeat it less often");
}

// Of a block in which a visitor sees nothing only the iterations behind whole periods count.
void SensitivityVisitor::loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) {
  const bool folds = iterations > 2 && is_silent(walk.program(), p.a);
  LoopPeriod finder;
  std::uint64_t left = iterations;
  for (bool has_period = false; left > 0; --left) {
    if (folds && !has_period) {
      const std::uint64_t period = finder.find(walk, p.a, iterations - left);
      has_period = period > 0;
      if (has_period && (left %= period) == 0) return;
      if (finder.gave_up() && left > LoopPeriod::kMostStates)
        throw_no_period(walk.program(), p, iterations - left);
    }
    walk.block(p.a);
  }
}

namespace {
std::uint64_t widest_record_use(const StabProgram& program) {
  std::uint64_t widest = std::max<std::uint64_t>(1, program.counts.max_lookback);
  for (const auto& block : program.blocks) {
    for (const Prim& p : block) {
      if (p.kind == P::kHerald || p.kind == P::kLeakHerald || p.kind == P::kRecordFlip)
        widest = std::max<std::uint64_t>(widest, p.count);
    }
  }
  return widest;
}
}  // namespace

SensitivityWalk::SensitivityWalk(const StabProgram& program, SymptomKind kind,
                                 SensitivityVisitor& visitor)
    : program_(program),
      kind_(kind),
      visitor_(visitor),
      x_(program.counts.qubits),
      z_(program.counts.qubits),
      records_(std::bit_ceil(widest_record_use(program) + 1)),
      mask_(records_.size() - 1),
      num_records_(program.counts.measurements),
      num_detectors_(program.counts.detectors) {
  if (std::max(num_detectors_, num_records_) >= kObservableBit) {
    fail(ExitCode::kResources,
         "the circuit has 2^63 detectors or records or more: shorten its REPEAT blocks");
  }
}

void SensitivityWalk::run() {
  block(0);
  for (std::uint32_t q = 0; q < x_.size(); ++q) coin(nullptr, Pauli::kZ, q);
}

SymptomSet SensitivityWalk::flips(Pauli p, std::uint32_t q) const {
  if (p == Pauli::kI) return {};
  if (p == Pauli::kX) return x_[q];
  if (p == Pauli::kZ) return z_[q];
  SymptomSet out = x_[q];
  toggle(out, z_[q]);
  return out;
}

SymptomSet SensitivityWalk::flips(const Prim& product) const {
  const auto list = program_.list(product);
  SymptomSet out;
  for (std::size_t i = 0; i < list.size(); i += 2)
    toggle(out, flips(static_cast<Pauli>(list[i + 1]), list[i]));
  return out;
}

// Errors that anticommute with p on q flip these symptoms as well.
void SensitivityWalk::anticommuting(Pauli p, std::uint32_t q, const SymptomSet& symptoms) {
  work_ += symptoms.size();
  if (p != Pauli::kX) toggle(x_[q], symptoms);
  if (p != Pauli::kZ) toggle(z_[q], symptoms);
}

void SensitivityWalk::coin(const Prim* p, Pauli basis, std::uint32_t q) {
  if (basis != Pauli::kZ ? (basis == Pauli::kX ? x_[q].empty() : x_[q] == z_[q]) : z_[q].empty())
    return;
  visitor_.coin(p, q, flips(basis, q));
}

namespace {
void collect_qubits(const StabProgram& program, std::uint32_t block,
                    std::vector<std::uint32_t>& out) {
  for (const Prim& p : program.blocks[block]) {
    for_each_qubit(program, p, [&](std::uint32_t q) { out.push_back(q); });
    if (p.kind == P::kRepeat) collect_qubits(program, p.a, out);
  }
}
}  // namespace

const std::vector<std::uint32_t>& SensitivityWalk::touched(std::uint32_t index) {
  const auto [it, fresh] = touched_.try_emplace(index);
  if (fresh) {
    collect_qubits(program_, index, it->second);
    std::sort(it->second.begin(), it->second.end());
    it->second.erase(std::unique(it->second.begin(), it->second.end()), it->second.end());
  }
  return it->second;
}

template <class F>
void SensitivityWalk::each_of_state(std::uint32_t index, F f) {
  std::uint64_t place = 0;
  const auto visit = [&](const SymptomSet& set) {
    if (!set.empty()) f(place, set);
    ++place;
  };
  for (std::uint32_t q : touched(index)) visit(x_[q]), visit(z_[q]);
  const std::uint64_t kept = std::min<std::uint64_t>(records_.size() - 1, num_records_);
  for (std::uint64_t back = 1; back <= kept; ++back) visit(record(back));
}

SetHash SensitivityWalk::state_hash(std::uint32_t index) {
  SetHash out;
  each_of_state(index, [&](std::uint64_t place, const SymptomSet& set) {
    out = out ^ hash_at(hash_of(set, position()), place);
  });
  return out;
}

SensitivityWalk::StateSize SensitivityWalk::state_size(std::uint32_t index) {
  StateSize out;
  each_of_state(index, [&](std::uint64_t place, const SymptomSet& set) {
    out.symptoms += set.size();
    out.hash ^= hash_at({set.size(), 0}, place).a;
  });
  return out;
}

void SensitivityWalk::remove_gauge(const SymptomSet& gauge) {
  const Symptom last = gauge.back();
  const auto clean = [&](std::vector<SymptomSet>& sets) {
    for (SymptomSet& set : sets) {
      if (std::binary_search(set.begin(), set.end(), last)) toggle(set, gauge);
    }
  };
  clean(x_), clean(z_);
}

void SensitivityWalk::shift_detectors(std::uint32_t index, std::uint64_t detectors,
                                      std::uint64_t records) {
  const std::uint64_t by = kind_ == SymptomKind::kRecords ? records : detectors;
  const auto move = [&](SymptomSet& set) {
    for (Symptom& sym : set) {
      if (!(sym & kObservableBit)) sym -= by;
    }
  };
  for (std::uint32_t q : touched(index)) move(x_[q]), move(z_[q]);
  for (SymptomSet& set : records_) move(set);
  // Record r lies at r & mask: it moves with its number.
  std::rotate(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(records & mask_),
              records_.end());
  num_detectors_ -= detectors;
  num_records_ -= records;
}

void SensitivityWalk::block(std::uint32_t index) {
  const std::vector<Prim>& prims = program_.blocks[index];
  for (std::size_t i = prims.size(); i-- > 0;) {
    check_interrupt_once_in<64>();
    const Prim& p = prims[i];
    if (++work_ > most_work_) throw TooMuchWork{};
    switch (p.kind) {
      case P::kClifford1: {
        const Clifford1& c = program_.cliffords[p.first];
        if (c.x == Pauli::kX && c.z == Pauli::kZ) break;
        if (c.x == Pauli::kZ && c.z == Pauli::kX) {
          x_[p.a].swap(z_[p.a]);
          break;
        }
        work_ += x_[p.a].size() + z_[p.a].size();
        SymptomSet x = flips(c.x, p.a), z = flips(c.z, p.a);
        x_[p.a].swap(x);
        z_[p.a].swap(z);
        break;
      }
      case P::kControlled: {
        if (p.p == Pauli::kY || p.q == Pauli::kY) {
          anticommuting(p.p, p.a, flips(p.q, p.b));
          anticommuting(p.q, p.b, flips(p.p, p.a));
        } else {
          anticommuting(p.p, p.a, p.q == Pauli::kX ? x_[p.b] : z_[p.b]);
          anticommuting(p.q, p.b, p.p == Pauli::kX ? x_[p.a] : z_[p.a]);
        }
        break;
      }
      case P::kSwap:
        x_[p.a].swap(x_[p.b]);
        z_[p.a].swap(z_[p.b]);
        break;
      case P::kMeasure:
      case P::kFrameSign: {
        SymptomSet& record = record_ref(1);
        if (kind_ == SymptomKind::kRecords) toggle(record, {num_records_ - 1});
        anticommuting(p.p, p.a, record);
        // behind the record, which a gauge changes with the others
        if (p.kind == P::kMeasure) coin(&p, p.p, p.a);
        visitor_.record(num_records_ - 1, record);
        record.clear();
        --num_records_;
        break;
      }
      case P::kReset:
        coin(&p, p.p, p.a);
        x_[p.a].clear();
        z_[p.a].clear();
        break;
      case P::kPad:
        visitor_.record(num_records_ - 1, record_ref(1));
        record_ref(1).clear();
        --num_records_;
        break;
      case P::kRecordFlip:
        if (kind_ == SymptomKind::kRecords) {
          // The flips count for the records themselves; their measurements add them once more
          // below.
          for (std::uint32_t k = p.count; k > 0; --k) toggle(record_ref(k), {num_records_ - k});
          visitor_.noise(p, *this);
          for (std::uint32_t k = p.count; k > 0; --k) toggle(record_ref(k), {num_records_ - k});
        } else {
          visitor_.noise(p, *this);
        }
        break;
      case P::kPauli1:
      case P::kPauli2:
      case P::kCorrelated:
        visitor_.noise(p, *this);
        break;
      case P::kHerald:
      case P::kLeakHerald:
        if (kind_ == SymptomKind::kRecords) {
          for (std::uint32_t k = p.count; k > 0; --k) toggle(record_ref(k), {num_records_ - k});
        }
        visitor_.noise(p, *this);
        for (std::uint32_t k = p.count; k > 0; --k) {
          visitor_.record(num_records_ - k, record_ref(k));
          record_ref(k).clear();
        }
        num_records_ -= p.count;
        break;
      case P::kFeedback:
        work_ += x_[p.a].size() + z_[p.a].size();
        toggle(record_ref(p.b), flips(p.p, p.a));
        break;
      case P::kSweep:
        visitor_.sweep(p, *this);
        break;
      case P::kDetector: {
        --num_detectors_;
        visitor_.detector(p, *this);
        if (kind_ == SymptomKind::kRecords) break;
        const SymptomSet one{num_detectors_};
        for (std::uint32_t back : program_.list(p)) toggle(record_ref(back), one);
        break;
      }
      case P::kObservable: {
        visitor_.observable(p);
        if (kind_ == SymptomKind::kRecords) break;
        const SymptomSet one{kObservableBit | p.a};
        for (std::uint32_t back : program_.list(p)) toggle(record_ref(back), one);
        break;
      }
      case P::kObservablePauli:
        if (kind_ == SymptomKind::kDetectors) anticommuting(p.p, p.b, {kObservableBit | p.a});
        break;
      case P::kShift:
        visitor_.shift(p);
        break;
      case P::kRepeat:
        visitor_.loop(p, program_.repeats[p.b], *this);
        break;
      case P::kLeak:
      case P::kLeakPair:
      case P::kSeal:
      case P::kScramble:
      case P::kScramblePartner:
      case P::kSpread:
      case P::kLeakPauli1:
      case P::kLeakPauli2:
        break;  // visitors that look at noise refuse leakage
      case P::kRotation:
        TW_CHECK(false, "errors move through Clifford gates only");
    }
  }
}

}  // namespace tilewave::stabilizer
