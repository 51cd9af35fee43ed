// Texts: circuits in every language, noise models, Pauli sums, expressions of maps.
#include "target.h"

#include "tilewave/base/error.h"
#include "tilewave/field/map.h"
#include "tilewave/field/map_program.h"
#include "tilewave/formats/circuit_bytes.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/noise/json.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/language/qasm3/qasm3.h"
#include "tilewave/language/qsim/text.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;

// As a service reads programs of others: no files, and not for long.
language::Reading careful() {
  language::Reading reading(language::Includes::kRefused);
  reading.most_steps = 20000;
  return reading;
}

// What was read comes back from its bytes.
void check_bytes(const circuit::Circuit& c) {
  const std::string bytes = formats::circuit_to_bytes(c);
  if (!formats::has_same_operations(c, formats::circuit_from_bytes(bytes)))
    found("a circuit that is another one after it was bytes");
}

void qasm2(Bytes bytes) {
  const circuit::Circuit c = language::parse_qasm2(text_of(bytes), "fuzz", nullptr, careful());
  check_bytes(c);
  std::string printed;
  try {
    printed = language::to_qasm2(c);
  } catch (const Error& e) {
    if (e.code() != ExitCode::kInput) throw;
    return;  // the language cannot say it
  }
  const std::string again =
      language::to_qasm2(language::parse_qasm2(printed, "printed", nullptr, language::Reading()));
  if (again != printed) found("what is printed reads back as something else:\n" + printed);
}

void qasm3(Bytes bytes) {
  check_bytes(language::parse_qasm3(text_of(bytes), "fuzz", {{"x", "pi/2"}, {"n", "3"}}, nullptr,
                                    careful()));
}

void qasm3_input(Bytes bytes) {
  const std::string text(text_of(bytes));
  for (const char* type : {"float", "int[8]", "bit[4]", "angle[4]", "duration", "bool", "uint"}) {
    try {
      language::parse_qasm3(std::string("OPENQASM 3.0; input ") + type + " x; qubit q; rx(0.5) q;",
                            "fuzz", {{"x", text}}, nullptr, careful());
    } catch (const Error& e) {
      if (e.code() != ExitCode::kInput && e.code() != ExitCode::kUsage) throw;
    }
  }
}

void circuit_file(Bytes bytes) {
  language::parse_circuit(text_of(bytes), "fuzz", {}, nullptr, careful());
}

void qsim(Bytes bytes) { check_bytes(language::parse_qsim_text(text_of(bytes), "fuzz")); }

void stim(Bytes bytes) {
  const circuit::StabilizerCircuit circuit = language::parse_stim(text_of(bytes));
  const std::string printed = language::print_stim(circuit);
  if (language::print_stim(language::parse_stim(printed)) != printed)
    found("what is printed reads back as something else:\n" + printed);
  // What is written for another tool is in its words: written again it is the same.
  for (const std::string_view name : language::dialect_names()) {
    const language::Dialect dialect = language::parse_dialect(name);
    std::string text;
    try {
      text = language::print_dialect(circuit, dialect);
    } catch (const Error& e) {
      if (e.code() != ExitCode::kInput) throw;
      continue;  // the dialect cannot say it
    }
    const circuit::StabilizerCircuit again = language::parse_stim(text);
    if (language::print_dialect(again, dialect) != text)
      found("what is written for " + std::string(name) + " is something else the second time:\n" +
            text);
    const circuit::StabCounts a = circuit.counts(), b = again.counts();
    if (a.measurements != b.measurements || a.detectors != b.detectors ||
        a.observables != b.observables)
      found("what is written for " + std::string(name) + " has other records:\n" + text);
  }
}

void dem(Bytes bytes) {
  const std::string printed = language::print_dem(language::parse_dem(text_of(bytes)));
  if (language::print_dem(language::parse_dem(printed)) != printed)
    found("what is printed reads back as something else:\n" + printed);
}

void noise(Bytes bytes) {
  const circuit::NoiseModel model = language::parse_noise_model(text_of(bytes), "fuzz");
  circuit::Circuit c(3);
  c.add_gate(circuit::GateId::kH, {0});
  c.add_gate(circuit::GateId::kCx, {0, 1});
  c.add_gate(circuit::GateId::kCcx, {0, 1, 2});
  c.add_clbits(1);
  c.add_measure(0, 0);
  check_bytes(circuit::with_noise(c, model));
}

void pauli(Bytes bytes) {
  for (const auto order :
       {circuit::PauliOrder::kLastIsQubit0, circuit::PauliOrder::kFirstIsQubit0}) {
    const auto sum = language::parse_pauli_sum(text_of(bytes), "fuzz", order, 70);
    for (const circuit::WidePauliTerm& term : sum) {
      const std::string text = language::to_text(term, order, 70);
      const auto again = language::parse_pauli_sum(text, "printed", order, 70);
      if (again.size() != 1) found("a term that reads back as several: " + text);
      for (std::size_t k = 0; k < term.x.size(); ++k) {
        if (k >= again[0].x.size() ? term.x[k] != 0 : again[0].x[k] != term.x[k])
          found("a term that reads back as another one: " + text);
      }
    }
  }
}

void map(Bytes bytes) {
  const auto expression = field::MapExpression::parse(std::string(text_of(bytes)));
  expression.evaluate(1.5, 3, 2, 23);
  constexpr std::int64_t kWidth = 8;
  std::vector<float> values(2 * kWidth, 1.5F);
  field::map_cpu(expression, {.repeat = 2, .threads = 1}, kWidth, 0, 2, values.data());
}

constexpr Target kTargets[] = {
    {"qasm2", qasm2},
    {"qasm3", qasm3},
    {"qasm3_input", qasm3_input},
    {"circuit", circuit_file},
    {"qsim", qsim},
    {"stim", stim},
    {"dem", dem},
    {"noise", noise},
    {"pauli", pauli},
    {"map", map},
};

}  // namespace

std::span<const Target> language_targets() { return kTargets; }

}  // namespace tilewave::fuzz
