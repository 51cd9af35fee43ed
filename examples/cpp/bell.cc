// Two entangled qubits: counts of a thousand shots, and the amplitudes they come from.
#include <cstdio>

#include <tilewave/session.h>

int main() {
  tilewave::Session session;
  tilewave::Circuit circuit(2);
  circuit.h(0).cx(0, 1);
  tilewave::Executable state = session.compile(circuit);
  for (const auto amplitude : state.statevector())
    std::printf("%+.4f %+.4fi\n", amplitude.real(), amplitude.imag());

  tilewave::Executable bell = session.compile(circuit.measure_all());
  tilewave::Questions questions;
  questions.shots = 1000;
  questions.seed = 7;
  for (const auto& [bits, count] : bell.run(questions).counts)
    std::printf("%s %llu\n", bits.c_str(), static_cast<unsigned long long>(count));
}
