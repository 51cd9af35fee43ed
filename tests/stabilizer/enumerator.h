// The exact distribution of the records of a small circuit: every branch of every channel and
// measurement is followed with a dense state vector. Knows nothing of Paulis moving through gates,
// tableaux or frames. Where branches are too many, shots are drawn instead: at every channel and
// measurement the shots of a branch are divided at random among those it splits into, which gives what
// trajectories one after the other would, while shots with the same history share a state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_simulator.h"
#include "tilewave/circuit/clifford.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::stabilizer {

using circuit::GateId;
using circuit::Pauli;
using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using Factors = std::vector<std::pair<std::uint32_t, Pauli>>;

struct Branch {
  double probability = 1;
  std::string records;
  bool chain = false;        // an error of the current chain has happened
  std::uint32_t leaked = 0;  // bit q: qubit q
  std::uint64_t shots = 0;   // where shots are drawn
  oracle::State state;
  std::uint64_t faults = 0;  // places of noise that fired
};

class Enumerator {
 public:
  /// `gates_scramble`: where one qubit of a CX, CY, CZ, SQRT_XX or its inverse is leaked the other
  /// is depolarised.
  explicit Enumerator(const StabilizerCircuit& c, bool gates_scramble = false)
      : gates_scramble_(gates_scramble),
        num_qubits_(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits))) {
    start(0);
    block(c);
  }
  /// Draws `shots` shots instead, with random numbers of its own. Leakage is not known there.
  Enumerator(const StabilizerCircuit& c, std::uint64_t shots, std::uint64_t seed);
  /// Of a circuit without noise: the records of the shot in which every measurement and reset has the
  /// outcome that is more likely after those before it, or 0 where both are as likely.
  static std::string likeliest_records(const StabilizerCircuit& c);
  std::map<std::string, double> distribution() const {
    std::map<std::string, double> out;
    for (const Branch& b : branches_) out[b.records] += b.probability;
    return out;
  }
  /// Of each number of faults: records and their probability with that number.
  std::map<std::uint64_t, std::map<std::string, double>> distribution_by_faults() const {
    std::map<std::uint64_t, std::map<std::string, double>> out;
    for (const Branch& b : branches_) out[b.faults][b.records] += b.probability;
    return out;
  }
  std::map<std::string, std::uint64_t> shots() const {
    std::map<std::string, std::uint64_t> out;
    for (const Branch& b : branches_) out[b.records] += b.shots;
    return out;
  }

 private:
  explicit Enumerator(std::uint32_t num_qubits) : gates_scramble_(false), num_qubits_(num_qubits) {}
  void start(std::uint64_t shots) {
    branches_.assign(1, {});
    branches_[0].shots = shots;
    branches_[0].state = oracle::zero_state(num_qubits_);
  }
  void gate(oracle::State& state, GateId id, std::vector<std::uint32_t> qubits,
            std::vector<double> params = {}) const;
  void pauli(oracle::State& state, Pauli p, std::uint32_t q) const;
  static Branch without_state(const Branch& b) {
    return {b.probability, b.records, b.chain, b.leaked, b.shots, {}, b.faults};
  }
  // Takes what one branch splits into: the next branch and its share, or a share and what makes the
  // branch, which is asked only where it is needed.
  class Emit {
   public:
    Emit(Enumerator& all, const Branch& from, std::vector<Branch>& out)
        : all_(all), probability_(from.probability), shots_(from.shots), out_(out) {}
    void operator()(Branch next, double share) {
      when(share, [&] { return std::move(next); });
    }
    template <class Make>
    void when(double share, Make make) {
      const double probability = probability_ * share;
      std::uint64_t shots = 0;
      if (all_.draws_) {
        const double of_left = left_ > 0 ? share / left_ : 1;
        shots = of_left > 1 - 1e-9 ? shots_
                                   : std::binomial_distribution<std::uint64_t>(
                                         shots_, std::max(of_left, 0.0))(all_.random_);
        shots_ -= shots;
        left_ -= share;
        if (shots == 0) return;
      } else if (probability <= 1e-13) {
        return;
      }
      Branch next = make();
      next.probability = probability;
      next.shots = shots;
      out_.push_back(std::move(next));
    }

   private:
    Enumerator& all_;
    double probability_, left_ = 1;  // of the branch; of its shares
    std::uint64_t shots_;
    std::vector<Branch>& out_;
  };
  // Each branch becomes what `split` makes of it.
  template <class F>
  void for_each(F split) {
    std::vector<Branch> out;
    for (Branch& b : branches_) {
      Emit emit(*this, b, out);
      split(std::move(b), emit);
    }
    branches_ = std::move(out);
  }
  template <class F>
  void measure(const Factors& factors, cplx phase, F then);
  void record(const Factors& factors, cplx phase, bool inverted, double flip);
  void reset(Pauli basis, std::uint32_t q);

  // ---- leakage (enumerator_leakage.cc)
  static bool leaked(const Branch& b, std::uint32_t q) { return (b.leaked >> q) & 1; }
  static void set_leaked(Branch& b, std::uint32_t q, bool value) {
    b.leaked = (b.leaked & ~(1u << q)) | (std::uint32_t{value} << q);
  }
  template <class When>
  void depolarise(std::uint32_t q, When when);
  void merge();
  void leak(const std::vector<std::pair<std::vector<std::uint32_t>, double>>& sets, int scramble);
  void scramble_partner(std::uint32_t a, std::uint32_t b);
  void spread(std::uint32_t a, std::uint32_t b, double s01, double s10, double m01, double m10);
  void channel_by_status(const std::vector<std::uint32_t>& qubits,
                         const std::vector<std::vector<double>>& tables);
  void leakage(const StabInstruction& op, std::span<const StabTarget> targets,
               const std::vector<double>& a);
  void leakage_of_gate(const StabInstruction& op, std::span<const StabTarget> targets,
                       const std::vector<double>& a);

  // ---- instructions (enumerator.cc)
  void channel(const std::vector<std::uint32_t>& qubits, const std::vector<double>& p, bool herald);
  void block(const StabilizerCircuit& c);
  void collapse(std::span<const StabTarget> targets, Pauli basis, bool measured, bool resets,
                double flip);
  void instruction(const StabilizerCircuit& c, const StabInstruction& op);
  void root(const Factors& factors, bool dagger);
  void each_state(GateId id, std::vector<std::uint32_t> qubits, std::vector<double> params);
  void power(const Factors& factors, bool inverted, double half_turns);
  void unitary(const StabInstruction& op, std::span<const StabTarget> targets);

  bool gates_scramble_;
  std::uint32_t num_qubits_;
  bool draws_ = false;
  bool likeliest_ = false;  // one branch is followed, that of the more likely outcomes
  std::mt19937_64 random_;
  std::vector<Branch> branches_;
};

}  // namespace tilewave::stabilizer
