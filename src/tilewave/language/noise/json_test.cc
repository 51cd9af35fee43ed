// Noise models: what is read, and one clear error for each way a model can be wrong.
#include "tilewave/language/noise/json.h"

#include <gtest/gtest.h>

#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::language {
namespace {

std::string model_error(const std::string& text) {
  return error_of([&] { parse_noise_model(text, "m.json"); }, ExitCode::kInput);
}

// The error of a model with one channel, or one readout error.
std::string channel_error(const std::string& inside) {
  return model_error("{\"channels\": [{" + inside + "}]}");
}

TEST(NoiseJson, ReadsRules) {
  const auto model = parse_noise_model(R"({"channels": [
      {"after": "all", "channel": "depolarizing", "p": 0.01},
      {"after": ["cx", "swap"], "qubits": [[0, 1], [1, 2]], "except": [[2, 1]],
       "channel": "depolarizing2", "lambda": 0.16},
      {"before": "measure", "qubits": [3], "channel": "bit_flip", "p": 0.5},
      {"after": "cx", "acts_on": [1], "channel": "phase_damping", "lambda": 0.2}],
    "readout": [{"p1_given_0": 0.1}, {"qubits": [2], "matrix": [[0.9, 0.1], [0.25, 0.75]]}]})",
                                       "m.json");
  ASSERT_EQ(model.rules.size(), 4u);
  EXPECT_TRUE(model.rules[0].all_gates);
  EXPECT_EQ(model.rules[1].path, "m.json: channels[1]");
  EXPECT_EQ(model.rules[1].gates.size(), 2u);
  EXPECT_EQ(model.rules[1].places.operations,
            (std::vector<std::vector<circuit::Qubit>>{{0, 1}, {1, 2}}));
  EXPECT_TRUE(model.rules[1].places.qubits.empty());
  EXPECT_EQ(model.rules[2].places.qubits, std::vector<circuit::Qubit>{3});
  EXPECT_TRUE(model.rules[2].places.operations.empty());
  EXPECT_EQ(model.rules[1].channel->num_qubits, 2);
  // lambda 16/100 is p = 15/100: no error with probability 85/100
  EXPECT_NEAR(std::norm(model.rules[1].channel->kraus[0][0]), 0.85, 1e-12);
  EXPECT_TRUE(model.rules[2].before && model.rules[2].on_measure);
  EXPECT_EQ(model.rules[3].acts_on, std::vector<int>{1});
  const auto readout = circuit::readout_errors(model, 3);
  EXPECT_DOUBLE_EQ(readout[0].p1_given_0, 0.1);
  EXPECT_DOUBLE_EQ(readout[2].p0_given_1, 0.25);
}

TEST(NoiseJson, EveryChannelKeepsTheTrace) {
  const char* models[] = {
      R"("channel": "depolarizing", "p": 0.3)",
      R"("channel": "depolarizing2", "p": 0.3, "after": "cx")",
      R"("channel": "bit_flip", "p": 0.3)",
      R"("channel": "phase_flip", "p": 0.3)",
      R"("channel": "bit_phase_flip", "p": 0.3)",
      R"("channel": "pauli", "probabilities": {"X": 0.1, "Y": 0.2, "I": 0.7})",
      R"("channel": "pauli", "probabilities": {"XY": 0.1, "IZ": 0.2}, "after": "cx")",
      R"("channel": "amplitude_damping", "gamma": 0.3)",
      R"("channel": "generalized_amplitude_damping", "gamma": 0.3, "excited": 0.2)",
      R"("channel": "phase_damping", "lambda": 0.3)",
      R"("channel": "thermal_relaxation", "t1": 50, "t2": 70, "time": 20, "excited": 0.1)",
      R"("channel": "thermal_relaxation", "t1": 50, "t2": 100, "time": 20)",
      R"("channel": "reset", "p0": 0.1, "p1": 0.2)",
      R"("channel": "unitary_mixture", "unitaries": [
          {"p": 0.9, "gate": "id"}, {"p": 0.1, "gate": "rx", "params": [0.3]}])",
      R"("channel": "unitary_mixture", "unitaries": [
          {"p": 1, "matrix": [[0, [0, -1]], [[0, 1], 0]]}])",
      R"("channel": "kraus", "operators": [[[1, 0], [0, 0.6]], [[0, 0.8], [0, 0]]])"};
  for (const std::string body : models) {
    const bool has_after = body.find("after") != std::string::npos;
    const auto model = parse_noise_model(
        "{\"channels\": [{" + body + (has_after ? "" : R"(, "after": "all")") + "}]}", "m");
    EXPECT_LT(circuit::distance_from_trace_preserving(model.rules[0].channel->kraus), 1e-12)
        << body;
  }
}

// Controls are the first qubits of a gate, and bit j of an index is its j-th qubit.
TEST(NoiseJson, MixturesNameGatesWithControls) {
  const auto only = [](const std::string& gate) {
    const auto model = parse_noise_model(
        R"({"channels": [{"after": "all", "channel": "unitary_mixture", "unitaries": [{"p": 1, )" +
            gate + "}]}]}",
        "m");
    return model.rules[0].channel->kraus.at(0);
  };
  EXPECT_EQ(only(R"("gate": "cx")"),
            (circuit::Matrix{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0}));
  const circuit::Matrix cp = only(R"("gate": "cp", "params": [0.5])");
  EXPECT_EQ(cp[0], 1.0);
  EXPECT_LT(std::abs(cp[15] - std::polar(1.0, 0.5)), 1e-15);
  EXPECT_EQ(only(R"("gate": "ccx")").size(), 64u);
  EXPECT_EQ(only(R"("gate": "ccx")")[3 * 8 + 7], 1.0);
}

TEST(NoiseJson, BadModelsGetOneErrorWithTheirPlace) {
  const std::string after = R"("after": "all", )";
  const struct {
    std::string found, wanted;
  } cases[] = {
      {model_error("{\"channels\": [}"), "m.json:1:15: this is no JSON"},
      {model_error("{\"channels\": [1e999]}"), "m.json: a number is too large for a double"},
      {model_error("[]"), "m.json: must be an object {...}"},
      {model_error(R"({"readout": [], "readout": []})"),
       "m.json: the key \"readout\" stands twice in one object"},
      {channel_error(after + R"("channel": "bit_flip", "p": 0.1, "p": 0.2)"),
       "m.json: the key \"p\" stands twice in one object"},
      {channel_error(after +
                     R"("channel": "pauli", "probabilities": {"X": 0.1, "Z": 0, "X": 0.1})"),
       "m.json: the key \"X\" stands twice in one object"},
      {channel_error(after + R"("channel": "bit_flip", "p\u001b[31m": 1)"),
       "channels[0]: has no key \"p [31m\""},
      {model_error(R"({"chanels": []})"), "did you mean 'channels'?"},
      {model_error(R"({"channels": {}})"), "m.json: channels: must be a list of objects"},
      {channel_error(R"("after": "all")"), "m.json: channels[0]: needs \"channel\""},
      {channel_error(after + R"("channel": "depolarising", "p": 1)"),
       "m.json: channels[0].channel: there is no channel 'depolarising': did you mean "
       "'depolarizing'?"},
      {channel_error(after + R"("channel": "bit_flip")"), "channels[0]: needs \"p\""},
      {channel_error(after + R"("channel": "bit_flip", "p": 1.5)"),
       "m.json: channels[0].p: is 1.5: it must be from 0 to 1"},
      {channel_error(after + R"("channel": "bit_flip", "p": "1")"),
       "m.json: channels[0].p: must be a number"},
      {channel_error(after + R"("channel": "bit_flip", "q": 1)"), "channels[0]: has no key \"q\""},
      {channel_error(R"("channel": "bit_flip", "p": 0.1)"),
       "channels[0]: needs either \"after\" or \"before\""},
      {channel_error(R"("after": "cy2", "channel": "bit_flip", "p": 0.1)"),
       "channels[0].after: there is no gate 'cy2': did you mean 'cy'? (or one of: all, measure, "
       "reset, unitary, delay, idle)"},
      {channel_error(R"("after": "mesure", "channel": "bit_flip", "p": 0.1)"),
       "there is no gate 'mesure': did you mean 'measure'?"},
      {channel_error(R"("after": ["x", "h"], "channel": "depolarizing2", "p": 0.1)"),
       "channels[0].after[0]: gate 'x' has 1 qubit, channel 'depolarizing2' acts on 2"},
      {channel_error(after + R"("channel": "pauli", "probabilities": {"X": 0.8, "Z": 0.3})"),
       "channels[0].probabilities: sum to 1.1: they may sum to at most 1"},
      {channel_error(after + R"("channel": "pauli", "probabilities": {"X": 0.8, "ZZ": 0.1})"),
       "channels[0].probabilities.ZZ: has 2 letters, others have 1"},
      {channel_error(after + R"("channel": "pauli", "probabilities": {"Q": 0.8})"),
       "channels[0].probabilities.Q: a Pauli string is made of I, X, Y and Z"},
      {channel_error(after + R"("channel": "thermal_relaxation", "t1": 10, "t2": 21, "time": 1)"),
       "channels[0].t2: is 21: it can be at most twice t1, which is 10"},
      {channel_error(after + R"("channel": "thermal_relaxation", "t1": 0, "t2": 21, "time": 1)"),
       "channels[0].t1: must be larger than 0"},
      {channel_error(after + R"("channel": "kraus", "operators": [[[1, 0], [0, 0.5]]])"),
       "channels[0].operators: do not preserve the trace: an entry of the sum of K^dagger K is "
       "0.75 off the identity"},
      {channel_error(after + R"("channel": "kraus", "operators": [[[1, 0, 0], [0, 1]]])"),
       "channels[0].operators[0][0]: must have 2 entries, not 3"},
      {channel_error(after + R"("channel": "kraus", "operators": [[[1]]])"),
       "channels[0].operators[0]: has 1 row:"},
      {channel_error(after + R"("channel": "unitary_mixture", "unitaries": [
          {"p": 0.5, "gate": "x"}])"),
       "channels[0].unitaries: have probabilities that sum to 0.5: they must sum to 1"},
      {channel_error(after + R"("channel": "unitary_mixture", "unitaries": [
          {"p": 1, "matrix": [[1, 0], [0, 0.5]]}])"),
       "channels[0].unitaries[0].matrix: is not unitary"},
      {channel_error(after + R"("channel": "unitary_mixture", "unitaries": [
          {"p": 1, "gate": "rx"}])"),
       "channels[0].unitaries[0]: gate 'rx' takes 1 param, not 0"},
      {channel_error(after + R"("channel": "reset", "p0": 0.7, "p1": 0.7)"),
       "channels[0]: p0 and p1 sum to 1.4"},
      {channel_error(after + R"("channel": "bit_flip", "p": 0.1, "qubits": [-1])"),
       "channels[0].qubits[0]: must be a whole number"},
      {channel_error(R"("after": "cx", "channel": "depolarizing2", "p": 0.1, "qubits": [1])"),
       "channels[0].qubits: a channel on several qubits needs lists of qubits"},
      {channel_error(R"("after": "cx", "channel": "depolarizing2", "p": 0.1, "except": [1])"),
       "channels[0].except: a channel on several qubits needs lists of qubits"},
      {channel_error(after + R"("channel": "unitary_mixture", "unitaries": [
          {"p": 1, "gate": "czz"}])"),
       "channels[0].unitaries[0].gate: there is no gate 'czz': did you mean 'cz'?"},
      {channel_error(after + R"("channel": "unitary_mixture", "unitaries": [
          {"p": 1, "gate": "gphase", "params": [1]}])"),
       "channels[0].unitaries[0].gate: gate 'gphase' acts on 0 qubits: a channel acts on 1 to 4"},
      {channel_error(R"("after": "cx", "channel": "unitary_mixture", "unitaries": [
          {"p": 0.5, "gate": "cz"}, {"p": 0.5, "gate": "x"}])"),
       "channels[0].unitaries[1].gate: acts on 1 qubit, those before it on 2"},
      {channel_error(R"("before": "idle", "channel": "bit_flip", "p": 0.1)"),
       "channels[0].before: idle noise has no before"},
      {model_error(R"({"readout": [{"qubits": [0]}]})"),
       "m.json: readout[0]: needs \"p1_given_0\""},
      {model_error(R"({"readout": [{"matrix": [[0.9, 0.2], [0, 1]]}]})"),
       "readout[0].matrix[0]: sums to 1.1: it must sum to 1"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(has(c.found, c.wanted));
  }
  // one key in several objects is no repetition, and long words do not fill the screen
  EXPECT_EQ(
      channel_error(
          R"("after": "x", "channel": "bit_flip", "p": 0.1}, {"after": "y", "channel": "bit_flip", "p": 0.1)"),
      "no error");
  const std::string name(1 << 20, 'a');
  for (const std::string& text :
       {channel_error("\"" + name + "\": 1"), channel_error("\"channel\": \"" + name + "\""),
        channel_error(after + "\"channel\": \"pauli\", \"probabilities\": {\"" + name + "\": 1}"),
        channel_error("\"channel\": \"bit_flip\", \"p\": 0, \"after\": \"" + name + "\"")}) {
    EXPECT_FALSE(text.empty());
    EXPECT_LT(text.size(), 1200u);
  }
}

TEST(NoiseJson, QubitsTheCircuitDoesNotHaveAreNamedWithTheirRule) {
  circuit::Circuit c(2);
  for (const std::string body :
       {R"({"channels": [{"after": "all", "channel": "bit_flip", "p": 0.1, "qubits": [5]}]})",
        R"({"readout": [{"qubits": [5], "p1_given_0": 0.1}]})"}) {
    const auto model = parse_noise_model(body, "m.json");
    try {
      circuit::with_noise(c, model);
      circuit::readout_errors(model, 2);
      ADD_FAILURE() << "no error for " << body;
    } catch (const Error& error) {
      EXPECT_TRUE(has(std::string(error.what()),
                      "[0]: qubit 5 does not exist: the circuit has "
                      "qubits 0 to 1"));
    }
  }
}

}  // namespace
}  // namespace tilewave::language
