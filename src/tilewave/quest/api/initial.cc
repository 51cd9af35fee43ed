// Initial states and whole-state assignments.
#include "tilewave/quest/api/hamil.h"
#include "tilewave/quest/core/overlap.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

// Amplitudes [first, first + n) from two arrays. Where these are the register's own they are copied
// first, as the change of the state closes them.
void assign(Register& r, long long first, const qreal* reals, const qreal* imags, long long count) {
  if (count == 0) return;
  const auto size = static_cast<std::uint64_t>(count);
  std::vector<qreal> re, im;
  if (r.mirror().overlaps(reals, size * sizeof(qreal))) {
    re.assign(reals, reals + size);
    reals = re.data();
  }
  if (r.mirror().overlaps(imags, size * sizeof(qreal))) {
    im.assign(imags, imags + size);
    imags = im.data();
  }
  r.assign(static_cast<std::uint64_t>(first), size,
           [&](std::uint64_t k) { return cplx(reals[k], imags[k]); });
  r.log().comment("amplitudes are set by hand here");
}

// `count` amplitudes from `first` on, of `all`.
void check_amplitudes(long long count, long long first, long long all) {
  check_range(count, 0, all - first, "numAmps",
              count < 0 || count > all ? Words::kNumAmplitudes : Words::kAmplitudesBeyondEnd);
}

}  // namespace

void initBlankState(Qureg qureg) {
  call(__func__, [&] { use(qureg).set_blank(); });
}

void initZeroState(Qureg qureg) {
  call(__func__, [&] { use(qureg).set_basis_state(0); });
}

void initPlusState(Qureg qureg) {
  call(__func__, [&] { use(qureg).set_plus_state(); });
}

void initClassicalState(Qureg qureg, long long int stateInd) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_range(stateInd, 0, static_cast<long long>(r.dimension()) - 1, "stateInd",
                Words::kStateIndex);
    r.set_basis_state(static_cast<std::uint64_t>(stateInd));
  });
}

void initPureState(Qureg qureg, Qureg pure) {
  call(__func__, [&] {
    Register& r = use(qureg);
    Register& p = use_vector(pure, "pure", Words::kSecondNotStateVector);
    check_same_size(r, p, "qureg and pure");
    if (&r == &p) return;
    if (r.is_density()) {
      const Parts v(p.all_amplitudes());
      tilewave::statevec::Sweep s;
      s.kind = tilewave::statevec::Sweep::Kind::kOuter;
      s.row_bits = r.num_qubits();
      s.table = v.table();
      r.cleared_for_change().sweep(s);
    } else {
      r.clone_from(p);
    }
    r.log().comment("the state is set to a pure state here");
  });
}

void initDebugState(Qureg qureg) {
  call(__func__, [&] {
    tilewave::statevec::Sweep s;
    s.kind = tilewave::statevec::Sweep::Kind::kRamp;
    Register& r = use(qureg);
    r.cleared_for_change().sweep(s);
    r.log().comment("the state is set to numbers for debugging here");
  });
}

void initStateFromAmps(Qureg qureg, qreal* reals, qreal* imags) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_pointer(reals, "reals");
    check_pointer(imags, "imags");
    assign(r, 0, reals, imags, static_cast<long long>(r.num_amplitudes()));
  });
}

void setAmps(Qureg qureg, long long int startInd, qreal* reals, qreal* imags,
             long long int numAmps) {
  call(__func__, [&] {
    Register& r = use_vector(qureg);
    check_pointer(reals, "reals");
    check_pointer(imags, "imags");
    const auto all = static_cast<long long>(r.num_amplitudes());
    check_range(startInd, 0, all - 1, "startInd", Words::kAmplitudeIndex);
    check_amplitudes(numAmps, startInd, all);
    assign(r, startInd, reals, imags, numAmps);
  });
}

void setDensityAmps(Qureg qureg, long long int startRow, long long int startCol, qreal* reals,
                    qreal* imags, long long int numAmps) {
  call(__func__, [&] {
    Register& r = use_density(qureg);
    check_pointer(reals, "reals");
    check_pointer(imags, "imags");
    const auto rows = static_cast<long long>(r.dimension());
    check_range(startRow, 0, rows - 1, "startRow", Words::kAmplitudeIndex);
    check_range(startCol, 0, rows - 1, "startCol", Words::kAmplitudeIndex);
    const long long first = startRow + startCol * rows;
    check_amplitudes(numAmps, first, rows * rows);
    assign(r, first, reals, imags, numAmps);
  });
}

void setQuregToPauliHamil(Qureg qureg, PauliHamil hamil) {
  call(__func__, [&] {
    Register& r = use_density(qureg);
    set_to_sum(r, pauli_sum(hamil, r));
    r.log().comment("the state is set to the matrix of a Hamiltonian here");
  });
}

void cloneQureg(Qureg targetQureg, Qureg copyQureg) {
  call(__func__, [&] {
    Register &target = use(targetQureg, "targetQureg"), &copy = use(copyQureg, "copyQureg");
    check_same_kind(target, copy, "targetQureg and copyQureg");
    check_same_size(target, copy, "targetQureg and copyQureg");
    if (&target == &copy) return;
    target.clone_from(copy);
    target.log().comment("the state is set to that of another register here");
  });
}

void setWeightedQureg(::Complex fac1, Qureg qureg1, ::Complex fac2, Qureg qureg2, ::Complex facOut,
                      Qureg out) {
  call(__func__, [&] {
    Register &a = use(qureg1, "qureg1"), &b = use(qureg2, "qureg2"), &o = use(out, "out");
    if (a.is_density() != b.is_density() || a.is_density() != o.is_density()) {
      fail(Words::kDifferentTypes,
           "qureg1, qureg2 and out are of different kinds: all must be state vectors, or all "
           "density matrices");
    }
    check_same_size(a, b, "qureg1 and qureg2");
    check_same_size(a, o, "qureg1 and out");
    weighted_sum(value(fac1), a, value(fac2), b, value(facOut), o);
    o.log().comment("the state is set to a weighted sum here");
  });
}
