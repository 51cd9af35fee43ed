// Random circuits of leakage in the words of deltakit or of cuStabilizer, as texts.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>

namespace tilewave::stabilizer {

inline std::string random_leakage_circuit(std::mt19937_64& random, bool deltakit) {
  const auto below = [&](std::size_t n) { return random() % n; };
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[below(words.size())]);
  };
  const auto p = [&](std::size_t sets) {  // a probability; sums of `sets` stay below 1
    const double choices[] = {0, 0.01, 0.2, 0.5, 0.9};
    return std::to_string(choices[below(5)] / static_cast<double>(sets));
  };
  const auto several = [&](int count, std::size_t sets) {
    std::string out = "(" + p(sets);
    for (int k = 1; k < count; ++k) out += ", " + p(sets);
    return out + ")";
  };
  std::string text = "R 0 1 2\n";
  for (int k = 0; k < 10; ++k) {
    const std::size_t a = below(3), b = (a + 1 + below(2)) % 3;
    const std::string q = " " + std::to_string(a) + "\n",
                      pair = " " + std::to_string(a) + " " + std::to_string(b) + "\n";
    switch (below(6)) {
      case 0:
        text += one_of({"H", "S", "C_XYZ", "SQRT_X_DAG"}) + q;
        break;
      case 1:
        text += one_of({"CX", "CY", "CZ", "SQRT_XX", "SQRT_XX_DAG"});
        text += (deltakit && below(2) ? several(4, 1) : "") + pair;
        break;
      case 2:
        text += one_of({"SWAP", "XCZ", "SQRT_ZZ", "ISWAP", "CXSWAP"}) + pair;
        break;
      case 3:
        text += one_of({"M", "MX", "MR", "RY", "HERALD_LEAKAGE_EVENT", "HERALD_LEAKAGE_EVENT(0.2)",
                        "HERALD_LEAKAGE_EVENT(0.01, 0.3)"}) +
                q;
        break;
      default:
        if (deltakit) {
          const std::string word = one_of({"LEAKAGE", "LEAKAGE", "RELAX", "RL"});
          text += word + (word == "RL" ? "" : several(1, 1)) + q;
          break;
        }
        switch (below(7)) {
          case 0:
            text += one_of({"LEAKAGE_MARK1", "LEAKAGE1", "LEAKAGE_RELAX"}) + several(1, 1) + q;
            break;
          case 1:
            text += one_of({"LEAKAGE_MARK2", "LEAKAGE2"}) + several(3, 3) + pair;
            break;
          case 2:
            text += one_of({"LEAKAGE_PROPAGATE_MARK", "LEAKAGE_PROPAGATE"}) + several(4, 2) + pair;
            break;
          case 3:
            text += one_of({"LEAKAGE_SCRAMBLE", "LEAKAGE_RESET"}) + q;
            break;
          case 4:
            text += "LEAKAGE_SCRAMBLE_PARTNER" + pair;
            break;
          case 5:
            text += "LEAKAGE_PAULI1" + several(6, 3) + q;
            break;
          default:
            text += "LEAKAGE_PAULI2" + several(60, 15) + pair;
        }
    }
  }
  return text + (deltakit ? "LEAKAGE(0.1) 0\n" : "LEAKAGE_MARK1(0.1) 0\n") +
         "HERALD_LEAKAGE_EVENT 0 1 2\nMX 0\nM 1 2";
}

}  // namespace tilewave::stabilizer
