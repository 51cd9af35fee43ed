// Phase functions: amplitudes are multiplied by e^{i f(x)}, x the numbers in registers of qubits.
// One sweep over the state; on density matrices the phase is f(row) - f(column).
#include <algorithm>
#include <cmath>
#include <functional>

#include "tilewave/quest/api/call.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

struct Registers {
  std::vector<std::vector<Qubit>> list;
  bitEncoding encoding;

  void read(std::uint64_t index, long long* x) const {
    for (std::size_t r = 0; r < list.size(); ++r) {
      const auto& q = list[r];
      long long number = 0;
      for (std::size_t k = 0; k < q.size(); ++k) {
        number += static_cast<long long>(index >> q[k] & 1) << k;
      }
      if (encoding == TWOS_COMPLEMENT && number >> (q.size() - 1) & 1) number -= 1LL << q.size();
      x[r] = number;
    }
  }
};

struct Overrides {
  const long long* indices;
  const qreal* phases;
  int count;
};

using Function = std::function<double(const long long* x)>;

Registers check_registers(const Register& r, const int* qubits, const int* sizes, int count,
                          bitEncoding encoding) {
  check_range(count, 1, MAX_NUM_REGS_APPLY_ARBITRARY_PHASE, "numRegs");
  check_pointer(sizes, "numQubitsPerReg");
  check_range(static_cast<int>(encoding), 0, 1, "encoding");
  int total = 0;
  for (int k = 0; k < count; ++k) {
    check_range(sizes[k], encoding == TWOS_COMPLEMENT ? 2 : 1, r.num_qubits(),
                "an entry of numQubitsPerReg");
    total += sizes[k];
  }
  const auto all = check_qubits(r, qubits, total, 1, "qubits");
  Registers out{{}, encoding};
  auto next = all.begin();
  for (int k = 0; k < count; ++k) {
    out.list.emplace_back(next, next + sizes[k]);
    next += sizes[k];
  }
  return out;
}

void check_overrides(const Registers& regs, const Overrides& o) {
  check_range(o.count, 0, 1 << 30, "numOverrides");
  if (o.count == 0) return;
  check_pointer(o.indices, "overrideInds");
  check_pointer(o.phases, "overridePhases");
  for (int k = 0; k < o.count; ++k) {
    for (std::size_t r = 0; r < regs.list.size(); ++r) {
      const long long values = 1LL << regs.list[r].size();
      const bool is_signed = regs.encoding == TWOS_COMPLEMENT;
      check_range(
          o.indices[k * static_cast<long long>(regs.list.size()) + static_cast<long long>(r)],
          is_signed ? -values / 2 : 0, (is_signed ? values / 2 : values) - 1,
          "an entry of overrideInds");
    }
  }
}

void apply(Register& r, const Registers& regs, const Function& f, const Overrides& o) {
  check_overrides(regs, o);
  const std::size_t count = regs.list.size();
  const auto phase = [&](std::uint64_t index) {
    long long x[MAX_NUM_REGS_APPLY_ARBITRARY_PHASE];
    regs.read(index, x);
    for (int k = 0; k < o.count; ++k) {
      if (std::equal(x, x + count, o.indices + static_cast<std::size_t>(k) * count)) {
        return static_cast<double>(o.phases[k]);
      }
    }
    return f(x);
  };
  const std::uint64_t rows = r.dimension() - 1;
  r.update([&](std::uint64_t first, std::span<cplx> block) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      const std::uint64_t index = first + k;
      double angle = phase(index & rows);
      if (r.is_density()) angle -= phase(index >> r.num_qubits());
      block[k] *= cplx(std::cos(angle), std::sin(angle));
    }
  });
  r.log().comment("a phase function stands here: OpenQASM 2 has no gate for it");
}

// Sum of coefficient x^exponent; terms[k] of them belong to register k.
void polynomial(const char* function, const Qureg& qureg, const int* qubits, const int* sizes,
                int num_regs, bitEncoding encoding, const qreal* coeffs, const qreal* exponents,
                const int* terms, const Overrides& o) {
  call(function, [&] {
    Register& r = use(qureg);
    const Registers regs = check_registers(r, qubits, sizes, num_regs, encoding);
    check_pointer(coeffs, "coeffs");
    check_pointer(exponents, "exponents");
    check_pointer(terms, "numTermsPerReg");
    int at = 0;
    for (int reg = 0; reg < num_regs; ++reg) {
      check_range(terms[reg], 1, 1 << 24, "a number of terms");
      for (int k = 0; k < terms[reg]; ++k, ++at) {
        check_finite(coeffs[at], "a coefficient");
        const double e = exponents[at];
        check_finite(e, "an exponent");
        const bool whole = e == std::floor(e);
        const auto excused = [&](long long x) {
          for (int j = 0; j < o.count; ++j) {
            if (num_regs == 1 && o.indices && o.indices[j] == x) return true;
          }
          return false;
        };
        if (e < 0 && !excused(0)) {
          fail("an exponent is negative, which diverges at 0: give the phase at 0 as an override");
        }
        if (!whole && encoding == TWOS_COMPLEMENT) {
          const long long half = 1LL << (sizes[reg] - 1);
          for (long long x = -half; x < 0; ++x) {
            if (!excused(x)) {
              fail(
                  "an exponent is a fraction, which has no real value at negative numbers: give "
                  "their phases as overrides or use UNSIGNED");
            }
          }
        }
      }
    }
    apply(
        r, regs,
        [&](const long long* x) {
          double sum = 0;
          int k = 0;
          for (int reg = 0; reg < num_regs; ++reg) {
            for (int t = 0; t < terms[reg]; ++t, ++k) {
              sum += coeffs[k] * std::pow(static_cast<double>(x[reg]), exponents[k]);
            }
          }
          return sum;
        },
        o);
  });
}

bool is_distance(phaseFunc f) { return f >= DISTANCE; }

int parameters_of(phaseFunc f, int num_regs) {
  switch (f) {
    case NORM:
    case PRODUCT:
    case DISTANCE:
      return 0;
    case SCALED_NORM:
    case INVERSE_NORM:
    case SCALED_PRODUCT:
    case INVERSE_PRODUCT:
    case SCALED_DISTANCE:
    case INVERSE_DISTANCE:
      return 1;
    case SCALED_INVERSE_NORM:
    case SCALED_INVERSE_PRODUCT:
    case SCALED_INVERSE_DISTANCE:
      return 2;
    case SCALED_INVERSE_SHIFTED_NORM:
      return 2 + num_regs;
    case SCALED_INVERSE_SHIFTED_DISTANCE:
      return 2 + num_regs / 2;
    case SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE:
      return 2 + num_regs;
  }
  fail("functionNameCode is " + std::to_string(static_cast<int>(f)) +
       ": it must be from 0 to 14 (enum phaseFunc)");
}

double base_value(phaseFunc f, const long long* x, int n, const qreal* p) {
  double sum = f >= PRODUCT && f <= SCALED_INVERSE_PRODUCT ? 1 : 0;
  if (f <= SCALED_INVERSE_SHIFTED_NORM) {
    for (int k = 0; k < n; ++k) {
      const double d =
          static_cast<double>(x[k]) - (f == SCALED_INVERSE_SHIFTED_NORM ? double(p[2 + k]) : 0.0);
      sum += d * d;
    }
  } else if (!is_distance(f)) {
    for (int k = 0; k < n; ++k) sum *= static_cast<double>(x[k]);
    return sum;
  } else {
    for (int k = 0; k < n; k += 2) {
      double d = static_cast<double>(x[k] - x[k + 1]), weight = 1;
      if (f == SCALED_INVERSE_SHIFTED_DISTANCE) d -= p[2 + k / 2];
      if (f == SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE) {
        weight = p[2 + k];
        d -= p[3 + k];
      }
      sum += weight * d * d;
    }
  }
  return std::sqrt(std::max(sum, 0.0));
}

double named_phase(phaseFunc f, const long long* x, int n, const qreal* p) {
  const double v = base_value(f, x, n, p);
  switch (f) {
    case NORM:
    case PRODUCT:
    case DISTANCE:
      return v;
    case SCALED_NORM:
    case SCALED_PRODUCT:
    case SCALED_DISTANCE:
      return p[0] * v;
    case INVERSE_NORM:
    case INVERSE_PRODUCT:
    case INVERSE_DISTANCE:
      return v == 0 ? double(p[0]) : 1 / v;
    case SCALED_INVERSE_PRODUCT:
      return v == 0 ? double(p[1]) : p[0] / v;
    default:
      return v <= REAL_EPS ? double(p[1]) : p[0] / v;
  }
}

void named(const char* function, const Qureg& qureg, const int* qubits, const int* sizes,
           int num_regs, bitEncoding encoding, phaseFunc f, const qreal* params, int num_params,
           const Overrides& o) {
  call(function, [&] {
    Register& r = use(qureg);
    const Registers regs = check_registers(r, qubits, sizes, num_regs, encoding);
    const int wanted = parameters_of(f, num_regs);
    if (is_distance(f) && num_regs % 2) {
      fail("numRegs is " + std::to_string(num_regs) + ": a distance needs an even number");
    }
    if (num_params != wanted) {
      fail("numParams is " + std::to_string(num_params) + ": this phase function takes " +
           std::to_string(wanted));
    }
    if (wanted) check_pointer(params, "params");
    apply(
        r, regs, [&](const long long* x) { return named_phase(f, x, num_regs, params); }, o);
  });
}

constexpr Overrides kNone = {nullptr, nullptr, 0};

}  // namespace

void applyPhaseFunc(Qureg q, int* qubits, int n, bitEncoding e, qreal* coeffs, qreal* exponents,
                    int terms) {
  polynomial(__func__, q, qubits, &n, 1, e, coeffs, exponents, &terms, kNone);
}

void applyPhaseFuncOverrides(Qureg q, int* qubits, int n, bitEncoding e, qreal* coeffs,
                             qreal* exponents, int terms, long long int* indices, qreal* phases,
                             int count) {
  polynomial(__func__, q, qubits, &n, 1, e, coeffs, exponents, &terms, {indices, phases, count});
}

void applyMultiVarPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, qreal* coeffs,
                            qreal* exponents, int* terms) {
  polynomial(__func__, q, qubits, sizes, n, e, coeffs, exponents, terms, kNone);
}

void applyMultiVarPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                     qreal* coeffs, qreal* exponents, int* terms,
                                     long long int* indices, qreal* phases, int count) {
  polynomial(__func__, q, qubits, sizes, n, e, coeffs, exponents, terms, {indices, phases, count});
}

void applyNamedPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, phaseFunc f) {
  named(__func__, q, qubits, sizes, n, e, f, nullptr, 0, kNone);
}

void applyNamedPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                  phaseFunc f, long long int* indices, qreal* phases, int count) {
  named(__func__, q, qubits, sizes, n, e, f, nullptr, 0, {indices, phases, count});
}

void applyParamNamedPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, phaseFunc f,
                              qreal* params, int num_params) {
  named(__func__, q, qubits, sizes, n, e, f, params, num_params, kNone);
}

void applyParamNamedPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                       phaseFunc f, qreal* params, int num_params,
                                       long long int* indices, qreal* phases, int count) {
  named(__func__, q, qubits, sizes, n, e, f, params, num_params, {indices, phases, count});
}
