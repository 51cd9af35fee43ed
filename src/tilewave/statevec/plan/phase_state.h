// A phase polynomial under construction: the diagonal D = exp(2 pi i f(b) / 2^64) with f a sum of
// turns times products of bits. Linear and quadratic terms are kept in tables, higher degrees in a
// list. Integer turns wrap exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::detail {

class PhaseState {
 public:
  explicit PhaseState(int num_wires)
      : n_(num_wires),
        linear_(n_, 0),
        partners_(n_, 0),
        quadratic_(static_cast<std::size_t>(n_) * n_, 0) {}

  std::uint64_t constant() const { return constant_; }
  std::uint64_t linear(int w) const { return linear_[w]; }
  /// Wires that share a quadratic term with w.
  std::uint64_t partners(int w) const { return partners_[w]; }
  std::uint64_t quadratic(int a, int b) const { return quadratic_[index(a, b)]; }
  bool is_nonlinear_in(int w) const {
    if (partners_[w]) return true;
    for (const PhaseTerm& t : higher_) {
      if (t.mask & bit(w)) return true;
    }
    return false;
  }
  /// Wires other than w in any term with w.
  std::uint64_t neighbours(int w) const {
    std::uint64_t all = partners_[w];
    for (const PhaseTerm& t : higher_) {
      if (t.mask & bit(w)) all |= t.mask;
    }
    return all & ~bit(w);
  }

  void add(std::uint64_t mask, std::uint64_t turns) {
    if (turns == 0) return;
    switch (std::popcount(mask)) {
      case 0:
        constant_ += turns;
        return;
      case 1:
        linear_[std::countr_zero(mask)] += turns;
        return;
      case 2: {
        const int a = std::countr_zero(mask), b = 63 - std::countl_zero(mask);
        std::uint64_t& value = quadratic_[index(a, b)];
        value += turns;
        if (value) {
          partners_[a] |= bit(b), partners_[b] |= bit(a);
        } else {
          partners_[a] &= ~bit(b), partners_[b] &= ~bit(a);
        }
        return;
      }
      default:
        for (std::size_t k = 0; k < higher_.size(); ++k) {
          if (higher_[k].mask != mask) continue;
          higher_[k].turns += turns;
          if (higher_[k].turns == 0)
            higher_.erase(higher_.begin() + static_cast<std::ptrdiff_t>(k));
          return;
        }
        higher_.push_back({mask, turns});
    }
  }

  /// Removes and returns the linear term of w.
  std::uint64_t take_linear(int w) {
    const std::uint64_t value = linear_[w];
    linear_[w] = 0;
    return value;
  }

  /// Removes every term with w and calls f(mask, turns) for each.
  template <class F>
  void take_terms_with(int w, F f) {
    if (const std::uint64_t value = take_linear(w)) f(bit(w), value);
    for_each_bit(partners_[w], [&](int r) {
      f(bit(w) | bit(r), quadratic_[index(w, r)]);
      quadratic_[index(w, r)] = 0;
      partners_[r] &= ~bit(w);
    });
    partners_[w] = 0;
    for (std::size_t k = 0; k < higher_.size();) {
      if (higher_[k].mask & bit(w)) {
        f(higher_[k].mask, higher_[k].turns);
        higher_[k] = higher_.back();
        higher_.pop_back();
      } else {
        ++k;
      }
    }
  }

  /// Replaces b_w by 1 - b_w (conjugation by X).
  void flip(int w) {
    std::vector<PhaseTerm> terms;
    take_terms_with(w, [&](std::uint64_t mask, std::uint64_t turns) {
      terms.push_back({mask, turns});
    });
    for (const PhaseTerm& t : terms) {
      add(t.mask & ~bit(w), t.turns);
      add(t.mask, ~t.turns + 1);
    }
  }

  /// Replaces b_t by b_t xor b_c (conjugation by CX); terms are at most linear in t besides t*c.
  void conjugate_cx(int c, int t) {
    std::vector<PhaseTerm> terms;
    take_terms_with(t, [&](std::uint64_t mask, std::uint64_t turns) {
      terms.push_back({mask, turns});
    });
    for (const PhaseTerm& term : terms) {
      const std::uint64_t rest = term.mask & ~bit(t);
      add(term.mask, term.turns);
      add(rest | bit(c), term.turns);
      add(rest | bit(c) | bit(t), ~(2 * term.turns) + 1);
    }
  }

 private:
  std::size_t index(int a, int b) const {
    return a < b ? static_cast<std::size_t>(a) * n_ + b : static_cast<std::size_t>(b) * n_ + a;
  }
  int n_;
  std::uint64_t constant_ = 0;
  std::vector<std::uint64_t> linear_, partners_, quadratic_;
  std::vector<PhaseTerm> higher_;
};

}  // namespace tilewave::statevec::detail
