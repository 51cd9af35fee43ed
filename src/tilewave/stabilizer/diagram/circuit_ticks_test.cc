// Parts of circuits against the circuit written out.
#include "tilewave/stabilizer/diagram/circuit_ticks.h"

#include <gtest/gtest.h>

#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;

// An instruction a line, blocks written out.
void write_out(const StabilizerCircuit& circuit, std::vector<std::string>& lines) {
  for (const StabInstruction& op : circuit.instructions()) {
    if (op.kind == StabKind::kRepeat) {
      for (std::uint64_t k = 0; k < op.repeat; ++k) write_out(circuit.block(op), lines);
      continue;
    }
    if (op.kind == StabKind::kTick || op.kind == StabKind::kDetector) {
      lines.emplace_back(circuit.name(op));
      continue;
    }
    for (const circuit::StabTarget& t : circuit.targets(op))
      lines.push_back(std::string(circuit.name(op)) + " " + std::to_string(t.value));
  }
}

TEST(CircuitTicksTest, are_the_lines_between_two_ticks) {
  const StabilizerCircuit whole = language::parse_stim(
      "H 0\nTICK\nM 1\nREPEAT 3 {\nS 2\nTICK\nM 3\nDETECTOR rec[-1]\nREPEAT 2 {\nX 4\nTICK\n}\n"
      "REPEAT 4 {\nM 8\n}\nZ 5\n}\nDETECTOR rec[-1]\nTICK\nTICK\nM 6 7\n");
  std::vector<std::string> lines;
  write_out(whole, lines);
  std::vector<std::vector<std::string>> steps(1);
  for (const std::string& line : lines) {
    if (line == "TICK") {
      steps.emplace_back();
    } else {
      steps.back().push_back(line);
    }
  }
  ASSERT_EQ(steps.size(), whole.counts().ticks + 1);
  for (std::size_t first = 0; first < steps.size(); ++first) {
    for (std::size_t last = first; last < steps.size(); ++last) {
      std::vector<std::string> expected;
      std::uint64_t records = 0, detectors = 0;
      for (std::size_t k = 0; k <= last; ++k) {
        for (const std::string& line : steps[k]) {
          if (k >= first) expected.push_back(line);
          if (k < first) records += line[0] == 'M', detectors += line[0] == 'D';
        }
        if (k >= first && k < last) expected.emplace_back("TICK");
      }
      const CircuitTicks cut = cut_ticks(whole, {first, last});
      std::vector<std::string> found;
      write_out(cut.part, found);
      EXPECT_EQ(found, expected) << first << ":" << last;
      EXPECT_EQ(cut.records, records) << first << ":" << last;
      EXPECT_EQ(cut.detectors, detectors) << first << ":" << last;
    }
  }
  const CircuitTicks all = cut_ticks(whole, {});
  std::vector<std::string> found;
  write_out(all.part, found);
  EXPECT_EQ(found, lines);
}

TEST(CircuitTicksTest, a_long_loop_costs_nothing) {
  const StabilizerCircuit loop =
      language::parse_stim("REPEAT 1000000000000 {\nM 0\nTICK\nREPEAT 1000 {\nH 1\nTICK\n}\n}\n");
  const CircuitTicks cut = cut_ticks(loop, {500'000'000'000'000, 500'000'000'000'001});
  EXPECT_EQ(cut.records, 500'000'000'000'000 / 1001 + 1);
  std::vector<std::string> found;
  write_out(cut.part, found);
  EXPECT_EQ(found, (std::vector<std::string>{"H 1", "TICK", "H 1"}));
}

TEST(CircuitTicksTest, coordinates_are_shifted) {
  const QubitCoordinates found = qubit_coordinates(language::parse_stim(
      "QUBIT_COORDS(1, 2) 0\nREPEAT 5 {\nSHIFT_COORDS(0, 10)\n}\nQUBIT_COORDS(1, 2, 3) 1 4\n"));
  EXPECT_EQ(found, (QubitCoordinates{{0, {1, 2}}, {1, {1, 52, 3}}, {4, {1, 52, 3}}}));
}

}  // namespace
}  // namespace tilewave::stabilizer
