// Phase functions: amplitudes are multiplied by e^{i f(x)}, x the numbers in registers of qubits.
// One sweep over the state; on density matrices the phase is f(row) - f(column).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tilewave/base/units.h"
#include "tilewave/quest/api/call.h"

using namespace tilewave::quest;

namespace {

using tilewave::statevec::PhaseFunction;

struct Registers {
  std::vector<std::vector<Qubit>> list;
  bitEncoding encoding;
};

// Whether a function takes one register, or a list of them: QuEST checks other things, and their
// arguments have other names.
enum class Takes { kOne, kList };

struct Overrides {
  const long long* indices;
  const qreal* phases;
  int count;
};

Registers check_registers(const Register& r, const int* qubits, const int* sizes, int count,
                          bitEncoding encoding, Takes takes) {
  check_range(count, 1, MAX_NUM_REGS_APPLY_ARBITRARY_PHASE, "numRegs", Words::kNumSubregisters);
  check_pointer(sizes, "numQubitsPerReg");
  const char* const size_name = takes == Takes::kOne ? "numQubits" : "an entry of numQubitsPerReg";
  int total = 0;
  for (int k = 0; k < count; ++k) {
    check_range(sizes[k], 1, r.num_qubits(), size_name, Words::kNumQubits);
    total += sizes[k];
  }
  const auto all = check_qubits(r, qubits, total, 1, "qubits", Role::kQubit);
  check_range(static_cast<int>(encoding), 0, 1, "encoding", Words::kBitEncoding);
  for (int k = 0; k < count; ++k) {
    if (encoding == TWOS_COMPLEMENT)
      check_range(sizes[k], 2, r.num_qubits(), size_name, Words::kSignedTooSmall);
  }
  Registers out{{}, encoding};
  auto next = all.begin();
  for (int k = 0; k < count; ++k) {
    out.list.emplace_back(next, next + sizes[k]);
    next += sizes[k];
  }
  return out;
}

void check_overrides(const Registers& regs, const Overrides& o, Takes takes) {
  const long long most = takes == Takes::kOne ? 1LL << regs.list[0].size() : 1LL << 30;
  check_range(o.count, 0, most, "numOverrides", Words::kNumOverrides);
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
          "an entry of overrideInds",
          is_signed ? Words::kSignedOverride : Words::kUnsignedOverride);
    }
  }
}

// f with its numbers and exceptions filled in.
void apply(Register& r, const Registers& regs, PhaseFunction f, const Overrides& o) {
  f.is_signed = regs.encoding == TWOS_COMPLEMENT;
  int at = 0;
  for (const auto& list : regs.list) {
    f.sizes[f.num_numbers++] = static_cast<std::uint8_t>(list.size());
    for (const Qubit q : list) f.qubits[at++] = static_cast<std::uint8_t>(q);
  }
  const auto count = static_cast<std::size_t>(o.count);
  const std::vector<std::int64_t> numbers(o.indices, o.indices + count * regs.list.size());
  const std::vector<double> phases(o.phases, o.phases + count);
  f.exception_numbers = numbers.data();
  f.exception_phases = phases.data();
  f.num_exceptions = o.count;
  tilewave::statevec::Sweep s;
  s.kind = tilewave::statevec::Sweep::Kind::kPhase;
  s.row_bits = r.num_qubits();
  s.is_both = r.is_density();
  s.phase = f;
  r.settled_for_change().sweep(s);
  r.log().comment("a phase function stands here: OpenQASM 2 has no gate for it");
}

// Sum of coefficient x^exponent; terms[k] of them belong to register k.
void polynomial(const char* function, const Qureg& qureg, const int* qubits, const int* sizes,
                int num_regs, bitEncoding encoding, const qreal* coeffs, const qreal* exponents,
                const int* terms, const Overrides& o, Takes takes) {
  call(function, [&] {
    Register& r = use(qureg);
    const bool is_one = takes == Takes::kOne;
    const Registers regs = check_registers(r, qubits, sizes, num_regs, encoding, takes);
    if (is_one) check_overrides(regs, o, takes);
    check_pointer(terms, "numTermsPerReg");
    for (int reg = 0; reg < num_regs; ++reg)
      check_range(terms[reg], 1, 1 << 24, is_one ? "numTerms" : "an entry of numTermsPerReg",
                  Words::kNumPhaseTerms);
    check_pointer(coeffs, "coeffs");
    check_pointer(exponents, "exponents");
    const int at = std::accumulate(terms, terms + num_regs, 0);
    for (int k = 0; k < at; ++k) {
      check_finite(coeffs[k], "an entry of coeffs");
      check_finite(exponents[k], "an entry of exponents");
    }
    // of several registers no override is for a number of one of them alone
    const auto excused = [&](long long x) {
      return is_one && std::find(o.indices, o.indices + o.count, x) != o.indices + o.count;
    };
    const char* const remedy =
        is_one ? "as an override"
               : "as an override of applyPhaseFuncOverrides, called for each register";
    if (*std::min_element(exponents, exponents + at) < 0 && !excused(0)) {
      fail(is_one ? Words::kNegativeExponent : Words::kNegativeExponentOfSeveral,
           "an exponent is negative, which diverges at 0: give the phase at 0 ", remedy);
    }
    for (int reg = 0, k = 0; encoding == TWOS_COMPLEMENT && reg < num_regs; ++reg) {
      const qreal *const first = exponents + k, *const last = first + terms[reg];
      k += terms[reg];
      if (std::all_of(first, last, [](double e) { return e == std::floor(e); })) continue;
      for (long long x = -(1LL << (sizes[reg] - 1)); x < 0; ++x) {
        if (!excused(x)) {
          fail(is_one ? Words::kFractionalExponent : Words::kFractionalExponentOfSeveral,
               "an exponent is a fraction, which has no real value at negative numbers: give "
               "their phases ",
               remedy, ", or use UNSIGNED");
        }
      }
    }
    if (!is_one) check_overrides(regs, o, takes);
    const std::vector<double> c(coeffs, coeffs + at), e(exponents, exponents + at);
    PhaseFunction f;
    std::copy_n(terms, num_regs, f.num_terms);
    f.coefficients = c.data();
    f.exponents = e.data();
    apply(r, regs, f, o);
  });
}

// What a named function is made of. Its parameters are a scale, the value where the base is 0, and
// what shifts the numbers or their differences.
struct NamedForm {
  PhaseFunction::Base base;
  bool is_scaled = false, is_inverse = false;
  enum class Shifts { kNone, kEach, kWeighted } shifts = Shifts::kNone;

  int num_parameters(int num_regs) const {
    const int places = base == PhaseFunction::Base::kDistance ? num_regs / 2 : num_regs;
    const int of_place = shifts == Shifts::kWeighted ? 2 : shifts == Shifts::kEach ? 1 : 0;
    return is_scaled + is_inverse + places * of_place;
  }
};

NamedForm form_of(phaseFunc f) {
  using Base = PhaseFunction::Base;
  using Shifts = NamedForm::Shifts;
  constexpr NamedForm kForms[] = {// in the order of phaseFunc
                                  {Base::kNorm},
                                  {Base::kNorm, true},
                                  {Base::kNorm, false, true},
                                  {Base::kNorm, true, true},
                                  {Base::kNorm, true, true, Shifts::kEach},
                                  {Base::kProduct},
                                  {Base::kProduct, true},
                                  {Base::kProduct, false, true},
                                  {Base::kProduct, true, true},
                                  {Base::kDistance},
                                  {Base::kDistance, true},
                                  {Base::kDistance, false, true},
                                  {Base::kDistance, true, true},
                                  {Base::kDistance, true, true, Shifts::kEach},
                                  {Base::kDistance, true, true, Shifts::kWeighted}};
  const auto number = static_cast<unsigned>(f);
  if (number < std::size(kForms)) return kForms[number];
  fail(Words::kPhaseFunction, "functionNameCode is ", static_cast<int>(f),
       ": it must be from 0 to 14 (enum phaseFunc)");
}

PhaseFunction named_function(const NamedForm& form, int num_regs, const qreal* p) {
  PhaseFunction out;
  out.base = form.base;
  out.is_inverse = form.is_inverse;
  std::fill_n(out.weight, PhaseFunction::kMaxNumbers, 1.0);
  if (form.is_scaled) out.scale = *p++;
  if (form.is_inverse) out.at_zero = *p++;
  const bool is_distance = form.base == PhaseFunction::Base::kDistance;
  for (int k = 0; k < (is_distance ? num_regs / 2 : num_regs); ++k) {
    if (form.shifts == NamedForm::Shifts::kWeighted) out.weight[k] = *p++;
    if (form.shifts != NamedForm::Shifts::kNone) out.shift[k] = *p++;
  }
  if (form.is_scaled && form.is_inverse && form.base != PhaseFunction::Base::kProduct)
    out.zero_below = double(REAL_EPS);
  return out;
}

void named(const char* function, const Qureg& qureg, const int* qubits, const int* sizes,
           int num_regs, bitEncoding encoding, phaseFunc f, const qreal* params, int num_params,
           const Overrides& o, bool takes_params) {
  call(function, [&] {
    Register& r = use(qureg);
    const Registers regs = check_registers(r, qubits, sizes, num_regs, encoding, Takes::kList);
    const NamedForm form = form_of(f);
    const int wanted = form.num_parameters(num_regs);
    if (form.base == PhaseFunction::Base::kDistance && num_regs % 2) {
      fail(Words::kOddDistance, "numRegs is ", num_regs, ": a distance needs an even number");
    }
    if (num_params != wanted && !takes_params) {
      fail(Words::kNumPhaseParameters, "functionNameCode is ", static_cast<int>(f),
           ": this phase function takes ",
           tilewave::counted(static_cast<std::uint64_t>(wanted), "parameter"),
           ", which applyParamNamedPhaseFunc has");
    }
    if (num_params != wanted) {
      fail(Words::kNumPhaseParameters, "numParams is ", num_params, ": this phase function takes ",
           wanted);
    }
    if (wanted) check_pointer(params, "params");
    check_overrides(regs, o, Takes::kList);
    apply(r, regs, named_function(form, num_regs, params), o);
  });
}

constexpr Overrides kNone = {nullptr, nullptr, 0};

}  // namespace

void applyPhaseFunc(Qureg q, int* qubits, int n, bitEncoding e, qreal* coeffs, qreal* exponents,
                    int terms) {
  polynomial(__func__, q, qubits, &n, 1, e, coeffs, exponents, &terms, kNone, Takes::kOne);
}

void applyPhaseFuncOverrides(Qureg q, int* qubits, int n, bitEncoding e, qreal* coeffs,
                             qreal* exponents, int terms, long long int* indices, qreal* phases,
                             int count) {
  polynomial(__func__, q, qubits, &n, 1, e, coeffs, exponents, &terms, {indices, phases, count},
             Takes::kOne);
}

void applyMultiVarPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, qreal* coeffs,
                            qreal* exponents, int* terms) {
  polynomial(__func__, q, qubits, sizes, n, e, coeffs, exponents, terms, kNone, Takes::kList);
}

void applyMultiVarPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                     qreal* coeffs, qreal* exponents, int* terms,
                                     long long int* indices, qreal* phases, int count) {
  polynomial(__func__, q, qubits, sizes, n, e, coeffs, exponents, terms, {indices, phases, count},
             Takes::kList);
}

void applyNamedPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, phaseFunc f) {
  named(__func__, q, qubits, sizes, n, e, f, nullptr, 0, kNone, false);
}

void applyNamedPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                  phaseFunc f, long long int* indices, qreal* phases, int count) {
  named(__func__, q, qubits, sizes, n, e, f, nullptr, 0, {indices, phases, count}, false);
}

void applyParamNamedPhaseFunc(Qureg q, int* qubits, int* sizes, int n, bitEncoding e, phaseFunc f,
                              qreal* params, int num_params) {
  named(__func__, q, qubits, sizes, n, e, f, params, num_params, kNone, true);
}

void applyParamNamedPhaseFuncOverrides(Qureg q, int* qubits, int* sizes, int n, bitEncoding e,
                                       phaseFunc f, qreal* params, int num_params,
                                       long long int* indices, qreal* phases, int count) {
  named(__func__, q, qubits, sizes, n, e, f, params, num_params, {indices, phases, count}, true);
}
