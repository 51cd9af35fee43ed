// What a number of an engine's cost model is, for files of rates, for the manual and for messages.
#pragma once

namespace tilewave::statevec::rates {

struct NumberInfo {
  const char* name;
  const char* unit;
  const char* meaning;
  const char* measured;  ///< how
};

}  // namespace tilewave::statevec::rates
