// Registers in folders: two calls that QuEST does not have.
#include <string>

#include "tilewave/quest/api/call.h"
#include "tilewave/simulate/checkpoint/saved_register.h"

using namespace tilewave::quest;
using tilewave::simulate::RegisterInfo;
using tilewave::simulate::SavedRegister;

namespace {

std::string folder_of(const char* folder) {
  if (!folder || !*folder) fail(Words::kNone, "the name of the folder is missing");
  return folder;
}

}  // namespace

void tilewave_saveQureg(Qureg qureg, const char* folder) {
  call(__func__, [&] {
    Register& r = use(qureg);
    tilewave::statevec::State& state = r.state();
    const RegisterInfo info{
        static_cast<std::uint32_t>(r.num_qubits()), r.is_density(), state.precision(), {}};
    tilewave::simulate::save_register(folder_of(folder), processes(), info, state);
  });
}

void tilewave_loadQureg(Qureg qureg, const char* folder) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const std::string name = folder_of(folder);
    const SavedRegister saved(name);
    const RegisterInfo& info = saved.info();
    const auto real_bytes = tilewave::amplitude_bytes(info.precision) / 2;
    if (static_cast<int>(info.num_qubits) != r.num_qubits() || info.is_density != r.is_density() ||
        real_bytes != sizeof(qreal)) {
      fail(Words::kNone, name, " holds a ", info.is_density ? "density matrix" : "state vector",
           " of ", info.num_qubits, " qubits with ", real_bytes,
           " bytes a real number, the register is another one");
    }
    if (!info.kept.empty()) {
      fail(Words::kNone, name,
           " holds some qubits of a circuit's state, which Python's State kept: give that "
           "state initial_state, or save a state whose circuit touches every qubit");
    }
    tilewave::statevec::State& state = r.cleared_for_change();
    saved.load(state);
    state.settle();
  });
}
