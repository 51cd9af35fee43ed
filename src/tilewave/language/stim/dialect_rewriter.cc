#include "tilewave/language/stim/dialect_rewriter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/language/stim/tagged_gate.h"

namespace tilewave::language {

using circuit::for_each_product;
using circuit::pauli_target;
using circuit::qubit_target;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using K = StabKind;
using L = LeakageLanguage;

namespace {

constexpr std::uint32_t kMostQubits = 1u << 24;

bool has(const circuit::StabilizerCircuit& c, StabKind kind) {
  return std::any_of(c.instructions().begin(), c.instructions().end(), [&](const auto& op) {
    return op.kind == kind || (op.kind == K::kRepeat && has(c.block(op), kind));
  });
}

// Whether a product has a qubit twice, or more factors than a rotation may have.
bool is_plain_rotation(std::span<const StabTarget> targets, std::size_t most_factors) {
  for (std::size_t i = 0; i < targets.size();) {
    const std::size_t end = circuit::end_of_product(targets, i);
    const std::size_t factors = (end - i + 1) / 2;
    if (factors > most_factors) return false;
    circuit::QubitPlaces places(factors);
    for (std::size_t k = 0; k < factors; ++k)
      if (places.of(targets[i + 2 * k].value) < k) return false;
    i = end;
  }
  return true;
}
bool repeats_qubits(std::span<const StabTarget> targets) {
  return !is_plain_rotation(targets, targets.size());
}

}  // namespace

bool is_distinct(std::span<const StabTarget> targets) {
  circuit::QubitPlaces places(targets.size());
  std::size_t qubits = 0;
  for (const StabTarget& t : targets) {
    if (t.kind != StabTarget::Kind::kQubit && t.kind != StabTarget::Kind::kPauli) continue;
    if (places.of(t.value) != qubits++) return false;
  }
  return true;
}

DialectRewriter::DialectRewriter(const StabilizerCircuit& circuit, const DialectRules& to,
                                 std::string_view file)
    : circuit_(circuit),
      to_(to),
      file_(file),
      words_(circuit::leakage_words(circuit)),
      has_chains_(has(circuit, K::kElseCorrelatedError)),
      num_qubits_(circuit.counts().qubits),
      may_leak_(num_qubits_) {
  if (words_.mixed()) fail(ExitCode::kInput, file_, ": ", words_.mixed_message());
  if (!words_.deltakit.empty()) from_ = L::kDeltakit;
  if (!words_.custabilizer.empty()) from_ = L::kCustabilizer;
  scrambles_ = to.leakage == L::kCustabilizer && words_.deltakit_leaks;
  must_not_scramble_ = to.leakage == L::kDeltakit && from_ == L::kCustabilizer && words_.leaks;
}

circuit::StabilizerCircuit DialectRewriter::block(const StabilizerCircuit& c) {
  StabilizerCircuit out;
  StabilizerCircuit* const outer = std::exchange(out_, &out);
  const std::span<const StabInstruction> ops = c.instructions();
  for (std::size_t at = 0; at < ops.size(); ++at) {
    check_interrupt_once_in<256>();
    const StabInstruction& op = ops[at];
    op_ = &op;
    name_ = c.name(op);
    tag_ = c.tag(op);
    if (op.kind == K::kRepeat) {
      const std::string tag = tag_beside(K::kRepeat, GateId::kId);
      may_leak_.enter_loop(c.block(op));
      StabilizerCircuit body = block(c.block(op));
      if (!body.empty()) out.append_repeat(op.repeat, std::move(body), tag, op.line);
      continue;
    }
    shares_qubits_ = words_.leaks && !is_distinct(c.targets(op));
    std::size_t count = one_word_of_deltakit(c, at);
    if (count == 0) {
      instruction(c, op);
      count = 1;
    }
    for (std::size_t k = 0; k < count; ++k) may_leak_.pass(c, ops[at + k]);
    at += count - 1;
  }
  out_ = outer;
  return out;
}

void DialectRewriter::instruction(const StabilizerCircuit& c, const StabInstruction& op) {
  const Targets targets = c.targets(op);
  const Args args = c.args(op);
  if (circuit::is_leakage(op.kind)) return leakage(targets, args);
  if (circuit::is_rotation(op.kind)) return rotation(targets, args);
  switch (op.kind) {
    case K::kGate:
      return gate(targets, args);
    case K::kIError:
    case K::kIIError:
      if (!to_.few_words) keep(targets, args);
      return;
    case K::kCorrelatedError:
    case K::kElseCorrelatedError:
      return correlated(targets, args);
    case K::kHeraldedErase:
    case K::kHeraldedPauliChannel1: {
      if (to_.heralds) return keep(targets, args);
      const std::vector<double> each = op.kind == K::kHeraldedErase
                                           ? std::vector<double>(4, args[0] / 4)
                                           : std::vector<double>(args.begin(), args.end());
      for (const StabTarget& t : targets) herald(t.value, each);
      return;
    }
    case K::kMXX:
    case K::kMYY:
    case K::kMZZ: {
      if (!to_.few_words) return keep(targets, args);
      const Pauli p = circuit::basis_of(op.kind);
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        measure({{{targets[i].value, p}, {targets[i + 1].value, p}},
                 targets[i].inverted != targets[i + 1].inverted},
                args, false);
      }
      return;
    }
    case K::kMPP:
    case K::kSPP:
    case K::kSPPDag:
      return products(targets, args);
    case K::kMpad:
      if (!to_.few_words) return keep(targets, args);
      for (const StabTarget& t : targets) pad(t.value == 1, args);
      return;
    case K::kObservableInclude:
      for (const StabTarget& t : targets) {
        if (t.kind == StabTarget::Kind::kPauli && !to_.pauli_observables)
          refuse(
              "its observables are made of records alone: measure the product and include its "
              "record");
      }
      return keep(targets, args);
    default:
      return keep(targets, args);
  }
}

void DialectRewriter::refuse(const std::string& why) const {
  std::string where = file_;
  if (op_->line > 0) where += ":" + std::to_string(op_->line);
  fail(ExitCode::kInput, where, ": ", name_, " cannot be written for ", to_.name, ": ", why);
}

std::string DialectRewriter::tag_beside(StabKind kind, GateId gate) const {
  if (!to_.tags || tag_.empty()) return {};
  if (to_.dialect == Dialect::kTsim && !tsim_keeps_tag(kind, tag_)) return {};
  return names_no_gate(kind, gate, tag_) ? tag_ : std::string();
}

void DialectRewriter::write(StabKind kind, GateId gate, Targets targets, Args args) {
  const bool acts_on_targets =
      kind == K::kGate ||
      (kind != K::kDetector && kind != K::kTick && kind != K::kObservableInclude &&
       kind != K::kShiftCoords && kind != K::kCorrelatedError && kind != K::kElseCorrelatedError);
  if (targets.empty() && acts_on_targets && !to_.empty) return;
  out_->append(kind, gate, targets, args, tag_beside(kind, gate), op_->line);
}

void DialectRewriter::write(StabKind kind, std::initializer_list<std::uint32_t> qubits,
                            std::initializer_list<double> args) {
  std::vector<StabTarget> targets;
  for (const std::uint32_t q : qubits) targets.push_back(qubit_target(q));
  write(kind, GateId::kId, targets, std::span(args.begin(), args.size()));
}

void DialectRewriter::write(GateId gate, std::initializer_list<std::uint32_t> qubits) {
  std::vector<StabTarget> targets;
  for (const std::uint32_t q : qubits) targets.push_back(qubit_target(q));
  write(K::kGate, gate, targets);
}

std::uint32_t DialectRewriter::spare(std::uint32_t number) const {
  if (num_qubits_ + number >= kMostQubits)
    refuse("this takes a spare qubit, and every index below 2^24 may be in use");
  return static_cast<std::uint32_t>(num_qubits_) + number;
}

// ---- rotations and products

void DialectRewriter::rotation(Targets targets, Args args) {
  if (to_.rotations) {
    bool has_word = true;
    switch (op_->kind) {
      case K::kTPP:
      case K::kTPPDag:
        has_word = to_.product_t && !repeats_qubits(targets);
        break;
      case K::kRotPauli:
        has_word = is_plain_rotation(targets, kMostRotationFactors);
        break;
      case K::kCCX:
      case K::kCCZ:
        has_word = to_.ccz;
        break;
      case K::kCH:
        has_word = to_.ch;
        break;
      default:
        break;
    }
    if (has_word) return keep(targets, args);
  }
  for (const circuit::RotationStep& step : circuit::rotations_of(op_->kind, targets, args)) {
    if (!to_.rotations && (step.is_cx || circuit::quarter_turns(step.rotation.half_turns) < 0))
      refuse("it is no Clifford gate there");
    if (step.is_cx) {
      write(GateId::kCx, {step.rotation.factors[0].first, step.rotation.factors[1].first});
    } else if (to_.rotations) {
      rotate(step.rotation);
    } else {
      quarter_turn(step.rotation);
    }
  }
}

void DialectRewriter::rotate(const circuit::PauliRotation& r) {
  if (r.factors.size() > kMostRotationFactors) {
    const Product product{r.factors, false};
    fold(product, false, false);
    rotate({{r.factors[0]}, r.half_turns});
    return fold(product, true, false);
  }
  const bool is_t = std::abs(r.half_turns) == 0.25;
  if (r.factors.size() > 1 && is_t && to_.product_t)
    return write_product(r.half_turns > 0 ? K::kTPP : K::kTPPDag, {r.factors, false});
  if (r.factors.size() > 1) {
    const double angle[] = {r.half_turns};
    return write_product(K::kRotPauli, {r.factors, false}, angle);
  }
  const auto [q, p] = r.factors[0];
  if (p == Pauli::kZ && is_t) return write(r.half_turns > 0 ? K::kT : K::kTDag, {q});
  write(p == Pauli::kX ? K::kRotX : p == Pauli::kY ? K::kRotY : K::kRotZ, {q}, {r.half_turns});
}

void DialectRewriter::quarter_turn(const circuit::PauliRotation& r) {
  const int quarters = circuit::quarter_turns(r.half_turns);
  if (quarters == 2) {
    for (const auto& [q, p] : r.factors) write(circuit::pauli_gate(p), {q});
  } else if (quarters != 0) {
    const Product product{r.factors, false};
    if (r.factors.size() == 1 || to_.few_words || must_not_scramble_)
      return phase(product, quarters == 3);
    write_product(quarters == 3 ? K::kSPPDag : K::kSPP, product);
  }
}

void DialectRewriter::products(Targets targets, Args args) {
  const bool decomposes = to_.few_words || must_not_scramble_;
  if (!decomposes && (to_.repeats_in_product || !repeats_qubits(targets)))
    return keep(targets, args);
  const StabKind kind = op_->kind;
  for_each_product(targets, [&](const Product& p) {
    if (p.factors.empty()) {
      if (kind == K::kMPP) pad(p.negative, args);
    } else if (!decomposes) {
      write_product(kind, p, args);
    } else if (kind == K::kMPP) {
      measure(p, args, scrambles_);
    } else {
      phase(p, kind == K::kSPPDag);
    }
  });
}

void DialectRewriter::write_product(StabKind kind, const Product& p, Args args) {
  std::vector<StabTarget> targets;
  for (const auto& [q, pauli] : p.factors) {
    if (!targets.empty()) targets.push_back({0, StabTarget::Kind::kCombiner, Pauli::kI, false});
    targets.push_back(pauli_target(pauli, q, targets.empty() && p.negative));
  }
  write(kind, GateId::kId, targets, args);
}

// Where gates of the circuit depolarise partners a product is the gates that Stim decomposes it to, the
// same in front of the measurement and behind it (stabilizer/stab_program.cc).
void DialectRewriter::measure(const Product& p, Args args, bool scrambles) {
  const auto [q, pauli] = p.factors[0];
  const StabTarget target = qubit_target(q, p.negative);
  fold(p, false, scrambles);
  write(pauli == Pauli::kX   ? K::kMX
        : pauli == Pauli::kY ? K::kMY
                             : K::kM,
        GateId::kId, {&target, 1}, args);
  fold(p, !scrambles, scrambles);
}

void DialectRewriter::phase(const Product& p, bool dagger) {
  const auto [q, pauli] = p.factors[0];
  const GateId gate = circuit::root_gate(pauli, dagger != p.negative);
  fold(p, false, scrambles_);
  if (to_.few_words) {
    one_qubit(circuit::gate_clifford1(gate), q);
  } else {
    write(gate, {q});
  }
  fold(p, !scrambles_, scrambles_);
}

void DialectRewriter::pad(bool one, Args args) {
  StabTarget target = qubit_target(one);
  if (to_.few_words) target = qubit_target(spare(0), one);
  write(to_.few_words ? K::kM : K::kMpad, GateId::kId, {&target, 1}, args);
}

// ---- noise

// On the spare qubit an X says that the error happened.
void DialectRewriter::herald(std::uint32_t q, Args args) {
  write(K::kPauliChannel2, {spare(0), q},
        {0, 0, 0, args[0], args[1], args[2], args[3], 0, 0, 0, 0, 0, 0, 0, 0});
  write(K::kMR, {spare(0)});
}

void DialectRewriter::correlated(Targets targets, Args args) {
  if (!to_.few_words && (to_.repeats_in_product || !repeats_qubits(targets)))
    return keep(targets, args);
  std::vector<std::pair<std::uint32_t, unsigned>> factors;  // x + 2 z, without a phase
  circuit::QubitPlaces places(targets.size());
  for (const StabTarget& t : targets) {
    if (t.kind == StabTarget::Kind::kCombiner) continue;
    const auto code = static_cast<unsigned>(t.pauli), xz = code ^ (code >> 1);
    const std::size_t at = places.of(t.value);
    if (at == factors.size()) factors.emplace_back(t.value, 0);
    factors[at].second ^= xz;
  }
  std::vector<std::pair<std::uint32_t, Pauli>> paulis;
  for (const auto& [q, xz] : factors)
    if (xz) paulis.emplace_back(q, static_cast<Pauli>(xz ^ (xz >> 1)));
  const double p = args[0];
  if (!to_.few_words) {
    std::vector<StabTarget> list;
    for (const auto& [q, pauli] : paulis) list.push_back(pauli_target(pauli, q));
    return write(op_->kind, GateId::kId, list, args);
  }
  const auto apply_where = [&](std::uint32_t one) {
    for (const auto& [q, pauli] : paulis) controlled(Pauli::kZ, one, pauli, q);
  };
  if (has_chains_) {
    // The spare qubit `chain` is leaked where an error of the chain has happened, `next` where this one
    // is drawn; an X on `next` says that it is the first. `chain` stays leaked behind the chain, which may
    // go on after other instructions: no other rule uses that qubit.
    const std::uint32_t next = spare(0), chain = spare(1);
    if (op_->kind == K::kCorrelatedError) write(K::kLeakageReset, {chain});
    write(K::kLeakageMark1, {next}, {p});
    std::vector<double> tables(60, 0.0);
    tables[15] = 1;  // `next` alone is leaked: X on it
    const StabTarget both[] = {qubit_target(chain), qubit_target(next)};
    write(K::kLeakagePauli2, GateId::kId, both, tables);
    apply_where(next);
    write(K::kLeakagePropagateMark, {next, chain}, {1, 0, 0, 0});
    write(K::kR, {next});
  } else if (paulis.size() == 1) {
    const Pauli only = paulis[0].second;
    write(only == Pauli::kX   ? K::kXError
          : only == Pauli::kY ? K::kYError
                              : K::kZError,
          {paulis[0].first}, {p});
  } else if (paulis.size() == 2) {
    std::vector<double> channel(15, 0.0);
    channel[4 * static_cast<std::size_t>(paulis[0].second) +
            static_cast<std::size_t>(paulis[1].second) - 1] = p;
    const StabTarget both[] = {qubit_target(paulis[0].first), qubit_target(paulis[1].first)};
    write(K::kPauliChannel2, GateId::kId, both, channel);
  } else if (!paulis.empty()) {
    write(K::kXError, {spare(0)}, {p});
    apply_where(spare(0));
    write(K::kR, {spare(0)});
  }
}

}  // namespace tilewave::language
