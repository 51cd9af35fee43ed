// Reports, the record in OpenQASM, and the calls that move states to and from a program's arrays.
#include <cstdio>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/quest/api/call.h"

using namespace tilewave::quest;
using tilewave::cplx;

namespace {

// `put` takes a line at a time.
template <class F>
void for_each_line(std::span<const cplx> amplitudes, F put) {
  char line[128];
  for (const cplx& z : amplitudes) {
    const int size = std::snprintf(
        line, sizeof line, REAL_STRING_FORMAT ", " REAL_STRING_FORMAT "\n", z.real(), z.imag());
    put(std::string_view(line, static_cast<std::size_t>(size)));
  }
}

// `write` fills the file, which takes its place when it is whole.
template <class F>
void write_file(const std::string& name, F write) {
  bool created = false;
  try {
    tilewave::WholeFile file(name);
    created = true;
    write(file);
    file.commit();
  } catch (const tilewave::Error& e) {
    if (e.code() != tilewave::ExitCode::kResources) throw;
    if (created) fail(Words::kNone, "file ", name, " was not written whole");
    fail(filled(Words::kFile, name), "file ", name, " cannot be written: check its folder");
  }
}

void check_part(const Register& r, long long first, long long count) {
  const auto all = static_cast<long long>(r.num_amplitudes());
  check_range(first, 0, all - 1, "startInd", Words::kAmplitudeIndex);
  check_range(count, 0, all - first, "numAmps",
              count < 0 || count > all ? Words::kNumAmplitudes : Words::kAmplitudesBeyondEnd);
}

}  // namespace

void reportState(Qureg qureg) {
  call(__func__, [&] {
    Register& r = use(qureg);
    r.sync();
    const std::string name = "state_rank_" + std::to_string(rank()) + ".csv";
    write_file(name, [&](tilewave::WholeFile& file) {
      if (is_root()) file.write("real, imag\n");
      r.for_each_shown(
          [&](std::uint64_t, auto block) {
            for_each_line(block, [&](std::string_view line) { file.write(line); });
          },
          true);
    });
  });
}

void reportStateToScreen(Qureg qureg, QuESTEnv, int reportRank) {
  call(__func__, [&] {
    Register& r = use(qureg);
    if (r.num_state_qubits() > 5) {
      fail(Words::kTooBigToPrint, "qureg has ", r.num_state_qubits(),
           " qubits in its state: only up to 5 are printed, use reportState for a file");
    }
    const std::vector<cplx> all = r.all_amplitudes();
    if (!is_root()) return;
    std::printf("Reporting state%s [\nreal, imag\n", reportRank ? " from rank 0" : "");
    for_each_line(all,
                  [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stdout); });
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
    if (is_root()) write_file(filename, [&](auto& file) { file.write(r.log().text()); });
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
