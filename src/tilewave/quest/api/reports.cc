// Reports, the record in OpenQASM, and the calls that move states to and from a program's arrays.
#include <cstdio>

#include "tilewave/quest/api/call.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

void print_amplitudes(std::span<const cplx> amplitudes, std::FILE* file) {
  for (const cplx& z : amplitudes) {
    std::fprintf(file, REAL_STRING_FORMAT ", " REAL_STRING_FORMAT "\n", z.real(), z.imag());
  }
}

void write_text(const char* name, const std::string& text) {
  std::FILE* file = std::fopen(name, "w");
  if (!file)
    fail(std::string("file ") + name + " cannot be written: check its folder", Words::kFile);
  const bool ok = std::fputs(text.c_str(), file) >= 0;
  if (std::fclose(file) != 0 || !ok) fail(std::string("file ") + name + " was not written whole");
}

void check_part(const Register& r, long long first, long long count) {
  const auto all = static_cast<long long>(r.num_amplitudes());
  check_range(first, 0, all - 1, "startInd");
  check_range(count, 0, all - first, "numAmps");
}

}  // namespace

void reportState(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    r.sync();
    const std::string name = "state_rank_" + std::to_string(rank()) + ".csv";
    std::FILE* file = std::fopen(name.c_str(), "w");
    if (!file) fail("file " + name + " cannot be written in the current folder", Words::kFile);
    if (is_root()) std::fprintf(file, "real, imag\n");
    r.for_each_shown([&](std::uint64_t, auto block) { print_amplitudes(block, file); }, true);
    if (std::fclose(file) != 0) fail("file " + name + " was not written whole");
  });
}

void reportStateToScreen(Qureg qureg, QuESTEnv, int reportRank) {
  call(__func__, [&] {
    Register& r = use(qureg);
    if (r.num_state_qubits() > 5) {
      fail("qureg has " + std::to_string(r.num_state_qubits()) +
               " qubits in its state: only up to 5 are printed, use reportState for a file",
           Words::kTooBigToPrint);
    }
    const std::vector<cplx> all = r.all_amplitudes();
    if (!is_root()) return;
    std::printf("Reporting state%s [\nreal, imag\n", reportRank ? " from rank 0" : "");
    print_amplitudes(all, stdout);
    std::printf("]\n");
  });
}

void reportQuregParams(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const auto amplitudes = static_cast<unsigned long long>(r.num_amplitudes());
    if (!is_root()) return;
    std::printf(
        "QUBITS:\nNumber of qubits is %d.\nNumber of amps is %llu.\n"
        "Number of amps per rank is %llu.\n",
        r.num_state_qubits(), amplitudes,
        amplitudes / static_cast<unsigned long long>(num_ranks()));
  });
}

void startRecordingQASM(Qureg qureg) {
  call(__func__, [&] { use(qureg).log().start(); });
}

void stopRecordingQASM(Qureg qureg) {
  call(__func__, [&] { use(qureg).log().stop(); });
}

void clearRecordedQASM(Qureg qureg) {
  call(__func__, [&] { use(qureg).log().clear(); });
}

void printRecordedQASM(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    if (is_root()) std::fputs(r.log().text().c_str(), stdout);
  });
}

void writeRecordedQASMToFile(Qureg qureg, char* filename) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_pointer(filename, "filename");
    if (is_root()) write_text(filename, r.log().text());
  });
}

void copyStateToGPU(Qureg qureg) {
  call(__func__, [&] { use(qureg); });
}

void copyStateFromGPU(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    r.sync();
    r.mirror().open(Access::kRead);
  });
}

void copySubstateToGPU(Qureg qureg, long long int startInd, long long int numAmps) {
  call(__func__, [&] { check_part(use(qureg), startInd, numAmps); });
}

void copySubstateFromGPU(Qureg qureg, long long int startInd, long long int numAmps) {
  call(__func__, [&] {
    Register& r = use(qureg);
    check_part(r, startInd, numAmps);
    r.sync();
    r.mirror().open(Access::kRead);
  });
}
