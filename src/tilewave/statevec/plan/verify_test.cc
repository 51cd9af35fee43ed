// The guard of plans catches what is planted into them, and lets good plans through.
#include "tilewave/statevec/plan/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/statevec/plan/running_product.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using Random = std::mt19937_64;

std::size_t any(Random& random, std::size_t count) { return random() % count; }

template <class T>
T& any_of(Random& random, std::vector<T>& list) {
  return list[any(random, list.size())];
}

template <class T>
void erase(std::vector<T>& list, std::size_t k) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
}

// Takes a position out of a pass that stores it where it was.
void drop_active(Pass& pass, std::size_t k) {
  erase(pass.active, k);
  erase(pass.dest, k);
}

using Plant = std::function<bool(Plan&, Random&)>;  // false where the plan has nothing for it

struct Mutation {
  const char* name;
  Plant plant;
};

// What returns nothing always finds something to change.
template <class F, class... Arguments>
bool planted(const F& change, Arguments&... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, Arguments&...>>) {
    change(arguments...);
    return true;
  } else {
    return change(arguments...);
  }
}

// change(plan, random) to any plan.
template <class F>
Plant in_plan(F change) {
  return [=](Plan& plan, Random& random) { return planted(change, plan, random); };
}

// change(one, random) to one of a list of the plan.
template <class T, class F>
Plant in_any(std::vector<T> Plan::*list, F change) {
  return [=](Plan& plan, Random& random) {
    return !(plan.*list).empty() && planted(change, any_of(random, plan.*list), random);
  };
}

// One of a list of the plan is missing.
template <class T>
Plant without_any(std::vector<T> Plan::*list) {
  return [=](Plan& plan, Random& random) {
    if ((plan.*list).empty()) return false;
    erase(plan.*list, any(random, (plan.*list).size()));
    return true;
  };
}

// change(pass, number of the action in it, random) to one of the actions that are wanted.
template <class Wanted, class F>
Plant in_action(Wanted wanted, F change) {
  return [=](Plan& plan, Random& random) {
    std::vector<std::pair<Pass*, std::size_t>> all;
    for (Pass& pass : plan.passes) {
      for (std::size_t k = 0; k < pass.actions.size(); ++k) {
        if (wanted(pass.actions[k])) all.emplace_back(&pass, k);
      }
    }
    if (all.empty()) return false;
    const auto [pass, at] = any_of(random, all);
    return planted(change, *pass, at, random);
  };
}

bool is_any(const Action&) { return true; }
bool has_target(const Action& a) { return a.num_targets > 0; }
bool has_control(const Action& a) { return a.control_mask != 0; }
auto is(ActionKind kind) {
  return [kind](const Action& a) { return a.kind == kind; };
}

std::uint64_t small_turn(Random& random) { return std::uint64_t{1} << (20 + any(random, 44)); }

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = {
      {"a pass loses the positions that it flips on store",  // what made small tiles wrong
       [](Plan& plan, Random& random) {
         if (plan.passes.empty()) return false;
         Pass& pass = any_of(random, plan.passes);
         for (std::size_t k = 0; k < pass.active.size(); ++k) {
           const int p = pass.active[k];
           if (p < plan.row_bits || pass.dest[k] != p || !(pass.store_flips >> p & 1)) continue;
           if (std::any_of(pass.actions.begin(), pass.actions.end(),
                           [&](const Action& a) { return a.target_mask() >> p & 1; }))
             continue;
           drop_active(pass, k);
           return true;
         }
         return false;
       }},
      {"a flip on store is dropped", in_any(&Plan::passes,
                                            [](Pass& pass, Random&) {
                                              if (!pass.store_flips) return false;
                                              pass.store_flips &= pass.store_flips - 1;
                                              return true;
                                            })},
      {"a flip on store is added", in_any(&Plan::passes,
                                          [](Pass& pass, Random& random) {
                                            pass.store_flips ^= bit(any_of(random, pass.active));
                                          })},
      {"two positions change places on store",
       in_any(&Plan::passes,
              [](Pass& pass, Random& random) {
                if (pass.dest.size() < 2) return false;
                const std::size_t k = any(random, pass.dest.size() - 1);
                std::swap(pass.dest[k], pass.dest[k + 1]);
                return true;
              })},
      {"three positions rotate on store",
       in_any(&Plan::passes,
              [](Pass& pass, Random&) {
                if (pass.dest.size() < 3) return false;
                std::rotate(pass.dest.begin(), pass.dest.begin() + 1, pass.dest.begin() + 3);
                return true;
              })},
      {"the final layout exchanges two qubits",
       [](Plan& plan, Random& random) {
         if (plan.num_qubits < 2) return false;
         const std::size_t q = any(random, static_cast<std::size_t>(plan.num_qubits) - 1);
         std::swap(plan.layout_after.position[q], plan.layout_after.position[q + 1]);
         return true;
       }},
      {"the final layout flips a qubit more", in_plan([](Plan& plan, Random& random) {
         plan.layout_after.flips ^= random() & low_mask(plan.num_qubits);
       })},
      {"the layout before is another one",
       [](Plan& plan, Random&) {
         if (plan.num_qubits < 2) return false;
         std::swap(plan.layout_before.position[0], plan.layout_before.position[1]);
         return true;
       }},
      {"a pass takes a position for zero before it that is not",
       in_any(&Plan::passes,
              [](Pass& pass, Random& random) {
                pass.known_zero_before |= bit(any_of(random, pass.active));
              })},
      {"a pass leaves a position for zero that is not",
       in_any(&Plan::passes,
              [](Pass& pass, Random& random) {
                pass.known_zero_after |= bit(any_of(random, pass.active));
              })},
      {"the plan ends with a zero that is none", in_plan([](Plan& plan, Random& random) {
         plan.known_zero_after |= bit(static_cast<int>(any(random, plan.num_qubits)));
       })},
      {"a scale is twice as large",
       in_any(&Plan::passes, [](Pass& pass, Random&) { pass.scale *= 2; })},
      {"a scale is off by a millionth",
       in_any(&Plan::passes, [](Pass& pass, Random&) { pass.scale *= 1.000001; })},
      {"a scale has another phase",
       in_any(&Plan::passes,
              [](Pass& pass, Random&) { pass.scale *= cplx{std::cos(1e-6), std::sin(1e-6)}; })},
      {"a scale is conjugated or negative",
       in_any(&Plan::passes, [](Pass& pass, Random&) { pass.scale = -pass.scale; })},
      {"an action is lost",
       in_action(is_any, [](Pass& pass, std::size_t at, Random&) { erase(pass.actions, at); })},
      {"an action runs twice", in_action(is_any,
                                         [](Pass& pass, std::size_t at, Random&) {
                                           const Action copy = pass.actions[at];
                                           pass.actions.insert(pass.actions.begin() + at, copy);
                                         })},
      {"two actions change places", in_action(is_any,
                                              [](Pass& pass, std::size_t at, Random&) {
                                                if (at == 0) return false;
                                                std::swap(pass.actions[at], pass.actions[at - 1]);
                                                return true;
                                              })},
      {"an action runs a pass later",
       [](Plan& plan, Random& random) {
         if (plan.passes.size() < 2) return false;
         const std::size_t k = any(random, plan.passes.size() - 1);
         Pass &from = plan.passes[k], &to = plan.passes[k + 1];
         if (from.actions.empty()) return false;
         to.actions.insert(to.actions.begin(), from.actions.back());
         from.actions.pop_back();
         return true;
       }},
      {"an action has another target",
       in_action(has_target,
                 [](Pass& pass, std::size_t at, Random& random) {
                   pass.actions[at].targets[0] = any_of(random, pass.active);
                 })},
      {"the targets of a matrix change places",
       in_action([](const Action& a) { return a.num_targets > 1; },
                 [](Pass& pass, std::size_t at, Random&) {
                   std::swap(pass.actions[at].targets[0], pass.actions[at].targets[1]);
                 })},
      {"an entry of a matrix is another number",
       in_any(&Plan::matrices, [](cplx& entry, Random&) { entry += 0.01; })},
      {"a control is inverted", in_action(has_control,
                                          [](Pass& pass, std::size_t at, Random&) {
                                            Action& a = pass.actions[at];
                                            a.control_value ^=
                                                a.control_mask & (~a.control_mask + 1);
                                          })},
      {"a control is lost", in_action(has_control,
                                      [](Pass& pass, std::size_t at, Random&) {
                                        Action& a = pass.actions[at];
                                        a.control_mask &= a.control_mask - 1;
                                        a.control_value &= a.control_mask;
                                      })},
      {"a control is on another position",
       [](Plan& plan, Random& random) {
         const auto move = [n = plan.num_qubits](Pass& pass, std::size_t at, Random& any_position) {
           Action& a = pass.actions[at];
           const std::uint64_t other = bit(static_cast<int>(any(any_position, n)));
           a.control_value = a.control_value ? other : 0;
           a.control_mask = other;
         };
         return in_action([](const Action& a) { return std::has_single_bit(a.control_mask); },
                          move)(plan, random);
       }},
      {"a lift has the other sign",
       in_action(is(ActionKind::kLift),
                 [](Pass& pass, std::size_t at, Random&) {
                   pass.actions[at].m[0] = -pass.actions[at].m[0];
                 })},
      {"a lift has another phase before it",
       in_action(is(ActionKind::kLift),
                 [](Pass& pass, std::size_t at, Random& random) {
                   pass.actions[at].pre_turns += small_turn(random);
                 })},
      {"a rotation is transposed",
       in_action(is(ActionKind::kRotate),
                 [](Pass& pass, std::size_t at, Random&) {
                   std::swap(pass.actions[at].m[1], pass.actions[at].m[2]);
                 })},
      {"a phase is another one",
       in_any(&Plan::terms,
              [](PhaseTerm& term, Random& random) { term.turns ^= small_turn(random); })},
      {"a phase is on other positions",
       [](Plan& plan, Random& random) {
         if (plan.terms.empty()) return false;
         any_of(random, plan.terms).mask ^= bit(static_cast<int>(any(random, plan.num_qubits)));
         return true;
       }},
      {"the last term of a phase is lost",
       in_action(is(ActionKind::kPhase),
                 [](Pass& pass, std::size_t at, Random&) {
                   if (pass.actions[at].count == 0) return false;
                   --pass.actions[at].count;
                   return true;
                 })},
      {"a target is not active",
       in_action(has_target,
                 [](Pass& pass, std::size_t at, Random&) {
                   const auto found = std::find(pass.active.begin(), pass.active.end(),
                                                pass.actions[at].targets[0]);
                   const std::size_t k = found - pass.active.begin();
                   if (k == pass.active.size() || pass.dest[k] != pass.active[k]) return false;
                   drop_active(pass, k);
                   return true;
                 })},
      {"a pass is lost", without_any(&Plan::passes)},
      {"two passes change places",
       [](Plan& plan, Random& random) {
         if (plan.passes.size() < 2) return false;
         const std::size_t k = any(random, plan.passes.size() - 1);
         std::swap(plan.passes[k], plan.passes[k + 1]);
         return true;
       }},
      {"an exchange is lost", without_any(&Plan::exchanges)},
      {"an exchange swaps another position",
       [](Plan& plan, Random& random) {
         if (plan.exchanges.empty()) return false;
         Exchange& step = any_of(random, plan.exchanges);
         if (step.swaps.empty()) return false;
         auto& local = any_of(random, step.swaps).first;
         local = static_cast<std::uint8_t>(
             any(random, static_cast<std::size_t>(plan.num_qubits - plan.shard_bits)));
         return true;
       }},
      {"an exchange flips another rank",
       [](Plan& plan, Random& random) {
         if (plan.exchanges.empty()) return false;
         any_of(random, plan.exchanges).flips ^= bit(plan.num_qubits - 1);
         return true;
       }},
      {"an exchange comes a pass too late",
       [](Plan& plan, Random& random) {
         if (plan.exchanges.empty()) return false;
         Exchange& step = any_of(random, plan.exchanges);
         if (step.before_pass >= plan.passes.size()) return false;
         ++step.before_pass;
         return true;
       }},
  };
  return all;
}

double any_price(const Plan& plan, const Pass& pass, const CostModel&) {
  std::uint64_t h = plan.passes.size() + 1;
  for (const int p : pass.active) h = (h ^ bit(p)) * 0x9E3779B97F4A7C15u;
  return 1 + static_cast<double>(h >> 40) * 0x1p-24;
}

struct Case {
  circuit::Circuit circuit;
  PlanOptions options;
};

constexpr int kTile = 4;

Case random_case(Random& random) {
  const int n = 6 + static_cast<int>(random() % 3);
  Case c{testing::random_circuit(n, 1 + static_cast<int>(random() % 40), random), {}};
  const auto too_wide = [&](const circuit::Op& op) { return op.num_targets > kTile - 1; };
  while (std::any_of(c.circuit.ops().begin(), c.circuit.ops().end(), too_wide))
    c.circuit = testing::random_circuit(n, 1 + static_cast<int>(random() % 40), random);
  using circuit::GateId;
  static constexpr GateId kMoves[] = {GateId::kCx, GateId::kCx, GateId::kX};  // of rows
  testing::add_drawn_gates(c.circuit, random() % 12, kMoves, random);
  PlanOptions& o = c.options;
  o.from_zeros = random() % 2;
  o.restore_layout = random() % 2;
  o.cost.row_bits = static_cast<int>(random() % 2);
  o.cost.tile_qubits = kTile;
  if (!o.from_zeros) testing::begin_anywhere(o, n, random);
  if (random() % 3 == 0) {
    o.cost.shard_bits = 1 + static_cast<int>(random() % 2);
  } else {
    o.cost.move_positions = n;
    o.cost.small_tile_qubits = 3;
    o.cost.price = any_price;
  }
  return c;
}

// What the plan makes of a state, in the plainest way; empty where it cannot be run at all.
testing::Amplitudes run(const Plan& plan, const PlanOptions& options, std::uint64_t seed) {
  Random random(seed);
  const int n = plan.num_qubits;
  testing::Amplitudes physical = testing::random_state(n, random);
  if (options.from_zeros) {
    std::fill(physical.begin(), physical.end(), cplx{NAN, NAN});
    physical[0] = 1;
  }
  for (const Pass& pass : plan.passes) {
    std::uint64_t active = 0, dest = 0;
    for (const int p : pass.active) active |= bit(p);
    for (const int p : pass.dest) dest |= bit(p);
    if (active != dest || (pass.store_flips & ~active)) return {};
    for (const Action& a : pass.actions) {
      if (a.kind == ActionKind::kPhase) continue;
      if ((a.target_mask() & ~active) || (a.target_mask() & a.control_mask) ||
          std::popcount(a.target_mask()) != a.num_targets)
        return {};
    }
  }
  for (const PhaseTerm& t : plan.terms) {
    if (t.mask & ~low_mask(n)) return {};
  }
  testing::run_plan(physical, plan);
  if (plan.passes.empty() && options.from_zeros) {
    for (std::uint64_t x = 1; x < physical.size(); ++x) physical[x] = 0;
  }
  return testing::in_order(physical, plan.layout_after, n);
}

// The norm of circuits of millions of gates: their logarithms add up to 10^7 here, where a double
// has steps of 2e-9.
TEST(RunningProduct, keeps_its_digits_over_millions_of_factors) {
  detail::RunningProduct product;
  for (int k = 0; k < 100000; ++k) {
    for (int j = 0; j < 40; ++j) product *= 1.5;
    product *= 1e300;
  }
  for (int k = 0; k < 100000; ++k) {
    product *= 1e-300;
    product *= std::pow(1.5, -40);
  }
  EXPECT_NEAR(product.log2(), 0, 1e-10);
}

TEST(PlanGuard, catches_what_is_planted_and_nothing_else) {
  std::map<std::string, int> caught;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Case c = random_case(random);
    Plan plan;
    ASSERT_NO_THROW(plan = make_plan(c.circuit, c.options));
    const int n = plan.num_qubits;
    const std::uint64_t zero = c.options.from_zeros ? low_mask(n) : 0;
    const detail::Lowered lowered =
        detail::lower(c.circuit, c.circuit.ops(), c.options.layout.flips, zero, c.options.cost);
    ASSERT_NO_THROW(detail::verify(plan, lowered, c.options)) << explain(plan);
    const testing::Amplitudes right = run(plan, c.options, seed);
    for (const Mutation& mutation : mutations()) {
      Plan wrong = plan;
      if (!mutation.plant(wrong, random)) continue;
      bool found = false;
      try {
        detail::verify(wrong, lowered, c.options);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kInternal);
        found = true;
      }
      caught[mutation.name] += found;
      if (found) continue;
      // what was let through must be as good as the plan it was made from
      const testing::Amplitudes same = run(wrong, c.options, seed);
      EXPECT_LT(testing::max_difference(same, right), 1e-11) << mutation.name << '\n'
                                                             << explain(wrong);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(mutations().size(), 30u);
  for (const Mutation& mutation : mutations()) EXPECT_GT(caught[mutation.name], 5) << mutation.name;
}

}  // namespace
}  // namespace tilewave::statevec
