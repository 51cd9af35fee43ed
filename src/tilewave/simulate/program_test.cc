// What preparing a circuit for shots moves to the end, resolves and keeps.
#include "tilewave/simulate/program.h"

#include <gtest/gtest.h>

#include "tilewave/simulate/runs_test.h"

namespace tilewave::simulate {
namespace {

TEST(Prepare, DefersMeasurementsNothingDependsOn) {
  const auto c =
      qasm("qreg q[3]; creg c[3]; h q[0]; measure q[0]->c[2]; h q[1]; measure q[1]->c[0];");
  const Program p = prepare(c);
  EXPECT_FALSE(p.dynamic);
  EXPECT_EQ(p.deferred.size(), 2u);
  EXPECT_EQ(p.ops.size(), 2u);
}

TEST(Prepare, KeepsWhatMatters) {
  const auto reused =
      qasm("qreg q[1]; creg c[2]; h q[0]; measure q[0]->c[0]; h q[0]; measure q[0]->c[1];");
  EXPECT_TRUE(prepare(reused).dynamic);
  const auto read = qasm("qreg q[2]; creg c[1]; h q[0]; measure q[0]->c[0]; if(c==1) x q[1];");
  EXPECT_TRUE(prepare(read).dynamic);
  const auto reset = qasm("qreg q[1]; h q[0]; reset q[0];");
  EXPECT_TRUE(prepare(reset).dynamic);
}

TEST(Prepare, ResolvesWhatIsKnown) {
  const auto c = qasm("qreg q[2]; creg c[2]; reset q[0]; if(c==1) x q[0]; if(c==0) x q[1];");
  const Program p = prepare(c);
  EXPECT_FALSE(p.dynamic);
  ASSERT_EQ(p.ops.size(), 1u);
  EXPECT_EQ(c.targets(p.ops[0])[0], 1u);
}

// Whether bits or qubits are counted is said by the circuit, not by what is left of it.
TEST(Prepare, MeasurementsThatNeverHappenAreRecords) {
  for (const std::string condition : {"if(d==1)", "if(c==9)", "if(d==3)"}) {
    const auto c =
        qasm("qreg q[3]; creg c[2]; creg d[1]; h q[0]; " + condition + " measure q[0]->c[0];");
    EXPECT_TRUE(prepare(c).records);
    for (const Engine engine : {Engine::kAuto, Engine::kDensity, Engine::kStabilizer}) {
      Options options = shots_of(50, 1);
      options.engine = engine;
      options.record_shots = true;
      const Result r = simulate(c, options);
      EXPECT_EQ(r.counts, (Counts{{"0 00", 50}})) << condition;
      if (engine != Engine::kAuto) continue;
      EXPECT_EQ(r.num_shot_bits, 3u);
      EXPECT_EQ(r.shot_bits, std::vector<std::uint64_t>(50));
    }
  }
}

TEST(Prepare, DropsWhatItsBitsCannotAskFor) {
  auto c = qasm("qreg q[2]; creg c[1]; h q[0]; measure q[0]->c[0]; x q[1]; reset q[1];");
  const std::size_t ops = prepare(c).ops.size();
  for (const std::vector<std::uint64_t>& value :
       {std::vector<std::uint64_t>{3}, std::vector<std::uint64_t>{0, 1}}) {
    auto steered = c;
    steered.set_condition(2, {0, 1, value, {}});
    steered.set_condition(3, {0, 1, value, {}});
    EXPECT_EQ(prepare(steered).ops.size(), 1u);  // the measurement is deferred
    EXPECT_FALSE(prepare(steered).dynamic);
    steered.set_condition(2, {0, 1, {1}, {}});
    steered.set_condition(3, {0, 1, {1, 0}, {}});
    EXPECT_EQ(prepare(steered).ops.size(), ops + 1);
  }
}

// A qubit that is the control of an identity alone is no part of a state that leaves idle qubits out.
TEST(Prepare, IdentitiesUnderControlsTouchNothing) {
  for (const circuit::GateId gate : {circuit::GateId::kId, circuit::GateId::kU0}) {
    for (const std::uint32_t control : {0u, 2u, 3u}) {
      circuit::Circuit c(4);
      const circuit::Qubit controls[] = {control}, targets[] = {1};
      const std::vector<double> length(gate == circuit::GateId::kU0 ? 1 : 0, 1.0);
      c.add_controlled_gate(gate, controls, 0, targets, length);
      c.add_gate(circuit::GateId::kX, {1});
      for (const Engine engine : {Engine::kAuto, Engine::kStatevector, Engine::kDensity}) {
        Options options = shots_of(10, 1);
        options.engine = engine;
        EXPECT_EQ(simulate(c, options).counts, (Counts{{"0010", 10}})) << control;
      }
      Program p = prepare(c);
      circuit::Circuit kept;
      keep_only(p, touched_qubits(p), kept);
      ASSERT_EQ(p.ops.size(), 1u);
      EXPECT_EQ(kept.num_qubits(), 1u);
      EXPECT_EQ(kept.targets(p.ops[0])[0], 0u);
    }
  }
}

TEST(Prepare, DropsOverwrittenMeasurements) {
  const auto c = qasm("qreg q[2]; creg c[1]; x q[0]; measure q[0]->c[0]; measure q[1]->c[0];");
  EXPECT_EQ(prepare(c).deferred.size(), 1u);
  Options options;
  options.shots = 10;
  EXPECT_EQ(simulate(c, options).counts, (Counts{{"0", 10}}));
}

}  // namespace
}  // namespace tilewave::simulate
