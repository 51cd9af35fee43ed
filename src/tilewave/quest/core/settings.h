// What the environment variables TILEWAVE_DEVICE, TILEWAVE_THREADS, TILEWAVE_RANKS,
// TILEWAVE_SHARE_FROM and TILEWAVE_MESSAGES say; read once.
#pragma once

#include <optional>

#include "tilewave/settings/device.h"

namespace tilewave::quest {

struct Settings {
  DeviceSet device;
  int num_threads = 0;  ///< 0: OpenMP's default
  int num_ranks = 1;    ///< inside this process
  /// Qubits of a rank's share: smaller registers are held whole by every rank. The default leaves
  /// room for the widest matrices.
  int share_from = 13;
};

/// Throws Error(kUsage) for a number that is none.
const Settings& settings();

/// Whether error messages are in the words of QuEST: what TILEWAVE_MESSAGES says, "quest" or
/// "tilewave"; nothing for any other text. Apart from the settings, whose errors ask it too.
std::optional<bool> wants_quest_words();

}  // namespace tilewave::quest
