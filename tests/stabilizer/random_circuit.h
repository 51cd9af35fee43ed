// Random circuits beyond Clifford, as texts in Stim's language.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tilewave::stabilizer {

/// A random circuit of Clifford gates, rotations, noise, measurements and feedback.
class RandomCircuit {
 public:
  explicit RandomCircuit(std::uint64_t seed) : random_(seed) {}

  // How many there are at most of what makes branches.
  struct Limits {
    int noise = 3, resets = 1000, records = 6;
    int measured = 4;  // at the end
  };

  std::string text(int qubits, int operations, const Limits& most) {
    qubits_ = qubits;
    records_ = 0;
    int noise = 0, resets = 0;
    std::string out;
    for (int k = 0; k < operations; ++k) {
      switch (pick(16)) {
        case 0:
        case 1:
          out += one({"H", "S", "SQRT_X", "C_XYZ", "SQRT_Y_DAG"}) + " " + qubit() + "\n";
          break;
        case 2:
        case 3:
          out += one({"CX", "CZ", "SQRT_XX", "ISWAP", "CY", "SWAP"}) + " " + several(2) + "\n";
          break;
        case 4:
        case 5:
          out += one({"T", "T_DAG", "T"}) + " " + qubit() + "\n";
          break;
        case 6:
          out += one({"R_X(0.3)", "R_Y(-0.71)", "R_Z(1.37)", "U3(0.2,0.9,-0.4)", "R_X(0.5)"}) +
                 " " + qubit() + "\n";
          break;
        case 7:
          out += one({"R_XX(0.2)", "R_YY(0.25)", "R_ZZ(-0.6)", "CH"}) + " " + several(2) + "\n";
          break;
        case 8:
          if (qubits_ > 2 && pick(2)) {
            out += one({"CCX", "CCZ"}) + " " + several(3) + "\n";
          } else {
            out += one({"TPP !", "TPP_DAG ", "TPP ", "R_PAULI(0.37) "}) + product() + "\n";
          }
          break;
        case 9:
        case 10:
          if (++noise <= most.noise)
            out += one({"X_ERROR(0.1)", "DEPOLARIZE1(0.2)", "Z_ERROR(0.3)",
                        "PAULI_CHANNEL_1(0.05, 0.1, 0.02)"}) +
                   " " + qubit() + "\n";
          break;
        case 11:
        case 12:
          if (records_ < most.records) {
            ++records_;
            out += one({"M ", "M(0.1) ", "MX ", "MR ", "MY !", "MRX(0.2) "}) + qubit() + "\n";
          }
          break;
        case 13:
          if (records_ < most.records) ++records_, out += "MPP " + product() + "\n";
          break;
        case 14:
          if (++resets <= most.resets) out += one({"R ", "RX ", "RY "}) + qubit() + "\n";
          break;
        default:
          if (records_ > 0)
            out += one({"CX", "CZ", "CY"}) + " rec[-" + std::to_string(1 + pick(records_)) + "] " +
                   qubit() + "\n";
      }
    }
    out += "M";
    for (int q = 0; q < std::min(qubits_, most.measured); ++q)
      out += " " + std::to_string(q), ++records_;
    out += "\n";
    for (int k = 0; k < 3; ++k) {
      out += "DETECTOR rec[-" + std::to_string(1 + pick(records_)) + "] rec[-" +
             std::to_string(1 + pick(records_)) + "]\n";
    }
    return out + "OBSERVABLE_INCLUDE(0) rec[-1]\n";
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string one(std::vector<std::string> of) {
    return of[static_cast<std::size_t>(pick(static_cast<int>(of.size())))];
  }
  std::string qubit() { return std::to_string(pick(qubits_)); }
  std::vector<int> distinct(int n) {
    std::vector<int> all(static_cast<std::size_t>(qubits_));
    for (int q = 0; q < qubits_; ++q) all[static_cast<std::size_t>(q)] = q;
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(static_cast<std::size_t>(n));
    return all;
  }
  std::string several(int n) {
    std::string out;
    for (int q : distinct(n)) out += std::to_string(q) + " ";
    return out;
  }
  std::string product() {
    std::string out;
    for (int q : distinct(1 + pick(std::min(qubits_, 3)))) {
      if (!out.empty()) out += "*";
      out += one({"X", "Y", "Z"}) + std::to_string(q);
    }
    return out;
  }

  std::mt19937_64 random_;
  int qubits_ = 0, records_ = 0;
};

}  // namespace tilewave::stabilizer
