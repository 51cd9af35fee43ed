// Gates a second of the OpenQASM 2 and 3 readers and of the printer. Goal: one million gates a
// second and core on plain gates, more where definitions of OpenQASM 2 expand. Build with the
// preset `bench`, run bench_language.
#include <benchmark/benchmark.h>

#include <string>

#include "tilewave/base/concat.h"
#include "tilewave/base/philox.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"

namespace tilewave::language {
namespace {

constexpr int kQubits = 30;

// cx, h, rz and u3 in equal parts on random qubits, angles of 17 digits as programs write them.
constexpr const char* kVersion2 = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\nqreg q[30];\n";
constexpr const char* kVersion3 = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[30] q;\n";

std::string plain_gates(int count, const char* header) {
  std::string text = header;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t bits = random_bits(1, 0, static_cast<std::uint64_t>(k));
    const std::string a = std::to_string(bits % kQubits),
                      b = std::to_string((bits + 1 + (bits >> 8) % (kQubits - 1)) % kQubits),
                      angle = std::to_string(bits) + "e-19";
    switch (k % 4) {
      case 0:
        text += concat("cx q[", a, "],q[", b, "];\n");
        break;
      case 1:
        text += concat("h q[", a, "];\n");
        break;
      case 2:
        text += concat("rz(", angle, ") q[", a, "];\n");
        break;
      default:
        text += concat("u3(", angle, ",pi/3,-pi/4) q[", a, "];\n");
    }
  }
  return text;
}

void parse_plain_gates(benchmark::State& state, const char* header) {
  const std::string text = plain_gates(100000, header);
  for (auto _ : state) benchmark::DoNotOptimize(parse_circuit(text, "bench").ops().data());
  state.SetItemsProcessed(state.iterations() * 100000);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(parse_plain_gates, version_2, kVersion2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse_plain_gates, version_3, kVersion3)->Unit(benchmark::kMillisecond);

void parse_definitions(benchmark::State& state, const char* header) {
  std::string text = header;
  text +=
      "gate inner(t) a,b { cx a,b; rz(t/2) b; cx a,b; }\n"
      "gate outer(t,s) a,b,c { inner(t) a,b; inner(-s*sin(t)) b,c; h a; }\n";
  for (int k = 0; k < 20000; ++k) text += "outer(0.12345678901234567,0.5) q[3],q[17],q[29];\n";
  for (auto _ : state) benchmark::DoNotOptimize(parse_circuit(text, "bench").ops().data());
  state.SetItemsProcessed(state.iterations() * 7 * 20000);
}
BENCHMARK_CAPTURE(parse_definitions, version_2, kVersion2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse_definitions, version_3, kVersion3)->Unit(benchmark::kMillisecond);

void print_gates(benchmark::State& state) {
  const auto circuit = parse_qasm2(plain_gates(100000, kVersion2), "bench");
  for (auto _ : state) benchmark::DoNotOptimize(to_qasm2(circuit).data());
  state.SetItemsProcessed(state.iterations() * 100000);
}
BENCHMARK(print_gates)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewave::language

BENCHMARK_MAIN();
