// What a run does, before it runs: the passes of a quantum Fourier transform, and that they are the
// same when it runs. A second circuit with other angles of the same shape costs no planning.
#include <cstdio>

#include <tilewave/tilewave.h>

int main() {
  constexpr unsigned kQubits = 20;
  tilewave::Circuit qft(kQubits);
  for (unsigned k = kQubits; k-- > 0;) {
    qft.h(k);
    for (unsigned j = 0; j < k; ++j) qft.cp(3.14159265358979 / double(1u << (k - j)), j, k);
  }
  tilewave::Session session({.precision = tilewave::Precision::kSingle});
  tilewave::Executable executable = session.compile(qft);
  const std::string plan = executable.explain();
  std::printf("%s", plan.c_str());

  tilewave::Questions questions;
  questions.amplitudes = {0, 1};
  questions.explain = true;
  const tilewave::Result result = executable.run(questions);
  std::printf("%llu passes in %.1f ms\n", static_cast<unsigned long long>(result.passes),
              1e3 * result.execute_s);
  return result.plan_text == plan ? 0 : 1;
}
