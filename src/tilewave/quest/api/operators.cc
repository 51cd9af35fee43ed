// Operators on whole registers: diagonal operators, Pauli sums, product formulas, the Fourier
// transform, projectors; and their expectations.
#include <cmath>
#include <numbers>

#include "tilewave/quest/api/hamil.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

/// The elements of an operator: where only a share of them is here, for a register whose state is
/// held whole or that needs all rows, those of all processes.
class Elements {
 public:
  Elements(const DiagonalOp& op, const Register& r) {
    const auto share = static_cast<std::size_t>(op.numElemsPerChunk);
    table_ = {op.real, op.imag, sizeof(qreal) == 8, static_cast<std::uint64_t>(op.chunkId) * share,
              share};
    if (op.numChunks == 1 || (r.is_divided() && !r.is_density())) return;
    for (auto [all, mine] : {std::pair{&re_, op.real}, std::pair{&im_, op.imag}}) {
      all->resize(share * static_cast<std::size_t>(op.numChunks));
      processes()->gather(mine, all->data(), share * sizeof(qreal));
    }
    table_ = {re_.data(), im_.data(), sizeof(qreal) == 8, 0, re_.size()};
  }
  const tilewave::statevec::Table& table() const { return table_; }

 private:
  std::vector<qreal> re_, im_;
  tilewave::statevec::Table table_;
};

void check_fits(const DiagonalOp& op, const Register& r) {
  check_pointer(op.real, "op.real", Words::kDiagonalNotCreated);
  check_pointer(op.imag, "op.imag", Words::kDiagonalNotCreated);
  if (op.numQubits != r.num_qubits()) {
    fail(Words::kDiagonalRegister, "op is for ", op.numQubits, " qubits, but the register has ",
         r.num_qubits());
  }
}

// H and phases from the highest qubit down, then the order reversed by swaps.
void fourier(Register& r, std::span<const Qubit> q) {
  for (std::size_t k = q.size(); k-- > 0;) {
    r.gate(GateId::kH, {}, {&q[k], 1});
    for (std::size_t j = k; j-- > 0;) {
      const double angle = std::ldexp(std::numbers::pi, -static_cast<int>(k - j));
      r.gate(GateId::kP, {{&q[j], 1}}, {&q[k], 1}, {&angle, 1});
    }
  }
  for (std::size_t k = 0; k < q.size() / 2; ++k) {
    const Qubit both[2] = {q[k], q[q.size() - 1 - k]};
    r.gate(GateId::kSwap, {}, both);
  }
}

void check_workspace(const Register& r, const Qureg& workspace) {
  Register& w = use(workspace, "workspace");
  check_same_kind(w, r, "workspace and qureg");
  check_same_size(r, w, "qureg and workspace");
}

qreal expectation(Register& r, const tilewave::circuit::PauliSum& sum) {
  const std::vector<double> values = r.expectations(sum);
  double total = 0;
  for (std::size_t k = 0; k < sum.size(); ++k) total += sum[k].coefficient * values[k];
  return static_cast<qreal>(total);
}

// out = sum in; `get` checks and gives the sum for the register `in`.
template <class Get>
void apply_to(const Qureg& in, const Qureg& out, Get get) {
  Register &a = use(in, "inQureg"), &b = use(out, "outQureg");
  check_same_kind(a, b, "inQureg and outQureg");
  check_same_size(a, b, "inQureg and outQureg");
  apply_sum(a, get(a), b);
  b.log().comment("a sum of Pauli strings is applied here");
}

}  // namespace

void applyDiagonalOp(Qureg qureg, DiagonalOp op) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_fits(op, r);
    const Elements elements(op, r);
    tilewave::statevec::Sweep s;
    s.kind = tilewave::statevec::Sweep::Kind::kTable;
    s.row_bits = r.num_qubits();
    for (int q = 0; q < r.num_qubits(); ++q) s.digits.add(q);
    s.table = elements.table();
    r.settled_for_change().sweep(s);
    r.log().comment("a diagonal operator stands here: OpenQASM 2 has no gate for it");
  });
}

::Complex calcExpecDiagonalOp(Qureg qureg, DiagonalOp op) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    check_fits(op, r);
    const Elements elements(op, r);
    cplx total = 0;
    if (r.is_density()) {
      const std::vector<cplx>& d = r.diagonal();
      for (std::size_t k = 0; k < d.size(); ++k) {
        const auto z = elements.table().at(k);
        total += d[k] * cplx(z.re, z.im);
      }
    } else {
      tilewave::statevec::SweepSum s;
      s.row_bits = r.num_qubits();
      s.table = elements.table();
      total = r.settled().sweep_sum(s);
      r.share(&total, sizeof total);
    }
    return value(total);
  });
}

void applyPauliSum(Qureg inQureg, pauliOpType* allPauliCodes, qreal* termCoeffs, int numSumTerms,
                   Qureg outQureg) {
  call(__func__, [&] {
    apply_to(inQureg, outQureg, [&](const Register& r) {
      return pauli_sum(allPauliCodes, termCoeffs, numSumTerms, r.num_qubits());
    });
  });
}

void applyPauliHamil(Qureg inQureg, PauliHamil hamil, Qureg outQureg) {
  call(__func__, [&] {
    apply_to(inQureg, outQureg, [&](const Register& r) { return pauli_sum(hamil, r); });
  });
}

void applyTrotterCircuit(Qureg qureg, PauliHamil hamil, qreal time, int order, int reps) {
  call(__func__, [&] {
    Register& r = use(qureg);
    if (order != 1 && (order < 2 || order % 2)) {
      fail(Words::kTrotterOrder, "order is ", order, ": it must be 1 or an even number");
    }
    check_range(reps, 1, 1 << 30, "reps", Words::kTrotterRepetitions);
    const auto sum = pauli_sum(hamil, r);
    check_finite(time, "time");
    apply_product_formula(r, sum, time, order, reps);
  });
}

void applyProjector(Qureg qureg, int qubit_index, int outcome) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const Qubit q = qubit(r, qubit_index, "qubit");
    check_outcome(outcome);
    r.collapse(q, outcome, 1);
    r.log().comment("qubit " + std::to_string(q) + " is projected on " + std::to_string(outcome) +
                    " without renormalising");
  });
}

void applyFullQFT(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    std::vector<Qubit> all;
    for (int q = 0; q < r.num_qubits(); ++q) all.push_back(static_cast<Qubit>(q));
    fourier(r, all);
  });
}

void applyQFT(Qureg qureg, int* qubits, int numQubits) {
  call(__func__, [&] {
    Register& r = use(qureg);
    fourier(r, check_qubits(r, qubits, numQubits, 1, "qubits"));
  });
}

qreal calcExpecPauliProd(Qureg qureg, int* targetQubits, pauliOpType* pauliCodes, int numTargets,
                         Qureg workspace) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    const auto t = check_qubits(r, targetQubits, numTargets, 1, "targetQubits");
    check_pointer(pauliCodes, "pauliCodes");
    const auto term = pauli_term(reinterpret_cast<const int*>(pauliCodes), t);
    check_workspace(r, workspace);
    return expectation(r, {term});
  });
}

qreal calcExpecPauliSum(Qureg qureg, pauliOpType* allPauliCodes, qreal* termCoeffs, int numSumTerms,
                        Qureg workspace) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    const auto sum = pauli_sum(allPauliCodes, termCoeffs, numSumTerms, r.num_qubits());
    check_workspace(r, workspace);
    return expectation(r, sum);
  });
}

qreal calcExpecPauliHamil(Qureg qureg, PauliHamil hamil, Qureg workspace) {
  return call(__func__, [&] {
    Register& r = use(qureg);
    check_workspace(r, workspace);
    return expectation(r, pauli_sum(hamil, r));
  });
}
