// The ground state of a transverse-field Ising chain by a variational circuit: one angle of each
// kind a layer, improved one after the other. Each angle's circuit is planned once for its shape.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <tilewave/session.h>

constexpr int kQubits = 8, kLayers = 3;

tilewave::Circuit ansatz(const std::vector<double>& angles) {
  tilewave::Circuit circuit(kQubits);
  for (int q = 0; q < kQubits; ++q) circuit.h(q);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int q = 0; q + 1 < kQubits; ++q)
      circuit.gate("rzz", {unsigned(q), unsigned(q + 1)}, {angles[2 * layer]});
    for (int q = 0; q < kQubits; ++q) circuit.rx(angles[2 * layer + 1], q);
  }
  return circuit;
}

int main() {
  tilewave::Session session({.device = "cpu"});
  tilewave::Questions energy;
  for (int q = 0; q + 1 < kQubits; ++q)
    energy.observable += "-1 Z" + std::to_string(q) + " Z" + std::to_string(q + 1) + " ";
  for (int q = 0; q < kQubits; ++q) energy.observable += "-1 X" + std::to_string(q) + " ";

  std::vector<double> angles(2 * kLayers, 0.3);
  double best = session.run(ansatz(angles), energy).expectation;
  for (double step = 0.4; step > 0.005; step /= 2) {
    for (bool improved = true; improved;) {
      improved = false;
      for (double& angle : angles) {
        for (const double change : {step, -step}) {
          angle += change;
          const double e = session.run(ansatz(angles), energy).expectation;
          if (e < best - 1e-9) {
            best = e, improved = true;
          } else {
            angle -= change;
          }
        }
      }
    }
  }
  std::printf("energy %.4f\n", best);
  return best < -9.5 ? 0 : 1;  // exact: -9.8380
}
