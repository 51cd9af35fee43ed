// The guard of plans catches what is planted into them, and lets good plans through.
#include "tilewave/statevec/plan/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using Random = std::mt19937_64;

std::size_t any(Random& random, std::size_t count) { return random() % count; }

template <class T>
T& any_of(Random& random, std::vector<T>& list) {
  return list[any(random, list.size())];
}

Pass* any_pass(Plan& plan, Random& random) {
  return plan.passes.empty() ? nullptr : &any_of(random, plan.passes);
}

// An action of the wanted kind, with the pass that has it.
struct Found {
  Pass* pass = nullptr;
  std::size_t at = 0;
  Action& action() const { return pass->actions[at]; }
};
std::optional<Found> any_action(Plan& plan, Random& random,
                                const std::function<bool(const Action&)>& wanted) {
  std::vector<Found> all;
  for (Pass& pass : plan.passes) {
    for (std::size_t k = 0; k < pass.actions.size(); ++k) {
      if (wanted(pass.actions[k])) all.push_back({&pass, k});
    }
  }
  if (all.empty()) return std::nullopt;
  return any_of(random, all);
}
std::optional<Found> any_of_kind(Plan& plan, Random& random, ActionKind kind) {
  return any_action(plan, random, [&](const Action& a) { return a.kind == kind; });
}

// Takes a position out of a pass that stores it where it was.
void drop_active(Pass& pass, std::size_t k) {
  pass.active.erase(pass.active.begin() + static_cast<std::ptrdiff_t>(k));
  pass.dest.erase(pass.dest.begin() + static_cast<std::ptrdiff_t>(k));
}

struct Mutation {
  const char* name;
  std::function<bool(Plan&, Random&)> plant;  // false where the plan has nothing for it
};

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = {
      {"a pass loses the positions that it flips on store",  // what made small tiles wrong
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         for (std::size_t k = 0; k < pass->active.size(); ++k) {
           const int p = pass->active[k];
           if (p < plan.row_bits || pass->dest[k] != p || !(pass->store_flips >> p & 1)) continue;
           if (std::any_of(pass->actions.begin(), pass->actions.end(),
                           [&](const Action& a) { return a.target_mask() >> p & 1; }))
             continue;
           drop_active(*pass, k);
           return true;
         }
         return false;
       }},
      {"a flip on store is dropped",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass || !pass->store_flips) return false;
         pass->store_flips &= pass->store_flips - 1;
         return true;
       }},
      {"a flip on store is added",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->store_flips ^= bit(any_of(random, pass->active));
         return true;
       }},
      {"two positions change places on store",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass || pass->dest.size() < 2) return false;
         const std::size_t k = any(random, pass->dest.size() - 1);
         std::swap(pass->dest[k], pass->dest[k + 1]);
         return true;
       }},
      {"three positions rotate on store",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass || pass->dest.size() < 3) return false;
         std::rotate(pass->dest.begin(), pass->dest.begin() + 1, pass->dest.begin() + 3);
         return true;
       }},
      {"the final layout exchanges two qubits",
       [](Plan& plan, Random& random) {
         if (plan.num_qubits < 2) return false;
         const std::size_t q = any(random, static_cast<std::size_t>(plan.num_qubits) - 1);
         std::swap(plan.layout_after.position[q], plan.layout_after.position[q + 1]);
         return true;
       }},
      {"the final layout flips a qubit more",
       [](Plan& plan, Random& random) {
         plan.layout_after.flips ^= random() & low_mask(plan.num_qubits);
         return true;
       }},
      {"the layout before is another one",
       [](Plan& plan, Random&) {
         if (plan.num_qubits < 2) return false;
         std::swap(plan.layout_before.position[0], plan.layout_before.position[1]);
         return true;
       }},
      {"a pass takes a position for zero before it that is not",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->known_zero_before |= bit(any_of(random, pass->active));
         return true;
       }},
      {"a pass leaves a position for zero that is not",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->known_zero_after |= bit(any_of(random, pass->active));
         return true;
       }},
      {"the plan ends with a zero that is none",
       [](Plan& plan, Random& random) {
         plan.known_zero_after |= bit(static_cast<int>(any(random, plan.num_qubits)));
         return true;
       }},
      {"a scale is twice as large",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->scale *= 2;
         return true;
       }},
      {"a scale is off by a millionth",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->scale *= 1.000001;
         return true;
       }},
      {"a scale has another phase",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->scale *= cplx{std::cos(1e-6), std::sin(1e-6)};
         return true;
       }},
      {"a scale is conjugated or negative",
       [](Plan& plan, Random& random) {
         Pass* pass = any_pass(plan, random);
         if (!pass) return false;
         pass->scale = -pass->scale;
         return true;
       }},
      {"an action is lost",
       [](Plan& plan, Random& random) {
         const auto found = any_action(plan, random, [](const Action&) { return true; });
         if (!found) return false;
         found->pass->actions.erase(found->pass->actions.begin() +
                                    static_cast<std::ptrdiff_t>(found->at));
         return true;
       }},
      {"an action runs twice",
       [](Plan& plan, Random& random) {
         const auto found = any_action(plan, random, [](const Action&) { return true; });
         if (!found) return false;
         const Action copy = found->action();
         found->pass->actions.insert(
             found->pass->actions.begin() + static_cast<std::ptrdiff_t>(found->at), copy);
         return true;
       }},
      {"two actions change places",
       [](Plan& plan, Random& random) {
         const auto found = any_action(plan, random, [](const Action&) { return true; });
         if (!found || found->at == 0) return false;
         std::swap(found->pass->actions[found->at], found->pass->actions[found->at - 1]);
         return true;
       }},
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
       [](Plan& plan, Random& random) {
         const auto found =
             any_action(plan, random, [](const Action& a) { return a.num_targets > 0; });
         if (!found) return false;
         Action& a = found->action();
         a.targets[0] = any_of(random, found->pass->active);
         return true;
       }},
      {"the targets of a matrix change places",
       [](Plan& plan, Random& random) {
         const auto found =
             any_action(plan, random, [](const Action& a) { return a.num_targets > 1; });
         if (!found) return false;
         std::swap(found->action().targets[0], found->action().targets[1]);
         return true;
       }},
      {"an entry of a matrix is another number",
       [](Plan& plan, Random& random) {
         if (plan.matrices.empty()) return false;
         any_of(random, plan.matrices) += 0.01;
         return true;
       }},
      {"a control is inverted",
       [](Plan& plan, Random& random) {
         const auto found =
             any_action(plan, random, [](const Action& a) { return a.control_mask != 0; });
         if (!found) return false;
         Action& a = found->action();
         a.control_value ^= a.control_mask & (~a.control_mask + 1);
         return true;
       }},
      {"a control is lost",
       [](Plan& plan, Random& random) {
         const auto found =
             any_action(plan, random, [](const Action& a) { return a.control_mask != 0; });
         if (!found) return false;
         Action& a = found->action();
         a.control_mask &= a.control_mask - 1;
         a.control_value &= a.control_mask;
         return true;
       }},
      {"a control is on another position",
       [](Plan& plan, Random& random) {
         const auto found = any_action(
             plan, random, [](const Action& a) { return std::has_single_bit(a.control_mask); });
         if (!found) return false;
         Action& a = found->action();
         const std::uint64_t other = bit(static_cast<int>(any(random, plan.num_qubits)));
         a.control_value = a.control_value ? other : 0;
         a.control_mask = other;
         return true;
       }},
      {"a lift has the other sign",
       [](Plan& plan, Random& random) {
         const auto found = any_of_kind(plan, random, ActionKind::kLift);
         if (!found) return false;
         found->action().m[0] = -found->action().m[0];
         return true;
       }},
      {"a lift has another phase before it",
       [](Plan& plan, Random& random) {
         const auto found = any_of_kind(plan, random, ActionKind::kLift);
         if (!found) return false;
         found->action().pre_turns += std::uint64_t{1} << (20 + any(random, 44));
         return true;
       }},
      {"a rotation is transposed",
       [](Plan& plan, Random& random) {
         const auto found = any_of_kind(plan, random, ActionKind::kRotate);
         if (!found) return false;
         std::swap(found->action().m[1], found->action().m[2]);
         return true;
       }},
      {"a phase is another one",
       [](Plan& plan, Random& random) {
         if (plan.terms.empty()) return false;
         any_of(random, plan.terms).turns ^= std::uint64_t{1} << (20 + any(random, 44));
         return true;
       }},
      {"a phase is on other positions",
       [](Plan& plan, Random& random) {
         if (plan.terms.empty()) return false;
         any_of(random, plan.terms).mask ^= bit(static_cast<int>(any(random, plan.num_qubits)));
         return true;
       }},
      {"the last term of a phase is lost",
       [](Plan& plan, Random& random) {
         const auto found = any_of_kind(plan, random, ActionKind::kPhase);
         if (!found || found->action().count == 0) return false;
         --found->action().count;
         return true;
       }},
      {"a target is not active",
       [](Plan& plan, Random& random) {
         const auto found =
             any_action(plan, random, [](const Action& a) { return a.num_targets > 0; });
         if (!found) return false;
         Pass& pass = *found->pass;
         for (std::size_t k = 0; k < pass.active.size(); ++k) {
           if (pass.active[k] != found->action().targets[0] || pass.dest[k] != pass.active[k])
             continue;
           drop_active(pass, k);
           return true;
         }
         return false;
       }},
      {"a pass is lost",
       [](Plan& plan, Random& random) {
         if (plan.passes.empty()) return false;
         plan.passes.erase(plan.passes.begin() +
                           static_cast<std::ptrdiff_t>(any(random, plan.passes.size())));
         return true;
       }},
      {"two passes change places",
       [](Plan& plan, Random& random) {
         if (plan.passes.size() < 2) return false;
         const std::size_t k = any(random, plan.passes.size() - 1);
         std::swap(plan.passes[k], plan.passes[k + 1]);
         return true;
       }},
      {"an exchange is lost",
       [](Plan& plan, Random& random) {
         if (plan.exchanges.empty()) return false;
         plan.exchanges.erase(plan.exchanges.begin() +
                              static_cast<std::ptrdiff_t>(any(random, plan.exchanges.size())));
         return true;
       }},
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
  for (std::uint64_t k = random() % 12; k > 0; --k) {  // rows that move
    const auto a = static_cast<circuit::Qubit>(random() % n);
    const auto b = static_cast<circuit::Qubit>((a + 1 + random() % (n - 1)) % n);
    random() % 3 ? c.circuit.add_gate(GateId::kCx, {a, b}) : c.circuit.add_gate(GateId::kX, {a});
  }
  PlanOptions& o = c.options;
  o.from_zeros = random() % 2;
  o.restore_layout = random() % 2;
  o.cost.row_bits = static_cast<int>(random() % 2);
  o.cost.tile_qubits = kTile;
  if (!o.from_zeros) {
    std::shuffle(o.layout.position.begin(), o.layout.position.begin() + n, random);
    o.layout.flips = random() & low_mask(n);
  }
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
