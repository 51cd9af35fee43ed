#include "tilewave/simulate/checkpoint/saved_register.h"

#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/simulate/checkpoint/record_kind.h"

namespace tilewave::simulate {

namespace {

constexpr std::uint32_t kMostQubits = 1u << 20;  // of a register: more are damage

}  // namespace

void save_register(const std::string& folder, std::shared_ptr<runtime::Ranks> processes,
                   const RegisterInfo& info, statevec::State& state) {
  ByteWriter out;
  put_kind(out, RecordKind::kRegister);
  out.fields(info.num_qubits, info.is_density, static_cast<std::uint8_t>(info.precision), info.kept,
             state.layout(), state.known_zero());
  statevec::State* const slots[] = {&state};
  CheckpointFolder(folder, std::move(processes), nullptr, CheckpointFolder::Old::kReplaced)
      .write(out.bytes(), slots);
}

SavedRegister::SavedRegister(const std::string& folder) : saved_(folder) {
  ByteReader in(saved_.record(), folder);
  need_kind(in, RecordKind::kRegister);
  in.fields(info_.num_qubits, info_.is_density);
  const auto precision = in.get<std::uint8_t>();
  info_.precision = static_cast<Precision>(precision);
  in.fields(info_.kept, layout_, known_zero_);
  bool is_sound = in.is_done() && info_.num_qubits <= kMostQubits &&
                  precision <= static_cast<std::uint8_t>(Precision::kDouble) &&
                  info_.state_qubits() <= static_cast<std::uint32_t>(statevec::kMaxQubits);
  for (std::size_t k = 0; k < info_.kept.size(); ++k) {
    is_sound = is_sound && info_.kept[k] < info_.num_qubits &&
               (k == 0 || info_.kept[k - 1] < info_.kept[k]);
  }
  if (!is_sound) in.fail();
}

void SavedRegister::load(statevec::State& state) const {
  TW_CHECK(state.num_qubits() == static_cast<int>(info_.state_qubits()) &&
               state.precision() == info_.precision,
           "the state is of the register's size and precision");
  saved_.load(0, layout_, known_zero_, state);
}

}  // namespace tilewave::simulate
