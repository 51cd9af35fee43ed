// Every word of the dialects of Stim's language, and circuits written in them and enumerated.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "stabilizer/enumerator.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/leakage_words.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {

inline std::map<std::string, double> distribution(const std::string& text) {
  const StabilizerCircuit circuit = language::parse_stim(text);
  return Enumerator(circuit, circuit::leakage_words(circuit).deltakit_leaks).distribution();
}

/// The largest difference of the probabilities of any outcome.
inline double difference(const std::map<std::string, double>& a,
                         const std::map<std::string, double>& b) {
  double most = 0;
  for (const auto& [records, p] : a)
    most = std::max(most, std::abs(p - (b.count(records) ? b.at(records) : 0)));
  for (const auto& [records, p] : b) most = std::max(most, a.count(records) ? 0 : p);
  return most;
}

inline constexpr double kRounding = 1e-9;

inline std::string written(const std::string& text, const std::string& dialect) {
  return language::print_dialect(language::parse_stim(text, "file"),
                                 language::parse_dialect(dialect), "file");
}

inline std::string refusal(const std::string& text, const std::string& dialect) {
  return error_of([&] { written(text, dialect); }, ExitCode::kInput);
}

inline constexpr const char* kClifford = "stim deltakit custabilizer";  // dialects
inline constexpr const char* kPlain = "stim clifft symft tsim";         // without leakage

struct Word {
  std::string text;
  std::string refused_by;             // dialects
  const char* spelled_out = nullptr;  // what is enumerated instead, where a word hides gates
};

inline std::vector<Word> words() {
  std::vector<Word> all;
  // Every Clifford gate, in every dialect.
  for (const circuit::GateInfo& gate : circuit::gate_table()) {
    if (gate.stim.empty()) continue;
    const std::string name(gate.stim.substr(0, gate.stim.find(' ')));
    all.push_back({name + (circuit::gate_arity(gate.id) == 1 ? " 0 2" : " 0 1 1 2"), ""});
  }
  const std::vector<Word> others = {
      // Pauli noise
      {"X_ERROR(0.1) 0 1", ""},
      {"Y_ERROR(0.1) 0 1", ""},
      {"Z_ERROR(0.1) 0 1", ""},
      {"DEPOLARIZE1(0.1) 0", ""},
      {"DEPOLARIZE2(0.1) 0 1", ""},
      {"PAULI_CHANNEL_1(0.1, 0.2, 0.05) 1", ""},
      {"PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 1 0", ""},
      {"E(0.1) X0", ""},
      {"E(0.1) Y0 Z2", ""},
      {"E(0.1) X0 Y1 Z2", ""},
      {"E(0.1) X0*Z0 Y1", ""},
      {"E(0.2) X0\nELSE_CORRELATED_ERROR(0.3) Y0 Z1\nELSE_CORRELATED_ERROR(0.4) Z0 X1 Y2\nE(0.1) "
       "X2",
       ""},
      {"HERALDED_ERASE(0.2) 0 1", ""},
      {"HERALDED_PAULI_CHANNEL_1(0.1, 0.2, 0.05, 0.3) 0", ""},
      {"E(0.5) X0\nELSE_CORRELATED_ERROR(0.3) Z0\nHERALD_LEAKAGE_EVENT(0.1, 0.2) 0\nMPAD 1\n"
       "HERALDED_ERASE(0.1) 1\nE(0.2) Z1\nMPAD(0.1) 0",
       ""},
      {"I_ERROR(0.1) 0", ""},
      {"II_ERROR(0.1) 0 1", ""},
      // collapses
      {"M(0.1) 0 !1", ""},
      {"MX !0 1", ""},
      {"MY(0.2) !0", ""},
      {"MR !0 1", ""},
      {"MRX(0.1) 0", ""},
      {"MRY 0", ""},
      {"R 0\nRX 1\nRY 2", ""},
      {"MXX(0.1) 0 !1 1 2", ""},
      {"MYY !0 !1", ""},
      {"MZZ 0 1 2 !0", ""},
      {"MPP(0.1) !X0*Y1*Z2 Z1", ""},
      {"MPP X0*Z0*Y1*X1 !Z2*Z2 X2*X2", ""},
      {"MPAD(0.1) 0 1\nMPAD 1", ""},
      {"SPP X0*!Y1 Z2\nSPP_DAG Y0*Y1*X2", ""},
      {"SPP X0*X1*Z0*Z1 Z2*Z2", ""},
      // feedback
      {"M 0\nCX rec[-1] 1\nCY rec[-1] 0\nCZ rec[-1] 2", "custabilizer"},
      {"M 0\nCZ 1 rec[-1] rec[-1] rec[-1] 0 1\nXCZ 1 rec[-1]\nYCZ 2 rec[-1]", "custabilizer"},
      {"CX sweep[0] 1", "clifft symft tsim custabilizer"},
      // annotations
      {"QUBIT_COORDS(1, 2) 0\nSHIFT_COORDS(1)\nTICK\nM 0\nDETECTOR(1) rec[-1]\n"
       "OBSERVABLE_INCLUDE(1) rec[-1]\nREPEAT 2 {\nH 0\nM 0\n}",
       ""},
      {"OBSERVABLE_INCLUDE(0) X0 Z1", "clifft tsim custabilizer"},
      // beyond Clifford
      {"T 0 1", kClifford},
      {"T_DAG 0", kClifford},
      {"TPP X0*!Y1 Z2", kClifford},
      {"TPP_DAG X0*Z0*Y1*X1*Z2 !X1", kClifford},
      {"R_X(0.3) 0", kClifford},
      {"R_Y(-0.7) 0 1", kClifford},
      {"R_Z(1.3) 0", kClifford},
      {"R_XX(0.3) 0 1 1 2", kClifford},
      {"R_YY(0.3) 0 1", kClifford},
      {"R_ZZ(-0.3) 0 1", kClifford},
      {"R_PAULI(0.3) X0*Y1*Z2 Z1", kClifford},
      {"R_PAULI(0.3) X0*Z0*Y1*X1 Z2*Z2", kClifford},
      {"U3(0.2, 0.9, -0.4) 0 1", kClifford},
      {"CCX 0 1 2", kClifford},
      {"CCZ 2 0 1", kClifford},
      {"CH 0 1 1 2", kClifford},
      // quarter turns are Clifford gates
      {"R_X(0.5) 0\nR_Y(-0.5) 1\nR_Z(1) 2\nR_X(1.5) 1\nR_Y(2) 0", ""},
      {"R_XX(0.5) 0 1\nR_YY(-0.5) 1 2\nR_ZZ(1) 0 2", ""},
      {"R_PAULI(0.5) X0*Y1*Z2\nR_PAULI(-1.5) Z0*Z1\nR_PAULI(3) X1*Z2", ""},
      {"U3(0.5, 1, -0.5) 0\nU(1, 0.5, 0) 1", ""},
      // deltakit's words
      {"LEAKAGE(0.3) 0 1 0\nCX 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nRELAX(0.4) 0\nLEAKAGE(0.2) 0 1\nRL 1\nCZ 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       kPlain},
      {"LEAKAGE(0.3) 0\nCX(0.3, 0.2, 0.4, 0.1) 0 1 1 2\nHERALD_LEAKAGE_EVENT 0 1 2", kPlain},
      {"LEAKAGE(0.3) 0 1\nCY(1, 0.2, 0.4, 0.1) 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 1\nCZ(0.5, 0.2, 0.4, 1) 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nSQRT_XX(0.3, 0, 0, 0.1) 0 1\nSQRT_XX_DAG 1 2", kPlain},
      {"LEAKAGE(0.3) 0\nM 0\nLEAKAGE(0.5) 0\nM 0\nHERALD_LEAKAGE_EVENT(0.25) 0\nM 0", kPlain},
      {"LEAKAGE(0.3) 0\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nE(0.5) X0\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1\n"
       "ELSE_CORRELATED_ERROR(0.3) X1 Z0 Y2\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1",
       kPlain},
      {"LEAKAGE(0.3) 0\nXCZ 1 0\nSQRT_ZZ 0 1\nMXX 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nSWAP 0 1\nHERALD_LEAKAGE_EVENT 0 1\nISWAP 1 2\nHERALD_LEAKAGE_EVENT 1 2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE(0.3) 0\nRL 0\nSWAP 0 1\nLEAKAGE(0.2) 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.4) 1\nMPP X0*Z1*Y2", "stim clifft symft tsim",
       "LEAKAGE(0.4) 1\nCZ 1 0\nYCZ 2 0\nMX 0\nCZ 1 0\nYCZ 2 0"},
      {"LEAKAGE(0.4) 0\nMPP Z0*Z1*Z2 Z1*X0", kPlain,
       "LEAKAGE(0.4) 0\nCX 1 0 2 0\nM 0\nCX 1 0 2 0\nH 0\nCX 0 1\nM 1\nCX 0 1\nH 0"},
      {"LEAKAGE(0.4) 0\nSPP Z0*Z1\nR_ZZ(-0.5) 1 0", kPlain,
       "LEAKAGE(0.4) 0\nCX 1 0\nS 0\nCX 1 0\nCX 0 1\nS_DAG 1\nCX 0 1"},
      {"REPEAT 2 {\nCX 0 1\nLEAKAGE(0.4) 0\n}\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      // cuStabilizer's words
      {"LEAKAGE1(0.2) 1\nREPEAT 2 {\nCZ 0 1\nLEAKAGE_PROPAGATE(0, 0.4, 0, 0.3) 1 2\n}\n"
       "HERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"REPEAT 2 {\nSWAP 0 1\nCX 0 2\nREPEAT 2 {\nLEAKAGE_MARK1(0.3) 0\n}\n}\n"
       "HERALD_LEAKAGE_EVENT 0 1 2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE_MARK1(0.3) 0\nCX 0 1\nHERALD_LEAKAGE_EVENT 0 1", "stim clifft symft tsim deltakit"},
      {"LEAKAGE_MARK2(0.1, 0.2, 0.3) 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_RELAX(0.4) 0\nLEAKAGE1(0.2) 1\nLEAKAGE_RESET 1\nCX 0 1\nCY 1 0\n"
       "CZ 0 1\nSQRT_XX 1 0\nSQRT_XX_DAG 2 0\nHERALD_LEAKAGE_EVENT 0 1",
       kPlain},
      {"LEAKAGE1(0.3) 0 1\nLEAKAGE_PROPAGATE(0.3, 0.2, 0.4, 0.1) 0 1 1 2\nHERALD_LEAKAGE_EVENT 0 1 "
       "2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0 2\nM 0\nLEAKAGE_PROPAGATE(0.3, 0, 0.4, 0) 0 1\nM 0\n"
       "LEAKAGE_PROPAGATE(0, 0.3, 0, 0.4) 1 2\nHERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"LEAKAGE1(0.3) 0\nCX 0 1 2 1\nLEAKAGE_PROPAGATE(1, 0.2, 0, 0.8) 0 1\nCZ 1 2\n"
       "LEAKAGE_PROPAGATE(0.1, 0.2, 0.4, 0.8) 1 2\nHERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_SCRAMBLE_PARTNER 0 1 1 2\nSQRT_XX 0 1\nLEAKAGE_SCRAMBLE_PARTNER 0 "
       "1",
       kPlain},
      {"LEAKAGE1(0.3) 0\nM 0\nLEAKAGE_SCRAMBLE 0 1\nM 0\nHERALD_LEAKAGE_EVENT(0.1) 0", kPlain},
      {"LEAKAGE1(0.3) 0\nMPP X0*Z1*Y2 Z0*Z1\nMPP Y1*Z0 X0*X2\nSPP X0*Z1 Z0*Z2\nSPP_DAG Z1*Y0",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_PAULI1(0, 0, 0, 0.05, 0.05, 0.05) 0\nLEAKAGE1(0.2) 0\n"
       "LEAKAGE_PAULI1(0.1, 0.2, 0.3, 0.1, 0.2, 0.3) 0\nHERALD_LEAKAGE_EVENT 0",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE1(0.3) 0", "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_PAULI1(0.1, 0.2, 0.05, 0.3, 0, 0.6) 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE2(0.1, 0.2, 0.3) 0 1\nHERALD_LEAKAGE_EVENT 0 1", "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.5) 0\nLEAKAGE_PROPAGATE_MARK(0.5, 0.1, 0.2, 0.7) 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.5) 0\nLEAKAGE_PAULI2("
       ".01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08,"
       ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
       "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05) 0 1",
       "stim clifft symft tsim deltakit"},
      // leakage that never is
      {"LEAKAGE(0) 0\nCX(0.3, 0.2, 0.4, 0.1) 0 1\nRL 0\nRELAX(0.5) 1\nHERALD_LEAKAGE_EVENT(0.5, "
       "0.1) "
       "0\nHERALD_LEAKAGE_EVENT 0 1\nSWAP 0 1",
       ""},
      {"LEAKAGE1(0) 0\nLEAKAGE_SCRAMBLE 0\nLEAKAGE_PAULI1(0.1, 0.2, 0.05, 0.3, 0, 0.6) 0 1\n"
       "LEAKAGE_MARK1(0) 1\nLEAKAGE_MARK2(0, 0, 0) 1 2\nLEAKAGE2(0, 0, 0) 1 2\n"
       "LEAKAGE_PROPAGATE(0.1, 0.2, 0.3, 0.4) 0 1\nLEAKAGE_PROPAGATE_MARK(0.1, 0.2, 0.3, 0.4) 0 1\n"
       "LEAKAGE_SCRAMBLE_PARTNER 0 1\nLEAKAGE_RELAX(0.1) 0\nLEAKAGE_RESET 0\n"
       "LEAKAGE_PAULI2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08,"
       ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
       "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05) 0 1\nHERALD_LEAKAGE_EVENT(0, 0.2) 0",
       ""},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace tilewave::stabilizer
