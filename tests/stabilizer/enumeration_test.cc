// Small noisy circuits against full enumeration: every branch of every channel and measurement is
// followed with a dense state vector (the naive simulator's), which gives the exact probability of
// every record string. Knows nothing of Paulis moving through gates, tableaux or frames.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "oracle/naive_simulator.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

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
  bool chain = false;  // an error of the current chain has happened
  oracle::State state;
};

class Enumerator {
 public:
  explicit Enumerator(const StabilizerCircuit& c)
      : num_qubits_(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, c.counts().qubits))) {
    Branch start;
    start.state = oracle::zero_state(num_qubits_);
    branches_.push_back(std::move(start));
    block(c);
  }
  std::map<std::string, double> distribution() const {
    std::map<std::string, double> out;
    for (const Branch& b : branches_) out[b.records] += b.probability;
    return out;
  }

 private:
  void gate(oracle::State& state, GateId id, std::vector<std::uint32_t> qubits) const {
    circuit::Circuit one(num_qubits_);
    one.add_gate(id, qubits);
    oracle::apply(one, one.ops()[0], state);
  }
  void pauli(oracle::State& state, Pauli p, std::uint32_t q) const {
    if (p == Pauli::kX) gate(state, GateId::kX, {q});
    if (p == Pauli::kY) gate(state, GateId::kY, {q});
    if (p == Pauli::kZ) gate(state, GateId::kZ, {q});
  }
  // Each branch becomes what `split` makes of it.
  template <class F>
  void for_each(F split) {
    std::vector<Branch> out;
    for (Branch& b : branches_) {
      const double before = b.probability;
      split(std::move(b), [&](Branch next, double share) {
        next.probability = before * share;
        if (next.probability > 1e-13) out.push_back(std::move(next));
      });
    }
    branches_ = std::move(out);
  }
  // Both outcomes of a Hermitian product; factors act from the last to the first.
  template <class F>
  void measure(const Factors& factors, cplx phase, F then) {
    for_each([&](Branch b, auto emit) {
      oracle::State image = b.state;
      for (std::size_t k = factors.size(); k-- > 0;)
        pauli(image, factors[k].second, factors[k].first);
      for (int outcome = 0; outcome < 2; ++outcome) {
        Branch next = b;
        double norm = 0;
        for (std::size_t i = 0; i < image.size(); ++i) {
          next.state[i] = 0.5 * (b.state[i] + (outcome ? -1.0 : 1.0) * phase * image[i]);
          norm += std::norm(next.state[i]);
        }
        if (norm < 1e-12) continue;
        for (cplx& a : next.state) a /= std::sqrt(norm);
        then(next, outcome == 1);
        emit(std::move(next), norm);
      }
    });
  }
  void record(const Factors& factors, cplx phase, bool inverted, double flip) {
    measure(factors, phase, [&](Branch& b, bool one) { b.records += one != inverted ? '1' : '0'; });
    if (flip > 0) {
      for_each([&](Branch b, auto emit) {
        Branch flipped = b;
        flipped.records.back() = b.records.back() == '0' ? '1' : '0';
        emit(std::move(b), 1 - flip);
        emit(std::move(flipped), flip);
      });
    }
  }
  void reset(Pauli basis, std::uint32_t q) {
    measure({{q, basis}}, 1, [&](Branch& b, bool one) {
      if (one) pauli(b.state, basis == Pauli::kZ ? Pauli::kX : Pauli::kZ, q);
    });
  }
  // Pauli number k of each qubit in two bits, the first target highest; probabilities of all.
  void channel(const std::vector<std::uint32_t>& qubits, const std::vector<double>& p,
               bool herald) {
    for_each([&](Branch b, auto emit) {
      double none = 1;
      for (double x : p) none -= x;
      for (std::size_t k = 0; k < p.size(); ++k) {
        if (p[k] == 0) continue;
        Branch next = b;
        const std::size_t code = herald ? k : k + 1;
        for (std::size_t i = 0; i < qubits.size(); ++i)
          pauli(next.state, static_cast<Pauli>((code >> (2 * (qubits.size() - 1 - i))) & 3),
                qubits[i]);
        if (herald) next.records += '1';
        emit(std::move(next), p[k]);
      }
      if (herald) b.records += '0';
      emit(std::move(b), none);
    });
  }

  void block(const StabilizerCircuit& c) {
    for (const StabInstruction& op : c.instructions()) {
      if (op.kind == StabKind::kRepeat) {
        for (std::uint64_t k = 0; k < op.repeat; ++k) block(c.block(op));
      } else {
        instruction(c, op);
      }
    }
  }

  void collapse(std::span<const StabTarget> targets, Pauli basis, bool measured, bool resets,
                double flip) {
    for (const StabTarget& t : targets) {
      if (measured) record({{t.value, basis}}, 1, t.inverted, flip);
      if (resets) reset(basis, t.value);
    }
  }

  void instruction(const StabilizerCircuit& c, const StabInstruction& op) {
    using K = StabKind;
    const auto targets = c.targets(op);
    const std::vector<double> args(c.args(op).begin(), c.args(op).end());
    const double p = args.empty() ? 0 : args[0];
    const auto each = [&](std::vector<double> probabilities, bool herald = false) {
      for (const StabTarget& t : targets) channel({t.value}, probabilities, herald);
    };
    const auto pairs = [&](const std::vector<double>& probabilities) {
      for (std::size_t i = 0; i < targets.size(); i += 2)
        channel({targets[i].value, targets[i + 1].value}, probabilities, false);
    };
    const auto measure_pairs = [&](Pauli basis) {
      for (std::size_t i = 0; i < targets.size(); i += 2) {
        record({{targets[i].value, basis}, {targets[i + 1].value, basis}}, 1,
               targets[i].inverted != targets[i + 1].inverted, p);
      }
    };
    switch (op.kind) {
      case K::kGate:
        unitary(op, targets);
        break;
      case K::kXError:
        each({p, 0, 0});
        break;
      case K::kYError:
        each({0, p, 0});
        break;
      case K::kZError:
        each({0, 0, p});
        break;
      case K::kDepolarize1:
        each({p / 3, p / 3, p / 3});
        break;
      case K::kPauliChannel1:
        each(args);
        break;
      case K::kDepolarize2:
        pairs(std::vector<double>(15, p / 15));
        break;
      case K::kPauliChannel2:
        pairs(args);
        break;
      case K::kHeraldedErase:
        each({p / 4, p / 4, p / 4, p / 4}, true);
        break;
      case K::kHeraldedPauliChannel1:
        each(args, true);
        break;
      case K::kCorrelatedError:
      case K::kElseCorrelatedError:
        for_each([&](Branch b, auto emit) {
          if (op.kind == K::kCorrelatedError) b.chain = false;
          if (b.chain) return emit(std::move(b), 1.0);
          Branch hit = b;
          hit.chain = true;
          for (const StabTarget& t : targets) pauli(hit.state, t.pauli, t.value);
          emit(std::move(b), 1 - p);
          emit(std::move(hit), p);
        });
        break;
      case K::kM:
        collapse(targets, Pauli::kZ, true, false, p);
        break;
      case K::kMX:
        collapse(targets, Pauli::kX, true, false, p);
        break;
      case K::kMY:
        collapse(targets, Pauli::kY, true, false, p);
        break;
      case K::kMR:
        collapse(targets, Pauli::kZ, true, true, p);
        break;
      case K::kMRX:
        collapse(targets, Pauli::kX, true, true, p);
        break;
      case K::kMRY:
        collapse(targets, Pauli::kY, true, true, p);
        break;
      case K::kR:
        collapse(targets, Pauli::kZ, false, true, 0);
        break;
      case K::kRX:
        collapse(targets, Pauli::kX, false, true, 0);
        break;
      case K::kRY:
        collapse(targets, Pauli::kY, false, true, 0);
        break;
      case K::kMXX:
        measure_pairs(Pauli::kX);
        break;
      case K::kMYY:
        measure_pairs(Pauli::kY);
        break;
      case K::kMZZ:
        measure_pairs(Pauli::kZ);
        break;
      case K::kMPP:
      case K::kSPP:
      case K::kSPPDag:
        for (std::size_t i = 0; i < targets.size();) {
          Factors factors;
          bool inverted = false;
          do {
            factors.emplace_back(targets[i].value, targets[i].pauli);
            inverted ^= targets[i].inverted;
            ++i;
          } while (i < targets.size() && targets[i].kind == StabTarget::Kind::kCombiner && ++i);
          if (op.kind == K::kMPP) {
            record(factors, 1, inverted, p);
          } else {
            root(factors, inverted != (op.kind == K::kSPPDag));
          }
        }
        break;
      case K::kMpad:
        for (const StabTarget& t : targets) {
          for (Branch& b : branches_) b.records += t.value ? '1' : '0';
          if (p > 0) {
            for_each([&](Branch b, auto emit) {
              Branch flipped = b;
              flipped.records.back() = b.records.back() == '0' ? '1' : '0';
              emit(std::move(b), 1 - p);
              emit(std::move(flipped), p);
            });
          }
        }
        break;
      default:
        break;  // annotations
    }
  }

  // exp of the product: (1 + P)/2 + i (1 - P)/2, or its inverse.
  void root(const Factors& factors, bool dagger) {
    const cplx i(0, dagger ? -1 : 1);
    for (Branch& b : branches_) {
      oracle::State image = b.state;
      for (std::size_t k = factors.size(); k-- > 0;)
        pauli(image, factors[k].second, factors[k].first);
      for (std::size_t k = 0; k < image.size(); ++k)
        b.state[k] = 0.5 * ((1.0 + i) * b.state[k] + (1.0 - i) * image[k]);
    }
  }

  void unitary(const StabInstruction& op, std::span<const StabTarget> targets) {
    const std::size_t arity = static_cast<std::size_t>(circuit::gate_info(op.gate).num_controls +
                                                       circuit::gate_info(op.gate).num_targets);
    for (std::size_t i = 0; i < targets.size(); i += arity) {
      for (Branch& b : branches_) {
        if (targets[i].kind == StabTarget::Kind::kRecord) {  // CX, CY or CZ
          const Pauli p = op.gate == GateId::kCx   ? Pauli::kX
                          : op.gate == GateId::kCy ? Pauli::kY
                                                   : Pauli::kZ;
          if (b.records[b.records.size() - targets[i].value] == '1')
            pauli(b.state, p, targets[i + 1].value);
          continue;
        }
        std::vector<std::uint32_t> qubits;
        for (std::size_t k = 0; k < arity; ++k) qubits.push_back(targets[i + k].value);
        gate(b.state, op.gate, qubits);
      }
    }
  }

  std::uint32_t num_qubits_;
  std::vector<Branch> branches_;
};

const char* const kCircuits[] = {
    // every channel of one qubit, before measurements in three bases
    "RX 1\nRY 2\nX_ERROR(0.1) 0 1\nY_ERROR(0.2) 1 2\nZ_ERROR(0.3) 0 1 2\nM 0\nMX 1\nMY 2",
    "H 0\nDEPOLARIZE1(0.3) 0\nPAULI_CHANNEL_1(0.1, 0.2, 0.3) 1 0\nMX(0.1) 0\nM !1\nMX 1\nMX 1",
    "H 0\nCX 0 1\nDEPOLARIZE2(0.4) 0 1\nMXX 0 1\nMZZ(0.2) 0 !1\nM 0 1",
    "RX 0\nRY 1\nPAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 0 1\n"
    "MX 0\nMY 1\nM 0 1",
    // chains, also with other operations between their links
    "E(0.3) X0 Z1\nELSE_CORRELATED_ERROR(0.5) Y1 X2\nELSE_CORRELATED_ERROR(0.25) X0\nM 0 1 2\n"
    "E(0.1) X0\nM 0",
    "E(0.4) X0\nH 1\nM 1\nELSE_CORRELATED_ERROR(0.5) X2\nM 0 2",
    "REPEAT 2 {\nE(0.4) X0\nELSE_CORRELATED_ERROR(0.5) X1\nMR 0\n}\nM 1",
    // heralds inside a loop, looked back at through feedback
    "REPEAT 2 {\nHERALDED_ERASE(0.3) 0 1\nCX rec[-1] 2 rec[-2] 0\nM 0\n}\nM 1 2",
    "RX 0\nHERALDED_PAULI_CHANNEL_1(0.1, 0.2, 0.05, 0.15) 0 1\nCZ rec[-2] 0\nMX 0\nM 1",
    // collapses: repeated targets, records that are flipped, resets in every basis
    "H 0\nMR(0.25) 0 0 !0\nH 0\nM 0\nM 0",
    "RX 0\nX_ERROR(0.5) 0\nMRY 0\nMRX(0.1) 0 0\nMY 0\nR 0\nM 0",
    "H 0\nM 0\nH 0\nM 0\nH 0\nM 0",
    "MX 0 0\nM 0 0\nMX 0\nMY 0 0",
    // products: repeated qubits, signs, roots
    "H 0\nDEPOLARIZE1(0.2) 0 1\nMPP(0.1) X0*X1*!Z2 Z0*Z1 X0*X0*Z1\nM 0 1 2",
    "MPP X0*Y0*Z0*X1*Y1*Z1 !Y0*Y1\nM 0",
    "H 0 1\nSPP X0*Z1 !Y0*Y1\nSPP_DAG Z0*Z1*X2\nZ_ERROR(0.2) 0\nM 0 1 2",
    // gates of every class under noise
    "H 0 1 2\nSQRT_XX 0 1\nISWAP 1 2\nX_ERROR(0.2) 0\nC_XYZ 0\nCXSWAP 0 2\nY_ERROR(0.1) 1\n"
    "SQRT_YY_DAG 1 2\nCZSWAP 0 1\nH_YZ 2\nC_NZYX 1\nXCY 0 2\nM 0 1 2",
    "MPAD(0.25) 0 1\nX 0\nM 0\nCY rec[-1] 1\nCX rec[-3] 1\nM 1\nMX 1",
    "REPEAT 3 {\nH 0\nS 0\nCX 0 1\nDEPOLARIZE1(0.1) 1\nSWAP 0 1\nM(0.05) 0\n}",
    // single places of noise, which the frame engine gathers in lists of sites
    "H 0\nX_ERROR(0.01) 0\nCX 0 1\nDEPOLARIZE2(0.015) 0 1\nR 2\nY_ERROR(0.002) 2\nZ_ERROR(0.013) "
    "0\n"
    "PAULI_CHANNEL_1(0.001, 0.008, 0.004) 1\nM(0.012) 2\nDEPOLARIZE1(0.014) 2\nCX 1 2\nM(0.003) 2\n"
    "CX rec[-2] 0\nH 0\nM(0.01) 0 !1 2",
    "PAULI_CHANNEL_2(.001,.002,.0005,.001,.0003,.001,.0001,.001,.002,.0004,.001,.0007,.001,.001,."
    "002) 0 1\n"
    "E(0.004) X0 Z1 Y2\nELSE_CORRELATED_ERROR(0.003) Y0 X1\nELSE_CORRELATED_ERROR(0.005) X2\n"
    "C_XYZ 1\nE(0.006) Z1\nH 2\nE(0.002) Z2*X0\nM 0 1 2",
    "HERALDED_ERASE(0.01) 0\nM(0.01) 0\nHERALDED_PAULI_CHANNEL_1(0.001, 0.006, 0.002, 0.003) 1\nMR "
    "0\n"
    "HERALDED_ERASE(0.014) 1\nCX rec[-1] 0\nM 0 1",
    "REPEAT 3 {\nMR(0.01) 0\nX_ERROR(0.011) 0\nCX 0 1\nHERALDED_ERASE(0.008) 1\nX_ERROR(0.002) 1\n"
    "CX rec[-2] 1\n}\nM 1",
    // a chain that goes on behind a gate
    "E(0.01) X0\nH 1\nELSE_CORRELATED_ERROR(0.9) X1\nH 1\nELSE_CORRELATED_ERROR(0.5) X0\nM 0 1",
};

TEST(Enumeration, both_engines_draw_from_the_exact_distribution) {
  constexpr std::uint64_t kShots = 1 << 20;
  for (const char* text : kCircuits) {
    const StabilizerCircuit circuit = language::parse_stim(text);
    const auto exact = Enumerator(circuit).distribution();
    double total = 0;
    for (const auto& [records, p] : exact) total += p;
    ASSERT_NEAR(total, 1, 1e-9) << text;
    const StabProgram program = lower(circuit);
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      SampleOptions options;
      options.output = ShotOutput::kRecords;
      options.engine = engine;
      options.num_shots = kShots;
      options.seed = 4;
      options.num_threads = 1;
      const auto source = make_shot_source(program, options);
      std::map<std::string, std::uint64_t> counts;
      ShotPipeline pipeline;
      std::string key(source->num_bits(), '0');
      pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer&) {
        for (std::size_t s = 0; s < n; ++s) {
          const std::uint8_t* row = rows + s * source->row_stride();
          for (std::size_t b = 0; b < key.size(); ++b)
            key[b] = static_cast<char>('0' + ((row[b / 8] >> (b % 8)) & 1));
          ++counts[key];
        }
        return std::span<const char>();
      };
      pipeline.write = [](std::span<const char>, std::size_t) { return true; };
      ASSERT_EQ(run_shots(*source, options, pipeline), kShots);
      for (const auto& [records, count] : counts)
        EXPECT_TRUE(exact.count(records)) << "impossible " << records << " in\n" << text;
      for (const auto& [records, p] : exact) {
        const double expected = p * kShots, sigma = std::sqrt(expected * (1 - p));
        const auto it = counts.find(records);
        const double count = it == counts.end() ? 0 : static_cast<double>(it->second);
        // 5 sigma, one more for the few hundred comparisons, and one shot for rare outcomes
        EXPECT_LE(std::abs(count - expected), 6 * sigma + 1)
            << records << " engine " << static_cast<int>(engine) << " in\n"
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
