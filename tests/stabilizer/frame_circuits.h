// Circuits for the frame engine of a GPU: every operation, more noise than its lists have room for, rows that do
// not fit shared memory, codes; and those with leakage in both projects' words.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "stabilizer/random_leakage.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {

inline const char* const kChannels =
    "R 0 1 2 3\nRX 4 5\nREPEAT 7 {\nPAULI_CHANNEL_1(0.1, 0.05, 0.2) 0 4\nDEPOLARIZE2(0.3) 0 1 1 "
    "2\nDEPOLARIZE1(0.2) 3 3 4\n"
    "PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 1 2 4 5\nE(0.2) "
    "X0 Y1\n"
    "ELSE_CORRELATED_ERROR(0.3) Z4 X3\nX_ERROR(0.6) 3\nHERALDED_ERASE(0.2) "
    "1\nHERALDED_PAULI_CHANNEL_1(0.1, 0.1, 0.1, 0.1) 2\n"
    "MR(0.1) 0 0\nCX rec[-1] 5 rec[-2] 1\nC_XYZ 1\nSWAP 1 2\nS 3\nH 4\nREPEAT 2 {\nCZ 1 "
    "2\nMPAD(0.2) 0 1\n}\nM 1 2 3\nMX(0.05) 4 5\n"
    "MPP(0.1) Z1*Z2 X4*X5\nMZZ(0.1) 1 !2\nDETECTOR rec[-1]\nDETECTOR rec[-3] "
    "rec[-9]\nDETECTOR\nDETECTOR rec[-12]\n"
    "OBSERVABLE_INCLUDE(2) rec[-3]\nOBSERVABLE_INCLUDE(1) X4\n}\n";

// More events than the kernel keeps lists for: operations draw for themselves; a circuit whose rows
// do not fit shared memory; nested loops around noise.
inline std::string dense_noise() {
  std::string all;
  for (int q = 0; q < 400; ++q) all += " " + std::to_string(q);
  return "R" + all + "\nREPEAT 3 {\nX_ERROR(0.5)" + all + "\nDEPOLARIZE2(0.9)" + all +
         "\nDEPOLARIZE1(0.001)" + all + "\nREPEAT 2 {\nCX" + all + "\nZ_ERROR(0.02)" + all +
         "\n}\nMR(0.001)" + all + "\nDETECTOR rec[-1]\nDETECTOR rec[-400] rec[-7]\n}\n";
}
// Single places of noise of every kind, which gather in lists of sites; sometimes more events than
// a list has room for.
inline std::string single_places() {
  std::string out = "R 0 1 2 3 4 5\nM 0 1 2\nREPEAT 9 {\n";
  for (int k = 0; k < 40; ++k) {
    const std::string a = std::to_string(k % 6), b = std::to_string((k + 1 + k % 4) % 6),
                      p = "(0.0" + std::to_string(1 + k % 9) + std::to_string(k % 7) + ")",
                      q = "(0.00" + std::to_string(1 + k % 8) + ")";
    const std::string places[] = {
        "DEPOLARIZE1" + q + " " + a,
        "DEPOLARIZE2" + q + " " + a + " " + b,
        "E" + q + " X" + a + " Y" + b + "\nELSE_CORRELATED_ERROR" + q + " Z" + b,
        "HERALDED_ERASE" + q + " " + a,
        "M" + q + " " + a + "\nCX rec[-1] " + b,
        "PAULI_CHANNEL_1(0.001, 0.003, 0.002) " + a,
        "X_ERROR" + p + " " + a,
        "H " + a,
        "CX " + a + " " + b,
        "REPEAT 3 {\nZ_ERROR" + q + " " + a + "\nMR" + q + " " + b + "\n}"};
    out += places[k % 10] + "\n";
    if (k % 5 == 4) out += "DETECTOR rec[-1] rec[-3]\n";
  }
  return out + "OBSERVABLE_INCLUDE(0) rec[-2]\n}\nM 0 1 2 3 4 5\nDETECTOR rec[-4]\n";
}
inline std::string many_single_places(int qubits) {
  std::string all, noise;
  for (int q = 0; q < qubits; ++q) {
    all += " " + std::to_string(q);
    noise += "X_ERROR(0.00" + std::to_string(1 + q % 9) + ") " + std::to_string(q) + "\n";
  }
  return "R" + all + "\nREPEAT 4 {\n" + noise + "CX" + all + "\n" + noise + "MR" + all +
         "\nDETECTOR rec[-1]\nDETECTOR rec[-" + std::to_string(qubits) + "] rec[-7]\n}\n";
}
inline std::string large_circuit() {
  std::string all;
  for (int q = 0; q < 9000; ++q) all += " " + std::to_string(q);
  return "R" + all + "\nDEPOLARIZE1(0.01)" + all + "\nCX" + all + "\nDEPOLARIZE2(0.01)" + all +
         "\nH" + all + "\nCZ" + all + "\nM(0.01)" + all +
         "\nDETECTOR rec[-1] rec[-3]\nDETECTOR rec[-8999]\nOBSERVABLE_INCLUDE(0) rec[-5]\n";
}

inline std::vector<std::string> circuits() {
  circuit::CodeOptions o;
  o.after_clifford_depolarization = o.before_measure_flip_probability = 0.01;
  o.after_reset_flip_probability = o.before_round_data_depolarization = 0.01;
  std::vector<std::string> out{kChannels,
                               dense_noise(),
                               single_places(),
                               many_single_places(400),
                               many_single_places(9000),
                               large_circuit()};
  o.rounds = 4, o.distance = 3;
  out.push_back(language::print_stim(circuit::code_circuit("surface_code", "rotated_memory_z", o)));
  out.push_back(language::print_stim(circuit::code_circuit("color_code", "memory_xyz", o)));
  o.distance = 11;
  out.push_back(
      language::print_stim(circuit::code_circuit("surface_code", "unrotated_memory_x", o)));
  o.distance = 15, o.rounds = 60;  // a window of the sparse engine moves along its rows
  out.push_back(language::print_stim(circuit::code_circuit("surface_code", "rotated_memory_z", o)));
  return out;
}

// ---- leakage

// `text` with $ for each of some qubits and & for pairs of them.
inline std::string on_many_qubits(const std::string& text, int qubits) {
  std::string out, all, pairs;
  for (int q = 0; q < qubits; ++q) all += " " + std::to_string(q);
  for (int q = 0; q + 1 < qubits; q += 2)
    pairs += " " + std::to_string(q + 1) + " " + std::to_string(q);
  for (char c : text) out += c == '$' ? all : c == '&' ? pairs : std::string(1, c);
  return out;
}

// Every word of deltakit, each often enough to be an operation of its own, and rarely enough to be a place of
// a list.
inline const char* const kDeltakitWords =
    "RX$\nREPEAT 4 {\nLEAKAGE(0.02)$\nCX(0.3, 0.2, 0.1, 0.4)&\nCY(0.1, 0.1, 0.9, 0)&\nH$\n"
    "CZ(0, 0.5, 0, 0.5)&\nSQRT_XX(0.2, 0, 0, 0.3)&\nC_XYZ$\nSQRT_XX_DAG&\nCX&\n"
    "DEPOLARIZE2(0.03)&\nLEAKAGE(0.0003)$\nLEAKAGE(0.004) 1 3 2\nX_ERROR(0.001) 1\n"
    "LEAKAGE(0.2) 2 2 3\nRELAX(0.3)$\nHERALD_LEAKAGE_EVENT$\nHERALD_LEAKAGE_EVENT(0.2, 0.01)$\n"
    "HERALD_LEAKAGE_EVENT(0.5) 2 2\nSWAP 0 3\nMPP(0.01) Z0*X1*Y2\nMR(0.01)$\nCX rec[-1] 0\n"
    "DETECTOR rec[-1] rec[-2]\nDETECTOR rec[-9]\nLEAKAGE(0.05)$\nRL 1 2\nMX(0.01)$\nRY 4\n"
    "OBSERVABLE_INCLUDE(0) rec[-2]\n}\nHERALD_LEAKAGE_EVENT$\nM$\nDETECTOR rec[-3]\n"
    "OBSERVABLE_INCLUDE(1) rec[-1] rec[-4]\n";
inline const char* const kCuStabilizerWords =
    "RX$\nREPEAT 4 {\nLEAKAGE_MARK1(0.03)$\nLEAKAGE1(0.03)$\nLEAKAGE1(0.2) 1 1 2\nCX&\n"
    "LEAKAGE_PROPAGATE(0.5, 0.1, 0.2, 0.7)&\nH$\nLEAKAGE_MARK2(0.01, 0.02, 0.03)&\nCZ&\n"
    "LEAKAGE_SCRAMBLE_PARTNER&\nLEAKAGE2(0.1, 0.02, 0.03)&\nLEAKAGE2(0.2, 0.3, 0.1) 0 1 1 2\n"
    "LEAKAGE_PROPAGATE_MARK(0.3, 0.1, 0.2, 0.4)&\nLEAKAGE_PAULI1(0.02, 0.01, 0, 0.3, 0.1, 0.2)$\n"
    "LEAKAGE_PAULI1(0.1, 0, 0.1, 0, 0, 0) 3 3\nLEAKAGE_PAULI2("
    ".001,.002,.003,.004,.005,.006,.007,.001,.002,.003,.004,.005,.006,.007,.008,"
    ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
    "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05)&\nC_XYZ$\nLEAKAGE1(0.001)$\nLEAKAGE2(.004,.003,.005) 0 1\n"
    "LEAKAGE_MARK2(0.004, 0.003, 0.005) 1 2\nLEAKAGE_MARK1(0.002) 1\nLEAKAGE_PROPAGATE(0,0,0,0)&\n"
    "LEAKAGE_SCRAMBLE$\nISWAP 0 3\nLEAKAGE_RELAX(0.4)$\nHERALD_LEAKAGE_EVENT(0.1, 0.02)$\n"
    "DETECTOR rec[-1]\nM(0.01)$\nDETECTOR rec[-1] rec[-2]\nLEAKAGE_RESET 1 3\nMR 0 2\nMX$\n}\n"
    "HERALD_LEAKAGE_EVENT$\nMY$\nDETECTOR rec[-2]\nOBSERVABLE_INCLUDE(2) rec[-1]\n";

/// The rotated surface code of docs/leakage.md: leakage behind each CX, RELAX once a round.
inline std::string leaky_code(std::uint32_t distance, double p, double relax) {
  circuit::CodeOptions o;
  o.distance = o.rounds = distance;
  o.after_clifford_depolarization = o.before_measure_flip_probability = 0.001;
  o.after_reset_flip_probability = o.before_round_data_depolarization = 0.001;
  const std::string text =
      language::print_stim(circuit::code_circuit("surface_code", "rotated_memory_z", o));
  std::string out, all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    line.erase(0, line.find_first_not_of(' '));
    if (line.rfind("QUBIT_COORDS", 0) == 0)
      all += line.substr(line.find(')') + 1, line.size() - line.find(')') - 2);
    if (line.rfind("CX ", 0) == 0) {
      out += "CX(0.01, 0.01, 0.01, 0.01)" + line.substr(2) + "LEAKAGE(" + std::to_string(p) + ")" +
             line.substr(2);
      continue;
    }
    if (line.rfind("MR ", 0) == 0) out += "RELAX(" + std::to_string(relax) + ")" + all + "\n";
    out += line;
  }
  return out;
}

inline std::vector<std::string> leaky_circuits() {
  std::vector<std::string> out;
  for (const char* words : {kDeltakitWords, kCuStabilizerWords}) {
    for (int qubits : {6, 70}) out.push_back(on_many_qubits(words, qubits));
  }
  out.push_back(leaky_code(3, 0.01, 0.5));
  out.push_back(leaky_code(5, 0.0001, 1));
  // rows that do not fit shared memory, and words that are full of leaked shots
  out.push_back(
      on_many_qubits("RX$\nLEAKAGE(0.01)$\nCX(0.1, 0.2, 0.3, 0.4)&\nSWAP 0 1\nRELAX(0.5)$\n"
                     "CZ&\nHERALD_LEAKAGE_EVENT(0.1, 0.001)$\nMX$\nDETECTOR rec[-1] rec[-9001]\n",
                     9000));
  out.push_back(
      on_many_qubits("RX$\nLEAKAGE(0.9)$\nCX(0.1, 0.2, 0.3, 0.4)&\nRELAX(0.5)$\n"
                     "HERALD_LEAKAGE_EVENT(0.1, 0.9)$\nMX$\nDETECTOR rec[-1] rec[-3]\n",
                     40));
  std::mt19937_64 random(7);
  for (int k = 0; k < 40; ++k) out.push_back(random_leakage_circuit(random, k % 2 == 0));
  return out;
}

}  // namespace tilewave::stabilizer
