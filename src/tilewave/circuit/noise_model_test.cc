// Where with_noise() puts channels.
#include "tilewave/circuit/noise_model.h"

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/density.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::circuit {
namespace {

std::string listing(const Circuit& c) {
  std::string out;
  for (const Op& op : c.ops()) {
    out += op.kind == OpKind::kChannel ? c.channel(op).name : operation_name(c, op);
    if (op.kind == OpKind::kJump) out += ">" + std::to_string(op.first_param);
    for (const Qubit q : c.qubits(op)) out += " " + std::to_string(q);
    if (op.condition >= 0) out += " if";
    out += "; ";
  }
  return out;
}

NoiseRule rule(Channel channel, const std::string& name) {
  NoiseRule r;
  r.path = "rule";
  channel.name = name;
  r.channel = std::make_shared<Channel>(std::move(channel));
  return r;
}

TEST(NoiseModel, RulesFindTheirOperations) {
  Circuit c(3, 1);
  c.add_gate(GateId::kH, {0});
  c.add_gate(GateId::kCx, {0, 1});
  c.add_gate(GateId::kCx, {1, 0});
  const Qubit control = 2, target = 1;
  c.add_controlled_gate(GateId::kX, {&control, 1}, 1, {&target, 1});
  c.add_measure(0, 0);
  c.add_gate(GateId::kX, {1});
  c.set_condition(c.ops().size() - 1, {0, 1, {1}});
  c.add_reset(0);
  NoiseModel model;
  model.rules.push_back(rule(depolarizing(1, 0.1), "all"));
  model.rules.back().all_gates = true;
  model.rules.back().except.qubits = {2};
  model.rules.push_back(rule(depolarizing(2, 0.1), "pair"));
  model.rules.back().gates = {GateId::kCx};
  model.rules.back().except.operations = {{1, 0}};
  model.rules.push_back(rule(depolarizing(1, 0.1), "target"));
  model.rules.back().gates = {GateId::kCx};
  model.rules.back().places.operations = {{1, 0}};
  model.rules.back().acts_on = {1};
  model.rules.push_back(rule(depolarizing(1, 0.1), "read"));
  model.rules.back().on_measure = model.rules.back().before = true;
  model.rules.push_back(rule(depolarizing(1, 0.1), "cleared"));
  model.rules.back().on_reset = true;
  EXPECT_EQ(listing(with_noise(c, model)),
            "h 0; all 0; "
            "cx 0 1; all 0; all 1; pair 0 1; "
            "cx 1 0; all 1; all 0; target 0; "
            "cx 2 1; all 1; pair 2 1; "
            "read 0; measure 0; x 1 if; all 1 if; reset 0; cleared 0; ");
}

TEST(NoiseModel, AChannelTakesTheQubitsItIsPinnedTo) {
  Circuit c(3);
  c.add_gate(GateId::kX, {2});
  c.add_gate(GateId::kCx, {1, 0});
  c.add_gate(GateId::kCcx, {2, 0, 1});
  NoiseModel model;
  model.rules.push_back(rule(depolarizing(1, 0.1), "first"));
  model.rules.back().all_gates = true;
  model.rules.back().acts_on = {0};
  model.rules.push_back(rule(depolarizing(2, 0.1), "pair"));
  model.rules.back().all_gates = true;
  model.rules.back().acts_on = {0, 1};
  EXPECT_EQ(listing(with_noise(c, model)),
            "x 2; first 2; cx 1 0; first 1; pair 1 0; ccx 2 0 1; first 2; pair 2 0; ");
  model.rules.back().label = "x";  // a rule of just such operations, which have no second qubit
  model.rules.back().label_gate = GateId::kX;
  expect_error(
      [&] { with_noise(c, model); },
      "rule: the channel takes 2 qubits of an operation, and one that goes by 'x' has 1 qubit");
  model.rules.back().places.operations = {{0, 1}};  // which none is
  EXPECT_EQ(listing(with_noise(c, model)), "x 2; first 2; cx 1 0; first 1; ccx 2 0 1; first 2; ");
  model.rules.back() = rule(depolarizing(2, 0.1), "cleared");
  model.rules.back().on_reset = true;
  model.rules.back().acts_on = {0, 1};
  c.add_reset(0);
  expect_error([&] { with_noise(c, model); }, "2 qubits of an operation, and one has 1 qubit");
}

TEST(NoiseModel, IdleQubitsWaitInLayers) {
  Circuit c(2);
  c.add_gate(GateId::kH, {0});
  c.add_gate(GateId::kH, {1});
  for (int k = 0; k < 3; ++k) c.add_gate(GateId::kX, {0});
  c.add_gate(GateId::kCz, {0, 1});  // qubit 1 waited three layers
  c.add_gate(GateId::kX, {0});      // and waits no more
  NoiseModel model;
  model.rules.push_back(rule(phase_damping(0.1), "wait"));
  model.rules.back().on_idle = true;
  EXPECT_EQ(listing(with_noise(c, model)),
            "h 0; h 1; x 0; x 0; x 0; wait 1; wait 1; wait 1; cz 0 1; x 0; ");
}

TEST(NoiseModel, JumpsGoWhereTheyWent) {
  Circuit c(1, 1);
  c.add_gate(GateId::kX, {0});
  c.add_gate(GateId::kH, {0});
  c.add_measure(0, 0);
  const std::size_t jump = c.add_jump(c.add_condition({0, 1, {1}}));
  c.set_jump_target(jump, 1);
  NoiseModel model;
  model.rules.push_back(rule(phase_damping(0.1), "p"));
  model.rules.back().all_gates = true;
  EXPECT_EQ(listing(with_noise(c, model)), "x 0; p 0; h 0; p 0; measure 0; jump>2 if; ");
}

TEST(NoiseModel, AMeasurementThatOverwritesItsConditionKeepsItsNoise) {
  Circuit c(2, 2);
  c.add_gate(GateId::kX, {0});
  c.add_measure(0, 0);
  c.set_condition(1, {0, 2, {0}});  // reads the bit it writes
  c.add_measure(1, 1);
  c.set_condition(2, {0, 1, {1}});  // and this one does not
  const std::size_t back = c.add_jump(c.add_condition({1, 1, {1}}));
  c.set_jump_target(back, 1);
  NoiseModel model;
  model.rules.push_back(rule(phase_damping(0.1), "after"));
  model.rules.back().on_measure = true;
  model.rules.push_back(rule(phase_damping(0.1), "before"));
  model.rules.back().on_measure = model.rules.back().before = true;
  EXPECT_EQ(listing(with_noise(c, model)),
            "x 0; jump>3 if; jump>6; before 0; measure 0; after 0; "
            "before 1 if; measure 1 if; after 1 if; jump>1 if; ");
  model.rules.erase(
      model.rules.begin());  // nothing stands behind: the condition is asked as it was
  EXPECT_EQ(listing(with_noise(c, model)),
            "x 0; before 0 if; measure 0 if; before 1 if; measure 1 if; jump>1 if; ");
}

// A qubit in a list of its own is an operation on just that qubit; by itself it is a place.
TEST(NoiseModel, PlacesAreQubitsOrOperations) {
  Circuit c(2);
  c.add_gate(GateId::kH, {0});
  c.add_gate(GateId::kH, {1});
  c.add_gate(GateId::kCx, {0, 1});
  const auto found = [&](const NoisePlaces& places, const NoisePlaces& except) {
    NoiseModel model;
    model.rules.push_back(rule(phase_damping(0.1), "p"));
    model.rules.back().all_gates = true;
    model.rules.back().places = places;
    model.rules.back().except = except;
    return listing(with_noise(c, model));
  };
  EXPECT_EQ(found({{0}, {}}, {}), "h 0; p 0; h 1; cx 0 1; p 0; ");
  EXPECT_EQ(found({{}, {{0}}}, {}), "h 0; p 0; h 1; cx 0 1; ");
  EXPECT_EQ(found({{1}, {{0}}}, {}), "h 0; p 0; h 1; p 1; cx 0 1; p 1; ");
  EXPECT_EQ(found({}, {{0}, {}}), "h 0; h 1; p 1; cx 0 1; p 1; ");
  EXPECT_EQ(found({}, {{}, {{0}}}), "h 0; h 1; p 1; cx 0 1; p 0; p 1; ");
}

TEST(NoiseModel, RulesThatMissWhatTheyAreForAreTold) {
  Circuit c(1);
  c.add_gate(GateId::kH, {0});
  NoiseModel model;
  model.rules.push_back(rule(phase_damping(0.1), "p"));
  model.rules.back().gates = {GateId::kX};
  const auto notes = [&] {
    const Circuit noisy = with_noise(c, model);
    std::string out;
    for (const std::string& note : noisy.notes()) out += note + "\n";
    return out;
  };
  EXPECT_EQ(notes(),
            "none of the noise model's channels acts in this circuit: its operations are none that "
            "the rules name\n");
  model.rules.push_back(rule(phase_damping(0.1), "p"));
  model.rules.back().all_gates = true;
  EXPECT_EQ(notes(), "");  // a model is made for many circuits
  model.rules.front().all_gates = true;
  model.rules.front().label = "foo";
  EXPECT_EQ(notes(),
            "rule: acts on nothing: the circuit has no such operation that goes by the label "
            "'foo'\n");
  c.add_replaced("x");
  model.rules.front().label.clear();
  model.rules.front().all_gates = false;
  EXPECT_EQ(notes(),
            "rule: acts on nothing: 'x' is defined in the program, where its parts are the "
            "operations\n");
  c.add_replaced("foo");
  model.rules.front().label = "foo";
  EXPECT_THROW(with_noise(c, model), Error);
}

TEST(Density, ConjugatesAreOfTheTableWhereItHasThem) {
  for (const GateInfo& g : gate_table()) {
    std::vector<double> params;
    for (int k = 0; k < g.num_params; ++k) params.push_back(0.3 + 0.4 * k);
    const Matrix wanted = conjugate(gate_matrix(g.id, params));
    const auto found = conjugate_gate(g.id, params);
    if (!found) continue;
    const Matrix m = gate_matrix(found->first, found->second);
    for (std::size_t k = 0; k < m.size(); ++k) {
      EXPECT_LT(std::abs(m[k] - wanted[k]), 1e-14) << g.name;
    }
  }
  EXPECT_EQ(conjugate_gate(GateId::kS, {})->first, GateId::kSdg);
  EXPECT_EQ(conjugate_gate(GateId::kIswap, {})->first, GateId::kIswapdg);
  const double angle = 0.5;
  EXPECT_EQ(conjugate_gate(GateId::kRz, {&angle, 1})->second, std::vector<double>{-0.5});
  EXPECT_EQ(conjugate_gate(GateId::kRy, {&angle, 1})->second, std::vector<double>{0.5});
}

}  // namespace
}  // namespace tilewave::circuit
