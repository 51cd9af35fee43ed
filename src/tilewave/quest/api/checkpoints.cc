// Registers in folders: two calls that QuEST does not have.
#include <string>

#include "tilewave/quest/api/call.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/checkpoint/folder.h"

using namespace tilewave::quest;
using tilewave::simulate::ByteReader;
using tilewave::simulate::ByteWriter;
using tilewave::simulate::CheckpointFolder;
using tilewave::simulate::SavedRun;

namespace {

constexpr std::uint64_t kRecordMagic = 0x31676572756F7774;

std::string folder_of(const char* folder) {
  if (!folder || !*folder) fail("the name of the folder is missing");
  return folder;
}

}  // namespace

void tilewave_saveQureg(Qureg qureg, const char* folder) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const std::string name = folder_of(folder);
    tilewave::statevec::State* state = &r.state();
    ByteWriter out;
    out.put(kRecordMagic);
    out.put(static_cast<std::int32_t>(r.num_qubits()));
    out.put(static_cast<std::int32_t>(r.is_density()));
    out.put(static_cast<std::int32_t>(sizeof(qreal)));
    out.put(state->layout());
    out.put(state->known_zero());
    CheckpointFolder(name, processes(), nullptr, CheckpointFolder::Old::kReplaced)
        .write(out.bytes(), {&state, 1});
  });
}

void tilewave_loadQureg(Qureg qureg, const char* folder) {
  call(__func__, [&] {
    Register& r = use(qureg);
    const std::string name = folder_of(folder);
    const SavedRun saved(name);
    ByteReader in(saved.record(), name);
    if (in.get<std::uint64_t>() != kRecordMagic)
      fail(name + " holds the checkpoint of a run of the program tilewave, not a register");
    const auto num_qubits = in.get<std::int32_t>(), is_density = in.get<std::int32_t>(),
               real_bytes = in.get<std::int32_t>();
    if (num_qubits != r.num_qubits() || is_density != static_cast<std::int32_t>(r.is_density()) ||
        real_bytes != static_cast<std::int32_t>(sizeof(qreal))) {
      fail(name + " holds a " + (is_density ? "density matrix" : "state vector") + " of " +
           std::to_string(num_qubits) + " qubits with " + std::to_string(real_bytes) +
           " bytes a real number, the register is another one");
    }
    const auto layout = in.get<tilewave::statevec::Layout>();
    const auto known_zero = in.get<std::uint64_t>();
    tilewave::statevec::State& state = r.cleared_for_change();
    saved.load(0, layout, known_zero, state);
    state.settle();
  });
}
